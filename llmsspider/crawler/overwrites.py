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
from os.path import commonprefix
from typing import Literal, NamedTuple
from zlib import crc32

from llmsspider.crawler.pages import LEAST_LOST

LEAST_PAGES = 2
"""Number of pages that are held back together at least; one is where nothing of it is left."""
ODD_SHARE = 0.03
"""More than this share of the pages does not lose its headings, or its text, in one night."""
REWRITTEN_SHARE = 0.3
"""More than this share of the pages is not rewritten in one night."""

SHINGLE = 3
"""Number of words in a row that texts have in common: single words are those of the whole site."""
SKETCHED = 64
_KEYS = 4  # of the smallest hashes of a sketch, by which others like it are found
_COMPARED = 40  # maximum number of pages that one is compared with
_ALIKE = 0.5  # share of shingles from which on two texts are one
_UNLIKE = 0.3  # share up to which they are not
_KEPT = 0.6  # share of its shingles from which on a page is edited, not rewritten
_GONE = 0.2  # share up to which it is another page
_NEW = 0.2  # share of its shingles up to which a text says nothing new
_TWICE = 1.8  # times as many words as before, where they are said again
_STUB = 60  # shingles below which a page with twice as many now, and more links, was a stub
_BROKEN = 0.1  # share of the text before that is as it was, where it breaks off then
_SPELLED = 5  # words with letters beyond ASCII, all of which no edit takes

_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[^\s!-/:->@\[-`{-~]+")  # letters, question marks, all beyond ASCII
_BEYOND = re.compile(r"[^A-Za-z]+")
_ERROR = re.compile(
    r"Traceback \(most|(?:Error|Exception)\b|Fatal error|^[ \t]*+at [\w.$<>]++\(", re.MULTILINE
)
_ERROR_SPAN = 300  # characters in which an error says what it is
_TEMPLATE_ERRORS = (
    (
        re.compile(
            r"^\W{0,9}(?:fatal |liquid |parse |php )?(?:error|warning|notice)\b.*\bline \d",
            re.IGNORECASE | re.MULTILINE,
        ),
        1,
    ),
    (re.compile(r"\{\{[^{}\n]+\}\}|\{%[^{}\n]+%\}|\[object Object\]|\bundefined\b"), 3),
)
"""What templates leave in a page that could not be filled, and how often at least."""
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)
_PARTS = (
    re.compile(r"^#{2,6}[ \t]+\S", re.MULTILINE),
    re.compile(r"^[ \t>]*(?:```|~~~)[^`\n]*\n[ \t>]*[^`~\s>]", re.MULTILINE),
    re.compile(r"^\|[-:| \t]++\n\|[^\n]*\w", re.MULTILINE),
)
"""Headings below the title, code, and rows of tables that say something."""

Sketch = frozenset[int]
"""The smallest hashes of the shingles of a text: the share that two have in common is about that of
their shingles.
"""

Overwrite = Literal["gone", "alike", "exchanged", "odd", "many"]
"""What pages became: another page each, the same text, the texts of each other, odd ones
(`Rewriting`), or merely too many others at once.
"""


def shingles(text: str) -> set[int]:
    """Return the hashes of each few words in a row of a text."""
    words = [word.encode("utf-8", "surrogatepass") for word in _WORD.findall(text.lower())]
    starts = range(max(len(words) - SHINGLE, 0) + 1)
    return {crc32(b" ".join(words[start : start + SHINGLE])) for start in starts}


def sketch(hashes: set[int]) -> Sketch:
    """Return the sketch of the shingles of a text."""
    return frozenset(nsmallest(SKETCHED, hashes))


def resemblance(one: Sketch, other: Sketch) -> float:
    """Return about the share of the shingles of two texts that both have.

    >>> said = [sketch(shingles(text)) for text in ("how to install it", "How to install it.", "Run it")]
    >>> resemblance(said[0], said[1]), resemblance(said[0], said[2])
    (1.0, 0.0)
    """
    smallest = set(nsmallest(SKETCHED, one | other))
    return len(smallest & one & other) / max(len(smallest), 1)


class Rewriting(NamedTuple):
    """The text of a page before, and what is new in that of now, as sketches; `is_odd` where its
    text and half of its headings are gone, where it says nothing new but less, or all of it twice,
    where it breaks off, where all of its code, headings or tables are gone, where its template
    failed, or where its letters were decoded wrongly; `is_gone` where all of it is.
    """

    key: bytes
    before: Sketch
    new: Sketch
    is_odd: bool
    is_gone: bool


def rewriting(key: bytes, before: str, now: str, title: str | None = None) -> Rewriting | None:
    """Return how a page, whose `title` was this, was rewritten; None where it kept most of what it
    said.
    """
    old = shingles(before)
    new = shingles(now)
    added = new - old
    kept = len(old & new) / len(old)
    is_garbled = kept > _GONE and _has_lost_letters(before, now)
    is_broken = is_garbled or _is_broken(before, now)
    says_nothing_new = len(added) <= _NEW * len(new)
    is_said_twice = says_nothing_new and len(now.split()) > _TWICE * len(before.split())
    if kept >= _KEPT and not (is_broken or is_said_twice):
        return None
    headings = {title or "", *_HEADING.findall(before)} - {""}
    lost = sum(heading not in now for heading in headings)
    has_grown = len(new) > 2 * len(old) and now.count("](") > before.count("](")
    was_stub = len(old) < _STUB and has_grown
    is_other = lost > 0 and kept <= _GONE and not was_stub
    is_odd = says_nothing_new or is_broken or (is_other and 2 * lost >= len(headings))
    is_gone = is_other and lost == len(headings)
    said = set() if says_nothing_new else added
    return Rewriting(key, sketch(old), sketch(said), is_odd, is_gone)


def _is_broken(before: str, now: str) -> bool:
    return _lacks_part(before, now) or _has_template_errors(before, now) or _breaks_off(before, now)


def _lacks_part(before: str, now: str) -> bool:
    """Say whether a text had headings, code or tables, and has none any more."""
    return any(part.search(before) and not part.search(now) for part in _PARTS)


def _has_template_errors(before: str, now: str) -> bool:
    """Say whether a text has errors of its template, and had none."""
    return any(
        not error.search(before) and len(error.findall(now)) >= least
        for error, least in _TEMPLATE_ERRORS
    )


def _has_lost_letters(before: str, now: str) -> bool:
    """Say whether none of the words with letters beyond ASCII is left: of many words, or of any
    that stands there with other characters in their place.
    """
    spelled = {word for word in _WORD.findall(before) if not word.isascii()}
    if not spelled.isdisjoint(_WORD.findall(now)):
        return False
    known = set(before)
    garbled = {
        _BEYOND.sub("", word)
        for word in _SIGNS.findall(now)
        if "?" in word.strip("?") or not known.issuperset(word)
    }
    had = {_BEYOND.sub("", word) for word in _SIGNS.findall(before) if not word.isascii()} - {""}
    return len(spelled) >= _SPELLED or not garbled.isdisjoint(had)


def _breaks_off(before: str, now: str) -> bool:
    """Say whether a text begins as before, and ends a line within, or with an error, and has little
    of the rest.
    """
    same = len(commonprefix((before, now)))  # noqa: RUF071  # of texts
    rest = before[same:]
    if same < _BROKEN * len(before) or len(rest) <= LEAST_LOST * len(before):
        return False
    is_within_line = now[same : same + 1] == "\n" and "\n" not in before[same - 1 : same + 1]
    if not is_within_line and not _ERROR.search(now, same, same + _ERROR_SPAN):
        return False
    lost = shingles(rest)
    return len(lost & shingles(now[same:])) <= _UNLIKE * len(lost)


_Index = defaultdict[int, list[Rewriting]]


@dataclass(slots=True)
class Overwrites:
    """The pages of one run that were rewritten, and what became of them together."""

    _pages: dict[bytes, Rewriting] = field(default_factory=dict)
    _by_new: _Index = field(default_factory=lambda: defaultdict(list))
    _by_before: _Index = field(default_factory=lambda: defaultdict(list))
    _odd: int = 0
    _known_kinds: dict[bytes, Overwrite] | None = None

    def see(self, page: Rewriting) -> None:
        """Take in a page that was rewritten, once."""
        if page.key in self._pages:
            return
        self._pages[page.key] = page
        self._known_kinds = None
        self._odd += page.is_odd
        for each in nsmallest(_KEYS, page.new):
            self._by_new[each].append(page)
        for each in nsmallest(_KEYS, page.before):
            self._by_before[each].append(page)

    def of(self, page: Rewriting, pages: int) -> Overwrite | None:
        """Return what a page became together with others of a source that has so many `pages`; None
        where it was rewritten.
        """
        if page.is_gone:
            return "gone"
        kinds = self._kinds
        if page.key in kinds:
            return kinds[page.key]
        if page.is_odd and self._odd >= max(LEAST_PAGES, ODD_SHARE * pages):
            return "odd"
        many = max(LEAST_PAGES, REWRITTEN_SHARE * pages)
        is_odd_night = len(kinds) > LEAST_PAGES or len(self._pages) > many
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
        """Say whether nearly the same is new in other pages, which were unlike it before."""
        return any(
            resemblance(page.new, other.new) >= _ALIKE
            and resemblance(page.before, other.before) < _UNLIKE
            for other in _near(self._by_new, page.new)
        )

    def _is_of_another(self, page: Rewriting) -> bool:
        """Say whether what is new in it is the text that another page had, which has another one
        now.
        """
        return any(
            resemblance(page.new, other.before) >= _ALIKE
            for other in _near(self._by_before, page.new)
        )


def _near(index: _Index, text: Sketch) -> Iterator[Rewriting]:
    for each in nsmallest(_KEYS, text):
        yield from islice(index.get(each, ()), _COMPARED)
