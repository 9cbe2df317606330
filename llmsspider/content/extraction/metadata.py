"""Metadata of a page: its head, its links, and whether it is an empty shell."""

from __future__ import annotations

import re
import textwrap
from html import unescape
from itertools import islice

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import LINKS, Source
from llmsspider.content.extraction.tree import inner_text
from llmsspider.items import PageMeta
from llmsspider.web.url_gate import HTTP, Growth, Joiner, split_route, without_fragment

# What a page says about itself in its head, read from the tree that is parsed for its content.

_REFRESH = re.compile(r"\s*+[\d.]*+\s*+[;,]\s*+(?:url\s*+=\s*+)?+", re.IGNORECASE)
MAX_TITLE = 1_000
"""Maximum length in characters of a title that is searched for the name of the site."""
_SITE_NAMES = (
    (frozenset("|»›"), r"\s*[|»›]\s*[^|»›]+\Z"),
    (frozenset("·•–—"), r"\s+[·•–—]\s+[^·•–—]+\Z"),
    (frozenset("-:"), r"\s+[-:]{1,2}\s+[^-]+\Z"),
)
"""Separators before the name of a site at the end of a title, with a pattern of that end; in order of preference."""
_SPACE = re.compile(r"\s+")
_WANTED = frozenset({"canonical", "describedby", "alternate"})
_ROBOTS = ("robots", "llmsbot", "llmsspider")


def read_head(root: _Element, joiner: Joiner) -> PageMeta:
    """Return the `PageMeta` of a page; `title` is `<title>` without the site's suffix, `is_shell` is left False."""
    body = root.find("body")
    language = (
        root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    )
    meta = PageMeta(language=_clean(language or (body.get("lang") if body is not None else None)))
    site_name = None
    tops = [part for part in root if part.tag in {"head", "body"}]
    for element in [one for part in tops for one in part.iterchildren("meta", "link")]:
        if element.tag == "link":
            _read_link_tag(meta, element, joiner)
        elif element.get("property") == "og:site_name":
            site_name = _clean(element.get("content"))
        else:
            _read_meta_tag(meta, element, joiner)
    meta.title = without_suffix(whole_title(root), site_name)
    meta.refresh = meta.refresh or refresh_without_scripts(root, joiner)
    return meta


_IN_NOSCRIPT = XPath("/html/head/noscript/meta[@http-equiv]", smart_strings=False)


def refresh_without_scripts(root: _Element, joiner: Joiner) -> str | None:
    """Return where a page leads browsers without scripts, if every link of it leads there too, as its script does.

    A page that has more to say than where it leads is none: there `<noscript>` names a replacement for an application.
    """
    meta = PageMeta()
    for element in _IN_NOSCRIPT(root):
        _read_meta_tag(meta, element, joiner)
    if not meta.refresh:
        return None
    links = {joiner.join(href) for href in _LINKS(root)}
    return meta.refresh if links == {meta.refresh} and _text_size(root) <= _SHELL_TEXT else None


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
    title = _title_in(root[0]) if len(root) and root[0].tag == "head" else None
    if title is None:
        title = next(root.iter("title"), None)  # lxml looks at the whole page for the one after it
    return None if title is None else _clean(inner_text(title))


def _title_in(head: _Element) -> _Element | None:
    """Return the `<title>` that is a child of the head, or None if another may be before it."""
    for part in head:
        if part.tag == "title":
            return part
        if len(part):
            return None
    return None


def without_suffix(title: str | None, site_name: str | None = None) -> str | None:
    """Return `title` without its last part, where that part is the name of the site.

    The name is `site_name` where the page gives one (og:site_name); else the part after the last separator.
    A colon counts as a separator only if there is no other.

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
    for signs, pattern in _SITE_NAMES:
        stripped = title if signs.isdisjoint(title) else re.sub(pattern, "", title)
        if stripped and stripped != title:
            return stripped.strip()
    return title


def _clean(text: str | None) -> str | None:
    return _SPACE.sub(" ", text).strip() or None if text else None


# Links of a page: every address for the crawl.

MAX_ROUTES = 5_000
"""Maximum number of routes of one page that are followed."""

_HREFS = XPath("//a/@href | //area/@href | //frame/@src", smart_strings=False)
_LINKS = XPath("//a/@href", smart_strings=False)
_LOADED = XPath(
    "/html/head/meta[@property='docfx:navrel' or @property='docfx:tocrel' or @name='docfx:navrel'"
    " or @name='docfx:tocrel']/@content",
    smart_strings=False,
)
_BASE = XPath("string(/html/head/base/@href | /html/body/base/@href)", smart_strings=False)


_SIDEBAR_ITEMS = XPath("/html/head/script/@src[contains(., 'dist/sidebar_items')]", smart_strings=False)


def joiner_for(root: _Element, url: str, growth: Growth | None = None) -> Joiner:
    """Return the `Joiner` of a parsed page fetched from `url`."""
    return Joiner(url, _BASE(root), growth)


def follow_links(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return every http(s) URL in `a[href]`, `area[href]` and `frame[src]`: absolute, no fragment, each once.

    The navigation that DocFX loads into its pages is a page of links, which these name in their heads. That of ExDoc is
    a script: the index beside it leads to the first page, which leads to the others.
    """
    hrefs = (_HREFS if source.may_hold(*LINKS) else _LINKS)(root)
    if source.may_hold(b"docfx:", b"sidebar_items"):
        items = [str(src).partition("dist/sidebar_items")[0] for src in _SIDEBAR_ITEMS(root)]
        hrefs = [*hrefs, *_LOADED(root), *(f"{folder}index.html" for folder in items[:1])]
    paths = dict.fromkeys([href.partition("#")[0] if "#" in href else href for href in hrefs])
    urls = dict.fromkeys([joiner.join(path) for path in paths if path.strip()])
    return [url for url in urls if url.startswith(HTTP) or url[:8].lower().startswith(HTTP)]


def routes(root: _Element, joiner: Joiner) -> list[str]:
    """Return the links of a page to its own routes (`#/guide`), absolute, each once, `MAX_ROUTES` at most."""
    found: dict[str, None] = {}
    for href in dict.fromkeys(_HREFS(root)):
        if "#/" in href or "#!/" in href:
            url = without_fragment(joiner.join(href))
            page, route = split_route(url)
            if route and page == joiner.page and len(found) < MAX_ROUTES:
                found[url] = None
    return list(found)


# Empty shells: pages that hold no text of their own until a browser has run their scripts.

_SCRIPTS = XPath("boolean(//script[@src or @type='module' or string-length(.) > 100])", smart_strings=False)
_ROOTS = XPath(
    "boolean(//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='__docusaurus' or @id='svelte'"
    " or @id='main' or @id='application' or @id='react-root' or @id='redoc' or @id='swagger-ui' or @id='___gatsby']"
    "[not(normalize-space())] | //app-root | //redoc | //rapi-doc | //elements-api)",
    smart_strings=False,
)
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "title", "head"})
_SHELL_TEXT = 200
"""Characters of text below which a page with scripts can be a shell."""
_NO_CONTENT = 40
"""Characters of text below which a page with scripts is a shell whatever its elements are called."""


def is_shell(root: _Element) -> bool:
    """Return True if the page has scripts, next to no text, and a place for scripts to draw in."""
    size = _text_size(root)
    return size <= _SHELL_TEXT and bool(_SCRIPTS(root)) and (size <= _NO_CONTENT or bool(_ROOTS(root)))


_SHOWN_FILES = XPath("//zero-md/@src | //md-block/@src | //wc-markdown/@src", smart_strings=False)


def shown_file(root: _Element, source: Source, joiner: Joiner) -> str | None:
    """Return the URL of the only Markdown file that an element of the page renders, if the page has next to no text."""
    if not source.may_hold(b"zero-md", b"md-block", b"wc-markdown"):
        return None
    named = [str(src).strip() for src in _SHOWN_FILES(root)]
    return joiner.join(named[0]) if len(named) == 1 and named[0] and _text_size(root) <= _SHELL_TEXT else None


_HOLDER = re.compile(
    r"<(?:(xmp)\b[^<>]{0,500}|(script)\b[^<>]{0,300}?\btype\s*=\s*[\"']?text/(?:x-)?markdown\b[^<>]{0,300}"
    r"|(textarea)\b[^<>]{0,300}?\b(?:id\s*=\s*[\"']?source\b|theme\s*=)[^<>]{0,300})>",
    re.IGNORECASE,
)
"""The tag of an element with Markdown: Strapdown (`<xmp>`, `<textarea theme>`), Remark (`<textarea id="source">`)."""
MAX_HOLDERS = 200
"""Maximum number of elements of one page that are searched for Markdown."""
_HOLDS = frozenset({"xmp", "textarea"})
_PROPERTY = re.compile(r"\s*[a-z][a-z-]*:(?:\s|$)")
"""A property of a slide (Remark), on one of its first lines: `class: center`."""


def held_markdown(root: _Element, source: Source) -> str | None:
    """Return the Markdown that a page embeds for a script to render; None if it has other text or no script."""
    if not source.may_hold(b"<xmp", b"text/markdown", b"text/x-markdown", b"<textarea") or not _SCRIPTS(root):
        return None
    html = source.body.decode(source.encoding, "replace")
    lowered = html.lower() if len(html.lower()) == len(html) else html
    held, end = [], 0
    for begin in islice(_HOLDER.finditer(html), MAX_HOLDERS):
        name = next(filter(None, begin.groups())).lower()
        found = lowered.find(f"</{name}", begin.end()) if begin.start() >= end else -1
        if found < 0:
            continue
        end = found
        text = html[begin.end() : end]
        held.append(textwrap.dedent(unescape(text) if name == "textarea" else text).strip())
    text = "\n\n".join(filter(None, held))
    if not text or _size_beside(root) > _SHELL_TEXT:
        return None
    return _without_slides(text) if b"remark" in source.lowered else text


def _without_slides(text: str) -> str:
    """Return the text of slides (Remark) without layout properties and speaker notes."""
    kept: list[str] = []
    begins, is_note = True, False
    for line in text.split("\n"):
        if line.rstrip() in {"---", "--"}:
            begins, is_note = True, False
            kept.append("")
        elif line.rstrip() == "???":
            is_note = True
        elif not is_note and not (begins and _PROPERTY.match(line)):
            begins = begins and not line.strip()
            kept.append(line)
    return "\n".join(kept).strip()


def _size_beside(root: _Element) -> int:
    """Return the number of characters of visible text outside of elements that may embed Markdown."""
    body = root.find("body")
    size, waiting = 0, [root if body is None else body]
    while waiting and size <= _SHELL_TEXT:
        element = waiting.pop()
        if element.tag not in _NO_TEXT and element.text:
            size += len(element.text.strip())
        for child in element:
            if child.tail:
                size += len(child.tail.strip())
            if isinstance(child.tag, str) and child.tag not in _HOLDS:
                waiting.append(child)
    return size


def _text_size(root: _Element) -> int:
    """Return the number of characters of visible text, counting no further than needed."""
    body = root.find("body")
    body = root if body is None else body
    size = 0
    for paragraph in body.iter("p"):  # the first of them are more than enough on most pages
        size += len((paragraph.text or "").strip())
        if size > _SHELL_TEXT:
            return size
    size = 0
    for element in body.iter():
        if element.tag not in _NO_TEXT and element.text:
            size += len(element.text.strip())
        if element.tail:
            size += len(element.tail.strip())
        if size > _SHELL_TEXT:
            break
    return size
