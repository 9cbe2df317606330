"""Slow down where a host asks for it: Crawl-delay, 429 and 503, Retry-After."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from time import monotonic

from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.politeness import HostPace, retry_after_secs
from llmsspider.refusal import RefusedRequest

logger = logging.getLogger(__name__)

REFUSALS = (429, 503)
"""Statuses that mean "not now" (RFC 6585, section 4; RFC 9110, section 15.6.4)."""


class BackoffMiddleware:
    """Hold back the downloader slot of a host; requests wait in its queue and take up no concurrency.

    `LLMS_MAX_WAIT` (seconds, 120) bounds what a site can ask for: a longer Crawl-delay is cut down to it,
    after a longer Retry-After the host is left alone and its requests fail as `rate_limited`.
    Stats: `llms/backoff/429`, `llms/backoff/503`, `llms/blocked/rate-limited`.
    """

    def __init__(self, crawler: Crawler, max_wait: float):
        self.crawler = crawler
        self.max_wait = max_wait
        self.user_agent = robots_user_agent(crawler.settings)
        self._paces: dict[str, HostPace] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BackoffMiddleware:
        """Read `LLMS_MAX_WAIT`."""
        middleware = cls(crawler, crawler.settings.getfloat("LLMS_MAX_WAIT", 120.0))
        crawler.signals.connect(middleware.robots_parsed, signal=signals.robots_parsed)
        crawler.signals.connect(middleware.response_downloaded, signal=signals.response_downloaded)
        return middleware

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """Follow the Crawl-delay of a robots.txt that has just been read."""
        asked = robotparser.crawl_delay(self.user_agent)
        if not asked or asked < 0:
            return
        key = urlparse_cached(request).hostname or ""
        kept = self._pace(key).ask_distance(asked)
        self._apply(key)
        logger.info(
            "%(host)s asks for a Crawl-delay of %(asked)s s, keeping %(kept)s s",
            {"host": key, "asked": f"{asked:g}", "kept": f"{kept:g}"},
            extra={"spider": self.crawler.spider},
        )

    def process_request(self, request: Request) -> None:
        """Put a redirected request into the slot of its own host, refuse one for a host left alone."""
        host = urlparse_cached(request).hostname or ""
        _leave_slot_of_redirecting_host(request)
        pace = self._paces.get(request.meta.get(Downloader.DOWNLOAD_SLOT) or host)
        if not pace:
            return
        request.meta["autothrottle_dont_adjust_delay"] = True
        closed = pace.closed_for(monotonic())
        if closed:
            self._count("llms/blocked/rate-limited")
            message = (
                f"{host} asked to be left alone for another {closed:.0f} s (Retry-After above LLMS_MAX_WAIT)"
            )
            raise RefusedRequest(message, reason="rate-limited", kind="rate_limited")

    def response_downloaded(self, request: Request, response: Response) -> None:
        """Adapt the pace of the host that has just answered.

        A signal, since `process_response` comes after the slot has sent the next request of its queue.
        """
        key = request.meta[Downloader.DOWNLOAD_SLOT]
        if response.status in REFUSALS:
            self._refused(key, request, response)
        elif key in self._paces and response.status < 500:
            self._paces[key].answered(monotonic())
            self._apply(key)

    def _refused(self, key: str, request: Request, response: Response) -> None:
        header = response.headers.get("Retry-After")
        asked = retry_after_secs(header.decode("latin-1") if header else None, datetime.now(UTC))
        pace = self._pace(key)
        wait = pace.refused(monotonic(), asked)
        self._count(f"llms/backoff/{response.status}")
        self._apply(key)
        logger.info(
            "%(host)s answered %(status)d, pausing %(wait).1f s",
            {"host": key, "status": response.status, "wait": wait},
            extra={"spider": self.crawler.spider},
        )
        if pace.closed_for(monotonic()):
            request.meta["dont_retry"] = True

    def _pace(self, key: str) -> HostPace:
        if key not in self._paces:
            slot = self._downloader.slots.get(key)
            delay = slot.delay if slot else self.crawler.settings.getfloat("DOWNLOAD_DELAY")
            self._paces[key] = HostPace(self.max_wait, floor=delay)
        return self._paces[key]

    def _apply(self, key: str) -> None:
        """Carry the pace over to the downloader's slot, and to the one that replaces it when idle."""
        pace = self._paces[key]
        self._downloader.per_slot_settings[key] = {
            **self._downloader.per_slot_settings.get(key, {}),
            "delay": pace.delay * self._workers,
            "jitter": 0.0,
        }
        slot = self._downloader.slots.get(key)
        if not slot:
            return
        slot.delay, slot.jitter = pace.delay * self._workers, 0.0
        if pace.paused_until > monotonic():
            slot.lastseen = pace.paused_until - slot.delay

    @property
    def _workers(self) -> int:
        """How many workers ask the host (`LLMS_REDIS_URL`): each keeps so many times the distance."""
        crew = getattr(getattr(self.crawler.spider, "run", None), "crew", None)
        return 1 if crew is None else crew.size

    @property
    def _downloader(self) -> Downloader:
        assert self.crawler.engine  # noqa: S101 - there is one whenever a hook of a downloader middleware runs
        return self.crawler.engine.downloader

    def _count(self, stat: str) -> None:
        if self.crawler.stats:
            self.crawler.stats.inc_value(stat)


def _leave_slot_of_redirecting_host(request: Request) -> None:
    """Drop the slot that a redirect copied from the host it came from (Scrapy copies all of `meta`)."""
    came_from = request.meta.get("redirect_urls")
    if came_from and request.meta.get(Downloader.DOWNLOAD_SLOT) == _host(came_from[-1]):
        del request.meta[Downloader.DOWNLOAD_SLOT]


def _host(url: str) -> str:
    return urlparse_cached(Request(url)).hostname or ""
