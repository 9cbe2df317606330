"""An llms.txt with the place of everything: headings, quotations, list items, links, raw HTML."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from llmsspider.content.markdown import commonmark

Place = tuple[int, int]
"""Line and column, from 1; columns count characters."""

_BLOCKS = frozenset({"Paragraph", "Heading", "CodeBlock", "Table", "HtmlBlock", "BlockQuote", "List"})
_CONTAINERS = frozenset({"BlockQuote", "List", "Item"})
_BROKEN = re.compile(r"\[([^\[\]\n]{1,200})\](?:\s\((?=https?://)|\()((?:https?://|/)[^()\n]{1,400})\)")
_COMMENT = re.compile(r"\s*<!--")
_NOTES = re.compile(r"\s*(?:[:\-–—|•·→]|=>)+\s*(?=\S)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
NOTES_BYTES = 2000
"""Bytes after a link that are read for its notes."""


@dataclass(slots=True)
class Link:
    """A link as it is written. `notes` is what follows it in its list item; `section` the index of its heading."""

    href: str
    title: str
    place: Place
    section: int | None
    in_list: bool
    is_first: bool = False
    """It is the first link of its list item, which the item is about."""
    notes: str = ""


@dataclass(slots=True)
class Heading:
    """A heading, and the numbers of links and of blocks below it up to the next of its level or a higher one."""

    level: int
    text: str
    place: Place
    links: int = 0
    blocks: int = 0
    has_children: bool = False


@dataclass(slots=True)
class Places:
    """Turns offsets in UTF-8 into lines and columns; the cost is that of the distance from the last one."""

    source: bytes
    _lines: list[int] = field(init=False)
    _last: tuple[int, int] = (0, 1)
    """An offset and its column."""

    def __post_init__(self) -> None:
        self._lines = [0, *accumulate(len(line) for line in self.source.splitlines(keepends=True))]

    def __getitem__(self, offset: int) -> Place:
        line = max(bisect_right(self._lines, offset) - 1, 0)
        begin, column = self._last if self._lines[line] <= self._last[0] <= offset else (self._lines[line], 1)
        self._last = offset, column + len(self.source[begin:offset].decode("utf-8", "replace"))
        return line + 1, self._last[1]


class Outline:
    r"""What stands in an llms.txt with `\n` line ends, in its order.

    `first` is the kind of the first block that is no front matter, `after_title` of the one that follows the H1;
    `quotes` are the places of quotations before the first section.

    Raises:
        ConversionError: the parser failed.
    """

    def __init__(self, text: str):
        text = commonmark.encodable(text)
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.items_without_link: list[tuple[Place, int | None]] = []
        self.html: list[Place] = []
        self.quotes: list[Place] = []
        self.broken: list[tuple[Place, str]] = []
        self.first = self.after_title = ""
        self._source = text.encode()
        self._places = Places(self._source)
        self._depth = self._code = 0
        self._section: int | None = None
        self._above: list[Heading] = []
        """The last heading, and those that it belongs to."""
        self._heading: tuple[int, int, list[str]] | None = None
        """The heading that is being read: level, offset, text."""
        self._link: tuple[str, int, list[str]] | None = None
        """The link that is being read: URL, offset, text."""
        self._items: list[list[int]] = []
        """Open list items: offset, links in it."""
        for event, span in commonmark.events_with_range(text):
            if isinstance(event, str):
                self._text("\n", span["start"])
                continue
            ((kind, value),) = event.items()
            name = value if isinstance(value, str) else next(iter(value))
            if kind == "Start":
                self._start(name, value, span["start"])
            elif kind == "End":
                self._end(name, span["end"])
            elif kind in {"Text", "Code"}:
                self._text(value, span["start"], is_code=kind == "Code")
            elif kind == "InlineHtml" and not _COMMENT.match(value):
                self.html.append(self._places[span["start"]])

    def _start(self, name: str, value: Any, start: int) -> None:
        if name == "HtmlBlock":
            if _COMMENT.match(self._source[start : start + 400].decode("utf-8", "ignore")):
                return
            self.html.append(self._places[start])
        if name in _BLOCKS and not self._depth:
            self._block(name, value, start)
        if name in _CONTAINERS:
            self._depth += 1
        if name == "Item":
            self._items.append([start, 0])
        elif name == "Heading":
            self._heading = (int(value["Heading"]["level"][1]), start, [])
        elif name == "Link":
            data = value["Link"]
            self._link = (("mailto:" if data["link_type"] == "Email" else "") + data["dest_url"], start, [])
        elif name == "CodeBlock":
            self._code += 1

    def _block(self, name: str, value: Any, start: int) -> None:
        is_title = name == "Heading" and value["Heading"]["level"] == "H1"
        self.first = self.first or ("title" if is_title else name)
        if not is_title and self.headings and not self.after_title:
            self.after_title = name
        if name == "BlockQuote" and self._section is None:
            self.quotes.append(self._places[start])
        if name != "Heading":
            for heading in self._above:
                heading.blocks += 1

    def _end(self, name: str, end: int) -> None:
        if name in _CONTAINERS:
            self._depth -= 1
        if name == "Item":
            start, links = self._items.pop()
            if not links:
                self.items_without_link.append((self._places[start], self._section))
            elif self._items:
                self._items[-1][1] += links
        elif name == "Heading" and self._heading is not None:
            level, start, text = self._heading
            self._heading = None
            if self.headings:
                self.headings[-1].has_children = level > self.headings[-1].level
            self.headings.append(Heading(level, _spaced(text), self._places[start]))
            self._above = [*(one for one in self._above if one.level < level), self.headings[-1]]
            self._section = len(self.headings) - 1 if level > 1 else None
        elif name == "Link" and self._link is not None:
            self._add_link(*self._link, end)
            self._link = None
        elif name == "CodeBlock":
            self._code -= 1

    def _add_link(self, href: str, start: int, text: list[str], end: int) -> None:
        link = Link(href, _spaced(text), self._places[start], self._section, bool(self._items))
        if self._items:
            link.is_first = self._items[-1][1] == 0
            self._items[-1][1] += 1
            link.notes = self._notes(end)
        self.links.append(link)
        for heading in self._above:
            heading.links += 1

    def _notes(self, end: int) -> str:
        """What follows a link on its line, and on the next one where that goes on."""
        rest = self._source[end : end + NOTES_BYTES].decode("utf-8", "ignore")
        line, _, following = rest.partition("\n")
        goes_on = following[:1] in {" ", "\t"} and not _LIST_ITEM.match(following)
        if goes_on and not line.strip(" :-–—"):
            line = f"{line} {following.partition(chr(10))[0]}"
        found = _NOTES.match(line)
        return " ".join((line[found.end() :] if found else line).split())

    def _text(self, text: str, start: int, *, is_code: bool = False) -> None:
        if self._code:
            return
        if self._heading is not None:
            self._heading[2].append(text)
        if self._link is not None:
            self._link[2].append(text)
        elif not is_code and ("](" in text or "] (" in text):
            read = 0
            for found in _BROKEN.finditer(text):
                start += len(text[read : found.start()].encode())
                read = found.start()
                self.broken.append((self._places[start], found[0]))


def _spaced(parts: list[str]) -> str:
    return " ".join("".join(parts).split())
