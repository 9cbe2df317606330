"""Pages that only list other pages, and those that look like it."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

ENTRIES = "".join(
    f"<li><a href='/guide/{name}'>{name}</a> what {name} is about</li>" for name in ("one", "two", "three")
)
TEASERS = "".join(
    f"<article><h2><a href='/post/{name}'>{name}</a></h2><p>{'How it all began, told at length. ' * 5}</p></article>"
    for name in ("one", "two", "three")
)
PROSE = (
    "<p>Tags are for readers who know the name of a thing, and not where it is. They are given by hand, one by one, in "
    "the head of a page.</p>"
)


def page(main: str, classes: str = "", body_class: str = "", around: str = "") -> bytes:
    return (
        f"<html class='{classes}'><head><title>Things</title></head><body class='{body_class}'>{around}"
        f"<main><h1>Things</h1>{main}</main></body></html>"
    ).encode()


FILES = (
    b"<head><title>Files</title><base target='_parent'></head><h1>Files</h1><div id='nav'><a href='b.html'>Classes</a>"
    b"</div><div>Search:<input></div><ul id='full_list' class='nav'><li><a href='a.html'>A</a></ul>"
)
LOADED = (
    b"<div id='sidetoggle'><div><form><input placeholder='Filter'></form></div><div class='sidetoc'><div class='toc' "
    b"id='toc'><ul class='nav'><li><a href='a.html'>A</a></li></ul></div></div></div>"
)
LISTED = {
    "Docusaurus, a tag": (page(f"<ul>{ENTRIES}</ul>", "docs-wrapper docs-tags-doc-list-page"), "/x"),
    "Docusaurus, archive": (page(f"<ul>{ENTRIES}</ul>{PROSE}", "blog-archive-page"), "/x"),
    "WordPress, category": (page(TEASERS, body_class="archive category category-news"), "/x"),
    "MediaWiki, category": (page(f"<ul>{ENTRIES}</ul>", body_class="mediawiki ltr ns-14"), "/x"),
    "Sphinx, index": (
        page("<table class='indextable genindextable'><tr><td><a href='a.html'>a</a></table>"),
        "/x",
    ),
    "a tag by its address": (page(f"<ul>{ENTRIES}</ul>"), "/docs/tags/first"),
    "all tags": (page(f"<ul>{ENTRIES}</ul>"), "/docs/tags/"),
    "a later page of teasers": (page(TEASERS), "/blog/page/2/"),
    "the list of a frame set, Javadoc": (
        page("".join(f"<li><a href='{name}.html' target='classFrame'>{name}</a>" for name in "abc")),
        "/api/allclasses-frame.html",
    ),
    "the list of a frame set, YARD": (
        page(f"<ul>{ENTRIES}</ul>").replace(b"<title>", b"<base target='_parent'><title>"),
        "/class_list.html",
    ),
    "the list of a frame set with one entry": (
        FILES,
        "/file_list.html",
    ),
    "all pages of a section for print, Docsy": (
        page(
            f"<p>All of it. <a href='#' onclick='print();return false;'>Print</a></p>{PROSE}<h1>A</h1>{PROSE}"
        ),
        "/docs/guide/_print/",
    ),
    "all pages of a book for print, mdBook": (
        page(f"{PROSE}<h1>A</h1>{PROSE}", around="<script>window.setTimeout(window.print, 100);</script>"),
        "/book/print.html",
    ),
    "a category in a table": (
        page("<table><tr><td><a href='/a'>a</a></td><td>An entry with a few words on it.</td></tr></table>"),
        "/category/things.html",
    ),
}
KEPT = {
    "links, and nothing says that it is a listing": (page(f"<ul>{ENTRIES}</ul>"), "/guide/"),
    "a function called print": (
        page(f"{PROSE}<pre>&lt;a onclick='print()'&gt; window.print()</pre>"),
        "/lib/print.html",
    ),
    "a page that can be printed": (
        page(f"<a onclick='window.print()'>Print</a>{PROSE}"),
        "/guide/printing/",
    ),
    "prose of its own": (page(f"{PROSE}<ul>{ENTRIES}</ul>"), "/docs/tags/"),
    "code": (page(f"<pre>tags: [a]</pre><ul>{ENTRIES}</ul>"), "/docs/tags/"),
    "in the sidebar": (
        page(f"<ul>{ENTRIES}</ul>", around="<aside><a href='/docs/tags/'>Tags</a></aside>"),
        "/docs/tags/",
    ),
    "headings with anchors of their own": (
        page(f"<section><h2>Use<a href='#use'>#</a></h2>{PROSE}</section><ul>{ENTRIES}</ul>"),
        "/docs/tags/",
    ),
    "links that lead out of frames": (
        page("".join(f"<li><a href='{name}.html' target='_top'>{name}</a>" for name in "abc")),
        "/api/list.html",
    ),
    "prose with links to another frame": (
        page(PROSE + "".join(f"<li><a href='{name}.html' target='classFrame'>{name}</a>" for name in "abc")),
        "/api/overview.html",
    ),
    "no entry at all": (page("<p>No page has this tag.</p>"), "/docs/tags/none"),
    "a section called tag": (page(f"{PROSE}"), "/guide/tag/format"),
    "a chapter with a number": (page(PROSE), "/book/page/2"),
    "a class that is not MediaWiki's": (page(f"<ul>{ENTRIES}</ul>", body_class="ns-14"), "/x"),
    "a category that Docusaurus generates, in the sidebar": (
        page(
            f"<ul>{ENTRIES}</ul>",
            "docs-wrapper category-page",
            around="<nav><a href='/docs/category/a'>A</a></nav>",
        ),
        "/docs/category/a",
    ),
}


@pytest.mark.parametrize(("body", "path"), LISTED.values(), ids=LISTED)
def test_listings(body, path):
    assert convert(body, f"https://example.com{path}", None).meta.listing


def test_navigation_that_pages_load_is_a_listing():
    page = convert(LOADED, "https://example.com/api/toc.html", None)
    assert (page.meta.listing, page.follow) == (
        "links without a title or heading, which other pages load",
        ["https://example.com/api/a.html"],
    )


@pytest.mark.parametrize(("body", "path"), LISTED.values(), ids=LISTED)
def test_listings_are_not_converted_where_nobody_wants_them(body, path):
    whole = convert(body, f"https://example.com{path}", None)
    links = convert(body, f"https://example.com{path}", None, with_listings=False)
    assert (links.markdown, links.links) == ("", [])
    assert whole.markdown
    assert (links.follow, links.meta.listing, links.meta.tags, links.converter) == (
        whole.follow,
        whole.meta.listing,
        whole.meta.tags,
        whole.converter,
    )


def test_a_listing_that_is_drawn_by_scripts_is_converted():
    body = page("<p>Wait.</p><div id='app'></div><script src='/app.js'></script>", "blog-archive-page")
    read = convert(body, "https://example.com/x", None, with_listings=False)
    assert (read.meta.is_shell, read.meta.listing) == (True, "the archive of the blog (Docusaurus)")
    assert "Wait." in read.markdown


@pytest.mark.parametrize(("body", "path"), KEPT.values(), ids=KEPT)
def test_pages_of_their_own_are_converted(body, path):
    whole = convert(body, f"https://example.com{path}", None)
    assert convert(body, f"https://example.com{path}", None, with_listings=False) == whole
    assert whole.markdown


@pytest.mark.parametrize(("body", "path"), KEPT.values(), ids=KEPT)
def test_pages_of_their_own(body, path):
    assert convert(body, f"https://example.com{path}", None).meta.listing is None


def test_tags_that_a_page_names():
    body = page("<p>Text. <a rel='tag nofollow' href='/t/a#x'>a</a> <a rel='tagged' href='/b'>b</a></p>")
    assert convert(body, "https://example.com/x", None).meta.tags == ["https://example.com/t/a"]
