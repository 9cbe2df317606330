"""What became of addresses of one shape: look-alikes, and shapes that were never a page here. Pure.

Two questions are asked of an address before it is requested. `LookAlikes`: do addresses that differ
in numbers only still bring text of their own? `LearnedShapes`: has one with this query, or in this
directory, ever been a page here?
"""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from llmsspider.web.stats import FetchedReason, Filtered, FilterReason
from llmsspider.web.urls import directory, host, identity

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_GENERATED = frozenset({"_modules", "src-html", "class-use"})
"""Folders that generators make beside those of pages, some of them in each package: what is below
is of one shape.
"""


def query_of(parts: SplitResult) -> str:
    """Return the query of a URL, the parameters of its path (`/a;theme=dark`) before it.

    >>> query_of(urlsplit("https://example.com/a;x=1;y=2?z=3"))
    'x=1&y=2&z=3'
    """
    return "&".join(filter(None, [*parts.path.split(";")[1:], parts.query]))


def shape_of(url: str) -> str | None:
    """Return a URL with its numbers and query values left open, None where it has neither.

    >>> shape_of("https://example.com/v2/list?page=7&sort=up")
    'https://example.com/v#/list?page&sort'
    """
    if (
        "?" not in url
        and ";" not in url
        and not _NUMBER.search(url.partition("://")[2].partition("/")[2])
    ):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = _NUMBER.sub("#", parts.path.partition(";")[0])
    names = sorted({name for name, _ in parse_qsl(query_of(parts), keep_blank_values=True)})
    if path == parts.path and not names:
        return None
    return f"{parts.scheme}://{parts.netloc}{path}" + (f"?{'&'.join(names)}" if names else "")


MAX_LOOK_ALIKES = 200
"""Pages whose URLs differ in numbers only that may bring nothing new."""

MAX_LOOK_ALIKES_FACTOR = 250
"""Look-alikes of one shape are cut at so many times the limit even when each says something new."""


MAX_FACETS = 30
"""Look-alikes of one path, whatever their numbers and parameters, that may say nothing that others
there do not say: facets combine parameters without end, calendars have no last month.
"""

_LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^()?#\s]*+)[^()]*+\)")

MAX_LINES = 50_000
"""Lines of the pages of one path that are remembered."""


@dataclass(slots=True)
class _Facets:
    """What look-alikes of one path brought: the hashes of their lines, how many brought no line of
    their own, and how many more did than did not, by the names of the query.

    Headings, the words of headings and of the address, links among pages with a query, and the
    numbers of lines without other links are not counted.
    """

    lines: set[int] = field(default_factory=set)
    in_vain: int = 0
    gain: Counter[str] = field(default_factory=Counter)

    def learn(self, path: str, names: str, url: str, text: str) -> None:
        lines = text.split("\n")
        headings = " ".join(line for line in lines if line.startswith("#"))
        given = {word.casefold() for word in _WORD.findall(f"{url} {headings}")}
        found = (
            _own_words(line, path, given, keeps_names=not names)
            for line in lines
            if not line.startswith("#")
        )
        own = {hash(line) for line in found if line}
        is_new = not own <= self.lines
        self.gain[names] += 1 if is_new else -1
        self.in_vain += not is_new
        if len(self.lines) < MAX_LINES:
            self.lines |= own


def _own_words(line: str, path: str, given: Collection[str], *, keeps_names: bool) -> str:
    """Return what a line says besides links to pages with this path, of which it keeps the text at
    most; without numbers and the words that are `given` if it has no other links.
    """

    def own(link: re.Match[str]) -> str:
        if not _NUMBER.sub("#", link[2]).endswith(path):
            return link[0]
        return link[1] if keeps_names else ""

    rest = _LINK.sub(own, line)
    if _LINK.search(rest):
        return rest
    return " ".join(word for word in _WORD.findall(rest) if word.casefold() not in given)


@dataclass(slots=True)
class _Shape:
    """What the look-alikes of one shape brought: the hashes of their texts, and how many brought
    nothing new.
    """

    texts: set[int] = field(default_factory=set)
    exact: set[int] = field(default_factory=set)
    repeated: int = 0
    repeated_exactly: int = 0

    def learn(self, text: str) -> None:
        """Count a text; only those that are the same but for their numbers are compared exactly."""
        masked = hash(_NUMBER.sub("#", text))
        if masked not in self.texts:
            self.texts.add(masked)
            return
        exact = hash(text)
        self.repeated += 1
        self.repeated_exactly += exact in self.exact
        self.exact.add(exact)


class LookAlikes:
    """Pages whose URLs differ in numbers or query values only: taken as long as they bring text of
    their own.

    A shape is cut once `limit` of its pages brought nothing new, so how many there may be grows
    with the evidence and does not depend on the order of links. Texts that differ in numbers only
    ("Day 17", "Day 18") are one text, except for pages that a page without numbers in its URL links
    to: such a page is a list somebody wrote, and it ends.

    `limit` 0 is for any number. `stored` returns the texts of the stored pages of a shape, where
    there are `limit` or more of them.
    """

    def __init__(self, limit: int, stored: Callable[[str], Iterable[str]] = lambda _shape: ()):
        self.limit = limit
        self._stored = stored
        self._shapes: dict[str, _Shape] = {}
        self._facets: defaultdict[str, _Facets] = defaultdict(_Facets)

    def admits(self, url: str, *, listed: bool = False) -> bool:
        """Say whether one more page of this shape is worth a request.

        `listed` says that a page without numbers or query in its own URL links to it.

        >>> days = LookAlikes(2)
        >>> for day in (1, 2, 3):
        ...     days.learn(f"https://example.com/cal?d={day}", f"Day {day}")
        >>> days.admits("https://example.com/cal?d=4"), days.admits("https://example.com/cal?d=4", listed=True)
        (False, True)
        """
        seen = self._shape(url)
        if seen is None:
            return True
        if len(seen.texts) + len(seen.exact) >= self.limit * MAX_LOOK_ALIKES_FACTOR:
            return False
        if listed:
            return seen.repeated_exactly < self.limit
        return seen.repeated < self.limit and not self._is_facet(url)

    def learn(self, url: str, text: str) -> None:
        """Note the text that a page which was not stored before answered with."""
        if (seen := self._shape(url)) is not None:
            seen.learn(text)
            self._learn_facet(url, text)

    def _is_facet(self, url: str) -> bool:
        """Say whether a page only combines parameters that brought nothing in such pages."""
        path, mark, names = (shape_of(url) or "").partition("?")
        facets = self._facets.get(path + mark)
        return facets is not None and facets.in_vain >= MAX_FACETS and facets.gain[names] <= 0

    def _learn_facet(self, url: str, text: str) -> None:
        path, mark, names = (shape_of(url) or "").partition("?")
        if text or names:
            self._facets[path + mark].learn(_NUMBER.sub("#", urlsplit(url).path), names, url, text)

    def wasted(self, url: str) -> None:
        """Note that a page which was not stored before brought no text."""
        if (seen := self._shape(url)) is not None:
            seen.repeated += 1
            seen.repeated_exactly += 1
            self._learn_facet(url, "")

    def _shape(self, url: str) -> _Shape | None:
        shape = shape_of(url) if self.limit else None
        if shape is None:
            return None
        if shape not in self._shapes:
            self._shapes[shape] = _Shape()
            for text in self._stored(shape):
                self._shapes[shape].learn(text)
        return self._shapes[shape]


# Shapes that were never a page here.

FEW = {"query": 6, "directory": 12}
"""So many addresses of a shape in a row that brought nothing, and none that was a page, show what
the others are.
"""

SAMPLED = 50
"""One of so many other addresses of such a shape is requested nevertheless, ..."""

LAST_SAMPLE = 5
"""... and at the end of the crawl, before the rest is filtered, one of so many, so many at most."""

LEARNED = "learned: "
"""How the rule begins by which an address is filtered unasked."""

MAX_SHAPES = 20_000
FEW_QUERIES = 3
"""With fewer queries of the same names only those that were seen are known."""

_SAME = "is the same page"
_NONE = "is no page"
WHAT: dict[FetchedReason, str] = {
    "canonical": _SAME,
    "duplicate": _SAME,
    "redirect": "leads to another page",
    "listing": "lists pages that are known",
    "empty": "has no text",
    "soft-404": _NONE,
    "unsupported-type": _NONE,
}
"""What is said of a shape whose addresses were filtered for a reason; other reasons say nothing of
the others.
"""


@dataclass(slots=True)
class _Answers:
    """What addresses of one shape were: documents or not, by reason, and how many in a row brought
    nothing.
    """

    pages: int = 0
    wasted: Counter[FetchedReason] = field(default_factory=Counter)
    row: int = 0
    queries: set[str] = field(default_factory=set)
    asked: int = 0


class LearnedShapes:
    """What became of the addresses of each shape: all queries with the same names, or all pages of
    a directory.

    Once a few (`FEW`) in a row brought nothing and none ever was a page, the rest waits; it is
    filtered at the end of the crawl where samples bear that out. `stored` returns the addresses of
    the stored pages.

    >>> learned = LearnedShapes()
    >>> for name in "abcdef":
    ...     learned.answered(f"https://e.com/{name}?embed=true", "canonical")
    >>> learned.refusal("https://e.com/new?embed=true").rule
    'learned: ?embed=true is the same page (6 of 6)'
    >>> learned.answered("https://e.com/other?embed=true")
    >>> learned.refusal("https://e.com/new?embed=true") is None
    True
    """

    def __init__(self, stored: Callable[[], Iterable[str]] = tuple):
        self._stored = stored
        self.answers: dict[str, _Answers] = {}  # what the addresses of each shape were
        self._asked: set[str] = set()

    def answered(self, url: str, reason: FilterReason | None = None) -> None:
        """Take in what an address was: a document, or filtered for a reason after it was fetched."""
        shape = _open_shape(url)
        of_directory = shape.endswith("*")
        if reason is not None and (reason not in WHAT or (of_directory and reason != "listing")):
            return
        if shape not in self.answers and len(self.answers) >= MAX_SHAPES:
            return
        found = self.answers.setdefault(shape, _Answers())
        if reason is None:
            found.pages += 1
            return
        found.row += 1
        found.wasted[reason] += 1
        if not of_directory and len(found.queries) < FEW_QUERIES:
            found.queries.add(urlsplit(url).query)

    def leads_on(self, url: str) -> None:
        """Take in that a page which is no document led to new ones: others of its shape may, unless
        it is generated.
        """
        shape = _open_shape(url)
        if shape in self.answers and "/**/" not in shape:
            self.answers[shape].row = 0

    def refusal(self, url: str) -> Filtered | None:
        """Return why an address is likely no page, None where it may be one."""
        shape = _open_shape(url)
        query = urlsplit(url).query
        found = self.answers.get(shape)
        if found is None or not self._is_known(shape, found):
            return None
        if query and query not in found.queries and len(found.queries) < FEW_QUERIES:
            return None
        reason, _ = found.wasted.most_common(1)[0]
        return Filtered(reason, LEARNED + self._describe(shape, found))

    def waits(self, url: str) -> bool:
        """Say whether an address is not requested now: it is likely no page, or a few with its
        query are under way.
        """
        if self.refusal(url) is not None:
            return zlib.crc32(identity(url).encode()) % SAMPLED != 0
        shape = _open_shape(url)
        is_folder = shape.endswith("*") and "/**/" not in shape
        if is_folder or shape in self._stored_shapes or len(self.answers) >= MAX_SHAPES:
            return False
        found = self.answers.setdefault(shape, _Answers())
        found.asked += 1
        return not found.pages and found.asked > _few(shape)

    def last_samples(self, urls: Iterable[str]) -> set[str]:
        """Return a few of the addresses that wait and are likely no pages, of each shape once in a
        run.
        """
        shapes: dict[str, list[str]] = {}
        for url in filter(self.refusal, urls):
            if (shape := _open_shape(url)) not in self._asked:
                shapes.setdefault(shape, []).append(url)
        self._asked.update(shapes)
        return {
            url
            for of in shapes.values()
            for url in sorted(of)[:: max(LAST_SAMPLE, -(-len(of) // LAST_SAMPLE))]
        }

    def lines(self) -> Iterator[str]:
        """Yield what was learned, in words."""
        for shape, found in self._known():
            yield LEARNED + self._describe(shape, found)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps: how often what became of each shape, and its queries."""
        return {
            shape: [dict(found.wasted), sorted(found.queries)] for shape, found in self._known()
        }

    def remember(self, before: object) -> None:
        """Take over what an earlier run learned."""
        for shape, value in before.items() if isinstance(before, Mapping) else ():
            match value:
                case [dict(wasted), list(queries)]:
                    counts = Counter(
                        {why: n for why, n in wasted.items() if why in WHAT and isinstance(n, int)}
                    )
                    if counts:
                        self.answers[shape] = _Answers(
                            0, counts, max(FEW.values()), set(map(str, queries))
                        )

    def _known(self) -> Iterator[tuple[str, _Answers]]:
        return (one for one in self.answers.items() if self._is_known(*one))

    def _is_known(self, shape: str, found: _Answers) -> bool:
        return found.row >= _few(shape) and not found.pages and shape not in self._stored_shapes

    @cached_property
    def _stored_shapes(self) -> frozenset[str]:
        return frozenset(map(_open_shape, self._stored()))

    def _describe(self, shape: str, found: _Answers) -> str:
        _, mark, names = shape.partition("?")
        place = f"?{next(iter(found.queries)) if len(found.queries) == 1 else names or '…'}"
        if not mark:
            place = shape[shape.index("/") :]
        reason, number = found.wasted.most_common(1)[0]
        return f"{place} {WHAT[reason]} ({number} of {found.wasted.total()})"


def _few(shape: str) -> int:
    return FEW["directory" if shape.endswith("*") else "query"]


def _open_shape(url: str) -> str:
    """Return the shape of an address: its host and the names of its query, else its directory.

    >>> _open_shape("https://e.com/a/b?y=1&x=2"), _open_shape("https://e.com/tags/3/python/")
    ('e.com?x&y', 'e.com/tags/#/*')
    >>> _open_shape("https://e.com/a/?Class.html"), _open_shape("https://e.com/api/org/class-use/A.html")
    ('e.com?', 'e.com/**/class-use/*')
    """
    if query := urlsplit(url).query:
        names = {
            name
            for name, has_value, _ in (part.partition("=") for part in query.split("&"))
            if has_value
        }
        return f"{host(url)}?{'&'.join(sorted(names))}"
    folder = _NUMBER.sub("#", directory(url.rstrip("/")))
    if made := _GENERATED.intersection(folder.split("/")):
        folder = f"/**/{min(made)}/"
    return f"{host(url)}{folder}*"
