"""The whole conversion of one page: links, metadata, content, engines, bad input."""

# ruff: noqa: SIM905 (a case is one line)

from __future__ import annotations

import pickle

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.content import extraction
from llmsspider.content.extraction import convert, read_metadata
from llmsspider.content.markdown import read
from llmsspider.items import Link
from llmsspider.web import loading
from llmsspider.web.text import valid_text

URL = "https://docs.example.org/guide/page.html"


def html(body: str, head: str = "", lang: str = "en") -> bytes:
    return (
        f'<!DOCTYPE html><html lang="{lang}"><head>{head}</head><body>{body}</body></html>'.encode()
    )


HREFS = {
    "absolute": ("https://other.org/a?b=1#c", "https://other.org/a?b=1"),
    "beside": ("next.html", "https://docs.example.org/guide/next.html"),
    "below": ("a/b/", "https://docs.example.org/guide/a/b/"),
    "dot": ("./next.html", "https://docs.example.org/guide/next.html"),
    "up": ("../api/x.html#y", "https://docs.example.org/api/x.html"),
    "up past the root": ("../../../x", "https://docs.example.org/x"),
    "only up": ("..", "https://docs.example.org/"),
    "root": ("/top", "https://docs.example.org/top"),
    "no scheme": ("//cdn.example.org/x", "https://cdn.example.org/x"),
    "query": ("?page=2", "https://docs.example.org/guide/page.html?page=2"),
    "dots inside": ("/a/../b", "https://docs.example.org/b"),
    "white space": (" next.html\n", "https://docs.example.org/guide/next.html"),
    "space inside": ("a b.html", "https://docs.example.org/guide/a%20b.html"),
    "colon in a name": ("./a:b", "https://docs.example.org/guide/a:b"),
}


@pytest.mark.parametrize(("href", "expected"), HREFS.values(), ids=HREFS)
def test_follow_joins(href, expected):
    assert read_metadata(html(f'<a href="{href}">x</a>'), URL, None).follow == [expected]


@pytest.mark.parametrize(
    "href", ["#part", "mailto:a@b.c", "javascript:void(0)", "tel:1", "ftp://x/y", "", "http://[bad"]
)
def test_follow_leaves_out_what_is_no_page(href):
    assert [
        url
        for url in read_metadata(html(f'<a href="{href}">x</a>'), URL, None).follow
        if "bad" not in url
    ] in (
        [],
        [URL],
    )


def test_follow_has_each_page_once_in_order_and_areas_too():
    body = '<nav><a href="/b#1"></a></nav><a href="/a"></a><a href="/b#2"></a><map><area href="/c"></map>'
    found = read_metadata(html(body), URL, None).follow
    assert found == [f"https://docs.example.org/{name}" for name in "bac"]


def test_base_href_is_honoured():
    page = convert(html('<main><p><a href="x">t</a></p></main>', '<base href="/v2/">'), URL, None)
    assert page.follow == ["https://docs.example.org/v2/x"]
    assert page.markdown == "[t](https://docs.example.org/v2/x)\n"


def test_links_are_those_of_the_content_with_fragments():
    page = convert(
        html(
            '<nav><a href="/n">n</a></nav><main><h1>T</h1><p><a href="x#y"> a <code>b</code></a></p></main>'
        ),
        URL,
        None,
    )
    assert page.links == [Link("a b", "https://docs.example.org/guide/x#y")]
    assert page.follow == ["https://docs.example.org/n", "https://docs.example.org/guide/x"]


TITLED = {
    "outside of the content": ("Widgets - Site", "<h1>Widgets</h1><div id='content'><p>T</p></div>", "# Widgets\n\nT\n"),
    "beside headings of sections": (
        "Widgets", "<h1>Widgets</h1><div id='content'><h1>Use</h1><p>T</p></div>", "# Widgets\n\n# Use\n\nT\n"),
    "the name of the site": ("Site: Use", "<h1>Site</h1><div id='content'><h1>Use</h1><p>T</p></div>", "# Use\n\nT\n"),
    "something else": ("Widgets", "<h1>Welcome</h1><div id='content'><p>T</p></div>", "T\n"),
}  # fmt: skip


@pytest.mark.parametrize(("title", "body", "expected"), TITLED.values(), ids=TITLED)
def test_a_title_that_stands_outside_of_the_content_is_kept(title, body, expected):
    text = "a paragraph with enough words to be what this page is about. " * 5
    page = convert(html(body.replace("T<", text + "<"), f"<title>{title}</title>"), URL, None)
    assert page.markdown == expected.replace("T\n", text.strip() + "\n")


def test_what_stands_beside_the_largest_section_is_content_too():
    long = "<p>much to read about widgets and what they do</p>" * 40
    intro = "<div><p>What this module is for, in one sentence of its own.</p></div>"
    page = convert(html(f"<div id='content'>{intro}<div>{long}</div></div>"), URL, None)
    assert page.markdown.startswith("What this module is for")


def test_the_search_page_of_sphinx_holds_no_text():
    head = "<title>Search</title><script src='_static/documentation_options.js'></script>"
    form = (
        "<h1>Search</h1><p>Please activate JavaScript to search.</p><div id='search-results'></div>"
    )
    page = convert(html(f"<div class='body' role='main'>{form}</div>", head), URL, None)
    assert (page.markdown, page.meta.title) == ("", "Search")


def test_a_page_of_sphinx_that_can_be_searched_from_everywhere_keeps_its_text():
    head = "<script src='_static/documentation_options.js'></script><script src='_static/searchtools.js'></script>"
    dialog = "<dialog><form></form><div id='search-results'></div></dialog>"
    body = f"{dialog}<div role='main'><h1>Mills</h1><p>Grind.</p></div>"
    assert convert(html(body, head), URL, None).markdown == "# Mills\n\nGrind.\n"


def test_metadata():
    head = """<title>Install | Widget</title><meta name="description" content=" How to  install ">
    <link rel="canonical" href="/guide/"><link rel="alternate" type="text/markdown; charset=utf-8" href="page.md">
    <link rel="describedby" href="/llms.txt"><link rel="alternate" hreflang="de" href="/de/guide/">
    <meta name="robots" content="noindex, NoAI"><meta name="generator" content="Gen 1">
    <meta http-equiv="refresh" content="0; url='new.html'">"""
    meta = read_metadata(html("<p>x</p>", head, "fr"), URL, None).meta
    assert (meta.title, meta.description, meta.language) == ("Install", "How to install", "fr")
    assert meta.canonical == "https://docs.example.org/guide/"
    assert meta.markdown_alternate == "https://docs.example.org/guide/page.md"
    assert meta.describedby == "https://docs.example.org/llms.txt"
    assert meta.hreflang == {"de": "https://docs.example.org/de/guide/"}
    assert meta.robots == {"noindex", "noai"}
    assert meta.generator == "Gen 1"
    assert meta.refresh == "https://docs.example.org/guide/new.html"


TITLES = {
    "first heading of the content": ("<title>A | Site</title>", "<h1>Site</h1><main><h1>Page <a href='#x'>¶</a></h1><p>And its text.</p></main>", "Page"),
    "heading with code": ("", "<main><h1>The <code>x_y</code> call</h1></main>", "The x_y call"),
    "heading with a sign of its own": ("", "<main><h1>Numbers in C#</h1></main>", "Numbers in C#"),
    "that and a permalink": ("", "<main><h1>Numbers in C#<a href='#x'>#</a></h1></main>", "Numbers in C#"),
    "permalinks around": ("", "<main><h1><a href='#x'>#</a> Page #</h1></main>", "Page"),
    "title without the site": ("<title>Page — Site docs</title>", "<main><p>x</p></main>", "Page"),
    "site named by the page": (
        "<title>Site: a - b</title><meta property='og:site_name' content='Site'>", "<main><p>x</p></main>", "a - b"
    ),
    "title alone": ("<title>Page</title>", "<p>x</p>", "Page"),
    "nothing": ("", "<p>x</p>", None),
}  # fmt: skip


@pytest.mark.parametrize(("head", "body", "expected"), TITLES.values(), ids=TITLES)
def test_title(head, body, expected):
    assert convert(html(body, head), URL, None).meta.title == expected


WITHOUT_SCRIPTS = {
    "a stub": (
        "Leads to <a href='latest/'>latest/</a>...",
        "https://docs.example.org/guide/latest/",
    ),
    "no link": ("<div id='app'></div>", None),
    "another link, too": (
        "Leads to <a href='latest/'>latest/</a>, or <a href='old/'>old/</a>",
        None,
    ),
    "text of its own": (f"<p>{'All there is to say. ' * 20}<a href='latest/'>Go on</a></p>", None),
}


@pytest.mark.parametrize(("body", "expected"), WITHOUT_SCRIPTS.values(), ids=WITHOUT_SCRIPTS)
def test_where_a_page_leads_browsers_without_scripts(body, expected):
    head = "<noscript><meta http-equiv='refresh' content='1; url=latest/'></noscript><script>go('latest/')</script>"
    assert read_metadata(html(body, head), URL, None).meta.refresh == expected


LATEST = "https://docs.example.org/guide/latest/#here"
LINK = "<p>Moved to <a href='latest/#here'>its new place</a>.</p>"
LEADING = {
    "a script and its link": ("<script>window.location.href='latest/#here'+location.search</script>", LINK, LATEST),
    "a script alone": ("<script>location.replace('latest/#here')</script>", "<p>Moved.</p>", LATEST),
    "an address to which something is added": ("<script>location='latest/' + version</script>", "", None),
    "a script that chooses": ("<script>if (de) location='de/'; else location = 'en/'</script>", "", None),
    "a script that compares": ("<script>if (location.href == 'latest/') go()</script>", "", None),
    "the script of an application": (
        "<script>if (!user) location = '/login'</script><script src='app.js'></script>", "<div id='app'></div>", None
    ),
    "its canonical address": ("<link rel='canonical' href='latest/'>", LINK, "https://docs.example.org/guide/latest/"),
    "a canonical address without a link": ("<link rel='canonical' href='latest/'>", "<p>Moved.</p>", None),
    "another link": ("<link rel='canonical' href='latest/'>", f"{LINK}<a href='old/'>Old</a>", None),
    "text of its own": ("<link rel='canonical' href='latest/'>", f"{LINK}<p>{'All there is to say. ' * 20}</p>", None),
}  # fmt: skip


@pytest.mark.parametrize(("head", "body", "expected"), LEADING.values(), ids=LEADING)
def test_where_a_page_without_text_leads(head, body, expected):
    assert read_metadata(html(body, head), URL, None).meta.refresh == expected


@pytest.mark.parametrize("name", ["property", "name"])
def test_navigation_that_docfx_loads_is_followed(name):
    head = f"<meta {name}='docfx:navrel' content='../toc.html'><meta {name}='docfx:tocrel' content='toc.html'>"
    follow = read_metadata(html("<a href='a.html'>A</a>", head), URL, None).follow
    assert [url.removeprefix("https://docs.example.org") for url in follow] == [
        "/guide/a.html",
        "/toc.html",
        "/guide/toc.html",
    ]


@pytest.mark.parametrize(
    ("script", "pages"),
    [
        ("dist/sidebar_items-E8.js", ["/guide/index.html"]),
        ("../menudata.js", ["/index.html", "/annotated.html", "/files.html"]),
    ],
    ids=["ExDoc", "Doxygen"],
)
def test_a_menu_that_a_script_holds_is_entered_beside_it_from_any_page(script, pages):
    head = f"<script src='jquery.js'></script><script defer src='{script}'></script>"
    follow = read_metadata(html("<a href='#summary'>Summary</a>", head), URL, None).follow
    assert follow == [f"https://docs.example.org{page}" for page in pages]


REFRESHES = {
    "seconds only": ("5", None),
    "url": ("0;url=/x", "https://docs.example.org/x"),
    "no url=": ("0; /x", "https://docs.example.org/x"),
    "fractions": (".5;url=/x", "https://docs.example.org/x"),
    "when the session ends": ("1800;url=/x", None),
}


@pytest.mark.parametrize(("content", "expected"), REFRESHES.values(), ids=REFRESHES)
def test_meta_refresh(content, expected):
    assert (
        read_metadata(
            html("", f'<meta http-equiv="Refresh" content="{content}">'), URL, None
        ).meta.refresh
        == expected
    )


SHELLS = {
    "react": ('<div id="root"></div><script src="a.js"></script>', True),
    "loading text": ('<div id="app">Loading…</div><noscript>Enable JavaScript</noscript><script type="module" src="a.js"></script>', True),
    "text without scripts": ("<p>short</p>", False),
    "short real page with scripts": ("<main><h1>Gone</h1><p>This page was moved to the new manual.</p></main><script src='a.js'></script>", False),
    "a frame": ("<main><h1>Report</h1><p>Was this page helpful? Thanks for your answer!</p><iframe src='report.html'></iframe></main><script src='a.js'></script>", True),
    "a video": ("<main><h1>Report</h1><p>Was this page helpful? Thanks for your answer!</p><iframe src='https://example.com/v'></iframe></main><script src='a.js'></script>", False),
    "a text in a frame": ("<nav>Home</nav><main><iframe srcdoc='<p>Text</p>'></iframe></main>", True),
    "rendered": (f"<div id='root'><p>{'word ' * 60}</p></div><script src='a.js'></script>", False),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), SHELLS.values(), ids=SHELLS)
def test_empty_shells(body, expected):
    assert read_metadata(html(body), URL, None).meta.is_shell is expected


ENCODINGS = {
    "header": ("<p>caf\xe9</p>".encode("latin-1"), "iso-8859-1"),
    "meta": ('<meta charset="iso-8859-15"><p>caf\xe9</p>'.encode("iso-8859-15"), None),
    "bom wins": ("\ufeff<p>café</p>".encode(), "latin-1"),
    "utf-16": ("\ufeff<p>café</p>".encode("utf-16-le"), None),
    "undeclared utf-8": ("<p>café</p>".encode(), None),
    "undeclared windows-1252": ("<p>caf\xe9</p>".encode("cp1252"), None),
    "unknown name": ("<p>café</p>".encode(), "no-such-charset"),
}


@pytest.mark.parametrize(("body", "encoding"), ENCODINGS.values(), ids=ENCODINGS)
def test_encodings(body, encoding):
    assert convert(body, URL, encoding).markdown == "café\n"


BAD = {
    "empty": b"",
    "white space": b"  \n",
    "not html": b"\x00\x01\xff\xfe%PDF",
    "unclosed": b"<main><ul><li><p>a<table><tr><td>b<pre>",
    "processing instruction": b'<?xml version="1.0"?><html><body><?php echo 1 ?><p>x</p></body></html>',
    "deep": b"<div>" * 3000 + b"x" + b"</div>" * 3000,
    "deep inline": b"<main>" + b"<span><b>" * 400 + b"x",
    "deep lists": b"<main>" + b"<ul><li>" * 400 + b"x",
    "huge span": b"<table><tr><td colspan=99999999 rowspan=-4>x</td></tr></table>",
    "odd attributes": b"<a href>x</a><img><ol start=x><li value=>a</ol><meta http-equiv=refresh>",
}


@pytest.mark.parametrize("converter", loading.NAMES)
@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_bad_html_never_raises(body, converter):
    page = convert(body, URL, None, converter)
    assert page.markdown == "" or page.markdown.endswith("\n")


@examples(150)
@given(st.lists(st.sampled_from(
    "<p> </p> <div> </div> <ul> <ol> <li> </ul> <table> <tr> <td> </table> <pre> <code> </pre> <a&nbsp;href=x> </a> <h2> <dl> <dt> <dd> "
    "<b> <i> <sup> <details> <summary> <blockquote> <div&nbsp;class=admonition> <math> <img&nbsp;src=y> text *a* _b_ `c` # 1. | [d](e) &lt;".split()
), max_size=40))  # fmt: skip
def test_any_nesting_converts(parts):
    body = "<main>" + " ".join(parts).replace("&nbsp;", " ") + "</main>"
    page = convert(body.encode(), URL, None)
    assert page.converter == "native"
    assert "\n\n\n" not in page.markdown.split("```", maxsplit=1)[0]


def test_unknown_converter_is_refused():
    with pytest.raises(ValueError, match="native, markdownify"):
        convert(b"<p>x</p>", URL, None, "pandoc")


@pytest.mark.parametrize("converter", loading.NAMES)
def test_page_crosses_a_process_border(converter):
    page = convert(
        html("<main><h1>T</h1><p>a <b>b</b></p><pre>x</pre></main>"), URL, None, converter
    )
    assert pickle.loads(pickle.dumps(page)) == page
    assert page.markdown == "# T\n\na **b**\n\n```\nx\n```\n"
    assert page.converter == converter


def test_a_class_of_the_users_writes_the_markdown():
    page = convert(
        html("<main><h1>T</h1><p>a <b>b</b></p></main>"), URL, None, "own_classes.Shouting"
    )
    assert (page.converter, page.markdown) == (
        "own_classes.Shouting",
        "<H1>T</H1>\n<P>A <STRONG>B</STRONG></P>\n",
    )


@pytest.mark.parametrize("converter", ["own_classes.Missing", "own_classes.Failing"])
def test_markdownify_takes_over_where_the_users_class_fails(converter):
    page = convert(html("<main><h1>T</h1></main>"), URL, None, converter)
    assert (page.converter, page.markdown) == ("markdownify", "# T\n")


def test_markdownify_takes_over_where_the_engine_fails_on_a_page(monkeypatch):
    def fail(*_):
        raise RecursionError

    monkeypatch.setattr(extraction.MarkdownFormat, "heading", fail)
    page = convert(html('<main><h1>T</h1><p><a href="x">y</a></p></main>'), URL, None)
    assert (page.converter, page.markdown) == (
        "markdownify",
        "# T\n\n[y](https://docs.example.org/guide/x)\n",
    )
    assert [link.text for link in page.links] == ["y"]


_TAGS = (
    "main article div section p h1 h2 ul ol li table thead tr th td pre code a b i em span sup kbd dl dt dd details summary "
    "blockquote figure img br hr math script style svg template select iframe textarea title head body base aside nav"
).split()
_ATTRIBUTES = (
    *(
        "",
        " href='/x'",
        " href='a b'",
        " href='javascript:x'",
        " src=y alt='[z]'",
        " class='highlight language-py'",
    ),
    *(
        " class='admonition note'",
        " colspan=0",
        " colspan=99999999",
        " rowspan=-1",
        " start=x",
        " id='a b'",
        " role=tab",
        " hidden",
    ),
)
_pieces = (
    st.builds("<{}{}>".format, st.sampled_from(_TAGS), st.sampled_from(_ATTRIBUTES))
    | st.sampled_from(_TAGS).map("</{}>".format)
    | st.sampled_from(
        [
            "text",
            " ",
            "\n",
            "*a*",
            "# b",
            "1. ",
            "- ",
            "|",
            "`",
            "```",
            "&lt;b>",
            "&#0;",
            "&#x10FFFF;",
            "\x0c",
            "é",
            "<!--",
            "-->",
            "<![CDATA[",
            "<?x",
        ]
    )
    | st.text(max_size=6)
)
_html = st.lists(_pieces, max_size=40).map("".join)


@examples(300)
@given(_html, st.sampled_from([None, "utf-8", "latin-1", "utf-16", "no-such-encoding"]))
def test_any_html_converts_and_its_markdown_is_read_as_it_is(text, encoding):
    page = convert(text.encode("utf-8", "replace"), URL, encoding)
    assert page.converter == "native"
    assert page.markdown == "" or (page.markdown.endswith("\n") and page.markdown.strip())
    assert pickle.loads(pickle.dumps(page)) == page
    assert all(url.startswith(("http://", "https://")) for url in page.follow)
    assert convert(text.encode("utf-8", "replace"), URL, encoding) == page
    shown = valid_text(f"# T\n\n{page.markdown}").rstrip("\n") + "\n"
    assert read(shown, URL).markdown == shown


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "utf-16", "utf-7", "big5", "\x00"]))
def test_any_bytes_convert(body, encoding):
    assert convert(body, URL, encoding) == convert(body, URL, encoding)
    read_metadata(body, URL, encoding)


@examples(50)
@given(_html, st.sampled_from([name for name in loading.NAMES if name != loading.DEFAULT]))
def test_any_html_converts_with_the_other_engines(text, converter):
    page = convert(text.encode("utf-8", "replace"), URL, "utf-8", converter)
    assert page.converter in {converter, loading.FALLBACK}
