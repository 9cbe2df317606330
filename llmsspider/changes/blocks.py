"""A page as the blocks that a reader sees, each below its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from llmsspider.markdown import commonmark

Kind = Literal["heading", "text", "code", "table", "html"]

_LEAVES: dict[str, Kind] = {
    "Paragraph": "text",
    "Heading": "heading",
    "CodeBlock": "code",
    "Table": "table",
    "HtmlBlock": "html",
}
_CONTINUED = re.compile(r"\n[ \t>]*")
_SPACE = re.compile(r"[ \t]+")


@dataclass(slots=True, frozen=True)
class Block:
    """One block: its text as Markdown on one line (code and tables: lines), and the headings it stands below.

    `info` is the language of a code block; it is empty for others.
    """

    kind: Kind
    text: str
    headings: tuple[str, ...]
    info: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two blocks the same, wherever they stand."""
        return (self.kind, self.info, self.text)

    @property
    def is_whole(self) -> bool:
        """True for a block that is compared by lines, as a whole: code and tables."""
        return self.kind in {"code", "table"}


def blocks(markdown: str) -> list[Block]:
    """Read a Markdown text; raises `ConversionError` where the parser fails."""
    return list(_Reading(markdown).blocks())


class _Reading:
    """The events of one text, on the way to its blocks."""

    def __init__(self, markdown: str):
        text = commonmark.encodable(markdown)
        self._source = text.encode()
        self._events = commonmark.events_with_range(text)
        self._path: list[tuple[int, str]] = []

    def blocks(self) -> Iterator[Block]:
        run: tuple[int, int] | None = None  # inline text that stands in an item without a paragraph
        for event, span in self._events:
            name, value = _name(event)
            if name not in {"Start", "End"} or value not in _BLOCKS:
                run = (run[0] if run else span["start"], span["end"])
                continue
            if run is not None:
                yield from self._block("text", self._text(*run))
                run = None
            if name == "Start" and value in _LEAVES:
                yield from self._leaf(event, value, span)

    def _leaf(self, event: Any, name: str, span: dict[str, int]) -> Iterator[Block]:
        start, end = span["start"], span["end"]
        code: list[str] = []
        begin, stop = end, start  # of what stands inside
        for inner, place in self._events:
            inner_name, value = _name(inner)
            if inner_name == "End" and value == name:
                break
            begin, stop = min(begin, place["start"]), max(stop, place["end"])
            if inner_name == "Text":
                code.append(inner["Text"])
        kind = _LEAVES[name]
        if kind == "code":
            yield from self._block(kind, "".join(code).rstrip("\n"), _language(event))
        elif kind == "table":
            lines = (_SPACE.sub(" ", line).strip(" >") for line in self._raw(start, end).splitlines())
            yield from self._block(kind, "\n".join(line for line in lines if line))
        elif kind == "heading":
            yield from self._heading(int(event["Start"]["Heading"]["level"][1:]), self._text(begin, stop))
        else:
            yield from self._block(kind, self._text(start, end))

    def _heading(self, level: int, text: str) -> Iterator[Block]:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        yield from self._block("heading", text, str(level))
        self._path.append((level, text))

    def _block(self, kind: Kind, text: str, info: str = "") -> Iterator[Block]:
        if text.strip():
            yield Block(kind, text, tuple(heading for _, heading in self._path), info)

    def _raw(self, start: int, end: int) -> str:
        return self._source[start:end].decode("utf-8", "replace")

    def _text(self, start: int, end: int) -> str:
        return _SPACE.sub(" ", _CONTINUED.sub(" ", self._raw(start, end).strip())).strip()


_BLOCKS = frozenset({*_LEAVES, "List", "Item", "BlockQuote", "MetadataBlock", "FootnoteDefinition"})


def _name(event: Any) -> tuple[str, str]:
    """The kind of an event and what it is about: ("Start", "Heading"), ("End", "List"), ("Text", "")."""
    if isinstance(event, str):
        return event, ""
    ((kind, value),) = event.items()
    if kind not in {"Start", "End"}:
        return kind, ""
    return kind, value if isinstance(value, str) else next(iter(value))


def _language(event: Any) -> str:
    value = event["Start"]["CodeBlock"]
    return value["Fenced"].partition(" ")[0] if isinstance(value, dict) else ""
