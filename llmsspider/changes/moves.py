"""Whether two texts are one page that moved: its own address and what changes with every build aside."""

from __future__ import annotations

import re
from collections import Counter

from llmsspider.changes.hunks import mask

ALIKE = 0.9
"""Share of words that two texts of one page have in common."""
MIN_WORDS = 20
"""Texts of fewer words say too little."""

_WORD = re.compile(r"\w+")


def words(content: str, url: str) -> Counter[str]:
    """The words of a page without its own address, dates and figures."""
    name = url.rstrip("/").rpartition("/")[2]
    text = content.replace(url, "").replace(f"/{name}", "") if name else content.replace(url, "")
    return Counter(_WORD.findall(mask(text).lower()))


def is_one_page(one: Counter[str], other: Counter[str]) -> bool:
    """Say whether two texts are so alike that they are one page.

    >>> text = "A page of many words that says what it does and how. " * 2
    >>> one = words(text + "Nov 1, 2026", "https://e.com/a")
    >>> is_one_page(one, words(text + "Nov 2, 2026", "https://e.com/b")), is_one_page(one, words("Else.", "https://e.com/c"))
    (True, False)
    """
    total = one.total() + other.total()
    return min(one.total(), other.total()) >= MIN_WORDS and 2 * (one & other).total() >= ALIKE * total
