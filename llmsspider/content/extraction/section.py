"""Which documentation a page belongs to, by what the page says: its generator, its navigation, its breadcrumb."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from lxml.etree import XPath, _Element

from llmsspider.items import Section
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import directory, host, identity, loose_key

# Which documentation a page belongs to, by what the page says: its generator, its navigation, its breadcrumb.
# People give the page they are reading. Its section is the root that its generator names; where none is named, the
# deepest directory above it that holds most links of the navigation that lists it, or else the topmost directory of
# its breadcrumb. A page of a blog belongs to the blog, whatever the rest of the site is made with.

MOST = 0.8
"""Minimum share (0 to 1) of a navigation's links that lead into the section."""
MIN_LINKS = 3
"""Minimum number of links of a navigation that is evidence for a section."""
MAX_NAVIGATIONS = 50
"""Maximum number of elements that are examined as a navigation."""
MAX_BREADCRUMBS = 5
BLOGS = frozenset({"blog", "blogs", "posts"})
NEWS = frozenset({"news", "press"})
"""Directories of articles beside the documentation; `/news/` itself may be a page of it."""

_ROOTS = (
    ("Sphinx", (b'data-content_root="', b'data-url_root="', b"URL_ROOT: '", b'URL_ROOT: "', b"URL_ROOT:'")),
    ("MkDocs", (b'"base": "', b'"base":"', b"base_url = '", b'base_url = "', b'base_url="')),
    ("mdBook", (b'path_to_root = "',)),
    ("Quarto", (b'quarto:offset" content="',)),
    ("rustdoc", (b'data-root-path="',)),
    ("Javadoc", (b'pathtoroot = "',)),
    ("TypeDoc", (b'data-base="',)),
    ("Dokka", (b'pathToRoot = "',)),
    ("YARD", (b"relpath = '",)),
)
"""Generators whose pages name the root of the documentation, with the byte strings that precede it.

The root ends at the next occurrence of the string's last byte, a quotation mark.
"""
_FILES = (
    ("pkgdown", (b"pkgdown.js",)),
    ("VitePress", (b"assets/app.", b"assets/style.")),
    ("DocFX", (b"toc.html",)),
)
"""Generators with files of known names in the root of the documentation: an attribute is the root and such a name."""
_MARKS = {
    "MkDocs": (b"__config", b"mkdocs"),
    "VitePress": (b"VPContent", b"__VP_HASH_MAP__"),
    "YARD": (b"yardoc.org",),
    "DocFX": (b"docfx:navrel",),
}
"""Byte strings of which the page must hold one too, for generators whose strings above are ambiguous."""
MAX_ROOT_BYTES = 200

_NAVIGATIONS = XPath(
    "//nav | //aside | //*[@role='navigation'] | //*[contains(@class, 'sidebar') or contains(@id, 'sidebar') or "
    "contains(@class, 'sidenav') or contains(@class, 'side-nav') or contains(@class, 'navigation') or "
    "contains(@class, 'menu') or contains(@id, 'menu')]"
)
_BREADCRUMBS = XPath(
    "//*[contains(@class, 'breadcrumb') or contains(@id, 'breadcrumb') or contains(@aria-label, 'readcrumb')]"
)
_IN_HEADER = XPath("boolean(ancestor-or-self::header | ancestor-or-self::footer)")
_CURRENT = XPath("boolean(.//a[@aria-current='page'])")
_START_LINKS = XPath(
    "//link[@rel='contents' or @rel='toc' or @rel='start' or @rel='home' or @rel='top']/@href",
    smart_strings=False,
)


def section_of(root: _Element, body: bytes, joiner: Joiner) -> Section | None:
    """Return the section that a page declares; None without evidence.

    A section is a directory on the host of the page: that of the page, or one above it.

    Args:
        root: the parsed page.
        body: the page as received.
        joiner: joins links of the page.
    """
    page = joiner.page
    for found in _evidence(root, body, joiner):
        path = directory(urljoin(page, found.path))
        if host(urljoin(page, found.path)) == host(page) and directory(page).startswith(path):
            return _within_blog(Section(path, found.why), page)
    return None


def _evidence(root: _Element, body: bytes, joiner: Joiner) -> Iterator[Section]:
    """Yield candidate sections, strongest evidence first; their `path` is a URL here."""
    html = root.get("class") or ""
    if b"docusaurus" in body:
        yield from _docusaurus(html, body, joiner)
    for name, value in _named_roots(body):
        yield Section(
            urljoin(joiner.page, value.rstrip("/") + "/" if value else "./"), f"the root that {name} names"
        )
    for href in _START_LINKS(root)[:1]:
        yield Section(joiner.join(href), "the start that the page names")
    if (named := _navigation(root, joiner)) is not None:
        yield Section(named, "most links of its navigation lead there")
    if (named := _breadcrumb(root, joiner)) is not None:
        yield Section(named, "its breadcrumb begins there")


def _named_roots(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield generators and the roots that they name, as written."""
    for name, starts in _ROOTS:
        for start in starts if _is_by(name, body) else ():
            if (at := body.find(start)) >= 0:
                at += len(start)
                named, _, _ = body[at : at + MAX_ROOT_BYTES].partition(start[-1:])
                yield name, named.decode("utf-8", "replace")
    for name, files in _FILES:
        for file in files if _is_by(name, body) else ():
            if (value := _before(body, file)) is not None:
                yield name, value


def _is_by(name: str, body: bytes) -> bool:
    return any(mark in body for mark in _MARKS.get(name, (b"",)))


def _before(body: bytes, file: bytes) -> str | None:
    """Return the part of an attribute value before the first `file` in it: a folder, relative or absolute, as written.

    None if the page does not hold `file`, or the value begins more than `MAX_ROOT_BYTES` bytes before it.
    """
    at = body.find(file)
    before = body[max(at - MAX_ROOT_BYTES, 0) : at] if at >= 0 else b""
    quote = max(before.rfind(b'"'), before.rfind(b"="))
    return before[quote + 1 :].decode("utf-8", "replace") if quote >= 0 else None


def _docusaurus(html_class: str, body: bytes, joiner: Joiner) -> Iterator[Section]:
    """Yield the directory of the documentation version, else the base URL if that is not the root of the host."""
    if "blog" in html_class:
        return
    why = "the root that Docusaurus names"
    page = urlsplit(joiner.page).path.rstrip("/").removesuffix(".html")
    folder = page.rpartition("/")[0]
    for name in html_class.split():
        document = name.removeprefix("docs-doc-id-")
        for path, tail in (
            ((page, document), (folder, document.rpartition("/")[0])) if document != name else ()
        ):
            if tail and path.endswith(f"/{tail}"):
                yield Section(urljoin(joiner.page, path.removesuffix(tail)), why)
                return
    base = _before(body, b"assets/js/main.") or _before(body, b"assets/js/runtime~main.") or "/"
    if urlsplit(urljoin(joiner.page, base)).path != "/":
        yield Section(urljoin(joiner.page, base), why)


def _navigation(root: _Element, joiner: Joiner) -> str | None:
    """Return the deepest directory that holds most links of the largest navigation that lists the page."""
    page = loose_key(joiner.page)
    largest: list[str] = []
    for element in _NAVIGATIONS(root)[:MAX_NAVIGATIONS]:
        if _IN_HEADER(element):
            continue
        urls = _in_site(element, joiner)
        is_listed = any(loose_key(url) == page for url in urls) or _CURRENT(element)
        if is_listed and len(urls) > len(largest):
            largest = urls
    paths = [urlsplit(url).path for url in largest if urlsplit(url).path not in {"", "/"}]
    if len(paths) < MIN_LINKS:
        return None
    above = directory(joiner.page)
    while above != "/":
        if sum(path.startswith(above) for path in paths) >= MOST * len(paths):
            break
        above = above[:-1].rpartition("/")[0] + "/"
    return urljoin(joiner.page, above)


def _breadcrumb(root: _Element, joiner: Joiner) -> str | None:
    """Return the topmost directory below the host's root that a breadcrumb names and that holds the page."""
    here = directory(joiner.page)
    for element in _BREADCRUMBS(root)[:MAX_BREADCRUMBS]:
        paths = [urlsplit(url).path for url in _in_site(element, joiner)]
        folders = [path if path.endswith("/") else _folder(path) for path in paths]
        above = [folder for folder in folders if folder != "/" and here.startswith(folder)]
        if above:
            return urljoin(joiner.page, min(above, key=len))
    return None


def _folder(path: str) -> str:
    """Return the directory that a page without a slash stands for: `/docs` is `/docs/`, `/docs/a.html` also."""
    name = path.rpartition("/")[2]
    return path[: len(path) - len(name)] if "." in name else f"{path}/"


def _in_site(element: _Element, joiner: Joiner) -> list[str]:
    own = host(joiner.page)
    links = (joiner.join(href.partition("#")[0]) for href in dict.fromkeys(_hrefs(element)))
    return [
        url for url in dict.fromkeys(links) if url.startswith(("http://", "https://")) and host(url) == own
    ]


def _hrefs(element: _Element) -> list[str]:
    return [href for link in element.iter("a") if (href := (link.get("href") or "").strip())]


def _within_blog(found: Section, page: str) -> Section:
    """Return the section of a page, that of its blog where it lies in one."""
    segments = directory(page).split("/")
    for number, segment in enumerate(segments):
        path = "/".join(segments[: number + 1]) + "/"
        is_article = segment.lower() in BLOGS or (
            segment.lower() in NEWS and identity(page) != urljoin(page, path)
        )
        if is_article and path.startswith(found.path):
            return Section(path, "a page of a blog belongs to the blog")
    return found
