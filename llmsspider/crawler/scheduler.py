"""Each page once (`urls.identity`), and exact breadth-first order where depth is bounded."""

import contextlib
import logging
from collections.abc import Sized
from functools import cached_property
from pathlib import Path
from typing import IO, Self

from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.statscollectors import StatsCollector
from scrapy.utils.job import job_dir
from twisted.internet.defer import Deferred

from llmsspider.crawler.job import RESUMABLE
from llmsspider.crawler.requests import is_permanent, run_of
from llmsspider.crawler.run import Run
from llmsspider.crawler.settle import reasons_with
from llmsspider.web.urls import identity, page_key

logger = logging.getLogger(__name__)


# Each page once: requests are the same when their pages are (`urls.identity`), whatever Scrapy's
# fingerprint says.

KEY_BYTES = 16  # length of a key (`urls.page_key`)


class PageDupeFilter(BaseDupeFilter):
    """Filter requests for a page that was requested before, in this run or the one a JOBDIR
    continues.

    A request passes when a redirect led to it within one page (`/docs` to `/docs/`). How many
    redirect to one page is evidence for the run (`bot_walls.Suspects`). `requests.seen` of a JOBDIR
    holds the keys (`KEY_BYTES` each).
    """

    def __init__(
        self,
        path: str | None = None,
        collector: StatsCollector | None = None,
        run: Run | None = None,
    ):
        self._collector = collector
        self._run = run
        self._pages: set[bytes] = run.addresses.requested_pages if run is not None else set()
        self._file: IO[bytes] | None = None
        if path:
            self._file = Path(path, "requests.seen").open("a+b")  # noqa: SIM115  # until `close`
            self._file.seek(0)
            kept = self._file.read()
            self._pages.update(kept[at : at + KEY_BYTES] for at in range(0, len(kept), KEY_BYTES))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the run's set of pages, which links are tested against before a Request exists."""
        return cls(job_dir(crawler.settings), crawler.stats, run_of(crawler))

    def request_seen(self, request: Request) -> bool:
        """Return whether the request's page was requested before, and remember it."""
        key = page_key(request.url)
        redirects = request.meta.get("redirect_urls", ())
        if redirects and identity(redirects[-1]) == identity(request.url):
            return False
        if redirects and self._run is not None:
            self._run.suspects.see_redirect(key, not is_permanent(request))
        if key in self._pages:
            if self._run is not None:
                for_good = is_permanent(request)
                self._run.addresses.redirected(redirects, request.url, for_good=for_good)
            return True
        self._pages.add(key)
        if self._file is not None:
            self._file.write(key)
        return False

    def log(self, request: Request, spider: Spider) -> None:
        """Count and log a request that was filtered."""
        if self._collector is not None:
            self._collector.inc_value("dupefilter/filtered")
        logger.debug(
            "Filtered a request for a known page: %(request)s",
            {"request": request},
            extra={"spider": spider},
        )

    def close(self, reason: str) -> None:
        """Close the file of the JOBDIR."""
        if self._file is not None:
            self._file.close()


# Exact breadth-first order where depth is bounded, and no more pages under way than are wanted.

LAST_UNDER_WAY = 4
"""Requests under way however few documents `max_pages` leaves: not every requested page becomes a
document.
"""


class BreadthFirstScheduler(Scheduler):
    """Scrapy's scheduler; with `max_depth` set, depth d+1 waits until every page of depth d is
    done.

    Without the wait a page can be reached first over a longer path, and be filtered or given a
    wrong depth. What waits in the queue of a JOBDIR is sent once the scope is known again: what a
    page leads to is judged by it. With `max_pages` set, no more requests are under way than
    documents are left to export, or `LAST_UNDER_WAY` if larger.
    """

    _held: Request | None = None
    _depth: int = 0

    def next_request(self) -> Request | None:
        """Return the next request, or None while it has to wait."""
        run = self._run
        if run is None:
            return super().next_request()
        left = run.limit.left or 0
        if left > 0 and max(left, LAST_UNDER_WAY) <= self._under_way():
            return None  # those under way may reach `max_pages`; the rest is filtered then
        if run.discovers and run.job.resumes is not None and run.bounds.scope is None:
            return None
        request = self._held or super().next_request()
        self._held = None
        depth = request.meta.get("depth", 0) if request is not None else 0
        if run.arguments.max_depth is None or depth <= self._depth:
            return request
        if self._under_way():
            self._held = request
            return None
        self._depth = depth
        return request

    def __len__(self) -> int:
        return super().__len__() + (self._held is not None)

    def close(self, reason: str) -> Deferred[None] | None:
        """Count what is left of a crawl that was stopped, and keep it in a JOBDIR: also the pages
        that wait.
        """
        again = [self._held] if self._held is not None else []
        if self._run is not None:
            self._run.progress.unread += len(self)
            if self.dqs is not None and reason == RESUMABLE:
                again += [
                    page.request
                    for page in self._run.waiting.take(*reasons_with(again=True))
                    if page.request
                ]
        for request in again:
            # not serialisable: it came from the queue in memory
            with contextlib.suppress(ValueError):
                if self.dqs is not None:
                    self.dqs.push(request)
        self._held = None
        return super().close(reason)

    def _under_way(self) -> int:
        """Return how many requests are being downloaded or their answers read."""
        engine = self.crawler.engine if self.crawler else None
        if engine is None:
            return 0
        slot = engine.scraper.slot
        reading = len(slot.active) + len(slot.queue) + slot.itemproc_size if slot is not None else 0
        return len(engine.downloader.active) + reading

    @cached_property
    def _run(self) -> Run | None:
        return run_of(self.crawler) if self.crawler is not None else None


def queued_requests(crawler: Crawler) -> int:
    """Return how many pages wait in the scheduler, or are being downloaded or read; nested
    downloads do not count.
    """
    engine = crawler.engine if crawler.crawling else None
    slot = getattr(engine, "_slot", None)  # Scrapy has no public way
    if engine is None or slot is None:
        return 0
    scheduler = engine.scheduler
    # one of the user's may not be able to count: whether there is any is what the phases of a crawl
    # need
    is_pending = scheduler is not None and scheduler.has_pending_requests()
    waiting = len(scheduler) if isinstance(scheduler, Sized) else int(is_pending)
    return waiting + sum(request.callback is not None for request in slot.inprogress)
