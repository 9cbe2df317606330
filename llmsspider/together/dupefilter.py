"""Each page once, whichever worker is the first to ask for it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from llmsspider.dupefilter import PageDupeFilter
from llmsspider.errors import TogetherError
from llmsspider.urls import identity, page_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.together.crew import Crew


class SharedDupeFilter(PageDupeFilter):
    """`PageDupeFilter` with its set of pages in Redis."""

    crew: Crew

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SharedDupeFilter:
        """Take the crew of the run."""
        dupefilter = super().from_crawler(crawler)
        assert isinstance(dupefilter, cls)  # noqa: S101  # that is what it makes
        dupefilter.crew = crawler.spider.run.crew  # type: ignore[union-attr]
        return dupefilter

    def seen(self, key: bytes) -> bool:
        """Say whether any worker has asked for the page with this key."""
        try:
            return self.crew.seen(key)
        except TogetherError:  # the crawl ends for it
            return True

    def remember(self, key: bytes) -> None:
        """Count a page as asked for."""
        with contextlib.suppress(TogetherError):
            self.crew.remember(key)

    def request_seen(self, request: Request) -> bool:
        """Say whether any worker has asked for the request's page, and remember it."""
        redirects = request.meta.get("redirect_urls")
        if redirects and identity(redirects[-1]) == identity(request.url):
            return False
        return not self.crew.remember(page_key(request.url))
