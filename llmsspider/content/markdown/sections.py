"""What bounds the sections of a document: its blocks, its headings as plain text, members by their
signatures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from llmsspider.content.markdown.commonmark import heading_text

# Blocks are found by one pattern: a parse of each page would cost several times as much as the rest
# of indexing it for the search, which may take a tenth of the crawl's time.

_LINES = re.compile(
    # a fence, as MDX has them: indented too
    r"\n(?:[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}|~{3,})"
    r"| {0,3}(?:(#{1,6})(?=[ \t]|$)|(=+|--+)[ \t]*$)"
    r"|[ \t>]*+(?=([-*+]|\d{1,9}[.)])[ \t]))"
    r"|(?:\n[^\S\n]*+(?:>[^\S\n]*+)*+(?=\n))++",
    re.MULTILINE,
)
"""The line end before a fence, a heading, the underline of one, a list item, and its marks; or
blank lines.
"""
_TABLE = re.compile(r"[ \t>]*\||[^\n|]*\|[^\n]*\n[ \t|:-]+$", re.MULTILINE)
_NO_HEADING = ("    ", "\t", "|", ">")
"""How a line begins that is no heading, whatever is below it."""

_SIGNATURE = re.compile(r"`([^`]+)`|\*{0,2}\[`([^`]+)`\]\(\S+\) [—–-] \w+\*{0,2}")
"""A paragraph that is a signature, or a name with what it is (Documenter)."""
_KINDS = re.compile(
    r"(?:(?:abstract|abstractmethod|async|attribute|class|classmethod|const|data|def|enum|exception|extern(?:"
    r" \"C\")?"
    r"|final|fn|func|function|interface|internal|macro|method|mod|module|namespace|newtype|open|override|private|property"
    r"|protected|protocol|pub(?:\(\w+\))?|public|static|staticmethod|struct|trait|type|typealias|union|unsafe) )*"
)
_HOLDERS = frozenset({"class", "enum", "exception", "interface", "protocol", "struct", "trait"})
"""Those of members that have members."""
_IMPL = ("impl ", "impl<")
_NAME = re.compile(r"[\w.:#$~]*\w[!?]?")
_UNKEYED = re.compile(
    r"(--?\w[\w-]*)(?=[ =,\[<]|\Z)"  # an option
    r"|([\w.]*\w)(?=: | :: )"  # a variable and its type
    r"|(\w+(?:\.\w+)+)(?= = )"  # a constant of a module
    # a function, but no call
    r"|(?:[\w.:*&?,<>\[\]]+ ){0,6}([\w.:#$~]*\w[!?]?)(?:<[^()<>]*>)?\((?![\"'\d])"
)


@dataclass(slots=True)
class Block:
    """A block of Markdown: a `text`, `item`, `table`, `fence`, `code` (indented), or `heading` with
    level and text.
    """

    kind: str
    start: int
    level: int = 0
    text: str = ""


def _add(blocks: list[Block], content: str, begin: int, end: int, kind: str) -> None:
    """Add the block of a span of the text, if that is not empty; indented lines after such lines
    belong to those.
    """
    last = blocks[-1].kind if blocks else ""
    if kind == "text" and content.startswith(("    ", "\t"), begin):
        kind = "item" if last in {"item", "fence"} else "code"
    elif kind == "text" and _TABLE.match(content, begin):
        kind = "table"
    if begin < end and not kind == last == "code":
        blocks.append(Block(kind, begin))


def blocks_of(content: str) -> list[Block]:
    """Return the blocks of a Markdown text, one after the other, with the levels that bound its
    sections.
    """
    blocks: list[Block] = []
    fence = ""
    is_quoted = False
    # of the block that is open
    begin = 0
    kind = "text"
    read = 0  # up to here

    for found in _LINES.finditer(f"\n{content}"):
        start = found.start()  # of the line in `content`
        if start < read:
            continue
        mark, atx, under, item = found.groups()
        read = content.find("\n", found.end() - 1) + 1 or len(content)
        rest = content[found.end() - 1 : read].strip()
        if fence:
            # one in a quote ends with that
            is_left = (
                is_quoted and not any(found.groups()) and found[0].count("\n") > found[0].count(">")
            )
            if is_left or (
                mark and mark.startswith(fence) and content[start:read].strip(" \t>\n") == mark
            ):
                fence = ""
                kind = "text"
                begin = read
        elif mark and "`" not in rest:
            _add(blocks, content, begin, start, kind)
            blocks.append(Block("fence", start))
            fence = mark
            begin = len(content)
            is_quoted = ">" in found[0]
        elif atx:
            _add(blocks, content, begin, start, kind)
            opened = rest.rstrip("#")  # without the marks that may close it
            text = heading_text(opened if not opened or opened[-1].isspace() else rest)
            blocks.append(Block("heading", start, len(atx), text))
            kind = "text"
            begin = read
        elif under:
            before = content.rfind("\n", 0, max(start - 1, 0)) + 1
            text = content[before : max(start - 1, 0)]
            if (
                before >= begin
                and kind == "text"
                and text.strip()
                and not text.startswith(_NO_HEADING)
            ):
                _add(blocks, content, begin, before, kind)
                blocks.append(
                    Block("heading", before, 1 if under[0] == "=" else 2, heading_text(text))
                )
                begin = read
        elif item:
            _add(blocks, content, begin, start, kind)
            kind = "item"
            begin = start
        elif not mark:
            _add(blocks, content, begin, start, kind)
            kind = "text"
            begin = found.end()
            read = begin
    _add(blocks, content, begin, len(content), kind)
    _set_levels(blocks, content)
    return blocks


def headings_of(content: str) -> list[Block]:
    """Return the headings and members of a Markdown text."""
    return [block for block in blocks_of(content) if block.kind == "heading"]


def _set_levels(blocks: list[Block], content: str) -> None:
    """Set a first heading of level 1, the title, above all others, and make members headings below
    theirs.
    """
    base = member = 0
    holder = ""
    for block, after in pairwise([*blocks, Block("", len(content))]):
        if block.kind == "heading":
            if block.level == 1 and not base:
                block.level = 0
                base = 1
            elif not member or block.level <= member:
                base = block.level
                member = 0
                holder = ""
        elif block.kind == "text" and content[block.start] in "`*[":
            is_example = content[max(block.start - 9, 0) : block.start].rstrip().endswith(":")
            if is_example or not (found := _member(content[block.start : after.start].strip())):
                continue
            block.text, is_holder = found
            is_own = holder.startswith(_IMPL) or block.text.startswith(
                holder.rpartition(".")[2] + "."
            )
            is_inside = (
                bool(holder)
                and not is_holder
                and (is_own or ("." in holder and "." not in block.text))
            )
            holder = block.text if is_holder else holder
            block.kind, block.level = "heading", (member := base + 1 + is_inside)


def _member(text: str) -> tuple[str, bool] | None:
    """Return the name of the member whose signature a paragraph is, and whether it has members
    itself.

    >>> _member("`Env.step(action) → int`"), _member("`class wheels.Wheel(n)`"), _member("`pip install x`")
    (('Env.step', False), ('wheels.Wheel', True), None)
    """
    if (found := _SIGNATURE.fullmatch(text)) is None:
        return None
    if found[2]:
        return found[2], False
    signature = found[1].strip()
    if signature.startswith(_IMPL):
        return signature.partition(" where ")[0], True
    kinds = cast("re.Match[str]", _KINDS.match(signature))[0]
    name = _NAME.match(signature, len(kinds)) if kinds else _UNKEYED.match(signature)
    return (name[name.lastindex or 0], not _HOLDERS.isdisjoint(kinds.split())) if name else None
