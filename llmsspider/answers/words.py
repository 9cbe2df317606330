"""What pages are indexed by and what queries are made of: passages, words and parts of words,
terms, typing errors.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import accumulate
from string import digits

from llmsspider.content.markdown.chunks import Span, split

# Words of documentation: identifiers whole and in parts, text without spaces in pairs of
# characters. The index cuts text at everything that is no letter and no digit, so `LLMS_STORE_URL`
# is found by each part, and whole as a phrase. What that misses (parts of `useState`, text without
# spaces) stands behind the text.

_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Runs of Chinese, Japanese or Korean characters.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W_]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+")

_STOP = """
a about am an and are as at be but by can could did do does for from had has have how i if in into is it me my no not of
on or our should such that the their them then there these they this to was we what when where which who whole why will
with would you your
"""
STOP_WORDS = frozenset(_STOP.split())
"""English words without a topic; a query of nothing else is searched as it stands."""


def words(text: str) -> list[str]:
    """The words of a text for the index, before stemming.

    >>> words("scrapy.Request --dry-run LLMS_STORE_URL")
    ['scrapy', 'request', 'dry', 'run', 'llms', 'store', 'url']
    """
    return [found.casefold() for found in _WORD.findall(unicodedata.normalize("NFC", text))]


@lru_cache(maxsize=10_000)
def humps(word: str) -> tuple[str, ...]:
    """The parts of a word in camel case; nothing for another word.

    >>> humps("useState"), humps("HTTPServer"), humps("plain"), humps("HTTP")
    (('use', 'state'), ('http', 'server'), (), ())
    """
    if word.islower() or word.isupper() or word.istitle() or not word.isalnum():
        return ()
    parts = tuple(part.casefold() for part in _HUMP.findall(word))
    return parts if len(parts) > 1 else ()


def pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters of a run without spaces; a single character is itself.

    >>> pairs("安装指南")
    ['安装', '装指', '指南']
    """
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def word_parts(text: str) -> str:
    """Further words to index with a text: the parts of camel-case words, and pairs of CJK
    characters.

    >>> word_parts("call useState, then 安装")
    'use state 安装'
    """
    mixed = " ".join(one for one in dict.fromkeys(text.split()) if not one.islower())
    mixed_words = dict.fromkeys(word.lstrip(digits) for word in _PLAIN_WORD.findall(mixed))
    found = [" ".join(parts) for parts in map(humps, mixed_words) if parts]
    return " ".join([*found, *(" ".join(pairs(run)) for run in _UNSPACED.findall(text))])


def digest_of(text: str) -> bytes:
    """A digest (16 bytes), equal for texts that differ in white space and case only."""
    plain = " ".join(text.split()).casefold()
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()[:16]


# A query: its words, phrases and identifiers, in a form for any index. No part of a query reaches
# an index as syntax: it is cut into words of letters and digits first, so the operators of FTS5,
# SQL and tsquery are words like others.

MAX_QUERY = 1000
MAX_TERMS = 24
"""Characters of a query that are read, and terms of it that are looked for; what stands behind them
is ignored.
"""

MAX_PARTS = 3
MAX_PARTED = 40
"""Words that one is parted into at most where no page has it, and characters of such a word."""

_QUOTED = re.compile(r'(?<!\S)"([^"]+)"(?=[\s.,;!?]|$)')  # what is quoted in code is no phrase
_WORDY = re.compile(r"(?<!\S)[A-Za-z]+(?:[-'][A-Za-z]+)?[.,;:!?]?(?!\S)")
"""A word of a sentence, as it stands in none of code, paths and identifiers."""

MIN_PROSE = 0.7
"""Share of a line's words that are such words, from which on a line with a stop word is part of
the question."""


@dataclass(slots=True, frozen=True)
class Term:
    """One thing to look for: words that follow each other (one word is a phrase of one), parts of
    camel case, or pairs of characters.

    A `required` term was quoted: a passage without it is no result. `compounds` are how it may be
    written in one word, alone or with the words that follow.
    """

    words: tuple[str, ...]
    required: bool = False
    compounds: tuple[str, ...] = ()

    @property
    def match(self) -> str:
        """The term for FTS5, in any of its forms; every word is quoted, so none is an operator."""
        return " OR ".join(f'"{one}"' for one in (" ".join(self.words), *self.compounds))

    def spellings(self, is_held: Callable[[Term], bool]) -> Iterator[Term]:
        """Yield, of a word that no page has, what pages have: it in two or three words
        (`autoupdate` is `auto update`).
        """
        is_short = len(self.words) == 1 and len(self.words[0]) <= MAX_PARTED and not self.required
        begun: Iterable[Term] = [self] if is_short else []
        for _ in range(MAX_PARTS - 1):
            parted = [term for one in begun for term in _parted_last(one)]
            yield from filter(is_held, parted)
            begun = (term for term in parted if is_held(Term(term.words[:-1])))


def _parted_last(term: Term) -> list[Term]:
    """The term with its last word in two, in each place."""
    *before, last = term.words
    return [Term((*before, last[:place], last[place:])) for place in range(1, len(last))]


@dataclass(slots=True, frozen=True)
class Query:
    """A query for the index; `text` is what was typed, on one line."""

    text: str
    terms: tuple[Term, ...]

    @property
    def words(self) -> frozenset[str]:
        """Every word of the query."""
        return frozenset(word for term in self.terms for word in term.words)

    @property
    def has_identifiers(self) -> bool:
        """Whether a term is more than a word, as code, paths and phrases are."""
        return any(len(term.words) > 1 for term in self.terms)

    @property
    def required(self) -> list[int]:
        """The places of the quoted terms."""
        return [place for place, term in enumerate(self.terms) if term.required]

    @property
    def without_quotes(self) -> Query:
        """The same query, in which nothing has to be found."""
        return replace(self, terms=tuple(replace(term, required=False) for term in self.terms))


@lru_cache(maxsize=16)
def parse_query(text: str) -> Query:
    """Read a query; one without any word has no terms.

    >>> [term.words for term in parse_query('how do I set LLMS_STORE_URL?').terms]
    [('set',), ('llms', 'store', 'url'), ('llms',), ('store',), ('url',)]
    >>> [term.words for term in parse_query('"breadth first" crawl').terms if term.required]
    [('breadth', 'first')]
    """
    question, context = _parted(text[:MAX_QUERY])
    required = [tuple(words(quoted)) for quoted in _QUOTED.findall(question)]
    terms = [Term(found, required=True) for found in required if found]
    terms += _useful(_QUOTED.sub(" ", question), terms)
    if context:
        terms += _useful(context)[: len(terms)]
    return Query(" ".join(text[:MAX_QUERY].split()), tuple(dict.fromkeys(terms))[:MAX_TERMS])


def _parted(text: str) -> tuple[str, str]:
    r"""The question of a query, and what was pasted with it: lines that are no sentences.

    >>> _parted("How do I set a port?\nservices:\n  web:\n    image: x:1")
    ('How do I set a port?', 'services: web: image: x:1')
    """
    lines = [line.strip() for line in text.splitlines()]
    question = [line for line in lines if _is_prose(line)] or lines
    context = [line for line in lines if line not in question]
    return " ".join(question), " ".join(context)


def _is_prose(line: str) -> bool:
    typed = line.split()
    is_wordy = len(_WORDY.findall(line)) > MIN_PROSE * len(typed)
    return is_wordy and (line.endswith("?") or not STOP_WORDS.isdisjoint(words(line)))


def _useful(text: str, known: Sequence[Term] = ()) -> list[Term]:
    """The terms of a text without stop words; with them where there is nothing else."""
    typed = text.split()
    found = [_terms(typed[place : place + MAX_PARTS]) for place in range(len(typed))]
    terms = [term for of_word in found for term in of_word]
    useful = [term for term in terms if not STOP_WORDS.issuperset(term.words)]
    return useful or ([] if known else terms)


def _terms(typed: Sequence[str]) -> list[Term]:
    """The terms of the first word typed, given the ones that follow it."""
    word = typed[0]
    if runs := _UNSPACED.findall(word):
        plain = _UNSPACED.sub(" ", word)
        return [Term(tuple(pairs(run))) for run in runs] + [Term((one,)) for one in words(plain)]
    found = tuple(words(word))
    joined = tuple(accumulate("".join(words(one)) for one in typed))
    if len(found) > 1:  # an identifier: whole, and its parts
        return [Term(found, compounds=joined), *(Term((part,)) for part in found)]
    parts = tuple(part for piece in _PLAIN_WORD.findall(word) for part in humps(piece))
    whole = [Term(found, compounds=joined[1:])] if found else []
    return [*whole, *([Term(parts)] if parts else ())]


LEAST_LIKENESS = 0.7
MAX_REPLACEMENTS = 2
"""The ratio of `difflib.SequenceMatcher` from which on a word may stand for another, and how many
may.
"""


def corrected(
    query: Query, unknown: Iterable[Term], vocabulary: Sequence[str]
) -> tuple[Query, dict[str, str]]:
    """Return the query with typing errors replaced by the most similar words, and the best
    replacement of each.

    `unknown` are its terms that the index does not hold (phrases are not changed), `vocabulary`
    words of the index.
    """
    near = {
        term: get_close_matches(term.words[0], vocabulary, MAX_REPLACEMENTS, LEAST_LIKENESS)
        for term in unknown
        if len(term.words) == 1 and len(term.words[0]) > 2 and term.words[0].isalpha()
    }
    terms = [
        new
        for term in query.terms
        for new in [Term((word,)) for word in near.get(term, ())] or [term]
    ]
    instead = {term.words[0]: found[0] for term, found in near.items() if found}
    return Query(query.text, tuple(terms)), instead


# The passages of a page: the chunks of `content.markdown.chunks`.

PASSAGE_SIZE = 1600
MAX_PASSAGE = 16_000
"""Characters of a passage, and of code or a table at most; what is larger is cut between lines, a
line anywhere.
"""

MIN_SECTION = 160
"""Characters of a section; a shorter one, which answers little, is joined with the next one of its
parent section.
"""


def passages(content: str) -> Iterator[Span]:
    """Yield the passages of a page in order, but for blank ones; those of a section share one
    `heading_path`.
    """
    for begin, end, path in split(content, size=PASSAGE_SIZE, least=MIN_SECTION):
        start = begin
        while start < end:
            most = start + MAX_PASSAGE
            cut = end if end <= most else content.rfind("\n", start, most) + 1 or most
            if not content[start:cut].isspace():
                yield Span(start, cut, path)
            start = cut
