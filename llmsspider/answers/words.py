"""Words of documentation and of queries: identifiers whole and in parts, phrases, typing errors."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from string import ascii_letters, digits

# Words of documentation: identifiers whole and in parts, text without spaces in pairs of characters.
# The index cuts text at everything that is no letter and no digit, so `LLMS_STORE_URL` is found by each part, and
# whole as a phrase. What that misses (parts of `useState`, text without spaces) is in a further column, `parts`.

_KINDS = bytes(
    ord(
        "-"
        if code >= 0xE3
        else " "
        if (kind := chr(code)) not in ascii_letters + digits
        else "0"
        if kind in digits
        else "Aa"[kind.islower()]
    )
    for code in range(256)
)
"""For each first byte of a character in UTF-8 its kind.

`A` and `a` for letters of ASCII, `0` for its digits, `-` for characters from U+3000 on, a space for all else.
"""
_FURTHER_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
_MIXED = re.compile(rb"A(?<! A)(?:(?<!AA)|(?=a))[^ ]*")
_MIXED_WITH_DIGIT = re.compile(rb"0(?=a)[^ ]*")
"""A word from the first place on that shows camel case, or may show it: `useState`, `HTTPServer`, `Base64url`."""
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    " ".join(
        [
            "a about after all also am an and any are as at be been before being between both but by can could",
            "did do does doing don for from had has have having he her here hers him his how i if in into is it",
            "its itself just let me more most my no nor not now of off on once only or other our out over own s",
            "same she should so some such t than that the their them then there these they this those through to",
            "too under until up us very was way we were what when where which while who whom why will with would",
            "you your yours want need mean means work works using use used",
        ]
    ).split()
)
"""English words without a topic; a query of nothing else is searched as it stands."""


def words(text: str) -> list[str]:
    """The words of a text for the index, before stemming.

    >>> words("scrapy.Request --dry-run LLMS_STORE_URL")
    ['scrapy', 'request', 'dry', 'run', 'llms', 'store', 'url']
    """
    return [found.casefold() for found in _WORD.findall(unicodedata.normalize("NFC", text))]


def humps(word: str) -> list[str]:
    """The parts of a word in camel case; nothing for another word.

    >>> humps("useState"), humps("HTTPServer"), humps("plain"), humps("HTTP")
    (['use', 'state'], ['http', 'server'], [], [])
    """
    if not _is_camel(word):
        return []
    parts = [part.casefold() for part in _HUMP.findall(word)]
    return parts if len(parts) > 1 else []


def _is_camel(word: str) -> bool:
    return not (word.islower() or word.isupper() or word.istitle()) and word.isalnum()


def pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters of a run without spaces; a single character is itself.

    >>> pairs("安装指南")
    ['安装', '装指', '指南']
    """
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def unspaced(text: str) -> list[str]:
    """The runs of Chinese, Japanese or Korean characters in a text."""
    return [] if text.isascii() else _UNSPACED.findall(text)


class WordParts:
    """Further words to index with the parts of a text: of camel-case words the parts, of CJK characters pairs."""

    def __init__(self, text: str):
        kinds = text.encode("utf-8", "replace").translate(_KINDS, _FURTHER_BYTES)  # a byte for each character
        self._is_unspaced = b"-" in kinds
        if self._is_unspaced:
            kinds = kinds.replace(b"-", b" ")
        spans = [found.span() for found in _MIXED.finditer(kinds)]
        if with_digits := [found.span() for found in _MIXED_WITH_DIGIT.finditer(kinds)]:
            spans = sorted(spans + with_digits)
        self._text = text
        self._starts = [start for start, _ in spans]
        self._mixed = [text[kinds.rfind(b" ", 0, start) + 1 : end].lstrip(digits) for start, end in spans]
        self._next = 0

    def of(self, start: int, end: int) -> str:
        """The words of `text[start:end]`, which begins where the last one ended, or after it."""
        first = bisect_left(self._starts, start, self._next)
        self._next = bisect_left(self._starts, end, first)
        found = [*filter(None, map(_parts, dict.fromkeys(self._mixed[first : self._next])))]
        if self._is_unspaced:
            found += [" ".join(pairs(run)) for run in unspaced(self._text[start:end])]
        return " ".join(found)


def word_parts(text: str) -> str:
    """Further words to index with a text: the parts of camel-case words, and pairs of CJK characters.

    >>> word_parts("call useState, then 安装")
    'use state 安装'
    """
    return WordParts(text).of(0, len(text))


@lru_cache(maxsize=10_000)
def _parts(word: str) -> str:
    """The parts of a word in camel case; empty for another word."""
    return " ".join(humps(word))


def digest_of(text: str) -> bytes:
    """A digest (16 bytes), equal for texts that differ in white space and case only."""
    plain = " ".join(text.split()).casefold()
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()[:16]


# A query: its words, phrases and identifiers, in a form for any index.
# No part of a query reaches an index as syntax: it is cut into words of letters and digits first, so the operators of
# FTS5, SQL and tsquery are words like others.

MAX_QUERY = 1000
"""Characters of a query that are read; what stands behind them is ignored."""

MAX_TERMS = 24
"""Terms of a query that are looked for, the first ones."""

_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+")
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(slots=True, frozen=True)
class Term:
    """One thing to look for: words that follow each other (one word is a phrase of one).

    `parts` (of camel case, pairs of characters) are looked up in the column of that name. A `required` term was quoted:
    a passage without it is no result.
    """

    words: tuple[str, ...]
    parts: tuple[str, ...] = ()
    required: bool = False

    @property
    def match(self) -> str:
        """The term for FTS5; every word is quoted, so none is an operator."""
        found = [_phrase(self.words)] if self.words else []
        if self.parts:
            found += [f"parts : {_phrase(self.parts)}", _phrase(self.parts)]
        return " OR ".join(found)

    @property
    def prefix(self) -> str | None:
        """The term for FTS5 with its last word as the beginning of one; None where that is too short."""
        is_long = bool(self.words) and len(self.words[-1]) > 2
        return f"{_phrase(self.words)} *" if is_long and not self.required else None


def _phrase(words: Sequence[str]) -> str:
    return '"' + " ".join(words) + '"'


@dataclass(slots=True, frozen=True)
class Query:
    """A query for the index; `text` is what was typed, on one line."""

    text: str
    terms: tuple[Term, ...]
    last_is_open: bool = False
    """The last word may be the beginning of one: nothing follows it."""

    @property
    def words(self) -> frozenset[str]:
        """Every word of the query."""
        return frozenset(word for term in self.terms for word in (*term.words, *term.parts))


def parse_query(text: str) -> Query:
    """Read a query; one without any word has no terms.

    >>> [term.words for term in parse_query('how do I set LLMS_STORE_URL?').terms]
    [('set',), ('llms', 'store', 'url'), ('llms',), ('store',), ('url',)]
    >>> [term.words for term in parse_query('"breadth first" crawl').terms if term.required]
    [('breadth', 'first')]
    """
    text = " ".join(text[:MAX_QUERY].split())
    required = [tuple(words(quoted)) for quoted in _QUOTED.findall(text)]
    rest = _QUOTED.sub(" ", text).split()
    terms = [Term(found, required=True) for found in required if found]
    terms += [term for word in rest for term in _terms(word)]
    useful = [term for term in terms if term.required or not STOP_WORDS.issuperset(term.words) or term.parts]
    chosen = tuple(dict.fromkeys(useful or terms))[:MAX_TERMS]
    return Query(text, chosen, bool(rest) and text.endswith(rest[-1]) and rest[-1][-1].isalnum())


def _terms(word: str) -> list[Term]:
    runs = unspaced(word)
    if runs:
        plain = word
        for run in runs:
            plain = plain.replace(run, " ")
        return [Term((), tuple(pairs(run))) for run in runs] + [Term((part,)) for part in words(plain)]
    found = tuple(words(word))
    if len(found) > 1:  # an identifier: whole, and its parts
        return [Term(found), *(Term((part,)) for part in found)]
    parts = tuple(part for piece in _PLAIN_WORD.findall(word) for part in humps(piece))
    return [Term(found), *([Term((), parts)] if parts else ())] if found else []


# Typing errors: words of a query that the index does not hold are replaced by the most similar ones that it holds.

LEAST_LIKENESS = 0.7
"""The ratio of `difflib.SequenceMatcher` from which on one word may stand for another."""

MAX_REPLACEMENTS = 2
"""Maximum number of words that are searched for in place of one."""


def corrected(
    query: Query, unknown: Sequence[int], vocabulary: Sequence[str]
) -> tuple[Query, dict[str, str]]:
    """Return the query with unknown words replaced, and the replacement of each.

    Args:
        query: the parsed query.
        unknown: indexes of terms that the index does not hold; phrases are not changed.
        vocabulary: words of the index (possibly stems).
    """
    best: dict[str, str] = {}
    terms: list[Term] = []
    for place, term in enumerate(query.terms):
        is_word = len(term.words) == 1 and not term.required and len(term.words[0]) > 2
        others: list[str] = []
        if place in unknown and is_word and (word := term.words[0]).isalpha():
            near = [other for other in vocabulary if abs(len(other) - len(word)) <= 3]
            others = get_close_matches(word, near, MAX_REPLACEMENTS, LEAST_LIKENESS)
            best |= {word: others[0]} if others else {}
        terms += [Term((other,)) for other in others] or [term]
    return Query(query.text, tuple(terms), query.last_is_open), best
