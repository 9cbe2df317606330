"""HTML page to `Page`: one parse gives links, metadata and the main content as Markdown.

Run by `conversion` alone.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lxml.etree import _Element

from llmsspider.content import markdown
from llmsspider.content.extraction import (  # the converters of elements register themselves
    blocks,
    components,  # noqa: F401
    inlines,  # noqa: F401
    lists,
    sandcastle,
)
from llmsspider.content.extraction.embedded import held_markdown
from llmsspider.content.extraction.formats import MarkdownFormat
from llmsspider.content.extraction.generators import UNKNOWN, Generator, own_generators
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.layout import without_layout
from llmsspider.content.extraction.listings import listing_of, lists_only, tags_of
from llmsspider.content.extraction.main_content import Found, find_main, without_navigation
from llmsspider.content.extraction.metadata import read_page, section_of, whole_title
from llmsspider.content.extraction.parsing import Source, parse, read_source
from llmsspider.content.extraction.parts import Parts
from llmsspider.content.extraction.rules import is_contents, rules_for
from llmsspider.content.extraction.spoken import spoken_language
from llmsspider.content.extraction.titles import (
    clear_site_name,
    nest_sections,
    outer_title,
    own_title,
    section_title,
    set_headline,
)
from llmsspider.content.extraction.tree import HEADINGS, plain_text
from llmsspider.content.extraction.walk import Walk
from llmsspider.content.links import Growth, Joiner
from llmsspider.content.markdown.commonmark import take_invisible
from llmsspider.errors import TooLargePageError
from llmsspider.items import Page
from llmsspider.web import loading

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
    page.meta.language = spoken_language(page)
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
    main, generator = _find(page, root, source, own, kept)
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
    rules = rules_for(generator.drop)
    without_layout(main, source, joiner, rules)
    title = _titled(root, main, meta.title, generator)
    walk = Walk(
        main,
        rules,
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


def _find(page: Page, root: _Element, source: Source, own: _Own, kept: _Element | None) -> Found:
    """Return the main content of a page, without what it hides, and the generator it was found by."""
    hidden = HiddenText(root, source)
    if kept is None:
        found = find_main(root, source, page.meta, own, hidden)
    else:
        hidden.remove(kept)
        found = (kept, UNKNOWN)
    page.hidden = hidden.removed
    return found


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
    for entries in walk.main.iter("nav"):
        if is_contents(f"{entries.get('class')} {entries.get('role')}"):
            entries.tag = "div"
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
