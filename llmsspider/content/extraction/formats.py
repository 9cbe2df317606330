"""`MarkdownFormat`: how the walk writes what it finds, as CommonMark with GitHub extensions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from llmsspider.content.extraction.tree import collapsed
from llmsspider.content.markdown.commonmark import code_block

# Escapes that make text read back as the same text, and no more than that. Rules of CommonMark 0.31
# (2.4, 4.1 to 4.10, 5, 6) and GFM. Text has its white space collapsed first, so only the start of a
# block can start a block construct.

_SPECIAL = re.compile(r"[\\`*_\[\]<&~]")
_NEEDS = {
    "\\": re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)"),  # an escape; syntax may follow the text
    "*": re.compile(r"(?<! )\*|\*(?! )"),  # emphasis
    "_": re.compile(r"(?<![^\W_])_|_(?![^\W_])"),  # emphasis, not inside a word
    "`": re.compile(r"`"),
    "<": re.compile(r"<(?=[A-Za-z/!?]|\Z)"),  # a tag or autolink; its name may follow the text
    "&": re.compile(r"&(?=#?\w+;)"),  # an entity
    "~": re.compile(r"~(?=~)|(?<=~)~"),
    "]": re.compile(r"\](?=[(\[])"),  # a link
    "[": re.compile(r"\[(?=\^)"),  # a footnote
}
"""Where a character is syntax. Looked up per character found: one expression of all of them is six
times slower.
"""
_STARTS = frozenset("#-+>=[~:0123456789")
_START = re.compile(
    r"""\#{1,6}(?=\ |\Z) | [-+](?=\ |\Z) | (?P<number>\d{1,9})[.)](?=\ |\Z) | >
      | -(?=[- ]*\Z) | =(?==*\Z) | \[(?=(?:\\.|[^\]\\\n])*\]:|[\ xX]\]\ ) | ~(?=~~) | :(?=\ )""",
    re.VERBOSE,
)
_BRACKET = re.compile(r"\\.|(?<!`)`+|<[A-Za-z/!][^<>]*>|[\[\]]", re.DOTALL)
"""Brackets, and the constructs that take precedence over them: escapes, code spans, tags
(CommonMark 0.31, 6).
"""


def escape(text: str) -> str:
    r"""Return `text` with the characters escaped that Markdown would read as syntax inside a
    paragraph.

    >>> print(escape("snake_case, a * b, *c*, Vec<T>, x[0]"))
    snake_case, a * b, \*c\*, Vec\<T>, x[0]
    """
    return _SPECIAL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return "\\" + character if _NEEDS[character].match(found.string, found.start()) else character


def escape_start(line: str) -> str:
    r"""Return `line`, which starts a block, with a leading block marker escaped.

    >>> print(escape_start("1. one"), escape_start("# x"), escape_start("#x"))
    1\. one \# x #x
    """
    is_link = line[:1] == "[" and "]:" not in line and line[2:4] != "] "
    found = _START.match(line) if line[:1] in _STARTS and not is_link else None
    if not found:
        return line
    at = found.end("number") if found["number"] else 0
    return f"{line[:at]}\\{line[at:]}"


def escape_brackets(text: str) -> str:
    r"""Return inline Markdown for a link's brackets: its own brackets are escaped where they have
    no partner.

    >>> print(escape_brackets("x[0]"), escape_brackets("a]"), escape_brackets("`[` [b"))
    x[0] a\] `[` \[b
    """
    opened: list[int] = []
    alone: list[int] = []
    ends: dict[
        int, list[int]
    ] = {}  # where runs of backticks end, by their length, the last one first
    for ticks in reversed([*_BACKTICKS.finditer(text)]):
        ends.setdefault(len(ticks[0]), []).append(ticks.end())
    position = 0
    while found := _BRACKET.search(text, position):
        start, position = found.span()
        if text[start] == "[":
            opened.append(start)
        elif text[start] == "]":
            if opened:
                opened.pop()
            else:
                alone.append(start)
        elif text[start] == "`":  # a code span, if a run of the same length follows
            closing = ends[position - start]
            while closing and closing[-1] <= position:
                closing.pop()
            position = closing[-1] if closing else position
    cuts = sorted((*opened, *alone))
    return "\\".join(
        text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
    )


# A format (Markdown itself, or as its subclass the plain HTML that a library engine is given) turns
# pieces into text. Inline pieces are strings; a block is a string without a trailing newline, a
# container gets the list of its blocks.


@dataclass(slots=True)
class Items:
    """A list before it is written: the blocks of each item, and how items are numbered."""

    items: list[list[str]]
    numbers: list[int] | None = None
    tight: bool = True
    alternate: bool = False


HTML_MARKS = {"*": "em", "**": "strong", "~~": "del"}
"""Elements of HTML by the mark of emphasis that says the same."""

_KEPT = "\ufdd0"
_CLOSING = re.compile(r"(?:(?<=\s)|\A)#+\Z")
_BACKSLASHED = r"\\\g<0>"
_BACKTICKS = re.compile(r"`+")
_SPACES = re.compile(r" {2,}")
_BESIDE = re.compile(r"(?<=[^\s\\*])\*{4}(?=[^\s*])")
"""Where bold text ends and other begins."""
_GAP = re.compile(r"\n *\n[ \n]*")
_LINE_START = re.compile(r"\n(?!\n)")

_SHORT = 24
"""Characters up to which texts are remembered as they were written: signs and words between
elements repeat.
"""


@lru_cache(maxsize=8192)
def _written(text: str) -> str:
    return escape(collapsed(text))


class MarkdownFormat:
    """CommonMark with GFM tables, strikethrough, task items, footnotes and alerts."""

    def text(self, text: str) -> str:
        """Return text with syntax characters escaped, each run of white space as one space."""
        return _written(text) if len(text) < _SHORT else _SPECIAL.sub(_escaped, collapsed(text))

    def behind_bracket(self, piece: str) -> str:
        """Return a piece with its parenthesis escaped: after a bracket it would make a link."""
        return f"\\{piece}"

    def code_span(self, text: str) -> str:
        """Return a code span (CommonMark 6.1).

        >>> MarkdownFormat().code_span("a`b"), MarkdownFormat().code_span("`x`")
        ('``a`b``', '`` `x` ``')
        """
        if "`" not in text:
            return f"`{text}`"
        runs = {len(run) for run in _BACKTICKS.findall(text)}
        fence = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
        pad = " " if text[0] == "`" or text[-1] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}"

    def emphasis(self, inner: str, mark: str, before: str, after: str) -> str:
        """Return emphasis with `mark`; HTML where the characters around would undo the mark
        (CommonMark 6.2).
        """
        last = before[-1:]
        if _flanks(last, inner[:1]) and _flanks(after, inner[-1:]):
            if last != mark[0]:
                return f"{mark}{inner}{mark}"
            if before == "\\*" and "_" not in inner and not after.isalnum():  # a star that is text
                return inner.join([mark.replace("*", "_")] * 2)
        return f"<{HTML_MARKS[mark]}>{inner}</{HTML_MARKS[mark]}>"

    def link(self, inner: str, url: str) -> str:
        """Return an inline link."""
        return f"[{escape_brackets(inner) if '[' in inner or ']' in inner else inner}]({_destination(url)})"

    def autolink(self, url: str) -> str:
        """Return a link whose text is its URL."""
        return f"<{url.translate(_NOT_IN_URLS)}>"

    def image(self, alt: str, url: str, title: str) -> str:
        """Return an image."""
        quoted = title.replace("\\", "\\\\").replace('"', '\\"')
        behind = f' "{quoted}"' if title else ""
        return f"![{escape_brackets(escape(alt))}]({_destination(url)}{behind})"

    def math(self, tex: str) -> str:
        """Return inline TeX."""
        return f"${tex}$"

    def checkbox(self, *, checked: bool) -> str:
        """Return the mark of a task item with a placeholder character that prevents escaping;
        `document` removes it.
        """
        return f"{_KEPT}[{'x' if checked else ' '}] "

    def line(self, run: list[str]) -> str:
        """Return inline pieces as one line (a heading, a cell)."""
        text = "".join(run)
        if "****" in text and "`" not in text:
            text = _BESIDE.sub("", text)
        return (_SPACES.sub(" ", text) if "  " in text else text).strip(" \n\xa0")

    def paragraph(self, run: list[str]) -> str:
        r"""Return inline pieces as a paragraph; `\n` in them is a line break, several begin
        another.
        """
        text = self.line(run)
        if "\n" not in text:
            return escape_start(text)
        parts = ([line.strip(" ") for line in part.split("\n")] for part in _GAP.split(text))
        return "\n\n".join("  \n".join(map(escape_start, filter(None, part))) for part in parts)

    def heading(self, level: int, inner: str) -> str:
        """Return an ATX heading; a last `#` is escaped, it would close it."""
        inner = inner.replace("\n", " ")
        return f"{'#' * level} {_CLOSING.sub(_BACKSLASHED, inner) if inner[-1:] == '#' else inner}"

    def code_block(self, text: str, language: str) -> str:
        """Return a fenced code block; the fence is longer than any run of backticks in `text`."""
        return code_block(text, language)

    def math_block(self, tex: str) -> str:
        """Return display TeX."""
        return f"$$\n{tex}\n$$"

    def rule(self) -> str:
        """Return a thematic break."""
        return "---"

    def quote(self, blocks: list[str]) -> str:
        """Return a block quote."""
        return "\n".join(f"> {line}" if line else ">" for line in "\n\n".join(blocks).split("\n"))

    def alert(self, kind: str, blocks: list[str]) -> str:
        """Return a GitHub alert."""
        return f"> [!{kind.upper()}]\n" + self.quote(blocks) if blocks else f"> [!{kind.upper()}]"

    def items(self, listing: Items) -> str:
        """Return a list; `alternate` markers separate it from a list directly before it."""
        written = []
        for index, blocks in enumerate(listing.items):
            if listing.numbers is None:
                marker = "* " if listing.alternate else "- "
            else:
                marker = f"{listing.numbers[index]}{')' if listing.alternate else '.'} "
            written.append(_item(marker, blocks, listing.tight))
        return ("\n" if listing.tight else "\n\n").join(written)

    def definition(self, terms: list[str], definitions: list[str]) -> str:
        """Return terms with their one-paragraph definitions (PHP Markdown Extra)."""
        texts = (f": {text}".replace("\n", "\n  ") for text in definitions)
        return "\n".join([*map(escape_start, terms), *texts])

    def footnote(self, label: str, blocks: list[str]) -> str:
        """Return a footnote definition."""
        return _item(f"[^{label}]: ", blocks, tight=False, indent="    ")

    def table(self, rows: list[list[str]], align: list[str]) -> str:
        """Return a GFM table; the first row is its header."""
        cells = [[_cell(cell) for cell in row] for row in rows]
        cells.insert(1, [_RULERS[side] for side in align])
        return "\n".join(f"| {' | '.join(row)} |" for row in cells)

    def document(self, blocks: list[str]) -> str:
        """Return the whole document."""
        return "\n\n".join(blocks).replace(_KEPT, "") + "\n" if blocks else ""


_NESTED = re.compile(r"\s*(?:[-*] |[0-9]\.|[1-9][0-9])")
"""How a list begins: in a tight item it stands right below the text."""
_RULERS = {"": "---", "left": ":--", "right": "--:", "center": ":-:"}


def _item(marker: str, blocks: list[str], tight: bool, indent: str | None = None) -> str:
    if not blocks:
        return marker.rstrip()
    joined = "***" if blocks[0] == "---" else blocks[0]  # `- ---` is no item
    for block in blocks[1:]:
        joined += ("\n" if tight and _NESTED.match(block) else "\n\n") + block
    if "\n" not in joined:
        return marker + joined
    pad = "\n" + (indent or " " * len(marker))
    return marker + _LINE_START.sub(pad, joined)


def _cell(text: str) -> str:
    if "|" in text:
        text = text.replace("|", "\\|")
    return "<br>".join(line.strip(" ") for line in text.split("\n")) if "\n" in text else text


def _flanks(outside: str, inside: str) -> bool:
    """Return True if a mark between these characters opens or closes (left- and right-flanking,
    simplified).
    """
    return not outside or not outside.isalnum() or inside.isalnum()


_NOT_IN_URLS = {ord(" "): "%20", ord("<"): "%3C", ord(">"): "%3E"}


def _destination(url: str) -> str:
    url = url.translate(_NOT_IN_URLS)  # Documenter: `#getplugin-Tuple{T} where T<:Plugin`
    return url if url.count("(") == url.count(")") else f"<{url}>"
