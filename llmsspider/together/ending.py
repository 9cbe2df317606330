"""The end of a crawl by several workers: all wait for each other, the leader hears what it has to know."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, cast

from scrapy.exceptions import CloseSpider

from llmsspider.errors import TogetherError
from llmsspider.judging import note_outage
from llmsspider.together.crew import POLL_SECS

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from llmsspider.incremental import Fate
    from llmsspider.run import Run
    from llmsspider.together.crew import Crew

logger = logging.getLogger(__name__)

PART = "one of several workers: the run of the first one says how the whole ended"
"""Why the runs of the others are no complete ones."""


async def ended_together(crawler: Crawler, run: Run, crew: Crew) -> None:
    """Return when no worker has anything left. The leader has everything then; the others have left the crawl.

    Raises `CloseSpider` when Redis cannot be used any more, and for a worker other than the leader when no document
    came of the crawl.
    """
    try:
        if crew.leads:
            crew.seeded()
        await _drained(crawler, crew)
        run.judge_limit()
        await asyncio.to_thread(run.flush)  # the leader reads in the store what everybody reached
        if crew.leads:
            await _hear(run, crew)
        else:
            _tell(run, crew)
    except TogetherError as fault:
        logger.error("%(fault)s", {"fault": fault}, extra={"spider": crawler.spider})
        run.incomplete("Redis was lost")
        raise CloseSpider("redis_lost") from fault


async def _drained(crawler: Crawler, crew: Crew) -> None:
    """Wait, and have the engine look for requests of others meanwhile: nothing else makes it."""
    engine = crawler.engine
    while engine is not None:
        _share(engine.downloader, crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"), crew.size)
        engine._slot.nextcall.schedule()  # type: ignore[union-attr]
        await asyncio.sleep(POLL_SECS)
        if crew.fault is not None:
            raise crew.fault
        idle = not engine.downloader.active and engine.scraper.slot.is_idle()  # type: ignore[union-attr]
        if idle and not engine.scheduler.has_pending_requests() and crew.drained():  # type: ignore[union-attr]
            return


def _share(downloader: Downloader, concurrency: int, workers: int) -> None:
    """Give each worker its share of what one host may get at a time."""
    share = max(1, concurrency // workers)
    if downloader.domain_concurrency != share:
        downloader.domain_concurrency = share
        for slot in downloader.slots.values():
            slot.concurrency = share


def _tell(run: Run, crew: Crew) -> None:
    note_outage(run)
    fates = ((key, fate, run.known.reasons[key]) for key, fate in run.known.fates.items())
    crew.tell(fates, run.why_incomplete, run.unseen)
    nothing = crew.documents() == 0
    crew.leave()
    run.incomplete(PART)
    if nothing:
        raise CloseSpider("no_documents")


async def _hear(run: Run, crew: Crew) -> None:
    await crew.alone()
    fates, incomplete = crew.told()
    for key, fate, reason in fates:
        run.known.fated(key, cast("Fate", fate), reason)
    run.unseen |= crew.told_unseen()
    for why in (*crew.lost, *incomplete):
        run.incomplete(why)
        logger.warning("the crawl is incomplete: %(why)s", {"why": why})
