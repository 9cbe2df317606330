"""The first look at a full-text file: every line once, for every rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llmsspider.llmsfull.blocks import FrontMatter, Tags
from llmsspider.llmsfull.headings import Firecrawl, Headings
from llmsspider.llmsfull.labels import Labels
from llmsspider.llmsfull.marks import HEADING, MAX_HEADING_CHARS, SEPARATOR, clean_title
from llmsspider.llmsfull.shape import Shape
from llmsspider.llmsfull.titles import Titles

_MARKED = re.compile(r"[#<=>]|\s*(?:`{3}|~{3}|-{3}|\*{3}|_{3})")
"""How a line begins that is a heading, a tag, a fence, a separator or a banner."""

SHAPE_LINES = 50_000
"""The markup of a file is told by so many of its first lines."""


class Scan:
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
        self.firecrawl = Firecrawl()
        self.titles = Titles()
        self.shape = Shape()
        self.heading_after: dict[int, str] = {}
        self._awaits_heading: int | None = None
        self._has_text = False

    @classmethod
    def of(cls, lines: Iterable[str]) -> Scan:
        """Scan lines."""
        scan = cls()
        for line in lines:
            scan.feed(line)
        scan.titles.end()
        return scan

    def feed(self, line: str) -> None:
        """Show one line to the scanners it can matter to; plain prose, most of a file, goes fast."""
        number = self.lines
        self.lines += 1
        self.chars += len(line)
        first = line[0]
        if first == "-" or self.front_matter.is_open:
            self.front_matter.feed(number, line)
        if first == "<" or self.tags.is_open:
            self.tags.feed(number, line)
        if number < SHAPE_LINES:
            self.shape.feed(line)
        if not line.strip():
            self.labels.blank()
            return
        if ":" not in line[:40] and not _MARKED.match(line):
            self.labels.text()
            self.titles.text()
            is_separator = False
        else:
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
        if self.firecrawl.feed(number, line):
            self._awaits_heading = number
        elif heading is not None and self._awaits_heading is not None:
            self.heading_after[self._awaits_heading] = clean_title(heading[2] or "")
            self._awaits_heading = None
        return is_separator
