"""Headings and lines that stand for a page: a file, an address, a firecrawl mark."""

from __future__ import annotations

import re

from llmsspider.llmsfull.marks import FILES, MAX_MARKS, Mark, clean_title

_FIRECRAWL = re.compile(r"\s*<\|firecrawl-page-\d+-l+mstxt\|>\s*$")
_BANNER = re.compile(
    r"\s*(?:=+>|={3,}|-{3,}|#{3,}|>{3,})\s*(?:file\s*:\s*)?(\S[^<>=]*?\.\w{2,8})\s*(?:<=+|={3,}|-{3,}|#{3,}|<{3,})\s*$",
    re.IGNORECASE,
)
_DOC_PATH = re.compile(rf"`?(?:file\s*:\s*)?(\.{{0,2}}/?[\w@.-][\w@./ +-]*\.{FILES})`?$", re.IGNORECASE)
_ROOT_PATH = re.compile(r"(/[\w@.~%+-]+(?:/[\w@.~%+-]*)*)$")
_HEADING_URL = re.compile(r"<?(https?://[^\s<>]+?)>?$")
_HEADING_LINK = re.compile(
    r"(?:[^\[\]]{0,60}:\s*)?\[([^\[\]]+)\]\(((?:https?://|/|\./)[^\s()]+(?:\([^\s()]*\))?)\)$"
)
_HEADING_SUFFIX = re.compile(r"(.+?)\s+[(\[<]((?:https?:/)?/[^\s()<>\[\]]*)[)\]>]$")


class Headings:
    """Headings that are a file, an address, or a title with one; grouped by level and form."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, int], list[Mark]] = {}

    def feed(self, number: int, line: str, heading: re.Match[str] | None) -> None:
        """Look at one line."""
        if heading is None:
            banner = _BANNER.match(line) if line[:1] in "=-#> " and len(line) < 400 else None
            if banner and _DOC_PATH.match(banner[1]):
                self._add("banner", 0, Mark(number, banner[1], None, [number]))
            return
        text = heading[2] or ""
        level = len(heading[1])
        if len(text) > 1000:
            return
        if found := _DOC_PATH.match(text):
            self._add("path", level, Mark(number, found[1], None, [number], level=level))
        elif found := _HEADING_URL.match(text) or _ROOT_PATH.match(text):
            self._add("url", level, Mark(number, found[1], None, [number], level=level))
        elif found := _HEADING_LINK.match(text):
            self._add("link", level, Mark(number, found[2], clean_title(found[1]), level=level))
        elif found := _HEADING_SUFFIX.match(text):
            title = clean_title(found[1])
            lead = f"{heading[1]} {found[1]}\n"
            self._add("suffix", level, Mark(number, found[2], title, [number], lead, level=level))

    def _add(self, form: str, level: int, mark: Mark) -> None:
        marks = self.groups.setdefault((form, level), [])
        if len(marks) < MAX_MARKS:
            marks.append(mark)


class Firecrawl:
    """`<|firecrawl-page-1-lllmstxt|>` lines, each before one page."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def feed(self, number: int, line: str) -> bool:
        """Look at one line; return whether it is a mark."""
        if not line.startswith("<|") or not _FIRECRAWL.match(line) or len(self.marks) >= MAX_MARKS:
            return False
        self.marks.append(Mark(number, skip=[number]))
        return True
