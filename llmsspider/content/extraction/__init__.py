"""HTML page to `Page`: one parse gives links, metadata and the main content as Markdown.

Run by `conversion` alone.
"""

from __future__ import annotations

import re
import textwrap
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from html import unescape
from itertools import islice
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content import markdown
from llmsspider.content.extraction import (  # the converters of elements register themselves
    blocks,
    components,  # noqa: F401
    inlines,  # noqa: F401
    lists,
    sandcastle,
)
from llmsspider.content.extraction.formats import MarkdownFormat
from llmsspider.content.extraction.generators import UNKNOWN, Generator, own_generators
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.layout import without_layout
from llmsspider.content.extraction.main_content import find_main, without_navigation
from llmsspider.content.extraction.metadata import (
    HAS_SCRIPTS,
    SHELL_TEXT,
    read_page,
    section_of,
    text_size,
    whole_title,
)
from llmsspider.content.extraction.parsing import TAGS, Source, parse, read_source
from llmsspider.content.extraction.parts import Parts
from llmsspider.content.extraction.rules import rules_for
from llmsspider.content.extraction.titles import (
    clear_site_name,
    nest_sections,
    outer_title,
    own_title,
    section_title,
    set_headline,
)
from llmsspider.content.extraction.tree import (
    HEADINGS,
    class_names,
    holds,
    inner_text,
    letters_outside_links,
    plain_text,
    strings_of,
)
from llmsspider.content.extraction.walk import Walk
from llmsspider.content.links import Growth, Joiner
from llmsspider.content.markdown.commonmark import letters_of, take_invisible
from llmsspider.errors import TooLargePageError
from llmsspider.items import Page, PageMeta
from llmsspider.web import loading
from llmsspider.web.urls import identity

__all__ = ["convert", "read_metadata"]

_MARKDOWN = MarkdownFormat()
_TEX = (b"MathJax", b"mathjax", b"katex")
"""MathJax, or KaTeX as its files spell it: prose says `KaTeX`, which does not count."""
_Own = tuple[Generator, ...]
_BLANK_LINES = re.compile(r"\n{3,}")


def convert(
    body: bytes,
    url: str,
    encoding: str | None,
    converter: str = loading.DEFAULT,
    *,
    generators: tuple[str, ...] = (),
    with_listings: bool = True,
    parts: Parts | None = None,
) -> Page:
    """Convert one HTML page.

    Args:
        body: the page as received (content encodings such as gzip undone).
        url: the final URL of the page, base of its links.
        encoding: charset of the HTTP header, or None.
        converter: one of `converters.NAMES`, or the path of a user's class. markdownify takes over
        where the
            chosen one fails on the page; `Page.converter` tells which engine it was,
            `Page.fallback` why.
        generators: paths of the user's generators, which are tried before the others.
        parts: what a user keeps and drops of the page.
        with_listings: also convert pages that only list others (`PageMeta.listing`); otherwise
        their `markdown` and
            `links` stay empty. Generated indexes are the largest pages of their sites.

    Raises:
        ValueError: for an unknown converter. Bad HTML never raises.
        TooLargePageError: the Markdown is many times as long as the page.
    """
    if converter not in loading.NAMES and "." not in converter:
        raise ValueError(f"unknown converter {converter!r}: use one of {', '.join(loading.NAMES)}")
    own = own_generators(generators) if generators else ()
    source = read_source(body, encoding)
    try:
        return _converted(source, url, Growth(len(body)), converter, own, with_listings, parts)
    except TooLargePageError:
        raise
    except Exception as error:
        if converter == loading.FALLBACK:
            raise
        page = _converted(source, url, Growth(len(body)), loading.FALLBACK, own, True, parts)
        page.fallback = f"{type(error).__name__}: {error}"
        return page


def _converted(  # noqa: PLR0917
    source: Source,
    url: str,
    growth: Growth,
    converter: str,
    own: _Own,
    listings: bool,
    parts: Parts | None,
) -> Page:
    root = parse(source)
    page, joiner = read_page(root, source, url, growth)
    page.converter = converter
    if any(mark in source.body for mark in sandcastle.MARKS):
        sandcastle.put_together(root)
    kept = parts.cut(root) if parts else None
    page.matched = dict(parts.counts) if parts else {}
    held = held_markdown(root, source)  # writing takes the page to pieces
    _write(page, root, joiner, source, own, listings or kept is not None, kept)
    if held is not None:  # the page embeds it for a script to render
        read = markdown.read(held, url)
        page.markdown = read.markdown
        page.links = read.links
        page.heading_ids = read.heading_ids
        page.converter = read.converter
        page.follow = list(dict.fromkeys([*page.follow, *read.follow]))
        page.meta.title = read.meta.title or page.meta.title
        page.meta.is_shell = False
    growth.check(len(page.markdown))
    take_invisible(page)
    return page


def _write(  # noqa: PLR0917
    page: Page,
    root: _Element,
    joiner: Joiner,
    source: Source,
    own: _Own,
    listings: bool,
    kept: _Element | None,
) -> None:
    """Set `markdown`, `links` and what the main content says of the page; that is `kept`, if given."""
    meta = page.meta
    native = page.converter == loading.DEFAULT
    engine = None
    written = _MARKDOWN
    if not native:
        # loads markdownify
        from llmsspider.content.extraction.html_format import HtmlFormat  # noqa: PLC0415

        engine = loading.converter_named(page.converter)
        written = HtmlFormat()
    hidden = HiddenText(root, source)
    if kept is None:
        main, generator = find_main(root, source, meta, own, hidden)
    else:
        main = kept
        generator = UNKNOWN
        hidden.remove(main)
    page.hidden = hidden.removed
    results = generator.results
    if results and main.find(f".//*[@id='{results}']") is not None:
        return  # a page for searches
    meta.lists_only = lists_only(main, joiner)
    meta.listing = listing_of(root, main, joiner, source, meta)
    meta.tags = tags_of(root, joiner, source)
    # its text decides whether it needs a browser
    is_drawn = meta.is_shell or meta.api_files is not None
    if meta.listing and not (listings or is_drawn):
        return
    without_layout(main, source, joiner)
    title = _titled(root, main, meta.title, generator)
    walk = Walk(
        main,
        rules_for(generator.drop),
        joiner,
        written,
        source,
        generator=generator,
        has_tex=source.may_hold(b"mathjax", b"katex") and any(name in source.body for name in _TEX),
        growth=joiner.growth if native else None,
    )
    text = walk.document(title)
    if walk.headings_only and not meta.is_shell:
        text = _with_contents(walk, title) or text
    if engine is not None and text:
        text = _BLANK_LINES.sub("\n\n", engine.convert(text)).strip("\n") + "\n"
    page.markdown = text if text.strip() else ""
    page.links = walk.links
    members = (member.get("id") for member in main.iter("dt"))
    page.heading_ids = [*walk.heading_ids, *((own, own) for own in members if own)]
    meta.title = walk.title or own_title(meta.title, walk.first_heading)


def _titled(root: _Element, main: _Element, title: str | None, generator: Generator) -> str | None:
    """Set the headings of a main content right; return the title of the page if it stands outside."""
    whole = whole_title(root)
    outer = outer_title(root, main, title, whole)
    if outer is None and generator is UNKNOWN:
        outer = section_title(root, main, title, whole)
        if outer is None:
            set_headline(main, title, whole)
    elif outer is None and clear_site_name(main, title, whole):
        without_navigation(main)
    nest_sections(main)
    return outer


def _with_contents(headings: Walk, title: str | None) -> str:
    """Return a document that had only headings with its table of contents; empty if that links to
    no other page.
    """
    walk = replace(
        headings, rules=rules_for(headings.generator.drop, contents=True), links=[], title=None
    )
    for entries in list(walk.main.iter("dl")):
        lists.entries_as_items(entries)
    text = walk.document(title)
    if not {link.url.partition("#")[0] for link in walk.links} - {walk.joiner.page}:
        return ""
    headings.links = walk.links
    return text


def read_metadata(body: bytes, url: str, encoding: str | None) -> Page:
    """Read links, metadata, section and ids of headings of one HTML page; `markdown` and `links`
    stay empty.

    See `convert`.
    """
    source = read_source(body, encoding)
    root = parse(source)
    page, joiner = read_page(root, source, url, Growth(len(body)))
    page.meta.section = section_of(root, body, joiner)
    ids = ((heading, blocks.heading_id(heading)) for heading in root.iter(*HEADINGS))
    page.heading_ids = [(plain_text(heading), own) for heading, own in ids if own]
    return page


# Markdown that a page embeds for a script to render.

_HOLDER = re.compile(
    r"<(?:(xmp)\b[^<>]{0,500}|(script)\b[^<>]{0,300}?\btype\s*=\s*[\"']?text/(?:x-)?markdown\b[^<>]{0,300}"
    r"|(textarea)\b[^<>]{0,300}?\btheme\s*=[^<>]{0,300})>",
    re.IGNORECASE,
)
"""The tag of an element with Markdown, such as Strapdown's (`<xmp>`, `<textarea theme>`)."""
MAX_HOLDERS = 200
"""Maximum number of elements of one page that are searched for Markdown."""


def held_markdown(root: _Element, source: Source) -> str | None:
    """Return the Markdown that a page embeds for a script to render; None if it has other text or
    no script.
    """
    if not source.may_hold(
        b"<xmp", b"text/markdown", b"text/x-markdown", b"<textarea"
    ) or not HAS_SCRIPTS(root):
        return None
    if text_size(root, "xmp", "textarea") > SHELL_TEXT:
        return None
    html = source.body.decode(source.encoding, "replace")
    lowered = html.lower()
    lowered = lowered if len(lowered) == len(html) else html
    held = []
    end = 0
    for begin in islice(_HOLDER.finditer(html), MAX_HOLDERS):
        name = next(filter(None, begin.groups())).lower()
        found = lowered.find(f"</{name}", begin.end()) if begin.start() >= end else -1
        if found >= 0:
            end = found
            text = html[begin.end() : end]
            held.append(textwrap.dedent(unescape(text) if name == "textarea" else text).strip())
    return "\n\n".join(filter(None, held)) or None


# Pages that only list other pages: tags, categories, archives, pagination, generated indexes,
# search. A page is a listing if its generator says so (by a class of `<html>` or `<body>`, or by
# its index table), or if its main content is nothing but links and teasers and its links open in
# another frame, or it has neither a title nor a heading, or its URL names a listing (`/tags/`,
# `/page/2`) and no sidebar or menu links to it. A page with prose of its own is none.

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
