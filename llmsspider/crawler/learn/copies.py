"""Copies of pages for print and for phones, which the pages themselves name (`rel=alternate`)."""

from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.crawler.settle import Drop, ReadPage, Site, Verdict
from llmsspider.web.urls import host, identity, usable

MAX_COPIES = 50_000
"""Maximum number of copies that are known in a run, and that the store remembers."""


class Copies(Learner):
    """The copies that pages of this run or an earlier one name, by identity, and the page of each.

    A page that names a copy links to it as well, so it is known in time. One that is unchanged is
    not read again.
    """

    name = "copies"

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._before: dict[str, str] = {}
        """Those of earlier runs, which hold until their page is read again."""
        self._read: set[str] = set()

    def remember(self, kept: Any) -> None:
        """Take over the copies of earlier runs."""
        for url, page in kept.items() if isinstance(kept, dict) else ():
            if isinstance(page, str):
                self._before[url] = page

    def keep(self, end: End) -> dict[str, str]:
        """Return all copies that are known."""
        left = {url: page for url in self._before if (page := self.page_of(url)) is not None}
        return dict(list({**left, **self._pages}.items())[:MAX_COPIES])

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Learn which copies a page has; a copy names none."""
        if self.page_of(page.url) is not None:
            return
        self._read.add(page.url)
        for url in usable(page.meta.copies):
            if host(url) == host(page.url) and len(self._pages) < MAX_COPIES:
                self._pages.setdefault(identity(url), page.url)
        self._pages.pop(identity(page.url), None)

    def by_itself(self, page: ReadPage, site: Site) -> Verdict | None:
        """Drop a page that another one names as its copy."""
        named = self.page_of(page.url)
        if named is None or page.is_wanted:
            return None
        return Drop("canonical", f"{named} names it as a copy of itself", named)

    # --- questions ---

    def page_of(self, url: str) -> str | None:
        """Return the page that names an address as its copy, None where none does."""
        if not self._pages and not self._before:
            return None
        copy = identity(url)
        before = self._before.get(copy)
        return self._pages.get(copy) or (before if before not in self._read else None)
