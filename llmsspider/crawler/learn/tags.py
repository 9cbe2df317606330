"""Pages that others name as their tags (`rel=tag`): one that only lists others is no document."""

from collections.abc import Iterable
from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.crawler.settle import Drop, ReadPage, Site, Verdict, Wait
from llmsspider.web.urls import identity, usable

MAX_TAGS = 5_000
"""Maximum number of pages that are known as tags, and that the store remembers."""

NAMED_AS_TAG = Drop("listing", "other pages name it as their tag (rel=tag)")


class Tags(Learner):
    """The pages, by identity, that pages of this run or an earlier one name as their tags."""

    name = "tags"

    def __init__(self) -> None:
        self._pages: set[str] = set()

    def remember(self, kept: Any) -> None:
        """Take over the pages of earlier runs."""
        if isinstance(kept, list):
            self._add(url for url in kept if isinstance(url, str))

    def keep(self, end: End) -> list[str]:
        """Return all pages that are known."""
        return sorted(self._pages)

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Learn the tags of a page, unless another page takes its place."""
        if not isinstance(verdict, Drop) or verdict.reason == "listing":
            self._add(usable(page.meta.tags))

    def by_itself(self, page: ReadPage, site: Site) -> Verdict | None:
        """Drop a page that only lists others, and is known as a tag or names itself as one."""
        if page.is_wanted or not page.meta.lists_only:
            return None
        names_itself = identity(page.url) in map(identity, usable(page.meta.tags))
        return NAMED_AS_TAG if names_itself or self.is_tag(page.url) else None

    def among_others(self, page: ReadPage, site: Site) -> Verdict | None:
        """Wait with a page that only lists others: a later page may name it as its tag."""
        if page.is_wanted or not page.meta.lists_only:
            return None
        if self.is_tag(page.url):
            return NAMED_AS_TAG
        return Wait("tag") if site.can_wait("tag") else None

    def _add(self, urls: Iterable[str]) -> None:
        for url in urls:
            if len(self._pages) < MAX_TAGS:
                self._pages.add(identity(url))

    def is_tag(self, url: str) -> bool:
        """Say whether other pages name a page as their tag."""
        return identity(url) in self._pages
