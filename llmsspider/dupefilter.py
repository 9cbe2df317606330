"""Each page once: requests are the same when their pages are (`urls.identity`), whatever Scrapy's fingerprint says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.dupefilters import RFPDupeFilter

from llmsspider.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler


class PageDupeFilter(RFPDupeFilter):
    """Filter requests for a page that was requested before, in this run or the one a JOBDIR continues.

    Fingerprints stay stock, so HTTP cache and others are not affected. A request passes when a redirect led to
    it within one page (`/docs` to `/docs/`, `/a/index.html` to `/a/`). How many redirect to one page is
    evidence for the run (`walls.Suspects`).
    """

    redirected: Callable[[bytes], None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PageDupeFilter:
        """Lend the set of pages to the run, which tests links against it before a Request exists."""
        dupefilter = super().from_crawler(crawler)
        run = getattr(crawler.spider, "run", None)
        if run is not None:
            run.seen = dupefilter.seen
            run.remember = dupefilter.remember
            dupefilter.redirected = run.suspects.see_redirect
        return dupefilter

    def seen(self, key: bytes) -> bool:
        """Say whether the page with this key (`urls.page_key`) was requested."""
        return key in self._fingerprints

    def remember(self, key: bytes) -> None:
        """Count a page as requested that came another way, such as a start page that failed in discovery."""
        self._fingerprints.add(key)

    def request_seen(self, request: Request) -> bool:
        """Say whether the request's page was requested before, and remember it."""
        redirects = request.meta.get("redirect_urls")
        if redirects and identity(redirects[-1]) == identity(request.url):
            return False
        if redirects and self.redirected is not None:
            self.redirected(page_key(request.url))
        return super().request_seen(request)

    def _fingerprint(self, request: Request) -> bytes:
        return page_key(request.url)
