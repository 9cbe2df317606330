"""Removal of pagination: blocks of nothing but links such as "Next" or "« previous | up | next »".

For pages of no known generator; generators name these blocks by a class.
"""

from __future__ import annotations

import re
from collections import Counter
from copy import copy
from itertools import islice, takewhile

from lxml.etree import _Element

from llmsspider.content.extraction.rules import WRAPPERS
from llmsspider.content.extraction.tree import INLINE, has_blocks, settable, visible

_PAGE_TURN = re.compile(
    r"\W*(?:(?:next|prev|previous|up)(?:\s+(?:page|chapter|section|topic|part))?\W*(?::.*)?|back to\b.*)",
    re.IGNORECASE,
)
"""The text of a link to the next or previous page; after a colon the title of that page."""
_LABELS = frozenset(
    {"next", "prev", "previous", "up", "top", "contents", "index", "home", "back", "to", "page", "chapter", "section",
     "part", "of", "table"}
)  # fmt: skip
"""Words beside links to other pages of a sequence that are not content."""
_OVERVIEW = re.compile(r"\W*(?:(?:table of )?contents|index|home)\W*", re.IGNORECASE)
"""The text of a link to a list of the pages; it counts only beside a link to the next or previous page."""
_TURN_WORDS = frozenset({"next", "previous"})
"""Words of `_LABELS` that count like a link to the next or previous page, though they are outside of links."""
_LEAST = 2
"""Minimum number of links and words that count in a block of pagination."""
_ROW = 4
"""Minimum number of links in a row of numbers."""
_SHORT = 3
"""Maximum length in characters of a label in such a row: a number, a letter, or an abbreviation such as `Ind`."""
_LONGEST = 400
"""Maximum length of a block of pagination in characters."""
_WORD = re.compile(r"[^\W\d_]+")


def without_pagination(main: _Element) -> _Element:
    """Empty the blocks of pagination in `main`, and return `main`."""
    numbers: Counter[_Element] = Counter()
    for link in list(main.iter("a")):
        label = _label(link)
        if len(label) <= _SHORT and label.isalnum() and (parent := link.getparent()) is not None:
            numbers[parent] += 1
        if not _PAGE_TURN.fullmatch(label):
            continue
        block = None
        for above in link.iterancestors():
            if above is main or len(visible(above)) > _LONGEST:
                break
            if _is_pagination(above):
                block = above
        if block is not None:
            block.clear(keep_tail=True)
        else:
            _clear_line(link, main)
    for block, links in numbers.items():
        if links >= _ROW and block is not main and _is_row_of_numbers(block):
            block.clear(keep_tail=True)
    return main


def _clear_line(link: _Element, main: _Element) -> None:
    """Empty the line of a link that is directly between blocks, in no block of its own, if it is pagination."""
    parent = link.getparent()
    if parent is None or not (parent is main or parent.tag in WRAPPERS):
        return
    before = list(islice(takewhile(_is_inline, link.itersiblings(preceding=True)), _LONGEST))[::-1]
    line = [*before, link, *islice(takewhile(_is_inline, link.itersiblings()), _LONGEST)]
    above = line[0].getprevious()
    lead = parent.text if above is None else above.tail
    if len(line) > _LONGEST or sum(len(visible(part)) for part in line) > _LONGEST:
        return
    made = parent.makeelement("p", {})
    made.text = settable(lead)
    for part in line:
        made.append(copy(part))
    if not _is_pagination(made):
        return
    if above is None:
        parent.text = None
    else:
        above.tail = None
    for part in line:
        part.clear()


def _is_inline(element: _Element) -> bool:
    return element.tag in INLINE and not has_blocks(element)


def _is_row_of_numbers(block: _Element) -> bool:
    """Return True for a row of links to the chapters of a book by their numbers and letters."""
    labels = [_label(link).casefold() for link in block.iter("a")]
    beside = _WORD.findall(" ".join(_outside_links(block)).casefold())
    return (
        ({"1", "2"}.issubset(labels) or ("1" in labels and "chapter" in beside))
        and all(label.isalnum() and (len(label) <= _SHORT or label in _LABELS) for label in labels)
        and all("#" not in (link.get("href") or "") for link in block.iter("a"))
        and (_LABELS | {"go", "goto"}).issuperset(beside)
    )


def _label(link: _Element) -> str:
    text = visible(link)
    image = None if text else next(link.iter("img"), None)
    return text if image is None else image.get("alt") or ""


def _is_pagination(block: _Element) -> bool:
    if next(block.iter("h1", "h2", "h3", "h4", "pre"), None) is not None:
        return False
    labels = [_label(link) for link in block.iter("a")]
    beside = _WORD.findall(" ".join(_outside_links(block)).casefold())
    turns = sum(bool(_PAGE_TURN.fullmatch(label)) for label in labels) + sum(
        word in _TURN_WORDS for word in beside
    )
    turns += sum(bool(_OVERVIEW.fullmatch(label)) for label in labels) if turns else 0
    return turns >= _LEAST and _LABELS.issuperset(beside)


def _outside_links(element: _Element) -> list[str]:
    """Return the texts in `element` outside of links."""
    if element.tag == "a":
        return []
    texts = [element.text or ""]
    for child in element:
        texts += [*_outside_links(child), child.tail or ""]
    return texts
