"""Inline elements: links, images, code, emphasis, keys, sub- and superscripts, formulas, check boxes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction import anchors, code, footnotes, math
from llmsspider.extraction.names import FLATTENED, SKIPPED, inner_text
from llmsspider.extraction.rules import Kind

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_SPACE = re.compile(r"[ \t\n\r\f\v]+")
Piece = str | list[str]


def inline(walk: Walk, element: _Element, before: list[str]) -> Piece:
    """Return the inline piece that `element` is; a list where it turned out to be blocks (display math)."""
    tag = element.tag
    kind = walk.rules.kind(element) if element.keys() else Kind.PLAIN
    if kind is not Kind.PLAIN:
        if kind is Kind.DROP:
            return ""
        if kind is Kind.MATH and (piece := _formula(walk, element)) is not None:
            return piece
    if walk.notes and tag in {"a", "sup", "span"} and (label := footnotes.reference(element, walk.notes)):
        return f"[^{label}]"
    handler = _HANDLERS.get(tag)
    if handler:
        return handler(walk, element, before)
    return anchors.content(walk, element)


def _flat_block(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return a block inside a line (a paragraph in a cell): its content, parted from what is around."""
    inner = walk.format.line(walk.run(element))
    return f"\n{inner}\n" if inner else ""


def _flat_item(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = walk.format.line(walk.run(element))
    return f"\n- {inner}\n" if inner else ""


def _flat_pre(walk: Walk, element: _Element, before: list[str]) -> str:
    lines = [walk.format.code_span(line) for line in code.code_text(element).split("\n") if line.strip()]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _skipped(walk: Walk, element: _Element, before: list[str]) -> str:
    return ""


def _script(walk: Walk, element: _Element, before: list[str]) -> Piece:
    found = math.script_formula(element)
    if found is None:
        return ""
    return (
        [walk.format.math_block(found.tex)] if found.display else walk.format.math(_SPACE.sub(" ", found.tex))
    )


def _formula(walk: Walk, element: _Element) -> Piece | None:
    found = math.formula(element)
    if found is None:
        return None
    if not found.tex:
        return ""
    if found.display:
        return [walk.format.math_block(found.tex)]
    return walk.format.math(_SPACE.sub(" ", found.tex))


def _math(walk: Walk, element: _Element, before: list[str]) -> Piece:
    found = _formula(walk, element)
    return anchors.content(walk, element) if found is None else found


def _code(walk: Walk, element: _Element, before: list[str]) -> str:
    if len(element):
        if not walk.in_link and _holds_link(element):
            return _linked_code(walk, element)
        return _beside(before, _span(walk, inner_text(element)))
    return _beside(before, _span(walk, element.text or ""))


def _beside(before: list[str], span: str) -> str:
    """Return a code span; a space parts it from one right before it, else both would read as one span."""
    is_adjacent = bool(before) and before[-1][-1:] == span[:1] == before[-1][:1] == "`"
    return f" {span}" if is_adjacent else span


def _holds_link(element: _Element) -> bool:
    first = element[0]
    if len(element) == 1 and first.tag == "span" and not len(first):  # what Sphinx makes of every literal
        return False
    return any(link.get("href") for link in element.iter("a"))


def _span(walk: Walk, text: str) -> str:
    text = _SPACE.sub(" ", text).replace("\xa0", " ").replace("\u200b", "")
    stripped = text.strip()
    if not stripped:
        return text
    piece = walk.format.code_span(stripped)
    if len(stripped) == len(text):
        return piece
    return f"{' ' if text[0] == ' ' else ''}{piece}{' ' if text[-1] == ' ' else ''}"


def _linked_code(walk: Walk, element: _Element) -> str:
    """Return code with links in it: the links around code spans of their own."""
    pieces = [_span(walk, element.text)] if element.text else []
    for child in element:
        if child.tag == "a" and child.get("href"):
            pieces.append(anchors.link(walk, child, _span(walk, inner_text(child))))
        elif len(child) and walk.depth < 100:
            walk.depth += 1
            pieces.append(_linked_code(walk, child))
            walk.depth -= 1
        else:
            pieces.append(_span(walk, inner_text(child)))
        if child.tail:
            pieces.append(_span(walk, child.tail))
    return "".join(pieces)


def _emphasis(mark: str) -> Callable[[Walk, _Element, list[str]], str]:
    def handler(walk: Walk, element: _Element, before: list[str]) -> str:
        inner = anchors.content(walk, element)
        stripped = inner.strip(" \n")
        if not stripped:
            return " " if inner else ""
        if (
            mark == "**"
            and walk.in_heading
            and not before
            and not (element.tail or "").strip()
            and element.getnext() is None
        ):
            return inner
        if stripped.startswith(mark) and stripped.endswith(mark) and mark != "*":
            return inner
        lead = " " if inner[0] == " " else ""
        trail = " " if inner[-1] == " " else ""
        previous = "" if lead or not before else before[-1][-1:]
        following = "" if trail else (element.tail or "")[:1]
        return lead + walk.format.emphasis(stripped, mark, previous, following) + trail

    return handler


def _key(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = walk.format.line(walk.run(element))
    return (
        f"{walk.format.raw('<kbd>')}{inner}{walk.format.raw('</kbd>')}"
        if inner and "<kbd>" not in inner
        else inner
    )


def _raised(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = anchors.content(walk, element)
    if not inner.strip() or inner.startswith("[^"):
        return inner
    return f"{walk.format.raw(f'<{element.tag}>')}{inner}{walk.format.raw(f'</{element.tag}>')}"


def _break(walk: Walk, element: _Element, before: list[str]) -> str:
    return "\n"


def _quoted(walk: Walk, element: _Element, before: list[str]) -> str:
    return f"“{anchors.content(walk, element)}”"


def _icon(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return `<i>`: AsciiDoc's drawn check box, or emphasis."""
    classes = element.get("class") or ""
    if "fa-check-square" in classes:
        return walk.format.checkbox(checked=True)
    return walk.format.checkbox(checked=False) if "fa-square-o" in classes else _ITALIC(walk, element, before)


_ITALIC = _emphasis("*")


def _input(walk: Walk, element: _Element, before: list[str]) -> str:
    if (element.get("type") or "").lower() != "checkbox" or next(element.iterancestors("li"), None) is None:
        return ""
    return walk.format.checkbox(checked=element.get("checked") is not None)


_HANDLERS: dict[str, Callable[[Walk, _Element, list[str]], Piece]] = {
    "a": anchors.anchor,
    "img": anchors.image,
    "br": _break,
    "code": _code,
    "tt": _code,
    "samp": _code,
    "kbd": _key,
    "em": _emphasis("*"),
    "i": _icon,
    "strong": _emphasis("**"),
    "b": _emphasis("**"),
    "del": _emphasis("~~"),
    "s": _emphasis("~~"),
    "strike": _emphasis("~~"),
    "sub": _raised,
    "sup": _raised,
    "q": _quoted,
    "math": _math,
    "mjx-container": _math,
    "script": _script,
    "input": _input,
    "pre": _flat_pre,
    "li": _flat_item,
    **dict.fromkeys(FLATTENED, _flat_block),
    **dict.fromkeys(SKIPPED, _skipped),
}
