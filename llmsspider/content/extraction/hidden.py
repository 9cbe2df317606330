"""Removal of hidden elements from the main content, before it is converted.

Only attributes and inline styles are read, no style sheets. What a reader can open is kept: tabs, `<details>`, and
elements that a control of the page names (docs/explanation/extraction.md has the list).
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import islice

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.marks import CONTROLS, ELEMENTS, STYLES, SWITCHES
from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.tree import holders, inner_text, remove_elements

_MARKED = (
    ((b"aria-hidden",), XPath("descendant::*/@aria-hidden")),
    ((b"hidden",), XPath("descendant::*/@hidden")),
    ((b"popover",), XPath("descendant::*/@popover")),
    (STYLES, XPath("descendant::*/@style")),
    ((b"<img",), XPath("descendant::img[@height]/@width")),
)
"""Attributes that may hide their element, with marks of `marks.MARKS` of which a page that has them has one."""
_HIDDEN = re.compile(rb"hidden(?<![\w-]hidden)(?![\w-])(?!(?<=type=.hidden)[\"'])")
"""Matches a page, in lower case, that may have an attribute `hidden`."""
_HEADS = XPath("count(descendant-or-self::main | descendant::h1)")
_FORMULA = XPath("boolean(descendant-or-self::math | descendant::script[starts-with(@type, 'math/')])")
_OPENED = re.compile(
    r"(?:^|[\s_-])(?:tab|tabs|tabbed|tabset|tabpanel|tabcontent|pane|panel|collapse|collapsible|collapsed|accordion|foldable|folded|"
    r"spoiler|expander|expandable|expand|toggle|toggleable|dyncontent)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Classes of elements that a reader can open."""
_OPENERS = frozenset({"button", "summary"})
_LABELLED = 2
"""Number of ancestors whose `aria-label` is compared with the text of a hidden element."""
_BEHIND = 3
"""Maximum number of elements before a hidden one that are searched for a control that opens it."""
_MAX_PIECES = 100
"""Maximum number of text nodes of an element that are compared with a label."""
_MAX_PAGES = 5
"""Maximum number of hidden elements kept because they hold the page; they are nested."""
_MATH = re.compile(r"(?:^|\s)(?:math|katex|mathjax|mjx|mwe-math|mathml|arithmatex|MJX)", re.IGNORECASE)
_MATH_NAMES = (b"math", b"katex", b"mjx", b"arithmatex")
"""Byte strings, in lower case, of which a page with an element named for math has one."""
_CODE = frozenset({"pre", "code"})
_CODE_LIKE = frozenset({"pre", "code", "kbd", "samp"})
_SCREEN_READER = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"})
"""Classes of text for screen readers only."""
_VOID = frozenset({"br", "hr", "img", "input", "embed", "iframe", "area", "object"})
"""Elements that have no content, but are shown."""
_OF_TABS = frozenset({"tabpanel", "tablist", "tab"})
_WHOLE_PAGES = frozenset({"html", "head", "body"})
_FALLBACKS = frozenset({"noembed", "noframes", "audio", "canvas", "video", "object", "progress", "meter"})
"""Elements whose content is a fallback for old browsers."""
_NEVER_OPENED = _FALLBACKS | {"template", "dialog"}

_NO_SIZE = frozenset({"0", "1", "0px", "1px"})
"""Widths and heights of an invisible image."""


class HiddenText:
    """Removes hidden elements of a page. `removed` counts the removed elements that had text."""

    def __init__(self, root: _Element, source: Source):
        self.removed = 0
        self._root = root
        self._source = source
        self._math: dict[_Element, _Element | None] = {}
        self._formulas: dict[_Element, bool] = {}

    def remove(self, main: _Element | None = None) -> bool:
        """Remove the hidden elements in `main` and around titles outside of it; without `main`, in the whole page.

        Returns False, and removes nothing, if `main` itself is hidden.
        """
        gone: dict[_Element, None] = {}
        below: set[_Element] = set()
        removed, pages = 0, _MAX_PAGES
        for element in self._candidates(main):  # in document order: ancestors come first
            if element in below:
                continue
            has_text = bool(inner_text(element).strip())
            is_shown = has_text or len(element) or element.tag in _VOID
            if is_shown and (self._can_be_opened(element) or self._is_needed(element)):
                continue
            if pages and len(element) and self._is_page(element):
                pages -= 1
                continue
            gone[element] = None
            below.update(element.iterdescendants())
            removed += has_text
        if main is not None and not gone.keys().isdisjoint((main, *main.iterancestors())):
            return False
        remove_elements(gone)
        self.removed += removed
        return True

    def _candidates(self, main: _Element | None) -> list[_Element]:
        """Return the elements that are hidden if no reader opens them, in document order."""
        if main is None:
            return self._below(self._root)
        found = [above for above in (*reversed(list(main.iterancestors())), main) if _is_hidden(above)]
        found += self._below(main)
        for title in self._root.iter("h1"):
            above = [title, *title.iterancestors()]
            if main not in above:
                found += filter(_is_hidden, reversed(above))
        return list(dict.fromkeys(found))

    def _below(self, scope: _Element) -> list[_Element]:
        source = self._source
        groups = [
            [element for element in holders(scope, values) if _is_hidden(element)]
            for marks, values in _MARKED
            if source.may_hold(*marks) and (marks != (b"hidden",) or source.may_match(_HIDDEN))
        ]
        if source.may_hold(*ELEMENTS):
            groups.append(list(filter(_is_hidden, scope.iterdescendants(*_NEVER_OPENED))))
        found = [group for group in groups if group]
        if len(found) < 2:
            return found[0] if found else []
        known = set().union(*found)
        return [element for element in scope.iterdescendants() if element in known]

    def _can_be_opened(self, element: _Element) -> bool:
        """Say whether a reader opens the element: a tab, a folded part, or something that a control names."""
        if element.tag in _NEVER_OPENED:
            return False
        if element.get("role") in _OF_TABS or ((name := element.get("id")) and name in self._controlled):
            return True
        parent = element.getparent()
        if parent is not None and (parent.tag == "details" or _folds(parent.get("class"))):
            return True
        before = islice(element.itersiblings(preceding=True), _BEHIND)
        return _folds(element.get("class")) or any(map(_opens, before))

    @cached_property
    def _controlled(self) -> frozenset[str]:
        """The ids that controls of the page name."""
        may_hold = self._source.may_hold
        paths = [f"//@{name.decode()}" for name in CONTROLS if may_hold(name)]
        paths += [f"//*[@{name.decode()}]/@href" for name in SWITCHES if may_hold(name)]
        paths += ["//*[@role='tab']/@href"] if may_hold(b"role") else []
        names = [name for path in paths for name in _path(path)(self._root)]
        return frozenset(word.lstrip("#") for name in names for word in name.split())

    def _is_page(self, element: _Element) -> bool:
        """Say whether the element holds all headings and most of the text: a page that its scripts will show."""
        if not self._heads or _HEADS(element) != self._heads:
            return False
        return 2 * len(inner_text(element)) > len(inner_text(self._root))

    @cached_property
    def _heads(self) -> float:
        return float(_HEADS(self._root))

    def _is_needed(self, element: _Element) -> bool:
        """Say whether a hidden element stays.

        That is a part of a formula; and, if nothing but `aria-hidden` hides it, code or text that screen readers get
        from elsewhere.
        """
        math = self._math_around(element) if self._source.may_hold(*_MATH_NAMES) else None
        if math is not None:
            if math not in self._formulas:
                self._formulas[math] = bool(_FORMULA(math))
            return self._formulas[math]
        if element.get("aria-hidden") is None or element.get("hidden") is not None or _has_style(element):
            return False
        return self._has_alternative(element)

    def _math_around(self, element: _Element) -> _Element | None:
        """Return the nearest ancestor (or self) with a class of math."""
        path: list[_Element] = []
        math: _Element | None = None
        near: _Element | None = element
        while near is not None:
            if near in self._math:
                math = self._math[near]
                break
            path.append(near)
            if near.tag == "mjx-container" or _MATH.search((near.get("class") or "")[:MAX_STYLE]):
                math = near
                break
            near = near.getparent()
        self._math.update(dict.fromkeys(path, math))
        return math

    def _has_alternative(self, element: _Element) -> bool:
        """Say whether an `aria-hidden` element is code, or screen readers get its text from elsewhere beside it."""
        if element.tag in _CODE_LIKE or element in self._with_pre:
            return True
        if self._source.may_hold(b"aria-label"):
            for near in islice(element.iterancestors(), _LABELLED):
                if (label := near.get("aria-label")) and _reads(element, label):
                    return True
        for beside in (element.getprevious(), element.getnext()):
            if beside is not None and not _SCREEN_READER.isdisjoint((beside.get("class") or "").split()):
                return True
        return next(element.iterancestors(*_CODE), None) is not None

    @cached_property
    def _with_pre(self) -> set[_Element]:
        """The elements with a code block inside."""
        return {above for pre in self._root.iter("pre") for above in pre.iterancestors()}


@lru_cache(maxsize=32)
def _path(path: str) -> XPath:
    return XPath(path, smart_strings=False)


def _has_style(element: _Element) -> bool:
    """Say whether the inline style of an element hides it."""
    style = element.get("style")
    return style is not None and is_unseen(style[:MAX_STYLE])


def _is_hidden(element: _Element) -> bool:
    tag = element.tag
    if tag == "template" or tag in _WHOLE_PAGES:
        return tag == "template" and element.get("shadowrootmode") is None
    if tag in _FALLBACKS or element.get("popover") is not None or _has_style(element):
        return True
    hidden = element.get("hidden")
    if hidden is not None and hidden.strip().lower() != "until-found":
        return True
    if (element.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if tag == "dialog":
        return element.get("open") is None
    return tag == "img" and {element.get("width"), element.get("height")} <= _NO_SIZE


@lru_cache(maxsize=4096)
def _folds(classes: str | None) -> bool:
    return classes is not None and _OPENED.search(classes[:MAX_STYLE]) is not None


def _opens(element: _Element) -> bool:
    return (
        element.tag in _OPENERS
        or element.get("onclick") is not None
        or element.get("aria-expanded") is not None
        or element.get("role") == "button"
    )


def _reads(element: _Element, label: str) -> bool:
    """Say whether the text of an element equals `label`; stops reading once it is longer."""
    words: list[str] = []
    length = 0
    for text in islice(element.itertext(), _MAX_PIECES):
        words.append(text)
        length += len(text.strip())
        if length > len(label):
            return False
    return " ".join("".join(words).split()) == label


# Inline styles that hide an element: by size, position, colour, clip or opacity.

MAX_STYLE = 2_000
"""Maximum number of characters of a style attribute that are read."""
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})[ \t\n]?|\\(.)", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_MOVED = re.compile(r"(?:translate[xyz3d]{0,2}\()[^)]{0,80}-(?:\d{4,}px|\d{3,}(?:em|rem|vw|vh|%))")
_FLAT = re.compile(r"scale[xy]?\(0(?:\.0{1,9})?(?:,0(?:\.0{1,9})?)?\)|rotate[xy]\(-?90deg\)")
_NO_ALPHA = re.compile(
    r"transparent|(?:rgba|hsla|rgb|hsl)\([^)]{0,60}[,/]0?(?:\.0{1,9})?%?\)|#(?:[0-9a-f]{3}0|[0-9a-f]{6}00)"
)
_CLIPPED = re.compile(
    r"rect\((?:[01](?:px)?[, ]?){4}\)|inset\((?:50|100)%(?: ?(?:50|100)%){0,3}\)"
    r"|circle\(0[a-z%]{0,3}(?: at [^)]{0,40})?\)"
    r"|polygon\((?:0[a-z%]{0,3} 0[a-z%]{0,3},? ?){1,9}\)"
)
_MOVING = ("transform", "translate", "transition", "animation", "will-change")
_FAR = {"px": 999.0, "em": 60.0, "rem": 60.0, "vw": 100.0, "vh": 100.0, "%": 100.0, "pt": 700.0, "ch": 120.0,
        "cm": 25.0, "in": 10.0}  # fmt: skip
"""Lengths from which on an element lies outside of the window, by their unit."""


@lru_cache(maxsize=4096)
def is_unseen(style: str) -> bool:
    """Say whether an inline style hides its element.

    >>> is_unseen("color:red; display : NONE !important"), is_unseen("opacity:0.5")
    (True, False)
    """
    rules = _declarations(style)
    if (
        rules.get("display") == "none"
        or rules.get("visibility") in {"hidden", "collapse"}
        or rules.get("content-visibility") == "hidden"
    ):
        return True
    if not any(name in style.lower() for name in _MOVING) and _is_zero(
        rules.get("opacity") or rules.get("filter", "").partition("opacity(")[2].partition(")")[0]
    ):
        return True
    return _is_tiny(rules) or _is_far(rules) or _is_transparent(rules) or _is_cut(rules)


def _declarations(style: str) -> dict[str, str]:
    first, *parts = style.split("/*")
    style = first + "".join(part.partition("*/")[2] for part in parts)
    style = _ESCAPE.sub(_unescaped, style).lower()
    found = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        found[name.strip()] = " ".join(value.replace("!important", " ").split()).replace(", ", ",")
    return found


def _unescaped(found: re.Match[str]) -> str:
    return chr(min(int(found[1], 16), 0x10FFFF)) if found[1] else found[2]


def _number(value: str) -> float | None:
    found = _NUMBER.match(value[:40])
    return float(found[0]) if found else None


def _is_zero(value: str, most: float = 0.02) -> bool:
    number = _number(value)
    if number is None:
        return False
    return abs(number) <= (most * 100 if "%" in value else most)


def _is_tiny(rules: dict[str, str]) -> bool:
    """Say whether the font or the box has no size; a box of one pixel counts if its overflow is hidden."""
    if "font-size" in rules and _is_zero(rules["font-size"], 1.0 if "px" in rules["font-size"] else 0.05):
        return True
    font = rules.get("font", "").partition("/")[0].rpartition(" ")[2]
    if font and _is_zero(font, 0.5):
        return True
    if _is_zero(rules.get("zoom", "")) or _is_zero(rules.get("scale", "")):
        return True
    if not rules.get("overflow", rules.get("overflow-y", rules.get("overflow-x", ""))).startswith(
        ("hidden", "clip")
    ):
        return False
    names = ("height", "width", "max-height", "max-width", "block-size", "inline-size", "line-height")
    return any(_is_zero(rules[name], 1.0) for name in names if name in rules and "%" not in rules[name])


def _is_far(rules: dict[str, str]) -> bool:
    names = ["text-indent", "margin-left", "margin-right", "margin-top", "margin"]
    if rules.get("position") in {"absolute", "fixed", "relative"}:
        names += ["left", "right", "top", "bottom", "inset"]
    return any(_distance(rules[name]) for name in names if name in rules) or bool(
        _MOVED.search(rules.get("transform", "")[:200])
    )


def _distance(value: str) -> bool:
    """Say whether a length moves the element out of the window."""
    for word in value.replace("calc(", "").split(" ")[:4]:
        number = _number(word)
        unit = word.lstrip("-.0123456789")
        if number is not None and abs(number) >= _FAR.get(unit, float("inf")):
            return number < 0 or abs(number) >= 5 * _FAR[unit]
    return False


def _is_transparent(rules: dict[str, str]) -> bool:
    if "text" in rules.get("background-clip", rules.get("-webkit-background-clip", "")):
        return False  # text filled with its background, which is visible
    fill = rules.get("-webkit-text-fill-color", rules.get("color", "")).replace(" ", "")
    background = rules.get("background-color", rules.get("background", "")).replace(" ", "")
    if not fill:
        return False
    return bool(_NO_ALPHA.fullmatch(fill)) or _COLOURS.get(fill, fill) == _COLOURS.get(background, background)


_COLOURS = {"white": "#ffffff", "black": "#000000", "#fff": "#ffffff", "#000": "#000000",
            "rgb(255,255,255)": "#ffffff", "rgb(0,0,0)": "#000000"}  # fmt: skip


def _is_cut(rules: dict[str, str]) -> bool:
    return bool(
        _CLIPPED.search(rules.get("clip", "")[:200])
        or _CLIPPED.search(rules.get("clip-path", "")[:200])
        or (_FLAT.search(rules.get("transform", "")[:200]) and "transition" not in rules)
    )
