"""AsciiDoc as Markdown: headings, code with its language, links, lists, admonitions; the rest as its text.

https://docs.asciidoctor.org/asciidoc/latest/. It is read line by line; includes are not
resolved: their files are not part of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmsspider.content.markdown.commonmark import fence_for, with_line_feeds

_HEADING = re.compile(r"(={1,6})\s+(\S.*)")
_ATTRIBUTE = re.compile(r":!?([\w-]{1,80})!?:(?:\s+(.*))?\Z")
_BLOCK = re.compile(r"\[([^\[\]\n]{0,300})\]\Z")
_FENCES = {"----": "----", "....": "....", "```": "```"}
_WRAPS = ("====", "****", "--", "____")
_DROPPED = re.compile(r"(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::")
_TITLE = re.compile(r"\.(?!\.|\s)(\S.*)")
_ITEM = re.compile(r"(\*{1,6}|\.{1,6}|-)\s+(\S.*)")
_DEFINITION = re.compile(r"(\S[^:\n]{0,200}?):{2,4}(?:\s+(.*))?\Z")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(.*)")
_LINK = re.compile(
    r"(?<![^\s(])(?:link:([^\s\[\]()]{1,1000})|((?:https?://|mailto:)[^\s\[\]()]{1,1000}))\[([^\[\]\n]{0,300})\]"
)
_XREF = re.compile(
    r"(?<![^\s(])xref:([^\s\[\]()]{1,300})\[([^\[\]\n]{0,300})\]|<<([^,<>\n]{1,200})(?:,([^<>\n]{1,200}))?>>"
)
_MONO = re.compile(r"(?<![\w`])`\+?([^`+\n]{1,300})\+?`(?![\w`])")
_REFERENCE = re.compile(r"\{([\w-]{1,80})\}")


class AsciiDocHandler:
    """Converts an AsciiDoc file to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown."""
        return markdown_of(body.decode(encoding or "utf-8-sig", "replace"))


def markdown_of(text: str) -> str:
    """Return the Markdown of a text."""
    lines = [line.rstrip() for line in with_line_feeds(text).split("\n")]
    return "\n".join(_AsciiDocReader(lines).lines()).strip("\n") + "\n"


class _AsciiDocReader:
    def __init__(self, lines: list[str]):
        self._lines = lines
        self._attributes: dict[str, str] = {}
        self._language = ""
        """The language of the block that follows."""
        self._admonition = ""

    def lines(self) -> Iterator[str]:
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            at += 1
            fence = next((mark for mark in _FENCES if line.startswith(mark)), None)
            if fence is not None and not line.strip(fence[0]).strip(
                "abcdefghijklmnopqrstuvwxyz0123456789+-#,"
            ):
                if fence == "```":
                    self._language = line[3:].split(",")[0].strip()
                end = self._end(at, line[: len(line) - len(line.lstrip(fence[0]))])
                yield from self._code(self._lines[at:end])
                at = end + 1
            elif line.startswith("////"):
                at = self._end(at, "////") + 1
            else:
                yield from self._line(line)

    def _end(self, at: int, mark: str) -> int:
        while at < len(self._lines) and self._lines[at] != mark:
            at += 1
        return at

    def _code(self, code: list[str]) -> Iterator[str]:
        fence = fence_for("\n".join(code))
        yield from (f"{fence}{self._language}", *code, fence)
        self._language = ""

    def _line(self, line: str) -> Iterator[str]:
        attribute = _ATTRIBUTE.match(line)
        block = _BLOCK.match(line)
        if attribute is not None:
            self._attributes[attribute[1]] = attribute[2] or ""
        elif block is not None:
            self._open(block[1])
        elif (
            (_DROPPED.match(line) and line.endswith("]"))
            or line.startswith("//")
            or line == "+"
            or line in _WRAPS
            or line == "'''"
        ):
            return
        elif self._admonition and line:
            yield f"**{self._admonition}:** {self._inline(line)}"
            self._admonition = ""
        else:
            yield self._text(line)

    def _open(self, said: str) -> None:
        """Read the attribute line above a block: `[source,python]`, `[NOTE]`."""
        parts = [part.strip() for part in said.split(",")]
        style = parts[0].partition("%")[0].partition("#")[0]
        if style in {"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"}:
            self._admonition = style.capitalize()
        elif style in {"source", ""} and len(parts) > 1 and "=" not in parts[1]:
            self._language = parts[1]
        elif style == "source":
            self._language = self._attributes.get("source-language", "")

    def _text(self, line: str) -> str:
        heading = _HEADING.match(line)
        if heading is not None:
            return f"{'#' * len(heading[1])} {self._inline(heading[2])}"
        admonition = _ADMONITION.match(line)
        if admonition is not None:
            return f"**{admonition[1].capitalize()}:** {self._inline(admonition[2])}"
        item = _ITEM.match(line)
        if item is not None:
            mark = "1." if item[1][0] == "." else "-"
            return f"{'   ' * (len(item[1]) - 1)}{mark} {self._inline(item[2])}"
        title = _TITLE.match(line)
        if title is not None:
            return f"**{self._inline(title[1])}**\n"
        definition = _DEFINITION.match(line)
        if definition is not None:
            return f"- **{self._inline(definition[1])}**{': ' + self._inline(definition[2]) if definition[2] else ''}"
        return self._inline(line)

    def _inline(self, text: str) -> str:
        text = _REFERENCE.sub(lambda found: self._attributes.get(found[1], found[0]), text)
        text = _MONO.sub(r"`\1`", text)
        text = _LINK.sub(lambda found: f"[{found[3] or found[1] or found[2]}]({found[1] or found[2]})", text)
        return _XREF.sub(_reference, text)


def _reference(found: re.Match[str]) -> str:
    if found[1]:
        path, _, fragment = found[1].partition("#")
        return f"[{found[2] or found[1]}]({path}{'#' + fragment if fragment else ''})"
    return (found[4] or "").lstrip() or found[3]
