"""Tell the store that the run is alive and how far it is, so that a killed one shows as lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from llmsspider.errors import StoreError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.run import Run

INTERVAL_SECS = 5.0
"""Time between two signs of life; a run that is silent for a minute counts as lost."""


class Heartbeat:
    """Write the counts of the run to the store every five seconds."""

    def __init__(self, crawler: Crawler, run: Run):
        self._crawler = crawler
        self._run = run
        self._task = create_looping_call(self._beat)
        run.queued = self.queued

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Heartbeat:
        """Take the run of the spider; a spider without one has nothing to tell."""
        run = getattr(crawler.spider, "run", None)
        if run is None:
            raise NotConfigured  # a spider of another project
        heartbeat = cls(crawler, run)
        crawler.signals.connect(heartbeat.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(heartbeat.engine_stopped, signal=signals.engine_stopped)
        return heartbeat

    def spider_opened(self) -> None:
        """Start."""
        self._task.start(INTERVAL_SECS, now=False)

    def engine_stopped(self) -> None:
        """Stop; the feeds, which may take long to upload, are stored by then."""
        if self._task.running:
            self._task.stop()

    def _beat(self) -> None:
        try:
            self._run.heartbeat()
        except StoreError:  # the writer has said it; the next page to be stored ends the crawl
            self._task.stop()

    def queued(self) -> int:
        """Return how many pages wait in the scheduler, are being downloaded or being read.

        The downloads that belong to a page (its Markdown form) have no callback and are not counted.
        """
        engine = self._crawler.engine
        slot = getattr(engine, "_slot", None)  # Scrapy offers no other way to ask
        if engine is None or slot is None:
            return 0
        scheduler = engine.scheduler
        waiting = len(scheduler) if scheduler is not None else 0  # type: ignore[arg-type]
        return waiting + sum(request.callback is not None for request in slot.inprogress)
