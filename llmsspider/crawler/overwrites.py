"""Pages that have another text at once: rewritten, or overwritten for a night. Pure.

A deletion takes two witnesses or two nights. So does an overwrite of many pages that moves them
towards each other, or away from what they said: the stored text stays until the second night.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Literal, NamedTuple
from zlib import crc32

LEAST_PAGES = 3
"""Number of pages that are held back at least; fewer are rewritten."""
AWAY_SHARE = 0.03
"""More than this share of the pages does not leave the words of its headings in one night."""
REWRITTEN_SHARE = 0.3
"""More than this share of the pages is not rewritten in one night."""

SKETCHED_WORDS = 64
_KEYS = 4  # of the smallest hashes of a sketch, by which others like it are found
_COMPARED = 40  # maximum number of pages that one is compared with
_ALIKE = 0.7
_UNLIKE = 0.5

_WORD = re.compile(r"\w{2,}")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)

Sketch = frozenset[int]
"""The smallest hashes of the words of a text: the share that two have in common is about that of
their words.
"""

Overwrite = Literal["alike", "exchanged", "away", "many"]
"""What pages became: the same text, the texts of each other, without the words of their headings,
or merely too many others at once.
"""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def sketch(text: str) -> Sketch:
    """Return the sketch of a text."""
    hashes = {crc32(word.encode("utf-8", "surrogatepass")) for word in _words(text)}
    return frozenset(nsmallest(SKETCHED_WORDS, hashes))


def resemblance(one: Sketch, other: Sketch) -> float:
    """Return about the share of the words of two texts that both have.

    >>> resemblance(sketch("how to install it"), sketch("How to install it."))
    1.0
    """
    smallest = nsmallest(SKETCHED_WORDS, one | other)
    return sum(each in one and each in other for each in smallest) / (len(smallest) or 1)


class Rewriting(NamedTuple):
    """The texts of a page before and now, as sketches; `is_away` where the words of its headings
    are gone.
    """

    key: bytes
    before: Sketch
    now: Sketch
    is_away: bool


def rewriting(key: bytes, before: str, now: str, title: str | None = None) -> Rewriting | None:
    """Return how a page, whose `title` was this, was rewritten; None where it kept most words, as
    one does that was a stub.
    """
    old = _words(before)
    new = _words(now)
    if len(old & new) >= _UNLIKE * len(old):
        return None
    headings = _words(" ".join([title or "", *_HEADING.findall(before)]))
    is_away = len(headings & new) < _UNLIKE * len(headings)
    return Rewriting(key, sketch(before), sketch(now), is_away)


_Index = defaultdict[int, list[Rewriting]]


@dataclass(slots=True)
class Overwrites:
    """The pages of one run that were rewritten, and what became of them together."""

    _pages: dict[bytes, Rewriting] = field(default_factory=dict)
    _by_now: _Index = field(default_factory=lambda: defaultdict(list))
    _by_before: _Index = field(default_factory=lambda: defaultdict(list))
    _away: int = 0
    _known_kinds: dict[bytes, Overwrite] | None = None

    def see(self, page: Rewriting) -> None:
        """Take in a page that was rewritten, once."""
        if page.key in self._pages:
            return
        self._pages[page.key] = page
        self._known_kinds = None
        self._away += page.is_away
        for each in nsmallest(_KEYS, page.now):
            self._by_now[each].append(page)
        for each in nsmallest(_KEYS, page.before):
            self._by_before[each].append(page)

    def of(self, page: Rewriting, pages: int) -> Overwrite | None:
        """Return what a page became together with others of a source that has so many `pages`; None
        where it was rewritten.
        """
        if len(self._pages) < LEAST_PAGES:
            return None
        kinds = self._kinds
        if page.key in kinds:
            return kinds[page.key]
        if page.is_away and self._away >= max(LEAST_PAGES, AWAY_SHARE * pages):
            return "away"
        is_odd_night = len(kinds) >= LEAST_PAGES or len(self._pages) > REWRITTEN_SHARE * pages
        return "many" if is_odd_night else None

    @property
    def _kinds(self) -> dict[bytes, Overwrite]:
        """The pages whose text shows by itself what they became."""
        if self._known_kinds is None:
            self._known_kinds = {}
            for page in self._pages.values():
                if self._is_alike(page):
                    self._known_kinds[page.key] = "alike"
                elif self._is_of_another(page):
                    self._known_kinds[page.key] = "exchanged"
        return self._known_kinds

    def _is_alike(self, page: Rewriting) -> bool:
        """Say whether other pages, unlike it before, have nearly its text now."""
        alike = {
            other.key
            for other in _near(self._by_now, page.now)
            if resemblance(page.now, other.now) >= _ALIKE
            and resemblance(page.before, other.before) < _UNLIKE
        }
        return len(alike) >= LEAST_PAGES - 1

    def _is_of_another(self, page: Rewriting) -> bool:
        """Say whether it has the text that another page had, which has another one now."""
        return any(
            other.key != page.key
            and resemblance(page.now, other.before) >= _ALIKE
            and resemblance(page.now, page.before) < _UNLIKE
            for other in _near(self._by_before, page.now)
        )


def _near(index: _Index, text: Sketch) -> Iterator[Rewriting]:
    for each in nsmallest(_KEYS, text):
        yield from islice(index.get(each, ()), _COMPARED)
