"""reStructuredText as Markdown: headings, code with its language, links, literals, admonitions; the rest as its text.

https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html. It is read line by line: a source of Sphinx holds
directives and roles that only its own build knows.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from llmsspider.content.markdown.commonmark import fence_for, with_line_feeds

CODE = frozenset(
    {"code", "code-block", "sourcecode", "parsed-literal", "highlight-block", "ipython", "doctest"}
)
ADMONITIONS = frozenset(
    [
        "attention",
        "caution",
        "danger",
        "error",
        "hint",
        "important",
        "note",
        "tip",
        "warning",
        "seealso",
        "admonition",
        "deprecated",
        "versionadded",
        "versionchanged",
        "versionremoved",
    ]
)
DROPPED = frozenset(
    [
        "toctree",
        "contents",
        "image",
        "figure",
        "raw",
        "include",
        "index",
        "meta",
        "highlight",
        "currentmodule",
        "module",
        "only",
        "tabularcolumns",
        "automodule",
        "autoclass",
        "autofunction",
        "autosummary",
        "literalinclude",
        "plot",
        "graphviz",
        "inheritance-diagram",
    ]
)
"""Directives whose text is options, or lies in another file."""

_VERSIONED = {
    "deprecated": "Deprecated since",
    "versionadded": "Added in",
    "versionchanged": "Changed in",
    "versionremoved": "Removed in",
}
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*\Z")
_DIRECTIVE = re.compile(r"(\s*)\.\.\s+([\w:.+-]+)::(?:\s+(.*))?\Z")
_TARGET = re.compile(r"\s*\.\.\s+_([^:\n]{1,200}):\s*(\S*)\s*\Z")
_COMMENT = re.compile(r"\s*\.\.(?:\s|\Z)")
_OPTION = re.compile(r"\s*:[\w-]+:")
_ITEM = re.compile(r"(\s*)([-*+•]|#\.|\d{1,9}[.)])\s+")
_LITERAL = re.compile(r"``([^`\n]+)``")
_LINK = re.compile(r"`([^`<>\n]{1,300})<([^<>`\s]{1,1000})>`_{1,2}")
_ROLE = re.compile(r":[a-zA-Z][\w:+.-]{0,40}:`(?:([^`<\n]{1,300})<[^>`\n]{1,300}>|([^`\n]{1,300}))`")
_NAMED = re.compile(r"`([^`\n]{1,200})`_\b|(?<![\w`])([A-Za-z][\w.-]{0,80})_(?![\w_])")


class RstHandler:
    """Converts a reStructuredText file to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown."""
        return markdown_of(body.decode(encoding or "utf-8-sig", "replace"))


def markdown_of(text: str) -> str:
    """Return the Markdown of a text."""
    lines = [line.rstrip().expandtabs(8) for line in with_line_feeds(text).split("\n")]
    return "\n".join(_without_gaps(_RstReader(lines).lines())).strip("\n") + "\n"


def _without_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; consecutive empty lines outside of code become one."""
    in_code, before = "", "x"
    for line in lines:
        mark = line.strip()
        if mark.startswith("```"):
            fence = mark[: len(mark) - len(mark.lstrip("`"))]
            in_code = "" if in_code == mark else (in_code or fence)
        if line or before or in_code:
            yield line
        before = line


class _RstReader:
    def __init__(self, lines: list[str]):
        self._lines = lines
        self._at = 0
        self._levels: list[str] = []
        self._targets = {
            _name(found[1]): found[2] for line in lines if (found := _TARGET.match(line)) and found[2]
        }

    def lines(self) -> Iterator[str]:
        while self._at < len(self._lines):
            heading = self._heading()
            if heading is not None:
                yield from ("", heading, "")
                continue
            line = self._lines[self._at]
            directive = _DIRECTIVE.match(line)
            self._at += 1
            if directive is not None:
                yield from self._directive(directive)
            elif _TARGET.match(line):
                continue
            elif _COMMENT.match(line):
                self._block(_indent(line))
            elif line.rstrip().endswith("::"):
                yield from self._literal(line)
            else:
                yield self._inline(line)

    def _heading(self) -> str | None:
        """Read a section title with its underline, or its overline and underline."""
        lines, at = self._lines, self._at
        over = _UNDERLINE.match(lines[at]) if at + 2 < len(lines) else None
        if over and lines[at + 1].strip() and lines[at + 2].strip() == lines[at].strip():
            self._at += 3
            return self._title(f"={over[1]}", lines[at + 1])
        under = _UNDERLINE.match(lines[at + 1]) if at + 1 < len(lines) else None
        title = lines[at]
        if under is None or not title.strip() or title.startswith((" ", "..")):
            return None
        if _UNDERLINE.match(title) or len(lines[at + 1].strip()) < min(len(title.strip()), 4):
            return None
        if at and self._lines[at - 1].strip() and not self._lines[at - 1].lstrip().startswith(".."):
            return None  # a paragraph, and a line of a table
        self._at += 2
        return self._title(under[1], title)

    def _title(self, style: str, text: str) -> str:
        if style not in self._levels:
            self._levels.append(style)
        return f"{'#' * min(self._levels.index(style) + 1, 6)} {self._inline(text.strip())}"

    def _directive(self, found: re.Match[str]) -> Iterator[str]:
        indent, name, argument = len(found[1]), found[2].lower().rpartition(":")[2], (found[3] or "").strip()
        block = self._block(indent)
        options = 0
        while options < len(block) and _OPTION.match(block[options]):
            options += 1
        body = textwrap.dedent("\n".join(block[options:])).strip("\n")
        if name in CODE:
            language = "" if name == "parsed-literal" else (argument.split()[0] if argument else "")
            yield from _fence(body, found[1], "python" if name == "doctest" else language)
        elif name in DROPPED:
            return
        elif name in ADMONITIONS:
            yield from self._admonition(name, argument, body, found[1])
        else:
            yield (
                f"{found[1]}`{argument}`"
                if argument and name not in {"rubric", "topic", "glossary"}
                else (f"{found[1]}**{argument}**" if argument else "")
            )
            yield ""
            yield from self._nested(body, found[1])

    def _admonition(self, name: str, argument: str, body: str, indent: str) -> Iterator[str]:
        if name in _VERSIONED:
            label, text = f"{_VERSIONED[name]} {argument}".strip(), body
        elif name == "admonition":
            label, text = argument, body
        else:
            label, text = name.capitalize(), f"{argument}\n{body}".strip("\n")
        yield f"{indent}**{self._inline(label)}:**"
        yield ""
        yield from self._nested(text, indent)

    def _nested(self, body: str, indent: str) -> Iterator[str]:
        inner = _RstReader(body.split("\n"))
        inner._levels, inner._targets = self._levels, self._targets
        yield from (f"{indent}{line}" if line else line for line in inner.lines())
        yield ""

    def _literal(self, line: str) -> Iterator[str]:
        """Read a paragraph that ends with `::`, and the literal block below it."""
        text = line.rstrip()[:-2].rstrip()
        if text:
            yield self._inline(text + (":" if line.rstrip()[-3:-2] not in {" ", ""} else ""))
        block = self._block(_indent(line))
        if block:
            yield from _fence(textwrap.dedent("\n".join(block)).strip("\n"), " " * _indent(line), "")

    def _block(self, indent: int) -> list[str]:
        """Consume the lines indented deeper than `indent` columns; return them without empty ones at the end."""
        begin = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                break
            self._at += 1
        while self._at > begin and not self._lines[self._at - 1].strip():
            self._at -= 1
        return self._lines[begin : self._at]

    def _inline(self, line: str) -> str:
        item = _ITEM.match(line)
        if item and item[2] in {"#.", "•"}:
            line = f"{item[1]}{'1.' if item[2] == '#.' else '-'} {line[item.end() :]}"
        if "`" not in line and "_" not in line:
            return line
        line = _LINK.sub(lambda found: f"[{found[1].strip()}]({found[2]})", line)
        line = _ROLE.sub(lambda found: f"`{found[1].strip() if found[1] else found[2].lstrip('~!')}`", line)
        line = _LITERAL.sub(r"`\1`", line)
        return _NAMED.sub(self._reference, line)

    def _reference(self, found: re.Match[str]) -> str:
        name = found[1] or found[2]
        target = self._targets.get(_name(name))
        return f"[{name}]({target})" if target else found[0]


def _name(text: str) -> str:
    return " ".join(text.strip("` ").lower().split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fence(code: str, indent: str, language: str) -> Iterator[str]:
    if not code.strip():
        return
    fence = fence_for(code)
    yield ""
    yield f"{indent}{fence}{language}"
    yield from (f"{indent}{line}" if line else "" for line in code.split("\n"))
    yield f"{indent}{fence}"
    yield ""
