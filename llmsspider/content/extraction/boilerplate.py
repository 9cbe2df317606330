"""Removal of boilerplate from pages of no known generator: teasers, forms, signatures, authors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.tree import (
    HEADINGS,
    INLINE,
    NO_PROSE,
    empty,
    holds,
    navigation_name,
    plain_text,
)

_PARAGRAPH = 100
"""Minimum number of characters outside links of a line that is a paragraph."""
_ARTICLE = 0.4
"""Minimum share (0 to 1) of a page's text in paragraphs for the page to be an article."""
_BODY = 0.8
"""Minimum share of the paragraphs of a page in the body of an article."""
_LITTLE = 0.1
"""Share of the page's text outside links below which a block may be boilerplate."""
_LINKS = 0.2
"""Share of the page's text below which the links of such a block are."""
_FEW = 0.05
"""The same of its paragraphs."""
_BELOW = 0.2
"""Share of the page's text outside links below which a block below the body of an article is."""
_LABEL = 0.02
"""The same for a block without a link."""
_MOST = 0.5
"""Share of the page's text from which on all blocks with one name of navigation are its content."""
_ADDED = {
    "author": 0.6,
    "comment": 0.35,
    "comments": 0.35,
    "consent": 0.8,
    "modal": 0.35,
    "notice": 0.35,
    "notices": 0.35,
    "popup": 0.35,
    "related": 0.35,
    "reviews": 0.5,
    "signature": 0.35,
}
"""The same share for what readers add and what lies over the page, which may be long."""
_MANY = 3
"""Number of forms of one class from which on they belong to the items of a list."""
_BLOCKS = ("div", "section", "aside", "ul", "form", "td")
_NO_BODY = frozenset({"li", "ol", "p", "pre", "table", "ul"})
_STRUCTURE = XPath(
    "boolean(descendant-or-self::*[self::h1 or self::pre or self::th or self::dl or self::code"
    " or self::section[@id and (h2 or h3 or h4)]])"
)
"""What is of the text: a section with a heading and an address of its own, too."""
_DECLARED = re.compile(r"\w[(\[<]\S|[)\]>\w] ?: ?\w+\Z|=>|->")
_HEADED = 0.8
"""Share of the page's text below which a section is boilerplate by its heading."""
_HEADED_PARAGRAPHS = 0.3
"""The same of its paragraphs."""
_PAGES = (
    "(?:articles|content|courses|discussions|guides|insights|items|listings|news|pages|posts|products|"
    "questions|readings?|resources|searches|stories|threads|topics|videos)"
)
_ABOUT_OTHERS = re.compile(
    rf"(?:similar|related|recommended (?!posts)) ?{_PAGES}\b.{{0,25}}|recently viewed.{{0,20}}"
    r"|.{0,25}(?:also|might|may) (?:bought|enjoy|like|love|read|viewed|be interested)\b.{0,30}"
    r"|frequently bought\b.{0,20}|(?:complete|shop) (?:the|your) (?:look|set|outfit)\b.{0,25}"
    r"|who is online|users (?:browsing|viewing) this (?:forum|thread|topic)",
    re.IGNORECASE,
)
"""Headings of sections that lead to other pages, whatever the page is."""
_AROUND_ARTICLE = re.compile(
    rf"(?:recent|latest|popular|trending|featured) {_PAGES}|more (?:from|{_PAGES})\b.{{0,30}}"
    r"|about (?:the )?(?:author|reviewer|writer)s?|written by\b.{0,30}|disclaimers?|.{0,30}\bnewsletters?\b.{0,20}"
    r"|(?:subscribe|sign up|follow us|never miss|get (?:the )?latest|stay (?:in touch|up to date|informed))\b.{0,40}"
    r"|(?:shipping|delivery|returns?)(?: (?:&|and) (?:shipping|delivery|returns?))?(?: polic(?:y|ies))?",
    re.IGNORECASE,
)
"""Headings of what a site sets around an article or a product."""
_LEADS_ON = XPath("boolean(descendant-or-self::a | descendant-or-self::form)")


@dataclass(slots=True)
class _Text:
    """Numbers of characters in an element: in its open line, outside links, in links, in
    paragraphs.
    """

    line: int = 0
    prose: int = 0
    linked: int = 0
    paragraphs: int = 0


_Texts = dict[_Element, _Text]


def without_boilerplate(main: _Element, page: _Element | None) -> _Element:
    """Empty what stands in `main` around its text, and return it; `page` is its heading."""
    texts = _measure(main)
    whole = texts[main]
    headed = set() if page is None else {page, *page.iterancestors()}
    blocks = [one for one in main.iterdescendants(*_BLOCKS) if one not in headed]
    little = {one for one in blocks if _is_little(texts[one], whole)}
    boilerplate = [one for one in _with_forms(main) if one in little]
    boilerplate += _named(blocks, little, texts, whole.prose)
    is_article = whole.paragraphs >= _ARTICLE * (whole.prose + whole.linked)
    if is_article:
        boilerplate += _below_body(main, texts)
    boilerplate = [one for one in boilerplate if not (_STRUCTURE(one) or _is_declaration(one))]
    boilerplate += _headed(main, texts, is_article)
    for element in boilerplate:
        empty(element)
    return main


def _is_declaration(block: _Element) -> bool:
    """Say whether a block is the signature of something in an API, and not of a reader."""
    is_named = "signature" in block.get("class", "").lower()
    return is_named and _DECLARED.search(plain_text(block)) is not None


def _headed(main: _Element, texts: _Texts, is_article: bool) -> Iterator[_Element]:
    """Yield the sections whose headings say that they are no content."""
    for heading in main.iter(*HEADINGS):
        text = plain_text(heading).strip(" :…!.")
        if _ABOUT_OTHERS.fullmatch(text) or (is_article and _AROUND_ARTICLE.fullmatch(text)):
            yield from _section_of(heading, main, texts)


def _section_of(heading: _Element, main: _Element, texts: _Texts) -> list[_Element]:
    """Return the outermost block that begins with a heading and is a part of the page; none if it
    holds code or a title.
    """
    around = takewhile(
        lambda block: block is not main and next(block.iter(*HEADINGS)) is heading,
        heading.iterancestors(*_BLOCKS),
    )
    sections = [block for block in around if _is_part(texts[block], texts[main])]
    return [block for block in sections[-1:] if not holds(block, "h1", "pre")]


def _named(
    blocks: list[_Element], little: set[_Element], texts: _Texts, left: int
) -> Iterator[_Element]:
    """Yield the blocks that are named like navigation, all of one name or none; `left` is how much
    text there is outside links.
    """
    named: dict[tuple[str, float], dict[_Element, None]] = defaultdict(dict)
    for element in filter(navigation_name, blocks):
        word = navigation_name(element)
        if word in _ADDED:
            named[word, _ADDED[word]][element] = None
        if element in little:
            named[word, _MOST][element] = None
    sizes = {name: _prose_in(elements, texts) for name, elements in named.items()}
    for (word, most), size in sorted(sizes.items(), key=itemgetter(1), reverse=True):
        if size < most * left:
            left -= size
            yield from named[word, most]


def _prose_in(elements: dict[_Element, None], texts: _Texts) -> int:
    outer = (one for one in elements if elements.keys().isdisjoint(one.iterancestors()))
    return sum(texts[one].prose for one in outer)


def _is_part(own: _Text, whole: _Text) -> bool:
    return (
        own.prose + own.linked < _HEADED * (whole.prose + whole.linked)
        and own.paragraphs <= _HEADED_PARAGRAPHS * whole.paragraphs
    )


def _with_forms(main: _Element) -> Iterator[_Element]:
    """Yield the elements around forms in `main` that are no items of a list."""
    forms = list(main.iter("form"))
    classes = Counter(form.get("class") for form in forms)
    for form in forms:
        if classes[form.get("class")] < _MANY:
            yield form
            yield from form.iterancestors(*_BLOCKS)


def _is_little(own: _Text, whole: _Text) -> bool:
    return (
        own.prose < _LITTLE * whole.prose
        and own.linked < _LINKS * (whole.prose + whole.linked)
        and own.paragraphs <= _FEW * whole.paragraphs
    )


def _below_body(main: _Element, texts: _Texts) -> Iterator[_Element]:
    """Yield the blocks below the element with most paragraphs of an article that lead on."""
    body = main
    whole = texts[main]
    path = []
    while True:
        inner = max(body, key=lambda child: texts[child].paragraphs, default=None)
        if (
            inner is None
            or inner.tag in _NO_BODY
            or texts[inner].paragraphs < _BODY * whole.paragraphs
        ):
            break
        body = inner
        path.append(body)
    for level in path:
        for below in level.itersiblings():
            share = texts[below].prose / max(whole.prose, 1)
            if share < (_BELOW if _LEADS_ON(below) else _LABEL):
                yield below


def _measure(main: _Element) -> _Texts:
    texts: _Texts = defaultdict(_Text)
    for element in reversed(list(main.iter())):  # children come first
        around = texts[element.getparent()]
        around.line += len((element.tail or "").strip())
        own = texts[element]
        own.line += len((element.text or "").strip())
        if element.tag == "a":
            around.linked += own.line + own.prose + own.linked
            continue
        if element.tag in NO_PROSE:
            continue
        if element.tag in INLINE:
            around.line += own.line
        else:
            own.prose += own.line
            own.paragraphs += own.line if own.line >= _PARAGRAPH else 0
        around.prose += own.prose
        around.linked += own.linked
        around.paragraphs += own.paragraphs
    return texts
