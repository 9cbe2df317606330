"""Item pipelines, one stage each: filter, hash, export."""

from scrapy.exceptions import DropItem


class CountedDrop(DropItem):
    """A document that a pipeline of this project drops, and has counted."""
