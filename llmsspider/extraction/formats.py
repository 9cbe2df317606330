"""What the walk asks of an output format: Markdown itself, or the plain HTML that a library engine is given.

A format turns pieces into text. Inline pieces are strings; a block is a string without a trailing newline,
and a container gets the list of its blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Items:
    """A list before it is written: the blocks of each item, and how items are numbered."""

    items: list[list[str]]
    numbers: list[int] | None = None
    tight: bool = True
    alternate: bool = False


class Format(Protocol):
    """What the walk needs of an output format."""

    def text(self, text: str) -> str:
        """Return character data, escaped."""
        ...

    def code_span(self, text: str) -> str:
        """Return inline code."""
        ...

    def emphasis(self, inner: str, mark: str, before: str, after: str) -> str:
        """Return emphasis; `mark` is `*`, `**` or `~~`, `before` and `after` are the characters around."""
        ...

    def raw(self, html: str) -> str:
        """Return an HTML tag that has no form of its own."""
        ...

    def link(self, inner: str, url: str, title: str) -> str:
        """Return a link."""
        ...

    def autolink(self, url: str) -> str:
        """Return a link whose text is its URL."""
        ...

    def image(self, alt: str, url: str, title: str) -> str:
        """Return an image."""
        ...

    def math(self, tex: str) -> str:
        """Return inline TeX."""
        ...

    def checkbox(self, *, checked: bool) -> str:
        """Return the mark of a task item."""
        ...

    def line(self, run: list[str]) -> str:
        """Return inline pieces as one line (a heading, a cell)."""
        ...

    def paragraph(self, run: list[str]) -> str:
        r"""Return inline pieces as a paragraph; `\n` in them is a line break."""
        ...

    def heading(self, level: int, inner: str) -> str:
        """Return a heading of level 1 to 6."""
        ...

    def code_block(self, text: str, language: str) -> str:
        """Return a code block."""
        ...

    def math_block(self, tex: str) -> str:
        """Return display TeX."""
        ...

    def rule(self) -> str:
        """Return a thematic break."""
        ...

    def quote(self, blocks: list[str]) -> str:
        """Return a block quote."""
        ...

    def alert(self, kind: str, blocks: list[str]) -> str:
        """Return an admonition of a type."""
        ...

    def items(self, listing: Items) -> str:
        """Return a list."""
        ...

    def definition(self, terms: list[str], definitions: list[str]) -> str:
        """Return terms with their one-paragraph definitions."""
        ...

    def footnote(self, label: str, blocks: list[str]) -> str:
        """Return the definition of a footnote."""
        ...

    def table(self, rows: list[list[str]], align: list[str]) -> str:
        """Return a table; the first row is its header."""
        ...

    def document(self, blocks: list[str]) -> str:
        """Return the whole document."""
        ...
