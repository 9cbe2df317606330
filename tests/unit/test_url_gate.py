"""The gate for URLs from outside: what passes can be used everywhere, what does not is told without its secrets."""

from __future__ import annotations

import io
import re

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.python import to_bytes
from twisted.web.client import URI

from llmsspider.config.arguments import DocsArguments
from llmsspider.content.links import Joiner, _in_directory
from llmsspider.crawler.bounds import Bounds, trap_reason, without_session_id
from llmsspider.crawler.pages import with_valid_urls
from llmsspider.crawler.records import title_from_url
from llmsspider.crawler.settle import same_page_elsewhere
from llmsspider.crawler.shapes import LookAlikes
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.items import Page, PageMeta
from llmsspider.output.mirror_files import safe_name
from llmsspider.site import llmstxt, llmstxt_parser, sitemaps
from llmsspider.site.llmsfull_rules import Locator
from llmsspider.site.llmstxt_links import absolute_url
from llmsspider.web import page_forms
from llmsspider.web.addresses import AllowedAddresses, hostname, same_site
from llmsspider.web.credentials import Credentials
from llmsspider.web.page_forms import (
    FORMS,
    extension,
    is_markdown_url,
    is_twin_of,
    page_candidates,
    shape,
    skipped_extension,
    twin,
)
from llmsspider.web.rights import of_llms_txt, of_robots
from llmsspider.web.scope import build_scope
from llmsspider.web.trees import directory_above, tree_of
from llmsspider.web.urls import (
    InvalidUrl,
    directory,
    document_id,
    fault,
    host,
    identity,
    loose_key,
    page_key,
    parse,
    printable_url,
    redacted,
)

MALFORMED = {
    "word for a port": "http://localhost:PORT/",
    "word for a port behind a host": "https://api.example.com:port/v1",
    "template": "http://{host}:{port}/",
    "port too large": "http://example.com:65536/",
    "negative port": "http://example.com:-1/",
    "port in other digits": "http://example.com:８０/",
    "open bracket": "http://[::1/",
    "closed bracket": "http://::1]/",
    "brackets with a name": "http://[example.com]/",
    "text behind brackets": "http://[::1]x/",
    "empty brackets": "http://[]/",
    "lone surrogate in the path": "http://example.com/\ud800",
    "lone surrogate in the host": "http://\udfff.example.com/",
    "control character in the host": "http://exa\x1bmple.com/",
    "encoded control character in the host": "http://exa%1bmple.com/",
    "space in the host": "http://example com/",
    "no host": "http:///path",
    "only a scheme": "https://",
    "empty label": "http://example..com/",
    "label too long": f"http://{'a' * 64}.com/",
    "name too long": f"http://{'a.' * 200}com/",
    "character IDNA refuses": "http://a\u2260\u200e.com/",
    "normalises to a slash": "http://example.com\u2100.org/",
    "IPv4 that is none": "http://256.256.256.256/",
    "user and password": "https://me:secret@example.com/",
    "user alone": "https://example.com@127.0.0.1/",
    "one megabyte": "https://example.com/" + "a" * 1_000_000,
    "one megabyte of host": "https://" + "a" * 1_000_000 + ".com/",
}


@pytest.mark.parametrize("href", MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused_with_a_reason(href):
    found = parse(href, "https://example.com/docs/")
    assert isinstance(found, InvalidUrl)
    assert found.why
    assert "secret" not in found.display + found.url
    assert found.display.isprintable()
    assert len(found.display) <= 201
    assert isinstance(parse(found.url), InvalidUrl)  # as it is kept, it stays invalid


PASSED = {
    "plain": ("https://example.com/a", "https://example.com/a"),
    "port": ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
    "empty port": ("http://example.com:/", "http://example.com:/"),
    "IPv6": ("http://[2001:db8::1]:80/", "http://[2001:db8::1]:80/"),
    "fragment": ("b#part", "https://example.com/docs/b"),
    "relative": ("../a?b=c", "https://example.com/a?b=c"),
    "white space around and inside": (" /a\n b\t", "https://example.com/a%20b"),
    "control characters in the path": ("/a\x1b[31mb\x00c", "https://example.com/a%1B[31mb%00c"),
    "international host": ("https://münchen.example/ä", "https://münchen.example/ä"),
    "brackets in the path": ("/a[0]?x[]=1", "https://example.com/a[0]?x[]=1"),
    "@ in the path": ("/@scope/package", "https://example.com/@scope/package"),
    "PORT in the path": ("/localhost:PORT/", "https://example.com/localhost:PORT/"),
}


@pytest.mark.parametrize(("href", "url"), PASSED.values(), ids=PASSED)
def test_what_is_a_url_passes(href, url):
    assert parse(href, "https://example.com/docs/") == url
    assert parse(url) == url


@pytest.mark.parametrize(
    "href", ["", "  ", "mailto:me@example.com", "javascript:void(0)", "data:,x" * 9999]
)
def test_what_names_no_web_page_is_no_fault(href):
    assert parse(href, "https://example.com/") is None


def test_a_password_with_a_slash_is_not_told():
    found = parse("https://me:se/cret@example.com/")
    assert isinstance(found, InvalidUrl)
    assert "cret" not in found.url


def test_texts_are_told_without_user_names_and_passwords():
    text = "GET https://me:secret@example.com/a failed, http://u@h/ too; mail a@b.com"
    assert redacted(text) == "GET https://***@example.com/a failed, http://***@h/ too; mail a@b.com"
    assert printable_url("http://h/\x1b[2J") == "http://h/%1B[2J"


# --- nothing past the gate raises for the form of a URL ---

_hosts = st.one_of(
    st.text(max_size=12),
    st.text("ab-._:@[]%0189xn", max_size=16),
    st.sampled_from(
        [
            "localhost",
            "127.0.0.1",
            "[::1]",
            "[fe80::1%25eth0]",
            "xn--",
            "xn--a-.com",
            "0x7f.1",
            "ß.de",
        ]
    ),
)
_ports = st.sampled_from(["", ":", ":80", ":443", ":8000", ":PORT", ":99999", ":-1", ":٣", ":80x"])
_tails = st.one_of(
    st.text(max_size=30),
    st.text("/.?#&=;%[]():\\ ab.md0\x00\x1b\ud800é", max_size=30),
    st.sampled_from(
        ["/" + "a/" * 900, "/?" + "a=b&" * 900, "/a.md", "/_sources/a.rst.txt", "/llms.txt"]
    ),
)
_urls = st.builds(
    lambda scheme, host, port, tail: f"{scheme}://{host}{port}{tail}",
    st.sampled_from(["http", "https", "HTTP"]),
    _hosts,
    _ports,
    _tails,
)
_hrefs = st.one_of(_urls, st.text(max_size=40), st.sampled_from(sorted(MALFORMED.values())), _tails)
BASE = "https://example.com/docs/"


def _bounds(url: str) -> Bounds:
    arguments = DocsArguments.model_validate({"url": "https://example.com/"})
    no = lambda _url: False  # noqa: E731
    bounds = Bounds(arguments, SiteKnowledge(), requested=no, is_read=no)
    bounds.scope = build_scope("auto", BASE, None, [url])
    return bounds


def use(url: str) -> None:
    """Do to a URL what a crawl does to it."""
    request = Request(url)
    parts = urlparse_cached(request)
    _ = parts.hostname, parts.port
    URI.fromBytes(to_bytes(request.url, encoding="ascii"))
    for known in (url, request.url):
        assert host(known)
        assert identity(identity(known)) == identity(known)
        (
            loose_key(known),
            page_key(known),
            document_id("s", known),
            directory(known),
            hostname(known),
        )
        same_site(known, BASE)
        _bounds(known).refusal(known, listed=True), _bounds(known).trap(known)
        LookAlikes(1).admits(known), trap_reason(known), without_session_id(known)
        extension(known), skipped_extension(known, listed=False), llmstxt.is_llms_url(known)
        (
            is_markdown_url(known),
            shape(known),
            is_twin_of(known, BASE),
            same_page_elsewhere(known, BASE),
        )
        for form in FORMS.get(shape(known), ()):
            assert fault(twin(known, form) or BASE) is None
        for page in page_candidates(known).values():
            assert fault(page) is None
        SiteKnowledge().page_of(known)
        tree_of(known), directory_above(known, ["language", "version"]), title_from_url(known)
        (safe_name(known, "example.com"),)
        (
            Credentials().headers_for(known),
            of_robots("User-agent: *\nLicense: /l", "x", known),
            of_llms_txt("License: https://e.com", known),
        )
        Joiner(known, "../x").join("b"), llmstxt.directory_url(known), Locator(known, {known: "t"})
        assert not str(AllowedAddresses(everything=True).refusal(known) or "").startswith(
            "not a usable URL"
        )


@examples(1500)
@given(_hrefs)
def test_nothing_past_the_gate_raises_for_the_form_of_a_url(href):
    found = parse(href, BASE)
    if isinstance(found, str):
        assert parse(found) == found
        use(found)
    else:
        assert identity(href) is not None
        assert host(href) is not None  # outside the gate they answer too


@examples(300)
@given(_hrefs)
def test_every_reader_of_links_counts_what_it_refuses(href):
    line = re.sub(r"[\r\n<>]", "", href)
    header = page_forms.header_links(f"<{line}>; rel=describedby", BASE)
    assert all(isinstance(link.url, str | InvalidUrl) for link in header)
    absolute_url(href, BASE)
    Locator(BASE, {}).locate(href, "A title")
    Joiner(BASE, href).join(href)
    meta = PageMeta(
        canonical=href,
        refresh=href,
        describedby=href,
        markdown_alternate=href,
        hreflang={"de": href},
    )
    page = with_valid_urls(Page("", [], [], meta), f"<{line}>; rel=alternate", BASE)
    for named in (page.meta.canonical, page.meta.refresh, *page.meta.hreflang.values()):
        assert named is None or fault(named) is None
    if isinstance(parse(href), InvalidUrl):
        assert page.meta.canonical is None
        assert page.follow


@pytest.mark.parametrize("href", [MALFORMED["word for a port"], MALFORMED["open bracket"]])
def test_files_of_a_site_name_what_they_lose(href):
    parsed = llmstxt_parser.parse(
        f"# T\n\n- [a](/a)\n- [b]({href.replace('[', '%5B')})\n- [c](/c)\n", BASE
    )
    assert [entry.url for entry in parsed.entries] == [
        "https://example.com/a",
        "https://example.com/c",
    ]
    assert len(parsed.invalid) == 1
    sitemap = (
        f"<urlset><url><loc>{href}</loc></url><url><loc>https://example.com/a</loc></url></urlset>"
    )
    listed = list(sitemaps.read(io.BytesIO(sitemap.encode()), BASE))
    assert [type(entry) for entry in listed] == [InvalidUrl, sitemaps.SitemapEntry]


HREFS = (
    "b.html", "b.html#x:y", "../c/", "./", ".", "..", "/", "/a", "//other.example/x", "#x", "", "?q=1", " ?q", ";p",
    "http:", "http:?q", "http:x", "h\nttp:", "https://e.com/a/../b", "mailto:a@b", "a:b", "x:1", "é", " b", "b ", "b\n",
    "~", "[", "http://[", "x" * 300,
)  # fmt: skip


@given(
    st.permutations(HREFS),
    st.sampled_from(["", "../z/", "https://other.example/d/f"]),
    st.sampled_from(["https://e.com/d/", "https://e.com/", "https://e.com"]),
)
def test_what_is_remembered_of_a_directory_holds_for_each_of_its_pages(hrefs, base, folder):
    names = (
        ("one.html", "two", "", "one.html?q=2", "three;p")
        if folder.endswith("/")
        else ("", "/", "/a", "?q")
    )
    pages = [folder + name for name in names]
    for page in pages:
        alone = {}
        for href in HREFS:
            _in_directory.cache_clear()
            alone[href] = Joiner(page, base).join(href)
        for other in pages:
            for href in hrefs:
                Joiner(other, base).join(href)
        assert {href: Joiner(page, base).join(href) for href in HREFS} == alone
