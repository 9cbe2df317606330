"""reStructuredText and AsciiDoc as Markdown: headings, code with its language, links, admonitions;
the rest as text.

https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html, https://docs.asciidoctor.org/asciidoc/latest/. Both
are read line by line: a source holds directives and roles that only its own build knows, and
includes other files.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import takewhile

from llmsspider.content.markdown.commonmark import code_block, fence_for, with_line_feeds


class RstHandler:
    """Converts a reStructuredText file to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown."""
        lines = [line.expandtabs(8) for line in _lines(body, encoding)]
        targets = {
            _name(found[1]): found[2]
            for line in lines
            if (found := _TARGET.match(line)) and found[2]
        }
        return "\n".join(_without_gaps(_RstReader(lines, [], targets).lines())).strip("\n") + "\n"


class AsciiDocHandler:
    """Converts an AsciiDoc file to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown."""
        return "\n".join(_AsciiDocReader().lines(_lines(body, encoding))).strip("\n") + "\n"


def _lines(body: bytes, encoding: str | None) -> list[str]:
    text = body.decode(encoding or "utf-8-sig", "replace")
    return [line.rstrip() for line in with_line_feeds(text).split("\n")]


# reStructuredText.

_CODE = re.compile("code|code-block|sourcecode|parsed-literal|highlight-block|ipython|doctest")
_ADMONITIONS = re.compile("attention|caution|danger|error|hint|important|note|tip|warning|seealso")
_VERSIONED = {"deprecated": "Deprecated since", "versionadded": "Added in", "versionchanged": "Changed in",
              "versionremoved": "Removed in"}  # fmt: skip
_DROPPED = re.compile(
    "toctree|contents|image|figure|raw|include|index|meta|highlight|currentmodule|module|only|tabularcolumns|plot|"
    "automodule|autoclass|autofunction|autosummary|literalinclude|graphviz|inheritance-diagram"
)
"""Directives whose text is options, or lies in another file."""
_NAMELESS = frozenset({"rubric", "topic", "glossary"})
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*\Z")
_DIRECTIVE = re.compile(r"(\s*)\.\.\s+([\w:.+-]+)::(?:\s+(.*))?\Z")
_TARGET = re.compile(r"\s*\.\.\s+_([^:\n]{1,200}):\s*(\S*)\s*\Z")
_COMMENT = re.compile(r"\s*\.\.(?:\s|\Z)")
_OPTION = re.compile(r"\s*:[\w-]+:")
_ITEM = re.compile(r"(\s*)(#\.|•)\s+")
_LITERAL = re.compile(r"``([^`\n]+)``")
_LINK = re.compile(r"`([^`<>\n]{1,300})<([^<>`\s]{1,1000})>`_{1,2}")
_ROLE = re.compile(
    r":[a-zA-Z][\w:+.-]{0,40}:`(?:([^`<\n]{1,300})<[^>`\n]{1,300}>|([^`\n]{1,300}))`"
)
_NAMED = re.compile(r"`([^`\n]{1,200})`_\b|(?<![\w`])([A-Za-z][\w.-]{0,80})_(?![\w_])")


def _without_gaps(lines: Iterable[str]) -> Iterator[str]:
    in_code = ""
    before = "x"
    for line in lines:
        mark = line.strip()
        if mark.startswith("```"):
            fence = mark[: len(mark) - len(mark.lstrip("`"))]
            in_code = "" if in_code == mark else (in_code or fence)
        if line or before or in_code:
            yield line
        before = line


class _RstReader:
    """Reads lines; `levels` are the styles of headings met so far, `targets` the URLs of named
    links.
    """

    def __init__(self, lines: list[str], levels: list[str], targets: dict[str, str]):
        self._source = lines
        self._at = 0
        self._levels = levels
        self._targets = targets

    def lines(self) -> Iterator[str]:
        while self._at < len(self._source):
            if (heading := self._heading()) is not None:
                yield from ("", heading, "")
                continue
            line = self._source[self._at]
            self._at += 1
            if directive := _DIRECTIVE.match(line):
                yield from self._directive(directive)
            elif _TARGET.match(line):
                continue
            elif _COMMENT.match(line):
                self._block(_indent(line))
            elif line.endswith("::"):
                yield from self._literal(line)
            else:
                yield self._inline(line)

    def _heading(self) -> str | None:
        lines = self._source
        at = self._at
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
        if at and lines[at - 1].strip() and not lines[at - 1].lstrip().startswith(".."):
            return None  # a paragraph, and a line of a table
        self._at += 2
        return self._title(under[1], title)

    def _title(self, style: str, text: str) -> str:
        if style not in self._levels:
            self._levels.append(style)
        return f"{'#' * min(self._levels.index(style) + 1, 6)} {self._inline(text.strip())}"

    def _directive(self, found: re.Match[str]) -> Iterator[str]:
        indent = found[1]
        name = found[2].lower().rpartition(":")[2]
        argument = (found[3] or "").strip()
        block = self._block(len(indent))
        while block and _OPTION.match(block[0]):
            del block[0]
        body = textwrap.dedent("\n".join(block)).strip("\n")
        if _CODE.fullmatch(name):
            language = "" if name == "parsed-literal" else (argument.split() or [""])[0]
            yield from _fenced(body, indent, "python" if name == "doctest" else language)
            return
        if _DROPPED.fullmatch(name):
            return
        mark = "**" if name in _NAMELESS else "`"
        head = f"{mark}{argument}{mark}" if argument else ""
        if name in _VERSIONED:
            head = f"**{self._inline(f'{_VERSIONED[name]} {argument}'.strip())}:**"
        elif _ADMONITIONS.fullmatch(name):
            head = f"**{name.capitalize()}:**"
            body = f"{argument}\n{body}".strip("\n")
        elif name == "admonition":
            head = f"**{self._inline(argument)}:**"
        yield f"{indent}{head}" if head else ""
        yield ""
        inner = _RstReader(body.split("\n"), self._levels, self._targets)
        yield from (f"{indent}{line}" if line else line for line in inner.lines())
        yield ""

    def _literal(self, line: str) -> Iterator[str]:
        if text := line[:-2].rstrip():
            yield self._inline(text + (":" if line[-3] != " " else ""))
        indent = _indent(line)
        yield from _fenced(
            textwrap.dedent("\n".join(self._block(indent))).strip("\n"), " " * indent, ""
        )

    def _block(self, indent: int) -> list[str]:
        """Consume the lines indented deeper than `indent` columns; return them without empty ones
        at the end.
        """
        begin = end = self._at
        for at in range(begin, len(self._source)):
            line = self._source[at]
            if line.strip() and _indent(line) <= indent:
                break
            end = at + 1 if line.strip() else end
        self._at = end
        return self._source[begin:end]

    def _inline(self, line: str) -> str:
        if item := _ITEM.match(line):
            line = f"{item[1]}{'1.' if item[2] == '#.' else '-'} {line[item.end() :]}"
        if "`" not in line and "_" not in line:
            return line
        line = _LINK.sub(lambda found: f"[{found[1].strip()}]({found[2]})", line)
        line = _ROLE.sub(
            lambda found: f"`{found[1].strip() if found[1] else found[2].lstrip('~!')}`", line
        )
        return _NAMED.sub(self._reference, _LITERAL.sub(r"`\1`", line))

    def _reference(self, found: re.Match[str]) -> str:
        name = found[1] or found[2]
        target = self._targets.get(_name(name))
        return f"[{name}]({target})" if target else found[0]


def _name(text: str) -> str:
    return " ".join(text.strip("` ").lower().split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fenced(code: str, indent: str, language: str) -> Iterator[str]:
    if code.strip():
        yield ""
        lines = code_block(code, language).split("\n")
        yield from (f"{indent}{line}" if line else "" for line in lines)
        yield ""


# AsciiDoc.

_HEAD = re.compile(r"(={1,6})\s+(\S.*)")
_ATTRIBUTE = re.compile(r":!?([\w-]{1,80})!?:(?:\s+(.*))?\Z")
_STYLES = re.compile(r"\[([^\[\]\n]{0,300})\]\Z")
_FENCE = re.compile(r"(?=----|\.{4}|```)(([-.`])\2*+)[a-z0-9+#,-]*+\2*\Z")
_UNSEEN = re.compile(
    r"(?:(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::.*\]|//.*|\+|'''|={4}|\*{4}|--|_{4})\Z"
)
_BLOCK_TITLE = re.compile(r"\.(?!\.|\s)(\S.*)")
_LIST_ITEM = re.compile(r"(\*{1,6}|\.{1,6}|-)\s+(\S.*)")
_TERM = re.compile(r"(\S[^:\n]{0,200}?):{2,4}(?:\s+(.*))?\Z")
_KINDS = "NOTE|TIP|IMPORTANT|WARNING|CAUTION"
_LABEL = re.compile(rf"({_KINDS}):\s+(.*)")
_MACRO = re.compile(
    r"(?<![^\s(])(?:link:([^\s\[\]()]{1,1000})|((?:https?://|mailto:)[^\s\[\]()]{1,1000}))\[([^\[\]\n]{0,300})\]"
)
_XREF = re.compile(
    r"(?<![^\s(])xref:([^\s\[\]()]{1,300})\[([^\[\]\n]{0,300})\]|<<([^,<>\n]{1,200})(?:,([^<>\n]{1,200}))?>>"
)
_MONO = re.compile(r"(?<![\w`])`\+?([^`+\n]{1,300})\+?`(?![\w`])")
_REFERENCE = re.compile(r"\{([\w-]{1,80})\}")


class _AsciiDocReader:
    def __init__(self) -> None:
        self._attributes: dict[str, str] = {}
        self._language = ""  # the language of the block that follows
        self._admonition = ""

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        rest = iter(lines)
        for line in rest:
            if fence := _FENCE.match(line):
                if line.startswith("```"):
                    self._language = line[3:].split(",")[0].strip()
                code = list(takewhile(fence[1].__ne__, rest))
                end = fence_for("\n".join(code))
                yield from (f"{end}{self._language}", *code, end)
                self._language = ""
            elif line.startswith("////"):
                for _ in takewhile("////".__ne__, rest):
                    pass
            elif attribute := _ATTRIBUTE.match(line):
                self._attributes[attribute[1]] = attribute[2] or ""
            elif styles := _STYLES.match(line):
                self._open([part.strip() for part in styles[1].split(",")])
            elif _UNSEEN.match(line):
                continue
            elif self._admonition and line:
                yield f"**{self._admonition}:** {self._inline(line)}"
                self._admonition = ""
            else:
                yield self._text(line)

    def _open(self, parts: list[str]) -> None:
        style = parts[0].partition("%")[0].partition("#")[0]
        if style in _KINDS.split("|"):
            self._admonition = style.capitalize()
        elif style in {"source", ""} and len(parts) > 1 and "=" not in parts[1]:
            self._language = parts[1]
        elif style == "source":
            self._language = self._attributes.get("source-language", "")

    def _text(self, line: str) -> str:
        if heading := _HEAD.match(line):
            return f"{'#' * len(heading[1])} {self._inline(heading[2])}"
        if label := _LABEL.match(line):
            return f"**{label[1].capitalize()}:** {self._inline(label[2])}"
        if item := _LIST_ITEM.match(line):
            mark = "1." if item[1][0] == "." else "-"
            return f"{'   ' * (len(item[1]) - 1)}{mark} {self._inline(item[2])}"
        if title := _BLOCK_TITLE.match(line):
            return f"**{self._inline(title[1])}**\n"
        if term := _TERM.match(line):
            return f"- **{self._inline(term[1])}**{': ' + self._inline(term[2]) if term[2] else ''}"
        return self._inline(line)

    def _inline(self, text: str) -> str:
        text = _REFERENCE.sub(lambda found: self._attributes.get(found[1], found[0]), text)
        text = _MONO.sub(r"`\1`", text)
        text = _MACRO.sub(
            lambda found: f"[{found[3] or found[1] or found[2]}]({found[1] or found[2]})", text
        )
        return _XREF.sub(_cross_reference, text)


def _cross_reference(found: re.Match[str]) -> str:
    if found[1]:
        return f"[{found[2] or found[1]}]({found[1].removesuffix('#')})"
    return (found[4] or "").lstrip() or found[3]
