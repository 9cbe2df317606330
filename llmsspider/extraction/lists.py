"""Lists: bulleted, numbered (start and values kept), nested, tight or loose as the page has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction import inlines
from llmsspider.extraction.formats import Items
from llmsspider.extraction.rules import Kind
from llmsspider.extraction.tree import INLINE, SKIPPED, has_blocks

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_SECTIONS = frozenset({"section", "h1", "h2", "h3"})
"""Children of an item that tell a list of page sections (Javadoc, cards) from a list of points."""
_FRAMES = frozenset({"blockList", "blockListLast"})
"""Classes of lists that set sections in (Javadoc to version 12)."""
_BELOW = frozenset({"ul", "ol", "div", "p", "pre"})
"""Elements between items that belong to the item before them."""
_LIST = re.compile(r"[-*] |\d+[.)] |<[uo]l")


def listing(walk: Walk, element: _Element) -> list[str]:
    """Return a `<ul>` or `<ol>` as one block."""
    if element.get("class") in _FRAMES or _lists_sections(element):
        return [block for item in element for block in walk.blocks(item)]
    items: list[list[str]] = []
    numbers: list[int] = []
    tight = True
    number = _number(element.get("start"), 1)
    if stray := _stray(walk, element.text):
        items.append(stray)
        numbers.append(number)
        number += 1
    for child in element:
        if child.tag == "li":
            number = _number(child.get("value"), number)
            blocks = [] if walk.rules.kind(child) is Kind.DROP else walk.block(child)
            if blocks and items and _is_nested_alone(child):
                items[-1].extend(blocks)
            elif blocks:
                tight = tight and _is_tight(child, blocks)
                items.append(blocks)
                numbers.append(number)
                number += 1
        elif isinstance(child.tag, str) and child.tag not in SKIPPED:
            if items and child.tag in _BELOW:
                items[-1].extend(walk.block(child))
            elif blocks := walk.blocks(child) if child.tag in _BELOW else _loose(walk, child):
                items.append(blocks)
                numbers.append(number)
        if stray := _stray(walk, child.tail):
            items.append(stray)
            numbers.append(number)
            number += 1
    if not items:
        return []
    return [
        walk.format.items(
            Items(items, numbers if element.tag == "ol" else None, tight, alternate=_follows_list(element))
        )
    ]


def _lists_sections(element: _Element) -> bool:
    return next(element.iter(*_SECTIONS), None) is not None and any(
        part.tag in _SECTIONS for item in element for part in item
    )


def _stray(walk: Walk, text: str | None) -> list[str]:
    """Return text that stands in a list and in no item of it: browsers show it."""
    return [walk.format.paragraph([walk.text(text)])] if text and not text.isspace() else []


def _loose(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of an element that stands in a list and in no item of it."""
    if walk.rules.kind(element) is Kind.DROP or element.tag == "script":
        return []
    if element.tag in INLINE and not has_blocks(element):
        piece = inlines.inline(walk, element, [])
        return piece if isinstance(piece, list) else [walk.format.paragraph([piece])] if piece.strip() else []
    return walk.block(element)


def _is_nested_alone(item: _Element) -> bool:
    """Return True for an item that is nothing but a list: it belongs to the item before it (Javadoc's inheritance)."""
    return len(item) == 1 and item[0].tag in {"ul", "ol"} and not (item.text or item[0].tail or "").strip()


def _is_tight(item: _Element, blocks: list[str]) -> bool:
    """Return True for an item of one line of text, with lists below it or not."""
    return sum(part.tag == "p" for part in item) <= 1 and all(_LIST.match(block) for block in blocks[1:])


def _number(value: str | None, default: int) -> int:
    return int(value) if value and value.isdigit() and len(value) < 10 else default


def _follows_list(element: _Element) -> bool:
    """Return True if a list of the same kind ends right before this one: the markers must differ to part them."""
    previous = element.getprevious()
    return (
        previous is not None
        and previous.tag == element.tag
        and not (previous.tail or "").strip()
        and not _follows_list(previous)
    )


def entries_as_items(element: _Element) -> None:
    """Make a `<dl>` that lists the parts of a book a bullet list; what a `<dd>` holds goes below its `<dt>`."""
    element.tag = "ul"
    item: _Element | None = None
    for child in list(element):
        if child.tag == "dt":
            child.tag, item = "li", child
        elif child.tag == "dd":
            child.tag = "li" if item is None else "div"
            if item is not None:
                item.append(child)
