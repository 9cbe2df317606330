"""Footnotes: `[^1]` where the text refers to one, `[^1]: …` where it is defined."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml.etree import XPath, _Element

from llmsspider.extraction.tree import inner_text, settable

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_REFERENCES = XPath(
    "descendant::a[starts-with(@href,'#') and (@role='doc-noteref' or @data-footnote-ref"
    " or (child::sup and starts-with(@href,'#FOOT'))"
    " or contains(@class,'footnote-ref') or contains(@class,'footnoteref') or @class='footnote'"
    " or (parent::sup and (starts-with(@href,'#fn') or starts-with(@href,'#footnote')"
    " or starts-with(@href,'#_footnote') or starts-with(@href,'#user-content-fn')"
    " or contains(parent::sup/@class,'footnote') or starts-with(parent::sup/@id,'fnref'))))]",
    smart_strings=False,
)
_BACK = re.compile(r"footnote-?back|backref|reversefootnote|fn-backref")
_BACK_SIGNS = frozenset({"↩", "↩︎", "↑", "^", "↵", "⏎", "back"})
_NOT_LABEL = re.compile(r"[^\w-]+")
_NOTE_TAGS = frozenset({"li", "div", "aside", "p", "section"})
_NOTE_HEADINGS = frozenset({"h3", "h4", "h5"})
"""What Texinfo sets above each footnote."""


def labels(main: _Element) -> dict[str, str]:
    """Return the footnotes that the text of `main` refers to: element id to label."""
    found: dict[str, str] = {}
    for link in _REFERENCES(main):
        if label := _NOT_LABEL.sub("", inner_text(link)):
            found.setdefault(link.get("href")[1:], label)
    return found


def reference(element: _Element, known: dict[str, str]) -> str | None:
    """Return the label of the footnote that `element` refers to, or None."""
    link = element
    if element.tag != "a":
        link = element[0] if len(element) == 1 and element[0].tag == "a" else None
        if link is None:
            return None
    href = link.get("href") or ""
    label = known.get(href[1:]) if href[:1] == "#" else None
    return label if label and _NOT_LABEL.sub("", inner_text(element)) == label else None


def definition(walk: Walk, element: _Element) -> list[str] | None:
    """Return the footnote that `element` defines, or the notes of a list of footnotes; None for anything else."""
    if element.tag in {"ol", "ul"} and len(element) and element[0].get("id") in walk.notes:
        return [note for child in element for note in _definition(walk, child)]
    if element.tag == "dl" and len(element) and element[0].get("id") in walk.notes:
        return _from_terms(walk, element)
    if element.tag in _NOTE_TAGS and element.get("id") in walk.notes:
        return _definition(walk, element)
    if element.tag in _NOTE_HEADINGS and len(element) == 1 and element[0].get("id") in walk.notes:
        return _below_heading(walk, element)
    return None


def _below_heading(walk: Walk, heading: _Element) -> list[str]:
    blocks = []
    for following in heading.itersiblings():
        if following.tag == heading.tag:
            break
        blocks += walk.block(following)
        following.clear(keep_tail=True)  # it comes next in the walk
    return [walk.format.footnote(walk.notes[heading[0].get("id")], blocks)] if blocks else []


def _from_terms(walk: Walk, element: _Element) -> list[str]:
    found, label = [], ""
    for child in element:
        if child.tag == "dt":
            label = walk.notes.get(child.get("id") or "", "")
        elif child.tag == "dd":
            _without_back_links(child)
            found.append(walk.format.footnote(label, walk.blocks(child)))
    return found


def _definition(walk: Walk, element: _Element) -> list[str]:
    label = walk.notes.get(element.get("id") or "")
    _without_back_links(element, label)
    blocks = walk.blocks(element)
    if label is None:
        return blocks
    return [walk.format.footnote(label, blocks)] if blocks else []


def _without_back_links(element: _Element, label: str | None = None) -> None:
    for child in list(element.iterdescendants("a", "sup", "span", "strong")):
        classes, shown = child.get("class") or "", inner_text(child).strip()
        if (
            label
            and child.tag == "a"
            and _NOT_LABEL.sub("", shown) == label
            and (child.get("href") or "").startswith("#")
            and (
                element[0] is child or (element[0].tag == "p" and len(element[0]) and element[0][0] is child)
            )
        ):
            child.tail = settable(child.tail).removeprefix(".")
            shown = "↩"
        is_back = _BACK.search(classes) or shown in _BACK_SIGNS or child.get("role") == "doc-backlink"
        is_label = (
            label and _NOT_LABEL.sub("", shown) == label and ("label" in classes or "brackets" in classes)
        )
        if is_back or is_label:
            child.clear(keep_tail=True)
            child.tag = "span"
    if label and element.text and element.text.strip(" .[]") == label:
        element.text = None
