"""The scope, asked once more where a request ended up: at redirect targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from llmsspider.refusal import FilteredRequest
from llmsspider.requests import info

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.run import Run


class ScopeMiddleware:
    """Leave out pages that were redirected out of scope, and queued ones that a limit stops.

    The limits are `max_pages`, `max_requests`, whose requests are counted here, and look-alikes.

    Links and seeds are judged before their requests exist; a page is known by where it ended.
    """

    def __init__(self, run: Run | None):
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScopeMiddleware:
        """Take the run of the spider, if it has one."""
        middleware = cls(getattr(crawler.spider, "run", None))
        crawler.signals.connect(middleware.request_reached_downloader, signals.request_reached_downloader)
        return middleware

    def request_reached_downloader(self, request: Request) -> None:
        """Count a request that is sent for a page: its Markdown form, HTML, redirects and retries."""
        page = info(request)
        if self.run is not None and page and not page.get("discovery") and not page.get("verify"):
            self.run.limit.count_request()

    def process_request(self, request: Request) -> None:
        """Raise `FilteredRequest` for a request that may not be followed."""
        page = info(request)
        run = self.run
        if (
            run is None
            or run.bounds.scope is None
            or not page
            or any(page.get(key) for key in ("nested", "synthetic", "verify", "source"))
        ):
            return
        if run.limit.reached:
            run.incomplete(run.limit.why)
            raise FilteredRequest(run.limit.verdict)
        alike = page.get("alike")
        if alike and not request.meta.get("redirect_times"):
            crowded = run.bounds.crowded(request.url, listed=alike == "listed")
            if crowded is not None:
                run.unseen.add("trap")
                raise FilteredRequest(crowded)
        if request.meta.get("redirect_times"):
            verdict = run.bounds.scope.verdict(request.url, listed=page.get("listed", False))
            if not verdict.allowed:
                raise FilteredRequest(verdict)
