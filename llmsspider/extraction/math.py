"""Math as TeX: MathML annotations, KaTeX, MathJax, and the `math` classes of Sphinx, pandoc and AsciiDoc."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml.etree import XPath, _Element

from llmsspider.extraction.names import inner_text

_ANNOTATION = XPath(
    "string((descendant::annotation[@encoding='application/x-tex' or @encoding='TeX'] | descendant::annotation)[1])",
    smart_strings=False,
)
_MATHJAX_SCRIPT = XPath(
    "boolean(descendant::script[starts-with(@type,'math/tex')]"
    " | following-sibling::script[starts-with(@type,'math/tex')])"
)
_DELIMITED = re.compile(
    r"\A\s*(?:\\\((?P<i>.*)\\\)|\\\[(?P<d>.*)\\\]|\$\$(?P<dd>.*)\$\$|\$(?P<ii>.*)\$|(?P<b>\\begin\{.*\}))\s*\Z",
    re.DOTALL,
)
_TEX = re.compile(r"[\\^_{}$]")
"""What a formula has and the word LaTeX has not."""
_DRAWN = frozenset(
    {"MathJax", "MathJax_Display", "MathJax_Preview", "MathJax_CHTML", "MathJax_SVG", "MJXc-display"}
)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula; `tex` is empty for a drawing whose source stands elsewhere in the page."""

    tex: str
    display: bool


def formula(element: _Element) -> Formula | None:
    """Return the formula that `element` (a `math` element, or one with a class of math) is, or None."""
    tag, classes = element.tag, element.get("class") or ""
    if not _DRAWN.isdisjoint(classes.split()) and (_MATHJAX_SCRIPT(element) or "Preview" in classes):
        return Formula("", display=False)
    tex = _tex(element)
    if tex is None:
        return None
    found = _DELIMITED.match(tex)
    display = (
        tag in {"div", "p", "section"} or element.get("display") in {"block", "true"} or "display" in classes
    )
    if found:
        display = display or bool(found["d"] or found["dd"] or found["b"])
        tex = next(part for part in found.groups() if part is not None)
    return Formula(tex.replace("\u200b", "").strip(), display)


_OPENING = re.compile(r"\\\(|\\\[|\$\$")
_CLOSING = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}


def in_text(text: str) -> list[tuple[str, bool]] | None:
    r"""Return `text` in parts, with True for those that are TeX between MathJax's delimiters; None without any.

    >>> in_text(r"a \(x_1\) b")
    [('a ', False), ('x_1', True), (' b', False)]
    """
    parts: list[tuple[str, bool]] = []
    position = start = 0
    never_closed = set()
    while found := _OPENING.search(text, start):
        closing = _CLOSING[found[0]]
        end = text.find(closing, found.end() + 1) if closing not in never_closed else -1
        if end < 0:
            never_closed.add(closing)
            start = found.end()
            continue
        parts += [(text[position : found.start()], False), (text[found.end() : end].strip(), True)]
        position = start = end + len(closing)
    return [*parts, (text[position:], False)] if parts else None


def script_formula(script: _Element) -> Formula | None:
    """Return the formula of a MathJax 2 `<script type="math/tex">`, or None for another script."""
    kind = script.get("type") or ""
    if not kind.startswith("math/tex"):
        return None
    return Formula((script.text or "").strip(), "mode=display" in kind)


def _tex(element: _Element) -> str | None:
    if element.tag == "img":
        return str(element.get("alt") or "") or None
    for name in ("alttext", "data-tex", "data-latex", "data-expr"):
        if value := element.get(name):
            return str(value)
    if tex := _ANNOTATION(element):
        return str(tex)
    text = inner_text(element)
    if "latex" in (element.get("class") or "").split() and not _TEX.search(text):
        return None
    plain = element.tag in {"math", "mjx-container"} or not len(element) or _DELIMITED.match(text)
    return text if plain and text.strip() else None
