"""Removal of hidden elements from the main content, before it is converted.

Only attributes and inline styles are read, no style sheets. What a reader can open is kept: tabs,
`<details>`, and elements that a control of the page names (docs/explanation/extraction.md has the
list).
"""

import re
from collections import Counter
from functools import cached_property, lru_cache
from itertools import islice

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import CONTROLS, ELEMENTS, STYLES, SWITCHES, Source
from llmsspider.content.extraction.tree import (
    LEAST_PAGE,
    NO_PROSE,
    class_names,
    holders,
    inner_text,
    is_within,
    letters,
    navigation_name,
    prose,
    remove_elements,
    strings_of,
)

_MARKED = (
    *(
        ((name.encode(),), XPath(f"descendant::*/@{name}"))
        for name in ("aria-hidden", "hidden", "popover")
    ),
    (STYLES, XPath("descendant::*/@style")),
    ((b"<img",), XPath("descendant::img[@height]/@width")),
)
"""Attributes that may hide their element, with marks of `MARKS` of which a page that has them has
one.
"""
_FORMULAS = XPath(
    "descendant::math | descendant::script[starts-with(@type, 'math/')] |"
    " descendant::*[@data-latex]"
)
_CONTROLLED = [(name, strings_of(f"//@{name.decode()}")) for name in CONTROLS]
_CONTROLLED += [(name, strings_of(f"//*[@{name.decode()}]/@href")) for name in SWITCHES]
_CONTROLLED += [(b"role", strings_of("//*[@role='tab']/@href"))]
"""Where controls name what they open, with the mark of pages that have such controls."""
_OPENED = re.compile(
    r"(?:^|[\s_-])(?:tab|tabs|tabbed|tabset|tabpanel|tabcontent|pane|panel|collapse|collapsible|collapsed|accordion|foldable|folded|"
    r"faq|spoiler|expander|expandable|expand|toggle|toggleable|dyncontent)(?=$|[\s_-])|(?:foot|side|margin)[-_]?note",
    re.IGNORECASE,
)
_MAX_PAGES = 5
"""Maximum number of hidden elements inside each other that are kept because they hold the page."""
_TEASER = 30
"""Minimum number of letters of a link that is a teaser, and no sign beside a heading."""
_ANSWERS = frozenset({"copied", "copied to clipboard"})
"""What a button says once it was pressed."""
_MATH = re.compile(
    r"(?:^|\s)(?:math|katex|mathjax|mjx|mwe-math|mathml|arithmatex|MJX)", re.IGNORECASE
)
_SCREEN_READER = frozenset(
    {"sr-only", "visually-hidden", "screen-reader-text", "screen-reader-only", "visuallyhidden"}
)
_VOID = frozenset({"br", "hr", "img", "input", "embed", "iframe", "area", "object"})
"""Elements that have no content, but are shown."""
_REPLACED = frozenset(
    {"img", "picture", "svg", "video", "iframe", "embed", "object", "canvas", "input"}
)
"""Elements whose content is no text of the page: colour and size of its font do not hide it."""
_FALLBACKS = frozenset(
    {"noembed", "noframes", "audio", "canvas", "video", "object", "progress", "meter"}
)
_NEVER_OPENED = _FALLBACKS | {"template", "dialog"}


class HiddenText:
    """Removes hidden elements of a page. `removed` counts the removed elements that had text."""

    def __init__(self, root: _Element, source: Source):
        self.removed = 0
        self._root = root
        self._source = source

    def remove(self, main: _Element | None = None) -> bool:
        """Remove the hidden elements in `main`, or in the page; False, and nothing, if `main`
        itself is hidden.
        """
        candidates = self._candidates(main)
        gone = self._unseen(candidates, set())
        shown: set[_Element] = set()
        for _ in range(_MAX_PAGES):
            pages = self._pages(gone)
            if not pages:
                break
            shown |= pages
            gone = self._unseen(candidates, shown)
        if main is not None and not gone.keys().isdisjoint((main, *main.iterancestors())):
            return False
        remove_elements(gone)
        self.removed += sum(gone.values())
        return True

    def _unseen(self, candidates: list[_Element], shown: set[_Element]) -> dict[_Element, bool]:
        """Return the outermost candidates that nobody sees, with whether they have text; `shown`
        are seen.
        """
        gone: dict[_Element, bool] = {}
        below: set[_Element] = set()
        for element in candidates:  # in document order: ancestors come first
            if element in below or element in shown:
                continue
            text = inner_text(element).strip()
            has_text = bool(text)
            is_shown = has_text or len(element) or element.tag in _VOID
            if (
                is_shown
                and text.strip("! ").lower() not in _ANSWERS
                and (self._can_be_opened(element) or self._is_needed(element))
            ):
                continue
            gone[element] = has_text
            below.update(element.iterdescendants())
        return gone

    def _pages(self, gone: dict[_Element, bool]) -> set[_Element]:
        """Return the elements that are the page, until its scripts show it: they have more prose
        than all that is seen. What fades in counts together.
        """
        sizes = {
            element: prose(element)
            for element, has_text in gone.items()
            if has_text
            and element.tag not in NO_PROSE | _NEVER_OPENED
            and element.get("role") != "dialog"
        }
        groups: Counter[object] = Counter()
        for element, size in sizes.items():
            groups[_fading(element) or element] += 0 if navigation_name(element) else size
        if max(groups.values(), default=0) <= LEAST_PAGE:
            return set()
        least = max(LEAST_PAGE, self._prose - sum(sizes.values()))
        return {element for element in sizes if groups[_fading(element) or element] > least}

    @cached_property
    def _prose(self) -> int:
        return prose(self._root)

    def _candidates(self, main: _Element | None) -> list[_Element]:
        if main is None:
            return self._below(self._root)
        found = [
            above for above in (*reversed(list(main.iterancestors())), main) if _is_hidden(above)
        ]
        found += self._below(main)
        for title in self._root.iter("h1"):
            above = [title, *title.iterancestors()]
            if main not in above:
                found += filter(_is_hidden, reversed(above))
        return list(dict.fromkeys(found))

    def _below(self, scope: _Element) -> list[_Element]:
        source = self._source
        groups = [holders(scope, values) for marks, values in _MARKED if source.may_hold(*marks)]
        if source.may_hold(*ELEMENTS):
            groups.append(list(scope.iterdescendants(*_NEVER_OPENED)))
        found = [hidden for group in groups if (hidden := list(filter(_is_hidden, group)))]
        if len(found) < 2:
            return found[0] if found else []
        known = set().union(*found)
        return [element for element in scope.iterdescendants() if element in known]

    def _can_be_opened(self, element: _Element) -> bool:
        if element.tag in _NEVER_OPENED:
            return False
        parent = element.getparent()
        return bool(
            element.get("role") in {"tabpanel", "tablist", "tab"}
            or ((name := element.get("id")) and name in self._controlled)
            or (parent is not None and (parent.tag == "details" or _folds(parent.get("class"))))
            or _folds(element.get("class"))
            or any(
                before.tag in {"button", "summary"}
                or before.get("role") == "button"
                or before.get("onclick", before.get("aria-expanded")) is not None
                for before in islice(element.itersiblings(preceding=True), 3)
            )
        )

    @cached_property
    def _controlled(self) -> frozenset[str]:
        names = [
            ids
            for mark, path in _CONTROLLED
            if self._source.may_hold(mark)
            for ids in path(self._root)
        ]
        return frozenset(word.lstrip("#") for ids in names for word in ids.split())

    def _is_needed(self, element: _Element) -> bool:
        """Say whether a hidden element stays: a part of a formula, or text that screen readers get
        from elsewhere.
        """
        of_formula = self._is_needed_formula(element)
        if of_formula is not None:
            return of_formula
        style = element.get("style", "")[:MAX_STYLE]
        if (
            element.get("aria-hidden") is None
            or element.get("hidden") is not None
            or is_unseen(style)
        ):
            return False
        if element.tag in {"pre", "code", "kbd", "samp"}:
            return True
        if element.tag == "a" and letters(element) >= _TEASER:
            return True
        if self._source.may_hold(b"aria-label"):
            text = " ".join(inner_text(element).split())
            if text and any(
                above.get("aria-label") == text for above in islice(element.iterancestors(), 2)
            ):
                return True
        beside = [one for one in (element.getprevious(), element.getnext()) if one is not None]
        is_doubled = any(not _SCREEN_READER.isdisjoint(class_names(one)) for one in beside)
        return is_doubled or is_within(element, "pre", "code")

    def _is_needed_formula(self, element: _Element) -> bool | None:
        """Say whether a part of a formula stays; None for an element of none."""
        if not self._source.may_hold(b"math", b"katex", b"mjx", b"arithmatex"):
            return None
        for near in (element, *element.iterancestors()):
            if near.tag == "mjx-container" or _MATH.search(near.get("class", "")[:MAX_STYLE]):
                is_all = "katex-html" in class_names(near)
                is_all = is_all and near.getparent() not in self._with_formula
                return is_all or near in self._with_formula
        return None

    @cached_property
    def _with_formula(self) -> set[_Element]:
        return {
            above for found in _FORMULAS(self._root) for above in (found, *found.iterancestors())
        }


def _fading(element: _Element) -> str | None:
    """Return the style of an element that a script fades in; None for others."""
    style = element.get("style", "")
    return style if "opacity" in style or "visibility" in style else None


@lru_cache(maxsize=4096)
def _folds(classes: str | None) -> bool:
    return classes is not None and _OPENED.search(classes[:MAX_STYLE]) is not None


def _is_hidden(element: _Element) -> bool:
    tag = element.tag
    if tag in {"template", "html", "head", "body"}:
        return tag == "template" and element.get("shadowrootmode") is None
    style = element.get("style", "")[:MAX_STYLE]
    if (
        tag in _FALLBACKS
        or element.get("popover") is not None
        or is_unseen(style, tag not in _REPLACED, _is_set_below(element))
    ):
        return True
    hidden = element.get("hidden")
    if hidden is not None and hidden.strip().lower() != "until-found":
        return True
    if element.get("aria-hidden", "").strip().lower() == "true":
        return True
    if tag == "dialog":
        return element.get("open") is None
    return tag == "img" and {element.get("width"), element.get("height")} <= {
        "0",
        "1",
        "0px",
        "1px",
    }


def _is_set_below(element: _Element) -> bool:
    """Say whether an element is placed in a box whose height is given, as rows of a long list are."""
    around = element.getparent()
    return around is not None and "height:" in around.get("style", "").replace(" ", "")


# Inline styles that hide an element: by size, position, colour, clip or opacity.

MAX_STYLE = 2_000
"""Maximum number of characters of a style attribute that are read."""
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})[ \t\n]?|\\(.)", re.IGNORECASE)
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)([a-z%]*)")
_FIRST = re.compile(rf"(?:calc\(|min\()?{_LENGTH.pattern}")
_CLIPPED = re.compile(
    r"rect\((?:[01](?:px)?[, ]?){4}\)|inset\((?:50%(?: ?50%){0,3}\)|[^)]{0,40}(?:100%|\d{3}px))"
    r"|(?:circle|ellipse)\(0[a-z%]{0,3}[ )]|polygon\((?:0[a-z%]{0,3} 0[a-z%]{0,3},? ?){1,9}\)"
)
_UNSEEN = [
    ("display", re.compile(r"\Anone\Z")),
    ("visibility", re.compile(r"\A(?:hidden|collapse)\Z")),
    ("content-visibility", re.compile(r"\Ahidden\Z")),
    ("clip", _CLIPPED),
    ("clip-path", _CLIPPED),
    ("text-indent", re.compile(r"\A[1-9]\d\d%")),
    (
        "transform",
        re.compile(r"translate[xyz3d]{0,2}\([^)]{0,80}-(?:\d{4,}px|\d{3,}(?:em|rem|vw|vh|%))"),
    ),
]
_FLAT = re.compile(
    r"scale(?:3d|[xy])?\(0(?:\.0\d{0,9})?%?[,)]|matrix\(0,0,0,0|rotate[xy]\(-?(?:90|270)deg\)"
)
_NO_ALPHA = re.compile(
    r"transparent|(?:rgb|hsl)a?\((?:(?:[^,)]{0,20},){3}|[^,)]{0,60}/)0?(?:\.0\d{0,9})?%?\)"
    r"|#(?:[0-9a-f]{3}0|[0-9a-f]{6}00)"
)
_MOVING = ("transform", "translate", "transition", "animation", "will-change")
_SIZE = re.compile(r"(?:max-)?(?:height|width|block-size|inline-size)|line-height")
_OF_TEXT = frozenset(
    {"color", "text-fill-color", "font", "font-size", "line-height", "text-indent"}
)
_SHIFT = re.compile(r"text-indent|margin|translate")
_PLACE = re.compile(r"left|right|top|bottom|inset")
_FAR = {"px": 999.0, "em": 60.0, "rem": 60.0, "vw": 100.0, "vh": 100.0, "%": 100.0, "pt": 700.0, "ch": 120.0,
        "cm": 25.0, "in": 10.0}  # fmt: skip
"""Lengths from which on an element lies outside of the window, by their unit."""
_COLOURS = {"white": "#ffffff", "black": "#000000", "#fff": "#ffffff", "#000": "#000000",
            "rgb(255,255,255)": "#ffffff", "rgb(0,0,0)": "#000000"}  # fmt: skip


@lru_cache(maxsize=4096)
def is_unseen(style: str, is_text: bool = True, is_below: bool = False) -> bool:
    """Say whether an inline style hides its element; `is_text` is False for a picture, which has no
    font, `is_below` True for what is seen however far it stands below the top of what is around.

    >>> is_unseen("color:red; display : NONE !important"), is_unseen("opacity:0.5")
    (True, False)
    """
    first, *parts = style.split("/*")
    style = first + "".join(part.partition("*/")[2] for part in parts)
    style = _ESCAPE.sub(
        lambda found: chr(min(int(found[1], 16), 0x10FFFF)) if found[1] else found[2], style
    ).lower()
    rules = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        value = " ".join(value.replace("!important", " ").split()).replace(", ", ",")
        rules[name.strip().removeprefix("-webkit-")] = value[:200]
    if not is_text:
        rules = {name: value for name, value in rules.items() if name not in _OF_TEXT}
    if is_below and "-" not in rules.get("top", ""):
        rules.pop("top", None)
    is_placed = rules.get("position", "static") != "static"
    shifts = [name for name in rules if _SHIFT.match(name) or (is_placed and _PLACE.match(name))]
    if "animation-name" in rules:  # a script fades it in
        rules.pop("visibility", None)
    return (
        any(pattern.search(rules.get(name, "")) for name, pattern in _UNSEEN)
        or bool("transition" not in rules and _FLAT.search(rules.get("transform", "")))
        or _is_tiny(rules)
        or any(_is_far(rules[name]) for name in shifts)
        or _is_transparent(rules, style)
    )


def _is_zero(value: str, of_pixels: float = 0.02) -> bool:
    """Say whether a size is nothing; `of_pixels` is up to which number of pixels it is."""
    found = _FIRST.match(value)
    if found is None:
        return False
    most = {"px": of_pixels, "pt": of_pixels, "%": 2.0}.get(found[2], 0.05)
    return abs(float(found[1])) <= most


def _is_tiny(rules: dict[str, str]) -> bool:
    """Say whether the font or the box has no size; a box of one pixel counts if what overflows is
    not seen.
    """
    fonts = [rules.get("font-size", ""), *rules.get("font", "").split()]
    if any(_is_zero(size, 1.0) for size in fonts):
        return True
    overflow = rules.get("overflow", rules.get("overflow-y", rules.get("overflow-x", "visible")))
    is_cut = overflow != "visible" or rules.get("contain") in {"strict", "content", "paint"}
    sizes = [size for name, size in rules.items() if is_cut and _SIZE.fullmatch(name)]
    is_flat = any("%" not in size and _is_zero(size, 1.0) for size in sizes)
    return is_flat or _is_zero(rules.get("zoom", "")) or _is_zero(rules.get("scale", ""))


def _is_far(value: str) -> bool:
    return any(
        float(number) <= -far or float(number) >= 5 * far
        for number, unit in _LENGTH.findall(value)
        if (far := _FAR.get(unit))
    )


def _is_transparent(rules: dict[str, str], style: str) -> bool:
    opacity = (
        rules.get("opacity") or rules.get("filter", "").partition("opacity(")[2].partition(")")[0]
    )
    is_clear = opacity.startswith("-") or _is_zero(opacity)
    if is_clear and not any(name in style for name in _MOVING):
        return True
    if "text" in rules.get("background-clip", ""):
        return False  # text filled with its background, which is visible
    fill = rules.get("text-fill-color", rules.get("color", "")).replace(" ", "")
    background = rules.get("background-color", rules.get("background", "")).replace(" ", "")
    is_same = _COLOURS.get(fill, fill) == _COLOURS.get(background, background)
    return bool(fill) and (is_same or _NO_ALPHA.fullmatch(fill) is not None)
