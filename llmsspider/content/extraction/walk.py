"""The walk over the main content: every element becomes a block or an inline piece of the output
format.

Converters of tags and kinds register themselves: `blocks`, `inlines`, `lists` and `components`
import this module.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar

from lxml.etree import _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.formats import MarkdownFormat
from llmsspider.content.extraction.generators import UNKNOWN, Generator
from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.rules import WRAPPERS, Kind, Rules, classify
from llmsspider.content.extraction.tree import (
    CODE_SPANS,
    HEADINGS,
    Flow,
    collapsed,
    empty,
    flow_of,
    has_blocks,
    inner_text,
    is_within,
    letters,
    letters_outside_links,
    plain_text,
)
from llmsspider.content.links import Growth, Joiner
from llmsspider.items import Link

_FEW = 40
"""Number of letters outside links below which an element cannot be the page."""
_THE_PAGE = 0.7
"""Minimum share (0 to 1) of the main content's letters outside links of an element that is the
page.
"""
_MAX_DEPTH = 120
"""Maximum depth of elements; deeper ones become plain text (each level takes four frames of the
stack).
"""
_MAX_ROLES = 10_000

# The tables of converters. A block converter returns the blocks of an element. An inline converter
# also gets the pieces before the element in its line, and returns a piece, or blocks if the element
# turns out to be a block (display math). Converters that are not looked up by tag return None for
# an element that they do not apply to.

Piece = str | list[str]
BlockConverter = Callable[["Walk", _Element], list[str]]
InlineConverter = Callable[["Walk", _Element, list[str]], Piece]
SomeBlocks = Callable[["Walk", _Element], list[str] | None]
SomeInlines = Callable[["Walk", _Element, list[str]], Piece | None]
Finder = Callable[["Walk", _Element], None]
K = TypeVar("K")
C = TypeVar("C", BlockConverter, InlineConverter, SomeBlocks, SomeInlines, Finder)

BLOCK_TAGS: dict[str, BlockConverter] = {}
INLINE_TAGS: dict[str, InlineConverter] = {}
AROUND_BLOCKS: dict[str, SomeBlocks] = {}
"""Converters of inline elements that have blocks inside, by tag."""
BLOCK_KINDS: dict[Kind, SomeBlocks] = {}
INLINE_KINDS: dict[Kind, SomeInlines] = {}
FINDERS: dict[tuple[bytes, ...], Finder] = {}
"""Functions that collect, before the walk begins, what converters need to know of the main content
of a page that has one of some `parsing.MARKS`.
"""


def converts(table: dict[K, C], *keys: K) -> Callable[[C], C]:
    """Register a function in one of the tables, under tags, kinds or names."""

    def register(converter: C) -> C:
        table.update(dict.fromkeys(keys, converter))
        return converter

    return register


class Role(NamedTuple):
    """What elements of one tag and class are, and how they are converted."""

    kind: Kind
    # whether `kind` is `Kind.PLAIN`: access to an enum member takes ten times as long
    is_plain: bool
    flow: Flow
    block: BlockConverter
    inline: InlineConverter


@dataclass(slots=True)
class Walk:
    """The walk over the main content of one page: `document()` returns its text, and sets `links`
    and the title.
    """

    main: _Element
    rules: Rules
    joiner: Joiner
    format: MarkdownFormat
    source: Source
    links: list[Link] = field(default_factory=list)
    notes: dict[str, str] = field(init=False, default_factory=dict)
    """The labels of footnotes, by the id of what defines them."""
    # the tab of each panel
    tabs: dict[_Element, _Element] = field(init=False, default_factory=dict)
    title: str | None = None
    first_heading: str | None = None
    headings_only: bool = False
    generator: Generator = UNKNOWN
    has_tex: bool = False
    # the level of each block that is a heading
    headings: dict[str, int] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    """The blocks that mean nothing without the block that follows."""
    heading_ids: list[tuple[str, str]] = field(init=False, default_factory=list)
    """Text and id of each heading that has an id."""
    alternate: set[_Element] = field(default_factory=set)
    """The lists whose markers differ from those of the list right before them."""
    in_link: bool = False
    in_heading: bool = False
    depth: int = 0
    growth: Growth | None = None
    """Bounds what is written: quotes and lists inside each other repeat their marks on each line.
    """
    first_blocks: list[SomeBlocks] = field(init=False, default_factory=list)
    """Converters that look at each block before that of its tag does."""
    first_inlines: list[SomeInlines] = field(init=False, default_factory=list)
    text: Callable[[str], str] = field(init=False)
    """Returns character data with its white space collapsed, written for the format."""
    _roles: dict[tuple[str, str | None], Role] = field(init=False)
    _by_attribute: dict[_Element, Kind] = field(init=False)
    _letters: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self.text = self._with_formulas if self.has_tex else self.format.text

    def document(self, title: str | None = None) -> str:
        """Return the text of a document; `title` is that of the page's heading if that is outside
        of `main`.
        """
        self._roles = _roles_for(self.rules, self.generator.title)
        self._by_attribute = self.rules.kinds_by_attribute(self.main, self.source)

        for marks, find in FINDERS.items():
            if self.source.may_hold(*marks):
                find(self, self.main)
        self.title = title
        above = [self.format.heading(1, self.format.text(title))] if title else []
        blocks = self.blocks(self.main)
        self.headings_only = all(
            block in self.headings or block == self.format.rule() for block in blocks
        )
        return self.format.document([*above, *self._without_remains(blocks)])

    def _without_remains(self, blocks: list[str]) -> list[str]:
        """Return blocks without what was around filtered content: breaks, empty and repeated
        headings, contents.
        """
        headings = self.headings
        rule = self.format.rule()
        kept: list[str] = []
        for block in reversed(blocks):
            follower = kept[-1] if kept else ""
            is_again = block == follower and (block in headings or block == rule)
            is_last_rule = block == rule and not kept
            is_empty = block in self.empty and (not kept or follower in headings)
            if not (is_last_rule or is_again or is_empty):
                kept.append(block)
        return (kept[:-1] if kept[-1:] == [rule] else kept)[::-1]

    # What an element is.

    def kind(self, element: _Element) -> Kind:
        """Return what an element is."""
        role = self._role(element)
        return role.kind if role.is_plain else classify(element, role.kind)

    def drops(self, element: _Element) -> bool:
        """Return True for an element that is filtered."""
        return self.kind(element) is Kind.DROP

    def _role(self, element: _Element) -> Role:
        tag, classes = key = (element.tag, element.get("class"))
        if (role := self._roles.get(key)) is None:
            tag = "tt" if tag == "span" and classes in CODE_SPANS else tag
            kind = self.rules.by_name(tag, classes or "")
            is_title = f"{tag}.{classes}" == self.generator.title
            block = Walk._titled if is_title else BLOCK_TAGS.get(tag, Walk.blocks)
            inline = INLINE_TAGS.get(tag, Walk.content)
            role = Role(kind, kind is Kind.PLAIN, flow_of(tag, classes), block, inline)
            if len(self._roles) < _MAX_ROLES:
                self._roles[key] = role
        if self._by_attribute and role.is_plain and element in self._by_attribute:
            return role._replace(kind=self._by_attribute[element], is_plain=False)
        return role

    def is_the_page(self, element: _Element) -> bool:
        """Return True if an element, whatever its class, holds nearly all text of the main content."""
        if not len(element) or letters(element) < _FEW:
            return False
        if self._letters < 0:
            self._letters = letters_outside_links(self.main)
        return letters_outside_links(element) >= max(_FEW, _THE_PAGE * self._letters)

    # Blocks.

    def blocks(self, element: _Element) -> list[str]:
        """Return the blocks of an element's content: inline runs as paragraphs, block children as
        they are.
        """
        if self.depth >= _MAX_DEPTH:
            return self._paragraph([self.text(inner_text(element))])
        self.depth += 1
        found: list[str] = []
        text = element.text
        # white space alone starts no run
        run = [self.text(text)] if text and not text.isspace() else []
        is_looked_at = bool(self.first_inlines)
        for child in element:
            role = self._role(child)
            flow = role.flow
            if flow == "block" or (flow == "unknown" and has_blocks(child)):
                if run:
                    found += self._paragraph(run)
                text = child.tail
                run = [self.text(text)] if text and not text.isspace() else []
                found += self.block(child, role)
                continue
            _set_apart(run, text, child)
            if flow != "inline" or (len(child) and has_blocks(child)):
                piece = self._inline_or_blocks(child, role, run)
            elif role.is_plain and not is_looked_at:
                piece = role.inline(self, child, run)
            else:
                piece = self.inline(child, run, role)
            if isinstance(piece, list):
                found += [*self._paragraph(run), *piece]
                run = []
            elif piece:
                run.append(self._beside(run, piece))
            if text := child.tail:
                piece = self.text(text)
                run.append(self._behind(run, piece) if text[0] == "(" else piece)
        if run:
            found += self._paragraph(run)
        self.depth -= 1
        if self.growth is not None:
            self.growth.check(sum(map(len, found)))
        return found

    def _inline_or_blocks(self, element: _Element, role: Role, before: list[str]) -> Piece:
        """Return the piece that an element is among text, or its blocks where it has blocks inside."""
        if role.flow == "set in line":
            return self.line(element)
        if role.flow == "math" or not has_blocks(element):
            return self.inline(element, before, role)
        if not role.is_plain and classify(element, role.kind) is Kind.DROP:
            return []
        convert = AROUND_BLOCKS.get(element.tag)
        blocks = convert(self, element) if convert else None
        return self.block(element, role) if blocks is None else blocks

    def _paragraph(self, run: list[str]) -> list[str]:
        text = self.format.paragraph(run) if run else ""
        return [text] if text else []

    def block(self, element: _Element, role: Role | None = None) -> list[str]:
        """Return the blocks that one block element is."""
        role = self._role(element) if role is None else role
        if not role.is_plain:
            kind = classify(element, role.kind)
            if kind is Kind.DROP:
                is_kept = element.tag in WRAPPERS and self.is_the_page(element)
                return self.blocks(element) if is_kept else []
            if kind is not Kind.PLAIN and (blocks := BLOCK_KINDS[kind](self, element)) is not None:
                return blocks
        for convert in self.first_blocks:
            if (blocks := convert(self, element)) is not None:
                return blocks
        return role.block(self, element)

    def _titled(self, element: _Element) -> list[str]:
        """Return the first element of the class that the generator gives to the title of a page."""
        if self.title is not None:
            return BLOCK_TAGS.get(element.tag, Walk.blocks)(self, element)
        inner = self.line(element)
        self.title = self.shown(element) or None
        return [self.format.heading(1, inner)] if inner else []

    def shown(self, element: _Element) -> str:
        """Return the text of an element without its filtered descendants, which are emptied."""
        for child in list(element.iterdescendants()) if len(element) else ():
            if self.drops(child):
                empty(child)
        return plain_text(element)

    def code_block(self, text: str, holder: _Element) -> str:
        """Return a code block whose language is named by `holder` or what is around it."""
        language = code.code_language(holder)
        return self.format.code_block(
            text, "" if language == self.generator.unlabelled else language
        )

    def bold(self, line: str) -> str:
        """Return a line in bold, or as it is where it holds bold text."""
        return line if "**" in line else self.format.emphasis(line, "**", "", "")

    # Lines.

    def inline(self, element: _Element, before: list[str], role: Role | None = None) -> Piece:
        """Return `element` as an inline piece that follows the pieces `before`, or as a list of
        blocks.
        """
        role = self._role(element) if role is None else role
        if not role.is_plain:
            kind = classify(element, role.kind)
            if kind is Kind.DROP:
                return ""
            by_kind = INLINE_KINDS.get(kind)
            if by_kind and (piece := by_kind(self, element, before)) is not None:
                return piece
        for convert in self.first_inlines:
            if (piece := convert(self, element, before)) is not None:
                return piece
        return role.inline(self, element, before)

    def content(self, element: _Element, before: list[str] | None = None) -> str:
        """Return the content of an inline element."""
        if not len(element):
            return self.text(text) if (text := element.text) else ""
        return "".join(self.run(element))

    def line(self, element: _Element) -> str:
        """Return the whole content of an element as one line."""
        return self.format.line(self.run(element))

    def run(self, element: _Element) -> list[str]:
        """Return the inline pieces of an element's content; blocks in it are flattened."""
        if self.depth > _MAX_DEPTH:
            return [self.text(inner_text(element))]
        self.depth += 1
        pieces = [self.text(text)] if (text := element.text) else []
        is_looked_at = bool(self.first_inlines)
        for child in element:
            role = self._role(child)
            _set_apart(pieces, text, child)
            if role.is_plain and not is_looked_at:
                piece = role.inline(self, child, pieces)
            else:
                piece = self.inline(child, pieces, role)
            if isinstance(piece, list):
                pieces.append(" ".join(piece))
            elif piece:
                pieces.append(self._beside(pieces, piece))
            if text := child.tail:
                piece = self.text(text)
                pieces.append(self._behind(pieces, piece) if text[0] == "(" else piece)
        self.depth -= 1
        return pieces

    def _beside(self, before: list[str], piece: str) -> str:
        """Return the piece of an element as it follows others."""
        return self._behind(before, piece) if piece[0] == "(" else piece

    def _behind(self, before: list[str], piece: str) -> str:
        return self.format.behind_bracket(piece) if before and before[-1][-1:] == "]" else piece

    def _with_formulas(self, text: str) -> str:
        """Return character data with its white space collapsed and its TeX as it is, written for
        the format.
        """
        formulas = code.in_text(collapsed(text)) if "\\" in text or "$$" in text else None
        write = self.format.text, self.format.math
        return "".join(write[is_tex](part) for part, is_tex in formulas or [(text, False)])


_OF_ITS_OWN = frozenset({*HEADINGS, "dd", "div", "dt", "li", "p", "span", "summary", "td", "th"})
"""Elements whose children a style sheet may set apart, as boxes beside each other."""
_LOOKED_AT = 8
"""Number of characters at the ends of two elements that show whether they stand apart."""
_APART = re.compile(
    r"(?<!:):\0\w|(?:\A|[^\w.])\d[\d.,]{0,6}[+%]?\0[^\W\d_]{3}|(?:\A|\W)[A-Z]{3,7}\0/[\w{]"
    r"| \w+\.\0[A-Z][a-z]",
    re.ASCII,
)
"""A label and its value, a number and what it counts, a method of HTTP and its path, two sentences."""


def _set_apart(pieces: list[str], text: str | None, element: _Element) -> None:
    """Add a space before an element where a style sheet sets it apart; `text` stands right before it."""
    if not text and pieces and _stands_apart(element):
        pieces.append(" ")


def _stands_apart(element: _Element) -> bool:
    """Return True if only a style sheet sets an element apart from the one right before it: words
    of several kinds, and nothing else, are in a block or heading (name and type of a parameter).
    """
    before = element.getprevious()
    around = element.getparent()
    if before is None or around is None or around.tag not in _OF_ITS_OWN:
        return False
    is_headed = is_within(around, *HEADINGS)
    first = inner_text(before)[-_LOOKED_AT:]
    second = inner_text(element)[:_LOOKED_AT]
    if _APART.search(f"{first}\0{second}"):
        return True
    is_word = _are_words(first[-2:], second[:2], around.tag in HEADINGS)
    if not is_word or (around.tag == "span" and not is_headed):
        return False
    if next(islice(around, _FEW, None), None) is not None:  # lxml counts children one by one
        return False
    if around.tag == "p" and len(inner_text(around).split()) > 1:
        return False
    texts = (around.text, *(child.tail for child in around))
    kinds = {(child.tag, child.get("class")) for child in around}
    is_of_kinds = len(kinds) > 1 or (is_headed and around.tag == "div")
    return is_of_kinds and not any(text and not text.isspace() for text in texts)


def _are_words(end: str, begin: str, in_heading: bool) -> bool:
    """Say whether two letters each end a word and begin one."""
    if in_heading and end[:1] == ".":  # the last part of a number
        end = end[1:] * 2
    return end.isalnum() and begin.isalnum() and len(end) == len(begin) == 2


@lru_cache(maxsize=64)
def _roles_for(rules: Rules, title: str) -> dict[tuple[str, str | None], Role]:
    return {}
