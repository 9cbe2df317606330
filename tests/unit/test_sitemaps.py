from __future__ import annotations

import gzip
import io
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.site import sitemaps
from llmsspider.site.sitemaps import (
    MAX_ENTRY_ELEMENTS,
    SitemapCutError,
    SitemapEntry,
    SitemapError,
)

URL = "https://example.com/sitemap.xml"
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def read(body: str | bytes) -> list[SitemapEntry]:
    return list(sitemaps.read(io.BytesIO(body.encode() if isinstance(body, str) else body), URL))


def urlset(inner: str, *, head: str = '<?xml version="1.0" encoding="UTF-8"?>') -> str:
    return f'{head}\n<urlset xmlns="{NS}">{inner}</urlset>'


A = SitemapEntry("https://example.com/a")
FULL = urlset(
    "<url><loc> https://example.com/a?x=1&amp;y=2 </loc><lastmod>2026-08-01</lastmod><changefreq>daily</changefreq>"
    '<image:image xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><image:loc>https://example.com/i.png'
    '</image:loc></image:image><xhtml:link xmlns:xhtml="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="DE" '
    'href="https://example.com/de/a"/></url><url><loc><![CDATA[https://example.com/b?x&y]]></loc></url>'
)
FULL_ENTRIES = [
    SitemapEntry("https://example.com/a?x=1&y=2", "2026-08-01", {"de": "https://example.com/de/a"}),
    SitemapEntry("https://example.com/b?x&y"),
]
BODIES = {
    "as published": FULL.encode(),
    "gzip": gzip.compress(FULL.encode()),
    "byte order mark": b"\xef\xbb\xbf" + FULL.encode(),
    "blank lines first": b"\n\n  " + FULL.encode(),
    "UTF-16": FULL.replace("UTF-8", "UTF-16").encode("utf-16"),
    "bare ampersands": FULL.replace("&amp;", "&").encode(),
    "comments": FULL.replace("<url>", "<!-- one --><url><!-- two -->").encode(),
    "junk behind the end": FULL.encode() + b"\n<p>footer",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_urlset(body: bytes) -> None:
    assert read(body) == FULL_ENTRIES


VARIANTS = {
    "no namespace": "<urlset><url><loc>https://example.com/a</loc></url></urlset>",
    "other namespace": '<urlset xmlns="https://www.google.com/schemas/sitemap/0.84"><url><loc>https://example.com/a</loc></url></urlset>',
    "prefixed": f'<s:urlset xmlns:s="{NS}"><s:url><s:loc>https://example.com/a</s:loc></s:url></s:urlset>',
    "doctype without entities": urlset(
        "<url><loc>https://example.com/a</loc></url>", head="<!DOCTYPE urlset>"
    ),
    "relative": urlset("<url><loc>/a</loc></url>"),
    "fragment": urlset("<url><loc>https://example.com/a#b</loc></url>"),
    "an empty one before": urlset(
        "<url/><url><loc/></url><url><loc>https://example.com/a</loc></url>"
    ),
    "another scheme before": urlset(
        "<url><loc>ftp://example.com/</loc></url><url><loc>https://example.com/a</loc></url>"
    ),
    "text": "https://example.com/a\n",
    "text with byte order mark and junk": "\ufeffhttps://example.com/a\r\n\r\n# comment\n",
}


@pytest.mark.parametrize("body", VARIANTS.values(), ids=VARIANTS)
def test_variants(body: str) -> None:
    assert read(body) == [A]


def read_cut(body: str | bytes) -> list[SitemapEntry]:
    """Read a sitemap that breaks off."""
    entries = sitemaps.read(io.BytesIO(body.encode() if isinstance(body, str) else body), URL)
    found: list[SitemapEntry] = []
    with pytest.raises(SitemapCutError):
        found.extend(entries)
    return found


def test_a_document_that_breaks_off_gives_what_stands_before_and_says_so() -> None:
    whole = urlset("<url><loc>https://example.com/a</loc></url><url><loc>https://example.com/b")
    assert read_cut(whole[: -len("</urlset>")]) == [A]
    assert read_cut(urlset("<url><loc>https://example.com/a</loc></url>")[: -len("</urlset>")]) == [
        A
    ]


@pytest.mark.parametrize("between", [False, True], ids=["in an entry", "between entries"])
def test_an_entry_of_endless_elements_ends_the_reading_and_what_stands_before_is_kept(
    between: bool,
) -> None:
    many = "<image:image/>" * (MAX_ENTRY_ELEMENTS + 1)
    page = "<url><loc>https://example.com/a</loc></url>"

    assert read_cut(urlset(page + (many if between else f"<url>{many}</url>"))) == [A]
    assert len(read(urlset(page * MAX_ENTRY_ELEMENTS))) == MAX_ENTRY_ELEMENTS


def test_index() -> None:
    body = f'<sitemapindex xmlns="{NS}"><sitemap><loc>/one.xml.gz</loc><lastmod>2026</lastmod></sitemap></sitemapindex>'
    assert read(body) == [SitemapEntry("https://example.com/one.xml.gz", "2026", is_sitemap=True)]


BOMB = '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
REFUSED = {
    "entities": (urlset("<url><loc>&b;</loc></url>", head=BOMB).encode(), "declares entities"),
    "entities in UTF-16": (
        (
            '<?xml version="1.0" encoding="UTF-16"?>'
            + urlset("<url><loc>&b;</loc></url>", head=BOMB)
        ).encode("utf-16"),
        "declares entities",
    ),
    "entities far down": (
        urlset("", head=BOMB.replace("[", "[" + "<!-- -->" * 20_000)).encode(),
        "declares entities",
    ),
    "external entity": (
        urlset(
            "<url><loc>&x;</loc></url>",
            head='<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        ).encode(),
        "declares entities",
    ),
    "html": (b"<!doctype html><html><body>no</body></html>", "not XML"),
    "html without doctype": (b"<html><body>no</body></html>", "an HTML page"),
    "empty": (b"", "empty"),
    "blank": (b" \n", "empty"),
    "prose": (b"Not found", "no list of URLs"),
    "one endless line": (b"a" * 300_000, "no list of URLs"),
    "no tag ever": (b"<" + b"a" * 3_000_000, "no sitemap"),
    "broken gzip": (b"\x1f\x8b" + b"x" * 50, "broken gzip"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(body: bytes, reason: str) -> None:
    with pytest.raises(SitemapError, match=reason):
        read(body)


def test_decompression_is_bounded() -> None:
    body = gzip.compress(b"<urlset>" + b"<!-- x -->" * 10_000_000)
    assert len(body) < 1_000_000
    with pytest.raises(SitemapError, match="larger than 64 MB"):
        read(body)


def test_a_truncated_gzip_gives_what_it_has() -> None:
    entries = "".join(f"<url><loc>https://example.com/{n}</loc></url>" for n in range(20_000))
    found = read_cut(gzip.compress(urlset(entries).encode())[:-1000])
    assert 100 < len(found) < 20_000
    assert found[0] == SitemapEntry("https://example.com/0")


def test_a_sitemap_is_read_as_its_entries_are_taken(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("sitemap") / "sitemap.xml"
    with path.open("w") as file:
        file.write(f'<urlset xmlns="{NS}">')
        for n in range(6_000):
            file.write(f"<url><loc>https://example.com/{n}/{'a' * 900}</loc></url>")
        file.write("</urlset>")
    size, count = path.stat().st_size, 6_000
    with path.open("rb") as file:
        ahead = [
            file.tell() - size * number // count
            for number, _ in enumerate(sitemaps.read(file, URL))
        ]
    assert len(ahead) == count
    assert max(ahead) < size / 10


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: urlset(text).encode()))
def test_only_ever_refuses(body: bytes) -> None:
    try:
        for entry in read(body):
            assert entry.url.startswith(("http://", "https://"))
    except SitemapError:
        pass


@given(st.lists(st.text("abc/-_.~é&<>\"'", max_size=20), max_size=30))
def test_written_pages_are_read_back(paths: list[str]) -> None:
    urls = [f"https://example.com/{path}" for path in paths]
    body = urlset("".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls))
    assert [entry.url for entry in read(body)] == urls


FEEDS = {
    "RSS 2.0": "<rss version='2.0'><channel><link>/</link><item><link>https://e.com/a</link></item>"
    "<item><title>b</title><link>/b</link></item></channel></rss>",
    "RSS 1.0": "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
    "<channel/><item><link>https://e.com/a</link></item><item><link>/b</link></item></r:RDF>",
    "Atom": "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/'/><entry><link rel='self' href='/x'/>"
    "<link href='https://e.com/a'/></entry><entry><link rel='alternate' href='/b'/></entry></feed>",
    "capitals": "<URLSET><URL><LOC>https://e.com/a</LOC></URL><URL><LOC>/b</LOC></URL></URLSET>",
    "lines": "https://e.com/a\r\nhttps://e.com/b",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("text", FEEDS.values(), ids=FEEDS)
def test_feeds_and_any_unicode_are_read(text, encoding):
    found = sitemaps.read(io.BytesIO(text.encode(encoding)), "https://e.com/sitemap.xml")
    assert [entry.url for entry in found] == ["https://e.com/a", "https://e.com/b"]


def test_addresses_of_a_feed_have_its_base():
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/news/"><entry><link href="one"/></entry>'
        '<entry xml:base="old/"><link href="two"/></entry></feed>'
    )
    assert [entry.url for entry in read(feed)] == [
        "https://example.com/news/one",
        "https://example.com/news/old/two",
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_with_and_without_its_mark(encoding):
    text = urlset(
        "<url><loc>https://example.com/a</loc></url>",
        head='<?xml version="1.0" encoding="utf-16"?>',
    )
    assert read(text.encode(encoding)) == [A]
