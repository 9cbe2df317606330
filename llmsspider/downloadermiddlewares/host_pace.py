"""The pace of one host: pure (docs/explanation/politeness.md)."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from llmsspider.web.addresses import is_global, parse_host

# The pace of a host: pure (docs/explanation/politeness.md).

DEFAULT_RATE = 5.0
"""Requests a second to one host, at most.

Rate limits of firewalls often begin at 2,000 in 5 minutes (6.7 a second).
"""

START_DELAY_SECS = 0.5  # distance between the first requests to a host that has a highest rate
# pause after the first refusal that names no time; doubles with each further one
FIRST_WAIT_SECS = 1.0
FIRST_DELAY_SECS = 0.25  # distance between requests once a host has refused the first one
MAX_DELAY_SECS = 10.0  # largest distance between requests that refusals lead to

MAX_REFUSALS = 10
"""Maximum number of refusals (429, 503) in a row; then the host gets no more requests.

They are 6 minutes of pauses.
"""

# pages in a row that answer 403 after which each further one doubles the distance
FORBIDDEN_SLOWS = 5
MAX_FORBIDDEN_DELAY_SECS = 2.0  # largest distance that leads to
# maximum number of pages in a row that answer 403; then the host gets no more requests
MAX_FORBIDDEN = 15

ANSWERS_PER_PROBE = 50
"""Answers after which the delay of a host that refused is shortened; doubles when the host refuses
again.
"""

RECOVERY = 0.8  # what the distance that refusals taught is multiplied by then
# a host that refuses for so long counts requests in a window: that until it answers again
WINDOW_SECS = 3.0
WINDOW_ANSWERS = 5  # minimum number of answers from which the window is estimated

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
    rate), `delay` the present one. Nothing is sent before `paused_until`; after a longer pause than
    `max_wait` requests are refused (`closed_until`), and for good where `stopped` says why.
    `concurrency` is AutoThrottle's; None: latency does not matter.
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
            # the others of a series say that the pause was too short, not the distance
            if self.strikes == 1:
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
