"""The walk over the main content: every element becomes a block or an inline piece of the output format.

What is not content (navigation, buttons, permalinks) gives nothing. The special shapes of generators (code,
admonitions, tabs, definition lists, footnotes, math, tables) have their own modules; this one knows HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lxml.etree import _Element

from llmsspider.extraction import code, components, footnotes, inlines, lists, tables
from llmsspider.extraction.formats import Format
from llmsspider.extraction.generators import UNKNOWN, Generator
from llmsspider.extraction.rules import CONTENTS_NAMES, WRAPPERS, Kind, Rules, holds_title
from llmsspider.extraction.tree import (
    BLOCKS,
    INLINE,
    SKIPPED,
    collapsed,
    has_blocks,
    inner_text,
    letters_outside_links,
    plain_text,
)
from llmsspider.items import Link
from llmsspider.web.decompression import Growth
from llmsspider.web.url_gate import Joiner

_INLINE_CLASSES = frozenset({"doc-md-description"})
"""Blocks that their site's style sets into the line (mkdocstrings)."""
_CODE = frozenset({"code", "tt", "samp"})
_PROSE = BLOCKS - {"div", "ul", "ol", "li"}
"""Blocks that no code is drawn with: a `<code>` around them was not closed."""
_NO_QUOTES = frozenset({"SVInsetFlow", "SInsetFlow", "SubFlow"})
"""Classes of `<blockquote>` that only set text in (Scribble)."""
_NOTICE = 400
"""Letters outside links of a `<noscript>` that only says that scripts are needed."""
_FEW = 40
"""Letters outside links that are no page."""
_THE_PAGE = 0.7
"""Part of the letters of the main content from which on an element is the page."""
_MAX_DEPTH = 120
"""Levels of elements; what lies deeper is plain text (each level takes four frames of the stack)."""


@dataclass(slots=True)
class Walk:
    """One page's walk: `document(main)` gives its text; `links` then holds the links met.

    `headings_only` then says that the text is headings only.
    """

    rules: Rules
    joiner: Joiner
    format: Format
    links: list[Link] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    tabs: dict[_Element, _Element] = field(default_factory=dict)
    title: str | None = None
    first_heading: str | None = None
    headings_only: bool = False
    generator: Generator = UNKNOWN
    has_tex: bool = False
    has_tabs: bool = True
    has_notes: bool = True
    has_inline_blocks: bool = True
    headings: set[str] = field(default_factory=set)
    empty: set[str] = field(default_factory=set)
    in_link: bool = False
    in_heading: bool = False
    depth: int = 0
    main: _Element | None = None
    growth: Growth | None = None
    """Bounds what is written: quotes and lists inside each other repeat their marks on each line."""
    _letters: int = -1

    def document(self, main: _Element, title: str | None = None) -> str:
        """Return the document that `main` is, under the `title` that stands outside of it."""
        self.main, self._letters = main, -1
        self.tabs = components.labels(main) if self.has_tabs else {}
        self.notes = footnotes.labels(main) if self.has_notes else {}
        self.title = title
        above = [self.format.heading(1, self.format.text(title))] if title else []
        blocks = self.blocks(main)
        self.headings_only = all(block in self.headings or block == self.format.rule() for block in blocks)
        return self.format.document([*above, *self._framed(blocks)])

    def _framed(self, blocks: list[str]) -> list[str]:
        """Return blocks without rules and headings that only set off what is left out, and headings said twice."""
        rule = self.format.rule()
        kept: list[str] = []
        for block in reversed(blocks):
            follower = kept[-1] if kept else ""
            is_last_rule = block == rule and (not kept or follower == rule)
            is_again = block == follower and block in self.headings
            is_empty = block in self.empty and (not kept or follower in self.headings)
            if not (is_last_rule or is_again or is_empty):
                kept.append(block)
        while kept and kept[-1] == rule:
            kept.pop()
        return kept[::-1]

    def blocks(self, element: _Element) -> list[str]:
        """Return the blocks of an element's content: inline runs as paragraphs, block children as they are."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.depth -= 1
            return self._paragraph([self.text(inner_text(element))])
        found: list[str] = []
        text = element.text
        run = [self.text(text)] if text and not text.isspace() else []  # white space alone starts no run
        for child in element:
            tag = child.tag
            if self.has_inline_blocks and child.get("class") in _INLINE_CLASSES:
                run += [self.line(child), self.text(child.tail or "")]
                continue
            if tag in BLOCKS or (tag not in INLINE and len(child) and has_blocks(child)):
                if run:
                    found += self._paragraph(run)
                text = child.tail
                run = [self.text(text)] if text and not text.isspace() else []
                found += self.block(child)
                continue
            if tag in _CODE and len(child) and code.is_listing(child):
                found.append(self.code_block(code.broken_lines(child), child))
                run = []
                continue
            if not len(child) or tag == "math" or not has_blocks(child):
                piece = inlines.inline(self, child, run)
                if isinstance(piece, list):
                    found += self._paragraph(run)
                    found += piece
                    run = []
                elif piece:
                    run.append(piece)
            else:
                found += self._paragraph(run)
                run = []
                found += self._inline_around_blocks(child)
            if text := child.tail:
                run.append(self.text(text))
        found += self._paragraph(run)
        self.depth -= 1
        if self.growth is not None:
            self.growth.check(sum(map(len, found)))
        return found

    def text(self, text: str) -> str:
        """Return character data with its white space collapsed, written for the format."""
        text = collapsed(text)
        if self.has_tex and ("\\" in text or "$$" in text) and (formulas := code.in_text(text)):
            return "".join(
                self.format.math(part) if is_tex else self.format.text(part) for part, is_tex in formulas
            )
        return self.format.text(text)

    def line(self, element: _Element) -> str:
        """Return the whole content of an element as one line."""
        return self.format.line(self.run(element))

    def run(self, element: _Element) -> list[str]:
        """Return the inline pieces of an element's content; blocks in it are flattened."""
        if self.depth > _MAX_DEPTH:
            return [self.text(inner_text(element))]
        self.depth += 1
        pieces = [self.text(text)] if (text := element.text) else []
        for child in element:
            piece = inlines.inline(self, child, pieces)
            if isinstance(piece, list):
                pieces.append(" ".join(piece))
            elif piece:
                pieces.append(piece)
            if text := child.tail:
                pieces.append(self.text(text))
        self.depth -= 1
        return pieces

    def _paragraph(self, run: list[str]) -> list[str]:
        text = self.format.paragraph(run) if run else ""
        return [text] if text else []

    def block(self, element: _Element) -> list[str]:
        """Return the blocks that one block element is."""
        kind = self.rules.kind(element)
        if kind is Kind.PLAIN:
            if self.generator.title and self.title is None and self._is_title(element):
                return self._titled(element)
            if self.notes and (note := footnotes.definition(self, element)) is not None:
                return note
            handler = _BLOCK_HANDLERS.get(element.tag)
            return handler(self, element) if handler else self._container(element)
        if kind is Kind.DROP and self._is_the_page(element):
            return self._container(element)
        special = _KIND_HANDLERS[kind](self, element)
        if special is not None:
            return special
        handler = _BLOCK_HANDLERS.get(element.tag)
        return handler(self, element) if handler else self._container(element)

    def _is_the_page(self, element: _Element) -> bool:
        """Return True if hardly any text of the main content is outside of an element, whatever it is called."""
        if element.tag not in WRAPPERS or not len(element) or self.main is None:
            return False
        inner = letters_outside_links(element)
        if inner < _FEW:
            return False
        if self._letters < 0:
            self._letters = letters_outside_links(self.main)
        return inner >= _THE_PAGE * self._letters

    def _container(self, element: _Element) -> list[str]:
        if self.has_tabs and element.get("role") == "tabpanel":
            return components.panel(self, element)
        return self.blocks(element)

    def _inline_around_blocks(self, element: _Element) -> list[str]:
        """Return the blocks of an inline element that has blocks inside."""
        if element.tag in SKIPPED or element.tag == "script" or self.rules.kind(element) is Kind.DROP:
            return []
        if element.tag == "code" and not any(part.tag in _PROSE for part in element.iterdescendants()):
            return self._pre(element)
        if element.tag == "a" and element.get("href") and not self.in_link:
            return inlines.card(self, element)
        return self.block(element)

    def _heading(self, element: _Element) -> list[str]:
        outer, self.in_heading = self.in_heading, True
        inner = self.line(element)
        if not inner and len(element) == 1:
            inner = self.line(element[0])  # VuePress: the permalink is around the text
        if not inner and (button := element.find("button")) is not None:
            inner = self.line(button)  # accordions
        self.in_heading = outer
        if not inner:
            return []
        level, text = int(element.tag[1]), self._shown(element)
        block = self.format.heading(level, inner)
        self.headings.add(block)
        self.first_heading = self.first_heading or text
        if text.lower() in CONTENTS_NAMES:
            self.empty.add(block)
        elif level == 1 and self.title is None:
            self.title = text
        return [block]

    def _shown(self, element: _Element) -> str:
        """Return the text of an element without the parts of it that are left out; those are emptied."""
        for child in list(element.iterdescendants()):
            if self.rules.kind(child) is Kind.DROP:
                child.clear(keep_tail=True)
        return plain_text(element)

    def _is_title(self, element: _Element) -> bool:
        tag, _, name = self.generator.title.partition(".")
        return bool(element.tag == tag and element.get("class") == name)

    def _titled(self, element: _Element) -> list[str]:
        inner = self.line(element)
        self.title = self._shown(element) or None
        return [self.format.heading(1, inner)] if inner else []

    def _pre(self, element: _Element) -> list[str]:
        text = code.code_text(element)
        return [self.code_block(text, element)] if text else []

    def code_block(self, text: str, holder: _Element) -> str:
        """Return a code block whose language is named by `holder` or what is around it."""
        language = code.code_language(holder)
        return self.format.code_block(text, "" if language == self.generator.unlabelled else language)

    def _quote(self, element: _Element) -> list[str]:
        inner = self.blocks(element)
        if element.get("class") in _NO_QUOTES:
            return inner
        return [self.format.quote(inner)] if inner else []

    def _rule(self, element: _Element) -> list[str]:
        if self.notes and _is_footnotes(element, element.getparent(), element.getnext()):
            return []
        return [self.format.rule()]

    def _details(self, element: _Element) -> list[str]:
        found = []
        for child in element:
            if child.tag == "summary":
                if self.rules.kind(child) is not Kind.DROP:
                    found += self._summary(child)
                child.clear(keep_tail=True)
                child.tag = "span"
                break
        return found + self.blocks(element)

    def _summary(self, element: _Element) -> list[str]:
        """Return the summary of a `<details>`: in bold, or as the heading that it holds."""
        if next(element.iter("h1", "h2", "h3", "h4", "h5", "h6"), None) is not None:
            return self.blocks(element)
        line = self.line(element)
        return [self.format.paragraph([components.bold(self, line)])] if line else []

    def _footer(self, element: _Element) -> list[str]:
        parent = element.getparent()
        quoted = parent is not None and parent.tag in {"blockquote", "figure"}
        return self.blocks(element) if quoted else []

    def _form(self, element: _Element) -> list[str]:
        return self.blocks(element) if len(plain_text(element)) > 400 or holds_title(element) else []

    def _unscripted(self, element: _Element) -> list[str]:
        """Return what stands there for readers without scripts, unless that is a mere notice."""
        return self.blocks(element) if letters_outside_links(element) > _NOTICE else []

    def _signature(self, element: _Element) -> list[str]:
        return components.signature(self, element)


def _is_footnotes(*elements: _Element | None) -> bool:
    """Return True if one of `elements` is a list of footnotes, or holds it."""
    known = [element for element in elements if element is not None]
    marks = [f"{element.get('class')} {element.get('id')} {element.get('role')}" for element in known]
    return any("footnote" in mark or "doc-endnotes" in mark for mark in marks)


def _math(walk: Walk, element: _Element) -> list[str] | None:
    found = code.formula(element)
    if found is None:
        return None
    return [walk.format.math_block(found.tex)] if found.tex else []


def _nothing(walk: Walk, element: _Element) -> list[str]:
    return []


Handler = Callable[[Walk, _Element], list[str]]
_KIND_HANDLERS: dict[Kind, Callable[[Walk, _Element], list[str] | None]] = {
    Kind.DROP: _nothing,
    Kind.ADMONITION: components.admonition,
    Kind.TABS: components.tab_set,
    Kind.MATH: _math,
    Kind.SIGNATURE: Walk._signature,
    Kind.CODE: Walk._pre,
    Kind.GRID: tables.grid,
}
_BLOCK_HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Walk._heading),
    "pre": Walk._pre,
    "blockquote": Walk._quote,
    "hr": Walk._rule,
    "details": Walk._details,
    "footer": Walk._footer,
    "form": Walk._form,
    "ul": lists.listing,
    "ol": lists.listing,
    "menu": lists.listing,
    "dl": components.definition_list,
    "table": tables.table,
    "p": Walk.blocks,
    "noscript": Walk._unscripted,
    "nav": _nothing,
    "legend": _nothing,
}
