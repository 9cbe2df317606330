"""What a change means: names and versions that appear or vanish, dates and counters that change every time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llmsspider.changes.compare import Block, Hunk

MAX_NAMES = 30
"""Names told of one page, of each kind."""
MAX_SENTENCE = 240

_SPAN = re.compile(r"`([^`\n]{1,80})`")
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]+")
_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
_KEYWORD = re.compile(r"[(,]\s*([A-Za-z_]\w*)\s*(?::[^,()=\n]{1,60})?=(?!=)")
_SIGNATURE = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(([^()\n]{0,400})\)")
_PARAMETER = re.compile(r"^\*{0,2}([A-Za-z_]\w*)\s*(?::|$)")
_NAME = re.compile(r"[A-Za-z_$][\w.$-]*(?:\(\))?\Z")
_VERSION = re.compile(
    r"(?<![\w.])v?\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,2}(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)[.\d]*)?(?![\w.]*\w)"
)
_DEPRECATED = re.compile(
    r"\bdeprecat\w+|\bobsolete\b|\bend[- ]of[- ]life\b|\bno longer (?:supported|available|maintained|recommended)\b|"
    r"\b(?:will be|was|were|has been|have been) removed\b|\bremoved in (?:v|version )?\d",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(slots=True, frozen=True)
class Names:
    """What appeared on a page and vanished from it: names in signatures and code, versions; and what it deprecates."""

    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    versions_appeared: tuple[str, ...] = ()
    versions_vanished: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = ()


def names(before: Iterable[Block], after: Iterable[Block], hunks: Iterable[Hunk]) -> Names:
    """Compare what two contents of a page name."""
    old, new = list(before), list(after)
    old_names, new_names = dict.fromkeys(_named(old)), dict.fromkeys(_named(new))
    old_versions, new_versions = dict.fromkeys(_versions(old)), dict.fromkeys(_versions(new))
    return Names(
        _beyond(new_names, old_names),
        _beyond(old_names, new_names),
        _beyond(new_versions, old_versions),
        _beyond(old_versions, new_versions),
        tuple(dict.fromkeys(_deprecations(hunks)))[:MAX_NAMES],
    )


def _beyond(these: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(name for name in these if name not in known)[:MAX_NAMES]


def _named(found: Iterable[Block]) -> Iterator[str]:
    for block in found:
        if block.kind == "code":
            yield from _in_code(block.text)
            continue
        for span in _SPAN.findall(block.text):
            if _NAME.match(span):
                yield span
            else:
                yield from _in_code(span)
        if block.kind == "heading":
            yield from _in_code(block.text.replace("`", "").replace("\\", ""))


def _in_code(text: str) -> Iterator[str]:
    yield from _FLAG.findall(text)
    yield from (f"{name}()" for name in _CALL.findall(text))
    yield from (f"{name}=" for name in _KEYWORD.findall(text))
    for _, parameters in _SIGNATURE.findall(text):
        for part in parameters.split(","):
            if "=" not in part and (name := _PARAMETER.match(part.strip())):
                yield f"{name[1]}="


def _versions(found: Iterable[Block]) -> Iterator[str]:
    """Versions in code, code spans and headings; in prose they may be anything."""
    for block in found:
        if block.kind in {"code", "heading"}:
            yield from _VERSION.findall(block.text)
        else:
            for span in _SPAN.findall(block.text):
                yield from _VERSION.findall(span)


def _deprecations(hunks: Iterable[Hunk]) -> Iterator[str]:
    for hunk in hunks:
        if hunk.kind == "code" or not hunk.after or _DEPRECATED.search(hunk.before):
            continue
        for sentence in _SENTENCE.split(hunk.after.replace("\n", " ")):
            if _DEPRECATED.search(sentence):
                yield sentence[:MAX_SENTENCE]


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
