"""Markdown: CommonMark with the extensions that GitHub reads."""

from __future__ import annotations

import re

from llmsspider.extraction import escaping
from llmsspider.extraction.formats import Items

_KEPT = "\ufdd0"
_CLOSING = re.compile(r"(?:(?<=\s)|\A)#+\Z")
_BACKSLASHED = r"\\\g<0>"
_BACKTICKS = re.compile(r"`+")
_SPACES = re.compile(r" {2,}")
_LINE_START = re.compile(r"\n(?!\n)")


class MarkdownFormat:
    """CommonMark with GFM tables, strikethrough, task items, footnotes and alerts."""

    def text(self, text: str) -> str:
        """Return text with syntax characters escaped."""
        return escaping.escape(text)

    def code_span(self, text: str) -> str:
        """Return a code span (CommonMark 6.1).

        >>> MarkdownFormat().code_span("a`b"), MarkdownFormat().code_span("`x`")
        ('``a`b``', '`` `x` ``')
        """
        if "`" not in text:
            return f"`{text}`"
        fence = "`" * _free_run(text)
        pad = " " if text[0] == "`" or text[-1] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}"

    def emphasis(self, inner: str, mark: str, before: str, after: str) -> str:
        """Return emphasis with `mark`; HTML where the characters around would undo the mark (CommonMark 6.2)."""
        if before != mark[0] and _flanks(before, inner[:1]) and _flanks(after, inner[-1:]):
            return f"{mark}{inner}{mark}"
        tag = {"*": "em", "**": "strong", "~~": "del"}[mark]
        return f"<{tag}>{inner}</{tag}>"

    def raw(self, html: str) -> str:
        """Return an HTML tag that Markdown has no form for."""
        return html

    def link(self, inner: str, url: str, title: str) -> str:
        """Return an inline link."""
        if "[" in inner or "]" in inner:
            inner = escaping.escape_brackets(inner)
        return f"[{inner}]({_destination(url)}{_title(title)})"

    def autolink(self, url: str) -> str:
        """Return a link whose text is its URL."""
        return f"<{url}>"

    def image(self, alt: str, url: str, title: str) -> str:
        """Return an image."""
        return f"![{escaping.escape_brackets(escaping.escape(alt))}]({_destination(url)}{_title(title)})"

    def math(self, tex: str) -> str:
        """Return inline TeX."""
        return f"${tex}$"

    def checkbox(self, *, checked: bool) -> str:
        """Return the mark of a task item, kept from being escaped by a character that `document` takes out."""
        return f"{_KEPT}[{'x' if checked else ' '}] "

    def line(self, run: list[str]) -> str:
        """Return inline pieces as one line (a heading, a cell)."""
        return _single_spaced("".join(run)).strip(" \n\xa0")

    def paragraph(self, run: list[str]) -> str:
        r"""Return inline pieces as a paragraph; `\n` in them is a line break."""
        text = _single_spaced("".join(run)).strip(" \n\xa0")
        if "\n" in text:
            return "  \n".join(
                escaping.escape_start(line.strip(" ")) for line in text.split("\n") if line.strip(" ")
            )
        return escaping.escape_start(text)

    def heading(self, level: int, inner: str) -> str:
        """Return an ATX heading; a last `#` is escaped, it would close it."""
        inner = inner.replace("\n", " ")
        return f"{'#' * level} {_CLOSING.sub(_BACKSLASHED, inner) if inner[-1:] == '#' else inner}"

    def code_block(self, text: str, language: str) -> str:
        """Return a fenced code block; the fence is longer than any run of backticks in `text`."""
        fence = "```" if "```" not in text else "`" * (max(map(len, _BACKTICKS.findall(text))) + 1)
        return f"{fence}{language}\n{text}\n{fence}"

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
        """Return a list; `alternate` markers part it from a list right before it."""
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
        return "\n".join([*map(escaping.escape_start, terms), *texts])

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


_RULERS = {"": "---", "left": ":--", "right": "--:", "center": ":-:"}


def _item(marker: str, blocks: list[str], tight: bool, indent: str | None = None) -> str:
    if not blocks:
        return marker.rstrip()
    joined = blocks[0]
    for block in blocks[1:]:
        joined += ("\n" if tight and block.lstrip()[:2] in _NESTED else "\n\n") + block
    if "\n" not in joined:
        return marker + joined
    pad = "\n" + (indent or " " * len(marker))
    return marker + _LINE_START.sub(pad, joined)


_NESTED = frozenset(
    {
        "- ",
        "* ",
        *(f"{digit}." for digit in range(10)),
        *(f"{digit}{other}" for digit in range(1, 10) for other in range(10)),
    }
)


def _single_spaced(text: str) -> str:
    return _SPACES.sub(" ", text) if "  " in text else text


def _cell(text: str) -> str:
    if "|" in text:
        text = text.replace("|", "\\|")
    return "<br>".join(line.strip(" ") for line in text.split("\n")) if "\n" in text else text


def _free_run(text: str) -> int:
    runs = {len(run) for run in _BACKTICKS.findall(text)}
    return next(size for size in range(1, len(runs) + 2) if size not in runs)


def _flanks(outside: str, inside: str) -> bool:
    """Return True if a mark between these characters opens or closes (left- and right-flanking, simplified)."""
    return not outside or not outside.isalnum() or inside.isalnum()


def _destination(url: str) -> str:
    if "(" in url or ")" in url or " " in url:
        if url.count("(") == url.count(")") and " " not in url:
            return url
        return f"<{url}>"
    return url


def _title(title: str) -> str:
    return ' "{}"'.format(title.replace("\\", "\\\\").replace('"', '\\"')) if title else ""
