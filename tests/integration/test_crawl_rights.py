"""What a site declares of the use of its pages: obeyed, recorded with each document, listed, and shown to agents."""

from __future__ import annotations

import json

import pytest
from site_server import Reply
from sites import html

from llmsspider.answers.library import Library
from llmsspider.answers.mcp import Tools
from llmsspider.store import Stores

ROBOTS = """User-agent: *
Content-Signal: search=yes, ai-train=no
Content-Usage: /closed/ ai=n
License: {base}/rsl.xml
"""
TDMREP = '[{"location": "/mined/", "tdm-reservation": 1, "tdm-policy": "https://e.com/policy"}]'
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
LINKS = "".join(
    f"<a href='{path}'>x</a> " for path in ("/closed/a", "/mined/a", "/no.html", "/by.html")
)
LEFT_OUT = {
    "/closed/a": "Content-Usage in robots.txt: ai=n",
    "/mined/a": "tdmrep.json: tdm-reservation=1 for /mined/",
    "/no.html": "Content-Signal: ai-input=disallow",
}


@pytest.fixture
def site(serve):
    page = html("Page", "<p>A page with enough words to be a page of documentation.</p>")
    return serve(
        {
            "/": html("Home", f"<p>Welcome to the documentation of this thing.</p>{LINKS}"),
            "/robots.txt": ROBOTS,
            "/.well-known/tdmrep.json": TDMREP,
            "/by.html": page.replace("<head>", f"<head><link rel='license' href='{LICENCE}'>"),
            "/no.html": Reply(page, headers={"Content-Signal": "ai-input=disallow"}),
            **{path: page for path in LEFT_OUT if path != "/no.html"},
        }
    )


def test_rights_are_obeyed_recorded_listed_and_shown(site, run_crawl, tmp_path):
    site.etags = True
    report = str(tmp_path / "report.html")
    first = run_crawl(f"{site.url}/", settings={"LLMS_REPORT": report})
    documents = first.by_path(site.url)
    assert set(documents) == {"/", "/by.html"}
    train = "Content-Signal in robots.txt: ai-train=no"
    assert documents["/"]["rights"] == {
        "licences": [f"{site.url}/rsl.xml"],
        "signals": {
            "search": {"allowed": True, "said": ["Content-Signal in robots.txt: search=yes"]},
            "ai-train": {"allowed": False, "said": [train]},
        },
        "robots": "allowed",
    }
    assert documents["/by.html"]["rights"]["licences"] == [f"{site.url}/rsl.xml", LICENCE]
    assert first.stats["llms/filtered/ai-opt-out"] == len(LEFT_OUT)
    assert site.paths().count("/.well-known/tdmrep.json") == 1
    assert "/rsl.xml" not in site.paths(), "a licence is recorded by its URL"
    assert not {"/closed/a", "/mined/a"} & set(site.paths()), (
        "robots.txt and its files: not even asked"
    )
    run = json.loads((tmp_path / "run.json").read_text())
    filtered = {
        one["url"].removeprefix(site.url): one["rule"] for one in run["run"]["filtered"]["urls"]
    }
    assert {path: filtered[path].partition(" (LLMS")[0] for path in LEFT_OUT} == LEFT_OUT
    assert {"host", "path", "purpose", "allowed", "line"} == set(run["rights"][0])
    assert (
        "What the site declares of the use of its pages" in (tmp_path / "report.html").read_text()
    )

    second = run_crawl(f"{site.url}/")
    assert {d["url"]: (d["change"], d["rights"]) for d in second.documents} == {
        d["url"]: ("unchanged", d["rights"]) for d in first.documents
    }
    site.pages["/robots.txt"] = "User-agent: *\nContent-Signal: search=no\n"
    third = run_crawl(f"{site.url}/", settings={"LLMS_OBEY_AI_OPTOUT": False}).by_path(site.url)
    assert set(third) == {"/", "/by.html", *LEFT_OUT}
    assert third["/"]["change"] == "unchanged", "a change of rights alone changes no page"
    assert third["/"]["rights"]["signals"] == {
        "search": {"allowed": False, "said": ["Content-Signal in robots.txt: search=no"]}
    }
    assert third["/no.html"]["rights"]["signals"]["ai-input"]["allowed"] is False
    assert third["/mined/a"]["rights"]["licences"] == ["https://e.com/policy"]

    with Library(Stores(None, tmp_path / "store")) as library:
        data, text = Tools(library).read_page(f"{site.url}/by.html")
    assert list(data["licences"]) == [LICENCE]
    assert f", licence {LICENCE})" in text


def test_an_export_has_the_rights_of_the_crawl(site, run_crawl, scrapy, tmp_path):
    crawled = {
        document["url"]: document["rights"] for document in run_crawl(f"{site.url}/").documents
    }
    name = site.url.removeprefix("http://")
    exported = scrapy(tmp_path, "export", name, "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    assert {row["url"]: row["rights"] for row in rows} == crawled
    as_csv = scrapy(
        tmp_path, "export", name, "--format", "csv", "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}"
    )
    assert "ai-train" in as_csv.stdout
