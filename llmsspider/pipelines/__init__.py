"""The stages that every document passes: filter (100), hash, which writes the store (800), files
beside the pages (850), export (900).

In: the items of the spider, `PageItem` with the record of their page. Out: documents as they are
stored, for the feeds; `DropItem` for those that are filtered. `crawl` decides, these count and
write. Scrapy loads them; the spiders import `item_adapter`.
"""

from scrapy.exceptions import DropItem


class CountedDrop(DropItem):
    """A document that a pipeline of this project drops, and has counted."""
