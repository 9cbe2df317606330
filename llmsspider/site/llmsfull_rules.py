"""The first look at a full-text file, and the rule that explains how it was joined."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from llmsspider.site.llmsfull_marks import (
    HEADING,
    MAX_HEADING_CHARS,
    SEPARATOR,
    FrontMatter,
    Heading,
    Headings,
    Labels,
    Mark,
    Tags,
    Titles,
)
from llmsspider.web.addresses import hostname, registrable_domain, same_site
from llmsspider.web.urls import parse

_MARKED = re.compile(r"[#<=>]|\s*(?:`{3}|~{3}|-{3}|\*{3}|_{3})")
"""How a line begins that is a heading, a tag, a fence, a separator or a banner."""


MAX_EXAMPLE_LINES = 2
"""Number of lines at the top of a fence that name no page, whatever the first one is."""


class FileScan:
    """All marks of a file. Line numbers are 0-based; `lines` and `chars` are totals."""

    def __init__(self, lines: Iterable[str]):
        self.lines = self.chars = self.last_text_line = 0
        self.first_text_line: int | None = None
        self.labels = Labels()
        self.front_matter = FrontMatter()
        self.headings = Headings()
        self.tags = Tags()
        self.titles = Titles()
        in_text = False
        fence = -1  # where the last fence opened
        is_front_matter = False  # it begins with front matter
        for number, line in enumerate(lines):
            self.lines += 1
            self.chars += len(line)
            # what stands at the top of a fence is an example; further down, nobody may have closed
            # it
            if number == fence + 1:
                is_front_matter = line.rstrip() == "---"
            is_near = is_front_matter or number <= fence + MAX_EXAMPLE_LINES
            is_example = self.titles.in_fence and is_near
            if not is_example and (line[0] == "-" or self.front_matter.start is not None):
                self.front_matter.feed(number, line)
            if line[0] == "<" or self.tags.opened is not None:
                self.tags.feed(number, line)
            if line.isspace():
                self.labels.blank()
                continue
            if ":" in line[:40] or _MARKED.match(line):
                in_text = False
                heading = (
                    HEADING.match(line)
                    if line[0] == "#" and len(line) <= MAX_HEADING_CHARS
                    else None
                )
                is_separator = SEPARATOR.match(line) is not None
                if not is_example:
                    self.labels.feed(number, line, heading, in_code=self.titles.in_fence)
                self.headings.feed(number, line, heading)
                was_open = self.titles.in_fence
                self.titles.feed(number, line, heading, is_separator=is_separator)
                fence = number if self.titles.in_fence and not was_open else fence
                if is_separator:
                    continue
            elif not in_text:
                in_text = True  # more of it is nothing new
                self.labels.text()
                self.titles.text()
            if self.first_text_line is None:
                self.first_text_line = number
            self.last_text_line = number
        self.titles.end()


# --- pick the rule that explains how a full-text file was joined ---

_STRONG = frozenset({"heading-path", "banner", "firecrawl"})


class Choice(NamedTuple):
    """A rule by name, and its marks in the order of the file."""

    rule: str
    marks: list[Mark]

    @property
    def score(self) -> int:
        """Number of different pages."""
        return len({mark.url or mark.title for mark in self.marks} - {None, ""})


def choose(scan: FileScan, url: str) -> Choice | None:
    """Return the rule with the most pages; a rule by headings alone comes last."""
    headings = [Choice(rule, marks) for (rule, _), marks in scan.headings.groups.items()]
    matters = scan.front_matter.marks
    strong = [
        *(Choice(f"{name}-tag", marks) for name, marks in scan.tags.groups.items()),
        Choice("front-matter", [mark for mark in matters if mark.url]),
        *_labels(scan, url),
        *(choice for choice in headings if choice.rule in _STRONG),
    ]
    weak = [Choice(rule, _own_site(marks, url)) for rule, marks in headings if rule not in _STRONG]
    for choices in (strong, weak, [Choice("front-matter", matters)]):
        fitting = [
            choice for choice in choices if _fits(choice, scan, strict=choices is not strong)
        ]
        if fitting:
            return max(fitting, key=lambda choice: choice.score)
    return None


def _labels(scan: FileScan, url: str) -> list[Choice]:
    """Turn labelled lines into marks: below a title, before a body, or after one."""
    choices = []
    beside: dict[int, set[int]] = defaultdict(set)
    for marks in scan.labels.groups.values():
        for mark in marks:
            beside[mark.start].update(mark.skip)
    for (form, _), found in scan.labels.groups.items():
        marks = _without_examples(found)
        own = _own_site(marks, url)
        # a page on another site ends the one before it, too
        headed = [mark for mark in marks if mark.level]
        if not own:
            continue
        if len(headed) >= 0.6 * len(marks):
            choices.append(_below_titles(form, headed, beside))
        elif own[-1].skip[-1] >= scan.last_text_line:
            choices.append(_after_bodies(form, own, scan))
        else:
            for mark in own:
                mark.start = min(mark.skip)
            choices.append(Choice(f"{form}-before", own))
    return choices


def _without_examples(marks: list[Mark]) -> list[Mark]:
    """Leave out marks in code that name a page which others name: they show how that is done."""
    outside = {mark.url for mark in marks if not mark.in_code}
    return [mark for mark in marks if not (mark.in_code and mark.url in outside)]


def _below_titles(form: str, headed: list[Mark], beside: Mapping[int, set[int]]) -> Choice:
    """Return pages that begin with a heading of the level that most have, and a label below it."""
    level = Counter(mark.level for mark in headed).most_common(1)[0][0]
    titled = {mark.start: mark for mark in reversed(headed) if mark.level == level}
    for start, mark in titled.items():
        mark.skip = sorted(beside[start])
    return Choice(f"title-{form}", sorted(titled.values(), key=lambda mark: mark.start))


def _after_bodies(form: str, own: list[Mark], scan: FileScan) -> Choice:
    """Return pages that each end with the line that names it."""
    ends = [mark.skip[-1] for mark in own]
    starts = [_first_start(scan.titles.headings, ends), *(end + 1 for end in ends)]
    pages = [
        Mark(start, mark.url, mark.title, mark.skip, end=mark.skip[-1])
        for start, mark in zip(starts, own, strict=False)
    ]
    return Choice(f"{form}-after", pages)


LINES_BETWEEN = 4
"""Maximum number of lines from the end of a page to the heading that the next one begins with."""


def _first_start(headings: list[Heading], ends: list[int]) -> int:
    """Return the line where the first of the pages with these last lines begins.

    That is the heading like those that all others begin with: the last one, where pages have one
    each, or the first one below the title of the file. What stands before it is of no page.
    """
    lines = [heading.line for heading in headings]
    places = [bisect_left(lines, end) for end in ends]
    firsts = [headings[at] for at in places[:-1] if at < len(headings)]
    levels = {first.level for first in firsts}
    is_begun = len(firsts) == len(ends) - 1 and all(
        first.line - end <= LINES_BETWEEN for first, end in zip(firsts, ends, strict=False)
    )
    if len(levels) != 1 or not is_begun:
        return 0
    level = levels.pop()
    before = headings[: places[0]]
    own = [heading.line for heading in before if heading.level == level]
    has_one_each = sum(heading.level == level for heading in headings[places[0] :]) == len(firsts)
    if own and has_one_each:
        return own[-1]
    return own[0] if own and before[0].level < level else 0


def _own_site(marks: list[Mark], url: str) -> list[Mark]:
    """Leave out marks that name another site than most: citations, examples."""
    sites = Counter(_site(mark.url) for mark in marks if mark.url and "://" in mark.url)
    if not sites:
        return marks
    own = _site(url) if url else None
    most = own if own and sites[own] * 2 >= sites.total() else sites.most_common(1)[0][0]
    return [
        mark
        for mark in marks
        if not mark.url or "://" not in mark.url or _site(mark.url) in {most, own}
    ]


def _site(url: str) -> str | None:
    return registrable_domain(url) or hostname(url)


def _fits(choice: Choice, scan: FileScan, *, strict: bool) -> bool:
    """Return whether marks can be the page boundaries of the whole file."""
    marks = choice.marks
    first_text_line = scan.first_text_line or 0
    if choice.score < 2 and not (
        choice.score == 1 and marks[0].start <= first_text_line and not strict
    ):
        return False
    start = marks[0].start
    # before the first page are a title and a summary
    if start - first_text_line > max(150, 0.15 * scan.lines):
        return False
    return not strict or _fits_strictly(choice, scan)


def _fits_strictly(choice: Choice, scan: FileScan) -> bool:
    """Return whether marks that other text may have, too, are spread over the whole file."""
    marks = choice.marks
    start = marks[0].start
    headings = scan.titles.headings
    if sum(heading.line < start for heading in headings) > 2:
        return False
    is_absolute = choice.rule == "heading-url" and all("://" in (mark.url or "") for mark in marks)
    starts = [mark.start for mark in marks]
    is_level = {one.line for one in headings if one.level == marks[0].level} == set(starts)
    longest = max(end - begin for begin, end in pairwise([*starts, scan.lines]))
    return is_absolute or is_level or longest <= 0.7 * scan.lines


# The addresses of pages: as the file names them, or those of the pages listed elsewhere.

_INDEX_NAMES = frozenset({"index", "readme", ""})
_SOURCE_ROOTS = frozenset(
    {"docs", "doc", "documentation", "content", "pages", "src", "main", "master", "site", "website"}
)
_EXTENSION = re.compile(r"\.(?:mdx?|markdown|rst|txt|html?|ipynb|adoc)$", re.IGNORECASE)
_SOURCE_PATH = re.compile(
    r"/(?:content|contents|src|source|_docs)/.*\.(?:mdx?|markdown|rst|ipynb|adoc)$", re.IGNORECASE
)
"""A path of a source tree, which no site publishes: the page is the listed one it ends like, or
none.
"""

_ORDER_PREFIX = re.compile(r"^\d+[-_.]\s*(?=\D)")


def normal_title(text: str) -> str:
    """Return a title reduced to its letters and digits, for comparison.

    >>> normal_title("**What's new?**")
    'what s new'
    """
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


class Locator:
    """Knows the pages listed elsewhere (`titles` maps their URLs to titles) and where the file
    lies.
    """

    def __init__(self, url: str, titles: Mapping[str, str]):
        self._base = url
        self._here = _names(urlsplit(urljoin(url, ".")).path)
        self.urls: list[str] = []
        """Those of the pages that have a title, in the order of the list."""
        self.titles: list[str] = []
        """Their titles as `normal_title` has them."""
        self._titled: dict[str, str | None] = {}
        """The page of each title, None of one that several have."""
        self._by_names: dict[tuple[str, ...], str] = {}
        for known, title in titles.items():
            if not self._is_own(known):
                continue
            self._by_names.setdefault(_names(urlsplit(known).path), known)
            if name := normal_title(title):
                self.titles.append(name)
                self.urls.append(known)
                self._titled[name] = None if name in self._titled else known

    def has_title(self, title: str) -> bool:
        """Say whether a title is listed."""
        return normal_title(title) in self._titled

    def locate(self, address: str | None, title: str | None) -> str | None:
        """Return the URL of a page, without fragment; None where its address is not certain.

        An address on the file's own site is taken as it is. An address elsewhere (a repository, a
        preview host) and a path relative to a source tree give way to the listed page they end
        like, or to the one with that title; a relative path nobody lists counts only where there is
        no list.
        """
        titled = self._titled.get(normal_title(title or ""))
        url = parse(address, self._base) if address else None
        if not address or not isinstance(url, str):
            return titled
        names = _names(urlsplit(url).path)
        likely = self._listed_like(names) or titled
        if address.startswith(("http://", "https://")):
            return url if self._is_own(url) else likely or url
        below = (*self._here, *_names(urlsplit(address).path))
        listed = self._by_names.get(names) or self._by_names.get(below)
        if address.startswith("/"):
            return listed or (likely if _SOURCE_PATH.match(address) else url)
        listed = listed or likely
        if listed or self._by_names or hostname(url) is None:
            return listed
        return re.sub(r"(?:(?<=/)(?:README|readme|index)\.mdx?|\.mdx)$", "", url)

    def _is_own(self, url: str) -> bool:
        return not self._base or same_site(url, self._base)

    def _listed_like(self, names: tuple[str, ...]) -> str | None:
        """Return the listed page whose path, from the file's directory, ends a path.

        A path of one name is too little to go by, except right below the root of a source tree.
        """
        for begin in range(len(names)):
            tail = names[begin:]
            is_enough = len(tail) >= 2 or begin == 0 or names[begin - 1] in _SOURCE_ROOTS
            found = self._by_names.get((*self._here, *tail)) or self._by_names.get(tail)
            if is_enough and found:
                return found
        return None


def _names(path: str) -> tuple[str, ...]:
    """Return the segments of a path as they name a page: no extension, index, order prefix or case."""
    *folders, name = (unquote(segment) for segment in path.strip("/").split("/"))
    segments = [*folders, _EXTENSION.sub("", name)]
    names = [
        _ORDER_PREFIX.sub("", segment).lower()
        for segment in segments
        if segment not in {"", ".", ".."}
    ]
    while names and names[-1] in _INDEX_NAMES:
        names.pop()
    return tuple(names)


# Cut a file that names no addresses at the headings an llms.txt knows as page titles.


MIN_TITLES = 3
MOST_TITLES = 0.8
"""A file that has the titles of an llms.txt in their order, so many and so large a part of them, is
that list written out: other headings belong to its pages.
"""


def titled(headings: list[Heading], locator: Locator) -> list[Mark]:
    """Return a mark for each page of a file that holds all listed pages, from one to the last of
    the list; nothing where that is not sure.
    """
    for level in (1, 2, 3):
        own = [heading for heading in headings if heading.level == level]
        separated = [heading for heading in own if heading.separated or heading is own[0]]
        for candidates in (separated, own):
            if marks := _listed(candidates, locator):
                return marks
    return []


def _listed(headings: list[Heading], locator: Locator) -> list[Mark]:
    """Return marks for the headings that are listed titles, where they are those of a whole list."""
    known = [heading for heading in headings if locator.has_title(heading.title)]
    names = [normal_title(heading.title) for heading in known]
    begin = max(len(locator.urls) - len(names), 0)
    listed = locator.titles[begin:]
    has_others = any(
        not (heading.is_empty or locator.has_title(heading.title)) for heading in headings
    )
    if has_others:
        fits = names == listed and len(names) >= max(MIN_TITLES, MOST_TITLES * len(locator.urls))
    else:
        fits = Counter(names) == Counter(listed) and len(names) > 1
    if not fits:
        return []
    urls: dict[str, list[str]] = defaultdict(list)
    for name, url in zip(reversed(listed), reversed(locator.urls[begin:]), strict=True):
        urls[name].append(url)
    return [
        Mark(heading.line, urls[name].pop(), heading.title, level=heading.level)
        for heading, name in zip(known, names, strict=True)
    ]
