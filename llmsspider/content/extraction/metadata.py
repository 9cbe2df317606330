"""What a page says besides its content: its head, its links, its API files, and whether it is an empty shell."""

from __future__ import annotations

import json
import re
import textwrap
from html import unescape
from itertools import chain, islice

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import LINKS, Source
from llmsspider.content.extraction.tree import inner_text
from llmsspider.content.links import Growth, Joiner
from llmsspider.items import Page, PageMeta
from llmsspider.web.addresses import begins
from llmsspider.web.urls import split_route, without_fragment

_BASE = XPath("string(/html/head/base/@href | /html/body/base/@href)", smart_strings=False)


def read_page(root: _Element, source: Source, url: str, growth: Growth) -> tuple[Page, Joiner]:
    """Return the metadata and links of a page fetched from `url`, without its content, and what joins its URLs."""
    joiner = Joiner(url, _BASE(root), growth)
    meta = _read_head(root, joiner)
    size = _text_size(root)
    if not meta.refresh and size <= _SHELL_TEXT:
        meta.refresh = _leads_on(root, joiner, meta.canonical)
    may_draw = size <= _SHELL_TEXT and bool(_SCRIPTS(root))
    meta.is_shell = may_draw and (size <= 40 or bool(_ROOTS(root)))  # no text at all, or a place to draw in
    if not meta.markdown_alternate and source.may_hold(b"zero-md", b"md-block", b"wc-markdown"):
        files = [file for src in _SHOWN_FILES(root) if (file := src.strip())]
        if len(files) == 1 and size <= _SHELL_TEXT:  # the page renders this one
            meta.markdown_alternate = joiner.join(files[0])
    _read_apis(meta, root, source, joiner)
    meta.routes = _routes(root, joiner) if source.may_hold(b"#/", b"#!/") else []
    return Page(markdown="", links=[], follow=_follow_links(root, joiner, source), meta=meta), joiner


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
_LOCATION = re.compile(
    r"(?<![\w.$])(?:(?:window|document|self|top)\.){0,3}location(?:\.href)?[ \t]{0,9}(?:=(?!=)|\.(?:replace|assign)\()"
    r"[ \t]{0,9}([\"'])([^\"'<>\s]{1,2000})\1(\s{0,99}\+)?"
)
"""A script that goes to another page: the quote, the address, and whether something is added to it."""
_IN_NOSCRIPT = XPath("/html/head/noscript/meta[@http-equiv]", smart_strings=False)


def _read_head(root: _Element, joiner: Joiner) -> PageMeta:
    """Return the `PageMeta` of a page; `title` is `<title>` without the site's suffix, `is_shell` is left False."""
    tops = [part for part in root if part.tag in {"head", "body"}]
    names = ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")
    languages = [root.get(name) for name in names] + [part.get("lang") for part in tops if part.tag == "body"]
    meta = PageMeta(language=_clean(next(filter(None, languages), None)))
    site_name = None
    for element in [one for part in tops for one in part.iterchildren("meta", "link")]:
        if element.tag == "link":
            _read_link_tag(meta, element, joiner)
        elif element.get("property") == "og:site_name":
            site_name = _clean(element.get("content"))
        else:
            _read_meta_tag(meta, element, joiner)
    meta.title = without_suffix(whole_title(root), site_name)
    return meta


def _leads_on(root: _Element, joiner: Joiner, canonical: str | None) -> str | None:
    """Return where a page with next to no text of its own leads: all it links to, or what its one script goes to."""
    links = {without_fragment(joiner.join(href)) for href in _LINKS(root)}
    if len(links) > 1 or joiner.page in links:
        return None
    without_scripts = PageMeta()
    for element in _IN_NOSCRIPT(root):
        _read_meta_tag(without_scripts, element, joiner)
    gone_to = [found for text in _INLINE_SCRIPTS(root) for found in _LOCATION.finditer(text)]
    targets = [without_scripts.refresh, *(joiner.join(found[2]) for found in gone_to), canonical]
    if links:
        return next((url for url in targets if url and {without_fragment(url)} == links), None)
    is_alone = len(gone_to) == 1 and not gone_to[0][3] and not (_SCRIPTS_OF_FILES(root) or _ROOTS(root))
    return targets[1] if is_alone and without_fragment(targets[1] or "") != joiner.page else None


def _read_meta_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    name = (element.get("name") or element.get("property") or "").lower()
    content = element.get("content") or ""
    if name == "description" or (name == "og:description" and not meta.description):
        meta.description = _clean(content) or meta.description
    elif name == "generator" and not meta.generator:
        meta.generator = _clean(content)
    elif name in {"robots", "llmsbot", "llmsspider"}:
        meta.robots |= {word.strip().lower() for word in content.split(",") if word.strip()}
    elif name == "tdm-reservation" and content.strip() == "1":
        meta.robots |= {name}
    elif name == "tdm-policy" and content.strip():
        meta.licences.append(joiner.join(content.strip()))
    elif (kind := (element.get("http-equiv") or "").lower()) == "refresh":
        found = _REFRESH.match(content)
        target = content[found.end() :].strip().strip("\"'").strip() if found else ""
        meta.refresh = joiner.join(target) if target else meta.refresh
    elif kind == "content-language" and not meta.language:
        meta.language = _clean(content)


def _read_link_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    rel = (element.get("rel") or "").lower().split()
    href = element.get("href")
    if not href:
        return
    if "canonical" in rel:
        meta.canonical = meta.canonical or joiner.join(href)
    elif "license" in rel:
        meta.licences.append(joiner.join(href))
    elif "describedby" in rel:
        meta.describedby = meta.describedby or joiner.join(href)
    elif "alternate" in rel:
        kind = (element.get("type") or "").lower().partition(";")[0].strip()
        if kind in {"text/markdown", "text/x-markdown"}:
            meta.markdown_alternate = meta.markdown_alternate or joiner.join(href)
        elif element.get("hreflang"):
            meta.hreflang.setdefault(element.get("hreflang"), joiner.join(href))


def whole_title(root: _Element) -> str | None:
    """Return the `<title>`, the site's name in it where it has one."""
    in_head = (part for top in root[:1] for part in top if part.tag == "title")
    title = next(chain(in_head, root.iter("title")), None)  # `iter` alone looks at the whole page
    return None if title is None else _clean(inner_text(title))


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
    patterns = [pattern for signs, pattern in _SITE_NAMES if not signs.isdisjoint(title)]
    if site_name:
        name = re.escape(site_name)
        patterns[:0] = [rf"\s*[|·•–—»›:-]\s*{name}\s*\Z", rf"\A{name}\s*[|·•–—»›:-]\s*"]
    for pattern in patterns:
        stripped = re.sub(pattern, "", title)
        if stripped and stripped != title:
            return stripped.strip()
    return title


def _clean(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


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
_SIDEBAR_ITEMS = XPath("/html/head/script/@src[contains(., 'dist/sidebar_items')]", smart_strings=False)


def _follow_links(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return every http(s) URL in `a[href]`, `area[href]` and `frame[src]`: absolute, no fragment, each once."""
    hrefs = (_HREFS if source.may_hold(*LINKS) else _LINKS)(root)
    if source.may_hold(b"docfx:", b"sidebar_items"):
        # the navigation of DocFX is another page; that of ExDoc a script, beside an index that leads to the first page
        items = [src.partition("dist/sidebar_items")[0] for src in _SIDEBAR_ITEMS(root)]
        hrefs = [*hrefs, *_LOADED(root), *(f"{folder}index.html" for folder in items[:1])]
    return _of_web([href.partition("#")[0] if "#" in href else href for href in hrefs], joiner)


def _of_web(hrefs: list[str], joiner: Joiner) -> list[str]:
    """Return the http(s) URLs among `hrefs`, joined, each once."""
    urls = dict.fromkeys([joiner.join(href) for href in dict.fromkeys(hrefs) if href.strip()])
    own = begins(joiner.page)
    return [url for url in urls if url.startswith(own) or url[:8].lower().startswith(own)]


def _routes(root: _Element, joiner: Joiner) -> list[str]:
    """Return the links of a page to its own routes (`#/guide`), absolute, each once, `MAX_ROUTES` at most."""
    hrefs = [href for href in dict.fromkeys(_HREFS(root)) if "#/" in href or "#!/" in href]
    urls = dict.fromkeys(without_fragment(joiner.join(href)) for href in hrefs)
    own = ((url, *split_route(url)) for url in urls)
    return list(islice((url for url, page, route in own if route and page == joiner.page), MAX_ROUTES))


# The OpenAPI files that a page names for the script that renders its API reference, or embeds in its scripts.

_WORDS = (
    b"swagger", b"redoc", b"rapi-doc", b"rapidoc", b"openapi", b"elements-api", b"api-reference", b"createapireference",
)  # fmt: skip
_DOCC = re.compile(rb"var baseUrl ?= ?\"([^\"<>\s]*/)\"")
"""Where the site of DocC begins, whose pages are drawn from a file of data each."""
_SPEAKS = ("swagger", "redoc", "rapidoc", "openapi", "apireference", "loadspec")
"""Inline scripts with one of these words, in lower case, are searched for APIs."""
_CONFIGURED = XPath("//*[@id='api-reference']/@data-configuration", smart_strings=False)
_NAMED = (
    (b"spec-url", XPath("//@spec-url", smart_strings=False)),
    (b"apidescriptionurl", XPath("//@apidescriptionurl", smart_strings=False)),
    (b"api-reference", XPath("//*[@id='api-reference']/@data-url", smart_strings=False)),
)
"""The attributes that hold the URL of an OpenAPI file, each with the byte string by which pages have it."""
_INLINE_SCRIPTS = XPath("//script[not(@src)]/text()", smart_strings=False)
_SCRIPTS_OF_FILES = XPath("//script/@src", smart_strings=False)
_HOLDING = XPath(
    "//script[@id='api-reference'][not(@src)]/text() | //@apidescriptiondocument", smart_strings=False
)
_INITIALIZER = re.compile(
    r"swagger|redoc|rapi-?doc|openapi|scalar|elements|api|spec|schema|docs?|init", re.IGNORECASE
)
"""Names of scripts that say what is drawn, rather than draw it: those are looked at first."""
_PROGRAM = re.compile(
    r"bundle|preset|standalone|web-components|[.-]min\.|swagger-ui(?:-es)?\.js|rapidoc\.js", re.IGNORECASE
)
_PLACES = XPath(
    "boolean(//redoc | //rapi-doc | //elements-api | //*[@id='swagger-ui' or @id='redoc' or @id='redoc-container'"
    " or contains(concat(' ', @class, ' '), ' swagger-ui ') or contains(concat(' ', @class, ' '), ' redoc-wrap ')"
    " or contains(concat(' ', @class, ' '), ' sl-elements-api ')])"
)
MAX_FILES = 10
"""Maximum number of API files read from one page."""
MAX_SCRIPTS = 3
"""Maximum number of scripts of one page that are searched for its API."""


def _read_apis(meta: PageMeta, root: _Element, source: Source, joiner: Joiner) -> None:
    """Set `api_files`, `api_scripts` and `held_apis` of `meta` for a page that renders an API reference."""
    base = _DOCC.search(source.body) if meta.is_shell and b"documentation-topic" in source.body else None
    root_url = joiner.join(base[1].decode(source.encoding, "replace")) if base else ""
    if base and joiner.page.startswith(f"{root_url}documentation"):
        meta.api_files = [f"{root_url}data/{joiner.page[len(root_url) :].rstrip('/')}.json"]
    if not source.may_hold(*_WORDS):
        return
    scripts_here = ((script, script.lower()) for script in _INLINE_SCRIPTS(root))
    inline = [script for script, lowered in scripts_here if any(word in lowered for word in _SPEAKS)]
    named = [url.strip() for mark, path in _NAMED if source.may_hold(mark) for url in path(root)]
    is_drawn = source.may_hold(b"swagger", b"redoc", b"rapi-doc", b"elements-api") and _PLACES(root)
    may_hold = source.may_hold(b"api-reference", b"elements-api")
    if not (inline or named or is_drawn or may_hold):
        return
    from llmsspider.content.openapi import scripts  # noqa: PLC0415  # few pages are API references

    named += [url for text in _CONFIGURED(root) for url in scripts.urls_in(text)] if may_hold else []
    holding = [f"export default {text}" for text in _HOLDING(root)] if may_hold else []
    held = [api for script in holding for api in scripts.apis_in(script)]
    for script in inline:
        held += (own := list(scripts.apis_in(script)))
        named += [] if own else scripts.files_in(script)
    meta.held_apis = list(dict.fromkeys(map(json.dumps, held)))[: scripts.MAX_HELD]
    files = _of_web(named[:MAX_FILES], joiner)
    meta.api_files = files if files or is_drawn else None
    if meta.api_files == []:
        others = [url for script in inline for url in scripts.configurations_in(script)]
        names = ((src, src.partition("?")[0].rpartition("/")[2]) for src in _SCRIPTS_OF_FILES(root))
        others_last = [
            (not _INITIALIZER.search(name), src)
            for src, name in names
            if name.endswith((".js", ".mjs")) and not _PROGRAM.search(name)
        ]
        others += [src for _, src in sorted(others_last, key=lambda one: one[0])]
        meta.api_scripts = _of_web(others, joiner)[:MAX_SCRIPTS]


# Empty shells: pages that hold no text of their own until a browser has run their scripts.

_SCRIPTS = XPath("boolean(//script[@src or @type='module' or string-length(.) > 100])", smart_strings=False)
_ROOTS = XPath(
    "boolean(//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='__docusaurus' or @id='svelte'"
    " or @id='main' or @id='application' or @id='react-root' or @id='redoc' or @id='swagger-ui' or @id='___gatsby']"
    "[not(normalize-space())] | //app-root | //redoc | //rapi-doc | //elements-api)"
)
_SHOWN_FILES = XPath("//zero-md/@src | //md-block/@src | //wc-markdown/@src", smart_strings=False)
"""The Markdown files that elements of a page render."""
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "title", "head"})
_SHELL_TEXT = 200
"""Characters of text below which a page with scripts can be a shell."""
_HOLDER = re.compile(
    r"<(?:(xmp)\b[^<>]{0,500}|(script)\b[^<>]{0,300}?\btype\s*=\s*[\"']?text/(?:x-)?markdown\b[^<>]{0,300}"
    r"|(textarea)\b[^<>]{0,300}?\b(?:id\s*=\s*[\"']?source\b|theme\s*=)[^<>]{0,300})>",
    re.IGNORECASE,
)
"""The tag of an element with Markdown: Strapdown (`<xmp>`, `<textarea theme>`), Remark (`<textarea id="source">`)."""
MAX_HOLDERS = 200
"""Maximum number of elements of one page that are searched for Markdown."""
_PROPERTY = re.compile(r"\s*[a-z][a-z-]*:(?:\s|$)")
"""A property of a slide (Remark), on one of its first lines: `class: center`."""


def held_markdown(root: _Element, source: Source) -> str | None:
    """Return the Markdown that a page embeds for a script to render; None if it has other text or no script."""
    if not source.may_hold(b"<xmp", b"text/markdown", b"text/x-markdown", b"<textarea") or not _SCRIPTS(root):
        return None
    if _text_size(root, "xmp", "textarea") > _SHELL_TEXT:
        return None
    html = source.body.decode(source.encoding, "replace")
    lowered = html.lower()
    lowered = lowered if len(lowered) == len(html) else html
    held, end = [], 0
    for begin in islice(_HOLDER.finditer(html), MAX_HOLDERS):
        name = next(filter(None, begin.groups())).lower()
        found = lowered.find(f"</{name}", begin.end()) if begin.start() >= end else -1
        if found >= 0:
            end = found
            text = html[begin.end() : end]
            held.append(textwrap.dedent(unescape(text) if name == "textarea" else text).strip())
    text = "\n\n".join(filter(None, held))
    if not text:
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


def _text_size(root: _Element, *unread: str) -> int:
    """Return the number of characters of visible text outside of `unread` elements, counting no further than needed."""
    body = root.find("body")
    size, waiting = 0, [root if body is None else body]
    while waiting and size <= _SHELL_TEXT:
        element = waiting.pop()
        if element.text and element.tag not in _NO_TEXT:
            size += len(element.text.strip())
        for child in element:
            if child.tail:
                size += len(child.tail.strip())
            if child.tag not in unread:
                waiting.append(child)
    return size
