"""How fast one host may be asked, and by whom: the rules, without the downloader. See docs/politeness.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT_SECS = 1.0
"""Pause after the first refusal that names no time; doubles with each further one."""

FIRST_DELAY_SECS = 0.25
"""Distance between requests once a host has refused one; doubles with each further refusal."""

MAX_DELAY_SECS = 10.0
"""Largest distance between requests that refusals lead to."""

RECOVERY = 0.8
"""What an answered request multiplies that distance by."""

ROBOTS_MAX_BYTES = 500 * 1024
"""Bytes of a robots.txt that are read; RFC 9309, section 2.5, asks for at least 500 KiB."""


def retry_after_secs(value: str | None, now: datetime) -> float | None:
    """Read a `Retry-After` header: seconds from `now` (aware), None where it is missing or unreadable.

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


def product_token(user_agent: str) -> str:
    """Return the name a robots.txt group may address (RFC 9309, section 2.2.1), not version or contact.

    >>> product_token("llmsspider/1.0 (+https://example.com/bot)")
    'llmsspider'
    """
    match = re.match(r"[A-Za-z_-]+", user_agent.strip())
    return match.group() if match else user_agent


def with_contact(user_agent: str, contact: str | None) -> str:
    """Add who runs the crawl, an address or URL, to a user agent.

    >>> with_contact("llmsspider/1.0", "docs@example.com")
    'llmsspider/1.0 (+docs@example.com)'

    Raises:
        ValueError: the contact cannot be part of a header.
    """
    if not contact:
        return user_agent
    if not re.fullmatch(r"[\x21-\x27\x2a-\x7e][\x20-\x27\x2a-\x7e]*", contact):
        raise ValueError(f"LLMS_CONTACT={contact!r}: expected an e-mail address or URL")
    return f"{user_agent} (+{contact})"


@dataclass(slots=True)
class HostPace:
    """The pace of one host. Times are seconds on a clock that only grows.

    `floor` is the least distance between requests (`DOWNLOAD_DELAY`, `Crawl-delay`), `delay` the present
    one. Nothing is sent before `paused_until`. A host that asked for more than `max_wait` is not asked
    again before `closed_until`.
    """

    max_wait: float
    floor: float = 0.0
    delay: float = 0.0
    strikes: int = 0
    paused_until: float = 0.0
    closed_until: float = 0.0

    def __post_init__(self) -> None:
        self.delay = max(self.delay, self.floor)

    def ask_distance(self, secs: float) -> float:
        """Keep at least `secs` between requests from now on, `max_wait` at most; return what is kept."""
        self.floor = max(self.floor, min(secs, self.max_wait))
        self.delay = max(self.delay, self.floor)
        return self.floor

    def refused(self, now: float, retry_after: float | None) -> float:
        """Note a 429 or 503; return the seconds to send nothing.

        The refusals that arrive during a pause were sent before it and do not count as further ones.
        """
        if now >= self.paused_until:
            self.strikes += 1
            self.delay = max(self.floor, min(max(self.delay * 2, FIRST_DELAY_SECS), MAX_DELAY_SECS))
        wait = FIRST_WAIT_SECS * 2 ** (min(self.strikes, 20) - 1) if retry_after is None else retry_after
        if wait > self.max_wait and retry_after is not None:
            self.closed_until = max(self.closed_until, now + wait)
        self.paused_until = max(self.paused_until, now + min(wait, self.max_wait))
        return self.paused_until - now

    def answered(self, now: float) -> None:
        """Note an answer that was no refusal: the distance shrinks back to `floor`."""
        if now < self.paused_until:
            return
        self.strikes = 0
        shrunk = self.delay * RECOVERY
        self.delay = shrunk if shrunk > max(self.floor, FIRST_DELAY_SECS / 4) else self.floor

    def closed_for(self, now: float) -> float:
        """Return for how many seconds more the host wants no request at all, 0 where it does not say so."""
        return max(0.0, self.closed_until - now)
