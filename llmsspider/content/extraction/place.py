"""The place of a page in its site: whether it only lists other pages, and which documentation it belongs to."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import TAGS, Source
from llmsspider.content.extraction.tree import HEADINGS, letters_outside_links
from llmsspider.content.links import Joiner
from llmsspider.content.markdown.commonmark import letters_of
from llmsspider.items import PageMeta, Section
from llmsspider.web.urls import directory, host, identity, loose_key

# Pages that only list other pages: tags, categories, archives, pagination, generated indexes, search.
# A page is a listing if its generator says so (by a class of `<html>` or `<body>`, or by its index table), or if its
# main content is nothing but links and teasers and its links open in another frame, or it has neither a title nor a
# heading, or its URL names a listing (`/tags/`, `/page/2`) and no sidebar or menu links to it. A page with prose of its
# own is none.

_OWN_WINDOWS = frozenset({"", "_self", "_blank", "_top"})
"""Targets of links that open in the page's own window, a new one, or out of all frames (HTML standard, 7.3.1.6)."""
PROSE = 80
"""Minimum number of letters outside links, headings and teasers of a page with prose of its own."""
TAXONOMIES = frozenset(
    {"tags", "tag", "categories", "category", "archives", "archive", "labels", "label", "authors", "author", "search"}
)  # fmt: skip
"""Path segments of listings; the page itself is the next segment, or none."""
_CLASSES = (
    ("docs-tags-list-page", "the tags of the documentation (Docusaurus)"),
    ("docs-tags-doc-list-page", "the pages of one tag (Docusaurus)"),
    ("docs-tag-doc-list-page", "the pages of one tag (Docusaurus)"),
    ("blog-tags-list-page", "the tags of the blog (Docusaurus)"),
    ("blog-tags-post-list-page", "the posts of one tag (Docusaurus)"),
    ("blog-archive-page", "the archive of the blog (Docusaurus)"),
    ("blog-authors-list-page", "the authors of the blog (Docusaurus)"),
    ("blog-authors-posts-page", "the posts of one author (Docusaurus)"),
    ("search search-results", "the results of a search (WordPress)"),
    ("search search-no-results", "the results of a search (WordPress)"),
    ("javadoc index-page", "a generated index (Javadoc)"),
    ("javadoc all-classes-index-page", "a generated index (Javadoc)"),
    ("javadoc all-packages-index-page", "a generated index (Javadoc)"),
    ("mediawiki ns-14", "a category (MediaWiki)"),
    ("mediawiki ns-special", "a special page (MediaWiki)"),
    *((f"archive {kind}", "an archive (WordPress)") for kind in ("tag", "category", "date", "author", "tax")),
)
"""Classes of `<html>` and `<body>`, and names of the generator's tag, by which generators name listings."""
_INDEXES = r"/(?:class-use/|index-files/|index-all\.|[\w-]+-(?:tree|use|noframe)\.|deprecated-list\.)[^/]*$"
_MADE = (
    (re.compile(r"/_modules/"), b"phinx", "source code (Sphinx)"),
    (re.compile(r"/src-html/"), b'"line.1"', "source code (Javadoc)"),
    (re.compile(_INDEXES), b"avadoc", "a generated index (Javadoc)"),
)
"""Addresses that generators give to source code, and to indexes with descriptions of their own; what pages hold."""
_GENERATED = XPath("boolean(.//table[contains(@class, 'indextable')])")
_PRINTED = frozenset({"print", "_print", "print_page"})
"""Names of pages that hold all others of a book or section (mdBook, Docsy, mkdocs-print-site)."""
_PRINTS = XPath("boolean(//@onclick[contains(., 'print(')] | //script[contains(., 'window.print')])")
_UNREAD = frozenset({*HEADINGS, "script", "style", "template"})
_ENTRIES = frozenset({"li", "tr", "dt", "dd"})
_TITLE_LINKS = XPath("(h2 | h3 | h4 | header//h2 | header//h3 | div/h2 | div/h3)//a | a[h2 or h3 or h4]")
_TAGS = XPath("//a[@rel][contains(concat(' ', @rel, ' '), ' tag ')]/@href", smart_strings=False)
_SIDEBARS = XPath(
    "//nav[not(ancestor::header)]//a | //aside//a | //*[contains(@class, 'sidebar') or contains(@class, 'menu')]//a"
)


def listing_of(root: _Element, main: _Element, joiner: Joiner, source: Source, meta: PageMeta) -> str | None:
    """Return why a page is a listing, as text for the report; None if it is none. `meta.lists_only` is known."""
    path = urlsplit(joiner.page).path
    for made, mark, why in _MADE:
        if made.search(path) and mark in source.body:
            return why
    classes = {(meta.generator or "").partition("/")[0]}
    for element in (root, *root.iterchildren("body")):
        classes.update((element.get("class") or "").split())
    for names, why in _CLASSES:
        if classes.issuperset(names.split()):
            return why
    name = path.removesuffix("index.html").rstrip("/").rpartition("/")[2]
    if name.removesuffix(".html") in _PRINTED and _PRINTS(root):
        return "pages once more, in one for print"
    if source.may_hold(b"indextable") and _GENERATED(main):
        return "a generated index (Sphinx)"
    return _by_content(root, main, joiner, meta) if meta.lists_only or b"<a " in source.body else None


def _by_content(root: _Element, main: _Element, joiner: Joiner, meta: PageMeta) -> str | None:
    """Return why a page that has nothing but links, or nothing without its navigation, is a listing, or None."""
    base = next((base.get("target") for base in root.iter("base") if base.get("target")), "")
    frame = "" if base.lower() in _OWN_WINDOWS else base
    if meta.lists_only:
        targets = [link.get("target") or base for link in main.iter("a") if link.get("href")]
        is_framed = len(targets) >= (1 if frame else 3) and _OWN_WINDOWS.isdisjoint(map(str.lower, targets))
    else:
        is_framed = bool(frame) and letters_outside_links(main) < PROSE
    if is_framed:
        return "links that open in another frame"
    is_named = next(root.iter("title", *HEADINGS), None) is not None
    if not is_named and (meta.lists_only or not any(text.strip() for text in main.itertext())):
        return "links without a title or heading, which other pages load"
    if not meta.lists_only or not (named := _in_address(joiner.page)):
        return None
    page = identity(joiner.page)
    hrefs = dict.fromkeys(link.get("href") or "" for link in _SIDEBARS(root))
    if any(identity(joiner.join(href.partition("#")[0])) == page for href in hrefs if href[:1] != "#"):
        return None
    return f"{named} in its address, and nothing but links"


def tags_of(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return the URLs of the pages that a page names as its tags (`rel=tag`)."""
    hrefs = _TAGS(root) if source.may_hold(*TAGS) else []
    return list(dict.fromkeys(joiner.join(href).partition("#")[0] for href in hrefs))


def lists_only(main: _Element, joiner: Joiner) -> bool:
    """Say whether a main content is nothing but links and teasers of other pages."""
    prose, entries, waiting = 0, 0, deque([main])  # level by level: most pages soon show prose of their own
    has_titles = any(
        next(heading.iter("a"), None) is not None or next(heading.iterancestors()).tag == "a"
        for heading in main.iter("h2", "h3", "h4")
    )
    while waiting:
        for child in waiting.popleft():
            tag = child.tag
            prose += _letters(child.tail)
            if tag in _UNREAD or not isinstance(tag, str):
                continue
            if tag in {"pre", "video", "iframe"}:
                return False
            is_block = has_titles and tag in {"article", "div", "section"}
            links = _TITLE_LINKS(child) if is_block else child.iter("a") if tag in _ENTRIES else ()
            if tag == "a":
                entries += _leads_away(child, joiner)
            elif any(_leads_away(link, joiner) for link in links):
                entries += 1
            else:
                prose += _letters(child.text)
                waiting.append(child)
            if prose >= PROSE:
                return False
    return entries > 0


def _leads_away(link: _Element, joiner: Joiner) -> bool:
    href = (link.get("href") or "").partition("#")[0]
    return bool(href) and joiner.join(href) != joiner.page


def _letters(text: str | None) -> int:
    return letters_of(text[:1_000], with_digits=False) if text and not text.isspace() else 0


def _in_address(url: str) -> str | None:
    """Return the part of a URL that names a listing, such as `tags` or `page/2`, or None."""
    names = [segment.lower() for segment in urlsplit(url).path.split("/") if segment]
    last = [name.removesuffix(".html") for name in names if name not in {"index.html", "index.htm"}][-2:]
    if found := [name for name in last if name in TAXONOMIES]:
        return found[0]
    return "/".join(last) if len(last) == 2 and last[0] == "page" and last[1].isdecimal() else None


# Which documentation a page belongs to, by what the page says: its generator, its navigation, its breadcrumb.
# People give the page they are reading. Its section is the root that its generator names; where none is named, the
# deepest directory above it that holds most links of the navigation that lists it, or else the topmost directory of
# its breadcrumb. A page of a blog belongs to the blog, whatever the rest of the site is made with.

MOST = 0.8
"""Minimum share (0 to 1) of a navigation's links that lead into the section."""
MIN_LINKS = 3
"""Minimum number of links of a navigation that is evidence for a section."""
_ROOTS = (
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
)  # fmt: skip
"""Generators whose pages name the root of the documentation, with a byte string that such a page has, and those that
precede the root, which ends at the next occurrence of their last byte, a quotation mark.
"""
_FILES = (
    ("pkgdown", b"", (b"pkgdown.js",)),
    ("VitePress", b"VPContent", (b"assets/app.", b"assets/style.")),
    ("VitePress", b"__VP_HASH_MAP__", (b"assets/app.", b"assets/style.")),
    ("DocFX", b"docfx:navrel", (b"toc.html",)),
)
"""Generators with files of known names in the root of the documentation: an attribute is the root and such a name."""
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
_CURRENT = XPath("boolean(.//a[@aria-current='page' or @href=''])")
_STARTS = XPath("//link[@rel='contents' or @rel='toc' or @rel='start' or @rel='home' or @rel='top']/@href")


def section_of(root: _Element, body: bytes, joiner: Joiner) -> Section | None:
    """Return the section that a page declares: a directory, its own or one above it; None without evidence."""
    page = joiner.page
    for url, why in _evidence(root, body, joiner):
        path = directory(urljoin(page, url))
        if host(urljoin(page, url)) == host(page) and directory(page).startswith(path):
            return _within_blog(Section(path, why), page)
    return None


def _evidence(root: _Element, body: bytes, joiner: Joiner) -> Iterator[tuple[str, str]]:
    """Yield candidate sections as URLs, and why, strongest evidence first."""
    if b"docusaurus" in body and (named := _docusaurus(root.get("class") or "", body, joiner)):
        yield named, "the root that Docusaurus names"
    for name, value in _named_roots(body):
        yield value.rstrip("/") + "/" if value else "./", f"the root that {name} names"
    for href in _STARTS(root)[:1]:
        yield joiner.join(href), "the start that the page names"
    if (named := _navigation(root, joiner)) is not None:
        yield named, "most links of its navigation lead there"
    if (named := _breadcrumb(root, joiner)) is not None:
        yield named, "its breadcrumb begins there"


def _named_roots(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield generators and the roots that they name, as written."""
    for name, mark, starts in _ROOTS:
        for start in starts if mark in body else ():
            if (at := body.find(start)) >= 0:
                at += len(start)
                yield name, body[at : at + MAX_ROOT_BYTES].partition(start[-1:])[0].decode("utf-8", "replace")
    for name, mark, files in _FILES:
        for file in files if mark in body else ():
            if (value := _before(body, file)) is not None:
                yield name, value


def _before(body: bytes, file: bytes) -> str | None:
    """Return the part of an attribute value before the first `file` in it: a folder, as written; None if it is far."""
    at = body.find(file)
    before = body[max(at - MAX_ROOT_BYTES, 0) : at] if at >= 0 else b""
    quote = max(before.rfind(b'"'), before.rfind(b"="))
    return before[quote + 1 :].decode("utf-8", "replace") if quote >= 0 else None


def _docusaurus(classes: str, body: bytes, joiner: Joiner) -> str | None:
    """Return the directory of the documentation version, else the base URL if that is not the root of the host."""
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
    """Return the deepest directory that holds most links of the largest navigation that lists the page."""
    page = loose_key(joiner.page)
    largest: list[str] = []
    for element in _NAVIGATIONS(root)[:50]:
        urls = [] if _IN_HEADER(element) else _in_site(element, joiner)
        is_listed = any(loose_key(url) == page for url in urls) or _CURRENT(element)
        if is_listed and len(urls) > len(largest):
            largest = urls
    paths = [path for url in largest if (path := urlsplit(url).path) not in {"", "/"}]
    if len(paths) < MIN_LINKS:
        return None
    above = directory(joiner.page)
    while above != "/" and sum(path.startswith(above) for path in paths) < MOST * len(paths):
        above = above[:-1].rpartition("/")[0] + "/"
    return above


def _breadcrumb(root: _Element, joiner: Joiner) -> str | None:
    """Return the topmost directory below the host's root that a breadcrumb names and that holds the page."""
    here = directory(joiner.page)
    for element in _BREADCRUMBS(root)[:5]:
        folders = [_folder(urlsplit(url).path) for url in _in_site(element, joiner)]
        if above := [folder for folder in folders if folder != "/" and here.startswith(folder)]:
            return min(above, key=len)
    return None


def _folder(path: str) -> str:
    """Return the directory that a page without a slash stands for: `/docs` is `/docs/`, `/docs/a.html` also."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}" if "." in name or path.endswith("/") else f"{path}/"


def _in_site(element: _Element, joiner: Joiner) -> list[str]:
    hrefs = dict.fromkeys(href for link in element.iter("a") if (href := (link.get("href") or "").strip()))
    urls = dict.fromkeys(joiner.join(href.partition("#")[0]) for href in hrefs)
    own = host(joiner.page)
    return [url for url in urls if host(url) == own]


def _within_blog(found: Section, page: str) -> Section:
    """Return the section of a page, that of its blog where it lies in one; `/news/` itself may be documentation."""
    segments = directory(page).split("/")
    for number, segment in enumerate(segments, 1):
        path = "/".join(segments[:number]) + "/"
        is_news = segment.lower() in {"news", "press"} and identity(page) != urljoin(page, path)
        if (segment.lower() in {"blog", "blogs", "posts"} or is_news) and path.startswith(found.path):
            return Section(path, "a page of a blog belongs to the blog")
    return found
