"""Pages of a full-text file found by address, path, or the titles that an llms.txt gives."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from llmsspider.site.llmsfull_marks import MAX_MARKS, Mark, clean_title
from llmsspider.web import url_gate
from llmsspider.web.addresses import hostname, same_site

_INDEX_NAMES = frozenset({"index", "readme", ""})
_SOURCE_ROOTS = frozenset(
    {"docs", "doc", "documentation", "content", "pages", "src", "main", "master", "site", "website"}
)
_EXTENSION = re.compile(r"\.(?:mdx?|markdown|rst|txt|html?|ipynb|adoc)$", re.IGNORECASE)
_SOURCE_PATH = re.compile(
    r"/(?:content|contents|src|source|_docs)/.*\.(?:mdx?|markdown|rst|ipynb|adoc)$", re.IGNORECASE
)
"""A path of a source tree, which no site publishes: the page is the listed one it ends like, or none."""

_ORDER_PREFIX = re.compile(r"^\d+[-_.]\s*(?=\D)")


def normal_title(text: str) -> str:
    """Return a title reduced to its letters and digits, for comparison.

    >>> normal_title("**What's new?**")
    'what s new'
    """
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


class Locator:
    """Knows the pages listed elsewhere (`titles` maps their URLs to titles) and where the file lies."""

    def __init__(self, url: str, titles: Mapping[str, str]):
        self._base = url
        self._here = _names(urlsplit(urljoin(url, ".")).path)
        self.urls: list[str] = []
        """Those of the pages that have a title, in the order of the list."""
        self.position: dict[str, int] = {}
        """Where in the list each of them stands."""
        self._by_title: dict[str, list[int]] = defaultdict(list)
        self._by_names: dict[tuple[str, ...], str] = {}
        for known, title in titles.items():
            if not self._is_own(known):
                continue
            self._by_names.setdefault(_names(urlsplit(known).path), known)
            if normal_title(title):
                self._by_title[normal_title(title)].append(len(self.urls))
                self.position[known] = len(self.urls)
                self.urls.append(known)

    def positions(self, title: str) -> list[int]:
        """Return where in the list a title stands."""
        return self._by_title.get(normal_title(title), [])

    def by_title(self, title: str | None) -> str | None:
        """Return the URL listed under a title, if exactly one is."""
        positions = self.positions(title) if title else []
        return self.urls[positions[0]] if len(positions) == 1 else None

    def locate(self, address: str | None, title: str | None) -> str | None:
        """Return the URL of a page, without fragment; None where its address is not certain.

        An address on the file's own site is taken as it is. An address elsewhere (a repository, a
        preview host) and a path relative to a source tree give way to the listed page they end like,
        or to the one with that title; a relative path nobody lists counts only where there is no list.
        """
        if not address:
            return self.by_title(title)
        url = url_gate.parse(address, self._base)
        if not isinstance(url, str):
            return self.by_title(title)
        if address.startswith(("http://", "https://")):
            return url if self._is_own(url) else self._listed_like(url) or self.by_title(title) or url
        if address.startswith("/"):
            likely = self._listed_like(url) or self.by_title(title) if _SOURCE_PATH.match(address) else url
            return self._listed_at(url, address) or likely
        listed = self._listed_at(url, address) or self._listed_like(url) or self.by_title(title)
        if listed or self._by_names or hostname(url) is None:
            return listed
        return re.sub(r"(?:(?<=/)(?:README|readme|index)\.mdx?|\.mdx)$", "", url)

    def _is_own(self, url: str) -> bool:
        return not self._base or same_site(url, self._base)

    def _listed_at(self, url: str, address: str) -> str | None:
        """Return the listed page at a path, counted from the root or from the file's directory."""
        names = _names(urlsplit(url).path)
        below = (*self._here, *_names(urlsplit(address).path))
        return self._by_names.get(names) or self._by_names.get(below)

    def _listed_like(self, url: str) -> str | None:
        """Return the listed page whose path, from the file's directory, ends the path of `url`.

        A path of one name is too little to go by, except right below the root of a source tree.
        """
        names = _names(urlsplit(url).path)
        for begin in range(len(names)):
            is_root = begin == 0 or names[begin - 1] in _SOURCE_ROOTS
            if len(names) - begin >= 2 or is_root:
                tail = names[begin:]
                found = self._by_names.get((*self._here, *tail)) or self._by_names.get(tail)
                if found:
                    return found
        return None


def _names(path: str) -> tuple[str, ...]:
    """Return the segments of a path as they name a page: no extension, index, order prefix or case."""
    segments = [unquote(segment) for segment in path.strip("/").split("/")]
    if segments:
        segments[-1] = _EXTENSION.sub("", segments[-1])
    names = [_ORDER_PREFIX.sub("", segment).lower() for segment in segments if segment not in {"", ".", ".."}]
    while names and names[-1] in _INDEX_NAMES:
        names.pop()
    return tuple(names)


# Cut a file that names no addresses at the headings an llms.txt knows as page titles.

MAX_LEVEL = 3
"""Headings below this level do not begin pages."""

MIN_SHARE = 0.5
"""At least so much of the headings of the level must be known titles."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


MIN_COVERAGE = 0.8
"""So much of the list in its order, and the file is that list written out."""


MAX_NAMESAKES = 20
"""A title that more pages have says nothing."""


class _Chain(NamedTuple):
    heading: _Heading
    position: int
    before: _Chain | None


@dataclass(slots=True)
class _Heading:
    line: int
    level: int
    title: str
    separated: bool
    is_empty: bool = True


class Titles:
    """Remembers the headings outside code and, for each, whether text follows before the next.

    A fence that another one with a language follows, or that never ends, was not closed by its author:
    the headings behind it count after all.
    """

    def __init__(self) -> None:
        self._headings: list[_Heading] = []
        self._in_fence: list[_Heading] = []
        self._fence: str | None = None
        self._separated = False

    def text(self) -> None:
        """Note a line of text."""
        for headings in (self._in_fence, self._headings):
            if headings:
                headings[-1].is_empty = False
                break
        self._separated = False

    def feed(self, number: int, line: str, heading: re.Match[str] | None, *, is_separator: bool) -> None:
        """Process one line; `heading` is its match as an ATX heading."""
        if line.lstrip()[:3] in {"```", "~~~"}:
            self._toggle(line)
        if heading is not None:
            headings = self._headings if self._fence is None else self._in_fence
            title = clean_title(heading[2] or "")
            if len(headings) < MAX_MARKS:
                headings.append(_Heading(number, len(heading[1]), title, self._separated))
        elif not is_separator:
            self.text()
        self._separated = is_separator

    def end(self) -> None:
        """Note the end of the file."""
        self._headings += self._in_fence
        self._in_fence, self._fence = [], None

    def _toggle(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        if self._fence is None:
            self._fence = found[1]
        elif found[1].startswith(self._fence):
            closes = not found[2].strip()
            self._headings += [] if closes else self._in_fence
            self._in_fence, self._fence = [], None if closes else found[1]

    def lines_at(self, level: int) -> set[int]:
        """Return the lines of the headings of a level."""
        return {heading.line for heading in self._headings if heading.level == level}

    def count_before(self, line: int) -> int:
        """Return how many headings stand above a line."""
        return sum(1 for heading in self._headings if heading.line < line)

    def marks(self, locator: Locator) -> tuple[list[Mark], str]:
        """Return a mark for each page, with the URL where it is certain, and the reason when there are none."""
        levels = [_candidates(self._headings, level, locator) for level in range(1, MAX_LEVEL + 1)]
        headings = max(levels, key=lambda level: len({h.title for h in level if locator.positions(h.title)}))
        in_order = _in_listed_order(headings, locator)
        if len(in_order) >= max(3, MIN_COVERAGE * len(locator.urls)):
            return _sure(in_order, locator)
        marks = _by_unique_title(headings, locator)
        known = sum(1 for mark in marks if mark.url)
        if known < 2:
            return [], "no page boundaries"
        if known < len(marks) * MIN_SHARE:
            return [], f"only {known} of {len(marks)} headings are titles in the llms.txt"
        return _sure(marks, locator)


def _candidates(headings: list[_Heading], level: int, locator: Locator) -> list[_Heading]:
    """Return the headings of a level that can begin a page: where separators mark pages, only those."""
    own = [heading for heading in headings if heading.level == level]
    separated = [heading for heading in own if heading.separated]
    known = {heading.title for heading in own if locator.positions(heading.title)}
    known_separated = {heading.title for heading in separated if heading.title in known}
    if len(known_separated) >= 2 and len(known_separated) >= 0.8 * len(known):
        return [own[0], *separated] if not own[0].separated else separated
    return own


def _in_listed_order(headings: list[_Heading], locator: Locator) -> list[Mark]:
    """Return marks for the longest run of headings that follow the order of the llms.txt.

    A file whose headings name nearly all listed pages in their order is that list written out; other
    headings of the level belong to the pages.
    """
    lengths: list[int] = []
    chains: list[_Chain] = []
    for heading in headings:
        positions = locator.positions(heading.title)
        for index in sorted(positions, reverse=True) if len(positions) <= MAX_NAMESAKES else ():
            place = bisect_left(lengths, index)
            link = _Chain(heading, index, chains[place - 1] if place else None)
            lengths[place : place + 1] = [index]
            chains[place : place + 1] = [link]
    marks: list[Mark] = []
    chain = chains[-1] if chains else None
    while chain is not None:
        found = chain.heading
        marks.append(Mark(found.line, locator.urls[chain.position], found.title, level=found.level))
        chain = chain.before
    return marks[::-1]


def _by_unique_title(headings: list[_Heading], locator: Locator) -> list[Mark]:
    """Return marks for headings, with URLs for titles that stand as often in the file as in the list."""
    counts = Counter(normal_title(heading.title) for heading in headings)
    used: dict[str, int] = defaultdict(int)
    marks = []
    for heading in headings:
        name = normal_title(heading.title)
        listed = locator.positions(heading.title)
        url = locator.urls[listed[used[name]]] if listed and len(listed) == counts[name] else None
        used[name] += 1
        if url is not None or not heading.is_empty:
            marks.append(Mark(heading.line, url, heading.title, level=heading.level))
    return marks


def _sure(marks: list[Mark], locator: Locator) -> tuple[list[Mark], str]:
    """Remove the URL of pages whose end is not certain: those pages are fetched.

    A page may go on behind a heading that nobody lists; and it may hold the pages listed after it that no
    heading names, as those without a heading of their own do.
    """
    located = sorted({locator.position[mark.url] for mark in marks if mark.url})
    unsure = []
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        if mark.url is None:
            continue
        position = locator.position[mark.url]
        end = locator.position[after.url] if after is not None and after.url else position + 2
        first, stop = position + 1, min(max(end, position + 2), len(locator.urls))
        missing = max(stop - first, 0) - (bisect_left(located, stop) - bisect_left(located, first))
        if (after is not None and after.url is None) or missing > 0:
            unsure.append(mark)
    for mark in unsure:
        mark.url = None
    if sum(1 for mark in marks if mark.url) < 2:
        return [], "headings are titles in the llms.txt, but it is not sure where their pages end"
    return marks, ""
