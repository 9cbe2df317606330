"""What may change in a line with every build of a site: dates, build numbers, counters, hashes. Text in, text out.

That aside, and its own address, two texts may be one page that moved (`most_similar`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAYS = r"(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
MASK = "…"
"""What stands for the part of a line that changes."""

_AGO = (
    r"\b(?:an?|a few|one|\d+)\s+(?:second|minute|hour|day|week|month|year)s?\s+ago\b"
    r"|\b(?:yesterday|today|just now)\b"
)
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b"  # a UUID, a place in memory
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"  # a commit, a hash
    rf"|\b{DAYS}\b,?(?=\s+(?:\d|{MONTHS}))"
    rf"|\b{MONTHS}\b\.?(?=\s+\d|,|$)|(?<=\d\s){MONTHS}\b\.?"
    rf"|{_AGO}"
    r"|v?\d[\d.,:/+TZ-]*\d|v?\d|\b(?:am|pm|utc|gmt|cet|cest|[ecmp][sd]t)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(?:updated?|modified|generated|built|build|rendered|published|revised|revision|rev|commit|edited|changed on|"
    r"as of|copyright|©|stars?|forks?|downloads?|views?|visitors?|contributors?|reads?|likes?|users? online|uptime|"
    r"page loaded|cached)\b|©",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b\d{{4}}[-/.]\d\d?[-/.]\d\d?\b|\b{MONTHS}\.?\s+\d{{1,2}},?\s+\d{{4}}\b|\b\d{{1,2}}\.?\s+{MONTHS}\.?\s+\d{{4}}\b|"
    rf"\b\d\d?:\d\d(?::\d\d)?\b|{_AGO}",
    re.IGNORECASE,
)
_RELEASE = re.compile(
    r"(?:(?:[=<>~!^]=|[@^~])\s*v?\d+(?:\.\d+)+|(?<![\w.])v?\d+\.\d+\.\d+)(?![\w+-]|\.\w)", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s,./:-]*")


class Masked(NamedTuple):
    """A text without what may be volatile in it, and those parts in their order; adjacent ones are one."""

    mask: str
    parts: tuple[str, ...]


def mask(text: str) -> str:
    """A text with what may be volatile in it taken out.

    >>> mask("Last updated on Nov 21, 2026 (build 4711, 3f2a9c1d)")
    'Last updated on … (build …)'
    """
    return masked(text).mask


def masked(text: str, *, releases: bool = True) -> Masked:
    """Take out what may be volatile; without `releases` not their versions, unless a label marks the text as volatile.

    >>> masked("pip install tool==2.1.0  # 3 files, 0.12 s", releases=False)
    Masked(mask='pip install tool==2.1.0  # … files, … s', parts=('3', '0.12'))
    >>> masked("# Built with tool 2.1.0", releases=False).mask
    '# Built with tool …'
    """
    kept = [] if releases or is_labelled(text) else [found.span() for found in _RELEASE.finditer(text)]
    spans: list[tuple[int, int]] = []
    for start, end in _volatile(text, kept):
        if spans and _BETWEEN.fullmatch(text, spans[-1][1], start):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    rest = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return Masked(MASK.join(rest), tuple(text[start:end] for start, end in spans))


def _volatile(text: str, kept: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where the volatile parts of a text are, outside of what is kept."""
    position = 0
    for start, end in [*kept, (len(text), len(text))]:
        yield from (found.span() for found in _VOLATILE.finditer(text, position, start))
        position = end


def is_labelled(text: str) -> bool:
    """Whether a text has a label of a date or a counter: "updated", "build", "stars"."""
    return _LABEL.search(text) is not None


def is_dated(text: str) -> bool:
    """Whether a text holds a date, a time or an age."""
    return _DATE.search(text) is not None


ALIKE = 0.9
"""Share of words that two texts of one page have in common."""
MIN_WORDS = 20
"""Texts of fewer words say too little."""

_WORD = re.compile(r"\w+")


def word_counts(content: str, url: str) -> Counter[str]:
    """The words of a page without its own address, dates and figures."""
    name = url.rstrip("/").rpartition("/")[2]
    text = content.replace(url, "").replace(f"/{name}", "") if name else content.replace(url, "")
    return Counter(_WORD.findall(mask(text).lower()))


MAX_PAIRS = 40_000
"""New and deleted pages that are compared word by word."""

T = TypeVar("T")


def most_similar(one: Counter[str], others: Iterable[tuple[T, Counter[str]]]) -> T | None:
    """Return which of several texts is the page that moved, the most alike; None for none of them.

    >>> text = "A page of many words that says what it does and how. " * 2
    >>> one, other = word_counts(text + "Nov 1, 2026", "https://e.com/a"), word_counts("Else.", "https://e.com/c")
    >>> moved = word_counts(text + "Nov 2, 2026", "https://e.com/b")
    >>> most_similar(one, [(1, other), (2, moved)]), most_similar(one, [(1, other)])
    (2, None)
    """
    best, found = ALIKE, None
    for name, other in others:
        share = _share(one, other)
        if share > best or (found is None and share == best):
            best, found = share, name
    return found


def _share(one: Counter[str], other: Counter[str]) -> float:
    """The share of words that two texts have in common; 0 where it is too low, or a text too short."""
    smaller, total = min(one.total(), other.total()), one.total() + other.total()
    if smaller < MIN_WORDS or 2 * smaller < ALIKE * total:
        return 0.0
    return 2 * (one & other).total() / total
