"""The first look at a full-text file, and the rule that explains how it was joined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from llmsspider.site.llmsfull_marks import (
    FIRECRAWL,
    HEADING,
    MAX_HEADING_CHARS,
    MAX_MARKS,
    SEPARATOR,
    FrontMatter,
    Headings,
    Labels,
    Mark,
    Tags,
    clean_title,
)
from llmsspider.site.llmsfull_titles import Titles
from llmsspider.web.addresses import hostname, registrable_domain

Kind = Literal["markdown", "rst", "html"]

_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w:-]+::|_[^:]+:|\|)")
_ROLE = re.compile(r":[a-z+-]{1,40}:`[^`]+`")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_TAG_LINE = re.compile(r"\s*</?[a-z][a-z0-9]*(?:\s[^>]*)?>", re.IGNORECASE)
_MARKDOWN = re.compile(r"#{1,6}\s|```|\s*[-*]\s.*\]\(|[^\]]*+(?:\](?!\(\S)[^\]]*+)*+\]\(")


class Shape:
    """Counts lines that only one markup has."""

    def __init__(self) -> None:
        self._lines = self._rst = self._html = self._markdown = 0
        self._before = ""
        self._is_html = False

    def feed(self, line: str) -> None:
        """Process one line."""
        text = line[:500].rstrip()
        if not text:
            self._before = ""
            return
        if self._lines == 0:
            self._is_html = text.lstrip().lower().startswith(("<!doctype html", "<html"))
        self._lines += 1
        if ".." in text[:12] and _DIRECTIVE.match(text):
            self._rst += 2
        elif (":`" in text and _ROLE.search(text)) or (
            text[0] in '=~^"-#*+' and _UNDERLINE.match(text) and 3 <= len(self._before) <= len(text)
        ):
            self._rst += 1
        elif "<" in text[:20] and _TAG_LINE.match(text):
            self._html += 1
        elif _MARKDOWN.match(text):
            self._markdown += 1
        self._before = text

    @property
    def kind(self) -> Kind:
        """The markup that most lines so far have."""
        if self._is_html or self._html > 0.5 * max(self._lines, 1):
            return "html"
        if self._rst >= 5 and self._rst > 2 * self._markdown:
            return "rst"
        return "markdown"


_MARKED = re.compile(r"[#<=>]|\s*(?:`{3}|~{3}|-{3}|\*{3}|_{3})")
"""How a line begins that is a heading, a tag, a fence, a separator or a banner."""
_NOTABLE = re.compile(rf"-|[^:]{{0,39}}+:|{_MARKED.pattern}")
"""How a line begins that any scanner may take for more than text."""

SHAPE_LINES = 50_000
"""Number of first lines by which the markup of a file is recognised."""


class FileScan:
    """All marks of a file. Line numbers are 0-based; `lines` and `chars` are totals."""

    def __init__(self) -> None:
        self.lines = 0
        self.chars = 0
        self.first_text_line = 0
        self.last_text_line = 0
        self.labels = Labels()
        self.front_matter = FrontMatter()
        self.headings = Headings()
        self.tags = Tags()
        self.firecrawl: list[Mark] = []
        """`<|firecrawl-page-1-lllmstxt|>` lines, each before one page; the heading below is its title."""
        self.titles = Titles()
        self.shape = Shape()
        self._untitled: Mark | None = None
        self._has_text = False
        self._in_text = False
        """Text came last, and no scanner awaits the end of anything: more text and blank lines are nothing new."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> FileScan:
        """FileScan lines."""
        scan, coming = cls(), iter(lines)
        line = next(coming, None)
        while line is not None:
            scan.feed(line)
            line = scan._after_text(coming) if scan._in_text else next(coming, None)
        scan.titles.end()
        return scan

    def _after_text(self, lines: Iterator[str]) -> str | None:
        """Return the next line that may be more than text, or None; count the text and the blank lines before it."""
        number, chars, found = self.lines, 0, None
        for line in lines:
            if _NOTABLE.match(line):
                found = line
                break
            if number < SHAPE_LINES:
                self.shape.feed(line)
            if not line.isspace():
                self.last_text_line = number
            number, chars = number + 1, chars + len(line)
        self.lines, self.chars = number, self.chars + chars
        return found

    def feed(self, line: str) -> None:
        """Pass one line to the scanners that it can matter to."""
        number = self.lines
        self.lines += 1
        self.chars += len(line)
        if number < SHAPE_LINES:
            self.shape.feed(line)
        first = line[0]
        if first == "-" or self.front_matter.start is not None:
            self.front_matter.feed(number, line)
        if first == "<" or self.tags.opened is not None:
            self.tags.feed(number, line)
        if not line.strip():
            self.labels.blank()
            return
        if ":" not in line[:40] and not _MARKED.match(line):
            self.labels.text()
            self.titles.text()
            self._in_text = self.front_matter.start is None and self.tags.opened is None
            is_separator = False
        else:
            self._in_text = False
            is_separator = self._feed_marked(number, line)
        if not is_separator:
            if not self._has_text:
                self.first_text_line, self._has_text = number, True
            self.last_text_line = number

    def _feed_marked(self, number: int, line: str) -> bool:
        """Show a line that may hold a mark; return whether it is a separator."""
        heading = HEADING.match(line) if line[0] == "#" and len(line) <= MAX_HEADING_CHARS else None
        is_separator = SEPARATOR.match(line) is not None
        self.labels.feed(number, line, heading)
        self.headings.feed(number, line, heading)
        self.titles.feed(number, line, heading, is_separator=is_separator)
        if line.startswith("<|") and FIRECRAWL.match(line) and len(self.firecrawl) < MAX_MARKS:
            self._untitled = Mark(number, skip=[number])
            self.firecrawl.append(self._untitled)
        elif heading is not None and self._untitled is not None:
            self._untitled.title, self._untitled = clean_title(heading[2] or ""), None
        return is_separator


# --- pick the rule that explains how a full-text file was joined ---

MAX_PREAMBLE_SHARE = 0.15
MAX_PREAMBLE_LINES = 150
"""What stands before the first page of a generated file is a title and a summary, in lines."""

MAX_PREAMBLE_HEADINGS = 2
"""Above the first of headings that name addresses stand at most so many others."""

MAX_PAGE_SHARE = 0.7
"""Marks that leave more than this to one page are no page boundaries."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule by name, and its marks in the order of the file."""

    rule: str
    marks: list[Mark]

    @property
    def score(self) -> int:
        """Number of different pages."""
        return len({mark.url or mark.title for mark in self.marks if mark.url or mark.title})


def choose(scan: FileScan, url: str) -> Choice | None:
    """Return the rule with the most pages; a rule by headings alone comes last."""
    strong = [
        *(Choice(f"{name}-tag", marks) for name, marks in scan.tags.groups.items()),
        Choice("front-matter", [mark for mark in scan.front_matter.marks if mark.url]),
        *_labels(scan, url),
        *(
            Choice(f"heading-{form}" if form != "banner" else form, marks)
            for (form, _), marks in scan.headings.groups.items()
            if form in {"path", "banner"}
        ),
        Choice("firecrawl", scan.firecrawl),
    ]
    weak = [
        Choice(f"heading-{form}", _own_site(marks, url))
        for (form, _), marks in scan.headings.groups.items()
        if form not in {"path", "banner"}
    ]
    fallback = [Choice("front-matter", [mark for mark in scan.front_matter.marks if mark.title or mark.url])]
    for choices in (strong, weak, fallback):
        fitting = [choice for choice in choices if _fits(choice, scan, strict=choices is not strong)]
        if fitting:
            return max(fitting, key=lambda choice: choice.score)
    return None


def _labels(scan: FileScan, url: str) -> list[Choice]:
    """Turn labelled lines into marks: below a title, before a body, or after one."""
    choices = []
    beside: dict[int, set[int]] = {}
    for marks in scan.labels.groups.values():
        for mark in marks:
            beside.setdefault(mark.start, set()).update(mark.skip)
    for (form, _), marks in scan.labels.groups.items():
        own = _own_site(marks, url)
        if not own:
            continue
        headed = [mark for mark in marks if mark.headed]  # a page on another site ends the one before it, too
        if len(headed) >= 0.6 * len(marks):
            level = Counter(mark.level for mark in headed).most_common(1)[0][0]
            titled = {mark.start: mark for mark in reversed(headed) if mark.level == level}
            for start, mark in titled.items():
                mark.skip = sorted(beside[start])
            choices.append(Choice(f"title-{form}", sorted(titled.values(), key=lambda mark: mark.start)))
        elif own[-1].skip[-1] >= scan.last_text_line:
            starts = [0, *(mark.skip[-1] + 1 for mark in own)]  # each page ends with the line that names it
            ending = [
                Mark(start, mark.url, mark.title, mark.skip, end=mark.skip[-1])
                for start, mark in zip(starts, own, strict=False)
            ]
            choices.append(Choice(f"{form}-after", ending))
        else:
            for mark in own:
                mark.start = min(mark.skip)
            choices.append(Choice(f"{form}-before", own))
    return choices


def _own_site(marks: list[Mark], url: str) -> list[Mark]:
    """Leave out marks that name another site than most: citations, examples."""
    sites = Counter(_site(mark.url) for mark in marks if mark.url and "://" in mark.url)
    if not sites:
        return marks
    own = _site(url) if url else None
    most = own if own and sites[own] * 2 >= sites.total() else sites.most_common(1)[0][0]
    return [mark for mark in marks if not mark.url or "://" not in mark.url or _site(mark.url) in {most, own}]


def _site(url: str) -> str | None:
    return registrable_domain(url) or hostname(url)


def _fits(choice: Choice, scan: FileScan, *, strict: bool) -> bool:
    """Return whether marks can be the page boundaries of the whole file."""
    marks = choice.marks
    if choice.score < 2 and not (choice.score == 1 and marks[0].start <= scan.first_text_line and not strict):
        return False
    preamble = marks[0].start - scan.first_text_line
    if preamble > max(MAX_PREAMBLE_LINES, MAX_PREAMBLE_SHARE * scan.lines):
        return False
    if strict and scan.titles.count_before(marks[0].start) > MAX_PREAMBLE_HEADINGS:
        return False
    if choice.rule == "heading-url" and all("://" in (mark.url or "") for mark in marks):
        return True
    if not strict or scan.titles.lines_at(marks[0].level) == {mark.start for mark in marks}:
        return True
    ends = [*(mark.start for mark in marks[1:]), scan.lines]
    return max(end - mark.start for mark, end in zip(marks, ends, strict=True)) <= MAX_PAGE_SHARE * scan.lines
