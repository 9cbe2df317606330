"""What is made for one run says which parts of it it uses. No Scrapy."""

from inspect import get_annotations

from llmsspider.crawler.state import RunState


class UsesRun:
    """Something that is made for one run: each part of it that it uses is an annotation of its
    class.

    `known: KnownPages` makes `self.known` the stored pages of the run. The parts of a run stay the
    same objects while it lasts.
    """

    def __init__(self, run: RunState):
        for kind in type(self).__mro__:
            for name in get_annotations(kind):
                if hasattr(run, name):
                    setattr(self, name, getattr(run, name))
