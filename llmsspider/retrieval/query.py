"""What a query asks for: its words, phrases and identifiers, in a form any index can be asked with.

Nothing of a query reaches an index as syntax: it is cut into words of letters and digits first, so the operators of
FTS5, SQL and tsquery
are words like others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmsspider.retrieval.words import STOP_WORDS, humps, pairs, unspaced, words

LONGEST_QUERY = 1000
"""Characters of a query that are read; what stands behind them is ignored."""

MOST_TERMS = 24
"""Terms of a query that are looked for, the first ones."""

_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+")
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(slots=True, frozen=True)
class Term:
    """One thing to look for: words that follow each other (one word is a phrase of one).

    `beside` is looked for in the words that stand beside a text (parts of camel case, pairs of characters). A
    `required` term was quoted:
    what lacks it is no result.
    """

    words: tuple[str, ...]
    beside: tuple[str, ...] = ()
    required: bool = False


@dataclass(slots=True, frozen=True)
class Query:
    """A query as the index is asked; `text` is what was typed, on one line."""

    text: str
    terms: tuple[Term, ...]
    last_is_open: bool = False
    """The last word may be the beginning of one: nothing follows it."""

    @property
    def words(self) -> frozenset[str]:
        """Every word of the query."""
        return frozenset(word for term in self.terms for word in (*term.words, *term.beside))


@dataclass(slots=True, frozen=True)
class Asked:
    """What rows are asked for.

    Expressions of terms by their place, how rare each term is, which are required, how many rows.
    """

    expressions: Mapping[int, str]
    rarity: Sequence[float]
    required: Sequence[int]
    limit: int


def parse_query(text: str) -> Query:
    """Read a query; one without any word has no terms.

    >>> [term.words for term in parse_query('how do I set LLMS_STORE_URL?').terms]
    [('set',), ('llms', 'store', 'url'), ('llms',), ('store',), ('url',)]
    >>> [term.words for term in parse_query('"breadth first" crawl').terms if term.required]
    [('breadth', 'first')]
    """
    text = " ".join(text[:LONGEST_QUERY].split())
    required = [tuple(words(quoted)) for quoted in _QUOTED.findall(text)]
    rest = _QUOTED.sub(" ", text).split()
    terms = [Term(found, required=True) for found in required if found]
    terms += [term for word in rest for term in _terms(word)]
    useful = [term for term in terms if term.required or not STOP_WORDS.issuperset(term.words) or term.beside]
    chosen = tuple(dict.fromkeys(useful or terms))[:MOST_TERMS]
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
