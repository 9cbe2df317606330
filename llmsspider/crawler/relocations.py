"""What moves that are proven say of other pages: a folder that moved, pages that were merged. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

LEAST_MOVES = 3
"""Number of pages that moved from one folder to another before others of it are taken to."""
RELOCATED_SHARE = 0.4
"""Least share of the words that a page of a folder that moved has in common with the one before."""
MERGED_SHARE = 0.9
"""Least share of the words of a page that one has which it was merged into."""
MIN_MERGED_WORDS = 20


class Relocation(NamedTuple):
    """A folder that moved: the beginning of the addresses before and now."""

    before: str
    now: str

    def address_before(self, url: str) -> str | None:
        """Return the address that a page had before, None where it is not of this folder.

        >>> Relocation("https://e.com/latest", "https://e.com/docs").address_before("https://e.com/docs/a/")
        'https://e.com/latest/a/'
        """
        if not url.startswith(f"{self.now}/"):
            return None
        return self.before + url[len(self.now) :]


def relocations(moves: Iterable[tuple[str, str]]) -> list[Relocation]:
    """Return the folders that moved, by pages of which the addresses before and now are known.

    >>> relocations((f"https://e.com/v1/{name}", f"https://e.com/v2/{name}") for name in "abc")
    [Relocation(before='https://e.com/v1', now='https://e.com/v2')]
    """
    counts = Counter(filter(None, (_relocation(before, now) for before, now in moves)))
    return [one for one, number in counts.most_common() if number >= LEAST_MOVES]


def _relocation(before: str, now: str) -> Relocation | None:
    old = _segments(before)
    new = _segments(now)
    is_alike = bool(old[-1]) and old[-1] == new[-1]
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old.pop()
        new.pop()
    return Relocation(_joined(before, old), _joined(now, new)) if is_alike else None


def _segments(url: str) -> list[str]:
    return urlsplit(url).path.rstrip("/").split("/")


def _joined(url: str, segments: list[str]) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "/".join(segments), "", "")).rstrip("/")


def is_merged(page: Counter[str], whole: Counter[str]) -> bool:
    """Say whether the words of a page are, with others, in a longer one."""
    size = page.total()
    is_part = MIN_MERGED_WORDS <= size <= whole.total() * MERGED_SHARE
    return is_part and (page & whole).total() >= MERGED_SHARE * size
