"""Code blocks, the exact text and the language, from any highlighter; math as TeX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from textwrap import indent
from typing import NamedTuple

from lxml.etree import XPath, _Element

from llmsspider.content.extraction import mathml
from llmsspider.content.extraction.tree import (
    CODE_LINES,
    COMMON_LANGUAGES,
    CONTROLS,
    NOT_A_LANGUAGE,
    NOT_CODE,
    class_names,
    holds,
    inner_text,
    strings_of,
)
from llmsspider.content.markdown.commonmark import with_line_feeds

# Math as TeX: MathML annotations, KaTeX, MathJax, and the `math` classes of Sphinx, pandoc and
# AsciiDoc.

_ANNOTATION = XPath(
    "string((descendant::annotation[@encoding='application/x-tex' or @encoding='TeX'] |"
    " descendant::annotation)[1])"
)
_MATHJAX_4 = XPath("string(descendant::*[@data-mml-node='math' or self::mjx-math]/@data-latex)")
_MATHJAX_SCRIPT = XPath(
    "boolean(descendant::script[starts-with(@type,'math/tex')]"
    " | following-sibling::script[starts-with(@type,'math/tex')])"
)
_DELIMITED = re.compile(
    r"\A\s*(?:\\\((?P<i>.*)\\\)|\\\[(?P<d>.*)\\\]|\$\$(?P<dd>.*)\$\$|\$(?P<ii>.*)\$|(?P<b>\\begin\{.*\}))\s*\Z",
    re.DOTALL,
)
_HELD = ("alttext", "data-tex", "data-latex", "data-math", "data-formula", "data-expr")
"""Attributes that hold the TeX of a formula."""
_TEX = re.compile(r"[\\^_{}$]")
"""What a formula has and the word LaTeX has not."""
_DRAWN = {
    "MathJax",
    "MathJax_Display",
    "MathJax_Preview",
    "MathJax_CHTML",
    "MathJax_SVG",
    "MJXc-display",
}


class Formula(NamedTuple):
    """A formula; `tex` is empty for a rendering whose TeX source is in another element of the page."""

    tex: str
    display: bool


def formula(element: _Element) -> Formula | None:
    """Return the formula that a `math` element, a script of MathJax or an element with a class of
    math is, or None.
    """
    tag = element.tag
    classes = element.get("class", "")
    if tag == "script":
        kind = element.get("type", "")
        is_tex = kind.startswith("math/tex")
        return Formula((element.text or "").strip(), "mode=display" in kind) if is_tex else None
    if not _DRAWN.isdisjoint(classes.split()) and (
        _MATHJAX_SCRIPT(element) or "Preview" in classes
    ):
        return Formula("", display=False)
    tex = _tex(element)
    if tex is None:
        return None
    display = tag in {"div", "p", "section"} or "display" in classes
    display = display or element.get("display") in {"block", "true"}
    if found := _DELIMITED.match(tex):
        display = display or found.lastgroup in {"d", "dd", "b"}
        tex = found[str(found.lastgroup)]
    return Formula(tex.replace("\u200b", "").strip(), display)


_OPENING = re.compile(r"\\\(|\\\[|\$\$")
_CLOSING = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}


def in_text(text: str) -> list[tuple[str, bool]] | None:
    r"""Return `text` as (part, is TeX) pairs, split at the delimiters of MathJax; None if it has no
    TeX.

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


def _tex(element: _Element) -> str | None:
    if element.tag == "img":
        return element.get("alt") or None
    tex = next(filter(None, map(element.get, _HELD)), "") or _ANNOTATION(element)
    if tex := tex or _MATHJAX_4(element):
        return str(tex)
    if (drawn := next(element.iter("math"), None)) is not None:
        return mathml.tex(drawn).strip() or None
    return _written_tex(element)


def _written_tex(element: _Element) -> str | None:
    beside = "".join(element.xpath("text()")) if len(element) else ""
    text = beside if _DELIMITED.match(beside) else inner_text(element)
    is_word = "latex" in class_names(element) and not _TEX.search(text)
    is_plain = (
        element.tag in {"math", "mjx-container"} or not len(element) or _DELIMITED.match(text)
    )
    return text if is_plain and text.strip() and not is_word else None


# Code blocks, as the page shows them: line numbers, copy buttons and hidden lines are filtered,
# prompts and blank lines stay. The language comes from the class conventions of the highlighters
# (HTML standard 4.5.15 `language-`).

_CODE = XPath("descendant::code[1]")
_CLASSES = strings_of("descendant::*/@class")
_DATA_LINE = XPath(
    "boolean(descendant::*/@data-line | descendant::*/@style[contains(., 'user-select')])"
)
_SPECIAL_TAGS = frozenset(
    {"br", "button", "style", "script", "svg", "template", "div", "p", "li", "tr"}
)
_SKIPPED_TAGS = frozenset({"button", "style", "script", "svg", "template", "rp"})
_OWN_LINES = frozenset({"div", "p", "ul", "li", "tr"})
_LINE_MODULE = re.compile(r"(?:^|\s)(?:codeLine_\w+|code_line\S*)(?=\s|$)")
_LINE_NAME = re.compile(r"(?:^|[\s_-])line(?=$|\s)")
_PREFIXED = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight-text|mw-highlight-lang|src|code)-([\w+#.-]+)|(?:^|\s)brush:\s*([\w+#.-]+)",
    re.IGNORECASE,
)
_WRAPPED = re.compile(
    r"(?:^|\s)(?:highlight(?:-(?!source|text)|\s+hl-)|syntaxhighlighter\s+(?:nogutter\s+)?)([\w+#.-]+)"
)
"""Classes of the elements that Sphinx, nbconvert and SyntaxHighlighter wrap a code block in."""
_MARKED = re.compile(
    r"(?:^|\s)(?:sourceCode|hljs|makeup|prettyprint|downlit|code|chroma|programlisting|rust|shiki|prism|highlight|CodeMirror|astro-code|literal-block|SCREEN)(?=\s|$)"
)
_INDENT_NBSP = re.compile(r"^\xa0", re.MULTILINE)
_MAX_DEPTH = 200
_MAX_INDENTED = 30
"""Maximum depth of a list in code that is indented."""
_BLANK = re.compile(r"^[ \t\xa0]+$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z][\w+#.-]*")
_PLAIN_NAMES = frozenset(
    {"c++", "c#", "f#", "objective-c", "shell-session", "html+erb", "plaintext"}
)
_WRAPPERS = frozenset(
    {"div", "figure", "td", "tr", "tbody", "table", "span", "section", "rh-code-block", "code-block", "clipboard-copy"}
)  # fmt: skip


_FIRST_IS_HIDDEN = XPath(
    "boolean(descendant::*[not(self::pre or self::code)][1]"
    "[contains(concat(' ', @class, ' '), ' boring ')])"
)


def code_text(pre: _Element) -> str:
    """Return the exact text of a code block, without empty first lines and without trailing white
    space.
    """
    has_special = len(pre) > 0 and _has_special(pre)
    parts: list[str] = []
    if has_special:
        _collect(pre, parts)
        text = _BLANK.sub("", "".join(parts))  # a space gives an empty line a height
    else:
        text = inner_text(pre)
    text = with_line_feeds(text)
    if "\xa0" in text and (" " not in text or _INDENT_NBSP.search(text)):
        text = text.replace("\xa0", " ")
    text = text.replace("\u200b", "")
    length = len(text.rstrip(" \t\n"))
    if not text.strip():
        return ""
    # mdBook hides the first lines: an empty line after them is part of the code
    is_hidden = has_special and _FIRST_IS_HIDDEN(pre)
    start = int(text.startswith("\n")) if is_hidden else len(text) - len(text.lstrip("\n"))
    return text[start:length] + text[length:].partition("\n")[0]


@lru_cache(maxsize=4096)
def _is_skipped(tag: str, classes: str) -> bool:
    """Return True for an element that is not code, such as line numbers. `<code>` never is: its
    classes are options.
    """
    return tag != "code" and not NOT_CODE.isdisjoint(classes.split())


@lru_cache(maxsize=4096)
def _is_line(classes: str) -> bool:
    return not CODE_LINES.isdisjoint(classes.split()) or bool(_LINE_MODULE.search(classes))


def _is_number(part: _Element) -> bool:
    """Return True for the number of a line that is not selected with its code (Hugo)."""
    style = part.get("style")
    return style is not None and "user-select" in style and inner_text(part).strip().isdecimal()


def _is_drawn(part: _Element) -> bool:
    """Return True for a part of a code block that is a block by its style (Documenter: input and
    output).
    """
    return "display:block" in part.get("style", "").replace(" ", "")


def _has_special(pre: _Element) -> bool:
    if holds(pre, *_SPECIAL_TAGS) or _DATA_LINE(pre) or any(map(_is_drawn, pre)):
        return True
    if any(_LINE_NAME.search(classes) for classes in _CLASSES(pre)) and "\n" not in inner_text(pre):
        return True
    if not any(_is_skipped("", classes) or _is_line(classes) for classes in set(_CLASSES(pre))):
        return False
    marked = (
        (part.tag, part.get("class")) for part in pre.iterdescendants()
    )  # of `<code>` it is no evidence
    return any(
        classes and (_is_skipped(tag, classes) or _is_line(classes)) for tag, classes in marked
    )


@dataclass(slots=True)
class _Before:
    """What stands right before a part of code: whether its line is open, and whether it is a block."""

    open_line: bool = False
    is_block: bool = False
    lines: frozenset[_Element] = frozenset()
    """The elements that are a line each by their class, in code without line breaks."""


def _collect(element: _Element, parts: list[str], depth: int = 0) -> None:
    """Append the texts of `element`; a line element, or a block (rustdoc's `where`), is on lines of
    its own.
    """
    if element.text:
        parts.append(element.text)
    before = _Before(lines=_lines_in(element))
    for child in element:
        if child.tag == "br":
            parts.append("\n")
            before.open_line = False
        elif not _is_no_code(child):
            _collect_child(child, parts, depth, before)
        if child.tail:
            _collect_tail(child.tail, parts, before)


def _lines_in(element: _Element) -> frozenset[_Element]:
    """Return the children that are named lines, where nothing else tells the lines apart."""
    named = [part for part in element if _LINE_NAME.search(part.get("class", ""))]
    is_code = len(named) > 1 and "\n" not in inner_text(element)
    return frozenset(named) if is_code else frozenset()


def _is_no_code(part: _Element) -> bool:
    classes = part.get("class", "")
    is_other = part.tag in _SKIPPED_TAGS or bool(classes and _is_skipped(part.tag, classes))
    return is_other or _is_number(part)


def _is_own_line(part: _Element) -> bool:
    classes = part.get("class", "")
    return part.get("data-line") is not None or bool(classes and _is_line(classes))


def _collect_child(child: _Element, parts: list[str], depth: int, before: _Before) -> None:
    is_block = child.tag in _OWN_LINES or _is_drawn(child)
    is_line = is_block or _is_own_line(child) or child in before.lines
    is_after_line = before.open_line and (is_line or before.is_block)
    if is_after_line or (is_block and _ends_in_text(parts)):
        parts.append("\n")
    start = len(parts)
    if depth < _MAX_DEPTH:
        _collect(child, parts, depth + 1)
    else:
        parts.append(inner_text(child))
    if child.tag == "ul" and depth < _MAX_INDENTED:  # a tree (Redoc)
        parts[start:] = [indent("".join(parts[start:]), "  ")]
    is_closed = len(parts) > start and parts[-1].endswith("\n")
    before.open_line = is_line and not is_closed
    before.is_block = is_block


def _collect_tail(tail: str, parts: list[str], before: _Before) -> None:
    if before.open_line and before.is_block and tail.lstrip(" \t")[:1] not in {"", "\n"}:
        parts.append("\n")
    parts.append(tail)
    goes_on = not before.is_block or tail.isspace()
    before.open_line = before.open_line and "\n" not in tail and goes_on


def _ends_in_text(parts: list[str]) -> bool:
    return bool(parts) and parts[-1].strip(" \t")[-1:] not in {"", "\n"}


def code_language(pre: _Element) -> str:
    """Return the language tag of a code block, lower case, as its site names it; '' where it names
    none.
    """
    around = list(islice(takewhile(_holds_little, pre.iterancestors()), 8))
    for element in (*_CODE(pre), pre, *around):
        if element.attrib and (language := _language_of(element)):
            return language
    return ""


def bar_of(pre: _Element) -> _Element | None:
    """Return what stands right before code, beside it in a box that holds nothing else; None for
    nothing.
    """
    around = islice(takewhile(_holds_little, pre.iterancestors()), 8)
    before = (element.getprevious() for element in (pre, *around))
    return next((one for one in before if one is not None), None)


def _holds_little(element: _Element) -> bool:
    """Say whether an element holds nothing but code and its title, buttons, output."""
    is_short = element.tag == "tr" or next(islice(element, 4, None), None) is None
    return is_short and element.tag in _WRAPPERS


def language_titled(title: _Element) -> str:
    """Return the language that a title right before code consists of, '' where it says anything
    else.
    """
    if title.tag not in _TITLES or not title.get("class"):
        return ""
    said = islice((text.strip().lower() for text in title.itertext() if not text.isspace()), 3)
    words = [text for text in said if text not in CONTROLS]
    return words[0] if len(words) == 1 and words[0] in COMMON_LANGUAGES else ""


_TITLES = frozenset({"div", "figcaption", "header", "p", "span"})

_NAMED_BY = (
    "data-language",
    "data-lang",
    "data-code-lang",
    "data-syntax",
    "syntax",
    "lang",
    "language",
)
"""Attributes that name the language of code."""
_NAMES_LANGUAGE = re.compile(r"data-\w+-lang(?:uage)?")


def _language_of(element: _Element) -> str:
    for name in (*_NAMED_BY, *filter(_NAMES_LANGUAGE.fullmatch, element.keys())):
        value = element.get(name)
        if value and _WORD.fullmatch(value) and (name != "lang" or element.tag in {"pre", "code"}):
            return _accepted(value)
    classes = element.get("data-syntaxhighlighter-params") or element.get("class")
    if element.tag == "figure" and classes == "highlight plaintext":  # Hexo: no language
        return ""
    return _language_in(classes, element.tag in {"pre", "code", "figure"}) if classes else ""


@lru_cache(maxsize=4096)
def _language_in(classes: str, is_code: bool) -> str:
    for found in (*_PREFIXED.finditer(classes), *_WRAPPED.finditer(classes)):
        if language := _accepted(found.group(found.lastindex or 1)):
            return language
    if not is_code or (classes not in COMMON_LANGUAGES and not _MARKED.search(classes)):
        return ""
    named = (_accepted(word) for word in classes.split() if _WORD.fullmatch(word))
    return next((name for name in named if name.isalnum() or name in _PLAIN_NAMES), "")


def _accepted(value: str) -> str:
    value = value.lower().rstrip(".,;")
    return "" if value in NOT_A_LANGUAGE or not value[:1].isalpha() else value
