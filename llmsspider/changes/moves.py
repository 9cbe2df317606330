"""Whether two texts are one page that moved: its own address and what changes with every build aside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from llmsspider.changes.volatile import mask

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


def likest(one: Counter[str], others: Iterable[tuple[T, Counter[str]]]) -> T | None:
    """Return which of several texts is the page that moved, the most alike; None for none of them.

    >>> text = "A page of many words that says what it does and how. " * 2
    >>> one, other = word_counts(text + "Nov 1, 2026", "https://e.com/a"), word_counts("Else.", "https://e.com/c")
    >>> likest(one, [(1, other), (2, word_counts(text + "Nov 2, 2026", "https://e.com/b"))]), likest(one, [(1, other)])
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
