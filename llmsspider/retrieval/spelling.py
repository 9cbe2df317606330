"""Typing errors: words of a query that stand nowhere are replaced by those of the index that are most like them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from llmsspider.retrieval.query import Query, Term

LEAST_LIKENESS = 0.7
"""The ratio of `difflib.SequenceMatcher` from which on one word may stand for another."""

LEAST_SHARED = 0.7
"""The share of letters two words have in common, below which they are not compared further."""

MOST_OTHERS = 2
"""Words that are tried in place of one."""


def corrected(
    query: Query, unknown: Sequence[int], vocabulary: Iterable[tuple[str, int]]
) -> tuple[Query, dict[str, str]]:
    """Return the query with other words in place of unknown ones, and which word stands for which.

    Args:
        query: as it was parsed.
        unknown: places of terms that stand nowhere; phrases are left as they are.
        vocabulary: words of the index (stems, perhaps) and how many passages hold each.
    """
    asked = {query.terms[place].words[0]: place for place in unknown if _is_word(query.terms[place])}
    found: dict[str, list[tuple[float, int, str]]] = {word: [] for word in asked}
    letters = {word: frozenset(word) for word in asked}
    for other, passages in vocabulary:
        for word, own in letters.items():
            if abs(len(word) - len(other)) <= 3 and len(own.intersection(other)) >= LEAST_SHARED * len(own):
                likeness = SequenceMatcher(None, word, other, autojunk=False).ratio()
                if likeness >= LEAST_LIKENESS:
                    heapq.heappush(found[word], (likeness, passages, other))
                    if len(found[word]) > MOST_OTHERS:
                        heapq.heappop(found[word])
    best = {word: max(others)[2] for word, others in found.items() if others}
    terms = []
    for place, term in enumerate(query.terms):
        others = found.get(term.words[0], []) if place in unknown and _is_word(term) else []
        terms += [Term((other,)) for _, _, other in sorted(others, reverse=True)] or [term]
    return Query(query.text, tuple(terms), query.last_is_open), best


def _is_word(term: Term) -> bool:
    return len(term.words) == 1 and not term.required and len(term.words[0]) > 2 and term.words[0].isalpha()
