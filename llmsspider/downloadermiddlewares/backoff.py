"""The pace of each host: a gentle start, a highest rate, its latency, Crawl-delay, 429, 503 and Retry-After, 403."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.core import downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.crawl import compat
from llmsspider.crawl.requests import META, RefusedRequest
from llmsspider.crawl.spiderrun import run_of
from llmsspider.downloadermiddlewares.headers import robots_user_agent
from llmsspider.web import stats
from llmsspider.web.politeness import (
    DEFAULT_RATE,
    START_DELAY_SECS,
    HostPace,
    Turns,
    paces_freely,
    retry_after_secs,
    shared_file,
)

logger = logging.getLogger(__name__)

REFUSALS = (429, 503)
"""Statuses that mean "not now" (RFC 6585, section 4; RFC 9110, section 15.6.4)."""


class BackoffMiddleware:
    """Delay the downloader slot of a host; requests wait in its queue and use no concurrency.

    `LLMS_MAX_RATE` (requests a second) bounds what one host gets; not set, hosts of this machine and of private
    networks have no bound, others `DEFAULT_RATE`. With a bound a host gets few requests at first, then as many as it
    answers (`AUTOTHROTTLE_TARGET_CONCURRENCY`). Where there is a distance between requests, crawls of this machine
    share it (`llmsspider.web.politeness`). `AUTOTHROTTLE_MAX_DELAY` (seconds, 120) limits the wait that a
    site can require: a longer Crawl-delay is cut to it, after a longer Retry-After requests to the host fail as
    `rate_limited`; so they do where the host refuses one request after the other.

    Stats: `llms/backoff/429`, `llms/backoff/503`, `llms/blocked/rate-limited`, `llms/blocked/host-refuses`.
    """

    def __init__(self, crawler: Crawler, max_wait: float, max_rate: float | None, turns: Turns):
        self.crawler = crawler
        self.max_wait = max_wait
        self.max_rate = max_rate
        self.turns = turns
        self.user_agent = robots_user_agent(crawler.settings)
        self._concurrency = crawler.settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY")
        self._paces: dict[str, HostPace] = {}
        self._unknown: set[str] = set()
        """Hosts of which it is not known yet whether they are of a private network."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BackoffMiddleware:
        """Read `AUTOTHROTTLE_MAX_DELAY` and `LLMS_MAX_RATE`."""
        settings = crawler.settings
        rate = None if settings.get("LLMS_MAX_RATE") in {None, ""} else settings.getfloat("LLMS_MAX_RATE")
        middleware = cls(crawler, settings.getfloat("AUTOTHROTTLE_MAX_DELAY"), rate, Turns(shared_file()))
        crawler.signals.connect(middleware.robots_parsed, signal=signals.robots_parsed)
        crawler.signals.connect(middleware.response_downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(middleware.turns.close, signal=signals.engine_stopped)
        return middleware

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
        """Put a redirected request into the slot of its own host, refuse one for a host that gets no more requests."""
        host = urlparse_cached(request).hostname or ""
        _leave_slot_of_redirecting_host(request)
        key = request.meta.get(Downloader.DOWNLOAD_SLOT) or host
        pace = self._pace(key)
        if pace.delay or pace.learned:
            request.meta["autothrottle_dont_adjust_delay"] = True
        if pace.stopped:
            stats.count(self.crawler.stats, stats.blocked("host-refuses"))
            raise RefusedRequest(
                f"{host} gets no more requests: {pace.stopped}", reason="host-refuses", kind="rate_limited"
            )
        if closed := pace.closed_for(monotonic()):
            stats.count(self.crawler.stats, stats.blocked("rate-limited"))
            message = f"{host} wants no request for another {closed:.0f} s (Retry-After above AUTOTHROTTLE_MAX_DELAY)"
            raise RefusedRequest(message, reason="rate-limited", kind="rate_limited")

    async def turn(self, request: Request) -> None:
        """Wait until a request may be sent to a host that other crawls of this machine may use too."""
        pace = self._paces.get(request.meta[Downloader.DOWNLOAD_SLOT])
        if pace is None or not pace.delay:
            return
        at = self.turns.reserve(urlparse_cached(request).netloc, pace.delay, monotonic())
        while (secs := max(at, pace.paused_until) - monotonic()) > 0:  # noqa: ASYNC110  # a pause may come meanwhile
            await asyncio.sleep(secs)

    def response_downloaded(self, request: Request, response: Response) -> None:
        """Adapt the pace of the host that has just answered.

        A signal, since `process_response` comes after the slot has sent the next request of its queue.
        """
        key = request.meta[Downloader.DOWNLOAD_SLOT]
        pace = self._pace(key)
        if key in self._unknown:
            self._unknown.discard(key)
            if "proxy" not in request.meta and paces_freely(key, str(response.ip_address or "") or None):
                pace.remove_bound()
        if response.status in REFUSALS:
            self._refused(key, request, response)
        elif response.status == 403:
            self._forbade(key, request)
        elif response.status < 500:
            pace.record_answer(monotonic(), request.meta.get("download_latency", 0.0))
            self._apply(key)

    def _forbade(self, key: str, request: Request) -> None:
        """Count a page that may not be read. Files that are looked for are no pages: some hosts have 403 for 404."""
        if request.meta.get(META, {}).get("nested"):
            return
        pace = self._paces[key]
        pace.record_forbidden()
        self._apply(key)
        self._note_stop(key)

    def _note_stop(self, key: str) -> None:
        pace, run = self._paces[key], run_of(self.crawler)
        if not pace.stopped or run is None:
            return
        why = f"{key} gets no more requests: {pace.stopped}"
        if run.coverage.why_incomplete != why:
            logger.warning("%(why)s", {"why": why}, extra={"spider": self.crawler.spider})
        run.coverage.incomplete(why)

    def _refused(self, key: str, request: Request, response: Response) -> None:
        header = response.headers.get("Retry-After")
        asked = retry_after_secs(header.decode("latin-1") if header else None, datetime.now(UTC))
        pace = self._pace(key)
        wait = pace.record_refusal(monotonic(), asked)
        stats.count(self.crawler.stats, stats.backoff(response.status))
        self._apply(key)
        self.turns.postpone(urlparse_cached(request).netloc, pace.paused_until)
        self._note_stop(key)
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
        is_free = self.max_rate is None and paces_freely(key)
        rate = DEFAULT_RATE if self.max_rate is None else self.max_rate
        if is_free or not rate:
            self._paces[key] = HostPace(self.max_wait, floor=floor)
        else:
            self._paces[key] = HostPace(
                self.max_wait,
                floor=max(floor, 1 / rate),
                delay=START_DELAY_SECS,
                concurrency=self._concurrency,
                requested=floor,
            )
            if self.max_rate is None:
                self._unknown.add(key)
        if self._paces[key].delay:
            self._apply(key)
        return self._paces[key]

    def _apply(self, key: str) -> None:
        """Carry the pace over to the downloader's slot, and to the one that replaces it when idle."""
        pace = self._paces[key]
        delay, slot = pace.delay, self._downloader.slots.get(key)
        if self._downloader.per_slot_settings.get(key, {}).get("delay") != delay:
            self._downloader.per_slot_settings[key] = {
                **self._downloader.per_slot_settings.get(key, {}),
                "delay": delay,
                "jitter": 0.0,
            }
        if not slot:
            return
        slot.delay, slot.jitter = delay, 0.0
        if pace.paused_until > monotonic():
            slot.lastseen = pace.paused_until - slot.delay

    @property
    def _downloader(self) -> downloader.Downloader:
        assert self.crawler.engine  # noqa: S101 - there is one whenever a hook of a downloader middleware runs
        return self.crawler.engine.downloader


def _leave_slot_of_redirecting_host(request: Request) -> None:
    """Remove the slot that a redirect copied from the host it came from (Scrapy copies all of `meta`)."""
    came_from = request.meta.get("redirect_urls")
    host = urlsplit(came_from[-1]).hostname if came_from else None
    if came_from and request.meta.get(Downloader.DOWNLOAD_SLOT) == (host or ""):
        del request.meta[Downloader.DOWNLOAD_SLOT]


class Downloader(compat.Downloader):
    """Scrapy's; a request waits for its turn at its host before it is sent."""

    @cached_property
    def _backoff(self) -> BackoffMiddleware | None:
        return self.crawler.get_downloader_middleware(BackoffMiddleware)

    async def before_sending(self, request: Request) -> None:
        """Wait for the request's turn at its host."""
        if self._backoff is not None:
            await self._backoff.turn(request)
