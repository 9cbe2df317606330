"""What bounds the sections of a document: its blocks, its headings as plain text, members by their signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import cast

from llmsspider.content.markdown import commonmark

_LINE_END = re.compile(r"\r\n?|\n")  # as markdown-it-py sees lines
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})[^`]*\Z")

_SIGNATURE = re.compile(r"`([^`]+)`|\*{0,2}\[`([^`]+)`\]\(\S+\) [—–-] \w+\*{0,2}")
"""A paragraph that is a signature, or a name with what it is (Documenter)."""
_KINDS = re.compile(
    r"(?:(?:abstract|abstractmethod|async|attribute|class|classmethod|const|data|def|enum|exception|extern(?: \"C\")?"
    r"|final|fn|func|function|interface|internal|macro|method|mod|module|namespace|newtype|open|override|private|property"
    r"|protected|protocol|pub(?:\(\w+\))?|public|static|staticmethod|struct|trait|type|typealias|union|unsafe) )*"
)
"""Words before the name of a member."""
_HOLDERS = frozenset({"class", "enum", "exception", "interface", "protocol", "struct", "trait"})
"""Those of members that have members."""
_IMPL = ("impl ", "impl<")
_NAME = re.compile(r"[\w.:#$~]*\w[!?]?")
_UNKEYED = re.compile(
    r"(--?\w[\w-]*)(?=[ =,\[<]|\Z)"  # an option
    r"|([\w.]*\w)(?=: | :: )"  # a variable and its type
    r"|(\w+(?:\.\w+)+)(?= = )"  # a constant of a module
    r"|(?:[\w.:*&?,<>\[\]]+ ){0,6}([\w.:#$~]*\w[!?]?)(?:<[^()<>]*>)?\((?![\"'\d])"  # a function, but no call
)


@dataclass(slots=True)
class Block:
    """A block of Markdown: the type of its token of markdown-it, its offset; of a heading level and text."""

    kind: str
    start: int
    level: int = 0
    text: str = ""
    children: list[Block] = field(default_factory=list)


_parser = cache(lambda: commonmark.parser({"html": True}).disable("inline"))


def blocks_of(content: str) -> list[Block]:
    """Return the blocks of a Markdown text, with the levels that bound its sections."""
    lines = [0, *(found.end() for found in _LINE_END.finditer(content))]
    root: list[Block] = []
    stack = [Block("root", 0, children=root)]
    for token in _parser().parse(_with_bare_fences(content)):
        if token.nesting < 0:
            stack.pop()
            continue
        if token.type == "inline":
            text = token.content
            stack[-1].text = commonmark.heading_text(text) if stack[-1].level else " ".join(text.split())
            continue
        start = lines[token.map[0]] if token.map else stack[-1].start
        block = Block(token.type, start, int(token.tag[1]) if token.type == "heading_open" else 0)
        stack[-1].children.append(block)
        if token.nesting > 0:
            stack.append(block)
    _set_levels(root)
    return root


def _with_bare_fences(content: str) -> str:
    """Return a text of as many lines with empty fences that nothing is around, as MDX reads them.

    CommonMark takes a fence right below a tag for HTML, an indented one for code, and its end for the begin of another.
    """
    lines = _LINE_END.split(content)
    mark, begin = "", 0
    for number, line in enumerate(lines):
        if "```" not in line and "~~~" not in line:
            continue
        if mark:
            if (end := line.strip()).startswith(mark) and not end.strip(mark[0]):
                lines[begin : number + 1] = ["```", *[""] * (number - begin - 1), "```"]
                mark = ""
        elif found := _FENCE.match(line):
            mark, begin = found[1], number
            if begin and lines[begin - 1].lstrip().startswith("<"):
                lines[begin - 1] = ""
    return "\n".join(lines)


def _set_levels(blocks: list[Block]) -> None:
    """Set a first heading of level 1, the title, above all others, and make members headings below theirs."""
    base = member = 0
    holder = ""
    for before, block in pairwise([Block("", 0), *blocks]):
        if block.kind == "heading_open":
            if block.level == 1 and not base:
                block.level, base = 0, 1
            elif not member or block.level <= member:
                base, member, holder = block.level, 0, ""
        elif (
            block.kind == "paragraph_open"
            and not before.text.endswith(":")
            and (found := _member(block.text))
        ):
            block.text, is_holder = found
            inner = holder.rpartition(".")[2]
            is_own = holder.startswith(_IMPL) or block.text.startswith(f"{inner}.")
            is_inside = (
                bool(holder) and not is_holder and (is_own or ("." in holder and "." not in block.text))
            )
            holder = block.text if is_holder else holder
            block.kind, block.level = "heading_open", (member := base + 1 + is_inside)


def _member(text: str) -> tuple[str, bool] | None:
    """Return the name of the member whose signature a paragraph is, and whether it has members itself.

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
