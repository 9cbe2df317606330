"""Links that turn pages ("Next", "« previous | up | next »"): a block of nothing else is not content.

For pages of no known generator; generators name these blocks by a class.
"""

from __future__ import annotations

import re

from lxml.etree import _Element

from llmsspider.extraction.names import visible

_TURN = re.compile(
    r"\W*(?:(?:next|prev|previous|up)(?:\s+(?:page|chapter|section|topic|part))?\W*(?::.*)?|back to\b.*)",
    re.IGNORECASE,
)
"""What a link says that turns a page; after a colon the title of that page."""
_LABELS = frozenset(
    {"next", "prev", "previous", "up", "top", "contents", "index", "home", "back", "to", "page", "chapter", "section",
     "part", "of"}
)  # fmt: skip
"""Words that stand beside such links and say nothing else."""
_TURNING = frozenset({"next", "previous"})
"""Those of them that stand for a link of their own."""
_LEAST = 2
"""Links that turn, or labels of them, in a block that is nothing else."""
_LONGEST = 400
"""Characters that such a block has at most."""
_WORD = re.compile(r"[^\W\d_]+")


def without_page_turners(main: _Element) -> _Element:
    """Empty the blocks in `main` that only turn pages, and return `main`."""
    for link in list(main.iter("a")):
        if not _TURN.fullmatch(_label(link)):
            continue
        block = None
        for above in link.iterancestors():
            if above is main or len(visible(above)) > _LONGEST:
                break
            if _only_turns(above):
                block = above
        if block is not None:
            block.clear(keep_tail=True)
    return main


def _label(link: _Element) -> str:
    text = visible(link)
    image = None if text else next(link.iter("img"), None)
    return text if image is None else image.get("alt") or ""


def _only_turns(block: _Element) -> bool:
    if next(block.iter("h1", "h2", "h3", "h4", "pre"), None) is not None:
        return False
    labels = [_label(link) for link in block.iter("a")]
    beside = _WORD.findall(" ".join(_outside_links(block)).casefold())
    turns = sum(bool(_TURN.fullmatch(label)) for label in labels) + sum(word in _TURNING for word in beside)
    return turns >= _LEAST and _LABELS.issuperset(beside)


def _outside_links(element: _Element) -> list[str]:
    """Return the texts in `element` that are not in a link."""
    if element.tag == "a":
        return []
    texts = [element.text or ""]
    for child in element:
        texts += [*_outside_links(child), child.tail or ""]
    return texts
