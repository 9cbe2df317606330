"""Which Markdown pages are also fetched as HTML, for their navigation links only.

Markdown pages carry no sidebar, so on Markdown-native sites links alone miss pages. A few HTML pages fill the gap:
the start page, section roots, one in each directory, and samples for as long as they still show unseen URLs.
"""

from __future__ import annotations

from collections.abc import Iterable

from llmsspider.urls import directory, host, identity

MIN_SAMPLES = 3
"""Pages fetched as HTML besides start page and section roots; so many in a row that show nothing new are enough."""

MAX_SHARE = 0.05
"""Share of the pages seen so far that may be fetched twice; section roots above `MAX_ROOTS` count into it."""

MAX_ROOTS = 9
"""Section roots always fetched as HTML."""


class LinkSources:
    """The policy of one crawl; ask `wanted` once for each Markdown page, `report` what a link source gave.

    Args:
        earlier: the link sources of the last complete crawl, by identity. They are asked again, since they can be
            revalidated; of the other pages only those that are new are looked at.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = frozenset(earlier)
        self._pages = 0
        self._roots = 0
        self._samples = 0
        self._barren = 0
        self._asked: set[str] = set()
        self._sampled_directories: set[str] = set()

    @property
    def asked(self) -> list[str]:
        """The pages that were wanted, by identity."""
        return sorted(self._asked)

    def wanted(self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last crawl."""
        self._pages += 1
        page = identity(url)
        if page in self._asked:
            return False
        if self._earlier and not new:
            if start or page in self._earlier:
                self._asked.add(page)
            return page in self._asked
        place = f"{host(url)}{directory(page.rstrip('/'))}"
        opens_place = section_root and place not in self._sampled_directories
        wanted = start or self._root(section_root=opens_place) or self._sample(place)
        if wanted:
            self._asked.add(page)
            self._sampled_directories.add(place)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next crawl."""
        self._asked.add(identity(url))

    def _root(self, *, section_root: bool) -> bool:
        if not section_root or self._roots >= MAX_ROOTS:
            return False
        self._roots += 1
        return True

    def _sample(self, place: str) -> bool:
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        fruitful = self._barren < MIN_SAMPLES
        known_place = place in self._sampled_directories and self._samples >= 1 and self._barren > 0
        if self._samples >= allowed or not fruitful or (known_place and self._samples >= MIN_SAMPLES):
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Tell how many URLs a link source showed that nothing had shown before."""
        self._barren = 0 if unseen else self._barren + 1
