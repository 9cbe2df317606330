"""The local web page over a real server: what it shows, and whom it refuses."""

from __future__ import annotations

import html as html_module
import json
import re
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from command_line import program_text
from crawling import command, crawl
from lxml import etree
from shown_page import QUICK, shown
from site_server import Site
from sites import html

from llmsspider.items import THIRD_PARTY

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
PAGES = {
    "/": html("Home", "<p>Welcome.</p><a href='/wait'>wait</a> <a href='/odd'>odd</a>"),
    "/wait": html(
        "Waiting",
        "<p>A request waits for thirty seconds, then it fails.</p><p class='extra'>Buy this.</p>",
    ),
    "/odd": html(
        HOSTILE.replace("<", "&lt;"),
        f"<p>{HOSTILE.replace('<', '&lt;')}</p><p><img src='https://e.com/p.png' alt='A plan'></p>",
    ),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, quick_children: dict) -> None:
    """What the server starts finds its imports made."""
    monkeypatch.setattr("shown_page.QUICK", QUICK | quick_children)


@pytest.fixture
def site(serve, tmp_path: Path) -> Site:
    site = serve(PAGES)
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    return site


def test_sources_pages_search_and_changes(site, tmp_path):
    site.pages["/wait"] = html(
        "Waiting", "<p>A request waits for sixty seconds, then it fails.</p>"
    )
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    with shown(tmp_path) as page:
        status, text, headers = page.ask("/")
        assert (status, ">docs<" in text) == (200, True)
        assert "1 changed" in text
        assert "script-src 'self'" in headers["content-security-policy"]
        found = page.ask("/search?q=how+long+does+a+request+wait")[1]
        assert "<mark>request</mark>" in found
        link = re.search(r'href="(/page\?id=\w+)"', found)
        assert link
        assert "waits for sixty seconds" in page.ask(link[1])[1]
        assert page.ask(f"{link[1]}&tab=raw")[1].count("waits for sixty") == 1
        history = page.ask(f"{link[1]}&tab=history")[1]
        assert "<del>thirty</del>" in history
        assert "<ins>sixty</ins>" in history
        night = page.ask("/night?source=docs")[1]
        assert "1 changed" in night
        assert "<ins>sixty</ins>" in night
        earlier = re.search(r'href="(/night\?source=docs&amp;run=[^"]+)"', night)
        assert earlier
        first = page.ask(html_module.unescape(earlier[1]))[1]
        assert ">Waiting<" in first
        assert "sixty" not in first, "what was told in a later night"
        assert page.ask("/night?source=docs&run=nothing")[0] == 400
        assert "Home" in page.ask(f"{link[1]}&tab=links")[1]
        for view in ("/search?q=wait", link[1], f"{link[1]}&tab=raw", "/night?source=docs"):
            text = page.ask(view)[1]
            assert text.index(THIRD_PARTY) < text.index("sixty"), view
        source = page.ask("/source?name=docs")[1]
        assert source.index(THIRD_PARTY) < source.index(">Waiting<")
        assert page.ask("/page?id=nothing")[0] == 400
        assert page.ask("/nowhere")[0] == 404


def test_what_a_site_says_is_text(site, tmp_path):
    with shown(tmp_path) as page:
        views = ["/", "/source?name=docs", "/search?q=alert", f"/page?id={site.url}/odd"]
        views += [f"/page?id={site.url}/odd&tab={tab}" for tab in ("raw", "chunks", "links")]
        views += ["/night?source=docs", f"/search?q={urllib.parse.quote(HOSTILE)}"]
        for view in views:
            status, text, _ = page.ask(view)
            assert status == 200
            assert "<script>alert" not in text
            assert "<img src=x" not in text
        odd = page.ask(f"/page?id={site.url}/odd")[1]
        assert "picture: A plan" in odd
        assert "<img" not in odd
        assert "<img" in page.ask(f"/page?id={site.url}/odd&pictures=1")[1]


def test_nothing_is_started_unless_it_is_allowed(site, tmp_path):
    with shown(tmp_path) as page:
        assert "Crawl again" not in page.ask("/source?name=docs")[1]
        own = {"Origin": f"http://{page.host}"}
        for path in ("/plan", "/bounds", "/save", "/add", "/recrawl", "/stop", "/delete"):
            status, text, _ = page.ask(path, {"name": "docs", "key": "x"}, **own)
            assert status == 400
            assert "Not done" in text


def test_forms_of_others_are_refused(site, tmp_path):
    with shown(tmp_path, "--allow-crawl") as page:
        form = {"name": "docs", "typed": "docs"}
        assert page.ask("/delete", form)[0] == 403
        assert page.ask("/delete", form, Origin="http://evil.example")[0] == 403
        assert page.ask("/delete", form, Origin=f"http://{page.host}")[0] == 400
        assert page.ask("/", Host="evil.example")[0] == 421
        for url in (str(tmp_path), tmp_path.as_uri(), "ftp://e.com/"):
            assert page.send("/add", url=url)[0] == 400
            assert page.send("/plan", url=url)[0] == 400
        assert ">docs<" in page.ask("/")[1]


def test_a_source_is_looked_at_added_and_deleted(site, serve, tmp_path):
    other = serve(
        {"/": html("Other", "<p>Another site.</p><a href='/b'>b</a>"), "/b": html("B", "<p>B.</p>")}
    )
    name = other.url.removeprefix("http://")
    with shown(tmp_path, "--allow-crawl") as page:
        plan = page.send("/plan", url=f"{other.url}/")[1]
        assert "What a crawl would do" in plan
        page.send("/add", url=f"{other.url}/")
        while "2 new" not in page.ask("/")[1]:
            pass
        assert page.send("/delete", name=name, typed="other")[0] == 400
        assert name in page.ask("/")[1]
        page.send("/delete", name=name, typed=name)
        assert name not in page.ask("/")[1]
        assert ">docs<" in page.ask("/")[1]


def test_bounds_are_tried_and_kept(site, tmp_path):
    with shown(tmp_path, "--allow-crawl") as page:
        tried = page.send("/bounds", name="docs", block="/odd", drop=".extra")[1]
        assert f"{site.url}/odd" in tried
        assert "block=/odd" in tried
        assert "<del>Buy this.</del>" in tried
        assert "No part of it would go." in tried, "of the start page"
        assert page.ask("/bounds?name=docs")[1].count("/odd") == 0, "nothing is kept yet"
        status, text, _ = page.send("/save", name="docs", block="/odd", drop="p[")
        assert (status, "argument drop=" in text) == (400, True)
        assert page.send("/save", name="docs", block="/odd", drop=".extra\n.toc")[0] == 200
        kept = page.ask("/bounds?name=docs")[1]
        assert ">/odd</textarea>" in kept
        assert ">.extra\n.toc</textarea>" in kept
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    status = json.loads(
        command(
            "status", "docs", "--json", "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", cwd=tmp_path
        ).stdout
    )
    assert status["run"]["filtered"]["by_reason"] == {"block": 1}


def test_changes_are_a_feed(site, tmp_path):
    with shown(tmp_path) as page:
        status, text, headers = page.ask("/feed?source=docs")
    assert (status, headers["content-type"]) == (200, "application/atom+xml")
    assert len(etree.fromstring(text.encode()).findall("{http://www.w3.org/2005/Atom}entry")) == 3


def test_a_crawl_that_did_not_begin_is_said(site, tmp_path):
    with shown(tmp_path, "--allow-crawl") as page:
        page.send("/add", url="http://127.0.0.1:1/")
        while "refused" not in (text := page.ask("/?added=127.0.0.1%3A1")[1]):
            assert "the crawl begins" in text or "127.0.0.1:1" in text
        status, text, _ = page.send("/stop", name="docs")
        assert (status, "has ended" in text) == (400, True)


def test_a_token_is_needed_beyond_this_machine(site, tmp_path):
    refused = program_text("ui", "--http", "0.0.0.0:8809", cwd=tmp_path)
    assert refused.returncode == 2
    assert "LLMSSPIDER_UI_TOKEN" in refused.stderr
    with shown(tmp_path, LLMSSPIDER_UI_TOKEN="s3cret") as page:
        assert page.ask("/")[0] == 401
        assert page.ask("/", Authorization="Bearer wrong")[0] == 401
        assert page.ask("/", Authorization="Bearer s3cret")[0] == 200
        assert page.ask("/", Authorization="Basic dTpzM2NyZXQ=")[0] == 200


def test_the_doctor_says_what_is_there(site, tmp_path):
    def doctor(*places: str) -> subprocess.CompletedProcess[str]:
        stores = str(tmp_path / "store")
        return program_text(
            "doctor",
            *places,
            cwd=tmp_path,
            LLMS_DATA_DIR=stores,
            LLMS_ALLOW_PRIVATE_ADDRESSES="127.0.0.1",
        )

    well = doctor(f"{site.url}/")
    assert (well.returncode, well.stderr) == (0, "")
    assert "✓ docs: 3 pages can be read (INDEXED)" in well.stdout
    assert "✓ MCP: `llmsspider mcp` was started and named 1 sources" in well.stdout
    assert re.search(r"(?m)^✓ certificates: \d+ authorities", well.stdout)
    assert f"✓ {site.url}/: answers with status 200\n- {site.url}/llms.txt: " in well.stdout
    gone = doctor("http://127.0.0.1:1/")
    assert gone.returncode == 1
    assert re.search(r"(?m)^✗ http://127.0.0.1:1/: .*refused", gone.stdout), gone.stdout
    (store,) = (tmp_path / "store").glob("*.sqlite")
    store.write_bytes(b"damaged" * 1000)
    ill = doctor()
    assert ill.returncode == 1
    assert re.search(r"(?m)^✗ .*docs", ill.stdout), ill.stdout
    assert doctor(str(tmp_path / "nothing")).returncode == 2
