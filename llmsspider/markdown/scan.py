"""One pass over a Markdown text: its title, its links, its raw HTML, and where the destinations stand in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llmsspider import commonmark
from llmsspider.markdown.unseen import cuts, is_anchor, is_unseen_block, is_unseen_tag

_TEXT = frozenset({"Text", "Code"})
_BLOCKS = frozenset({"Paragraph", "Heading", "TableCell", "CodeBlock"})
_CONTAINERS = frozenset({"BlockQuote", "List"})
_TARGETS = {"Link": len("["), "Image": len("![")}
_TITLE = {"Heading": "H1"}
_DESTINATION = re.compile(rb"[\s>]*\]\([ \t]*(?:\n[> \t]*)?(<[^<>\n]*>|[^\s<]\S*)")
_DEFINITION = re.compile(rb"\[(?:\\.|[^\]\\])+\]:[ \t]*(?:\n[> \t]*)?(<[^<>\n]*>|\S+)", re.DOTALL)

_COMMENTS = frozenset({"//", "comment"})
"""Labels of definitions that are comments: `[//]: # (note)`."""


@dataclass(slots=True)
class Scan:
    """What stands in a Markdown text.

    `source` is the text in UTF-8; `title` that of the first heading of level 1 that has one and stands in no
    list or quotation; `links` are pairs of text and URL, percent-encoded, in the order of their ends; `html` the
    HTML blocks and tags, as written; `destinations` the spans in `source` of the destinations of links, images
    and definitions, in order; `unseen` the spans of HTML that draws nothing.
    """

    source: bytes
    title: str | None = None
    links: list[tuple[str, str]] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    destinations: list[tuple[int, int]] = field(default_factory=list)
    unseen: list[tuple[int, int]] = field(default_factory=list)

    def rewritten(self, change: Callable[[str], str], *, keep_unseen: bool = False) -> str:
        """Return the text with `change` applied to each destination as it is written (in `<…>` or bare).

        HTML that draws nothing is left out, unless it is to be kept.
        """
        replaced = [(start, end, self._changed(start, end, change)) for start, end in self.destinations]
        if self.unseen and not keep_unseen:
            replaced = sorted([*replaced, *cuts(self.source, self.unseen)])
        pieces: list[bytes] = []
        position = 0
        for start, end, instead in replaced:
            if start >= position:
                pieces += self.source[position:start], instead
                position = end
        return b"".join([*pieces, self.source[position:]]).decode()

    def _changed(self, start: int, end: int, change: Callable[[str], str]) -> bytes:
        return change(self.source[start:end].decode()).encode("utf-8", "replace")


def scan(text: str) -> Scan:
    r"""Scan a Markdown text with `\n` line ends; raises `ConversionError` where the parser itself fails."""
    text = commonmark.encodable(text)
    reading = _Reading(Scan(text.encode()))
    for event, span in commonmark.events_with_range(text):
        reading.take(event, span["start"], span["end"])
    reading.take_definitions(commonmark.definitions(text))
    return reading.found


class _Reading:
    """What was met so far on the way through the events of a text."""

    def __init__(self, found: Scan):
        self.found = found
        self._depth = 0
        self._words: list[str] = []
        self._opened: list[tuple[dict[str, str], int]] = []
        """Links and images that are open: what the parser says of each, and how many words stood before it."""
        self._last = 0
        """Where the event before ended: at the end of a link, its destination follows."""
        self._tag = ("", 0, 0)
        """The inline tag met last, and its span."""

    def take(self, event: Any, start: int, end: int) -> None:
        """Take the next event: `{"Text": "a"}`, `{"Start": "Paragraph"}`, or a bare string such as `"SoftBreak"`."""
        if isinstance(event, str):
            self._words.append(" ")
        else:
            ((kind, value),) = event.items()
            if kind in _TEXT:
                self._words.append(value)
            elif kind == "Start":
                self._start(value, start, end)
                return  # what is inside follows
            elif kind == "End":
                self._end(value, end)
            elif kind == "InlineHtml":
                self._inline_html(value, start, end)
        if self._opened:
            self._last = end

    def _start(self, value: Any, start: int, end: int) -> None:
        name = value if isinstance(value, str) else next(iter(value))
        if name in _TARGETS:
            self._opened.append((value[name], len(self._words)))
            self._last = start + _TARGETS[name]
        elif name in _BLOCKS:
            self._words.clear()
        elif name in _CONTAINERS:
            self._depth += 1
        elif name == "HtmlBlock":
            html = self.found.source[start:end].decode()
            self.found.html.append(html)
            if is_unseen_block(html):
                self.found.unseen.append((start, end))

    def _inline_html(self, tag: str, start: int, end: int) -> None:
        self.found.html.append(tag)
        before, begin, stop = self._tag
        if is_unseen_tag(tag):
            self.found.unseen.append((start, end))
        elif stop == start and is_anchor(before, tag):
            self.found.unseen.append((begin, end))
        self._tag = tag, start, end

    def _end(self, value: Any, end: int) -> None:
        if isinstance(value, str):
            if value in _TARGETS:
                self._end_of_target(value, end)
        elif not _CONTAINERS.isdisjoint(value):
            self._depth -= 1
        elif value == _TITLE and not self._depth and self.found.title is None:
            self.found.title = one_line("".join(self._words)) or None

    def _end_of_target(self, name: str, end: int) -> None:
        data, begin = self._opened.pop()
        kind = data["link_type"]
        if name == "Link" and kind != "Email" and not data["id"].startswith("^"):
            self.found.links.append(
                (one_line("".join(self._words[begin:])), commonmark.encoded(data["dest_url"]))
            )
        if kind == "Inline" and (written := _DESTINATION.match(self.found.source, self._last, end - 1)):
            self.found.destinations.append(written.span(1))

    def take_definitions(self, definitions: dict[str, Any]) -> None:
        """Take the definitions of references, which are no events. One without destination is a comment."""
        for label, definition in definitions.items():
            if label in _COMMENTS or definition["dest"] in {"", "#"}:
                continue
            span = definition["span"]
            written = _DEFINITION.match(self.found.source, span["start"], span["end"])
            if written and not label.startswith("^"):
                self.found.destinations.append(written.span(1))
        self.found.destinations.sort()


def one_line(text: str) -> str:
    """Return the text with every run of white space as one blank."""
    return " ".join(text.split())
