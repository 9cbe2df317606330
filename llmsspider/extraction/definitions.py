"""Definition lists, and the signatures that API documentation puts into them.

A term with one-paragraph definitions is written as PHP Markdown Extra has it (`Term`, `: definition`), which
plain readers show well. A definition with code, lists or several paragraphs would need an indent that a
CommonMark reader takes for code, so there the term is a bold line and the definition follows as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction.formats import Items
from llmsspider.extraction.names import inner_text, settable
from llmsspider.extraction.rules import Kind

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_SPACE = re.compile(r"\s+")
_SIGNATURE_BREAKS = 2
"""Line breaks that a signature can have where it is set as a listing."""
_BLOCK_START = re.compile(r"(?:[-*+>|] |#+ |\d+[.)] |```|\$\$|---|: )")


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(slots=True)
class _Entry:
    """Terms that share definitions; `signature` is the block of an API signature."""

    terms: list[str] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    inline: bool = True


def definition_list(walk: Walk, element: _Element) -> list[str]:
    """Return a `<dl>` as blocks."""
    entries = _read(walk, element)
    short = all(_is_short(entry) for entry in entries)
    return [block for entry in entries for block in _write(walk, entry, short)]


def _read(walk: Walk, element: _Element) -> list[_Entry]:
    entries = [_Entry()]
    for child in _entries(element):
        if child.tag == "dt":
            kind = walk.rules.kind(child)
            if entries[-1].bodies or entries[-1].loose:
                entries.append(_Entry())
            if kind is Kind.PLAIN and _is_listing(child) and _is_long(child):
                entries[-1].loose += walk.block(child[0])
            elif kind is Kind.SIGNATURE or (kind is Kind.PLAIN and _is_listing(child)):
                entries[-1].loose += signature(walk, child)
            elif kind is not Kind.DROP and next(child.iter(*_HEADINGS), None) is not None:
                entries[-1].loose += walk.blocks(child)
            elif kind is not Kind.DROP and (term := walk.line(_with_delimiters(child))):
                entries[-1].terms.append(term.replace("\n", " "))
        elif child.tag == "dd":
            if blocks := walk.block(child):
                entries[-1].bodies.append(blocks)
                entries[-1].inline &= len(blocks) == 1 and child.find("p") is None
        elif isinstance(child.tag, str):
            entries.append(_Entry(loose=walk.block(child)))
    return entries


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


def _entries(element: _Element) -> list[_Element]:
    """Return the terms and definitions, out of the `<div>`s that HTML allows around groups."""
    entries: list[_Element] = []
    for child in element:
        if child.tag == "div" and any(part.tag in {"dt", "dd"} for part in child):
            entries.extend(child)
        else:
            entries.append(child)
    return entries


def _is_listing(term: _Element) -> bool:
    """Return True for a term that is nothing but a block of code (Nim)."""
    return len(term) == 1 and term[0].tag == "pre" and not (term.text or "").strip()


def _is_long(term: _Element) -> bool:
    """Return True for code whose lines matter: the members of a type, not a broken signature."""
    return inner_text(term).strip().count("\n") > _SIGNATURE_BREAKS


def _is_short(entry: _Entry) -> bool:
    return all(
        len(blocks) == 1 and not _BLOCK_START.match(blocks[0]) and "\n: " not in blocks[0]
        for blocks in entry.bodies
    )


def _write(walk: Walk, entry: _Entry, short: bool) -> list[str]:
    terms, bodies = entry.terms, entry.bodies
    flat = [*entry.loose, *(block for blocks in bodies for block in blocks)]
    if not terms:
        return flat
    if walk.generator.definitions == "list":
        if entry.inline and bodies and not entry.loose:
            return [walk.format.items(Items([[f"{' '.join(terms)} : {bodies[0][0]}"]], tight=False))]
        items = [[*(walk.format.paragraph([term.rstrip(":") + ":"]) for term in terms), *flat]]
        return [walk.format.items(Items(items, tight=False))]
    if short and bodies and not entry.loose:
        return [walk.format.definition(terms, [blocks[0] for blocks in bodies])]
    return [*(walk.format.paragraph([bold(walk, term)]) for term in terms), *flat]


def bold(walk: Walk, line: str) -> str:
    """Return a line in bold, or as it is where it holds bold text."""
    return line if "**" in line else walk.format.emphasis(line, "**", "", "")


def signature(walk: Walk, element: _Element) -> list[str]:
    """Return the signature of a function, class or member as a paragraph of code."""
    for child in list(element.iter("a", "button", "span", "label")):
        if walk.rules.kind(child) is Kind.DROP or (
            child.tag == "a" and "viewcode" in (child.get("class") or "")
        ):
            parent = child.getparent()
            if parent is not None:
                _drop(child, parent)
    text = _SPACE.sub(" ", inner_text(element)).strip(" ¶#")
    return [walk.format.paragraph([walk.format.code_span(text)])] if text else []


def _drop(child: _Element, parent: _Element) -> None:
    if child.tail:
        previous = child.getprevious()
        if previous is None:
            parent.text = settable(parent.text) + settable(child.tail)
        else:
            previous.tail = settable(previous.tail) + settable(child.tail)
    parent.remove(child)
