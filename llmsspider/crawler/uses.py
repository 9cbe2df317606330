"""What is made for one run says which parts of it it uses. No Scrapy."""

from inspect import get_annotations


class UsesRun:
    """Something that is made for one run: each part that it uses is an annotation of its class.

    `known: KnownPages` makes `self.known` the attribute of that name of the first owner that has
    it: the run, whose parts stay the same objects while it lasts, or what is made for it.
    """

    def __init__(self, *owners: object):
        for kind in type(self).__mro__:
            for name in get_annotations(kind):
                owner = next((one for one in owners if hasattr(one, name)), None)
                if owner is not None:
                    setattr(self, name, getattr(owner, name))
