"""Removal of thematic breaks and headings that are left over around filtered content."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_ITEM = re.compile(r"\s*+[-*] \d[\w.]*+ \[[^\n]*\]\(([^\s()]*+)\)\Z")
"""One line of a list of numbered links: the number, and the link."""
_NUMBERED = re.compile(r"(?:#+ |<h\d>)\d")
"""How a heading with a number begins."""


def framed(
    blocks: list[str], headings: Mapping[str, int], empty: Collection[str], rule: str, page: str
) -> list[str]:
    """Return `blocks` without redundant thematic breaks and headings.

    Removed are thematic breaks and headings around filtered content, repeated headings, and tables of contents that
    are written as headings.

    Args:
        blocks: the blocks of the document.
        headings: the level of each block that is a heading.
        empty: the blocks that mean nothing without the block that follows.
        rule: the block that is a thematic break.
        page: the URL of the page, without a fragment.
    """
    kept: list[str] = []
    later: set[str] = set()
    for block in reversed(blocks):
        follower = kept[-1] if kept else ""
        if (
            block in later
            and _NUMBERED.match(block)
            and _heads_nothing(kept, headings, headings[block], rule, page)
        ):
            if follower not in headings and follower != rule:
                kept.pop()  # the parts of the chapter
            continue
        if block in headings:
            later.add(block)
        is_again = block == follower and block in headings
        is_last_rule = block == rule and (not kept or follower == rule)
        is_empty = block in empty and (not kept or follower in headings)
        if not (is_last_rule or is_again or is_empty):
            kept.append(block)
    while kept and kept[-1] == rule:
        kept.pop()
    return kept[::-1]


def _heads_nothing(kept: list[str], headings: Mapping[str, int], level: int, rule: str, page: str) -> bool:
    """Return True if a heading has nothing below it but links into the page; `kept`: later blocks, last first."""
    below = reversed(kept[-3:])
    after = next(below)
    if _leads_into(after, page):
        after = next(below, "")
    if after == rule:
        after = next(below, "")
    return headings.get(after, level + 1) <= level


def _leads_into(block: str, page: str) -> bool:
    """Return True for a list of numbered links to fragments of the page itself."""
    return all(
        (found := _ITEM.match(line)) is not None and found[1].startswith(f"{page}#")
        for line in block.split("\n")
    )
