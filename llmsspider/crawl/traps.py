"""URLs that lead into endless spaces: calendars, session ids, paths that repeat themselves.

The rules look at one URL and are cautious: URLs that documentation has (deep reference trees, dated posts,
`a/b/a/b`) pass. `LookAlikes` bounds what no single URL shows, such as a page counter without end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from w3lib.url import url_query_cleaner

TrapReason = Literal["url-length", "path-depth", "path-repetition", "session-id", "calendar", "query"]

MAX_URL_LENGTH = 2083
"""Characters; Scrapy's `URLLENGTH_LIMIT`."""

MAX_PATH_DEPTH = 25
"""Segments. The deepest of 22,500 URLs of real documentation sites has 17."""

MIN_REPETITIONS = 4
MIN_REPEATED_SEGMENTS = 8
"""A path repeats itself when a run of segments comes this often in a row and fills this many segments."""

MAX_SAME_SEGMENT = 8
"""How often one segment may come anywhere in a path."""

MAX_QUERY_PARAMETERS = 12
MAX_SAME_PARAMETER = 4
MAX_NESTED_URLS = 2
"""URLs inside the URL: `?next=/login?next=…` grows by one each time."""

SESSION_PARAMETERS = re.compile(
    r"j?sessionid|phpsessid|aspsessionid|asp\.net_sessionid|session_id|sessid|sid|cfid|cftoken|oscsid|zenid",
    re.IGNORECASE,
)
"""Query parameters that name a visitor, not a page; `sid` and its like only with a long value."""

CALENDAR = ({"month", "year"}, {"week", "year"})
DATE_PARAMETERS = frozenset({"date", "day", "month", "week", "start_date", "end_date", "tribe-bar-date"})
"""Query parameters that together, or with a whole date, name a part of a calendar; those in paths are look-alikes."""

_SESSION_VALUE = re.compile(r"[A-Za-z0-9_.!-]{12,}\Z")
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)=[^/?#;]*", re.IGNORECASE)
_ASP_SESSION = re.compile(r"/\((?:S|X\(1\)S)\([a-z0-9]{20,}\)\)(?=/)", re.IGNORECASE)
_DATE = re.compile(r"(?:19|20)\d\d[-_.]?\d\d?[-_.]?\d\d?\Z")
_NUMBER = re.compile(r"\d+")


def trap_reason(url: str) -> TrapReason | None:
    """Return why an absolute URL looks endless, None for an ordinary one, and for one that cannot be read.

    >>> trap_reason("https://example.com/schedule?month=5&year=2031")
    'calendar'
    >>> trap_reason("https://example.com/blog/2024/05/12/release") is None
    True
    """
    if len(url) > MAX_URL_LENGTH:
        return "url-length"
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    segments = [segment for segment in parts.path.split("/") if segment]
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    rules: tuple[tuple[TrapReason, Callable[[], bool]], ...] = (
        ("path-depth", lambda: len(segments) > MAX_PATH_DEPTH),
        ("path-repetition", lambda: _repeats(segments)),
        ("session-id", lambda: without_session_id(url) != url),
        ("calendar", lambda: _is_calendar(parameters)),
        ("query", lambda: _is_exploding(parts.query, parameters)),
    )
    return next((reason for reason, holds in rules if holds()), None)


def _is_calendar(parameters: list[tuple[str, str]]) -> bool:
    numbered = {name.lower() for name, value in parameters if value.isdecimal()}
    dated = {name.lower() for name, value in parameters if _DATE.match(value)}
    return any(names <= numbered for names in CALENDAR) or not dated.isdisjoint(DATE_PARAMETERS)


def without_session_id(url: str) -> str:
    """Return a URL without the parts that name a visitor.

    >>> without_session_id("https://example.com/a;jsessionid=0123456789ABCDEF?b=1")
    'https://example.com/a?b=1'
    """
    if "?" not in url and ";" not in url and "(" not in url:
        return url
    cleaned = _ASP_SESSION.sub("", _SESSION_IN_PATH.sub("", url))
    names = [
        name
        for name, value in parse_qsl(urlsplit(cleaned).query)
        if SESSION_PARAMETERS.fullmatch(name) and _SESSION_VALUE.match(value)
    ]
    if not names:
        return cleaned
    return url_query_cleaner(cleaned, names, remove=True, unique=False, keep_fragments=True)


def _repeats(segments: list[str]) -> bool:
    if len(segments) < MIN_REPEATED_SEGMENTS:
        return False
    if max(Counter(segments).values()) > MAX_SAME_SEGMENT:
        return True
    return any(_has_run(segments, period) for period in range(1, len(segments) // MIN_REPETITIONS + 1))


def _has_run(segments: list[str], period: int) -> bool:
    """Say whether a run of `period` segments is repeated."""
    same = (left == right for left, right in zip(segments, segments[period:], strict=False))
    longest = max((len(list(run)) for equal, run in groupby(same) if equal), default=0)
    return longest + period >= max(MIN_REPEATED_SEGMENTS, MIN_REPETITIONS * period)


def _is_exploding(query: str, parameters: list[tuple[str, str]]) -> bool:
    if len(parameters) > MAX_QUERY_PARAMETERS:
        return True
    if any(count > MAX_SAME_PARAMETER for count in Counter(name for name, _ in parameters).values()):
        return True
    for _ in range(3):
        query = unquote(query)
    return len(re.findall(r"https?://|(?<==)/[^&=]*\?", query)) > MAX_NESTED_URLS


MAX_LOOK_ALIKES = 1000
"""Pages whose URLs differ in numbers only that may bring nothing new."""

MAX_LOOK_ALIKES_FACTOR = 50
"""Look-alikes of one shape are cut at so many times the limit even when each says something new."""


@dataclass(slots=True)
class _Shape:
    """What the look-alikes of one shape brought: the hashes of their texts, and how many brought nothing new."""

    texts: set[int] = field(default_factory=set)
    exact: set[int] = field(default_factory=set)
    repeated: int = 0
    repeated_exactly: int = 0


class LookAlikes:
    """Pages whose URLs differ in numbers or query values only: taken as long as they bring text of their own.

    A shape is cut once `limit` of its pages brought nothing new, so how many there may be grows with the evidence and
    does not depend on the order of links. Texts that differ in numbers only ("Day 17", "Day 18") are one text, except
    for pages that a page without numbers in its URL links to: such a page is a list somebody wrote, and it ends.

    Args:
        limit: pages of one shape that may bring nothing new; 0 for any number.
        stored: returns the texts of the stored pages of a shape, where there are `limit` or more of them.
    """

    def __init__(self, limit: int, stored: Callable[[str], Iterable[str]] = lambda _shape: ()):
        self.limit = limit
        self._stored = stored
        self._shapes: dict[str, _Shape] = {}

    def admits(self, url: str, *, listed: bool = False) -> bool:
        """Say whether one more page of this shape is worth a request.

        Args:
            url: an absolute URL.
            listed: a page without numbers or query in its own URL links to it.

        >>> days = LookAlikes(2)
        >>> for day in (1, 2, 3):
        ...     days.learn(f"https://example.com/cal?d={day}", f"Day {day}")
        >>> days.admits("https://example.com/cal?d=4"), days.admits("https://example.com/cal?d=4", listed=True)
        (False, True)
        """
        shape = shape_of(url) if self.limit else None
        if shape is None:
            return True
        seen = self._of(shape)
        if len(seen.texts) + len(seen.exact) >= self.limit * MAX_LOOK_ALIKES_FACTOR:
            return False
        return (seen.repeated_exactly if listed else seen.repeated) < self.limit

    def learn(self, url: str, text: str) -> None:
        """Note the text that a page which was not stored before answered with."""
        shape = shape_of(url) if self.limit else None
        if shape is not None:
            _note(self._of(shape), text)

    def wasted(self, url: str) -> None:
        """Note that a page which was not stored before brought no text."""
        shape = shape_of(url) if self.limit else None
        if shape is not None:
            seen = self._of(shape)
            seen.repeated += 1
            seen.repeated_exactly += 1

    def _of(self, shape: str) -> _Shape:
        if shape not in self._shapes:
            seen = self._shapes[shape] = _Shape()
            for text in self._stored(shape):
                _note(seen, text)
        return self._shapes[shape]


def _note(seen: _Shape, text: str) -> None:
    """Count a text; only those that are the same but for their numbers are compared exactly."""
    masked = hash(_NUMBER.sub("#", text))
    if masked not in seen.texts:
        seen.texts.add(masked)
        return
    seen.repeated += 1
    exact = hash(text)
    seen.repeated_exactly += exact in seen.exact
    seen.exact.add(exact)


def shape_of(url: str) -> str | None:
    """Return a URL with its numbers and query values left open, None where it has neither.

    >>> shape_of("https://example.com/v2/list?page=7&sort=up")
    'https://example.com/v#/list?page&sort'
    """
    if "?" not in url and not _NUMBER.search(url.partition("://")[2].partition("/")[2]):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = _NUMBER.sub("#", parts.path)
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    if path == parts.path and not names:
        return None
    return f"{parts.scheme}://{parts.netloc}{path}" + (f"?{'&'.join(names)}" if names else "")
