"""Converters of block elements of HTML: headings, code, quotes, thematic breaks, `<details>`, forms."""

from __future__ import annotations

from lxml.etree import _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.rules import CONTENTS_NAMES, Kind, holds_title
from llmsspider.content.extraction.tree import inner_text, letters_outside_links, plain_text
from llmsspider.content.extraction.walk import BLOCK_KINDS, BLOCK_TAGS, Walk, converts

_NO_QUOTES = frozenset({"SVInsetFlow", "SInsetFlow", "SubFlow"})
"""Classes of `<blockquote>` that only set text in (Scribble)."""
_NOTICE = 400
"""Letters outside links of a `<noscript>` that only says that scripts are needed."""
_FORM = 400
"""Characters of a form that is more than a form."""


_SEPARATORS = frozenset({"sep", "separator", "divider", "delimiter"})
"""Classes of empty elements that a page's style draws between the parts of a heading."""


@converts(BLOCK_TAGS, "h1", "h2", "h3", "h4", "h5", "h6")
def heading(walk: Walk, element: _Element) -> list[str]:
    """Return a heading; the first of level 1 is the title of the page."""
    outer, walk.in_heading = walk.in_heading, True
    for span in element.iter("span"):
        classes = span.get("class")
        if classes == "signature-attributes":  # JSDoc: attributes of a parameter, below its name
            span.tag = "sub"
        elif classes and not len(span) and not span.text and not _SEPARATORS.isdisjoint(classes.split()):
            span.text = " "
    _part_lines(element)
    inner = walk.line(element)
    if not inner and len(element) == 1:
        inner = walk.line(element[0])  # VuePress: the permalink is around the text
    if not inner and (button := element.find("button")) is not None:
        inner = walk.line(button)  # accordions
    walk.in_heading = outer
    if not inner:
        return []
    level, text = int(element.tag[1]), walk.shown(element)
    block = walk.format.heading(level, inner)
    walk.headings[block] = level
    walk.first_heading = walk.first_heading or text
    if text.lower() in CONTENTS_NAMES:
        walk.empty.add(block)
    elif level == 1 and walk.title is None:
        walk.title = text
    return [block]


def _part_lines(element: _Element) -> None:
    """Set a space between the spans that a heading is all made of, where the next one is several words.

    They are lines, as the page's style draws them: the name of a project and what it is, on a home page.
    """
    if len(element) < 2 or (element.text or "").strip():
        return
    if any(child.tag != "span" or (child.tail or "").strip() for child in element):
        return
    for child in element.iterchildren():
        after = child.getnext()
        words = inner_text(after).split() if after is not None and not child.tail else []
        if len(words) > 1 and words[0][0].isalnum() and inner_text(child)[-1:].isalnum():
            child.tail = " "


@converts(BLOCK_TAGS, "pre")
def listing(walk: Walk, element: _Element) -> list[str]:
    """Return a block of code."""
    text = code.code_text(element)
    return [walk.code_block(text, element)] if text else []


converts(BLOCK_KINDS, Kind.CODE)(listing)


@converts(BLOCK_TAGS, "blockquote")
def quote(walk: Walk, element: _Element) -> list[str]:
    """Return a quote."""
    inner = walk.blocks(element)
    if element.get("class") in _NO_QUOTES:
        return inner
    return [walk.format.quote(inner)] if inner else []


@converts(BLOCK_TAGS, "hr")
def rule(walk: Walk, element: _Element) -> list[str]:
    """Return a thematic break, unless it sets off footnotes."""
    if walk.notes and _is_footnotes(element, element.getparent(), element.getnext()):
        return []
    return [walk.format.rule()]


def _is_footnotes(*elements: _Element | None) -> bool:
    """Return True if one of `elements` is a list of footnotes, or holds it."""
    known = [element for element in elements if element is not None]
    marks = [f"{element.get('class')} {element.get('id')} {element.get('role')}" for element in known]
    return any("footnote" in mark or "doc-endnotes" in mark for mark in marks)


@converts(BLOCK_TAGS, "details")
def details(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of a `<details>`: its summary, then its content."""
    found = []
    for child in element:
        if child.tag == "summary":
            if not walk.drops(child):
                found += _summary(walk, child)
            child.clear(keep_tail=True)
            child.tag = "span"
            break
    return found + walk.blocks(element)


def _summary(walk: Walk, element: _Element) -> list[str]:
    """Return the summary of a `<details>`: in bold, or as the heading that it holds."""
    if next(element.iter("h1", "h2", "h3", "h4", "h5", "h6"), None) is not None:
        return walk.blocks(element)
    line = walk.line(element)
    return [walk.format.paragraph([walk.bold(line)])] if line else []


@converts(BLOCK_TAGS, "footer")
def footer(walk: Walk, element: _Element) -> list[str]:
    """Return the footer of a quote or figure; any other is not content."""
    parent = element.getparent()
    quoted = parent is not None and parent.tag in {"blockquote", "figure"}
    return walk.blocks(element) if quoted else []


@converts(BLOCK_TAGS, "form")
def form(walk: Walk, element: _Element) -> list[str]:
    """Return a form that holds much text, or the title of the page."""
    return walk.blocks(element) if len(plain_text(element)) > _FORM or holds_title(element) else []


@converts(BLOCK_TAGS, "noscript")
def unscripted(walk: Walk, element: _Element) -> list[str]:
    """Return the content of a `<noscript>`, unless that is only a notice."""
    return walk.blocks(element) if letters_outside_links(element) > _NOTICE else []


@converts(BLOCK_TAGS, "nav", "legend")
def nothing(walk: Walk, element: _Element) -> list[str]:
    """Return no blocks: navigation and the names of forms are not content."""
    return []


@converts(BLOCK_KINDS, Kind.MATH)
def formula(walk: Walk, element: _Element) -> list[str] | None:
    """Return a formula that is a block, or None for an element that only has a class of math."""
    found = code.formula(element)
    if found is None:
        return None
    return [walk.format.math_block(found.tex)] if found.tex else []
