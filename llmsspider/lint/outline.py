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

_NOTES = re.compile(r"\s*(?:[:\-–—|•·→]|=>)+\s*(?=\S)")


@dataclass(slots=True)
class OutlineLink:
    """A link as it is written. `notes` is what follows it in its list item; `in_list` whether it stands in one."""

    href: str
    title: str
    place: Place
    section: int | None
    in_list: bool
    notes: str = ""
    is_first: bool = False
    """The first link of its list item, which the item is about."""


@dataclass(slots=True)
class OutlineHeading:
    """A heading, and what stands below it up to the next of its level or a higher one."""

    level: int
    text: str
    place: Place
    links: int = 0
    blocks: int = 0
    """Paragraphs, items, code blocks and tables below it."""


@dataclass(slots=True)
class Outline:
    """What stands in an llms.txt, in its order.

    `first` is the place of the first block that is no front matter and its kind; `quotes` are the places of quotations
    before the first section; `after_title` is the kind of the block that follows the H1.
    """

    headings: list[OutlineHeading] = field(default_factory=list)
    links: list[OutlineLink] = field(default_factory=list)
    items_without_link: list[tuple[Place, int | None]] = field(default_factory=list)
    html: list[Place] = field(default_factory=list)
    quotes: list[Place] = field(default_factory=list)
    broken: list[tuple[Place, str]] = field(default_factory=list)
    first: str = ""
    after_title: str = ""


_BLOCKS = frozenset({"Paragraph", "Heading", "CodeBlock", "Table", "HtmlBlock", "BlockQuote", "List"})
_BROKEN = re.compile(r"\[([^\[\]\n]{1,200})\](?:\s\((?=https?://)|\()((?:https?://|/)[^()\n]{1,400})\)")
_COMMENT = re.compile(r"\s*<!--")


def outline(text: str) -> Outline:
    r"""Read a text with `\n` line ends; raises `ConversionError` where the parser fails."""
    return _OutlineReader(commonmark.encodable(text)).read()


class _Places:
    """Turns offsets in UTF-8 into lines and columns."""

    def __init__(self, source: bytes):
        self._source = source
        self._lines = [0, *accumulate(len(line) for line in source.splitlines(keepends=True))]

    def __getitem__(self, offset: int) -> Place:
        line = max(bisect_right(self._lines, offset) - 1, 0)
        return line + 1, len(self._source[self._lines[line] : offset].decode("utf-8", "replace")) + 1


class _OutlineReader:
    def __init__(self, text: str):
        self._source = text.encode()
        self._events = commonmark.events_with_range(text)
        self._places = _Places(self._source)
        self.found = Outline()
        self._depth = 0
        self._section: int | None = None
        self._heading: tuple[int, int, list[str]] | None = None
        self._link: tuple[str, int, list[str]] | None = None
        self._items: list[list[int]] = []
        """Open list items: offset, links in it."""
        self._code = 0
        self._text: list[str] = []

    def read(self) -> Outline:
        for event, span in self._events:
            if isinstance(event, str):
                self._take_text("\n", span["start"])
                continue
            ((kind, value),) = event.items()
            name = value if isinstance(value, str) else next(iter(value))
            if kind == "Start":
                self._start(name, value, span["start"])
            elif kind == "End":
                self._end(name, span["end"])
            elif kind in {"Text", "Code"}:
                self._take_text(value, span["start"], is_code=kind == "Code")
            elif kind == "InlineHtml" and not _COMMENT.match(value):
                self.found.html.append(self._places[span["start"]])
        return self.found

    def _start(self, name: str, value: Any, start: int) -> None:
        if name in _BLOCKS and not self._depth:
            self._block(name, value, start)
        if name in {"BlockQuote", "List", "Item"}:
            self._depth += 1
        if name == "Item":
            self._items.append([start, 0])
        elif name == "Heading":
            self._heading = (int(value["Heading"]["level"][1]), start, [])
        elif name == "Link":
            data = value["Link"]
            href = ("mailto:" if data["link_type"] == "Email" else "") + data["dest_url"]
            self._link = (href, start, [])
        elif name == "CodeBlock":
            self._code += 1
        elif name == "HtmlBlock":
            html = self._source[start : start + 400].decode("utf-8", "ignore")
            if not _COMMENT.match(html):
                self.found.html.append(self._places[start])

    def _block(self, name: str, value: Any, start: int) -> None:
        found = self.found
        comment = name == "HtmlBlock" and _COMMENT.match(
            self._source[start : start + 20].decode("utf-8", "ignore")
        )
        if comment:
            return
        is_title = name == "Heading" and value["Heading"]["level"] == "H1"
        found.first = found.first or ("title" if is_title else name)
        if not is_title and found.headings and not found.after_title:
            found.after_title = name
        if name == "BlockQuote" and self._section is None:
            found.quotes.append(self._places[start])
        if name != "Heading":
            for heading in self._open_headings():
                heading.blocks += 1

    def _open_headings(self) -> list[OutlineHeading]:
        """The last heading, and those above it that it belongs to."""
        level, opened = 7, []
        for heading in reversed(self.found.headings):
            if heading.level < level:
                level = heading.level
                opened.append(heading)
        return opened

    def _end(self, name: str, end: int) -> None:
        if name in {"BlockQuote", "List", "Item"}:
            self._depth -= 1
        if name == "Item":
            start, links = self._items.pop()
            if not links:
                self.found.items_without_link.append((self._places[start], self._section))
            elif self._items:
                self._items[-1][1] += links
        elif name == "Heading" and self._heading is not None:
            level, start, text = self._heading
            self._heading = None
            self.found.headings.append(
                OutlineHeading(level, " ".join("".join(text).split()), self._places[start])
            )
            self._section = len(self.found.headings) - 1 if level > 1 else None
        elif name == "Link" and self._link is not None:
            self._add_link(end)
        elif name == "CodeBlock":
            self._code -= 1

    def _add_link(self, end: int) -> None:
        assert self._link is not None  # noqa: S101  # the caller looked
        href, start, text = self._link
        self._link = None
        item = self._items[-1] if self._items else None
        link = OutlineLink(
            href, " ".join("".join(text).split()), self._places[start], self._section, item is not None
        )
        if item is not None:
            link.is_first = item[1] == 0
            item[1] += 1
            link.notes = self._notes(end)
        self.found.links.append(link)
        for heading in self._open_headings():
            heading.links += 1

    def _notes(self, end: int) -> str:
        """What follows a link on its line, and on the next one where that goes on."""
        rest = self._source[end : end + 2000].decode("utf-8", "ignore")
        line, _, following = rest.partition("\n")
        if (
            not line.strip(" :-–—")
            and following[:1] in {" ", "\t"}
            and not re.match(r"\s*(?:[-*+]|\d+[.)])\s", following)
        ):
            line = f"{line} {following.partition(chr(10))[0]}"
        found = _NOTES.match(line)
        return " ".join((line[found.end() :] if found else line).split())

    def _take_text(self, text: str, start: int, *, is_code: bool = False) -> None:
        if self._code:
            return
        if self._heading is not None:
            self._heading[2].append(text)
        if self._link is not None:
            self._link[2].append(text)
        elif not is_code and ("](" in text or "] (" in text):
            for found in _BROKEN.finditer(text):
                offset = start + len(text[: found.start()].encode())
                self.found.broken.append((self._places[offset], found[0]))
