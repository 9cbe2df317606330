"""The start of the crawl: discovery first, then its seeds, then what only the end of the crawl can decide."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import CloseSpider, NotConfigured

from llmsspider.config.arguments import NO_URL, NO_URL_GIVEN
from llmsspider.crawl.beginning import Phase, discover_site, seed_requests
from llmsspider.crawl.ending import ENDING
from llmsspider.crawl.progress import replay_command
from llmsspider.crawl.requests import EngineFetch
from llmsspider.crawl.scheduler import mark_job
from llmsspider.crawl.spiderrun import required_run
from llmsspider.errors import LlmsspiderError, StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.docs import DocsCallbacks
    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)
faults = logging.getLogger(f"{__name__}.faults")
"""What ended the run; the closing lines of `llmsspider` say it again."""


class LlmsTxtStart:
    """Probe llms.txt before the first page and make its entries the seeds of the crawl.

    `process_start` stays open for the whole run and works in phases: discovery; the seeds, all after the scope is
    fixed (`crawl/beginning.py`); when those are through the phases of the end, in the order of `ENDING`
    (`crawl/ending.py`). The requests of discovery pass every downloader middleware, but neither scheduler nor
    dupefilter. `LLMS_DISCOVERY_ENABLED=False` fetches the start page and nothing else first.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self.spider: DocsCallbacks = crawler.spider  # type: ignore[assignment]
        self.phase = Phase(crawler, self.spider, run, EngineFetch(crawler, run))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LlmsTxtStart:
        """Take the run of the spider; a spider without phases starts as without this middleware."""
        run = required_run(crawler)
        if not run.discovers:
            raise NotConfigured
        return cls(crawler, run)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the requests of every phase; raises `CloseSpider` for a run without pages, or when the store failed.

        Where the spider's own `start` yields any, those are all.
        """
        run, own = self.run, await anext(start, None)
        if own is not None:  # nothing is known before such a run, and nothing is stored
            run.remembers = False
            run.note("the spider's own start takes the place of discovery: what comes of it is not stored")
            run.coverage.incomplete("a start of its own")
            run.workers.open()
            run.bounds.stored((), getattr(own, "url", "") if run.arguments.url == NO_URL else None)
            yield own
            async for request in start:
                yield request
            return
        if run.arguments.url == NO_URL:
            logger.error(NO_URL_GIVEN, extra={"spider": self.spider})
            raise CloseSpider("start_failed")
        try:
            await self._begin()
            if run.config.plan_only:
                raise CloseSpider("planned")
            for phase in (seed_requests, *ENDING):
                async for request in phase(self.phase):
                    yield request
                await self.phase.wait_until_idle()
        except StoreError as error:
            run.fault = str(error)
            faults.error("The crawl ends: %(error)s", {"error": error}, extra={"spider": self.spider})
            raise CloseSpider("store_failed") from error
        start_failed = run.discovery is not None and bool(run.discovery.start.error)
        number = run.obtained if start_failed else run.has_documents
        if not number and not run.progress.changes["deleted"]:
            raise CloseSpider("start_failed" if start_failed else "no_documents")

    async def _begin(self) -> None:
        """Open the run, say which pages may wait for the end, and discover; raises `CloseSpider` where that fails."""
        settings, run = self.crawler.settings, self.run
        try:
            run.open()
            mark_job(settings.get("JOBDIR"), run.id, None)
            if not settings.getbool("RETRY_ENABLED") or settings.getint("RETRY_TIMES") <= 0:
                run.waiting.closed.add("failed")
            if run.arguments.max_depth is not None:
                run.waiting.closed.add("links")  # depths are exact only where links are followed at once
            if run.known.states:
                run.waiting.closed.discard("moved")
                before = run.memory.run_before()
                run.moves.every = before is not None and before.complete
            await discover_site(self.phase)
        except LlmsspiderError as error:
            faults.error("%(error)s", {"error": error}, extra={"spider": self.spider})
            run.fault = str(error)
            raise CloseSpider("store_failed" if isinstance(error, StoreError) else "start_failed") from error
        if run.outputs.undelivered_since is not None and not run.config.plan_only:
            logger.warning(
                "an earlier run stored changes that it did not deliver; `%(command)s` gives them",
                {"command": replay_command(run.source, run.outputs.undelivered_since)},
                extra={"spider": self.spider},
            )
