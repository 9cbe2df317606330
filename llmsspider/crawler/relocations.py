"""What moves that are proven say of other pages: a folder that moved, pages that were merged. Pure."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

LEAST_MOVES = 3
"""Number of pages that moved from one folder to another before others of it are taken to."""
RELOCATED_SHARE = 0.4
"""Least share of the words that a page of a folder that moved has in common with the one before."""
MERGED_SHARE = 0.9
"""Least share of the words of a page that one has which it was merged into."""
MIN_MERGED_WORDS = 20
ROOT = 3
"""Number of parts between the slashes of the address of a host."""
_ENDING = re.compile(r"(?:\.html?|/)$")


class Relocation(NamedTuple):
    """A folder that moved, or whose pages end otherwise (`.html`, a slash): how their addresses
    begin and end, before and now.
    """

    before: str
    now: str
    ending: str = ""
    ending_now: str = ""

    def address_before(self, url: str) -> str | None:
        """Return the address that a page had before, None where it is not of this folder.

        >>> moved = Relocation("https://e.com/latest", "https://e.com/docs", ".html", "/")
        >>> moved.address_before("https://e.com/docs/a/")
        'https://e.com/latest/a.html'
        """
        stem, ending = _cut(url)
        if ending != self.ending_now or not stem.startswith(f"{self.now}/"):
            return None
        return self.before + stem[len(self.now) :] + self.ending


def relocations(moves: Iterable[tuple[str, str]]) -> list[Relocation]:
    """Return the folders that moved, by pages of which the addresses before and now are known.

    >>> relocations((f"https://e.com/v1/{name}", f"https://e.com/v2/{name}") for name in "abc")
    [Relocation(before='https://e.com/v1', now='https://e.com/v2', ending='', ending_now='')]
    """
    counts = Counter(filter(None, (_relocation(*move) for move in moves)))
    return [one for one, number in counts.most_common() if number >= LEAST_MOVES]


def _relocation(before: str, now: str) -> Relocation | None:
    stem, ending = _cut(before)
    stem_now, ending_now = _cut(now)
    old = stem.split("/")
    new = stem_now.split("/")
    if old[-1] != new[-1]:
        return None
    while len(old) > ROOT and len(new) > ROOT and old[-1] == new[-1]:
        old.pop()
        new.pop()
    return Relocation("/".join(old), "/".join(new), ending, ending_now)


def _cut(url: str) -> tuple[str, str]:
    """Return an address without what pages of a folder end with, and that."""
    ending = _ENDING.search(url)
    return (url[: ending.start()], ending[0]) if ending else (url, "")


def is_merged(page: Counter[str], whole: Counter[str]) -> bool:
    """Say whether the words of a page are, with others, in a longer one."""
    size = page.total()
    is_part = MIN_MERGED_WORDS <= size <= whole.total() * MERGED_SHARE
    return is_part and (page & whole).total() >= MERGED_SHARE * size
