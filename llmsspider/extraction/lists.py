"""Lists: bulleted, numbered (start and values kept), nested, tight or loose as the page has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction.formats import Items
from llmsspider.extraction.rules import Kind

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_SECTIONS = frozenset({"section", "h1", "h2", "h3"})
"""Children of an item that tell a list of page sections (Javadoc, cards) from a list of points."""
_FRAMES = frozenset({"blockList", "blockListLast"})
"""Classes of lists that set sections in (Javadoc to version 12)."""
_LIST = re.compile(r"[-*] |\d+[.)] |<[uo]l")


def listing(walk: Walk, element: _Element) -> list[str]:
    """Return a `<ul>` or `<ol>` as one block."""
    if element.get("class") in _FRAMES or any(part.tag in _SECTIONS for item in element for part in item):
        return [block for item in element for block in walk.blocks(item)]
    items: list[list[str]] = []
    numbers: list[int] = []
    tight = True
    number = _number(element.get("start"), 1)
    for child in element:
        if child.tag == "li":
            number = _number(child.get("value"), number)
            if walk.rules.kind(child) is Kind.DROP:
                continue
            blocks = walk.block(child)
            if not blocks:
                continue
            if items and _is_nested_alone(child):
                items[-1].extend(blocks)
                continue
            tight = tight and _is_tight(child, blocks)
            items.append(blocks)
            numbers.append(number)
            number += 1
        elif isinstance(child.tag, str) and items and child.tag in {"ul", "ol", "div", "p", "pre"}:
            items[-1].extend(walk.block(child))
        elif child.tag in {"ul", "ol", "div", "p", "pre", "a", "span"} and (blocks := walk.blocks(child)):
            items.append(blocks)
            numbers.append(number)
    if not items:
        return []
    return [
        walk.format.items(
            Items(items, numbers if element.tag == "ol" else None, tight, alternate=_follows_list(element))
        )
    ]


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
