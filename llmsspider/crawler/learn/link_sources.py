"""HTML that is fetched for the links of its navigation: Markdown carries no sidebar.

The start page, section roots, index files, one page in each directory, and samples for as long as
they still show unseen URLs.
"""

from typing import Any
from urllib.parse import urlsplit

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.web.urls import INDEX_FILES, directory, host, identity

MIN_SAMPLES = 3
"""Pages fetched as HTML besides start page and section roots; so many in a row that show nothing
new are enough.
"""

MAX_SHARE = 0.05
"""Share of the pages seen so far that may be fetched twice; section roots above `MAX_ROOTS` count
into it.
"""

MAX_ROOTS = 9
"""Section roots and index files always fetched as HTML."""


class LinkSources(Learner):
    """The policy of one crawl: `wanted` is called once for each Markdown page, `report` for each
    link source.

    Those of the last complete crawl are requested again, since they can be revalidated; of the
    other pages only new ones are candidates. Where a list `names_all` pages, section roots end with
    the samples.
    """

    name = "link_sources"
    names_all = False

    def __init__(self) -> None:
        self._earlier = frozenset[str]()
        self._pages = 0
        self._roots = 0
        self._samples = 0
        self._without_new = 0
        self.requested: set[str] = set()
        """The pages that were wanted, by identity."""
        self._sampled_directories: set[str] = set()

    def remember(self, kept: Any) -> None:
        """Take over those of the last complete crawl, by identity."""
        pages = kept if isinstance(kept, list) else ()
        self._earlier = frozenset(page for page in pages if isinstance(page, str))

    def keep(self, end: End) -> list[str] | None:
        """Return those of this run, if it is complete."""
        return sorted(self.requested) if end.is_complete else None

    # --- questions ---

    def wanted(
        self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True
    ) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last
        crawl.
        """
        self._pages += 1
        page = identity(url)
        if page in self.requested:
            return False
        if self._earlier and not new:
            wanted = start or page in self._earlier
        else:
            place = f"{host(url)}{directory(page.rstrip('/'))}"
            is_index = urlsplit(url).path.rpartition("/")[2] in INDEX_FILES  # of a directory
            wanted = start or self._takes(place, section_root=section_root, is_index=is_index)
            if wanted:
                self._sampled_directories.add(place)
        if wanted:
            self.requested.add(page)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next
        crawl.
        """
        self.requested.add(identity(url))

    def _takes(self, place: str, *, section_root: bool, is_index: bool) -> bool:
        is_known = place in self._sampled_directories
        if self.names_all and self._without_new >= MIN_SAMPLES:
            return False
        if (is_index or (section_root and not is_known)) and self._roots < MAX_ROOTS:
            self._roots += 1
            return True
        is_enough = self._samples >= MIN_SAMPLES and is_known and self._without_new > 0
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        if is_enough or self._samples >= allowed or self._without_new >= MIN_SAMPLES:
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Count how many URLs a link source showed that nothing had shown before."""
        self._without_new = 0 if unseen else self._without_new + 1
