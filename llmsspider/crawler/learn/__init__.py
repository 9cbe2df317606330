"""What a crawl learns, one file a fact: the list of them, and the loops over it. No Scrapy.

A fact is found in its file, in this list and in its tests. Where another part of the crawl asks it
something of its own (`dead_links.skip`), it asks the learner by name.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llmsspider.crawler.learn.accept_refusals import AcceptRefusals
from llmsspider.crawler.learn.base import Dropped, End, Learner, PageFailed
from llmsspider.crawler.learn.copies import Copies
from llmsspider.crawler.learn.dead_links import DeadLinks
from llmsspider.crawler.learn.drawn import DrawnPages
from llmsspider.crawler.learn.false_304s import False304s
from llmsspider.crawler.learn.file_names import FileNames
from llmsspider.crawler.learn.link_sources import LinkSources
from llmsspider.crawler.learn.redirects import Redirects
from llmsspider.crawler.learn.shells import Shells
from llmsspider.crawler.learn.start_page import StartPage
from llmsspider.crawler.learn.tags import Tags
from llmsspider.crawler.learn.titles import SiteTitles
from llmsspider.crawler.learn.varying_lines import VaryingLines
from llmsspider.crawler.settle import (
    ReadPage,
    Rule,
    Verdict,
    alias,
    canonical,
    copy_of_named,
    listing,
    markdown_to_come,
    moved,
    not_stored,
    other_form,
    refused,
    spelled_otherwise,
    start_outside,
    stub,
    undecided,
)


class Learners:
    """The learners of one run, and the order of the rules that judge its pages.

    `trusted` is false with `full=true`; `requested` says whether the page of a link was requested.
    `read_files` are the extensions of linked files that content handlers read, `read_listed` those
    of listed ones.
    """

    def __init__(
        self,
        *,
        trusted: bool,
        requested: Callable[[str], bool],
        report_false_304: Callable[[str], None],
        read_files: frozenset[str] = frozenset(),
        read_listed: frozenset[str] = frozenset(),
    ):
        self.accept_refusals = AcceptRefusals(trusted=trusted)
        self.copies = Copies()
        self.dead_links = DeadLinks(trusted=trusted, requested=requested)
        self.drawn = DrawnPages()
        self.false_304s = False304s(report_false_304)
        self.file_names = FileNames(trusted=trusted, read=read_files, read_listed=read_listed)
        self.link_sources = LinkSources()
        self.redirects = Redirects(trusted=trusted)
        self.shells = Shells(trusted=trusted)
        self.start_page = StartPage()
        self.tags = Tags()
        self.titles = SiteTitles()
        self.varying_lines = VaryingLines()
        self._all = [one for one in vars(self).values() if isinstance(one, Learner)]
        self.by_itself: tuple[Rule, ...] = (
            refused,
            alias,
            self.copies.by_itself,
            stub,
            canonical,
            listing,
            self.tags.by_itself,
            other_form,
        )
        self.among_others: tuple[Rule, ...] = (
            markdown_to_come,
            self.tags.among_others,
            undecided,
            copy_of_named,
            spelled_otherwise,
            not_stored,
            start_outside,
            moved,
        )

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Tell the learners of a page that was read, and its verdict by itself."""
        for one in self._all:
            one.page_read(page, verdict)

    def page_failed(self, failed: PageFailed) -> None:
        """Tell the learners of a page that failed."""
        for one in self._all:
            one.page_failed(failed)

    def drained(self) -> Iterator[Dropped]:
        """Yield what the learners count when no page is left to request."""
        for one in self._all:
            yield from one.drained()

    def remember(self, kept: Mapping[str, Any]) -> None:
        """Take over what earlier runs kept, by name."""
        for one in self._all:
            if (found := kept.get(one.name)) is not None:
                one.remember(found)

    def keep(self, end: End) -> dict[str, Any]:
        """Return what the next run needs, by name."""
        return {one.name: one.keep(end) for one in self._all}
