"""What kind of page it is: which documentation it belongs to, and whether it only lists other pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from lxml.etree import XPath, _Element

from llmsspider.extraction.marks import TAGS
from llmsspider.extraction.parsing import Source
from llmsspider.extraction.tree import letters_of
from llmsspider.items import Section
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import directory, host, identity

# Which documentation a page belongs to, by what the page says: its generator, its navigation, its breadcrumb.
# People give the page they are reading. Its section is the root that its generator names; where none is named, the
# deepest directory above it that holds most links of the navigation that lists it, or else the topmost directory of
# its breadcrumb. A page of a blog belongs to the blog, whatever the rest of the site is made with.

MOST = 0.8
"""Part of a navigation's links that the section holds; its links to other parts of the site are fewer."""
MIN_LINKS = 3
"""Links of a navigation that says where the documentation lies."""
MAX_NAVIGATIONS = 50
"""Elements looked at as a navigation."""
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
)
"""Generators that name the root of their documentation: what stands before it, up to the next quotation mark."""
_FILES = (
    ("pkgdown", (b"pkgdown.js",)),
    ("VitePress", (b"assets/app.", b"assets/style.")),
)
"""Generators that have files of theirs at the root: what follows it, after a quotation mark."""
_MARKS = {"MkDocs": (b"__config", b"mkdocs"), "VitePress": (b"VPContent", b"__VP_HASH_MAP__")}
"""What must be on the page too, where what stands beside the root could be anybody's."""
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
    """Return the section a page says that it belongs to, None where it says nothing.

    It is a directory of the page's own host, at or above the page's own.

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
    """Yield what is known of the section, the strongest first; `path` is a URL here."""
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
    """Return the folder of the first file of this name that an attribute names, None where there is none."""
    at = body.find(file)
    before = body[max(at - MAX_ROOT_BYTES, 0) : at] if at >= 0 else b""
    quote = max(before.rfind(b'"'), before.rfind(b"="))
    return before[quote + 1 :].decode("utf-8", "replace") if quote >= 0 else None


def _docusaurus(html_class: str, body: bytes, joiner: Joiner) -> Iterator[Section]:
    """Yield the directory of the version of the documentation, else the base URL where that is no whole host."""
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
    page = identity(joiner.page)
    largest: list[str] = []
    for element in _NAVIGATIONS(root)[:MAX_NAVIGATIONS]:
        if _IN_HEADER(element):
            continue
        urls = _in_site(element, joiner)
        is_listed = any(identity(url) == page for url in urls) or _CURRENT(element)
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


# Pages that only list other pages: tags, categories, archives, pagination, generated indexes, search.
# Evidence is what the generator calls the page, or an address that speaks of a listing together with a main content
# that is nothing but links and teasers. A page that the navigation beside the content names is part of the
# documentation, and so is one with prose of its own.

_FRAME_LINKS = 3
"""Links of a page that is the list of a frame set."""
_OWN_WINDOWS = frozenset({"", "_self", "_blank", "_top"})
"""Targets of links that open in the page's own window, a new one, or out of all frames (HTML standard, 7.3.1.6)."""
PROSE = 80
"""Letters outside links, headings and teasers that a page with prose of its own has."""
TAXONOMIES = frozenset(
    {
        "tags",
        "tag",
        "categories",
        "category",
        "archives",
        "archive",
        "labels",
        "label",
        "authors",
        "author",
        "search",
    }
)
"""Path segments of listings; the page itself is the next segment, or none."""

_CLASSES = {
    "docs-tags-list-page": "the tags of the documentation (Docusaurus)",
    "docs-tags-doc-list-page": "the pages of one tag (Docusaurus)",
    "docs-tag-doc-list-page": "the pages of one tag (Docusaurus)",
    "blog-tags-list-page": "the tags of the blog (Docusaurus)",
    "blog-tags-post-list-page": "the posts of one tag (Docusaurus)",
    "blog-archive-page": "the archive of the blog (Docusaurus)",
    "blog-authors-list-page": "the authors of the blog (Docusaurus)",
    "blog-authors-posts-page": "the posts of one author (Docusaurus)",
    "search-results": "the results of a search (WordPress)",
    "search-no-results": "the results of a search (WordPress)",
    "index-page": "a generated index (Javadoc)",
    "all-classes-index-page": "a generated index (Javadoc)",
    "all-packages-index-page": "a generated index (Javadoc)",
    "ns-14": "a category (MediaWiki)",
    "ns-special": "a special page (MediaWiki)",
}
"""Classes of `<html>` and `<body>` by which generators name listings."""
_JAVADOC = frozenset({"index-page", "all-classes-index-page", "all-packages-index-page"})
_MEDIAWIKI = frozenset({"ns-14", "ns-special"})
_WORDPRESS = frozenset({"search-results", "search-no-results"})
_ARCHIVES = frozenset({"tag", "category", "date", "author", "tax"})
_GENERATED = XPath("boolean(.//table[contains(@class, 'indextable')])")
_GENERATORS = XPath("//meta[@name='generator']/@content", smart_strings=False)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_UNREAD = _HEADINGS | {"script", "style", "template"}
_CONTENT = frozenset({"pre", "video", "iframe"})
_ENOUGH = 2 * PROSE
"""Characters of a text that are looked at first."""
_ENTRIES = frozenset({"li", "tr", "dt", "dd"})
_BLOCKS = frozenset({"article", "div", "section"})
_TITLE_LINKS = XPath("(h2 | h3 | h4 | header//h2 | header//h3 | div/h2 | div/h3)//a | a[h2 or h3 or h4]")
_REL_TAG = re.compile(
    rb"rel\s*+=\s*+(?:\"[^\"=]{0,200}(?:tag|&)|'[^'=]{0,200}(?:tag|&)|[^\s>=]{0,200}(?:tag|&))"
)
_TAGS = XPath("//a[contains(concat(' ', @rel, ' '), ' tag ')]/@href", smart_strings=False)
_SIDEBARS = XPath(
    "//nav[not(ancestor::header)]//a | //aside//a | //*[contains(@class, 'sidebar') or contains(@class, 'menu')]//a"
)


def listing_of(
    root: _Element, main: _Element, joiner: Joiner, source: Source, *, only_lists: bool
) -> str | None:
    """Return why a page is a listing, in words; None for a page of its own. `only_lists` is what `lists_only` says."""
    classes = set(f"{root.get('class') or ''} {_body_class(root)}".split())
    for name in sorted(classes & _CLASSES.keys()):
        if _is_theirs(name, classes, root):
            return _CLASSES[name]
    if "archive" in classes and classes & _ARCHIVES:
        return "an archive (WordPress)"
    if source.may_hold(b"indextable") and _GENERATED(main):
        return "a generated index (Sphinx)"
    if only_lists and _leads_other_frames(root, main):
        return "links that open in another frame"
    named = _in_address(joiner.page) if only_lists else None
    if named and not _is_in_sidebar(root, joiner):
        return f"{named} in its address, and nothing but links"
    return None


def _leads_other_frames(root: _Element, main: _Element) -> bool:
    """Say whether the links of a page open in another frame of its frame set (Javadoc, YARD)."""
    base = next((base.get("target") for base in root.iter("base") if base.get("target")), "")
    targets = [link.get("target") or base for link in main.iter("a") if link.get("href")]
    return len(targets) >= _FRAME_LINKS and all(target.lower() not in _OWN_WINDOWS for target in targets)


def tags_of(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return the URLs of the pages that a page names as its tags (`rel=tag`)."""
    if not (source.may_hold(*TAGS) and source.may_match(_REL_TAG)):
        return []
    return list(dict.fromkeys(joiner.join(href).partition("#")[0] for href in _TAGS(root)))


def lists_only(main: _Element, joiner: Joiner) -> bool:
    """Say whether a main content is nothing but links and teasers of other pages."""
    prose, entries, waiting = 0, 0, [main]
    entry_tags = _ENTRIES | _BLOCKS if _has_linked_headings(main) else _ENTRIES
    while waiting:
        for child in waiting.pop():
            tag = child.tag
            if child.tail:
                prose += _own_letters(child.tail)
            if tag in _UNREAD or not isinstance(tag, str):
                continue
            if tag in _CONTENT:
                return False
            if tag == "a":
                entries += _leads_away(child, joiner)
            elif tag in entry_tags and _is_entry(child, joiner):
                entries += 1
            else:
                if child.text:
                    prose += _own_letters(child.text)
                waiting.append(child)
            if prose >= PROSE:
                return False
    return entries > 0


def _is_entry(element: _Element, joiner: Joiner) -> bool:
    """Say whether an element is one entry of a list: an item with a link, or a block with a link for its title."""
    if element.tag in _ENTRIES:
        return any(_leads_away(link, joiner) for link in element.iter("a"))
    return any(_leads_away(link, joiner) for link in _TITLE_LINKS(element))


def _has_linked_headings(main: _Element) -> bool:
    """Say whether a block may have a link for its title: a heading with a link in or around it."""
    for heading in main.iter("h2", "h3", "h4"):
        parent = heading.getparent()
        if next(heading.iter("a"), None) is not None or (parent is not None and parent.tag == "a"):
            return True
    return False


def _leads_away(link: _Element, joiner: Joiner) -> bool:
    href = (link.get("href") or "").partition("#")[0]
    return bool(href) and joiner.join(href) != joiner.page


def _own_letters(text: str) -> int:
    """Return the number of letters of a text, counting no further than needed."""
    if text.isspace():
        return 0
    letters = letters_of(text[:_ENOUGH], with_digits=False)
    is_known = letters >= PROSE or len(text) <= _ENOUGH
    return letters if is_known else letters_of(text, with_digits=False)


def _body_class(root: _Element) -> str:
    body = root.find("body")
    return (body.get("class") or "") if body is not None else ""


def _is_theirs(name: str, classes: set[str], root: _Element) -> bool:
    """Say whether a class that others might use too is that of its generator."""
    if name in _MEDIAWIKI:
        return "mediawiki" in classes
    if name in _JAVADOC:
        return any("javadoc" in content for content in _GENERATORS(root))
    if name in _WORDPRESS:
        return "search" in classes
    return True


def _in_address(url: str) -> str | None:
    """Return the part of an address that speaks of a listing: `tags`, `page/2`, or None."""
    segments = [segment.lower() for segment in urlsplit(url).path.split("/") if segment]
    segments = [
        segment.removesuffix(".html") for segment in segments if segment not in {"index.html", "index.htm"}
    ]
    for segment in segments[-2:]:
        if segment in TAXONOMIES:
            return segment
    if len(segments) > 1 and segments[-2] == "page" and segments[-1].isdecimal():
        return f"page/{segments[-1]}"
    return None


def _is_in_sidebar(root: _Element, joiner: Joiner) -> bool:
    page = identity(joiner.page)
    links = (link.get("href") or "" for link in _SIDEBARS(root))
    return any(
        identity(joiner.join(href.partition("#")[0])) == page
        for href in dict.fromkeys(links)
        if href[:1] != "#"
    )
