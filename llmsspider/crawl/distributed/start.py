"""The start and the end of a crawl as its workers share them: one discovers, all crawl, one ends it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter
from scrapy.exceptions import CloseSpider

from llmsspider.crawl.compat import ask_scheduler
from llmsspider.crawl.deletions import note_outage
from llmsspider.crawl.distributed.worker_group import POLL_SECS, WorkerGroup
from llmsspider.errors import WorkerGroupError
from llmsspider.items import Page, PageMeta, Section
from llmsspider.site.discovery import Discovery, FetchResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler

    from llmsspider.crawl.known_pages import PageOutcome
    from llmsspider.crawl.run import Run
    from llmsspider.crawl.site import SiteKnowledge

logger = logging.getLogger(__name__)


# What the first worker found, on its way to the others: discovery without the bodies of its answers.


@dataclass(slots=True)
class SharedDiscovery:
    """Discovery, what the start page links to, and what was learned of the site meanwhile."""

    discovery: Discovery
    follow: list[str] = field(default_factory=list)
    hreflang: dict[str, str] = field(default_factory=dict)
    forms: dict[str, Any] = field(default_factory=dict)
    soft404_hashes: list[str] = field(default_factory=list)
    section: Section | None = None

    @classmethod
    def of(cls, discovery: Discovery, start_page: Page, site: SiteKnowledge) -> SharedDiscovery:
        """Return the parts of a discovery that other workers need."""
        hashes, meta = sorted(site.soft404_hashes), start_page.meta
        return cls(discovery, start_page.follow, dict(meta.hreflang), site.learned(), hashes, meta.section)

    @property
    def start_page(self) -> Page:
        """The start page, as far as the scope needs it."""
        return Page("", [], self.follow, PageMeta(hreflang=self.hreflang, section=self.section))

    def to_json(self) -> bytes:
        """Return it as JSON."""
        return _adapter().dump_json(dataclasses.replace(self, discovery=_light(self.discovery)))

    @classmethod
    def from_json(cls, data: bytes) -> SharedDiscovery:
        """Read what `to_json` wrote; bodies and files that it names are on another worker's machine, and omitted."""
        found = _adapter().validate_json(data)
        return dataclasses.replace(found, discovery=_light(found.discovery))


@cache
def _adapter() -> TypeAdapter[SharedDiscovery]:
    return TypeAdapter(SharedDiscovery)


def _light(discovery: Discovery) -> Discovery:
    return dataclasses.replace(
        discovery,
        start=_without_body(discovery.start),
        files=[dataclasses.replace(file, text="", entries=()) for file in discovery.files],
        full_texts=[
            dataclasses.replace(
                text,
                answer=_without_body(text.answer),
                report=text.report and dataclasses.replace(text.report, marks=()),
            )
            for text in discovery.full_texts
        ],
        tried=[],
        cut=[],
    )


def _without_body(answer: FetchResult) -> FetchResult:
    return dataclasses.replace(answer, body=b"", spool=None)


# --- how a crawl starts and ends, with one worker and with several ---

PART = "one of several workers: the run of the first one says how the whole ended"
"""Why the runs of the others are no complete ones."""


class OneWorkerStart:
    """The only worker of a crawl: it discovers, queues the seeds and ends the crawl."""

    @property
    def queues_seeds(self) -> bool:
        """Whether this worker queues the seeds."""
        return True

    async def join(self) -> None:
        """Enter the crawl."""

    async def discovery(
        self, discover: Callable[[], Awaitable[tuple[Discovery, Page] | None]]
    ) -> Discovery | None:
        """Return what `discover` found, None for a run without discovery."""
        found = await discover()
        return found and found[0]

    async def wait_for_others(self) -> bool:
        """Wait until no worker has anything left; return whether this one ends the crawl."""
        return True


class GroupStart(OneWorkerStart):
    """One of several workers: the leader discovers, queues the seeds and ends the crawl, the others only crawl."""

    def __init__(self, crawler: Crawler, run: Run, group: WorkerGroup):
        self.crawler = crawler
        self.run = run
        self.group = group

    @property
    def queues_seeds(self) -> bool:
        """Whether this worker queues the seeds."""
        return self.group.leads

    async def join(self) -> None:
        """Enter the crawl of the source, or begin one; raises `WorkerGroupError`."""
        await self.group.join()

    async def discovery(
        self, discover: Callable[[], Awaitable[tuple[Discovery, Page] | None]]
    ) -> Discovery | None:
        """Return what the leader found; the leader discovers and shares it."""
        data = await self.group.found()
        if data is None:
            found = await discover()
            shared = SharedDiscovery.of(*found, self.run.site).to_json() if found else b"null"
            self.group.publish(shared)
            return found and found[0]
        return None if data == b"null" else self._take_over(SharedDiscovery.from_json(data))

    def _take_over(self, found: SharedDiscovery) -> Discovery:
        run = self.run
        run.site.remember(found.forms)
        run.site.soft404_hashes.update(found.soft404_hashes)
        run.discovered(found.discovery, found.start_page)
        run.progress.enter("crawling")
        logger.info(
            "joined the crawl of %(source)s that another worker began",
            {"source": run.source},
            extra={"spider": self.crawler.spider},
        )
        return found.discovery

    async def wait_for_others(self) -> bool:
        """Return when no worker has anything left: True for the leader, which has all outcomes then.

        Raises:
            CloseSpider: Redis cannot be used any more; for a worker other than the leader also when no document came
                of the crawl.
        """
        run, group = self.run, self.group
        try:
            if group.leads:
                group.seeded()
            await _wait_until_drained(self.crawler, group)
            run.coverage.check_limit(run.limit)
            await asyncio.to_thread(run.flush)  # the leader reads in the store what everybody reached
            if group.leads:
                await _collect_outcomes(run, group)
            else:
                _send_outcomes(run, group)
        except WorkerGroupError as fault:
            logger.error("%(fault)s", {"fault": fault}, extra={"spider": self.crawler.spider})
            run.coverage.incomplete("the connection to Redis failed")
            raise CloseSpider("redis_lost") from fault
        return group.leads


def start_of(crawler: Crawler, run: Run) -> OneWorkerStart:
    """Return how the worker of a run starts and ends its crawl."""
    group = run.worker_group
    return GroupStart(crawler, run, group) if isinstance(group, WorkerGroup) else OneWorkerStart()


async def _wait_until_drained(crawler: Crawler, group: WorkerGroup) -> None:
    """Wait, and have the engine look for requests of others meanwhile: nothing else makes it."""
    engine = crawler.engine
    while engine is not None:
        _share(engine.downloader, crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"), group.size)
        ask_scheduler(engine)
        await asyncio.sleep(POLL_SECS)
        if group.fault is not None:
            raise group.fault
        idle = not engine.downloader.active and engine.scraper.slot.is_idle()  # type: ignore[union-attr]
        if idle and not engine.scheduler.has_pending_requests() and group.drained():  # type: ignore[union-attr]
            return


def _share(downloader: Downloader, concurrency: int, workers: int) -> None:
    """Give each worker its share of what one host may get at a time."""
    share = max(1, concurrency // workers)
    if downloader.domain_concurrency != share:
        downloader.domain_concurrency = share
        for slot in downloader.slots.values():
            slot.concurrency = share


def _send_outcomes(run: Run, group: WorkerGroup) -> None:
    note_outage(run)
    outcomes = ((key, outcome, run.known.reasons[key]) for key, outcome in run.known.outcomes.items())
    group.send_outcomes(outcomes, run.coverage.why_incomplete, run.coverage.unseen)
    nothing = group.documents() == 0
    group.leave()
    run.coverage.incomplete(PART)
    if nothing:
        raise CloseSpider("no_documents")


async def _collect_outcomes(run: Run, group: WorkerGroup) -> None:
    await group.alone()
    outcomes, incomplete = group.collect_outcomes()
    for key, outcome, reason in outcomes:
        run.known.record_outcome(key, cast("PageOutcome", outcome), reason)
    run.coverage.unseen |= group.collect_limits()
    for why in (*group.lost, *incomplete):
        run.coverage.incomplete(why)
        logger.warning("the crawl is incomplete: %(why)s", {"why": why})
