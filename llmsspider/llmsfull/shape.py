"""Tell Markdown from reStructuredText and HTML by the look of the lines."""

from __future__ import annotations

import re
from typing import Literal

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
        """Look at one line."""
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
        """What the lines seen so far are, for the most part."""
        if self._is_html or self._html > 0.5 * max(self._lines, 1):
            return "html"
        if self._rst >= 5 and self._rst > 2 * self._markdown:
            return "rst"
        return "markdown"
