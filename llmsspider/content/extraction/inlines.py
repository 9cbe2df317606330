"""Inline elements: links, images, code, emphasis, keys, sub- and superscripts, formulas, check
boxes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter

from lxml.etree import XPath, _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.rules import Kind
from llmsspider.content.extraction.tree import (
    BLOCKS,
    CONTROLS,
    FLATTENED,
    HEADINGS,
    SKIPPED,
    broken_text,
    collapsed,
    has_blocks,
    holders,
    holds,
    inner_text,
    is_within,
    letters_outside_links,
    settable,
    visible,
)
from llmsspider.content.extraction.walk import (
    AROUND_BLOCKS,
    FINDERS,
    INLINE_KINDS,
    INLINE_TAGS,
    InlineConverter,
    Piece,
    Walk,
    converts,
)
from llmsspider.items import Link
from llmsspider.web.addresses import HTTP, begins

# Links and images.

PERMALINK_SIGNS = frozenset(
    {"", "#", "¶", "§", "🔗", "⚓", "¤", "∞", "\u200b", "\uf0c1", "\ue9cb", "link", "[link]", "permalink",
     "permanent link", "direct link", "copy link", "anchor", "link to this heading"}
)  # fmt: skip
"""Texts of links in headings that only lead to the heading itself."""
TO_TOP = {
    "top",
    "back to top",
    "to top",
    "go to top",
    "return to top",
    "↑",
    "▲",
    "⬆",
    "↑ top",
    "top ↑",
}
"""Texts of links to the top of their page."""
SKIP = re.compile(
    r"(?:skip|jump) to (?:the )?(?:main |page )?(?:contents?|navigation|search|footer)|skip"
    r" navigation",
    re.ASCII,
)
"""Texts of links to parts of their page, which stand above its navigation for the keyboard."""
_NEW_WINDOW = re.compile(
    r"[(\[]?(?:opens?|opening) (?:in )?(?:a )?new (?:window|tab)[)\].]*\Z",
    re.IGNORECASE,
)
"""What a link, or an icon in it, says of its window behind its text."""
_OF_SOURCE = re.compile(r"sou?rce?", re.IGNORECASE)
_SOURCE = re.compile(r"\[?(?:(?:link to|view) )?source\]?", re.IGNORECASE | re.ASCII)
"""The class and the text of a link to the source code of what is described."""
_SPACE = re.compile(r"[ \t\n\r\f\v]+")
_WHITE = " \n\xa0"
_TAGS = frozenset({"tsd-tag", "tsd-flag"})
"""Classes of inline code that stands before a name, with a margin of its style between (TypeDoc).
"""
_SHORT = 64
"""Characters up to which inline code is remembered as it was written: names repeat in the pages of
a site.
"""
_FIELDS = ("select", "textarea")
_SENTENCES = ("p", "li", "td", "th", "dd", "blockquote", "figcaption")
_HOLDERS = XPath("descendant::span/@data-math | descendant::div/@data-math")
_PROSE = BLOCKS - {"div", "ul", "ol", "li"}
"""Blocks that no code is drawn with."""


def _spaced(outer: str, piece: str) -> str:
    return f"{' ' if outer[0] == ' ' else ''}{piece}{' ' if outer[-1] == ' ' else ''}"


@converts(INLINE_TAGS, "a")
def anchor(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return an `<a>`: a link, the text only for a heading's link to itself, or nothing for a
    permalink.
    """
    href = element.get("href")
    if href is None or walk.in_link or _leads_to_source(element):
        return "" if href and not walk.in_link else walk.content(element)
    text = None
    if "#" in href:
        text = visible(element)
        is_own = href[0] == "#"
        is_permalink = (is_own or walk.in_heading) and text.lower() in PERMALINK_SIGNS
        if is_permalink and not holds(element, "img"):
            return ""
        if is_own and walk.in_heading:
            inner = walk.content(element)
            return "" if inner.strip() in PERMALINK_SIGNS else inner
        shown = text or " ".join(image.get("alt", "") for image in element.iter("img")).strip()
        if is_own and (SKIP.fullmatch(text.lower()) or shown.lower() in TO_TOP):
            return ""
    if href == "#" or (walk.in_heading and _leads_here(walk, href)):  # or a script does something
        return walk.content(element)
    is_card = len(element) > 0 and not walk.in_heading and _separate_title(element)
    walk.in_link = True
    inner = walk.content(element)
    walk.in_link = False
    piece = _link(walk, href, inner, visible(element) if text is None or is_card else text)
    return f"\n{piece}\n" if is_card and _is_beside_link(element) else _behind(before, piece)


def _leads_to_source(link: _Element) -> bool:
    is_named = _OF_SOURCE.search(link.get("class", "")) is not None
    return is_named and _SOURCE.fullmatch(visible(link)) is not None


def _leads_here(walk: Walk, href: str) -> bool:
    return walk.joiner.join(href).partition("#")[0] == walk.joiner.page


_CARD_TITLES = frozenset({"b", "strong", "span", "em", "code"})
_CARD_WORDS = 3
"""Minimum number of words of the text of a card: fewer may be the rest of a name
(`<b>Java</b>Script`).
"""


def _separate_title(link: _Element) -> bool:
    """Set a space behind the title of a card, which only a style sheet does; return whether the
    link is such a card.
    """
    title = link[0]
    if title.tag not in _CARD_TITLES or (link.text or "").strip():
        return False
    tail = title.tail or ""
    text = tail or (visible(link[1]) if len(link) > 1 and link[1].tag in _CARD_TITLES else "")
    if not text[:1].isupper() or len(text.split()) < _CARD_WORDS or not visible(title):
        return False
    title.tail = f" {tail}"
    return True


def _is_beside_link(link: _Element) -> bool:
    before = link.getprevious()
    behind = link.getnext()
    return (before is not None and before.tag == "a" and not (before.tail or "").strip()) or (
        behind is not None and behind.tag == "a" and not (link.tail or "").strip()
    )


def _behind(before: list[str], piece: str) -> str:
    """Return a link, escaping an exclamation mark directly before it, which would make it an image."""
    if piece[:1] == "[" and before and before[-1][-1:] == "!":
        before[-1] = f"{before[-1][:-1]}\\!"
    return piece


def _link(walk: Walk, href: str, inner: str, text: str) -> str:
    """Return a link to `href` around `inner`, and note it with its visible `text`; white space goes
    outside.
    """
    stripped = inner.strip(" \n")
    if " new " in stripped and (said := _NEW_WINDOW.search(stripped, 1)):
        stripped = stripped[: said.start()].rstrip()
    if not stripped:
        return inner
    url = walk.joiner.join(href)
    on_web = url.startswith(HTTP) or url[:8].lower().startswith(begins(walk.joiner.page))
    if not on_web and url[:11].lower().startswith(("javascript:", "data:", "blob:", "file:")):
        return inner
    if on_web or not walk.joiner.page:
        walk.links.append(Link(text, url))
        if text == url:
            return _spaced(inner, walk.format.autolink(url))
    return _spaced(inner, walk.format.link(stripped.replace("\n", " "), url))


@converts(AROUND_BLOCKS, "a")
def card(walk: Walk, element: _Element) -> list[str] | None:
    """Return the blocks of a link around blocks: its first line of text is the link, the rest
    stays.
    """
    if walk.in_link or not element.get("href"):
        return None
    leaves = (leaf for leaf in element.iter(*BLOCKS) if not has_blocks(leaf) and visible(leaf))
    target = next((leaf for leaf in leaves if walk.rules.kind(leaf) is not Kind.DROP), None)
    if target is not None:
        wrapper = target.makeelement("a", {"href": settable(element.get("href"))})
        wrapper.text = settable(target.text)
        target.text = None
        wrapper.extend(list(target))
        target.append(wrapper)
    element.attrib.pop("href")
    return walk.block(element)


_ICON = re.compile(r"(?:\A|[\s_-])icon\Z", re.IGNORECASE)
_AVATAR = re.compile(r"\bavatar\Z", re.IGNORECASE)
_LAZY = (
    "data-src", "data-lazy-src", "data-original", "data-pagespeed-lazy-src", "data-cfsrc", "src"
)  # fmt: skip
_MAX_SOURCES = 20
_SETS = ("srcset", "data-srcset", "data-lazy-srcset")


def _source_of(image: _Element) -> str:
    """Return the address of an image, also of one that a script loads; empty without any."""
    for name in _LAZY:
        value = (image.get(name) or "").strip()
        if value and not value.startswith("data:"):
            return value
    picture = next(image.iterancestors("picture"), None)
    for one in (image, *(() if picture is None else islice(picture.iter("source"), _MAX_SOURCES))):
        if value := next(filter(None, map(one.get, _SETS)), "").strip():
            return value.split()[0].rstrip(",")
    behind = image.getnext()
    inner = behind.find(".//img") if behind is not None and behind.tag == "noscript" else None
    return "" if inner is None else _source_of(inner)


@converts(INLINE_TAGS, "img")
def image(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return an image with its alternative text; an emoji or an image without source is its text."""
    source = _source_of(element)
    alt = collapsed(element.get("alt", "")).strip()
    if "emoji" in element.get("class", "") or not source:
        return walk.format.text(alt)
    if alt and _is_other_form(element, source):
        return ""
    if _AVATAR.search(alt) or "avatar" in element.get("class", ""):
        return ""
    if _is_icon(element, alt) and is_within(element, "a", "button", *HEADINGS):
        return ""
    title = collapsed(element.get("title", "")).strip()
    return walk.format.image(alt, walk.joiner.join(source), "" if title == alt else title)


def _is_icon(image: _Element, alt: str) -> bool:
    if alt.lower() in CONTROLS or _NEW_WINDOW.match(alt):
        return True
    return any(map(_ICON.search, (alt, image.get("class", ""))))


def _is_other_form(image: _Element, source: str) -> bool:
    """Say whether an image shows once more what stands beside it: the formula right before it, or
    the image for light backgrounds.
    """
    alt = image.get("alt")
    before = image.getprevious()
    if before is not None and any(one.get("alttext") == alt for one in before.iter("math")):
        return True
    if not _is_for_dark(image, source):
        return False
    before_it = islice(image.itersiblings("img", preceding=True), _MAX_SOURCES)
    others = chain(before_it, islice(image.itersiblings("img"), _MAX_SOURCES))
    return any(one.get("alt") == alt and not _is_for_dark(one, _source_of(one)) for one in others)


def _is_for_dark(image: _Element, source: str) -> bool:
    name = f"{image.get('class')} {source}"
    return "dark" in name and "light" not in name


def _flat(begin: str, end: str) -> InlineConverter:
    """Return the converter of a block inside a line (a paragraph in a cell): its content, separated
    from the rest.
    """

    def convert(walk: Walk, element: _Element, before: list[str]) -> str:
        inner = walk.line(element)
        return f"{begin}{inner}{end}" if inner else ""

    return convert


converts(INLINE_TAGS, *FLATTENED)(_flat("\n", "\n"))
converts(INLINE_TAGS, "li")(_flat("\n- ", "\n"))
converts(INLINE_TAGS, "td", "th")(_flat(" ", " "))


@converts(INLINE_TAGS, "pre")
def _flat_pre(walk: Walk, element: _Element, before: list[str]) -> str:
    lines = [
        walk.format.code_span(line) for line in code.code_text(element).split("\n") if line.strip()
    ]
    return "\n".join(["", *lines, ""]) if lines else ""


@converts(FINDERS, (b"math",))
def name_formulas(walk: Walk, main: _Element) -> None:
    """Give the elements that hold their formula in an attribute a class of math."""
    for element in holders(main, _HOLDERS):
        element.set("class", "math")


@converts(INLINE_TAGS, "script", "math", "mjx-container")
def _math(walk: Walk, element: _Element, before: list[str]) -> Piece:
    piece = _formula(walk, element, before)
    return piece if piece is not None else "" if element.tag == "script" else walk.content(element)


@converts(INLINE_KINDS, Kind.MATH)
def _formula(walk: Walk, element: _Element, before: list[str]) -> Piece | None:
    found = code.formula(element)
    if found is None:
        return None
    if found.display and found.tex:
        return [walk.format.math_block(found.tex)]
    return walk.format.math(_SPACE.sub(" ", found.tex)) if found.tex else ""


@converts(AROUND_BLOCKS, "code")
def _code_around_blocks(walk: Walk, element: _Element) -> list[str] | None:
    """Return a `<code>` around what code is drawn with; one around prose was not closed."""
    if any(part.tag in _PROSE for part in element.iterdescendants()):
        return None
    text = code.code_text(element)
    return [walk.code_block(text, element)] if text else []


_HAS_LINK = XPath("boolean(.//a[@href != ''])")


@converts(INLINE_TAGS, "code", "tt", "samp")
def _code(walk: Walk, element: _Element, before: list[str]) -> str:
    if not walk.in_link and len(element) and _HAS_LINK(element):
        return _behind(before, _linked_code(walk, element))
    text = broken_text(element)
    span = (_remembered if len(text) <= _SHORT else _exact)(walk.format.code_span, text)
    if element.get("class", "") in _TAGS:
        span = f"{span} "
    # two spans beside each other would read as one
    is_adjacent = bool(before) and before[-1][-1:] == span[:1] == before[-1][:1] == "`"
    return f" {span}" if is_adjacent else span


def _span(write: Callable[[str], str], text: str) -> str:
    """Return inline code as `write` writes it, white space around it outside."""
    if not text.isprintable() or "  " in text:
        text = _SPACE.sub(" ", text).replace("\xa0", " ").replace("\u200b", "")
    stripped = text.strip()
    return _spaced(text, write(stripped)) if stripped else text


def _exact(write: Callable[[str], str], text: str) -> str:
    """Return inline code with the one space that it begins or ends with: CommonMark takes off only
    those at both ends.
    """
    stripped = text.strip()
    has_space = text in {f"{stripped} ", f" {stripped}"}
    return write(text) if has_space else _span(write, text)


_remembered = lru_cache(maxsize=4096)(_exact)


def _linked_code(walk: Walk, element: _Element) -> str:
    """Return code with links in it: the links around code spans of their own, the text between two
    links one span.
    """
    pieces = ""
    for link, parts in groupby(_code_parts(element, 100 - walk.depth), itemgetter(1)):
        span = _span(walk.format.code_span, "".join(part for part, _ in parts))
        pieces += span if link is None else _link(walk, link.get("href", ""), span, visible(link))
    return pieces


def _code_parts(element: _Element, depth: int) -> Iterator[tuple[str, _Element | None]]:
    yield element.text or "", None
    for child in element:
        if child.tag == "a" and child.get("href"):
            yield inner_text(child), child
        elif len(child) and depth > 0:
            yield from _code_parts(child, depth - 1)
        else:
            yield "\n" if child.tag == "br" else broken_text(child), None
        yield child.tail or "", None


def _emphasis(mark: str) -> InlineConverter:
    def handler(walk: Walk, element: _Element, before: list[str]) -> str:
        inner = walk.content(element)
        stripped = inner.strip(_WHITE)
        if not stripped:
            return " " if inner else ""
        is_all = mark == "**" and not before and _ends_heading(walk, element)
        if is_all or _is_marked(stripped, mark):
            return inner
        lead, _, trail = inner.partition(stripped)
        has_lead = inner[0] in " \xa0"
        if not has_lead:
            stripped = _continued(stripped, mark, before)
        previous = before[-1][-2:] if before and not has_lead else ""
        if _is_label(inner, element.tail):
            inner += " "
        following = "" if inner[-1] in " \xa0" else (element.tail or "")[:1]
        piece = walk.format.emphasis(stripped, mark, previous, following)
        if "\xa0" in lead + trail:
            return f"{lead}{piece}{trail}".replace("\n", " ")
        return _spaced(inner, piece)

    return handler


def _ends_heading(walk: Walk, element: _Element) -> bool:
    return walk.in_heading and element.getnext() is None and not (element.tail or "").strip()


def _is_marked(text: str, mark: str) -> bool:
    """Say whether a text is emphasised already, by the same mark."""
    if mark == "*":
        return text[0] == text[-1] == mark and text.count(mark) == 2
    return text.startswith(mark) and text.endswith(mark)


def _continued(text: str, mark: str, before: list[str]) -> str:
    """Return emphasised text behind that of the piece right before it, which it goes on from; that
    piece is taken out.
    """
    last = before[-1] if before else ""
    inside = last[len(mark) : -len(mark)]
    is_emphasis = bool(inside) and mark[0] not in inside and last == f"{mark}{inside}{mark}"
    if not is_emphasis or mark in text:
        return text
    del before[-1]
    return inside + text


@converts(INLINE_TAGS, "kbd")
def _key(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = walk.line(element)
    return f"<kbd>{inner}</kbd>" if inner and "<kbd>" not in inner else inner


@converts(INLINE_TAGS, "cite")
def _cited(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = walk.content(element)
    return f"{inner} " if _is_label(inner, element.tail) else inner


def _is_label(text: str, tail: str | None) -> bool:
    """Say whether a text is a label that only a style sheet sets apart from what is right behind it."""
    return text[-1:] == ":" and (tail or "")[:1].isupper()


@converts(INLINE_TAGS, "sub", "sup")
def _raised(walk: Walk, element: _Element, before: list[str]) -> str:
    inner = walk.content(element)
    is_plain = not inner.strip() or inner.startswith("[^")
    return inner if is_plain else f"<{element.tag}>{inner}</{element.tag}>"


converts(INLINE_TAGS, *SKIPPED)(lambda walk, element, before: "")


@converts(INLINE_TAGS, "noscript")
def _instead(walk: Walk, element: _Element, before: list[str]) -> Piece:
    """Return the link or the picture that is all a `<noscript>` holds, with no picture before it."""
    shown = element.getprevious()
    is_again = shown is not None and shown.tag == "img"
    return "" if is_again or letters_outside_links(element) else walk.content(element)


@converts(INLINE_TAGS, "svg")
def _drawing(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return what a drawing is called where a cell holds nothing else: a check mark."""
    cell = next(element.iterancestors("td", "th"), None)
    if cell is None or next(islice(cell.iter("svg"), _MAX_SOURCES, None), None) is not None:
        return ""  # none, or a picture in many parts
    title = element.findtext("title") or ""
    if visible(cell) not in {"", collapsed(title).strip()}:
        return ""
    return walk.format.text(element.get("aria-label") or title)


@converts(INLINE_TAGS, "button", "clipboard-copy")
def _button(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return nothing, a word of the text, or the method and the path of an operation that a button
    shows (Redoc).
    """
    names = [visible(part) for part in element.iterchildren("span")]
    if names and "http-verb" in element[0].get("class", ""):
        return walk.format.code_span(" ".join(names))
    return walk.content(element) if _is_word(element) else ""


def _is_word(button: _Element) -> bool:
    """Return True for a button that is a word of a sentence, or what a cell holds."""
    text = visible(button)
    around = next(button.iterancestors(*_SENTENCES), None)
    if around is None or text.lower() in CONTROLS or not any(map(str.isalnum, text)):
        return False
    return around.tag in {"td", "th"} or _is_in_text(button)


def _is_in_text(element: _Element) -> bool:
    """Return True if text stands right before or behind an element, or a word that is no button."""
    beside = [element.getprevious(), element.getnext()]
    around = element.getparent()
    first = beside[0].tail if beside[0] is not None else around is not None and around.text
    if any(text and not text.isspace() for text in (first, element.tail)):
        return True
    return any(one is not None and one.tag != "button" and visible(one) for one in beside)


@converts(INLINE_TAGS, "label")
def _label(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return a label as text, but for that of a menu or a field."""
    after = element.getnext()
    is_of_field = holds(element, *_FIELDS) or (after is not None and after.tag in _FIELDS)
    return "" if is_of_field else walk.content(element)


@converts(INLINE_TAGS, "rt")
def _reading(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return how a word of `<ruby>` is read, in brackets (`<rp>` holds them, where there are any)."""
    inner = walk.content(element)
    before_it = element.getprevious()
    has_brackets = before_it is not None and before_it.tag == "rp"
    return inner if has_brackets or not inner.strip() else f"({inner})"


@converts(AROUND_BLOCKS, "b", "strong")
def _bold(walk: Walk, element: _Element) -> list[str] | None:
    """Return bold paragraphs; what holds other blocks was not closed."""
    is_text = all(
        part.tag in {"div", "p"} or part.tag not in BLOCKS for part in element.iterdescendants()
    )
    return _marked_blocks(walk, element) if is_text and not walk.is_the_page(element) else None


@converts(AROUND_BLOCKS, "del", "s", "strike")
def _marked_blocks(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of an element that is struck or bold: the text of each is."""
    mark = element.tag
    leaves = [leaf for leaf in element.iter(*BLOCKS) if not has_blocks(leaf) and visible(leaf)]
    for inner in list(element.iter(mark)):
        inner.tag = "div" if has_blocks(inner) else "span"
    for leaf in leaves:
        wrapper = leaf.makeelement(mark, {})
        wrapper.text = settable(leaf.text)
        leaf.text = None
        wrapper.extend(list(leaf))
        leaf.append(wrapper)
    return walk.block(element)


@converts(INLINE_TAGS, "rp")
def _bracket(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return a bracket around a reading; a longer text is for browsers without `<ruby>`."""
    text = visible(element)
    return walk.format.text(text) if len(text) == 1 else ""


@converts(INLINE_TAGS, "textarea")
def _field(walk: Walk, element: _Element, before: list[str]) -> Piece:
    """Return a field as code where it holds code to read or to try, or nothing."""
    text = code.code_text(element)
    is_code = element.get("readonly") is not None or "code" in element.get("class", "").lower()
    return [walk.code_block(text, element)] if is_code and text else ""


@converts(INLINE_TAGS, "iframe")
def _film(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return a link to a film that a page shows in a frame."""
    href = element.get("src", "")
    is_film = "/embed/" in href or element.get("allowfullscreen") is not None
    text = collapsed(element.get("title") or "Video")
    is_shown = is_film and href and not walk.in_link
    return _link(walk, href, walk.format.text(text), text) if is_shown else ""


converts(INLINE_TAGS, "br")(lambda walk, element, before: "\n")
converts(INLINE_TAGS, "q")(lambda walk, element, before: f"“{walk.content(element)}”")
_italic = converts(INLINE_TAGS, "em")(_emphasis("*"))
converts(INLINE_TAGS, "strong", "b")(_emphasis("**"))
converts(INLINE_TAGS, "del", "s", "strike")(_emphasis("~~"))


@converts(INLINE_TAGS, "i")
def _icon(walk: Walk, element: _Element, before: list[str]) -> Piece:
    """Return `<i>`: AsciiDoc's drawn check box, a mark that is drawn in a cell, or emphasis."""
    classes = element.get("class", "")
    if element.get("aria-label") and not visible(element):
        return _drawing(walk, element, before)
    if "fa-check-square" in classes:
        return walk.format.checkbox(checked=True)
    return (
        walk.format.checkbox(checked=False)
        if "fa-square-o" in classes
        else _italic(walk, element, before)
    )


@converts(INLINE_TAGS, "input")
def _input(walk: Walk, element: _Element, before: list[str]) -> str:
    if element.get("type", "").lower() != "checkbox" or not is_within(element, "li"):
        return ""
    return walk.format.checkbox(checked=element.get("checked") is not None)
