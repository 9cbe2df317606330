"""What a page says about itself in its head, read from the tree that is parsed for its content."""

from __future__ import annotations

import re

from lxml.etree import XPath, _Element

from llmsspider.items import PageMeta
from llmsspider.joiner import Joiner

_HEAD = XPath(
    "/html/head/*[self::meta or self::link] | /html/body/*[self::meta or self::link]", smart_strings=False
)
_TITLE = XPath("string((/html/head/title | /html/body/title | //title)[1])", smart_strings=False)
_REFRESH = re.compile(r"\s*+[\d.]*+\s*+[;,]\s*+(?:url\s*+=\s*+)?+", re.IGNORECASE)
MAX_TITLE = 1_000
"""Characters of a title up to which the site's name is looked for in it."""
_SPACE = re.compile(r"\s+")
_WANTED = frozenset({"canonical", "describedby", "alternate"})
_ROBOTS = ("robots", "llmsbot", "llmsspider")


def read_meta(root: _Element, joiner: Joiner) -> PageMeta:
    """Return the `PageMeta` of a page; `title` is `<title>` without the site's suffix, `is_shell` is left False."""
    body = root.find("body")
    language = (
        root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    )
    meta = PageMeta(language=_clean(language or (body.get("lang") if body is not None else None)))
    site_name = None
    for element in _HEAD(root):
        if element.tag == "link":
            _read_link_tag(meta, element, joiner)
        elif element.get("property") == "og:site_name":
            site_name = _clean(element.get("content"))
        else:
            _read_meta_tag(meta, element, joiner)
    meta.title = without_suffix(whole_title(root), site_name)
    return meta


def _read_meta_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    name = (element.get("name") or element.get("property") or "").lower()
    content = element.get("content") or ""
    if name == "description" or (name == "og:description" and not meta.description):
        meta.description = _clean(content) or meta.description
    elif name == "generator" and not meta.generator:
        meta.generator = _clean(content)
    elif name in _ROBOTS:
        meta.robots |= {word.strip().lower() for word in content.split(",") if word.strip()}
    elif (element.get("http-equiv") or "").lower() == "refresh":
        found = _REFRESH.match(content)
        target = content[found.end() :].strip().strip("\"'").strip() if found else ""
        meta.refresh = joiner.join(target) if target else meta.refresh
    elif (element.get("http-equiv") or "").lower() == "content-language" and not meta.language:
        meta.language = _clean(content)


def _read_link_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    rel = (element.get("rel") or "").lower().split()
    if _WANTED.isdisjoint(rel) or not element.get("href"):
        return
    url = joiner.join(element.get("href") or "")
    if "canonical" in rel:
        meta.canonical = meta.canonical or url
    elif "describedby" in rel:
        meta.describedby = meta.describedby or url
    elif "alternate" in rel:
        kind = (element.get("type") or "").lower().partition(";")[0].strip()
        if kind in {"text/markdown", "text/x-markdown"}:
            meta.markdown_alternate = meta.markdown_alternate or url
        elif element.get("hreflang"):
            meta.hreflang.setdefault(element.get("hreflang"), url)


def whole_title(root: _Element) -> str | None:
    """Return the `<title>`, the site's name in it where it has one."""
    return _clean(_TITLE(root))


def without_suffix(title: str | None, site_name: str | None = None) -> str | None:
    """Return `title` without its last part, where that part is the name of the site.

    The name is `site_name` where the page gives one (og:site_name); else the part after the last separator.
    A colon separates only where nothing stronger does.

    >>> without_suffix("A - B | Site")
    'A - B'
    >>> without_suffix("Site: A", "Site")
    'A'
    """
    if not title or len(title) > MAX_TITLE:
        return title or None
    if site_name:
        for pattern in (
            rf"\s*[|·•–—»›:-]\s*{re.escape(site_name)}\s*\Z",
            rf"\A{re.escape(site_name)}\s*[|·•–—»›:-]\s*",
        ):
            stripped = re.sub(pattern, "", title)
            if stripped and stripped != title:
                return stripped.strip()
    for pattern in (r"\s*[|»›]\s*[^|»›]+\Z", r"\s+[·•–—]\s+[^·•–—]+\Z", r"\s+[-:]{1,2}\s+[^-]+\Z"):
        stripped = re.sub(pattern, "", title)
        if stripped and stripped != title:
            return stripped.strip()
    return title


def _clean(text: str | None) -> str | None:
    return _SPACE.sub(" ", text).strip() or None if text else None
