"""The phases of a crawl in their order: discovery, the seeds, and those that follow when all pages are through.

In: the `Phase` of a crawl: its run, spider, fetch, and how it waits for the engine. Out: requests; a phase begins when
nothing of the one before is under way. Each is a function that can be read and tested alone. Spider middlewares
import it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import signals

from llmsspider.crawl.fetch import EngineFetch
from llmsspider.crawl.requests import synthetic_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.docs import DocsCallbacks
    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


PORTION = 1000
"""Number of requests for stored pages that are queued at a time."""


class EngineIdle:
    """Waits for a crawler's engine."""

    def __init__(self, crawler: Crawler):
        self._crawler = crawler

    async def wait_until_idle(self) -> None:
        """Wait until nothing is queued, downloading or being parsed."""
        engine = self._crawler.engine
        while engine is not None and (
            engine.downloader.active
            or not engine.scraper.slot.is_idle()  # type: ignore[union-attr]
            or (engine.scheduler is not None and engine.scheduler.has_pending_requests())
        ):
            await self._crawler.signals.wait_for(signals.scheduler_empty)

    async def wait_until_queue_is_empty(self) -> None:
        """Wait until nothing is queued."""
        engine = self._crawler.engine
        while engine is not None and engine.scheduler is not None and engine.scheduler.has_pending_requests():
            await self._crawler.signals.wait_for(signals.scheduler_empty)

    async def in_portions(self, requests: Iterator[Request]) -> AsyncIterator[Request]:
        """Yield requests, a portion whenever the last one has left the queue."""
        while portion := list(islice(requests, PORTION)):
            for request in portion:
                yield request
            await self.wait_until_queue_is_empty()


@dataclass(slots=True, frozen=True)
class Phase:
    """The crawl that a phase belongs to."""

    crawler: Crawler
    spider: DocsCallbacks
    run: Run
    fetch: EngineFetch
    """The fetch of discovery; it keeps the start page's response and the answer for a file that is not there."""
    idle: EngineIdle

    @classmethod
    def of(cls, crawler: Crawler, spider: DocsCallbacks) -> Phase:
        """Return the phase context of a crawl."""
        return cls(crawler, spider, spider.run, EngineFetch(crawler, spider.run), EngineIdle(crawler))

    def results(self, results: Iterable[Any] | AsyncIterator[Any]) -> Request:
        """Return the request whose callback yields what the crawl knows without asking the site."""
        self.spider.settled.append(results)
        return synthetic_request(self.spider.parse_settled)

    def note(self, line: str) -> None:
        """Log a line at INFO."""
        logger.info("%(line)s", {"line": line}, extra={"spider": self.spider})
