"""Answers and robots.txt set the pace of their host, which the slots of the downloader keep."""

import asyncio
import logging
from collections import defaultdict
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.core import downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.crawler.parts import Coverage
from llmsspider.crawler.requests import RefusedRequest, info, part_of
from llmsspider.downloadermiddlewares.host_pace import (
    DEFAULT_RATE,
    START_DELAY_SECS,
    HostPace,
    paces_freely,
    retry_after_secs,
)
from llmsspider.downloadermiddlewares.turns import SharedTurns, Turns, shared_file
from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.web import stats

logger = logging.getLogger(__name__)

SPARE = 1.05
"""What distances are multiplied by between turns: five requests take 50 ms more than a second, so
that one that is late makes no sixth.
"""
LATE_SECS = 0.025
"""A request that misses its turn by this takes another one."""
TRIES = 3
"""Number of turns that a request takes at most."""

REFUSALS = (429, 503)
"""Statuses that mean "not now" (RFC 6585, section 4; RFC 9110, section 15.6.4)."""


class BackoffMiddleware:
    """Delay the downloader slot of a host; requests wait in its queue and use no concurrency.

    `LLMS_MAX_RATE` (requests a second) bounds what one host gets; not set, hosts of this machine
    and of private networks have no bound, others `DEFAULT_RATE`. Where there is a distance between
    requests, crawls share it (`SharedTurns`). `AUTOTHROTTLE_MAX_DELAY` (seconds, 120) limits the
    wait that a site can require: after a longer Retry-After, or refusals without end, requests to
    the host fail as `rate_limited`. Stats: `llms/backoff/429`, `llms/backoff/503`,
    `llms/blocked/rate-limited`, `llms/blocked/host-refuses`.
    """

    def __init__(self, crawler: Crawler):
        settings = crawler.settings
        rate = settings.get("LLMS_MAX_RATE")
        self.crawler = crawler
        self.max_wait = settings.getfloat("AUTOTHROTTLE_MAX_DELAY")
        self.max_rate = None if rate in {None, ""} else float(rate)
        self.user_agent = robots_user_agent(settings)
        self._concurrency = settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY")
        self._paces: dict[str, HostPace] = {}
        self._queues = defaultdict[str, asyncio.Lock](asyncio.Lock)
        self._pausing = set[asyncio.Future[float]]()
        self._unknown: set[str] = set()
        """Hosts of which it is not known yet whether they are of a private network."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Have what robots.txt and answers say set the pace."""
        middleware = cls(crawler)
        crawler.signals.connect(middleware.robots_parsed, signal=signals.robots_parsed)
        crawler.signals.connect(middleware.response_downloaded, signal=signals.response_downloaded)
        return middleware

    @cached_property
    def turns(self) -> SharedTurns:
        """The turns of hosts whose requests keep a distance."""
        url = str(self.crawler.settings.get("LLMS_STORE_URL") or "")
        turns = SharedTurns(Turns(shared_file()), url if url.startswith("postgres") else None)
        self.crawler.signals.connect(turns.close, signal=signals.engine_stopped)
        return turns

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """Follow the Crawl-delay of a robots.txt that has just been read."""
        asked = robotparser.crawl_delay(self.user_agent)
        if not asked or asked < 0:
            return
        key = urlparse_cached(request).hostname or ""
        kept = self._pace(key).require_delay(asked)
        self._apply(key)
        logger.info(
            "%(host)s requires a Crawl-delay of %(asked)s s, keeping %(kept)s s",
            {"host": key, "asked": f"{asked:g}", "kept": f"{kept:g}"},
            extra={"spider": self.crawler.spider},
        )

    def process_request(self, request: Request) -> None:
        """Put a redirected request into the slot of its own host, refuse one for a host that gets
        no more requests.
        """
        host = urlparse_cached(request).hostname or ""
        slot = downloader.Downloader.DOWNLOAD_SLOT
        came_from = request.meta.get("redirect_urls")
        if came_from and request.meta.get(slot) == (urlsplit(came_from[-1]).hostname or ""):
            del request.meta[slot]  # copied from the host it came from, as all of `meta`
        key = request.meta.get(slot) or host
        pace = self._pace(key)
        if pace.delay or pace.learned:
            request.meta["autothrottle_dont_adjust_delay"] = True
        if pace.stopped:
            stats.count(self.crawler.stats, stats.blocked("host-refuses"))
            message = f"{host} gets no more requests: {pace.stopped}"
            raise RefusedRequest(message, reason="host-refuses", kind="rate_limited")
        if closed := pace.closed_for(monotonic()):
            stats.count(self.crawler.stats, stats.blocked("rate-limited"))
            message = (
                f"{host} wants no request for another {closed:.0f} s (Retry-After above"
                " AUTOTHROTTLE_MAX_DELAY)"
            )
            raise RefusedRequest(message, reason="rate-limited", kind="rate_limited")

    async def turn(self, request: Request) -> None:
        """Wait until a request may be sent to a host that other crawls may use too, for one turn at
        a time.
        """
        key = request.meta[downloader.Downloader.DOWNLOAD_SLOT]
        pace = self._paces.get(key)
        if pace is None or not pace.delay:
            return
        async with self._queues[key]:
            for _ in range(TRIES):
                at = await self.turns.reserve(
                    urlparse_cached(request).netloc, SPARE * pace.delay, monotonic()
                )
                while (secs := max(at, pace.paused_until) - monotonic()) > 0:  # noqa: ASYNC110  # a pause may come
                    await asyncio.sleep(secs)
                if monotonic() < at + LATE_SECS:
                    break

    def response_downloaded(self, request: Request, response: Response) -> None:
        """Adapt the pace of the host that has just answered: `process_response` comes after the
        next request.
        """
        key = request.meta[downloader.Downloader.DOWNLOAD_SLOT]
        pace = self._pace(key)
        if key in self._unknown:
            self._unknown.discard(key)
            if "proxy" not in request.meta and paces_freely(
                key, str(response.ip_address or "") or None
            ):
                pace.remove_bound()
        if response.status in REFUSALS:
            self._refused(key, pace, request, response)
        elif response.status == 403 and not info(request).get("nested"):
            # files that are looked for are no pages: some hosts have 403 for 404
            pace.record_forbidden()
        elif response.status < 500 and response.status != 403:
            pace.record_answer(monotonic(), request.meta.get("download_latency", 0.0))
        self._apply(key)
        if pace.stopped and response.status in {403, *REFUSALS}:
            self._note_stop(f"{key} gets no more requests: {pace.stopped}")

    def _note_stop(self, why: str) -> None:
        """Make the run incomplete."""
        coverage = part_of(self.crawler, Coverage)
        if coverage is not None:
            if coverage.why_incomplete != why:
                logger.warning("%(why)s", {"why": why}, extra={"spider": self.crawler.spider})
            coverage.incomplete(why)

    def _refused(self, key: str, pace: HostPace, request: Request, response: Response) -> None:
        header = response.headers.get("Retry-After")
        asked = retry_after_secs(header.decode("latin-1") if header else None, datetime.now(UTC))
        wait = pace.record_refusal(monotonic(), asked)
        stats.count(self.crawler.stats, stats.backoff(response.status))
        pausing = self.turns.reserve(urlparse_cached(request).netloc, 0.0, pace.paused_until)
        self._pausing.add(task := asyncio.ensure_future(pausing))
        task.add_done_callback(self._pausing.discard)
        logger.info(
            "%(host)s answered %(status)d, pausing %(wait).1f s",
            {"host": key, "status": response.status, "wait": wait},
            extra={"spider": self.crawler.spider},
        )
        if pace.stopped or pace.closed_for(monotonic()):
            request.meta["dont_retry"] = True

    def _pace(self, key: str) -> HostPace:
        if key in self._paces:
            return self._paces[key]
        settings = self.crawler.settings
        configured = self._downloader.per_slot_settings.get(key, {}).get("delay")
        floor = settings.getfloat("DOWNLOAD_DELAY") if configured is None else float(configured)
        if floor:
            logger.info(
                "%(host)s: %(floor)g s between requests, as DOWNLOAD_DELAY or DOWNLOAD_SLOTS says",
                {"host": key, "floor": floor},
                extra={"spider": self.crawler.spider},
            )
        pace = HostPace(self.max_wait, floor=floor, requested=floor)
        rate = DEFAULT_RATE if self.max_rate is None else self.max_rate
        if rate and not (self.max_rate is None and paces_freely(key)):
            pace.floor = max(floor, 1 / rate)
            pace.delay = max(floor, 1 / rate, START_DELAY_SECS)
            pace.concurrency = self._concurrency
            if self.max_rate is None:
                self._unknown.add(key)
        self._paces[key] = pace
        if pace.delay:
            self._apply(key)
        return pace

    def _apply(self, key: str) -> None:
        """Carry the pace over to the downloader's slot, and to the one that replaces it when idle."""
        pace = self._paces[key]
        slot = self._downloader.slots.get(key)
        configured = self._downloader.per_slot_settings.get(key, {})
        if configured.get("delay") != pace.delay:
            self._downloader.per_slot_settings[key] = {
                **configured,
                "delay": pace.delay,
                "jitter": 0.0,
            }
        if slot:
            slot.delay = pace.delay
            slot.jitter = 0.0
            if pace.paused_until > monotonic():
                slot.lastseen = pace.paused_until - slot.delay

    @property
    def _downloader(self) -> downloader.Downloader:
        assert self.crawler.engine  # noqa: S101 - there is one whenever a hook of a downloader middleware runs
        return self.crawler.engine.downloader
