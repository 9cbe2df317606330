"""The pace of each host: a gentle start, a highest rate, its latency, Crawl-delay, 429, 503 and
Retry-After, 403.
"""

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from time import monotonic
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.core import downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from llmsspider.crawl.requests import META, RefusedRequest, run_of
from llmsspider.downloadermiddlewares.turns import SharedTurns, Turns, shared_file
from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.web import stats
from llmsspider.web.addresses import is_global, parse_host

logger = logging.getLogger(__name__)

# The pace of a host: pure (docs/explanation/politeness.md).

DEFAULT_RATE = 5.0
"""Requests a second to one host, at most.

Rate limits of firewalls often begin at 2,000 in 5 minutes (6.7 a second).
"""

START_DELAY_SECS = 0.5  # distance between the first requests to a host that has a highest rate
FIRST_WAIT_SECS = (
    1.0  # pause after the first refusal that names no time; doubles with each further one
)
FIRST_DELAY_SECS = 0.25  # distance between requests once a host has refused the first one
MAX_DELAY_SECS = 10.0  # largest distance between requests that refusals lead to

MAX_REFUSALS = 10
"""Maximum number of refusals (429, 503) in a row; then the host gets no more requests.

They are 6 minutes of pauses.
"""

FORBIDDEN_SLOWS = (
    5  # pages in a row that answer 403 after which each further one doubles the distance
)
MAX_FORBIDDEN_DELAY_SECS = 2.0  # largest distance that leads to
MAX_FORBIDDEN = (
    15  # maximum number of pages in a row that answer 403; then the host gets no more requests
)

ANSWERS_PER_PROBE = 50
"""Answers after which the delay of a host that refused is shortened; doubles when the host refuses
again.
"""

RECOVERY = 0.8  # what the distance that refusals taught is multiplied by then
WINDOW_SECS = (
    3.0  # a host that refuses for so long counts requests in a window: that until it answers again
)
WINDOW_ANSWERS = 5  # minimum number of answers from which the window is estimated
SPARE = 1.05
LATE_SECS = 0.025
TRIES = 3
"""What distances are multiplied by between turns: five requests take 50 ms more than a second, so
that one that is late
makes no sixth. A request that misses its turn by `LATE_SECS` takes another one, so often."""

LEAST_DELAY_SECS = 0.01  # a distance below this is none


def retry_after_secs(value: str | None, now: datetime) -> float | None:
    """Read a `Retry-After` header: seconds from `now` (aware), None where it is missing or
    unreadable.

    Both forms of RFC 9110, section 10.2.3. A date in the past gives 0.

    >>> retry_after_secs("120", datetime(2026, 1, 1, tzinfo=UTC))
    120.0
    >>> retry_after_secs("Thu, 01 Jan 2026 00:00:30 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    30.0
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


@dataclass(slots=True)
class HostPace:
    """The pace of one host. Times are seconds on a clock that only grows.

    `floor` is the least distance between requests (`DOWNLOAD_DELAY`, `Crawl-delay`, the highest
    rate), `delay` the
    present one. Nothing is sent before `paused_until`; after a longer pause than `max_wait`
    requests are refused
    (`closed_until`), and for good where `stopped` says why. `concurrency` is AutoThrottle's; None:
    latency does not
    matter.
    """

    max_wait: float
    floor: float = 0.0
    delay: float = 0.0
    concurrency: float | None = None
    learned: float = 0.0  # minimum distance learned from refusals
    answers_per_probe: int = ANSWERS_PER_PROBE
    answers: int = 0  # answers since the last refusal
    began_at: float | None = None  # when the first of them came
    allowed: int = 0  # answers before it
    refused_at: float = 0.0
    answered_at: float | None = None
    gap: float = 0.0
    """Mean distance of the last answers, by which the pace is known where there was no distance to
    keep.
    """
    requested: float = 0.0
    """The part of `floor` that the site or `DOWNLOAD_DELAY` sets; the rest keeps the highest rate.
    """
    strikes: int = 0
    forbidden: int = 0
    paused_until: float = 0.0
    closed_until: float = 0.0
    stopped: str = ""

    def __post_init__(self) -> None:
        self.delay = max(self.delay, self.floor)

    def require_delay(self, secs: float) -> float:
        """Keep at least `secs` between requests from now on, `max_wait` at most; return what is
        kept.
        """
        self.requested = max(self.requested, min(secs, self.max_wait))
        self.floor = max(self.floor, self.requested)
        self.delay = max(self.delay, self.floor)
        return self.floor

    def remove_bound(self) -> None:
        """Remove the highest rate; the delay that the host requires stays."""
        self.concurrency = None
        self.floor = self.requested
        self.delay = max(self.requested, self.learned)

    def record_refusal(self, now: float, retry_after: float | None) -> float:
        """Note a 429 or 503; return the seconds to send nothing.

        Of those sent before a pause one counts.
        """
        if now >= self.paused_until:
            self.strikes += 1
            if (
                self.strikes == 1
            ):  # the others of a series say that the pause was too short, not the distance
                self._learn(now)
        wait = (
            FIRST_WAIT_SECS * 2 ** (min(self.strikes, 20) - 1)
            if retry_after is None
            else retry_after
        )
        if wait > self.max_wait and retry_after is not None:
            self.closed_until = max(self.closed_until, now + wait)
        self.paused_until = max(self.paused_until, now + min(wait, self.max_wait))
        if self.strikes >= MAX_REFUSALS:
            self.stopped = f"it refused {self.strikes} requests in a row (429 or 503)"
        return self.paused_until - now

    def _learn(self, now: float) -> None:
        """Keep twice the distance at which the host refused."""
        soon = self.learned > 0 and self.answers < 4 * self.answers_per_probe
        self.answers_per_probe = self.answers_per_probe * 2 if soon else ANSWERS_PER_PROBE
        self.delay = max(
            self.floor, min(2 * max(self.delay, self.gap) or FIRST_DELAY_SECS, MAX_DELAY_SECS)
        )
        self.learned = self.delay
        self.answered_at = None
        self.refused_at = now
        self.allowed = self.answers
        self.answers = 0

    def _learn_window(self, now: float) -> None:
        """Spread what the host allowed over the time in which it did, where it refused for long."""
        is_long = now - self.refused_at >= WINDOW_SECS
        if self.began_at is not None and self.allowed >= WINDOW_ANSWERS and is_long:
            spread = (now - self.began_at) / self.allowed
            self.learned = min(max(self.learned, spread), MAX_DELAY_SECS)
            self.delay = max(self.delay, self.learned)
        self.began_at = None

    def record_forbidden(self) -> None:
        """Count a page that answered 403: a series of them comes from a firewall, not from the
        pages.
        """
        self.forbidden += 1
        if self.forbidden > FORBIDDEN_SLOWS:
            slower = min(max(self.delay * 2, FIRST_DELAY_SECS), MAX_FORBIDDEN_DELAY_SECS)
            self.delay = max(self.delay, slower)
        if self.forbidden >= MAX_FORBIDDEN:
            self.stopped = f"it answered 403 to {self.forbidden} pages in a row"

    def record_answer(self, now: float, latency: float = 0.0) -> None:
        """Count an answer that was no refusal, with its latency in seconds: the delay decreases
        towards its target.
        """
        self.forbidden = 0
        if now < self.paused_until:
            return
        if self.strikes:
            self._learn_window(now)
        self.strikes = 0
        self.answers += 1
        if self.answered_at is not None:
            gap = now - self.answered_at
            self.gap += (gap - self.gap) / (8 if self.gap else 1)
        self.answered_at = now
        if self.began_at is None:
            self.began_at = now
        if self.answers % self.answers_per_probe == 0:
            self.learned = (
                self.learned * RECOVERY if self.learned * RECOVERY >= LEAST_DELAY_SECS else 0.0
            )
        target = max(
            self.floor, self.learned, latency / self.concurrency if self.concurrency else 0.0
        )
        target = min(target, max(MAX_DELAY_SECS, self.floor))
        closer = (self.delay + target) / 2  # the rule of Scrapy's AutoThrottle
        self.delay = max(target, closer) if closer - target > 0.001 else target

    def closed_for(self, now: float) -> float:
        """Return the seconds that are left of a pause that the host requires, 0 without one."""
        return max(0.0, self.closed_until - now)


def paces_freely(host: str, ip_address: str | None = None) -> bool:
    """Return whether a host needs no bound on the rate: it is this machine, or one of a private
    network.

    `ip_address` is where the host answered from, once it did; a name alone is enough for localhost
    only.

    >>> paces_freely("127.0.0.1"), paces_freely("docs.example.com"), paces_freely("docs.corp", "10.1.2.3")
    (True, False, True)
    """
    try:
        name = parse_host(host)
    except ValueError:
        return not host  # files of this machine
    if not isinstance(name, str):
        return not is_global(name)
    return f".{name}".endswith(".localhost") or (
        ip_address is not None and not is_global(ip_address)
    )


REFUSALS = (
    429,
    503,
)  # statuses that mean "not now" (RFC 6585, section 4; RFC 9110, section 15.6.4)


class BackoffMiddleware:
    """Delay the downloader slot of a host; requests wait in its queue and use no concurrency.

    `LLMS_MAX_RATE` (requests a second) bounds what one host gets; not set, hosts of this machine
    and of private
    networks have no bound, others `DEFAULT_RATE`. Where there is a distance between requests,
    crawls share it
    (`SharedTurns`). `AUTOTHROTTLE_MAX_DELAY` (seconds, 120) limits the wait that a site can
    require: after a longer
    Retry-After, or refusals without end, requests to the host fail as `rate_limited`.
    Stats: `llms/backoff/429`, `llms/backoff/503`, `llms/blocked/rate-limited`,
    `llms/blocked/host-refuses`.
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
        slot = Downloader.DOWNLOAD_SLOT
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
        key = request.meta[Downloader.DOWNLOAD_SLOT]
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
        key = request.meta[Downloader.DOWNLOAD_SLOT]
        pace = self._pace(key)
        if key in self._unknown:
            self._unknown.discard(key)
            if "proxy" not in request.meta and paces_freely(
                key, str(response.ip_address or "") or None
            ):
                pace.remove_bound()
        if response.status in REFUSALS:
            self._refused(key, pace, request, response)
        elif response.status == 403 and not request.meta.get(META, {}).get("nested"):
            # files that are looked for are no pages: some hosts have 403 for 404
            pace.record_forbidden()
        elif response.status < 500 and response.status != 403:
            pace.record_answer(monotonic(), request.meta.get("download_latency", 0.0))
        self._apply(key)
        run = run_of(self.crawler) if response.status in {403, *REFUSALS} else None
        if pace.stopped and run is not None:
            why = f"{key} gets no more requests: {pace.stopped}"
            if run.coverage.why_incomplete != why:
                logger.warning("%(why)s", {"why": why}, extra={"spider": self.crawler.spider})
            run.coverage.incomplete(why)

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


class Downloader(downloader.Downloader):
    """Scrapy's; a request counts as in flight from the moment it leaves its host's queue, and waits
    for its turn there.

    Scrapy 2.19 counts it when its task first runs: with a limit of 2, a server saw 10 requests at
    the same time.
    (A private name: docs/explanation/architecture.md.)
    """

    @cached_property
    def _backoff(self) -> BackoffMiddleware | None:
        return self.crawler.get_downloader_middleware(BackoffMiddleware)

    def _wait_for_download(
        self, slot: downloader.Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return self._in_turn(request, super()._wait_for_download(slot, request, queue_dfd))

    async def _in_turn(self, request: Request, sending: Coroutine[Any, Any, None]) -> None:
        if self._backoff is not None:
            await self._backoff.turn(request)
        await sending
