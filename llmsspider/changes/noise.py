"""Text that changes every time and says nothing: dates, build numbers, counters. Known by what pages said before.

A line is noise when it differs only in figures, dates and hashes, and the earlier contents of the page show that it has
changed like this before: twice in all where it names what it is ("Last updated") or holds a date, three times and every
time where it does not. Lines that other pages prove to be noise are noise on every page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from llmsspider.changes.blocks import Block
from llmsspider.changes.compare import Hunk

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAYS = r"(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
MASK = "…"
"""What stands for the part of a line that changes."""

_VOLATILE = re.compile(
    rf"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,64}}\b"  # a commit, a hash
    rf"|\b{DAYS}\b,?(?=\s+(?:\d|{MONTHS}))"
    rf"|\b{MONTHS}\b\.?(?=\s+\d|,|$)|(?<=\d\s){MONTHS}\b\.?"
    r"|\b(?:an?|a few|one|\d+)\s+(?:second|minute|hour|day|week|month|year)s?\s+ago\b|\b(?:yesterday|today|just now)\b"
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
    r"\b\d\d?:\d\d(?::\d\d)?\b",
    re.IGNORECASE,
)
_REPEATED = re.compile(rf"{MASK}(?:[\s,./:-]*{MASK})+")

PAGES = 3
"""Pages on which a labelled line has to change at the same time to be noise without any earlier content."""


def mask(text: str) -> str:
    """A text with what may be volatile in it taken out.

    >>> mask("Last updated on Nov 21, 2026 (build 4711, 3f2a9c1d)")
    'Last updated on … (build …)'
    """
    return _REPEATED.sub(MASK, _VOLATILE.sub(MASK, text))


def masked(hunk: Hunk) -> str | None:
    """The mask of a hunk that may be noise; None for one that cannot be."""
    if hunk.change != "changed" or hunk.kind in {"code", "table"}:
        return None
    found = mask(hunk.before)
    return found if found == mask(hunk.after) and MASK in found else None


def evidence(contents: Sequence[Sequence[Block]]) -> tuple[Counter[str], Counter[str]]:
    """How often each masked line changed from one content to the next, and how often it was there to be compared.

    Args:
        contents: the contents of one page, oldest first, the present one included.
    """
    changed: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    lines = [_lines(content) for content in contents]
    for before, after in pairwise(lines):
        for line in before.keys() & after.keys():
            compared[line] += 1
            changed[line] += before[line] != after[line]
    return changed, compared


def _lines(content: Iterable[Block]) -> dict[str, list[str]]:
    """The texts of the blocks that may be noise, by their mask."""
    found: dict[str, list[str]] = {}
    for block in content:
        if not block.is_whole and MASK in (line := mask(block.text)):
            found.setdefault(line, []).append(block.text)
    return found


def is_proven(hunk: Hunk, line: str, changed: Mapping[str, int], compared: Mapping[str, int]) -> bool:
    """Whether the earlier contents of its page show that a hunk with this mask is noise."""
    if is_labelled(hunk):
        return changed.get(line, 0) >= 2
    return changed.get(line, 0) >= 3 and changed[line] == compared[line]


def is_labelled(hunk: Hunk) -> bool:
    """Whether a hunk says what it is, or holds dates."""
    return bool(_LABEL.search(mask(hunk.after)) or (_DATE.search(hunk.before) and _DATE.search(hunk.after)))
