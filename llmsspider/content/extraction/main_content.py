"""Which element holds the main content: by the generator's selector, else by where the text is;
without pagination.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, dropwhile, islice, takewhile
from math import inf

from cssselect import HTMLTranslator
from lxml.etree import XPath, _Element

from llmsspider.content.extraction.boilerplate import without_boilerplate
from llmsspider.content.extraction.generators import GENERATORS, UNKNOWN, Generator
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.layout import without_pagination
from llmsspider.content.extraction.metadata import whole_title
from llmsspider.content.extraction.parsing import GENERATOR_MARKS, KNOWN, Source, words_of
from llmsspider.content.extraction.rules import Kind, rules_for
from llmsspider.content.extraction.titles import outer_title, page_headline
from llmsspider.content.extraction.tree import (
    IS_FRAME,
    body_of,
    empty,
    holds,
    inner_text,
    letters_outside_links,
    navigation_name,
)
from llmsspider.items import PageMeta

_LIKELY = (
    "[itemprop=articleBody]", ".markdown-body", "main article", "article", "main", "[role=main]",
    "#main-content", "#content", "#main", ".main-content", ".documentation", ".content", ".main",
)  # fmt: skip
_CONTAINERS = frozenset({"div", "main", "section", "article", "tbody", "tr", "td", "center"})
_NO_TEXT = frozenset(
    {"nav", "footer", "script", "style", "noscript", "noframes", "template", "svg", "button", "select", "head"}
)  # fmt: skip
"""Elements whose text never counts."""
_MOST = 0.5
"""Share (0 to 1) of the page's text outside links from which on an element is no navigation,
whatever its name.
"""
_MOST_WITHOUT_HEADING = 0.6
"""The same where the heading of the page stands elsewhere."""
_FIRST_STEP = re.compile(r"\Adescendant-or-self::((?:\*|\w+)\[([^]/|]*)\])")
"""The first step of an XPath, to elements that meet a condition."""
_VALUE = re.compile(r"@([\w-]+) = ('[^']*')")
_MOST_OF_PARTS = 0.6
"""Share of the text of all elements that a selector matches from which on the first is the main
content.
"""
_SHARE = 0.8
"""Share of an element's text that one child must hold for the search to go down into it."""
_AROUND = 40
"""Characters outside links that may be lost where the search goes down from an element of
`_LIKELY`.
"""
_PARAGRAPHS = 80
"""Length of text in paragraphs that may be lost where the search goes down step by step."""
_LIKELY_SHARE = 0.6
"""Share of the page's text that an element of `_LIKELY` must hold for the search to start there."""
_BESIDE = 0.1
"""Share of an element's text above which others like it beside it are parts of the page, too."""
_MAX_PARTS = 8
"""Maximum number of parts of a post that are compared."""
_UNLINKED = 0.3
"""Share of a page's text outside links below which the page is a list of links."""
_FEW_LINKED = 20
"""Number of characters in links up to which a page is no list of links, and may have no text."""
_LONG = 5_000
"""Number of characters outside links from which on a page is no list of links."""
_LINKED = 0.6
"""Minimum share (0 to 1) of a block's text in links for a block named like navigation to be
navigation.
"""


Found = tuple[_Element, Generator]
"""The element with the main content of a page and the generator it was found by."""


def find_main(
    root: _Element, source: Source, meta: PageMeta, own: tuple[Generator, ...], hidden: HiddenText
) -> Found:
    """Return the main content of a page, without `hidden` elements; the generators in `own` are
    tried first.
    """
    name = (meta.generator or "").lower()
    generators = (*own, *_marked(name, source.marks.intersection(GENERATOR_MARKS)))
    found = _by_generator(root, source, generators)
    if not (found and hidden.remove(found[0]) and _has_text(found[0])):
        hidden.remove()
        found = found and _by_generator(root, source, generators)
    return found or (_densest(root, source, meta.title, whole_title(root)), UNKNOWN)


def _by_generator(
    root: _Element, source: Source, generators: tuple[Generator, ...]
) -> Found | None:
    for generator in generators:
        if any(mark.encode() in source.body for mark in generator.marks):
            for css in generator.main:
                found = list(
                    dropwhile(lambda element: not _has_text(element), _matches(root, source, css))
                )
                if found:
                    return _with_others(*found), generator
    return None


@lru_cache(maxsize=1024)
def _marked(meta: str, marks: frozenset[bytes]) -> tuple[Generator, ...]:
    names = {name for mark in marks for name in GENERATOR_MARKS[mark]}
    marked = [generator for generator in GENERATORS if generator.name in names]
    return tuple(sorted(marked, key=lambda one: not (one.meta and meta.startswith(one.meta))))


@lru_cache(maxsize=512)
def _selector(css: str) -> tuple[XPath, frozenset[bytes], tuple[bytes, ...]]:
    """Return a selector as XPath, with the marks and byte strings that a page must contain for it
    to match.
    """
    words = [word.encode() for word in words_of(css)]
    path = HTMLTranslator().css_to_xpath(css)
    step = _FIRST_STEP.match(path)
    value = _VALUE.search(step[2]) if step and not re.search(r"not\(| or ", step[2]) else None
    if step and value:
        # To start at the attributes takes a fifth of the time; to step back from all of them, time
        # by their square.
        values = f"(descendant-or-self::*/@{value[1]}[. = {value[2]}])[position() <= 1000]"
        path = f"{values}/parent::{step[1]}{path[step.end() :]}"
    marks = frozenset(lowered for word in words if (lowered := word.lower()) in KNOWN)
    return XPath(path), marks, tuple(words)


def _matches(root: _Element, source: Source, css: str) -> list[_Element]:
    xpath, marks, words = _selector(css)
    if marks <= source.marks and all(word in source.body for word in words):
        return list(xpath(root))
    return []


def _with_others(first: _Element, *others: _Element) -> _Element:
    """Return `first`, or what is around it and the `others` where it holds little of their text:
    one page in parts.
    """
    apart: list[_Element] = []
    for other in others:
        if {first, *apart[-1:]}.isdisjoint(other.iterancestors()):
            apart.append(other)
    own = letters_outside_links(first) if apart else 0
    if not apart or own >= _MOST_OF_PARTS * (own + sum(map(letters_outside_links, apart))):
        return first
    above = set(first.iterancestors())
    for other in apart:
        above.intersection_update(other.iterancestors())
    return next(around for around in first.iterancestors() if around in above)


def _has_text(element: _Element) -> bool:
    return any(text.strip() for text in element.itertext())


def _densest(root: _Element, source: Source, title: str | None, whole: str | None) -> _Element:
    """Return the smallest element that holds nearly all text of the page that is neither link nor
    navigation.
    """
    page = page_headline(root, title, whole)
    start = body_of(root)
    sizes = _measure(start, page)
    total = sizes.get(start, 0)
    if total < _LONG:
        with_links = _measure(start, page, links=True)
        linked = with_links.get(start, 0)
        if linked > _FEW_LINKED and total < _UNLINKED * linked:
            sizes = with_links  # of a list of links, or nothing: by its name alone
            total = linked
        sizes = sizes or with_links
    chosen = None
    for best in _likely(root, source, sizes, _LIKELY_SHARE * total):
        chosen = best if chosen is None else chosen
        if page is None or best in page.iterancestors() or outer_title(root, best, title, whole):
            chosen = best if page is None else _with_headings(best, page, sizes)
            break
    start, around = (start, inf) if chosen is None else (chosen, _AROUND)
    main = without_navigation(_descend(start, sizes, page, around), page)
    return without_boilerplate(main, page)


def _likely(
    root: _Element, source: Source, sizes: dict[_Element, int], least: float
) -> Iterator[_Element]:
    """Yield the largest element of each selector of `_LIKELY` that holds at least so much text."""
    for css in _LIKELY:
        found = _matches(root, source, css)
        best = max(found, key=lambda element: sizes.get(element, 0), default=None)
        if best is not None and sizes.get(best, 0) >= least:
            yield _with_beside(best, found, sizes)


def _with_beside(best: _Element, found: list[_Element], sizes: dict[_Element, int]) -> _Element:
    """Return what is around an element where others like it stand beside it: posts of a thread."""
    around = best.getparent()
    others = [
        one
        for one in found
        if one is not best and one.getparent() is around and one.get("class") == best.get("class")
    ]
    beside = sum(sizes.get(one, 0) for one in others)
    is_part = beside > _BESIDE * sizes.get(best, 0) or _is_like(best, others)
    return around if around is not None and is_part else best


def _is_like(post: _Element, others: Iterable[_Element]) -> bool:
    """Say whether an element consists of the same parts as one of the others."""
    shape = _shape(post)
    return shape is not None and any(one is not post and _shape(one) == shape for one in others)


def _shape(post: _Element) -> tuple[tuple[str, str | None], ...] | None:
    """Return the tags and classes of what an element consists of; None for a single child."""
    parts = tuple((part.tag, part.get("class")) for part in islice(post, _MAX_PARTS))
    return parts if len(parts) > 1 and any(name for _, name in parts) else None


def _with_headings(chosen: _Element, page: _Element, sizes: dict[_Element, int]) -> _Element:
    """Return the element around `chosen` and `page`, its heading outside, if other headings stand
    between the two.
    """
    around = set(page.iterancestors())
    both = next((above for above in chosen.iterancestors() if above in around), None)
    if both is None or page in chosen.iterdescendants("h1", "h2", "h3", "h4"):
        return chosen
    above = takewhile(
        lambda element: element is not chosen, both.iter("h1", "h2", "h3", chosen.tag)
    )
    between = islice(dropwhile(lambda element: element is not page, above), 1, None)
    has_others = any(element.tag in {"h1", "h2", "h3"} and element in sizes for element in between)
    return both if has_others else chosen


def _measure(start: _Element, page: _Element | None, *, links: bool = False) -> dict[_Element, int]:
    """Return the length of text in each element, navigation and (without `links`) links not
    counted; empty for none.
    """
    sizes = _text_sizes(start, with_links=links)
    titles = start.iter("h1") if page is None else [page]
    headed = set(chain.from_iterable(title.iterancestors() for title in titles))
    doubtful = list(filter(_is_doubtful, islice(sizes, 1, None)))
    together = _sizes_of_kinds(doubtful, sizes)
    total = sizes[start]
    for element in doubtful:
        least = _MOST if element in headed or not headed else _MOST_WITHOUT_HEADING
        if element in sizes and together[_kind(element)] < least * total:
            _take_out(element, sizes)
    return sizes if sizes[start] else {}


def _kind(element: _Element) -> tuple[str, str]:
    return element.tag, element.get("class", "")


def _sizes_of_kinds(elements: list[_Element], sizes: dict[_Element, int]) -> Counter[object]:
    """Return the length of text in all elements of one kind, those inside others of it aside."""
    kinds = {element: _kind(element) for element in elements}
    together: Counter[object] = Counter()
    for element, kind in kinds.items():
        if kind not in map(kinds.get, element.iterancestors()):
            together[kind] += sizes[element]
    return together


def _text_sizes(start: _Element, *, with_links: bool) -> dict[_Element, int]:
    without = _NO_TEXT if with_links else {*_NO_TEXT, "a"}
    sizes: dict[_Element, int] = {}
    elements = list(start.iter())
    for element in elements:  # parents come first
        if element is start or (element.getparent() in sizes and element.tag not in without):
            sizes[element] = len((element.text or "").strip())
    for element in reversed(elements[1:]):  # children come first
        parent = element.getparent()
        if parent in sizes:
            sizes[parent] += sizes.get(element, 0) + len((element.tail or "").strip())
    return sizes


def _is_doubtful(element: _Element) -> bool:
    """Say whether an element is content only if all of its kind have most of the text."""
    if element.tag == "form":
        return not IS_FRAME(element)
    return element.tag == "aside" or bool(navigation_name(element))


def _take_out(element: _Element, sizes: dict[_Element, int]) -> None:
    size = sizes[element]
    for above in takewhile(sizes.__contains__, element.iterancestors()):
        sizes[above] -= size
    for inner in element.iter():
        sizes.pop(inner, None)


def _descend(
    element: _Element,
    sizes: dict[_Element, int],
    page: _Element | None,
    around: float,
) -> _Element:
    """Go down while one child holds `page`, the heading of the page, and all but `around`
    characters of the text.
    """
    outer = element
    beside = 0
    while len(element):
        best = max(element, key=lambda child: sizes.get(child, 0))
        size = sizes.get(element, 0)
        if not _is_container(best) or sizes.get(best, 0) < max(_SHARE * size, size - around):
            return element
        if _holds_title(element, page) and not _holds_title(best, page):
            return element
        if around != inf and page is None and _begins_beside(element, best, sizes):
            return element
        if best.tag == "article" and _is_like(best, element.iterchildren("article")):
            return element
        outer = outer if beside else element
        beside += sum(sizes.get(child, 0) for child in element.iterchildren("p"))
        if beside > _PARAGRAPHS:
            return outer
        element = best
    return element


def _begins_beside(element: _Element, best: _Element, sizes: dict[_Element, int]) -> bool:
    """Say whether a heading or code stands right in an element, above the one with most text."""
    above = takewhile(lambda child: child is not best, element)
    return any(child.tag in {"h2", "h3", "pre"} and sizes.get(child) for child in above)


def _is_container(element: _Element) -> bool:
    """Return True for an element of the page layout: not a table of data, an admonition or a set of
    tabs.
    """
    if element.tag == "table":
        return not holds(element, "th") and holds(element, "h1", "h2")
    if element.tag not in _CONTAINERS or rules_for("").kind(element) is not Kind.PLAIN:
        return False
    has_code = holds(element, "pre")  # and nothing else: a listing, a part of a page
    return not has_code or holds(element, "h1", "h2", "h3", "h4", "h5", "p", "li", "dd")


def _holds_title(element: _Element, page: _Element | None) -> bool:
    """Return True if the heading of the page is inside, or an `<h1>` that stands above all other
    headings.
    """
    if page is None:
        return holds(element, "h1")
    first = next(element.iter("h1", "h2", "h3", "h4"), None)
    return (first is not None and first.tag == "h1") or element in page.iterancestors()


def without_navigation(main: _Element, page: _Element | None = None) -> _Element:
    """Empty the blocks of links in `main` that are named like navigation, but for those with
    `page`, its heading.
    """
    for element in list(
        main.iterdescendants("div", "section", "ul", "ol", "header", "aside", "table")
    ):
        if (
            element.getparent() is not None
            and not (page is not None and element in page.iterancestors())
            and (navigation_name(element) or element.tag == "aside")
            and sum(map(_text_length, element.iter("a"))) >= _LINKED * _text_length(element)
        ):
            if "toc" in re.split(r"[-_\s]", element.get("class", "")):
                element.set("class", "toc")
            else:
                empty(element)
    return without_pagination(main)


def _text_length(element: _Element) -> int:
    return len("".join(inner_text(element).split()))
