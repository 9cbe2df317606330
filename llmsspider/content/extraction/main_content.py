"""Which element holds the main content: by the generator's selector, else by where the text is; without pagination."""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf

from cssselect import HTMLTranslator
from lxml.etree import XPath, _Element

from llmsspider.content.extraction.generators import GENERATORS, UNKNOWN, Generator
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.pagination import without_pagination
from llmsspider.content.extraction.parsing import GENERATOR_MARKS, KNOWN, Source, words_of
from llmsspider.content.extraction.rules import Kind, rules_for
from llmsspider.content.extraction.titles import outer_title, page_headline
from llmsspider.content.extraction.tree import inner_text, is_named_navigation, letters_outside_links

# Which element holds the main content: by the generator's selector, else by where the text is.

_LIKELY = (
    "[itemprop=articleBody]", ".markdown-body", "main article", "article", "main", "[role=main]",
    "#main-content", "#content", "#main", ".main-content", ".documentation", ".content", ".main",
)  # fmt: skip
_CONTAINERS = frozenset({"div", "main", "section", "article", "tbody", "tr", "td", "center"})
_NO_TEXT = frozenset(
    {
        "nav",
        "footer",
        "script",
        "style",
        "noscript",
        "noframes",
        "template",
        "svg",
        "button",
        "select",
        "head",
    }
)
"""Elements whose text never counts."""
_NOT_MAIN = frozenset({"aside", "form"})
"""Elements whose text counts only where it is most of the page's."""
_HEADINGS = frozenset({"h1", "h2", "h3"})
_MOST = 0.5
"""Share (0 to 1) of the page's text outside links from which on an element is no navigation, whatever its name."""
_BY_VALUE = re.compile(r"\Adescendant-or-self::\*\[@([\w-]+) = ('[^']*')\]")
"""A step of XPath to the elements with an attribute value; starting at the attributes takes a fifth of the time."""
_STEP = re.compile(r"descendant-or-self::(\w+)\[([^/|]*)\]")
"""An XPath of one step to the elements of one tag: the tag, and the condition."""
_VALUE = re.compile(r"@([\w-]+) = ('[^']*')")
_AT_VALUE = "(descendant-or-self::*/@{}[. = {}])[position() <= 1000]/parent::"
"""Steps to the first elements with an attribute value: the last one takes time by the square of their number."""
_TRANSLATIONS = XPath(".//a[@hreflang][contains(concat(' ', @rel, ' '), ' alternate ')]", smart_strings=False)
_MOST_OF_PARTS = 0.6
"""Share of the text of all elements that a selector matches from which on the first is the main content."""
_SHARE = 0.8
"""Share of an element's text that one child must hold for the search to go down into it."""
_AROUND = 40
"""Characters outside links that may be lost where the search goes down from an element of `_LIKELY`."""
_PARAGRAPHS = 80
"""Length of text in paragraphs that may be lost where the search goes down step by step."""
_SWITCH = 24
"""Maximum number of letters outside links in a block of links to translations ("Available languages")."""
_LIKELY_SHARE = 0.6
"""Share of the page's text that an element of `_LIKELY` must hold for the search to start there."""
_WORD_ENDS = re.compile(r"[-_\s]")
"""What parts the words of a class."""
_LINKED = 0.6
"""Minimum share (0 to 1) of a block's text in links for a block named like navigation to be navigation."""


def find_main(
    root: _Element,
    source: Source,
    meta: str | None = None,
    title: str | None = None,
    whole: str | None = None,
    *,
    own: tuple[Generator, ...] = (),
    hidden: HiddenText,
) -> tuple[_Element, Generator]:
    """Return the element with the main content of a page and the generator it was found by.

    `meta` is the content of `<meta name="generator">`, `title` the `<title>` without the site's name, `whole` the
    complete `<title>`. The generators in `own` are tried first. `hidden` removes the hidden elements: from the main
    content, or from the whole page if that has to be searched.
    """
    generators = (*own, *_marked((meta or "").lower(), source.marks.intersection(GENERATOR_MARKS)))
    found = _by_generator(root, source, generators)
    if not (found and hidden.remove(found[0]) and _has_text(found[0])):
        hidden.remove()
        found = found and _by_generator(root, source, generators)
    main, generator = found or (_densest(root, source, title, whole), UNKNOWN)
    return _without_languages(main, source), generator


def _by_generator(
    root: _Element, source: Source, generators: tuple[Generator, ...]
) -> tuple[_Element, Generator] | None:
    for generator in generators:
        if any(mark in source.body for mark in generator.encoded_marks):
            main = _first(root, source, generator.main)
            if main is not None:
                return main, generator
    return None


@lru_cache(maxsize=1024)
def _marked(meta: str, marks: frozenset[bytes]) -> tuple[Generator, ...]:
    """Return the generators that have one of `marks`, beginning with those named by the `<meta>` of the page."""
    names = {name for mark in marks for name in GENERATOR_MARKS[mark]}
    marked = [generator for generator in GENERATORS if generator.name in names]
    return tuple(sorted(marked, key=lambda one: not (one.meta and meta.startswith(one.meta))))


@lru_cache(maxsize=512)
def _selector(css: str) -> tuple[XPath, frozenset[bytes], tuple[bytes, ...]]:
    """Return a selector as XPath, with the marks and byte strings that a page must contain for it to match."""
    words = [word.encode() for word in words_of(css)]
    path = _by_attribute(HTMLTranslator().css_to_xpath(css))
    marks = frozenset(lowered for word in words if (lowered := word.lower()) in KNOWN)
    return XPath(path, smart_strings=False), marks, tuple(words)


def _by_attribute(path: str) -> str:
    """Return an equal XPath that starts at the attributes with a value, not at all elements, if `path` compares one."""
    path = _BY_VALUE.sub(lambda found: f"{_AT_VALUE.format(*found.groups())}*", path)
    step = _STEP.fullmatch(path)
    value = _VALUE.search(step[2]) if step and "not(" not in step[2] and " or " not in step[2] else None
    if step is None or value is None:
        return path
    return f"{_AT_VALUE.format(*value.groups())}{step[1]}[{step[2]}]"


def _matches(root: _Element, source: Source, css: str) -> list[_Element]:
    xpath, marks, words = _selector(css)
    if marks <= source.marks and all(word in source.body for word in words):
        return list(xpath(root))
    return []


def _first(root: _Element, source: Source, selectors: tuple[str, ...]) -> _Element | None:
    for css in selectors:
        found = _matches(root, source, css)
        for place, element in enumerate(found):
            if _has_text(element):
                return element if place + 1 == len(found) else _with_others(element, found[place + 1 :])
    return None


def _with_others(first: _Element, others: list[_Element]) -> _Element:
    """Return `first`, or what is around it and the `others` where it holds little of their text: one page in parts."""
    apart = [other for other in others if first not in other.iterancestors()]
    own = letters_outside_links(first) if apart else 0
    if not apart or own >= _MOST_OF_PARTS * (own + sum(map(letters_outside_links, _outermost(apart)))):
        return first
    above = set(first.iterancestors())
    for other in apart:
        above.intersection_update(other.iterancestors())
    return next(around for around in first.iterancestors() if around in above)


def _outermost(elements: list[_Element]) -> list[_Element]:
    """Return those of `elements`, given in document order, that are in no other of them."""
    found: list[_Element] = []
    for element in elements:
        if not (found and found[-1] in element.iterancestors()):
            found.append(element)
    return found


def _has_text(element: _Element) -> bool:
    return any(text.strip() for text in element.itertext())


def _densest(root: _Element, source: Source, title: str | None, whole: str | None) -> _Element:
    """Return the smallest element that holds nearly all text of the page that is neither link nor navigation."""
    page = page_headline(root, title, whole)
    start = root.find("body")
    start = root if start is None else start
    sizes = _measure(start, page)
    total = sizes.get(start, 0)
    sizes = sizes or _measure(start, page, links=True)  # a list of links, or nothing: by its name alone
    chosen = None
    for css in _LIKELY:
        best = max(_matches(root, source, css), key=lambda element: sizes.get(element, 0), default=None)
        if best is None or sizes.get(best, 0) < _LIKELY_SHARE * total:
            continue
        chosen = best if chosen is None else chosen
        if page is None or _is_in(page, best) or outer_title(root, best, title, whole) is not None:
            chosen = best if page is None else _with_headings(best, page, sizes)
            break
    if chosen is not None:
        return without_navigation(_descend(chosen, sizes, page, around=_AROUND), page)
    return without_navigation(_descend(start, sizes, page), page)


def _with_headings(chosen: _Element, page: _Element, sizes: dict[_Element, int]) -> _Element:
    """Return the element around `chosen` and `page`, its heading outside, if other headings stand between the two."""
    around = set(page.iterancestors())
    both = next((above for above in chosen.iterancestors() if above in around), None)
    if both is None or page in chosen.iterdescendants("h1", "h2", "h3", "h4"):
        return chosen
    is_below = False
    for element in both.iter("h1", "h2", "h3", chosen.tag):
        if element is chosen:
            break
        if is_below and element.tag in _HEADINGS and element in sizes:
            return both
        is_below = is_below or element is page
    return chosen


def _measure(start: _Element, page: _Element | None, *, links: bool = False) -> dict[_Element, int]:
    """Return the length of text in each element, navigation and (without `links`) links not counted; empty for none.

    A tag or name that speaks for navigation is evidence, not proof: an element with most of the text and the
    heading of the page (`page`, else any `<h1>`) is its content whatever it is called.
    """
    sizes: dict[_Element, int] = {}
    doubtful: list[_Element] = []
    for element in start.iter():  # parents come first
        if element is start or (
            element.getparent() in sizes and element.tag not in _NO_TEXT and (links or element.tag != "a")
        ):
            sizes[element] = len((element.text or "").strip())
            if element is not start and (element.tag in _NOT_MAIN or is_named_navigation(element)):
                doubtful.append(element)
    for element in reversed(list(start.iter())):  # children come first
        parent = element.getparent()
        if element is not start and parent in sizes:
            sizes[parent] += sizes.get(element, 0) + len((element.tail or "").strip())
    total = sizes[start]
    for element in doubtful:
        if element in sizes and not (sizes[element] >= _MOST * total and _heads_page(element, start, page)):
            _discount(element, sizes)
    return sizes if sizes[start] else {}


def _heads_page(element: _Element, start: _Element, page: _Element | None) -> bool:
    """Return True if the heading of the page stands in `element`, or the page has none outside of it."""
    if page is not None:
        return _is_in(page, element)
    if next(element.iter("h1"), None) is not None:
        return True
    return next(start.iter("h1"), None) is None


def _discount(element: _Element, sizes: dict[_Element, int]) -> None:
    """Remove an element and its descendants from `sizes`, and subtract its size from those of its ancestors."""
    for above in element.iterancestors():
        if above not in sizes:
            break
        sizes[above] -= sizes[element]
    for inner in element.iter():
        sizes.pop(inner, None)


def _descend(
    element: _Element, sizes: dict[_Element, int], page: _Element | None, around: float = inf
) -> _Element:
    """Go down while one child holds nearly all text of its parent, and `page`, the heading of the page.

    A step may lose at most `around` characters of text; all steps together at most `_PARAGRAPHS` characters in `<p>`
    beside the path.
    """
    outer, beside = element, 0
    while True:
        best = max(element, key=lambda child: sizes.get(child, 0), default=None)
        size = sizes.get(element, 0)
        if best is None or not _is_container(best) or sizes.get(best, 0) < max(_SHARE * size, size - around):
            return element
        if _holds_title(element, page) and not _holds_title(best, page):
            return element
        paragraphs = sum(sizes.get(child, 0) for child in element if child.tag == "p")
        outer = outer if beside or not paragraphs else element
        beside += paragraphs
        if beside > _PARAGRAPHS:
            return outer
        element = best


def _is_container(element: _Element) -> bool:
    """Return True for an element of the page layout: not a table of data, an admonition or a set of tabs."""
    if element.tag == "table":
        return next(element.iter("th"), None) is None and next(element.iter("h1", "h2"), None) is not None
    is_plain = element.tag in _CONTAINERS and rules_for("").kind(element) is Kind.PLAIN
    return is_plain and not _is_only_code(element)


def _is_only_code(element: _Element) -> bool:
    """Return True for a listing of code and what is set around it: a part of a page, however long it is."""
    return (
        next(element.iter("pre"), None) is not None
        and next(element.iter("h1", "h2", "h3", "h4", "h5", "p", "li", "dd"), None) is None
    )


def _holds_title(element: _Element, page: _Element | None) -> bool:
    """Return True if the heading of the page is inside, or an `<h1>` that stands above all other headings."""
    if page is None:
        return next(element.iter("h1"), None) is not None
    first = next(element.iter("h1", "h2", "h3", "h4"), None)
    return (first is not None and first.tag == "h1") or _is_in(page, element)


def _is_in(inner: _Element, outer: _Element) -> bool:
    return any(above is outer for above in inner.iterancestors())


def without_navigation(main: _Element, page: _Element | None = None) -> _Element:
    """Empty the blocks in `main` that are named like navigation and made of links, or turn pages, and return `main`.

    A block with `page`, the heading of the page, stays, and so does a table with headers.

    Tables of contents are named alike instead: the walk leaves them out unless they are all a page has.
    """
    for element in list(main.iterdescendants("div", "section", "ul", "ol", "header", "aside", "table")):
        if (
            element.getparent() is not None
            and element.get("role") != "tablist"
            and not (page is not None and _is_in(page, element))
            and (is_named_navigation(element) or element.tag == "aside")
            and not (element.tag == "table" and next(element.iter("th"), None) is not None)
            and _is_linked(element)
        ):
            if "toc" in _WORD_ENDS.split(element.get("class") or ""):
                element.set("class", "toc")
            else:
                element.clear(keep_tail=True)
    return without_pagination(main)


def _is_linked(element: _Element) -> bool:
    text = len("".join(inner_text(element).split()))
    linked = sum(len("".join(inner_text(link).split())) for link in element.iter("a"))
    return linked >= _LINKED * text


def _without_languages(main: _Element, source: Source) -> _Element:
    """Empty the blocks in `main` that lead to the page in other languages (HTML standard 4.6.7.1)."""
    if not source.may_hold(b"hreflang"):
        return main
    for link in _TRANSLATIONS(main):
        block: _Element | None = None
        for above in link.iterancestors():
            if above is main or next(above.iter("h1", "h2", "h3", "img"), None) is not None:
                break
            if letters_outside_links(above) > _SWITCH:
                break
            block = above
        if block is not None:
            block.clear(keep_tail=True)
    return main
