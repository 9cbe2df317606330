"""The title of a page: which heading is the title, what is above that heading, and how `<title>`
helps.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, takewhile

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.tree import (
    HEADINGS,
    empty,
    has_blocks,
    holds,
    is_within,
    letters_outside_links,
    navigation_name,
    plain_text,
)

_LOOKED_AT = 200
"""Number of elements at the top of the main content that are searched for a heading without a
heading tag.
"""
_HEAD_TEXT = 100
"""Maximum number of letters outside links above the title; more are content, not the head of the
site.
"""
_IN_MAIN = 40
"""The same where the title stands in the main element of a page."""
_CONTENT = XPath(
    "boolean(.//pre | .//dl | .//th"
    " | descendant-or-self::*[self::h2 or self::h3 or self::h4][not(.//a | ancestor::a)])"
)
_NUMBER = re.compile(r"(\d++(?:\.\d++)*+|[A-Z](?:\.\d++)++)\.?+\s++")
_PARTS = re.compile(r"(?<!\s)(?:\s*+[|:·–—»›]\s++|\s++-{1,3}\s++)")
_PARTED = re.compile(r"(?<!\s)\s*+[(:|·–—-]")
_WORD = re.compile(r"\w+")
_MAX_HEADING = 1_000
"""Number of characters of a heading that are compared with the `<title>`."""
_MORE_WORDS = 2
"""Maximum number of words in the heading of a page that the `<title>` does not have."""


def outer_title(
    root: _Element, main: _Element, title: str | None, whole: str | None = None
) -> str | None:
    """Return the text of an `<h1>` before the main content, if it fits the `<title>` and none that
    is inside does.
    """
    wanted = (title or "").casefold()
    own = next(main.iter("h1"), None)
    before = takewhile(lambda heading: main not in heading.iterancestors(), root.iter("h1"))
    outside = [heading for heading in before if own is None or not _leads_away(heading)]
    for heading in outside:
        text = plain_text(heading)
        if not text or not wanted.startswith(text.casefold()):
            continue
        is_other = text.casefold() != wanted or own is not None
        is_headed = is_other and holds(main, "h1", "h2")
        if not (is_headed and _in_navigation(heading)):
            return None if _is_named_inside(main, text, title, whole) else text
    fits = (
        own is not None and bool(outside) and _fits_better(outside[-1], own, main, whole or title)
    )
    return plain_text(outside[-1]) if fits else None


def _is_named_inside(main: _Element, text: str, title: str | None, whole: str | None) -> bool:
    """Say whether a heading in `main` names the page, or says what the `text` of one before it does."""
    wanted = (title or "").casefold()
    inner = [plain_text(one).casefold() for one in main.iter("h1", "h2")]
    key = _key(text)
    last = _keys(whole)[-1:]
    if key in map(_key, inner):
        return True
    if key in last:
        return False
    # a word of a part names no page
    least = len(text) if key in _keys(whole or title) else 1
    return any((len(one) >= least and one in wanted) or _key(one) in last for one in inner if one)


def section_title(
    root: _Element, main: _Element, title: str | None, whole: str | None = None
) -> str | None:
    """Return the text of a heading below the first level that equals the `<title>` and stands
    before a main content without such headings.
    """
    page = None if holds(main, "h1", "h2") else page_headline(root, title, whole)
    if page is None or page.tag == "h1" or _in_navigation(page):
        return None
    before = takewhile(lambda element: element is not main, root.iter(page.tag, main.tag))
    return plain_text(page) if page in before else None


def _fits_better(heading: _Element, own: _Element, main: _Element, title: str | None) -> bool:
    """Return True if a heading before `main` shares more words with the `<title>` than `own`, and
    is not the site.
    """
    text = plain_text(heading)
    keys = _keys(title)
    words = set(_WORD.findall((title or "").casefold()))
    if not text or _key(plain_text(own)) in (*keys, _key(text)) or _in_navigation(heading):
        return False
    ours, theirs = (
        len(words.intersection(_WORD.findall(one.casefold()))) for one in (text, plain_text(own))
    )
    is_inside = any(
        above.tag in {"main", "article"}
        for above in {*main.iterancestors()} & {*heading.iterancestors()}
    )
    return ours >= theirs if is_inside else ours > theirs and _key(text) not in keys


def _leads_away(heading: _Element) -> bool:
    """Return True if a heading is a link to another page: the site's name, leading home."""
    link = next(heading.iter("a"), None)
    if link is None or plain_text(link) != plain_text(heading):
        return False
    href = link.get("href") or "#"
    name = href.rstrip("/").rpartition("/")[2]  # of a page that is called so
    return not href.startswith("#") and _key(name) != _key(plain_text(link))


def _in_navigation(heading: _Element) -> bool:
    """Return True if a heading stands in a navigation: it names the site, or the page as menus do."""
    return any(
        above.tag in {"nav", "aside"} or navigation_name(above) for above in heading.iterancestors()
    )


def _is_above_page(heading: _Element) -> bool:
    """Return True if a heading stands in a navigation, or in a header of the site."""
    tags = {above.tag for above in heading.iterancestors()}
    return tags.isdisjoint({"main", "article", "section"}) and (
        "header" in tags or _in_navigation(heading)
    )


def headline(scope: _Element, title: str | None, whole: str | None = None) -> _Element | None:
    """Return the heading in `scope` that equals a part of the `<title>`; of several, that of the
    last part.
    """
    keys = _keys(title, whole)
    lead = [*_keys(title)[:2], *_keys(_rest(title))[:1]]
    said: dict[str, _Element] = {}
    section = None
    is_first = True
    for heading in scope.iter("h1", "h2", "h3", "h4"):
        key = _key(plain_text(heading)[:_MAX_HEADING])
        if heading.tag == "h1":
            if key in keys and (key not in said or _is_above_page(said[key])):
                said[key] = heading
            continue
        if section is None and key in (keys if is_first else lead):
            section = heading
        is_first = False
    if not said:
        return section
    key, page = list(said.items())[-1]
    return page if section is None or key in lead else section


def _below_linked_name(scope: _Element) -> _Element | None:
    """Return the second `<h1>` where the first is a link to another page."""
    headings = list(islice(scope.iter("h1"), 2))
    return headings[1] if len(headings) == 2 and _leads_away(headings[0]) else None


def page_headline(scope: _Element, title: str | None, whole: str | None = None) -> _Element | None:
    """Return the heading in `scope` that equals the `<title>`, or one above it that adds some words
    to it.
    """
    found = headline(scope, title, whole)
    if not title or holds(scope, "h1"):
        return found
    wanted = set(_WORD.findall(_PARTED.split(title, maxsplit=1)[0].casefold()))
    for heading in scope.iter("h2", "h3") if wanted else ():
        words = _WORD.findall(plain_text(heading).casefold())
        if wanted.issubset(words) and len(words) <= len(wanted) + _MORE_WORDS:
            return heading if found is None or heading.tag < found.tag else found
    return found


@lru_cache(maxsize=64)  # a page asks several times of its own
def _keys(*titles: str | None) -> tuple[str, ...]:
    """Return what a heading is compared with, as keys: each title, its parts, and what follows the
    first of many.
    """
    parts = [
        part
        for title in titles
        if title
        for part in (title, *_PARTS.split(title), _rest(title) or "")
    ]
    return tuple(key for part in parts if (key := _key(part)))


def _rest(title: str | None) -> str | None:
    """Return what follows the first of three or more parts of a title: of "JSDoc: Class: Wheel" the
    "Class: Wheel".
    """
    parts = _PARTS.split(title or "")
    return (title or "")[len(parts[0]) :].lstrip(" |:·–—»›-") if len(parts) > 2 else None


def _key(text: str) -> str:
    """Return only letters and digits: sites separate words differently in `<title>` and heading."""
    return "".join(filter(str.isalnum, text.casefold()))


def set_headline(main: _Element, title: str | None, whole: str | None = None) -> None:
    """Make the element at the top that equals the `<title>` an `<h1>`, and empty what is above it,
    such as a logo.
    """
    if not title:
        return
    found = headline(main, title, whole)
    found = _below_linked_name(main) if found is None else page_headline(main, title, whole)
    drawn = _styled_headline(main, title) if found is None else None
    if drawn is not None:
        drawn.tag = "h1"
        found = drawn
    if found is not None and _empty_above(found, main):
        found.tag = "h1"


def clear_site_name(main: _Element, title: str | None, whole: str | None = None) -> bool:
    """Empty what is above the heading that equals the `<title>`, where an `<h1>` of the site is;
    return whether so.
    """
    first = next(main.iter("h1"), None)
    if first is None or _key(plain_text(first)) in _keys(title)[:2]:  # nearly every page ends here
        return False
    found = headline(main, title, whole)
    if found is None or found is first or found.tag != "h1":
        found = _below_linked_name(main)
    return found is not None and _empty_above(found, main)


def _styled_headline(main: _Element, title: str) -> _Element | None:
    """Return an element at the top that old pages style as a heading and that equals the `<title>`."""
    top = islice(main.iter(), 1, _LOOKED_AT + 1)
    for element in takewhile(lambda element: element.tag not in HEADINGS, top):
        if element.tag in {"div", "p", "center", "font"} and not has_blocks(element):
            around = next(element.iterancestors())
            if around.tag not in {"a", "li", "td"} and _says(element, title.casefold()):
                return element
    return None


def _says(element: _Element, title: str) -> bool:
    """Say whether an element says the title, in lower case, or begins so and is named a title."""
    said = plain_text(element).casefold()
    is_named = "title" in element.get("class", "").lower()
    return said == title or (is_named and said.startswith(title))


def _empty_above(headline: _Element, main: _Element) -> bool:
    """Empty what stands above the headline in `main`; return False, and leave it, where that is
    content.
    """
    above: list[_Element] = []
    for level in takewhile(lambda level: level is not main, (headline, *headline.iterancestors())):
        above += level.itersiblings(preceding=True)
    texts = [element for element in above if element.tag not in {"script", "style", "noscript"}]
    most = _IN_MAIN if is_within(headline, "main", "article") else _HEAD_TEXT
    if sum(map(letters_outside_links, texts)) > most or any(map(_CONTENT, above)):
        return False
    for element in above:
        empty(element)
    return True


def nest_sections(main: _Element) -> None:
    """Lower the headings of sections that begin with an `<h1>`, where the title stands in none
    (ExDoc).
    """
    headings = main.iter(*HEADINGS) if len(list(islice(main.iter("h1"), 2))) == 2 else ()
    begins: dict[_Element, bool] = {}
    for number, heading in enumerate(headings):
        inside = takewhile(lambda above: above is not main, heading.iterancestors())
        sections = [above for above in inside if above.tag == "section"]
        if sections and not number:
            return
        for place, section in enumerate(sections):
            begins.setdefault(section, not place and heading.tag == "h1")
        heading.tag = f"h{min(int(heading.tag[1]) + sum(map(begins.__getitem__, sections)), 6)}"


def own_title(title: str | None, heading: str | None) -> str | None:
    """Return the part of `title` that is the page's own, by the first `heading` of a page that has
    no `<h1>`.

    >>> own_title("Vectors (The Manual (version 7))", "19.1 Vectors")
    'Vectors'
    >>> own_title("The Manual: Section 3.6", "3.6 The Navigator")
    '3.6 The Navigator'
    """
    if not title or not heading:
        return title
    number = _NUMBER.match(heading)
    if number and title.split()[-1:] == [number[1]]:
        return heading
    name = heading[number.end() :] if number else heading
    begins = bool(name) and title.casefold().startswith(name.casefold())
    return title[: len(name)] if begins and _PARTED.match(title[len(name) :]) else title
