"""What a page says besides its content: its head, its links, whether it is an empty shell, its
documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse, islice
from urllib.parse import urljoin, urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.apis import (
    INLINE_SCRIPTS,
    SCRIPTS_OF_FILES,
    read_apis,
)
from llmsspider.content.extraction.parsing import LINKS, Source
from llmsspider.content.extraction.tree import body_of, class_names, inner_text, strings_of
from llmsspider.content.links import Growth, Joiner
from llmsspider.items import Page, PageMeta, Section
from llmsspider.web.urls import (
    ANCHOR_ROUTE,
    directory,
    host,
    identity,
    loose_key,
    split_route,
    without_fragment,
)

_BASE = XPath("string(/html/head/base/@href | /html/body/base/@href)")


def read_page(root: _Element, source: Source, url: str, growth: Growth) -> tuple[Page, Joiner]:
    """Return the metadata and links of a page fetched from `url`, without its content, and what
    joins its URLs.
    """
    joiner = Joiner(url, _BASE(root), growth)
    meta = _read_head(root, joiner)
    meta.is_template = is_template(root, source)
    size = text_size(root)
    if size <= SHELL_TEXT:
        _read_little(meta, root, source, joiner)
    has_scripts = bool(HAS_SCRIPTS(root))
    own = text_size(root, *_AROUND)
    is_empty = (size <= SHELL_TEXT and _ROOTS(root)) or (own <= SHELL_TEXT and _FRAMES(root))
    is_bare = own <= LEAST_TEXT or is_empty
    is_drawn = has_scripts or bool(_HOLDS_FRAME(root))
    meta.is_shell = meta.is_template or (is_drawn and is_bare)
    if has_scripts and not meta.is_shell:
        meta.mounts = empty_elements(root)
    read_apis(meta, root, source, joiner)
    if source.may_hold(b"#/", b"#!", b"data-llmsspider-route"):
        meta.routes = _routes(root, joiner)
    follow = _follow_links(root, joiner, source)
    if own <= SHELL_TEXT and not meta.is_shell:
        follow += joiner.on_web(_FRAMED(root))
    if meta.is_template:  # addresses that it makes of its data are none yet
        meta.routes = list(filterfalse(_IN_BRACES.search, meta.routes))
        follow = list(filterfalse(_IN_BRACES.search, follow))
    return Page(markdown="", links=[], follow=follow, meta=meta), joiner


def _read_little(meta: PageMeta, root: _Element, source: Source, joiner: Joiner) -> None:
    """Set where a page with next to no text leads: another page, or the Markdown that it renders."""
    meta.refresh = meta.refresh or _leads_on(root, joiner, meta.canonical)
    if not meta.markdown_alternate and source.may_hold(b"zero-md", b"md-block", b"wc-markdown"):
        files = list(filter(None, map(str.strip, _SHOWN_FILES(root))))
        if len(files) == 1:
            meta.markdown_alternate = joiner.join(files[0])


# What a page says about itself in its head, read from the tree that is parsed for its content.

_REFRESH = re.compile(r"\s*+\d{0,2}+(?:\.\d*+)?+\s*+[;,]\s*+(?:url\s*+=\s*+)?+", re.IGNORECASE)
"""A page that leads on after minutes is read until then: it ends a session."""
MAX_TITLE = 1_000
"""Maximum length in characters of a title that is searched for the name of the site."""
_SITE_NAMES = (
    (frozenset("|»›"), r"\s*[|»›]\s*[^|»›]+\Z"),
    (frozenset("·•–—"), r"\s+[·•–—]\s+[^·•–—]+\Z"),
    (frozenset("-:"), r"\s+[-:]{1,2}\s+[^-]+\Z"),
)
"""Separators before the name of a site at the end of a title, with a pattern of that end; in order
of preference.
"""
_LOCATION = re.compile(
    r"(?<![\w.$])(?:(?:window|document|self|top)\.){0,3}location(?:\.href)?["
    r" \t]{0,9}(?:=(?!=)|\.(?:replace|assign)\()"
    r"[ \t]{0,9}([\"'])([^\"'<>\s]{1,2000})\1(\s{0,99}\+)?"
)
"""A script that goes to another page: the quote, the address, and whether something is added to it.
"""
_IN_NOSCRIPT = XPath("/html/head/noscript/meta[@http-equiv]")


_LANGUAGES = (
    strings_of("(//main | //article)/@lang"),
    strings_of(
        "/html/@*[local-name()='lang' or name()='xml:lang'] | /html/body/@lang | /html/body/*/@lang"
    ),
)
"""Where a page says which language it is in, what is nearest to its text first."""
_TRANSLATIONS = XPath("//a[@hreflang and contains(@rel, 'alternate')]")


def _read_head(root: _Element, joiner: Joiner) -> PageMeta:
    """Return the `PageMeta` of a page; `title` is `<title>` without the site's suffix, `is_shell`
    is left False.
    """
    tops = [part for part in root if part.tag in {"head", "body"}]
    languages = chain.from_iterable(named(root) for named in _LANGUAGES)
    meta = PageMeta(language=next(filter(None, map(_clean, languages)), None))
    site_name = None
    in_head = [one for part in tops for one in part.iterchildren("meta", "link")]
    for element in [*in_head, *_TRANSLATIONS(root)]:
        if element.tag != "meta":
            _read_link_tag(meta, element, joiner)
        elif element.get("property") == "og:site_name":
            site_name = _clean(element.get("content"))
        else:
            _read_meta_tag(meta, element, joiner)
    meta.title = without_suffix(whole_title(root), site_name)
    return meta


def _leads_on(root: _Element, joiner: Joiner, canonical: str | None) -> str | None:
    """Return where a page with next to no text of its own leads: all it links to, or what its one
    script goes to.
    """
    links = {without_fragment(joiner.join(href)) for href in _LINKS(root)}
    if len(links) > 1 or joiner.page in links:
        return None
    gone_to = [found for text in INLINE_SCRIPTS(root) for found in _LOCATION.finditer(text)]
    urls = [joiner.join(found[2]) for found in gone_to]
    without_scripts = PageMeta()
    for element in _IN_NOSCRIPT(root):
        _read_meta_tag(without_scripts, element, joiner)
    if links:
        targets = filter(None, (without_scripts.refresh, *urls, canonical))
        return next((url for url in targets if without_fragment(url) in links), None)
    if without_scripts.refresh and not urls:
        urls = [without_scripts.refresh]
    is_asked = bool(gone_to) and bool(gone_to[0][3])
    if len(urls) != 1 or is_asked or SCRIPTS_OF_FILES(root) or _ROOTS(root):
        return None
    return urls[0] if without_fragment(urls[0]) != joiner.page else None


def _read_meta_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    name = (
        element.get("name") or element.get("property") or element.get("http-equiv") or ""
    ).lower()
    content = element.get("content", "").strip()
    match name:
        case "description":
            meta.description = _clean(content) or meta.description
        case "og:description":
            meta.description = meta.description or _clean(content)
        case "generator":
            meta.generator = meta.generator or _clean(content)
        case "robots" | "llmsbot" | "llmsspider":
            meta.robots |= {word.strip().lower() for word in content.split(",") if word.strip()}
        case "tdm-reservation" if content == "1":
            meta.robots |= {name}
        case "tdm-policy" if content:
            meta.licences.append(joiner.join(content))
        case "refresh" if found := _REFRESH.match(content):
            target = content[found.end() :].strip().strip("\"'").strip()
            meta.refresh = joiner.join(target) if target else meta.refresh
        case "content-language" | "og:locale":
            meta.locale = meta.locale or _clean(content.replace("_", "-"))
            meta.language = meta.language or meta.locale


def _read_link_tag(meta: PageMeta, element: _Element, joiner: Joiner) -> None:
    rel = element.get("rel", "").lower().split()
    href = element.get("href")
    if not href:
        return
    url = joiner.join(href)
    if "canonical" in rel:
        meta.canonical = meta.canonical or url
    elif "license" in rel:
        meta.licences.append(url)
    elif "describedby" in rel:
        meta.describedby = meta.describedby or url
    elif "alternate" in rel:
        _read_alternate(meta, element, url)
    elif "amphtml" in rel:
        meta.copies.append(url)


def _read_alternate(meta: PageMeta, element: _Element, url: str) -> None:
    kind = element.get("type", "").lower().partition(";")[0].strip()
    if kind in {"text/markdown", "text/x-markdown"}:
        meta.markdown_alternate = meta.markdown_alternate or url
    elif element.get("hreflang"):
        meta.hreflang.setdefault(element.get("hreflang"), url)
    elif kind in {"text/html", "application/xhtml+xml"} or element.get("media"):
        meta.copies.append(url)


def whole_title(root: _Element) -> str | None:
    """Return the `<title>`, the site's name in it where it has one."""
    in_head = (part for top in root[:1] for part in top if part.tag == "title")
    title = next(chain(in_head, root.iter("title")), None)  # `iter` alone looks at the whole page
    return None if title is None else _clean(inner_text(title))


def without_suffix(title: str | None, site_name: str | None = None) -> str | None:
    """Return `title` without its last part, where that part is the name of the site.

    The name is `site_name` where the page gives one (og:site_name); else the part after the last
    separator. A colon counts as a separator only if there is no other.

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
_SAVED = " or ".join(
    f"contains(@href, '.{ending}')" for ending in ("htm", "pdf", "doc", "xls", "ppt")
)
_ANCHORS = f"//a[not(@download) or {_SAVED}]/@href"
"""What a link saves is a file: the Markdown of a page, a script; some formats are read from files."""
_HREFS = strings_of(f"{_ANCHORS} | //area/@href | //frame/@src")
_MARKED_ROUTES = strings_of("//a[@data-llmsspider-route]/@href")
_LINKS = strings_of(_ANCHORS)
_LOADED = strings_of(
    "/html/head/meta[@property='docfx:navrel' or @property='docfx:tocrel' or @name='docfx:navrel'"
    " or @name='docfx:tocrel']/@content"
)
_SCRIPTS_OF_HEAD = strings_of("/html/head/script/@src")
_MENUS = {
    "dist/sidebar_items": ["index.html"],  # which leads to the first page
    "menudata.js": ["index.html", "annotated.html", "files.html"],
}
"""Scripts that hold the navigation of ExDoc and Doxygen, and the pages beside them that lead on."""


def _follow_links(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return every http(s) URL in `a[href]`, `area[href]`, `frame[src]` and `link[rel=up]`:
    absolute, no fragment, each once.
    """
    hrefs = (_HREFS if source.may_hold(*LINKS) else _LINKS)(root)
    if source.may_hold(b"docfx:", b"sidebar_items", b"menudata"):
        # the navigation of DocFX is another page
        hrefs = [*hrefs, *_LOADED(root), *_beside_menus(root)]
    hrefs = [*hrefs, *_UP(root)]
    return joiner.on_web([href.partition("#")[0] if "#" in href else href for href in hrefs])


def _beside_menus(root: _Element) -> Iterator[str]:
    for src in _SCRIPTS_OF_HEAD(root):
        for script, names in _MENUS.items():
            folder, found, _ = src.partition(script)
            if found:
                yield from (f"{folder}{name}" for name in names)


def _routes(root: _Element, joiner: Joiner) -> list[str]:
    """Return the links of a page to its own routes (`#/guide`, and those that the browser marked),
    absolute, each once, `MAX_ROUTES` at most.
    """
    hrefs = [href for href in dict.fromkeys(_HREFS(root)) if "#/" in href or "#!" in href]
    hrefs += [f"{href}{ANCHOR_ROUTE}" for href in _MARKED_ROUTES(root)]
    urls = dict.fromkeys(without_fragment(joiner.join(href)) for href in hrefs)
    own = ((url, *split_route(url)) for url in urls)
    return list(
        islice((url for url, page, route in own if route and page == joiner.page), MAX_ROUTES)
    )


# Empty shells: pages that hold no text of their own until a browser has run their scripts.

HAS_SCRIPTS = XPath("boolean(//script[@src or @type='module' or string-length(.) > 100])")
_MOUNT = (
    "@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='__docusaurus' or @id='svelte'"
    " or @id='main' or @id='application' or @id='react-root' or @id='redoc' or @id='swagger-ui' or"
    " @id='___gatsby'"
)
_ROOTS = XPath(
    f"boolean(//*[{_MOUNT}][not(normalize-space())] | //app-root | //redoc | //rapi-doc |"
    " //elements-api)"
)
_FRAMES = XPath(
    "boolean(//main//iframe[@srcdoc or (@src and not(contains(@src, '//')))] | //main//object[@data]"
    " | //main//embed[@src])"
)
_FRAMED = strings_of("//iframe[not(@srcdoc)]/@src | //object/@data | //embed/@src")
_HOLDS_FRAME = XPath("boolean(//iframe[@srcdoc])")
_SHOWN_FILES = strings_of("//zero-md/@src | //md-block/@src | //wc-markdown/@src")
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "title", "head"})
_TEMPLATES = strings_of(
    "//*[@ng-app or @data-ng-app or @ng-controller or @ng-cloak or @data-ng-cloak or @v-cloak or"
    " @v-scope or @ng-view or @ui-view]//text()[contains(., '{{')][not(ancestor::pre or"
    " ancestor::code or ancestor::script or ancestor::style or ancestor::textarea or"
    " ancestor::template or ancestor::*[@v-pre or @ng-non-bindable])]"
)
_HEADLINES = strings_of("/html/head/title/text() | //h1/text()")
_BINDS = re.compile(r"\{\{[^{}]+\}\}")
_IN_BRACES = re.compile(r"(?:\{|%7B){2}", re.IGNORECASE)
_TEMPLATE_MARKS = (b"ng-app", b"ng-controller", b"-cloak", b"v-scope", b"ng-view", b"ui-view")
_EMPTY = XPath(
    "/html/body/descendant::*[not(*)][self::main or self::article or contains(local-name(), '-') or"
    " ((@id or @class) and (self::div or self::section or self::pre or self::code or self::figure or"
    " self::td))][not(normalize-space())]"
    f" | /html/body/descendant::*[@id][{_MOUNT}][not(.//a[@href])]"
    "[string-length(normalize-space()) < 600]"
)
MAX_EMPTY = 50
"""Maximum number of empty elements of a page that are looked at."""
SHELL_TEXT = 200
"""Characters of text up to which a page with scripts and a place to draw in is a shell."""
LEAST_TEXT = 40
"""Characters of text outside of `_AROUND` up to which a page with scripts is one without it."""
_AROUND = ("nav", "header", "footer", "aside")


def is_template(root: _Element, source: Source) -> bool:
    """Say whether a page is the template of a program that works in it: its headline is
    `{{ name }}` alone, or that is in the text of an element with the program's attributes. A text
    about that, in code or without the attributes, is none.
    """
    if b"{{" not in source.body:
        return False
    if any(_BINDS.fullmatch(text.strip()) for text in _HEADLINES(root)):
        return True
    has_marks = any(mark in source.lowered for mark in _TEMPLATE_MARKS)
    return has_marks and any(_BINDS.search(text) for text in _TEMPLATES(root))


def empty_elements(root: _Element) -> list[str]:
    """Return the names of empty elements of a page, each once: `#root`, `div.code-sample`; those of
    elements in which programs draw also where they hold a notice.
    """
    names: dict[str, None] = {}
    for element in _EMPTY(root)[:MAX_EMPTY]:
        name = element.get("id")
        classes = ".".join(class_names(element))
        names[f"#{name}" if name else f"{element.tag}.{classes}"] = None
    return list(names)


def text_size(root: _Element, *unread: str) -> int:
    """Return the number of characters of visible text outside of `unread` elements, counting no
    further than needed.
    """
    size = 0
    left_out = _NO_TEXT.union(unread)
    waiting = [body_of(root)]
    while waiting and size <= SHELL_TEXT:
        element = waiting.pop()
        size += len((element.text or "").strip())
        for child in element:
            size += len((child.tail or "").strip())
            if child.tag not in left_out:
                waiting.append(child)
    return size


# Which documentation a page belongs to, by what the page says: its generator, its navigation, its
# breadcrumb. People give the page they are reading. Its section is the root that its generator
# names; where none is named, the deepest directory above it that holds most links of the navigation
# that lists it, or else the topmost directory of its breadcrumb. A page of a blog belongs to the
# blog, whatever the rest of the site is made with.

MOST = 0.8
"""Minimum share (0 to 1) of a navigation's links that lead into the section."""
MIN_LINKS = 3
"""Minimum number of links of a navigation that is evidence for a section."""
_NAMED_ROOTS = (
    ("Sphinx", b"", (b'data-content_root="', b'data-url_root="', b"URL_ROOT: '", b'URL_ROOT: "', b"URL_ROOT:'")),
    ("MkDocs", b"__config", (b'"base": "', b'"base":"', b"base_url = '", b'base_url = "', b'base_url="')),
    ("MkDocs", b"mkdocs", (b'"base": "', b'"base":"', b"base_url = '", b'base_url = "', b'base_url="')),
    ("mdBook", b"", (b'path_to_root = "',)),
    ("Quarto", b"", (b'quarto:offset" content="',)),
    ("rustdoc", b"", (b'data-root-path="',)),
    ("Javadoc", b"", (b'pathtoroot = "',)),
    ("TypeDoc", b"", (b'data-base="',)),
    ("Documenter", b"", (b'documenterBaseURL="',)),
    ("Dokka", b"", (b'pathToRoot = "',)),
    ("YARD", b"yardoc.org", (b"relpath = '",)),
    ("phpDocumentor", b"phpdocumentor", (b'<base href="',)),
)  # fmt: skip
"""Generators whose pages name the root of the documentation, with a byte string that such a page
has, and those that precede the root, which ends at the next occurrence of their last byte, a
quotation mark.
"""
_FILES = (
    ("pkgdown", b"", (b"pkgdown.js",)),
    ("VitePress", b"VPContent", (b"assets/app.", b"assets/style.")),
    ("VitePress", b"__VP_HASH_MAP__", (b"assets/app.", b"assets/style.")),
    ("DocFX", b"docfx:navrel", (b"toc.html",)),
    ("Javadoc", b"Generated by javadoc", (b"index-all.html",)),
)
"""Generators with files of known names in the root of the documentation: an attribute is the root
and such a name.
"""
MAX_ROOT_BYTES = 200
_NAVIGATIONS = XPath(
    "//nav | //aside | //*[@role='navigation'] | //*[contains(@class, 'sidebar') or contains(@id,"
    " 'sidebar') or contains(@class, 'sidenav') or contains(@class, 'side-nav') or contains(@class,"
    " 'navigation') or contains(@class, 'menu') or contains(@id, 'menu')]"
)
_BREADCRUMBS = XPath(
    "//*[contains(@class, 'readcrumb') or contains(@id, 'readcrumb') or contains(@aria-label,"
    " 'readcrumb')]"
)
_IN_HEADER = XPath("boolean(ancestor-or-self::header | ancestor-or-self::footer)")
_CURRENT = XPath("boolean(.//a[@aria-current='page' or @href=''])")
_STARTS = XPath(
    "//link[@rel='contents' or @rel='toc' or @rel='start' or @rel='home' or @rel='top']/@href"
)
_DATA = strings_of("//script[@type='application/ld+json']/text()")
_ITEM = re.compile(r'"(?:item|@id)"\s*+:\s*+"([^"]++)"')
_UP = strings_of("/html/*/link[@rel='up']/@href")


def section_of(root: _Element, body: bytes, joiner: Joiner) -> Section | None:
    """Return the section that a page declares: a directory, its own or one above it; None without
    evidence.
    """
    page = joiner.page
    for url, why in _evidence(root, body, joiner):
        path = directory(urljoin(page, url))
        if host(urljoin(page, url)) == host(page) and directory(page).startswith(path):
            return _within_blog(Section(path, why), page)
    return None


def _evidence(root: _Element, body: bytes, joiner: Joiner) -> Iterator[tuple[str, str]]:
    if b"docusaurus" in body and (named := _docusaurus(root.get("class", ""), body, joiner)):
        yield named, "the root that Docusaurus names"
    for name, value in _named_roots(body):
        yield value.rstrip("/") + "/" if value else "./", f"the root that {name} names"
    for href in _STARTS(root)[:1]:
        yield joiner.join(href), "the start that the page names"
    if (named := _navigation(root, joiner)) is not None:
        yield named, "most links of its navigation lead there"
    if (named := _breadcrumb(root, joiner)) is not None:
        yield named, "its breadcrumb begins there"
    for href in _UP(root)[:1]:
        yield joiner.join(href), "the page above it that it names"


def _named_roots(body: bytes) -> Iterator[tuple[str, str]]:
    for name, mark, starts in _NAMED_ROOTS:
        for start in starts if mark in body else ():
            if (at := body.find(start)) >= 0:
                at += len(start)
                yield (
                    name,
                    body[at : at + MAX_ROOT_BYTES]
                    .partition(start[-1:])[0]
                    .decode("utf-8", "replace"),
                )
    for name, mark, files in _FILES:
        for file in files if mark in body else ():
            if (value := _before(body, file)) is not None:
                yield name, value


def _before(body: bytes, file: bytes) -> str | None:
    """Return the part of an attribute value before the first `file` in it: a folder, as written;
    None if it is far.
    """
    at = body.find(file)
    before = body[max(at - MAX_ROOT_BYTES, 0) : at] if at >= 0 else b""
    quote = max(before.rfind(b'"'), before.rfind(b"="))
    return before[quote + 1 :].decode("utf-8", "replace") if quote >= 0 else None


def _docusaurus(classes: str, body: bytes, joiner: Joiner) -> str | None:
    """Return the directory of the documentation version, else the base URL if that is not the root
    of the host.
    """
    if "blog" in classes:
        return None
    page = urlsplit(joiner.page).path.rstrip("/").removesuffix(".html")
    document = classes.partition("docs-doc-id-")[2].partition(" ")[0]
    for path, tail in ((page, document), (page.rpartition("/")[0], document.rpartition("/")[0])):
        if tail and path.endswith(f"/{tail}"):
            return path.removesuffix(tail)
    base = _before(body, b"assets/js/main.") or _before(body, b"assets/js/runtime~main.") or "/"
    return base if urlsplit(urljoin(joiner.page, base)).path != "/" else None


def _navigation(root: _Element, joiner: Joiner) -> str | None:
    """Return the deepest directory that holds most links of the largest navigation that lists the
    page.
    """
    page = loose_key(joiner.page)
    navigations = filterfalse(_IN_HEADER, _NAVIGATIONS(root)[:50])
    listing = (
        urls
        for element in navigations
        if page in map(loose_key, urls := _in_site(element, joiner)) or _CURRENT(element)
    )
    largest = max(listing, key=len, default=[])
    paths = [path for path in (urlsplit(url).path for url in largest) if path.strip("/")]
    if len(paths) < MIN_LINKS:
        return None
    above = directory(joiner.page)
    while above != "/" and sum(path.startswith(above) for path in paths) < MOST * len(paths):
        above = above[:-1].rpartition("/")[0] + "/"
    return above


def _breadcrumb(root: _Element, joiner: Joiner) -> str | None:
    """Return the topmost directory above the page to which a breadcrumb leads: an element called
    so, a navigation that leads nowhere but up, or data for search engines (JSON-LD).
    """
    here = directory(joiner.page)
    named = _BREADCRUMBS(root)[:5]
    for element in (*named, *_NAVIGATIONS(root)[:50]):
        urls = _in_site(element, joiner)
        above = _above(urls, here)
        is_breadcrumb = element in named or (
            len(above) == len(urls) and here not in above and not _IN_HEADER(element)
        )
        if above and is_breadcrumb:
            return min(above, key=len)
    lists = (text for text in _DATA(root) if "BreadcrumbList" in text)
    items = [item.replace("\\/", "/") for text in lists for item in _ITEM.findall(text)]
    return min(_above(_on_host(items, joiner), here), key=len, default=None)


def _above(urls: Iterable[str], here: str) -> list[str]:
    """Return the directories of URLs that a directory lies in, its own too, but for the root."""
    folders = (_folder(urlsplit(url).path) for url in urls)
    return [folder for folder in folders if folder != "/" and here.startswith(folder)]


def _folder(path: str) -> str:
    """Return the directory that a page without a slash stands for: `/docs` is `/docs/`,
    `/docs/a.html` also.
    """
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}" if "." in name or path.endswith("/") else f"{path}/"


def _in_site(element: _Element, joiner: Joiner) -> list[str]:
    return _on_host((link.get("href", "").strip() for link in element.iter("a")), joiner)


def _on_host(hrefs: Iterable[str], joiner: Joiner) -> list[str]:
    """Return the addresses of the page's own host, each once, without fragment."""
    urls = dict.fromkeys(joiner.join(href.partition("#")[0]) for href in hrefs if href)
    own = host(joiner.page)
    return [url for url in urls if host(url) == own]


def _within_blog(found: Section, page: str) -> Section:
    """Return the section of a page, that of its blog where it lies in one; `/news/` itself may be
    documentation.
    """
    segments = directory(page).split("/")
    for number, segment in enumerate(segments, 1):
        path = "/".join(segments[:number]) + "/"
        is_news = segment.lower() in {"news", "press"} and identity(page) != urljoin(page, path)
        if (segment.lower() in {"blog", "blogs", "posts"} or is_news) and path.startswith(
            found.path
        ):
            return Section(path, "a page of a blog belongs to the blog")
    return found
