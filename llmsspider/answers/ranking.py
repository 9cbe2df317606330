"""The order of results, what a search gives back, and which source is meant by a name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from urllib.parse import urlsplit

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from llmsspider.answers.words import Query, Term, words
from llmsspider.errors import UnknownSourceError
from llmsspider.store import PageRecord, SourceRecord
from llmsspider.web.rights import SiteRights
from llmsspider.web.trees import DEFAULT_VERSIONS

# --- search results ---


def licences_of(record: PageRecord, source: SourceRecord | None) -> tuple[str, ...]:
    """Return the URLs of the licences of a page of a source."""
    site = SiteRights(source.rights if source is not None else None)
    rights = site.of(record.url, record.declared)
    return tuple(rights["licences"]) if rights else ()


@dataclass(slots=True, frozen=True)
class SearchResult:
    """One page that answers a query, by its best passage.

    `url` has a fragment where the page is known to have one for the passage's heading.
    `heading_path` names the headings above the passage, outermost first. `score` grows with
    relevance and is comparable within one search only. `text` is the passage, what stands around
    it, and the page's second-best passage after "…"; `offset` and `length` locate it in the page's
    Markdown, in characters. `more` lists further headings of the page that match too, `also` the
    addresses of other pages that hold the same passage, `licences` the URLs of the page's licences.
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
    licences: tuple[str, ...] = ()

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
    """A passage that an index found: its number there, where it stands, and how well it fits.

    `page` is the page's key in the store and `content_hash` that of the content the index has read
    (32 bytes); `digest` is equal for passages of equal words.
    """

    id: int
    page: bytes
    content_hash: bytes
    start: int
    end: int
    heading_path: tuple[str, ...]
    digest: bytes
    score: float

    def text_in(self, record: PageRecord | None) -> str | None:
        """The text of the passage; None where the page's content has changed since it was indexed."""
        if record is None or record.content is None:
            return None
        is_same = bytes.fromhex(record.content_hash or "") == self.content_hash
        return record.content[self.start : self.end].strip() if is_same else None


@dataclass(slots=True, frozen=True)
class PageSignals:
    """Ranking signals of a page other than its words.

    `version`: the segment of its path that names one. `superseded`: the source has the same page in
    a newer version.
    """

    url: str
    title: str
    version: str | None = None
    superseded: bool = False


@dataclass(slots=True)
class Candidates:
    """The matches of a query in an index, not yet ranked.

    `pages` has the score of each page as a whole: its title, its headings, and what llms.txt and
    the page say of it. `unknown` are the terms of the query that the index does not hold; `strength`
    is the share of its terms, rare ones counting more, that the best match holds.
    """

    passages: list[Hit] = field(default_factory=list)
    pages: dict[bytes, float] = field(default_factory=dict)
    unknown: list[Term] = field(default_factory=list)
    strength: float = 0.0


def outline_of(record: PageRecord) -> tuple[str, str]:
    """The title of a page and its hints: notes of llms.txt on it, its own description."""
    entry = record.llms
    notes = (entry.title, entry.description, entry.section) if entry else ()
    hints = "\n".join(dict.fromkeys(text for text in (*notes, record.description) if text))
    return record.title or "", hints


def section_of(record: PageRecord) -> str:
    """The section of a page by its llms.txt, else its directory."""
    listed = record.llms.section if record.llms else None
    return listed or urlsplit(record.url).path.rstrip("/").rpartition("/")[0] or "/"


# The ranking: scores of passages are combined into scores of pages, weighted by signals of the site
# itself. A page's score is that of its best passage and that of the page as a whole. Pages of an
# older version rank behind those of the current one.

FUSION_RANK = 60  # the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)

MEANING_WEIGHT = 2.0
IDENTIFIER_WEIGHT = 0.25
"""The weights of the ranking by meaning in it, without and with identifiers in the query; that by
words has 1 (measured: docs/how-to/search.md).
"""

DEMOTED = 0.35
"""The share of its score that a changelog, a deprecated page or an index keeps where the query
names none."""

_AUXILIARY = (
    "changelog changelogs changes release releases whatsnew news history deprecated legacy obsolete"
    " genindex modindex search tags"
)
_ASIDE = frozenset(_AUXILIARY.split())
_ASKING = "released version versions migration upgrade new old removed index"
_ALONE = re.compile(r"(?<![\w-])\w+(?![\w-])")  # a word that is part of no identifier
_NAMING = _ASIDE.union(_ASKING.split())
"""Words in titles and file names of auxiliary pages, and words of a query that name such pages."""


@dataclass(slots=True)
class RankedPage:
    """A ranked page: its key, its score, its passages, best first."""

    key: bytes
    score: float
    passages: list[Hit] = field(default_factory=list)


def rank(query: Query, found: Candidates, signals: Mapping[bytes, PageSignals]) -> list[RankedPage]:
    """Return the pages of the candidates, best first.

    Pages that also exist in a newer version come last, unless the query names their version: that
    comes first then.
    """
    of_page: dict[bytes, list[Hit]] = {}
    for hit in sorted(found.passages, key=lambda hit: -hit.score):
        of_page.setdefault(hit.page, []).append(hit)
    asked = set(words(query.text))
    is_demoting = _NAMING.isdisjoint(_ALONE.findall(query.text.casefold()))
    pages: list[tuple[int, RankedPage]] = []
    for key, page in signals.items():
        hits = of_page.get(key, [])
        score = found.pages.get(key, 0.0) + (hits[0].score if hits else 0.0)
        if is_demoting and _is_auxiliary(page):
            score *= DEMOTED
        is_named = page.version is not None and asked.issuperset(words(page.version))
        group = 0 if is_named else 2 if page.superseded else 1
        pages.append((group, RankedPage(key, score, hits)))
    return [ranked for _, ranked in sorted(pages, key=lambda pair: (pair[0], -pair[1].score))]


def _is_auxiliary(page: PageSignals) -> bool:
    return not _ASIDE.isdisjoint(words(f"{page.title} {page.url.rpartition('/')[2]}"))


@cache
def version_key(version: str) -> tuple[int, tuple[int, ...]]:
    """The order of versions: those in development first, then released ones by number, then names
    of the current one.

    >>> sorted(["latest", "3.12", "v2", "dev", "3.9"], key=version_key)
    ['dev', 'v2', '3.9', '3.12', 'latest']
    """
    name = version.casefold()
    if name in DEFAULT_VERSIONS:
        return 2, ()
    numbers = tuple(int(number) for number in re.findall(r"\d+", name))
    unfinished = not numbers or re.search(r"alpha|beta|rc|preview|dev", name)
    return (0 if unfinished else 1), numbers


def fused(
    query: Query, by_words: Sequence[RankedPage], by_meaning: Sequence[RankedPage]
) -> list[RankedPage]:
    """Merge two rankings by reciprocal rank fusion; of a page in both, the passages found by words
    are taken.
    """
    weight_of_meaning = IDENTIFIER_WEIGHT if query.has_identifiers else MEANING_WEIGHT
    pages = {page.key: page for page in (*by_meaning, *by_words)}
    scores = dict.fromkeys(pages, 0.0)
    for weight, ranking in ((1.0, by_words), (weight_of_meaning, by_meaning)):
        for place, page in enumerate(ranking, 1):
            scores[page.key] += weight / (FUSION_RANK + place)
    order = sorted(pages, key=lambda key: -scores[key])
    return [replace(pages[key], score=1.0 / place) for place, key in enumerate(order, 1)]


# Results of several sources. The scores of an index say nothing of those of another, so sources are
# compared by the share of the query that stands in the best of what they found.

MAX_POOLED = 60  # pages of one source that are compared with those of others
NAMED_SOURCE = 2.0  # factor for a source whose name has a word of the query


@dataclass(slots=True, frozen=True)
class Found:
    """The pages of a source that were found for a query, best first, how well the best one fits
    (`Candidates.strength`), and a note for the reader.
    """

    source: str
    query: Query
    ranked: list[RankedPage]
    strength: float
    note: str | None = None


def pooled(found: Sequence[Found]) -> list[tuple[Found, RankedPage]]:
    """Return the pages of several sources as one ranking; those of one source keep their order."""
    pages = []
    for one in found:
        is_named = not one.query.words.isdisjoint(words(one.source))
        strength = one.strength * NAMED_SOURCE if is_named else one.strength
        scores = [*accumulate((page.score for page in one.ranked[:MAX_POOLED]), min)]
        for page, score in zip(one.ranked, scores, strict=False):
            pages.append((one, replace(page, score=strength * score / (scores[0] or 1.0))))
    return sorted(pages, key=lambda entry: -entry[1].score)


SECOND = 0.2
"""Share of a page's room for its second-best passage, where that does not stand around the best one."""

GAP = "\n\n…\n\n"  # between passages that do not follow each other


def shown_of(content: str, hits: Sequence[Hit], query: Query, room: int) -> tuple[int, int, str]:
    """Return what is shown of a page in `room` characters: where it begins and ends, and the text.

    It is the best passage with what stands around it and, after "…", the second-best one.
    `hits` are the passages found, best first.
    """
    best = hits[0]
    parts = [excerpt(content, best.start, best.end, query, room)]
    begin, end, _ = parts[0]
    second = next((hit for hit in hits[1:2] if not begin <= hit.start < end), None)
    if second is not None:
        less = int(SECOND * room)
        parts = [
            excerpt(content, best.start, best.end, query, room - less),
            excerpt(content, second.start, second.end, query, less),
        ]
    parts.sort()
    return parts[0][0], parts[-1][1], GAP.join(text for _, _, text in parts)


_CODE = re.compile(
    r"(?:^[^\n`#|>][^\n]*\n\n?)?^(`{3,}|~{3,})(?![`~]).*?^\1", re.MULTILINE | re.DOTALL
)


def code_in(text: str) -> str:
    r"""Return the fenced code of a text, each block with the line before it; empty where there is
    none.

    >>> code_in("# A\n\nMore.\n\nRun it:\n\n```\nx = 1\n```\n\nDone.")
    'Run it:\n\n```\nx = 1\n```'
    """
    return "\n\n".join(found[0] for found in _CODE.finditer(text))


_FENCE = re.compile(r"^ *(?:`{3}|~{3}).*$", re.MULTILINE)


def excerpt(content: str, start: int, end: int, query: Query, size: int) -> tuple[int, int, str]:
    r"""Return `size` characters around a passage of a content: where they begin and end, and their
    text, code fenced.

    Of a passage that is larger it is what stands around its line with most words of the query.

    >>> from llmsspider.answers.words import parse_query
    >>> excerpt("one\ntwo\nthree four\nfive\nsix\nseven", 0, 33, parse_query("fours"), 18)
    (4, 19, '… two\nthree four …')
    """
    if end - start > size:
        first = last = _best_line(content, start, end, query)
    else:
        first, last = start, end
    begin = max(0, min(first - (size - last + first) // 3, len(content) - size))
    begin = min(first, content.find("\n", begin - 1) + 1) if begin else 0
    stop = begin + size
    if stop < len(content):
        stop = content.rfind("\n", last + 1, stop) + 1 or stop
    text = content[begin:stop].strip("\n").rstrip()
    above = _FENCE.findall(content, *sorted((begin, start)))
    if len(above) % 2:
        text = f"{above[-1] if start < begin else '```'}\n{text}"
    marks = _FENCE.findall(text)
    if len(marks) % 2:
        text = f"{text}\n{marks[-1].strip()[:3]}"
    return begin, stop, ("… " if begin > start else "") + text + (" …" if stop < end else "")


def _best_line(content: str, start: int, end: int, query: Query) -> int:
    """Return where the line of a passage begins that has most words of a query."""
    asked = {word[:4] for word in query.words}
    lines = content[start:end].splitlines(keepends=True)
    begins = accumulate(map(len, lines[:-1]), initial=start)
    found = [len(asked.intersection(word[:4] for word in words(line))) for line in lines]
    return max(zip(found, begins, strict=True), key=lambda pair: pair[0])[1]


# Which source is meant by a name: `name`, or `name@version` where a version of it is a source of
# its own.


def choose_source(wanted: str, known: Sequence[str]) -> str:
    """Return the name of the source for a name with or without version; a missing version is never
    replaced by another.

    Without a version, and for "latest", it is the source of just this name, else its newest
    version, of a range of versions the newest in it. Raises `UnknownSourceError`, whose message
    names what there is.

    >>> choose_source("flask", ["flask@2.3", "flask@3.0"])
    'flask@3.0'
    >>> choose_source("flask@>=2 <3", ["flask@2.3", "flask@3.0"])
    'flask@2.3'
    >>> known = ["flask@2.3", "flask@3.0"]
    >>> [choose_source(f"flask@{one}", known) for one in ("2.X", "~2", "1 - 2", "v3.0", "9.x || 2.x")]
    ['flask@2.3', 'flask@2.3', 'flask@2.3', 'flask@3.0', 'flask@2.3']
    """
    wanted = wanted.strip()
    name, _, version = (part.strip() for part in wanted.partition("@"))
    versions = sorted(
        (one for one in known if one.startswith(f"{name}@")),
        key=lambda one: version_key(one[len(name) + 1 :]),
    )
    plain = [name] if name in known else []
    if wanted in known:
        return wanted
    if version.casefold() in _NEWEST:
        fitting = versions + plain
    else:
        ranges = _ranges(version)
        fitting = [one for one in versions if _is_in(one[len(name) + 1 :], ranges)]
    if fitting:
        return fitting[-1]
    if versions or plain:
        there = ", ".join(versions) or f"{name}, of no named version"
        raise UnknownSourceError(
            f"source {name!r} has no version {version[:50]!r}; there is {there}; a range is written"
            " as '>=5 <6', '5.x' or '^5.1 || 4.2'"
        )
    raise UnknownSourceError(f"source {wanted[:100]!r} is not known; {_meant(name, known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    """Say which sources may be meant by a name that none has."""
    if not known:
        return "nothing has been crawled yet"
    plain = sorted({one.partition("@")[0] for one in known})
    close = difflib.get_close_matches(name.casefold(), plain, n=5, cutoff=0.5)
    near = [one for one in known if name.casefold() in one.casefold()]
    near = near or [one for one in known if one.partition("@")[0] in close]
    return f"did you mean {', '.join(near[:5])}?" if near else f"there are {', '.join(plain[:10])}"


_NEWEST = {"", "*", "x", *DEFAULT_VERSIONS}
_AS_PEP_440 = (
    (r"\s*\|\|\s*", "\n"),
    (r"(?<![\w.])v(?=\d)", ""),
    (r"(?:\.[xX*])+(?![\w.])", ".*"),
    (r"([<>^~]=?\s*\d[\d.]*)\.\*", r"\1"),
    (r"^(\d\S*?)(?:\.\*)?\s+-\s+(\d\S*?)(?:\.\*)?$", r">=\1,<=\2\n>=\1,==\2.*"),
    (r"\^\s*(0\.\d+|\d+)([\w.]*)", r">=\1\2,==\1.*"),
    (r"(?<![\w.])~(?!=)\s*(\d+(?:\.\d+)?)([\w.]*)", r">=\1\2,==\1.*"),
    (r"^=?\s*(\d[\w.]*(?:\.\*)?)$", r"==\1"),
    (r"(?<=[\w*])[ ,]+(?=[<>=!~])", ","),
)
"""Ranges of versions as npm writes them (`^15.1`, `~15.1`, `15.x`, `>=15 <16`, `14 - 15 || 17`), in
lines of what PEP 440 does.
"""


def _ranges(wanted: str) -> list[SpecifierSet]:
    """The ranges of which a version may be in any; none where it is no range."""
    for theirs, ours in _AS_PEP_440:
        wanted = re.sub(theirs, ours, wanted, flags=re.MULTILINE)
    with suppress(ValueError):
        return [SpecifierSet(one) for one in wanted.splitlines() if one]
    return []


def _is_in(version: str, ranges: Sequence[SpecifierSet]) -> bool:
    """Return whether a version is in one of the ranges; False for a name that is none."""
    with suppress(ValueError):
        number = Version(version)
        return any(one.contains(number, prereleases=True) for one in ranges)
    return False
