"""The tree of a page as a browser shows it: streamed parts at their place, the page in
`<noscript>`, headings without blocks.
"""

import re
from itertools import islice, takewhile

from lxml.etree import Comment, XPath, _Element

from llmsspider.content.extraction.tree import (
    HEADINGS,
    body_of,
    empty,
    inner_text,
    prose,
    remove_elements,
    settable,
    strings_of,
)
from llmsspider.content.markdown.commonmark import letters_of

_PLACED = re.compile(r"\$R[CRS]\(\s*[\"']([^\"']{1,200})[\"']\s*,\s*[\"']([^\"']{1,200})[\"']")
"""The call that places a part: the ids of the place and the part, or of the part and the place."""
_SCRIPTS = strings_of("//script[not(@src)]/text()")
_OF_BODY = XPath("/html/body//noscript")
_COMMENTS = XPath("//comment()")
_COPIED = XPath(
    "//*[not(*)][.='Copied' or .='Copied!']"
    "[preceding-sibling::button or preceding-sibling::pre or following-sibling::pre]"
)
_OF_LISTINGS = XPath(
    "//pre[not(*)][not(normalize-space())]/following-sibling::*[1][self::table][not(.//th)]"
)
"""Tables that libxml2 put behind their listing."""
_ARIA_TABLES = XPath(
    "//*[@role='table' or @role='grid'][not(self::table)][descendant::*[@role='columnheader']]"
)
_BY_ROLE = {
    "cell": "td",
    "columnheader": "th",
    "gridcell": "td",
    "row": "tr",
    "rowgroup": "tbody",
    "rowheader": "th",
}
_ROLE_HEADINGS = XPath("//*[@role='heading'][@aria-level]")
_BOXES = XPath(
    "//li//*[not(*)][not(self::input)][@role='checkbox' or contains(@class, 'checkbox-on')"
    " or contains(@class, 'checkbox-off')][not(normalize-space())]"
)
_BULLETS = ("•".encode(), b"\xb7", b"&bull;")
_BULLET = re.compile(r"\s*+[•·]\s")
"""How a paragraph begins that is an item of a list."""
_LEVELS = frozenset("123456")
_TOGGLES = XPath("//a[@data-toggle or @data-bs-toggle][starts-with(@href, '#')]")
_NAME = 2
"""Number of letters from which on the rest of a heading is one."""
_NOTICE = 160
"""Number of letters up to which the text of `<noscript>` is a notice."""
_APART = frozenset({"details", "dl", "nav", "ol", "pre", "table", "ul"})
"""Blocks that are not a part of the heading they stand in."""


def is_streamed(body: bytes) -> bool:
    """Say whether the bytes of a page may have parts that React puts at their place later."""
    return b"$RC(" in body or b"$RS(" in body or b'id="S:' in body


def show(root: _Element, body: bytes) -> None:
    """Change a parsed page into what its readers see; `body` is its bytes."""
    if is_streamed(body):
        _place_parts(root)
    for marks, change in _CHANGES:
        if any(mark in body for mark in marks):
            change(root)
    for heading in list(root.iter(*HEADINGS)):
        if len(heading):
            _move_blocks_out(heading)


def _clear_answers(root: _Element) -> None:
    """Remove what a button beside code says once it was pressed."""
    remove_elements(_COPIED(root))


def _fill_listings(root: _Element) -> None:
    """Put tables that stand in a listing back into it."""
    for table in _OF_LISTINGS(root):
        table.getprevious().append(table)


def _make_tables(root: _Element) -> None:
    """Make elements that are a table by their roles one by their tags."""
    for table in _ARIA_TABLES(root):
        table.tag = "table"
        for part in table.iter():
            part.tag = _BY_ROLE.get(part.get("role"), part.tag)


def _make_frames(root: _Element) -> None:
    """Make films that play when asked, and other files that a page embeds, frames or pictures."""
    for embedded in list(root.iter("video", "object")):
        source = embedded.find("source")
        held = embedded if source is None else source
        file = held.get("src") or held.get("data") or ""
        if not file or embedded.get("autoplay") is not None:
            continue
        title = embedded.get("title") or file.rpartition("/")[2]
        is_picture = embedded.get("type", "").startswith("image/")
        empty(embedded)
        embedded.tag = "img" if is_picture else "iframe"
        embedded.attrib.update({"src": file, "title": title, "allowfullscreen": ""})


def _make_boxes(root: _Element) -> None:
    """Make drawn check boxes of items real ones."""
    for box in _BOXES(root):
        names = box.get("class", "").split()
        is_checked = box.get("aria-checked") == "true" or "checkbox-on" in names
        box.tag = "input"
        box.set("type", "checkbox")
        if is_checked:
            box.set("checked", "")


def _make_lists(root: _Element) -> None:
    """Make a list of paragraphs beside each other that begin with a bullet."""
    for paragraph in list(root.iter("p")):
        items = paragraph.getprevious()
        is_first = items is None or items.tag != "ul" or items.get("class") != "bullets"
        if not _has_bullet(paragraph) or (is_first and not _has_bullet(paragraph.getnext())):
            continue
        if is_first:
            items = paragraph.makeelement("ul", {"class": "bullets"})
            paragraph.addprevious(items)
        _cut_bullet(paragraph)
        paragraph.tag = "li"
        paragraph.tail = None
        items.append(paragraph)


def _has_bullet(element: _Element | None) -> bool:
    """Say whether an element is a paragraph that begins with a bullet."""
    if element is None or element.tag != "p":
        return False
    return _BULLET.match("".join(islice(element.itertext(), 3))) is not None


def _cut_bullet(paragraph: _Element) -> None:
    for part in paragraph.iter():
        for name in ("text", "tail") if part is not paragraph else ("text",):
            text = getattr(part, name) or ""
            rest = text.lstrip(" \n\t\xa0•·")
            setattr(part, name, settable(rest))
            if rest:
                return


def _make_headings(root: _Element) -> None:
    """Make elements that are a heading by their role one by their tag."""
    for heading in _ROLE_HEADINGS(root):
        if heading.get("aria-level") in _LEVELS and heading.tag not in HEADINGS:
            heading.tag = f"h{heading.get('aria-level')}"


def _name_tabs(root: _Element) -> None:
    """Give tabs that Bootstrap's attributes make, and what they open, their roles."""
    tabs = [tab for tab in _TOGGLES(root) if {"tab", "pill"} & set(tab.attrib.values())]
    by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
    for tab in tabs:
        panel = by_id.get(tab.get("href")[1:])
        tab_list = next(tab.iterancestors("ul", "ol", "nav"), None)
        if panel is not None and tab_list is not None:
            tab.set("role", "tab")
            tab_list.set("role", "tablist")
            panel.set("role", "tabpanel")


def _place_parts(root: _Element) -> None:
    """Move streamed parts of a page to their places, and drop the comments that were kept to tell
    where fallbacks end. React's `$RC` and `$RS` name both; without scripts their ids do.
    """
    calls = [call for text in _SCRIPTS(root) if "$R" in text for call in _PLACED.findall(text)]
    named = {element.get("id"): element for element in root.iter() if element.get("id")}
    places = [name for name in named if name[:2] in {"B:", "P:"}]
    for names in calls or [(place, f"S{place[1:]}") for place in places]:
        first, second = map(named.get, names)
        if first is None or second is None or "template" not in {first.tag, second.tag}:
            continue
        place, part = (first, second) if first.tag == "template" else (second, first)
        if part not in place.iterancestors():
            _clear_fallback(place)
            _put(part, place)
    remove_elements(_COMMENTS(root))


def _clear_fallback(place: _Element) -> None:
    """Remove what follows a place up to the end of its boundary (`<!--/$-->`)."""
    if not _begins_boundary(place.getprevious()):
        return
    depth = 0
    while (following := place.getnext()) is not None:
        if following.tag is Comment:
            text = following.text or ""
            depth += _begins_boundary(following) - (text == "/$")
            if depth < 0:
                break
        place.tail = None
        following.tail = None
        remove_elements([following])
    place.tail = None


def _begins_boundary(element: _Element | None) -> bool:
    if element is None or element.tag is not Comment:
        return False
    return (element.text or "") in {"$", "$?", "$!", "$~"}


def _put(part: _Element, place: _Element) -> None:
    """Put the content of `part` where `place` is, and remove both."""
    around = place.getparent()
    if around is None:
        return
    before = place.getprevious()
    if part.text and before is not None:
        before.tail = (before.tail or "") + part.text
    elif part.text:
        around.text = (around.text or "") + part.text
    for child in part:
        place.addprevious(child)
    remove_elements([place])
    remove_elements([part])


def _show_noscript(root: _Element) -> None:
    """Make the `<noscript>` that holds the page a part of it; others stay as they are."""
    shown = prose(body_of(root))
    for element in _OF_BODY(root):
        if prose(element) > max(shown, _NOTICE):
            element.tag = "div"


def _move_blocks_out(heading: _Element) -> None:
    """Put lists, tables and folded parts that stand in a heading behind it, unless they are all it
    has.
    """
    found = (block for block in heading.iter(*_APART) if _is_outermost(block, heading))
    blocks = list(dict.fromkeys(_box(block, heading) for block in found))
    if not blocks or _letters(heading) - sum(map(_letters, blocks)) < _NAME:
        return
    remove_elements(blocks)
    for block in reversed(blocks):
        block.tail = None
        heading.addnext(block)


def _box(block: _Element, heading: _Element) -> _Element:
    """Return the outermost `<div>` in a heading that holds a block, else the block."""
    above = block.iterancestors("div", str(heading.tag))
    boxes = list(takewhile(lambda box: box is not heading, above))
    return boxes[-1] if boxes else block


def _letters(element: _Element) -> int:
    return letters_of(inner_text(element), with_digits=False)


def _is_outermost(block: _Element, heading: _Element) -> bool:
    inside = takewhile(lambda above: above is not heading, block.iterancestors())
    return all(above.tag not in _APART for above in inside)


_CHANGES = (
    ((b"<noscript",), _show_noscript),
    ((b"columnheader",), _make_tables),
    ((b"aria-level",), _make_headings),
    ((b"nav-tabs", b"nav-pills"), _name_tabs),
    ((b"checkbox",), _make_boxes),
    (_BULLETS, _make_lists),
    ((b"<video", b"<object"), _make_frames),
    ((b"opied",), _clear_answers),
    ((b"<pre",), _fill_listings),
)
"""Changes of a page, with what one needs that is to be changed so."""
