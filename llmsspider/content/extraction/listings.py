"""Pages that only list other pages: tags, categories, archives, pagination, generated indexes, search.

A page is a listing if its generator says so (by a class of `<html>` or `<body>`, or by its
index table), or if its main content is nothing but links and teasers and its links open in
another frame, or it has neither a title nor a heading, or its URL names a listing (`/tags/`,
`/page/2`) and no sidebar or menu links to it. A page with prose of its own is none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import TAGS, Source
from llmsspider.content.extraction.tree import (
    HEADINGS,
    class_names,
    holds,
    inner_text,
    letters_outside_links,
    strings_of,
)
from llmsspider.content.links import Joiner
from llmsspider.content.markdown.commonmark import letters_of
from llmsspider.items import PageMeta
from llmsspider.web.urls import identity

_OWN_WINDOWS = frozenset({"", "_self", "_blank", "_top"})
"""Targets of links that open in the page's own window, a new one, or out of all frames (HTML
standard, 7.3.1.6).
"""
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
    *(
        (f"archive {kind}", "an archive (WordPress)")
        for kind in ("tag", "category", "date", "author", "tax")
    ),
)
"""Classes of `<html>` and `<body>`, and names of the generator's tag, by which generators name
listings.
"""
_INDEXES = r"/(?:class-use/|index-files/|index-all\.|[\w-]+-(?:tree|use|noframe)\.|deprecated-list\.)[^/]*$"
_MADE = (
    (re.compile(r"/_modules/"), b"phinx", "source code (Sphinx)"),
    (re.compile(r"/src-html/"), b'"line.1"', "source code (Javadoc)"),
    (re.compile(_INDEXES), b"avadoc", "a generated index (Javadoc)"),
)
"""Addresses that generators give to source code, and to indexes with descriptions of their own;
what pages hold.
"""
_DIRECTORY = re.compile(r"(?:index of|directory listing for) /", re.IGNORECASE)
"""How the titles of directories begin that servers list."""
_GENERATED = XPath("boolean(.//table[contains(@class, 'indextable')])")
_PRINTED = frozenset({"print", "_print", "print_page"})
"""Names of pages that hold all others of a book or section (mdBook, Docsy, mkdocs-print-site)."""
_PRINTS = XPath(
    "boolean(//@onclick[contains(., 'print(')] | //script[contains(., 'window.print')])"
)
_UNREAD = frozenset({*HEADINGS, "script", "style", "template"})
_ENTRIES = frozenset({"a", "li", "tr", "dt", "dd"})
_TITLE_LINKS = XPath(
    "(h2 | h3 | h4 | header//h2 | header//h3 | div/h2 | div/h3)//a | a[h2 or h3 or h4]"
)
_TAGS = strings_of("//a[@rel][contains(concat(' ', @rel, ' '), ' tag ')]/@href")
_SIDEBARS = XPath(
    "//nav[not(ancestor::header)]//a/@href | //aside//a/@href | //*[contains(@class, 'sidebar') or"
    " contains(@class, 'menu')]//a/@href"
)
_TARGET = XPath("string(//base[@target != '']/@target)")


def listing_of(
    root: _Element, main: _Element, joiner: Joiner, source: Source, meta: PageMeta
) -> str | None:
    """Return why a page is a listing, as text for the report; None if it is none.

    `meta.lists_only` is known.
    """
    if _DIRECTORY.match(meta.title or ""):
        return "a directory of files (web server)"
    path = urlsplit(joiner.page).path
    for made, mark, why in _MADE:
        if made.search(path) and mark in source.body:
            return why
    classes = {(meta.generator or "").partition("/")[0], *class_names(root)}
    classes.update(*map(class_names, root.iterchildren("body")))
    for names, why in _CLASSES:
        if classes.issuperset(names.split()):
            return why
    name = path.removesuffix("index.html").rstrip("/").rpartition("/")[2]
    if name.removesuffix(".html") in _PRINTED and _PRINTS(root):
        return "pages once more, in one for print"
    if source.may_hold(b"indextable") and _GENERATED(main):
        return "a generated index (Sphinx)"
    return _by_content(root, main, joiner, meta)


def _by_content(root: _Element, main: _Element, joiner: Joiner, meta: PageMeta) -> str | None:
    """Return why a page that has nothing but links, or nothing without its navigation, is a
    listing, or None.
    """
    if _is_framed(root, main, meta):
        return "links that open in another frame"
    is_named = holds(root, "title", *HEADINGS)
    if not is_named and (meta.lists_only or not inner_text(main).strip()):
        return "links without a title or heading, which other pages load"
    if not meta.lists_only or not (named := _in_address(joiner.page)):
        return None
    page = identity(joiner.page)
    hrefs = {href.partition("#")[0] for href in _SIDEBARS(root) if href[:1] != "#"}
    is_listed = page in map(identity, map(joiner.join, hrefs))
    return None if is_listed else f"{named} in its address, and nothing but links"


def _is_framed(root: _Element, main: _Element, meta: PageMeta) -> bool:
    """Say whether the links of a page, which has little else, open in another frame."""
    base = _TARGET(root)
    has_frame = base.lower() not in _OWN_WINDOWS
    if not meta.lists_only:
        return has_frame and letters_outside_links(main) < PROSE
    targets = [link.get("target") or base for link in main.iter("a") if link.get("href")]
    least = 1 if has_frame else 3
    return len(targets) >= least and _OWN_WINDOWS.isdisjoint(map(str.lower, targets))


def tags_of(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return the URLs of the pages that a page names as its tags (`rel=tag`)."""
    hrefs = _TAGS(root) if source.may_hold(*TAGS) else []
    return list(dict.fromkeys(joiner.join(href).partition("#")[0] for href in hrefs))


def lists_only(main: _Element, joiner: Joiner) -> bool:
    """Say whether a main content is nothing but links and teasers of other pages."""
    # level by level: most pages soon show prose of their own
    prose = 0
    entries = 0
    waiting = deque([main])
    has_titles = any(
        holds(heading, "a") or next(heading.iterancestors()).tag == "a"
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
            if any(_leads_away(link, joiner) for link in _links_of_entry(child, has_titles)):
                entries += 1
            elif tag != "a":
                prose += _letters(child.text)
                waiting.append(child)
            if prose >= PROSE:
                return False
    return entries > 0


def _links_of_entry(element: _Element, has_titles: bool) -> Iterable[_Element]:
    """Return the links of what may be an entry of a list, of which one leads to another page."""
    if has_titles and element.tag in {"article", "div", "section"}:
        return list(_TITLE_LINKS(element))
    return element.iter("a") if element.tag in _ENTRIES else ()


def _leads_away(link: _Element, joiner: Joiner) -> bool:
    href = link.get("href", "").partition("#")[0]
    return bool(href) and joiner.join(href) != joiner.page


def _letters(text: str | None) -> int:
    return letters_of(text[:1_000], with_digits=False) if text and not text.isspace() else 0


def _in_address(url: str) -> str | None:
    """Return the part of a URL that names a listing, such as `tags` or `page/2`, or None."""
    names = [segment.lower() for segment in urlsplit(url).path.split("/") if segment]
    last = [
        name.removesuffix(".html") for name in names if name not in {"index.html", "index.htm"}
    ][-2:]
    if found := [name for name in last if name in TAXONOMIES]:
        return found[0]
    return "/".join(last) if len(last) == 2 and last[0] == "page" and last[1].isdecimal() else None
