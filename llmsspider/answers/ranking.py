"""The order of results, what a search gives back, and which source is meant by a name."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from llmsspider.answers.words import Query, words
from llmsspider.errors import UnknownSourceError
from llmsspider.store import PageRecord

# --- search results ---


@dataclass(slots=True, frozen=True)
class SearchResult:
    """One page that answers a query, by its best passage.

    `url` has a fragment where the page is known to have one for the passage's heading. `heading_path` names the
    headings above the passage, outermost first. `score` grows with relevance and is comparable within one search only.
    `offset` and `length` locate the passage in the page's Markdown, in characters. `more` lists further headings of the
    page that match too, `also` the addresses of other pages that hold the same passage.
    """

    url: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    score: float
    source: str
    page_id: str
    section: str | None
    fetched_at: str
    offset: int
    length: int
    more: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title of the page, and the headings of the passage below it."""
        return " > ".join([self.title, *(part for part in self.heading_path if part != self.title)])


@dataclass(slots=True, frozen=True)
class SearchResults:
    """The results of a query, best first.

    `note` is a sentence for the reader, such as that the index is not up to date; None for none.
    """

    query: str
    results: list[SearchResult] = field(default_factory=list)
    note: str | None = None


@dataclass(slots=True, frozen=True)
class Hit:
    """A passage that an index found: where it stands, and how well it fits.

    `page` is the page's key in the store and `content_hash` that of the content the index has read (32 bytes);
    `digest` is equal for passages of equal words, and empty where no vector was wanted. `terms` is the set of indexes
    of the query's terms that occur in it, the page's title and the headings included.
    """

    page: bytes
    content_hash: bytes
    start: int
    end: int
    heading_path: tuple[str, ...]
    digest: bytes
    score: float
    terms: frozenset[int]

    def text_in(self, record: PageRecord | None) -> str | None:
        """The text of the passage; None where the page's content has changed since it was indexed."""
        if record is None or record.content is None:
            return None
        is_same = bytes.fromhex(record.content_hash or "") == self.content_hash
        return record.content[self.start : self.end].strip() if is_same else None


@dataclass(slots=True, frozen=True)
class PageHit:
    """The match of a page as a whole: its title, its headings, and the texts of llms.txt and of links to it."""

    page: bytes
    score: float
    terms: frozenset[int]


@dataclass(slots=True, frozen=True)
class PageSignals:
    """Ranking signals of a page other than its words.

    `optional`: llms.txt lists it under "Optional". `version`: the segment of its path that names one. `superseded`:
    the source has the same page in a newer version. `length`: number of passages, as a multiple of the source's mean.
    """

    url: str
    title: str
    optional: bool = False
    version: str | None = None
    superseded: bool = False
    length: float = 1.0


@dataclass(slots=True)
class Candidates:
    """The matches of a query in an index, not yet ranked.

    `rarity` is the inverse document frequency of each of the query's terms.
    """

    passages: list[Hit]
    pages: dict[bytes, PageHit]
    standing: dict[bytes, PageSignals]
    rarity: tuple[float, ...]


# The ranking: scores of passages are combined into scores of pages, weighted by signals of the site itself.
# A page's score is that of its best passage, a share of the next ones, and that of the page as a whole (title,
# llms.txt, links to it). A page that lacks rare words of the query scores lower than one that has them all. Pages of
# an older version rank behind those of the current one.

PAGE_WEIGHT = 1.2
"""Weight of the score of a page as a whole, relative to that of its best passage."""

NEXT_PASSAGES = (0.25, 0.12, 0.06)
"""Weights of the second-best passages of a page, relative to the best one."""

FUSION_RANK = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

DEMOTED = 0.35
"""The share of its score that a changelog, a deprecated page or an index keeps, when the query does not name one."""

OPTIONAL = 0.8
"""The share of its score that a page listed under "Optional" keeps."""

LENGTH_SHARE = 0.3
"""Penalty for length beyond the mean: an index page of everything holds all words."""

_HISTORY = "changelog changelogs changes release releases released news history version versions migration upgrade new"
_ASKED_ASIDE: dict[str, frozenset[str]] = {
    "history": frozenset(_HISTORY.split()),
    "deprecated": frozenset(["deprecated", "legacy", "old", "obsolete", "removed"]),
    "index": frozenset(["index", "glossary", "search", "tags"]),
}
"""Words of a query that name a kind of page."""

_ASIDE = {
    "history": re.compile(
        r"\b(?:changelog|change log|changes|release[- ]?notes|releases|what'?s[- ]new|news|history)\b",
        re.IGNORECASE,
    ),
    "deprecated": re.compile(r"\b(?:deprecated|legacy|obsolete)\b", re.IGNORECASE),
    "index": re.compile(r"\b(?:genindex|py-modindex|search|index of|tags)\b", re.IGNORECASE),
}
"""In titles and file names of such pages."""


_HEADINGS = re.compile(r"^#{1,6} .*$", re.MULTILINE)


@dataclass(slots=True)
class RankedPage:
    """A ranked page: its key, its score, its passages, best first."""

    key: bytes
    score: float
    passages: list[Hit] = field(default_factory=list)


def rank(query: Query, found: Candidates) -> list[RankedPage]:
    """Return the pages of the candidates, best first.

    Args:
        query: the parsed query; `terms` of the candidates are indexes into its terms.
        found: the candidates of the index.
    """
    of_page: dict[bytes, list[Hit]] = {}
    for hit in found.passages:
        of_page.setdefault(hit.page, []).append(hit)
    required = {place for place, term in enumerate(query.terms) if term.required}
    pages = []
    for key in dict.fromkeys([*of_page, *(found.pages if not required else ())]):
        ranked = _page(key, of_page.get(key, []), found.pages.get(key), found.rarity)
        about = found.standing.get(key)
        if about is not None and ranked.score > 0:
            ranked.score *= _share(query, about)
            pages.append((ranked, about))
    return _current_first(query, pages)


def _page(key: bytes, hits: Iterable[Hit], whole: PageHit | None, rarity: Sequence[float]) -> RankedPage:
    scored = sorted(
        ((_covered(hit.terms, rarity) * hit.score, hit) for hit in hits), key=lambda pair: -pair[0]
    )
    score = sum(weight * points for weight, (points, _) in zip((1.0, *NEXT_PASSAGES), scored, strict=False))
    if whole is not None:
        score += PAGE_WEIGHT * _covered(whole.terms, rarity) * whole.score
    here = frozenset().union(*(hit.terms for _, hit in scored), whole.terms if whole else ())
    return RankedPage(key, score * _covered(here, rarity), [hit for _, hit in scored])


def rarity_of(held: int, total: int) -> float:
    """The inverse document frequency of a term that so many of all passages hold; 0 where none does."""
    return math.log(1 + (max(total, held) - held + 0.5) / (held + 0.5)) if held else 0.0


def _covered(terms: frozenset[int], rarity: Sequence[float]) -> float:
    """The terms' share (0 to 1) of the sum of inverse document frequencies of the query."""
    total = sum(rarity)
    return sum(rarity[place] for place in terms) / total if total else 1.0


def _share(query: Query, page: PageSignals) -> float:
    """The factor for a page's score: below 1 for optional, long, and auxiliary pages such as changelogs."""
    share = (OPTIONAL if page.optional else 1.0) / (
        1 + LENGTH_SHARE * max(0.0, math.log(max(page.length, 1.0)))
    )
    kind = next(
        (
            kind
            for kind, pattern in _ASIDE.items()
            if pattern.search(f"{page.title} {page.url.rpartition('/')[2]}")
        ),
        None,
    )
    if kind is not None and not (
        _ASKED_ASIDE[kind] & query.words or query.words.issuperset(words(page.title))
    ):
        share *= DEMOTED
    return share


def _current_first(query: Query, pages: list[tuple[RankedPage, PageSignals]]) -> list[RankedPage]:
    """Sort by score.

    Pages that also exist in a newer version come last, unless the query names their version: that comes first then.
    """
    queried = set(words(query.text))

    def place(pair: tuple[RankedPage, PageSignals]) -> tuple[int, float]:
        ranked, page = pair
        is_named = page.version is not None and set(words(page.version)) <= queried
        return (0 if is_named else 2 if page.superseded else 1), -ranked.score

    return [ranked for ranked, _ in sorted(pages, key=place)]


@cache
def version_key(version: str) -> tuple[int, tuple[int, ...]]:
    """The order of versions: those in development first, then released ones by number, then names of the current one.

    >>> sorted(["latest", "3.12", "v2", "dev", "3.9"], key=version_key)
    ['dev', 'v2', '3.9', '3.12', 'latest']
    """
    name = version.casefold()
    if name in {"latest", "stable", "current"}:
        return 2, ()
    numbers = tuple(int(number) for number in re.findall(r"\d+", name))
    unfinished = not numbers or re.search(r"alpha|beta|rc|preview|dev", name)
    return (0 if unfinished else 1), numbers


def fused(by_words: Sequence[RankedPage], by_meaning: Sequence[RankedPage]) -> list[RankedPage]:
    """Merge two rankings by reciprocal rank fusion; of a page in both, the passages found by words are taken."""
    pages = {page.key: page for page in (*by_meaning, *by_words)}
    scores = dict.fromkeys(pages, 0.0)
    for ranking in (by_words, by_meaning):
        for place, page in enumerate(ranking, 1):
            scores[page.key] += 1 / (FUSION_RANK + place)
    order = sorted(pages, key=lambda key: -scores[key])
    return [RankedPage(key, 1.0 / place, pages[key].passages) for place, key in enumerate(order, 1)]


def content_words(text: str) -> frozenset[str]:
    """The words of a passage, headings aside."""
    return frozenset(words(_HEADINGS.sub("", text)))


def similar(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether at least nine tenths of the words of two passages are common to both (Jaccard similarity)."""
    return bool(one or other) and len(one & other) >= 0.9 * len(one | other)


# The URL fragment of a heading.
# A page's Markdown does not say which fragments the page has. Links of the site to `page#fragment` do: a heading gets
# one of those, or none.

_NOT_SLUG = re.compile(r"[^\w]+")


def slug(heading: str) -> str:
    """Reduce a heading or its id to what the ids of all site generators have in common.

    >>> slug("Request.meta special keys"), slug("request-meta-special-keys")
    ('requestmetaspecialkeys', 'requestmetaspecialkeys')
    """
    return _NOT_SLUG.sub("", heading).replace("_", "").casefold()


def fragment_of(heading_path: Sequence[str], known: Sequence[tuple[str, str]]) -> str | None:
    """The fragment of the innermost heading that has one.

    Args:
        heading_path: the headings above a passage, outermost first.
        known: fragments of the page that links lead to, with the text of a link.
    """
    by_slug = {slug(fragment): fragment for fragment, _ in known}
    for fragment, text in known:
        by_slug.setdefault(slug(text), fragment)
    for heading in reversed(heading_path[1:] or heading_path):
        name = slug(heading)
        found = by_slug.get(name) or next(
            (by_slug[one] for one in by_slug if len(name) > 5 and one.endswith(name)), None
        )
        if found:
            return found
    return None


# Which source is meant by a name.
# `name`, or `name@version` where a version of it was crawled as a source of its own.


def choose_source(wanted: str, known: Sequence[str]) -> str:
    """Return the name of the source for a name with or without version; a missing version is never replaced by another.

    Args:
        wanted: a name, with `@version` or without: then the source of just this name, else its newest version.
        known: the names of all sources.

    Raises:
        UnknownSourceError: there is none; the message names what there is.

    >>> choose_source("flask", ["flask@2.3", "flask@3.0"])
    'flask@3.0'
    """
    wanted = wanted.strip()
    if wanted in known:
        return wanted
    name, _, version = wanted.partition("@")
    versions = sorted(
        (one.partition("@")[2] for one in known if one.partition("@")[0] == name and "@" in one),
        key=version_key,
    )
    if version and (versions or name in known):
        there = ", ".join(f"{name}@{one}" for one in versions) or f"{name}, of no named version"
        raise UnknownSourceError(f"source {name!r} has no version {version!r}; there is {there}")
    if versions:
        return f"{name}@{versions[-1]}"
    raise UnknownSourceError(f"source {wanted!r} is not known; {_there_is(wanted, known)}")


def nearest(wanted: str, known: Sequence[str], most: int = 5) -> list[str]:
    """The names most like the one wanted, best first."""
    name = wanted.partition("@")[0].casefold()
    within = [one for one in known if name in one.casefold()]
    like = difflib.get_close_matches(
        name, {one.partition("@")[0].casefold() for one in known}, n=most, cutoff=0.5
    )
    alike = [one for close in like for one in sorted(known) if one.partition("@")[0].casefold() == close]
    return list(dict.fromkeys([*within, *alike]))[:most]


def _there_is(wanted: str, known: Sequence[str]) -> str:
    if not known:
        return "nothing has been crawled yet"
    near = nearest(wanted, known)
    return f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(sorted(known)[:10])}"
