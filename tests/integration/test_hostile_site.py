"""A site made to exhaust the crawl, crawled whole: it ends by itself, with its good pages, in bounded memory."""

from __future__ import annotations

import gzip

import brotli
from crawling import crawl
from site_server import Reply
from sites import html

from llmsspider.items import MAX_LINKS

LINKS = "".join(f"<a href='/many/{index}'>{index}</a>" for index in range(10_000))
FAR_LINKS = "".join(f"<a href='http://e.com/{index}'>x</a>" for index in range(25_000))
WALL = "<html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
TRAPS = [
    "/calendar",
    "/session",
    "/loop",
    "/chain",
    "/bomb",
    "/large",
    "/deep",
    "/line",
    "/charset",
    "/binary",
    "/many",
    "/wall",
    "/links",
]


def pages() -> dict:
    def calendar(seen):
        month = int(seen.path.rpartition("=")[2]) if "=" in seen.path else 1
        return html(
            "Calendar",
            f"<p>Month {month}.</p><a href='/calendar?year=2026&month={month + 1}'>next</a>",
        )

    def session(seen):
        number = len(seen.path)
        return html(
            "Session", f"<p>Hello.</p><a href='/session?sid={'a' * 16}{number}0123456789'>again</a>"
        )

    def chain(seen):
        number = int(seen.path.rpartition("?")[2]) if "?" in seen.path else 0
        return Reply("", 302, headers={"Location": f"/chain?{number + 1}"})

    return {
        "/": html(
            "Home",
            "<p>Welcome.</p>" + "".join(f"<a href='{path}'>x</a>" for path in [*TRAPS, "/good"]),
        ),
        "/good": html("Good", "<p>The page people came for.</p>"),
        "/calendar": calendar,
        "/session": session,
        "/loop": Reply("", 302, headers={"Location": "/loop"}),
        "/chain": chain,
        "/bomb": Reply(
            gzip.compress(b"<p>x</p>" * 10_000_000), headers={"Content-Encoding": "gzip"}
        ),
        "/large": Reply(b"<p>x</p>" * 5_000_000),
        "/deep": "<div>" * 100_000 + "the bottom" + "</div>" * 100_000,
        "/line": html("Line", "<p>" + "word " * 1_000_000 + "</p>"),
        "/charset": Reply(
            "<p>grün</p>".encode("latin-1"), content_type="text/html; charset=utf-16"
        ),
        "/binary": Reply(b"\x7fELF\0\0\1\2" * 1000, content_type="text/html"),
        "/many": html("Many", LINKS),
        "/wall": WALL,
        "/links": Reply(
            brotli.compress(html("Links", FAR_LINKS).encode()), headers={"Content-Encoding": "br"}
        ),
    }


def test_a_hostile_site_ends_by_itself_with_its_good_pages(serve, tmp_path):
    site = serve(pages())
    site.missing = Reply("<html><body><h1>Not found</h1></body></html>", 404)
    outcome = crawl(
        f"{site.url}/",
        tmp_path,
        settings={
            "LLMS_CONVERT_WORKERS": 1,
            "RETRY_TIMES": 0,
            "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.5,
        },
        arguments={"block": "/many/*"},
    )
    documents = outcome.by_path(site.url)
    assert outcome.exit_code == 3, "too many of its pages failed"
    assert {"/", "/good", "/line"} <= set(documents)
    assert not {"/wall", "/binary", "/bomb", "/large", "/loop", "/chain"} & set(documents)
    assert len(documents) < 30
    stats = outcome.stats
    assert stats["llms/errors/challenge"] == 1
    assert stats["llms/errors/blocked"] >= 2
    assert stats["llms/filtered/trap"] >= 1
    assert stats["llms/filtered/block"] == 10_000
    assert MAX_LINKS - 10 < stats["llms/filtered/offsite"] <= MAX_LINKS
    assert len(documents["/links"]["links"]) == MAX_LINKS
    assert f"of {site.url}/links, 20,000 links were followed" in outcome.log
    assert stats["memusage/max"] < stats["memusage/startup"] + 500e6


def test_files_beside_the_pages_that_are_wrong_cost_nothing_but_themselves(serve, run_crawl):
    nested = b'[{"url":"/a","text":"x","more":' + b"[" * 400 + b"]" * 400 + b"}]"
    agents = "".join(f"User-agent: bot{number}\n" for number in range(2000))
    licences = "".join(f"License: https://e.com/{number}\n" for number in range(2000))
    site = serve(
        {
            "/": html(
                "Home",
                "<p>Welcome to the documentation.</p><a href='/a'>a</a><a href='/b.md'>b</a>"
                "<script src='/search.json'></script>",
            ),
            "/a": html("A", "<p>The first page of this documentation.</p>"),
            "/b.md": Reply(
                b'---\ntitle: "half \\ud800 a character"\n---\n\n# B\n\nThe second page.\n',
                content_type="text/markdown",
            ),
            "/robots.txt": agents + licences,
            "/search.json": Reply(nested, content_type="application/json"),
            "/.well-known/tdmrep.json": Reply(b"[" * 100_000, content_type="application/json"),
        }
    )
    done = run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "report.html"})
    documents = done.by_path(site.url)
    assert len(documents) == 3
    assert "half \N{REPLACEMENT CHARACTER} a character" in {
        document["title"] for document in documents.values()
    }
    assert done.exit_code == 0
    assert "Traceback" not in done.log
