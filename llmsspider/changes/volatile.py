"""What may change in a line with every build of a site: dates, build numbers, counters, hashes. Text in, text out."""

from __future__ import annotations

import re

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
_REPEATED = re.compile(rf"{MASK}(?:[\s,./:-]*{MASK})+")


def mask(text: str) -> str:
    """A text with what may be volatile in it taken out.

    >>> mask("Last updated on Nov 21, 2026 (build 4711, 3f2a9c1d)")
    'Last updated on … (build …)'
    """
    return _REPEATED.sub(MASK, _VOLATILE.sub(MASK, text))


def mask_but_releases(text: str) -> str:
    """The mask of a line of code or a cell: the version of a release is news, unless a label says that it is not.

    >>> mask_but_releases("pip install tool==2.1.0  # 3 files, 0.12 s"), mask_but_releases("# Built with tool 2.1.0")
    ('pip install tool==2.1.0  # … files, … s', '# Built with tool …')
    """
    if is_labelled(text) or not _RELEASE.search(text):
        return mask(text)
    masked, position = [], 0
    for release in _RELEASE.finditer(text):
        masked += [_VOLATILE.sub(MASK, text[position : release.start()]), release[0]]
        position = release.end()
    return _REPEATED.sub(MASK, "".join([*masked, _VOLATILE.sub(MASK, text[position:])]))


def is_labelled(text: str) -> bool:
    """Whether a text says that it holds a date or a counter: "updated", "build", "stars"."""
    return _LABEL.search(text) is not None


def is_dated(text: str) -> bool:
    """Whether a text holds a date, a time or an age."""
    return _DATE.search(text) is not None
