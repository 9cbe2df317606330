"""Lines that name a page: `Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`.

They are looked for on raw text, code included: pages with unbalanced fences would hide those after them.
"""

from __future__ import annotations

import re

from llmsspider.llmsfull.marks import FILES, MAX_MARKS, Mark, clean_title

_LABELS = (
    "page url|page_url|source url|source_url|url source|canonical url|canonical|original url|permalink"
    "|url|source|source file|link|page|path|file|filepath|file path|doc|document"
)
_ADDRESS = rf"https?://[^\s<>]+?|/[^\s<>]*?|\.{{0,2}}[\w@.][\w@./ +-]*?\.{FILES}"
_STRONG = r"(?:\*\*|__|\*|_)?"
_LABEL = re.compile(
    rf"[ \t>*-]{{0,4}}{_STRONG}(?P<label>{_LABELS}){_STRONG}[ \t]*:{_STRONG}[ \t]*"
    rf"(?:[`<]?(?P<url>{_ADDRESS})[`>]?|\[[^\]]*\]\((?P<link>{_ADDRESS})\))[ \t]*[.,]?\s*$",
    re.IGNORECASE,
)
_COMMENT = re.compile(
    rf"\s*<!--+\s*(?P<label>{_LABELS})\s*[:=]\s*[\"'<]?(?P<url>{_ADDRESS})[\"'>]?\s*--+>\s*$", re.IGNORECASE
)
_GENERATED = re.compile(r"(?:content|body|markdown|meta(?:data)?)\s*+:(?:\s*+\{[^\n]*\})?\s*$", re.IGNORECASE)
"""Lines below a mark that head the text (`Content:`) or repeat its front matter (`meta: {"title": …}`)."""

_FIELD = re.compile(r"[*_]{0,2}[A-Z][\w -]{0,30}[*_]{0,2}\s*:[*_]{0,2}(?:\s|$)")
_TITLE_FIELD = re.compile(r"[*_]{0,2}title[*_]{0,2}\s*+:[*_]{0,2}\s*+(\S.*)$", re.IGNORECASE)

MAX_HEADER_LINES = 8
"""Lines of a header, labels among them, that belong to a page; what follows them is looked at by itself."""


class Labels:
    """`Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`, grouped by label and form."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], list[Mark]] = {}
        self._header: list[int] = []
        self._heading: tuple[int, int, str] | None = None
        self._title: str | None = None
        self._blank = 0
        self._last: Mark | None = None
        """The mark that only header lines and blanks have followed so far."""

    def feed(self, number: int, line: str, heading: re.Match[str] | None) -> None:
        """Look at one line; `heading` is its match as an ATX heading."""
        self._blank = 0
        if self._last is not None and _GENERATED.match(line):
            self._last.skip.append(number)
            return
        found = _COMMENT.match(line) if "<!--" in line and len(line) < 3000 else None
        form = "comment" if found else "label"
        if found is None and ":" in line[:40] and len(line) < 3000:
            found = _LABEL.match(line)
        if heading is not None:
            self._heading = (number, len(heading[1]), heading[2] or "")
            self._header = []
            self._title = None
            self._last = None
        elif found is not None:
            self._add(number, form, found)
        elif len(line) < 300 and len(self._header) < MAX_HEADER_LINES and _FIELD.match(line):
            title = _TITLE_FIELD.match(line)
            if title and self._heading is None:
                self._title = title[1].rstrip()
            self._header.append(number)
        else:
            self.text()

    def blank(self) -> None:
        """Note a blank line: a mark may stand below a title, but not far below."""
        self._blank += 1
        if self._blank > 2:
            self.text()

    def text(self) -> None:
        """Note a line of text: what follows does not stand below a title any more."""
        self._header, self._heading, self._title = [], None, None
        self._last = None

    def _add(self, number: int, form: str, found: re.Match[str]) -> None:
        groups = found.groupdict()
        label = " ".join(groups["label"].lower().replace("_", " ").split())
        marks = self.groups.setdefault((form, label), [])
        mark = Mark(number, groups["url"] or groups.get("link"), None, [number])
        if self._heading is not None:
            mark.start, mark.level, text = self._heading
            mark.title, mark.headed = clean_title(text) or None, True
        elif self._header:
            mark.start, mark.title, mark.skip = self._header[0], self._title, [*self._header, number]
        if len(marks) < MAX_MARKS:
            marks.append(mark)
            self._last = mark
        if len(self._header) < MAX_HEADER_LINES:
            self._header.append(number)
