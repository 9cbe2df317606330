"""Copies of pages for print and for phones, which the pages themselves name (`rel=alternate`)."""

from llmsspider.crawler.learn.base import Learner
from llmsspider.crawler.settle import Drop, ReadPage, Site, Verdict
from llmsspider.web.urls import host, identity, usable

MAX_COPIES = 50_000
"""Maximum number of copies that are known in a run."""


class Copies(Learner):
    """The copies that pages of this run name, by identity, and the page of each.

    A page that names a copy links to it as well, so it is known in time in each run.
    """

    name = "copies"

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Learn which copies a page has; a copy names none."""
        if self.page_of(page.url) is not None:
            return
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
        return self._pages.get(identity(url)) if self._pages else None
