"""What a change means: names and versions that appear or vanish, and what is deprecated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llmsspider.changes.compare import Block, Hunk

MAX_NAMES = 30
"""Maximum number of names of one page, of each kind."""
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
