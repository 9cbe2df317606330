"""Pages that only list other pages: tags, categories, archives, pagination, generated indexes, search."""

from __future__ import annotations

import re
from collections import deque
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import TAGS, Source
from llmsspider.content.extraction.tree import letters_outside_links
from llmsspider.content.markdown.commonmark import letters_of
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import identity

# Pages that only list other pages: tags, categories, archives, pagination, generated indexes, search.
# A page is a listing if its generator says so (by a class of `<html>` or `<body>`, or by its index table), or if its
# main content is nothing but links and teasers and its links open in another frame, or it has neither a title nor a
# heading, or its URL names a listing (`/tags/`, `/page/2`) and no sidebar or menu links to it. A page with prose of its
# own is none.

_FRAMED = "links that open in another frame"
_LOADED = "links without a title or heading, which other pages load"
_FRAME_LINKS = 3
"""Minimum number of links of a page that is the list of a frame set."""
_OWN_WINDOWS = frozenset({"", "_self", "_blank", "_top"})
"""Targets of links that open in the page's own window, a new one, or out of all frames (HTML standard, 7.3.1.6)."""
PROSE = 80
"""Minimum number of letters outside links, headings and teasers of a page with prose of its own."""
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
_PRINTED = frozenset({"print", "_print", "print_page"})
"""Names of pages that hold all others of a book or section (mdBook, Docsy, mkdocs-print-site)."""
_PRINTS = XPath("boolean(//@onclick[contains(., 'print(')] | //script[contains(., 'window.print')])")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_UNREAD = _HEADINGS | {"script", "style", "template"}
_CONTENT = frozenset({"pre", "video", "iframe"})
_ENOUGH = 2 * PROSE
"""Characters of a text whose letters are counted first; the rest only if they are fewer than `PROSE`."""
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
    """Return why a page is a listing, as text for the report; None if it is none.

    Args:
        root: the parsed page.
        main: its main content.
        joiner: joins links of the page.
        source: the bytes of the page.
        only_lists: the result of `lists_only(main, joiner)`.
    """
    classes = set(f"{root.get('class') or ''} {_body_class(root)}".split())
    for name in sorted(classes & _CLASSES.keys()):
        if _is_theirs(name, classes, root):
            return _CLASSES[name]
    if _name_of(joiner.page) in _PRINTED and _PRINTS(root):
        return "pages once more, in one for print"
    if "archive" in classes and classes & _ARCHIVES:
        return "an archive (WordPress)"
    if source.may_hold(b"indextable") and _GENERATED(main):
        return "a generated index (Sphinx)"
    if only_lists:
        return _by_its_links(root, main, joiner)
    return _without_content(root, main, source)


def _by_its_links(root: _Element, main: _Element, joiner: Joiner) -> str | None:
    """Return why a page that has nothing but links is a listing; None if it is none."""
    if _leads_other_frames(root, main):
        return _FRAMED
    if _is_loaded(root):
        return _LOADED
    named = _in_address(joiner.page)
    if named and not _is_in_sidebar(root, joiner):
        return f"{named} in its address, and nothing but links"
    return None


def _leads_other_frames(root: _Element, main: _Element) -> bool:
    """Say whether the links of a page open in another frame of its frame set (Javadoc, YARD)."""
    base = _frame_of_links(root)
    targets = [link.get("target") or base for link in main.iter("a") if link.get("href")]
    return len(targets) >= (1 if base else _FRAME_LINKS) and all(
        target.lower() not in _OWN_WINDOWS for target in targets
    )


def _frame_of_links(root: _Element) -> str:
    """Return the name of the frame in which the links of a page open that say no other; empty for the page's own."""
    base = next((base.get("target") for base in root.iter("base") if base.get("target")), "")
    return "" if base.lower() in _OWN_WINDOWS else base


def _is_loaded(root: _Element) -> bool:
    """Say whether a page is a piece of navigation that others load: it has neither a title nor a heading."""
    return next(root.iter("title", *_HEADINGS), None) is None


def tags_of(root: _Element, joiner: Joiner, source: Source) -> list[str]:
    """Return the URLs of the pages that a page names as its tags (`rel=tag`)."""
    if not (source.may_hold(*TAGS) and source.may_match(_REL_TAG)):
        return []
    return list(dict.fromkeys(joiner.join(href).partition("#")[0] for href in _TAGS(root)))


def _without_content(root: _Element, main: _Element, source: Source) -> str | None:
    """Return why a page of which nothing is left without its navigation is a listing; None if it is none."""
    if b"<a " not in source.body:
        return None
    if _is_loaded(root) and not any(text.strip() for text in main.itertext()):
        return _LOADED
    if _frame_of_links(root) and letters_outside_links(main) < PROSE:
        return _FRAMED
    return None


def lists_only(main: _Element, joiner: Joiner) -> bool:
    """Say whether a main content is nothing but links and teasers of other pages."""
    prose, entries, waiting = 0, 0, deque([main])  # level by level: most pages soon show prose of their own
    entry_tags = _ENTRIES | _BLOCKS if _has_linked_headings(main) else _ENTRIES
    while waiting:
        for child in waiting.popleft():
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
    """Say whether an ambiguous class name is really the one of its generator."""
    if name in _MEDIAWIKI:
        return "mediawiki" in classes
    if name in _JAVADOC:
        return any("javadoc" in content for content in _GENERATORS(root))
    if name in _WORDPRESS:
        return "search" in classes
    return True


def _name_of(url: str) -> str:
    """Return the last part of an address, without `.html`: of `/book/print.html` and `/docs/_print/` what they are."""
    path = urlsplit(url).path.removesuffix("index.html").rstrip("/")
    return path.rpartition("/")[2].removesuffix(".html")


def _in_address(url: str) -> str | None:
    """Return the part of a URL that names a listing, such as `tags` or `page/2`, or None."""
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
