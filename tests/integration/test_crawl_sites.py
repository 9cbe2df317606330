"""Whole crawls of small sites: documents, stats and the requests the server saw."""

from __future__ import annotations

import re
import threading

import pytest
from forked import HANGS_SECS
from site_server import TYPES, Reply
from sites import MARKDOWN, PLAIN, html


def test_a_site_without_anything_is_followed_by_links(serve, run_crawl):
    site = serve(PLAIN)
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert outcome.exit_code == 0
    assert set(documents) == set(PLAIN)
    assert {path: documents[path]["depth"] for path in documents} == {
        "/": 0,
        "/guide/intro.html": 1,
        "/guide/more.html": 1,
        "/guide/deep.html": 2,
    }
    intro = documents["/guide/intro.html"]
    assert intro["content"] == "# Intro\n\nHow to begin.\n\n```python\nx = 1\n```\n"
    assert (intro["title"], intro["origin"], intro["change"], intro["language"]) == (
        "Intro",
        "html",
        "new",
        "en",
    )
    assert (intro["status"], intro["mime_type"], intro["discovered_by"]) == (
        200,
        "text/html",
        "link",
    )
    assert "no llms.txt or sitemap, following links" in outcome.lines


def test_at_most_14_discovery_requests_where_there_is_nothing(serve, run_crawl):
    deep = "/a/b/c/d/e/f/g/h/i/j/page.html"
    site = serve({deep: html("Page", "<p>A page far down, with some text.</p>")})
    outcome = run_crawl(site.url + deep)
    assert outcome.exit_code == 0
    discovery = [
        path for path in site.paths() if not path.endswith(".md") and path != "/guide/intro.html"
    ]
    first_page = discovery.index(deep)
    assert first_page <= 2, "the start page comes first, after robots.txt and tdmrep.json"
    assert len([path for path in discovery if re.search("llms|sitemap|robots|tdmrep", path)]) <= 14


def test_listed_pages_come_as_markdown_with_what_the_list_says(serve, run_crawl):
    site = serve(MARKDOWN)
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", "/guide/intro.html", "/guide/more.html"}
    assert {document["origin"] for document in documents.values()} == {"markdown"}
    intro = documents["/guide/intro.html"]
    assert intro["llms"] == {
        "file": f"{site.url}/llms.txt",
        "section": "Guide",
        "title": "The intro",
        "description": "how to begin",
        "order": 0,
        "optional": False,
        "file_title": "Site",
        "file_summary": "What it is.",
        "file_notes": None,
    }
    assert intro["fetched_url"] == f"{site.url}/guide/intro.html.md"
    assert intro["content"] == f"# Intro\n\nHow to begin, [see more]({site.url}/guide/more.html).\n"
    assert (intro["depth"], intro["discovered_by"]) == (0, "llms.txt")
    assert not [path for path in documents if "llms" in path]


def test_pages_that_only_navigation_links_to_are_found_on_a_markdown_site(serve, run_crawl):
    pages = dict(MARKDOWN)
    pages["/guide/intro.html.md"] = "# Intro\n\nNo links here.\n"
    site = serve(pages)
    assert "/guide/more.html" in run_crawl(f"{site.url}/").by_path(site.url)


@pytest.mark.parametrize(("file", "most"), [("//e.com/a.md", 4), ("/p.md", 8)])
def test_a_host_without_markdown_is_asked_for_more_where_a_page_links_to_some(
    serve, run_crawl, file, most
):
    pages = {
        f"/p{number}.html": html(f"Page {number}", f"<p>Text of page {number}.</p>")
        for number in range(30)
    }
    links = "".join(f"<a href='{path}'>x</a>" for path in pages)
    start = html("Home", f"<p>Welcome.</p><a href='{file}'>x</a>{links}")
    site = serve({**pages, "/": start})
    outcome = run_crawl(f"{site.url}/")
    assert len(outcome.documents) == 31
    assert len({path for path in site.paths() if path.endswith(".md")} - {file}) <= most


def test_listed_markdown_that_is_dead_is_asked_once_at_most_and_gives_its_html_page(
    serve, run_crawl
):
    pages = {
        f"/p{number}": html(f"Page {number}", f"<p>Text of page {number}.</p>")
        for number in range(12)
    }
    listing = "# Site\n\n## Pages\n\n" + "".join(f"- [Page]({path}.md)\n" for path in pages)
    links = "".join(f"<a href='{path}'>x</a>" for path in pages)
    site = serve({**pages, "/llms.txt": listing, "/": html("Home", f"<p>Welcome.</p>{links}")})
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", *pages}
    assert all(documents[path]["llms"] for path in pages)
    asked = [path for path in site.paths() if path.endswith(".md")]
    assert all(asked.count(f"{path}.md") <= 1 for path in pages)


def test_a_server_that_negotiates_is_asked_once_for_each_page(serve, run_crawl):
    def page(markdown: str, title: str):
        def answer(seen):
            if seen.headers.get("accept", "").startswith("text/markdown"):
                return Reply(
                    markdown, content_type=TYPES["md"], headers={"x-markdown-tokens": "12"}
                )
            return Reply(html(title, "<p>Text.</p>"), content_type=TYPES["html"])

        return answer

    site = serve(
        {"/": page("# Home\n\n[Next](/next)\n", "Home"), "/next": page("# Next\n\nText.\n", "Next")}
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert {
        path: document["origin"] for path, document in documents.items() if path in {"/", "/next"}
    } == {
        "/": "negotiated",
        "/next": "negotiated",
    }
    assert documents["/next"]["markdown_tokens"] == 12
    guesses = [path for path in site.paths() if path.endswith(".md")]
    assert len(guesses) <= 3, "it was converted on the way: the author may have his"


def test_soft_404_answers_are_neither_llms_txt_nor_markdown_nor_documents(serve, run_crawl):
    site = serve({**PLAIN, "/": html("Home", "<p>Welcome to it.</p><a href='/gone'>gone</a>")})
    site.missing = Reply(
        html("Our product", "<p>Look at all that we have to offer.</p>"), 200, TYPES["html"]
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == set(PLAIN)
    assert outcome.stats["llms/filtered/soft-404"] == 1


def test_a_dead_link_in_llms_txt_costs_that_page_only(serve, run_crawl):
    listing = "# Site\n\n- [Intro](/guide/intro.html)\n- [Dead](/dead.html)\n"
    site = serve({**PLAIN, "/llms.txt": listing})
    outcome = run_crawl(f"{site.url}/")
    assert outcome.exit_code == 0
    assert set(outcome.by_path(site.url)) == set(PLAIN)
    assert outcome.stats["llms/errors/not_found"] == 1


def test_one_page_is_one_document_whatever_its_spellings(serve, run_crawl):
    links = " ".join(
        f"<a href='{href}'>x</a>"
        for href in (
            "/docs/",
            "/docs/index.html",
            "/docs/?utm_source=a",
            "/docs/#top",
            "/DOCS/../docs/",
            "/docs",
        )
    )
    site = serve(
        {
            "/": html("Home", links + "<p>Welcome to the site.</p>"),
            "/docs/": html("Docs", "<p>The documentation.</p>"),
            "/docs": Reply("", 301, headers={"Location": "{base}/docs/"}),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert sorted(outcome.by_path(site.url)) == ["/", "/docs/"]


def test_a_meta_refresh_page_is_a_redirect(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Welcome to it.</p><a href='/old.html'>old</a>"),
            "/old.html": "<html><head><meta http-equiv='refresh' content='0;url=/new.html'></head><body></body></html>",
            "/new.html": html("New", "<p>The new page.</p>"),
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/new.html"}


def test_links_are_followed_within_the_section_and_listed_pages_are_taken_anywhere(
    serve, run_crawl
):
    site = serve(
        {
            "/docs/": html(
                "Docs", "<p>Docs.</p><a href='/blog/post'>post</a><a href='/docs/a'>a</a>"
            ),
            "/docs/a": html("A", "<p>Page A.</p>"),
            "/blog/post": html("Post", "<p>Not documentation.</p>"),
            "/api/ref": html("Ref", "<p>Reference.</p>"),
            "/llms.txt": "# Site\n\n- [Ref](/api/ref)\n",
        }
    )
    outcome = run_crawl(f"{site.url}/docs/")
    assert set(outcome.by_path(site.url)) == {"/docs/", "/docs/a", "/api/ref"}
    assert outcome.stats["llms/filtered/out-of-scope"] >= 1
    assert any("-a scope=host" in line for line in outcome.lines)


@pytest.mark.parametrize("limit", [1, 3])
def test_max_pages_is_exact_and_said(serve, run_crawl, limit):
    site = serve(PLAIN)
    outcome = run_crawl(f"{site.url}/", arguments={"max_pages": limit})
    assert len(outcome.documents) == limit
    assert any("incomplete (max_pages)" in line for line in outcome.lines)


@pytest.mark.parametrize(("depth", "expected"), [(0, 1), (1, 3), (2, 4)])
def test_max_depth_is_exact(serve, run_crawl, depth, expected):
    site = serve(PLAIN)
    assert len(run_crawl(f"{site.url}/", arguments={"max_depth": depth}).documents) == expected


def test_depth_is_the_shortest_way_whatever_answers_first(serve, run_crawl):
    quick_answered = threading.Event()

    def slow(seen):
        quick_answered.wait(HANGS_SECS)
        return html("Slow", "<p>Slow.</p><a href='/target'>t</a>")

    def quick(seen):
        quick_answered.set()
        return html("Q1", "<p>Q1.</p><a href='/quick2'>q</a>")

    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/slow'>s</a><a href='/quick1'>q</a>"),
            "/slow": slow,
            "/quick1": quick,
            "/quick2": html("Q2", "<p>Q2.</p><a href='/target'>t</a>"),
            "/target": html("Target", "<p>Target.</p>"),
        }
    )
    documents = run_crawl(f"{site.url}/", arguments={"max_depth": 2}).by_path(site.url)
    assert documents["/target"]["depth"] == 2


def test_a_worker_pool_gives_the_same_documents(serve, run_crawl):
    site = serve(PLAIN)
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_CONVERT_WORKERS": 2})
    assert set(outcome.by_path(site.url)) == set(PLAIN)


def test_discovery_can_be_switched_off(serve, run_crawl):
    site = serve(MARKDOWN)
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_DISCOVERY_ENABLED": "False"})
    assert outcome.exit_code == 0
    assert "/llms.txt" not in site.paths()
    assert outcome.by_path(site.url)


def test_binaries_are_left_out_by_extension_and_by_header(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/image'>i</a>"),
            "/image": Reply(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/"}
    assert outcome.stats["llms/filtered/unsupported-type"] == 1


PAGES_LIKE_FILES = ["/title/Node.js", "/title/Vue.js", "/ext/manifest.json", "/ext/package.json"]
FILES = [f"/dl/{name}.zip" for name in "abcd"] + ["/dl/notes.txt", "/dl/log.txt"]


@pytest.mark.parametrize("listed", ["", "/sitemap.xml", "/llms.txt"])
def test_pages_named_like_files_are_pages_and_of_files_one_is_asked(serve, run_crawl, listed):
    links = PAGES_LIKE_FILES + FILES
    anchors = "".join(f"<a href='{path}'>x</a>" for path in links)
    pages = {"/": html("Home", f"<p>Home.</p>{'' if listed else anchors}")}
    pages |= {
        path: Reply(html(f"About {path}", f"<p>Text of {path}.</p>"), content_type="text/html")
        for path in PAGES_LIKE_FILES
    }
    pages |= {
        path: Reply(b"# Notes\n\n- [a](b)\n" * 40_000, content_type="text/plain")
        if path.endswith("txt")
        else Reply(b"PK\x03\x04" + bytes(1_000_000), content_type="application/zip")
        for path in FILES
    }
    site = serve(pages)
    rows = "".join(f"- [x]({path})\n" for path in PAGES_LIKE_FILES)
    locations = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in links)
    if listed:
        xml = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"
        site.pages[listed] = xml if listed == "/sitemap.xml" else f"# S\n\n## Docs\n\n{rows}"
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/", *PAGES_LIKE_FILES}
    asked = [path for path in site.paths() if path.startswith("/dl/")]
    if not listed:
        assert len(asked) == 2
        assert outcome.stats["llms/filtered/file-type"] == 4
        assert outcome.stats["llms/filtered/unsupported-type"] == 2
    assert outcome.stats["downloader/response_bytes"] < 300_000
    site.clear()
    again = run_crawl(f"{site.url}/", arguments={"full": "true"} if listed else None)
    assert set(again.by_path(site.url)) == {"/", *PAGES_LIKE_FILES}


def test_every_field_of_a_document_is_written_in_order(serve, run_crawl):
    from dataclasses import fields

    from llmsspider.items import Document

    site = serve(PLAIN)
    document = run_crawl(f"{site.url}/").documents[0]
    assert list(document) == [field.name for field in fields(Document)]
    assert document["id"] and document["run"] and document["seq"] == 1
    assert document["fetched_at"].endswith("+00:00")
