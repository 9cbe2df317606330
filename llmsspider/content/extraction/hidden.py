"""Removal of hidden elements from the main content, before it is converted.

Only attributes and inline styles are read, no style sheets. What a reader can open is kept: tabs, `<details>`, and
elements that a control of the page names (docs/explanation/extraction.md has the list).
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import islice

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.inline_style import MAX_STYLE, is_unseen
from llmsspider.content.extraction.marks import CONTROLS, ELEMENTS, STYLES, SWITCHES
from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.tree import holders, inner_text, settable

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

    def remove(self, main: _Element | None = None) -> bool:
        """Remove the hidden elements in `main` and around titles outside of it; without `main`, in the whole page.

        Returns False, and removes nothing, if `main` itself is hidden.
        """
        gone, removed = self._hidden(main)
        if main is not None and not gone.keys().isdisjoint((main, *main.iterancestors())):
            return False
        for element in gone:
            _remove(element)
        self.removed += removed
        return True

    def _hidden(self, main: _Element | None) -> tuple[dict[_Element, None], int]:
        """Return the elements to remove, and how many of them have text."""
        gone: dict[_Element, None] = {}
        candidates = self._candidates(main)
        if not candidates:
            return gone, 0
        around, pages = _Surroundings(self._root, self._source), _MAX_PAGES
        below: set[_Element] = set()
        removed = 0
        for element in candidates:  # in document order: ancestors come first
            if element in below:
                continue
            is_leaf, text = not len(element), element.text
            if is_leaf and (text is None or text.isspace()) and element.tag not in _VOID:
                gone[element] = None  # whatever else is true of it, nothing is read there
                continue
            if _can_be_opened(element, around) or _is_needed(element, around):
                continue
            if pages and not is_leaf and around.is_page(element):
                pages -= 1
                continue
            gone[element] = None
            if is_leaf:
                removed += bool(text and text.strip())
            else:
                below.update(element.iterdescendants())
                removed += bool(inner_text(element).strip())
        return gone, removed

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


@lru_cache(maxsize=32)
def _path(path: str) -> XPath:
    return XPath(path, smart_strings=False)


def _is_hidden(element: _Element) -> bool:
    tag = element.tag
    if tag in _WHOLE_PAGES:
        return False
    if tag == "template":
        return element.get("shadowrootmode") is None
    return (
        tag in _FALLBACKS
        or _is_hidden_by_attribute(element)
        or is_unseen((element.get("style") or "")[:MAX_STYLE])
    )


def _is_hidden_by_attribute(element: _Element) -> bool:
    """Say whether an element is hidden by its attributes, other than its style."""
    silent = element.get("aria-hidden")
    if silent == "true" or element.get("popover") is not None:
        return True
    if silent is not None and silent.strip().lower() == "true":
        return True
    hidden = element.get("hidden")
    if hidden is not None and hidden.strip().lower() != "until-found":
        return True
    if element.tag == "dialog":
        return element.get("open") is None
    return element.tag == "img" and {element.get("width"), element.get("height")} <= _NO_SIZE


def _can_be_opened(element: _Element, around: _Surroundings) -> bool:
    """Say whether a reader opens the element: a tab, a folded part, or something that a control names."""
    if element.tag in _NEVER_OPENED:
        return False
    if element.get("role") in _OF_TABS or ((name := element.get("id")) and around.is_controlled(name)):
        return True
    parent = element.getparent()
    if parent is not None and (parent.tag == "details" or _folds(parent.get("class"))):
        return True
    return _folds(element.get("class")) or _follows_opener(element)


def _follows_opener(element: _Element) -> bool:
    near = element.getprevious()
    for _ in range(_BEHIND):
        if near is None:
            return False
        if _opens(near):
            return True
        near = near.getprevious()
    return False


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


class _Surroundings:
    """Facts of the page that decide about hidden elements, read once for all of them."""

    def __init__(self, root: _Element, source: Source):
        self.formulas: dict[_Element, bool] = {}
        self._root = root
        self._source = source
        self._math: dict[_Element, _Element | None] = {}
        self.has_labels = source.may_hold(b"aria-label")
        self._has_formulas = source.may_hold(*_MATH_NAMES)

    def is_controlled(self, name: str) -> bool:
        """Say whether a control of the page opens the element with this id."""
        return name in self._controlled

    @cached_property
    def _controlled(self) -> frozenset[str]:
        may_hold = self._source.may_hold
        paths = [f"//@{name.decode()}" for name in CONTROLS if may_hold(name)]
        paths += [f"//*[@{name.decode()}]/@href" for name in SWITCHES if may_hold(name)]
        paths += ["//*[@role='tab']/@href"] if may_hold(b"role") else []
        names = [name for path in paths for name in _path(path)(self._root)]
        return frozenset(word.lstrip("#") for name in names for word in name.split())

    @cached_property
    def with_pre(self) -> set[_Element]:
        """The elements with a code block inside."""
        return {above for pre in self._root.iter("pre") for above in pre.iterancestors()}

    @cached_property
    def _heads(self) -> float:
        return float(_HEADS(self._root))

    def is_page(self, element: _Element) -> bool:
        """Say whether the element holds all headings and most of the text: a page that its scripts will show."""
        if not self._heads or _HEADS(element) != self._heads:
            return False
        return 2 * len(inner_text(element)) > len(inner_text(self._root))

    def is_formula(self, element: _Element) -> bool | None:
        """Say whether the nearest ancestor (or self) with a class of math holds a formula; None if there is none."""
        if not self._has_formulas:
            return None
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
        if math is None:
            return None
        if math not in self.formulas:
            self.formulas[math] = bool(_FORMULA(math))
        return self.formulas[math]


def _is_needed(element: _Element, around: _Surroundings) -> bool:
    """Say whether a hidden element stays.

    That is a part of a formula; and, if nothing but `aria-hidden` hides it, code or text that screen readers get from
    elsewhere (`_has_alternative`).
    """
    is_formula = around.is_formula(element)
    if is_formula is not None:
        return is_formula
    return _is_only_aria_hidden(element) and _has_alternative(element, around)


def _is_only_aria_hidden(element: _Element) -> bool:
    """Say whether only `aria-hidden` hides the element: visible, but skipped by screen readers."""
    if element.get("aria-hidden") is None or element.get("hidden") is not None:
        return False
    return not is_unseen((element.get("style") or "")[:MAX_STYLE])


def _has_alternative(element: _Element, around: _Surroundings) -> bool:
    """Say whether an `aria-hidden` element is code, or screen readers get its text from elsewhere beside it."""
    if element.tag in _CODE_LIKE or element in around.with_pre:
        return True
    if around.has_labels and _is_label(element):
        return True
    for near in (element.getprevious(), element.getnext()):
        if (
            near is not None
            and (classes := near.get("class"))
            and not _SCREEN_READER.isdisjoint(classes.split())
        ):
            return True
    return next(element.iterancestors(*_CODE), None) is not None


def _is_label(element: _Element) -> bool:
    """Say whether the text of an element is the `aria-label` of one of its two nearest ancestors."""
    near = element.getparent()
    for _ in range(_LABELLED):
        if near is None:
            return False
        if (label := near.get("aria-label")) and _reads(element, label):
            return True
        near = near.getparent()
    return False


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


def _remove(element: _Element) -> None:
    """Remove an element, keeping its tail text."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        tail, before = settable(element.tail), element.getprevious()
        if before is not None:
            before.tail = settable(before.tail) + tail
        else:
            parent.text = settable(parent.text) + tail
    parent.remove(element)
