"""Links and images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction.names import BLOCKS, collapsed, has_blocks, has_image, settable, visible
from llmsspider.items import Link

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

PERMALINK_SIGNS = frozenset(
    {"", "#", "¶", "§", "🔗", "⚓", "¤", "∞", "\u200b", "\uf0c1", "\ue9cb", "link", "[link]", "permalink",
     "permanent link", "direct link", "copy link", "anchor", "link to this heading"}
)  # fmt: skip
"""Texts of links in headings that only lead to the heading itself."""
TO_TOP = frozenset(
    {"top", "back to top", "to top", "go to top", "return to top", "↑", "▲", "⬆", "↑ top", "top ↑"}
)
"""Texts of links to the top of their page."""
_WEB = ("http://", "https://")


def content(walk: Walk, element: _Element) -> str:
    """Return the content of an inline element."""
    if not len(element):
        return walk.text(element.text) if element.text else ""
    return "".join(walk.run(element))


def anchor(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return an `<a>`: a link, the text of a heading's link to itself, or nothing for a permalink."""
    href = element.get("href")
    if href is None or walk.in_link:
        return content(walk, element)
    if href[:1] == "#" or "#" in href:
        text = visible(element)
        if (
            text.lower() in PERMALINK_SIGNS
            and not has_image(element)
            and (walk.in_heading or href[:1] == "#")
        ):
            return ""
        if walk.in_heading and href[:1] == "#":
            return content(walk, element)
        if href[:1] == "#" and _label(element).lower() in TO_TOP:
            return ""
    walk.in_link = True
    inner = content(walk, element)
    walk.in_link = False
    return link(walk, element, inner)


def _label(element: _Element) -> str:
    """Return the text of a link, or that of the image it is."""
    return visible(element) or " ".join(image.get("alt") or "" for image in element.iter("img")).strip()


def link(walk: Walk, element: _Element, inner: str) -> str:
    """Return a link to the `href` of `element` around `inner`, and note it; white space goes outside."""
    stripped = inner.strip(" \n")
    if not stripped:
        return inner
    url = walk.joiner.join(element.get("href") or "")
    if url[:11].lower().startswith(("javascript:", "data:", "blob:")):
        return inner
    text = visible(element)
    on_web = url[:8].lower().startswith(_WEB)
    if on_web:
        walk.links.append(Link(text, url))
    if text == url and on_web:
        piece = walk.format.autolink(url)
    else:
        piece = walk.format.link(stripped.replace("\n", " "), url, "")
    return f"{' ' if inner[0] == ' ' else ''}{piece}{' ' if inner[-1] == ' ' else ''}"


def card(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of a link around blocks: its first line of text is the link, the rest stays."""
    target = next((leaf for leaf in element.iter(*BLOCKS) if not has_blocks(leaf) and visible(leaf)), None)
    if target is not None:
        _wrap(target, element)
    element.attrib.pop("href")
    return walk.block(element)


def _wrap(target: _Element, outer: _Element) -> None:
    wrapper = target.makeelement("a", {"href": settable(outer.get("href"))})
    wrapper.text, target.text = settable(target.text), None
    for child in list(target):
        wrapper.append(child)
    target.append(wrapper)


def image(walk: Walk, element: _Element, before: list[str]) -> str:
    """Return an image with its alternative text; an emoji or an image without source is its text."""
    source = (element.get("src") or "").strip()
    if not source or source.startswith("data:"):
        source = element.get("data-src") or element.get("data-lazy-src") or element.get("data-original") or ""
    alt = collapsed(element.get("alt") or "").strip()
    classes = element.get("class") or ""
    if "emoji" in classes or "twemoji" in classes or not source:
        return walk.format.text(alt)
    title = collapsed(element.get("title") or "").strip()
    return walk.format.image(alt, walk.joiner.join(source), "" if title == alt else title)
