"""Presentation MathML as TeX, where a page has no TeX of a formula (MathML Core,
https://www.w3.org/TR/mathml-core/).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml.etree import _Element

from llmsspider.web.loading import shipped_table

MAX_DEPTH = 60
"""Maximum depth of a formula; deeper parts are their text."""
_INVISIBLE = re.compile("[\u2061-\u2064\u200b]")
_ESCAPED = re.compile(r"[#$%&_{}]")
_NAMES = shipped_table("llmsspider.content.extraction", "mathml")
_ACCENTS: dict[str, str] = _NAMES["accents"]
_FUNCTIONS = frozenset(_NAMES["functions"])
_BRACKETS = {"{": "\\{", "}": "\\}"}


def tex(element: _Element, depth: int = 0) -> str:
    """Return the TeX of an element of MathML: powers, indices, fractions, roots and tables in it."""
    tag = element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""
    if depth > MAX_DEPTH or tag in _TOKENS:
        write = _TOKENS.get(tag, _text)
        return write(" ".join("".join(element.itertext()).split()))
    if tag.startswith("annotation") or not tag:
        return ""
    return _written(element, tag, depth)


def _written(element: _Element, tag: str, depth: int) -> str:
    parts = [tex(part, depth + 1) for part in element]
    if tag in _SHAPES and len(parts) == _SHAPES[tag][0]:
        return _SHAPES[tag][1](*parts)
    if tag == "mtable":
        rows = r" \\ ".join(parts)
        return rf"{{\begin{{matrix}}{rows}\end{{matrix}}}}"
    if tag in {"mtr", "mlabeledtr"}:
        return " & ".join(parts)
    if tag == "mfenced":
        marks = [element.get(name, mark) for name, mark in (("open", "("), ("close", ")"))]
        left, right = (_BRACKETS.get(mark, mark) or "." for mark in marks)
        return rf"\left{left} {', '.join(parts)} \right{right}"
    row = _joined([_text((element.text or "").strip()), *parts])
    return rf"\sqrt{{{row}}}" if tag == "msqrt" else row


def _joined(parts: list[str]) -> str:
    """Join parts; the name of a command ends before a letter."""
    row = ""
    for part in filter(None, parts):
        is_name = re.search(r"\\[A-Za-z]+\Z", row[-30:]) is not None and part[0].isalpha()
        row += f" {part}" if is_name else part
    return row


def _text(text: str) -> str:
    return _ESCAPED.sub(r"\\\g<0>", _INVISIBLE.sub("", text))


def _identifier(text: str) -> str:
    text = _text(text)
    if text in _FUNCTIONS:
        return f"\\{text}"
    return rf"\mathrm{{{text}}}" if len(text) > 1 and text.isalpha() else text


def _words(text: str) -> str:
    return rf"\text{{{_text(text)}}}" if text else " "


def _base(part: str) -> str:
    return part if len(part) == 1 or re.fullmatch(r"\\?\w+", part) else f"{{{part}}}"


def _power(base: str, power: str) -> str:
    return f"{_base(base)}^{{{power}}}" if power != "′" else f"{base}'"


def _over(base: str, mark: str) -> str:
    accent = _ACCENTS.get(mark)
    return rf"\{accent}{{{base}}}" if accent else rf"\overset{{{mark}}}{{{base}}}"


def _above(base: str, mark: str) -> str:
    return f"{base}^{{{mark}}}" if _is_large(base) else _over(base, mark)


def _below(base: str, mark: str) -> str:
    if _is_large(base):
        return f"{base}_{{{mark}}}"
    accent = _ACCENTS.get(mark)
    return rf"\{accent}{{{base}}}" if accent else rf"\underset{{{mark}}}{{{base}}}"


def _is_large(base: str) -> bool:
    """Return True for a sign with limits: a sum, an integral, `lim`."""
    return base in "∑∏∐∫∬∭∮⋃⋂⋁⋀" or base[1:] in _FUNCTIONS


_TOKENS: dict[str, Callable[[str], str]] = {
    "mi": _identifier,
    "mn": _text,
    "mo": _text,
    "ms": _words,
    "mtext": _words,
    "mspace": lambda _: " ",
}
_SHAPES: dict[str, tuple[int, Callable[..., str]]] = {
    "mfrac": (2, lambda above, below: rf"\frac{{{above}}}{{{below}}}"),
    "mroot": (2, lambda base, index: rf"\sqrt[{index}]{{{base}}}"),
    "msup": (2, _power),
    "msub": (2, lambda base, index: f"{_base(base)}_{{{index}}}"),
    "msubsup": (3, lambda base, index, power: f"{_base(base)}_{{{index}}}^{{{power}}}"),
    "mover": (2, _above),
    "munder": (2, _below),
    "munderover": (3, lambda base, under, over: f"{base}_{{{under}}}^{{{over}}}"),
}
"""How many parts an element has, and what is written of them."""
