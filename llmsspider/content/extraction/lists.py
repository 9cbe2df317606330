"""Lists: bulleted, numbered (start and values kept), nested, tight or loose; definition lists and
API signatures.
"""

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, takewhile

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.formats import Items
from llmsspider.content.extraction.rules import Kind
from llmsspider.content.extraction.tree import (
    HEADINGS,
    INLINE,
    SKIPPED,
    broken_text,
    has_blocks,
    holds,
    inner_text,
    remove_elements,
    settable,
    visible,
)
from llmsspider.content.extraction.walk import BLOCK_KINDS, BLOCK_TAGS, Walk, converts

_LISTS_SECTIONS = XPath("boolean(*/section | */h1 | */h2 | */h3)")
"""Whether children of the items tell a list of page sections (Javadoc, cards) from a list of
points.
"""
_FRAMES = frozenset({"blockList", "blockListLast"})
"""Classes of lists that set sections in (Javadoc to version 12)."""
_BELOW = frozenset({"ul", "ol", "div", "p", "pre"})
"""Elements between items that belong to the item before them."""
_LIST = re.compile(r"[-*] |\d+[.)] |<[uo]l")


@converts(BLOCK_TAGS, "ul", "ol", "menu")
def listing(walk: Walk, element: _Element) -> list[str]:
    """Return a `<ul>` or `<ol>` as one block."""
    if element.get("class") in _FRAMES or _LISTS_SECTIONS(element):
        return [block for item in element for block in walk.blocks(item)]
    _take_in(element)
    read = _ListReader(walk, *_numbering(element))
    read.add_text(element.text)
    for child in element:
        if child.tag == "li":
            read.add_item(child)
        elif isinstance(child.tag, str) and child.tag not in SKIPPED:
            read.add_other(child)
        read.add_text(child.tail)
    if not any(read.items):
        return []
    numbers = read.numbers if element.tag == "ol" else None
    return [walk.format.items(Items(read.items, numbers, read.tight, _follows_list(walk, element)))]


def _take_in(listing: _Element) -> None:
    """Take the items of the lists right behind a list into it, that are written as a list each."""
    for below in list(takewhile(partial(_goes_on, listing), listing.itersiblings())):
        listing.extend(list(below))


def _goes_on(listing: _Element, below: _Element) -> bool:
    before = below.getprevious()
    if below.tag != listing.tag or not below.get("class") or (before.tail or "").strip():
        return False
    is_alike = below.get("class") == listing.get("class")
    is_one = len(below) == 1 and below[0].tag == "li"
    return is_alike and is_one and (below.tag == "ul" or below.get("start", "1") != "1")


@dataclass(slots=True)
class _ListReader:
    """The items of a list as they are read, each with its number."""

    walk: Walk
    number: int
    """Number of the next item."""
    step: int
    items: list[list[str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    tight: bool = True

    def add_item(self, item: _Element) -> None:
        """Add an `<li>`; nothing but a list belongs to the item before it (Javadoc's inheritance)."""
        self.number = _number(item.get("value"), self.number)
        blocks = self.walk.block(item)
        if blocks and self.items and _is_only_list(item):
            self.items[-1].extend(blocks)
        elif blocks or _is_empty(item):
            # one line of text, with lists below it or not
            is_tight = len(item.findall("p")) < 2 and all(map(_LIST.match, blocks[1:]))
            self.tight = self.tight and is_tight
            self._add(blocks)
            self.number += self.step

    def add_other(self, element: _Element) -> None:
        """Add what stands between items, which browsers show: to the item before, or beside it."""
        is_below = element.tag in _BELOW
        if self.items and is_below:
            self.items[-1].extend(self.walk.block(element))
        elif blocks := self.walk.blocks(element) if is_below else _loose(self.walk, element):
            self._add(blocks)

    def add_text(self, text: str | None) -> None:
        """Add text directly in the list, which browsers show, as an item."""
        if text and not text.isspace():
            self._add([self.walk.format.paragraph([self.walk.text(text)])])
            self.number += 1

    def _add(self, blocks: list[str]) -> None:
        self.items.append(blocks)
        self.numbers.append(self.number)


def _is_only_list(item: _Element) -> bool:
    is_list = len(item) == 1 and item[0].tag in {"ul", "ol"}
    return is_list and not (item.text or item[0].tail or "").strip()


def _loose(walk: Walk, element: _Element) -> list[str]:
    if walk.drops(element) or element.tag == "script":
        return []
    if element.tag in INLINE and not has_blocks(element):
        piece = walk.inline(element, [])
        return (
            piece
            if isinstance(piece, list)
            else [walk.format.paragraph([piece])]
            if piece.strip()
            else []
        )
    return walk.block(element)


def _is_empty(item: _Element) -> bool:
    """Return True for an item that the author left empty; one with a filtered part is none."""
    return not len(item) and not (item.text or "").strip()


def _numbering(element: _Element) -> tuple[int, int]:
    """Return the first number of a list, and the step to the next (HTML standard 4.4.5: reversed)."""
    if element.get("reversed") is None:
        return _number(element.get("start"), 1), 1
    return _number(element.get("start"), len(element.findall("li"))), -1


def _number(value: str | None, default: int) -> int:
    return int(value) if value and value.isdigit() and len(value) < 10 else default


def _follows_list(walk: Walk, element: _Element) -> bool:
    """Return True if a list of the same kind ends right before this one: the markers must differ to
    separate them.
    """
    previous = element.getprevious()
    if previous is None or previous.tag != element.tag or (previous.tail or "").strip():
        return False
    if previous not in walk.alternate:
        walk.alternate.add(element)
    return element in walk.alternate


def entries_as_items(element: _Element) -> None:
    """Make a `<dl>` that lists the parts of a book a bullet list; what a `<dd>` holds goes below
    its `<dt>`.
    """
    element.tag = "ul"
    item: _Element | None = None
    for child in list(element):
        if child.tag == "dt":
            child.tag = "li"
            item = child
        elif child.tag == "dd":
            child.tag = "li" if item is None else "div"
            if item is not None:
                item.append(child)


# Definition lists, and the signatures that API documentation puts into them. A term with
# one-paragraph definitions is written as PHP Markdown Extra has it (`Term`, `: definition`), which
# plain readers show well. A definition with code, lists or several paragraphs would need an indent
# that a CommonMark reader takes for code, so there the term is a bold line and the definition
# follows as it is.

_SIGNS = frozenset({"#", "¶", "§", "🔗"})
"""What a link from a signature to itself shows."""
_SIGNATURE_BREAKS = 2
"""Line breaks that a signature can have where it is set as a listing."""
_BLOCK_START = re.compile(r"(?:[-*+>|] |#+ |\d+[.)] |```|\$\$|---|: )")


@dataclass(slots=True)
class _Entry:
    """Terms that share definitions, which are `inline` if each is one line; `loose` are blocks that
    are neither.
    """

    terms: list[str] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    inline: bool = True


@converts(BLOCK_TAGS, "dl")
def definition_list(walk: Walk, element: _Element) -> list[str]:
    """Return a `<dl>` as blocks."""
    entries = _read(walk, element)
    bodies = (blocks for entry in entries for blocks in entry.bodies)
    short = all(
        len(blocks) == 1 and not _BLOCK_START.match(blocks[0]) and "\n: " not in blocks[0]
        for blocks in bodies
    )
    return [block for entry in entries for block in _write(walk, entry, short)]


def _read(walk: Walk, element: _Element) -> list[_Entry]:
    entries = [_Entry()]
    _set_bodies(element)
    # HTML allows a `<div>` around each group
    groups = (
        list(child) if child.tag == "div" and _holds_entries(child) else [child]
        for child in element
    )
    for child in [child for group in groups for child in group]:
        if child.tag == "dt":
            if entries[-1].bodies or entries[-1].loose:
                entries.append(_Entry())
            _read_term(walk, child, entries[-1])
        elif child.tag == "dd":
            if blocks := walk.block(child):
                entries[-1].bodies.append(blocks)
                entries[-1].inline &= len(blocks) == 1 and child.find("p") is None
        elif isinstance(child.tag, str):
            entries.append(_Entry(loose=walk.block(child)))
    return entries


def _read_term(walk: Walk, term: _Element, entry: _Entry) -> None:
    kind = walk.kind(term)
    is_code = kind is Kind.PLAIN and _is_only_code(term)
    if is_code and inner_text(term).strip().count("\n") > _SIGNATURE_BREAKS:
        entry.loose += walk.block(term[0])
    elif is_code or kind is Kind.SIGNATURE:
        entry.loose += signature(walk, term)
    elif kind is Kind.DROP:
        return
    elif len(term) and holds(term, *HEADINGS):
        entry.loose += walk.blocks(term)
    elif line := walk.line(_with_delimiters(term)):
        entry.terms.append(line.replace("\n", " "))


def _is_only_code(term: _Element) -> bool:
    """Say whether a term is nothing but a block of code (Nim)."""
    return len(term) == 1 and term[0].tag == "pre" and not (term.text or "").strip()


def _set_bodies(element: _Element) -> None:
    """Wrap text and inline elements directly in a `<dl>` into a `<dd>`: browsers show them."""
    body: _Element | None = None
    if _says(element.text):
        body = element.makeelement("dd", {})
        body.text = settable(element.text)
        element.text = None
        element.insert(0, body)
    for child in element[0 if body is None else 1 :]:
        if not isinstance(child.tag, str):
            continue
        if child.tag in INLINE or (
            body is not None and child.tag in _BELOW and not _holds_entries(child)
        ):
            if body is None:
                body = element.makeelement("dd", {})
                child.addprevious(body)
            body.append(child)
            continue
        body = None
        if _says(child.tail):
            body = element.makeelement("dd", {})
            body.text = settable(child.tail)
            child.tail = None
            child.addnext(body)


def _says(text: str | None) -> bool:
    return bool(text) and not str(text).isspace()


def _holds_entries(element: _Element) -> bool:
    return any(part.tag in {"dt", "dd"} for part in element)


def _with_delimiters(term: _Element) -> _Element:
    """Set the colon before each classifier of a term (docutils) that the page's style shows."""
    for classifier in term.iter("span"):
        if classifier.get("class") != "classifier":
            continue
        before = classifier.getprevious()
        if before is None:
            term.text = f"{settable(term.text).rstrip()} : "
        elif before.get("class") != "classifier-delimiter":
            before.tail = f"{settable(before.tail).rstrip()} : "
    return term


def _write(walk: Walk, entry: _Entry, short: bool) -> list[str]:
    terms = entry.terms
    bodies = entry.bodies
    flat = [*entry.loose, *chain.from_iterable(bodies)]
    if not terms:
        return flat
    if walk.generator.definitions == "list":
        if entry.inline and bodies and not entry.loose:
            return [
                walk.format.items(Items([[f"{' '.join(terms)} : {bodies[0][0]}"]], tight=False))
            ]
        items = [[*(walk.format.paragraph([term.rstrip(":") + ":"]) for term in terms), *flat]]
        return [walk.format.items(Items(items, tight=False))]
    if short and bodies and not entry.loose:
        return [walk.format.definition(terms, [blocks[0] for blocks in bodies])]
    return [*(walk.format.paragraph([walk.bold(term)]) for term in terms), *flat]


def signature(walk: Walk, element: _Element) -> list[str]:
    """Return the signature of a function, class or member as a paragraph of code."""
    remove_elements(
        [
            part
            for part in element.iter("a", "button", "span", "label")
            if walk.drops(part) or (part.tag == "a" and visible(part) in _SIGNS)
        ]
    )
    text = " ".join(broken_text(element).split()).strip(" ¶")
    return [walk.format.paragraph([walk.format.code_span(text)])] if text else []


converts(BLOCK_KINDS, Kind.SIGNATURE)(signature)
