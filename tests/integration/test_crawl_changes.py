"""What crawls tell of changes: the Atom feed, the webhook, the skill; told once, and again where it was not taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from crawling import command
from lxml import etree
from site_server import Reply
from sites import html

PAGES = {
    "/": html(
        "Home",
        "<p>Welcome.</p><a href='/a.html'>A</a> <a href='/b.html'>B</a> <a href='/old.html'>O</a>",
    ),
    "/a.html": html("A", "<p>It waits 10 seconds.</p>"),
    "/b.html": html("B", "<p>Stays as it is.</p>"),
    "/old.html": html("Old", "<p>Moves to another address without a word.</p>"),
}


def test_a_crawl_tells_what_it_changed_until_it_is_taken(serve, run_crawl, tmp_path):
    site, hook = serve(PAGES), serve({"/hook": Reply("", 500)})
    settings = {
        "LLMS_CHANGES_FEED": tmp_path / "feeds" / "%(source)s.atom",
        "LLMS_WEBHOOK_URL": f"{hook.url}/hook",
        "LLMS_WEBHOOK_SECRET": "secret",
        "LLMS_SKILL_DIR": tmp_path / "skill",
        "RETRY_TIMES": 0,
    }

    def crawl():
        hook.clear()
        return run_crawl(f"{site.url}/", arguments={"source": "s"}, settings=settings)

    first = crawl()
    assert first.exit_code == 0
    assert (
        "did not take what changed; the next run sends it again: it answered with status 500"
        in first.log
    )
    assert len(hook.requests) == 3
    assert "Source: " in (tmp_path / "skill" / "references" / "pages.md").read_text()

    site.pages["/a.html"] = html("A", "<p>It waits 20 seconds.</p>")
    site.pages["/new.html"] = site.pages.pop("/old.html")
    site.pages["/"] = site.pages["/"].replace("/old.html", "/new.html")
    hook.pages["/hook"] = Reply("", 204)
    second = crawl()
    assert second.exit_code == 0
    (called,) = hook.requests
    told = json.loads(called.body)
    assert (told["source"], told["since"]) == ("s", 0)
    assert {page["change"] for page in told["pages"]} == {"new"}
    signed = (
        f"{called.headers['webhook-id']}.{called.headers['webhook-timestamp']}.".encode()
        + called.body
    )
    digest = hmac.new(b"secret", signed, hashlib.sha256).digest()
    assert called.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    (feed_file,) = (tmp_path / "feeds").iterdir()
    assert feed_file.name.startswith("s") and feed_file.suffix == ".atom"
    entries = [
        (entry.findtext("{*}title"), entry.findtext("{*}summary"))
        for entry in etree.parse(feed_file).iter("{*}entry")
    ]
    assert ("Changed: A", "1 changed") in entries

    site.pages["/b.html"] = html("B", "<p>Stays as it was.</p>")
    third = crawl()
    told = json.loads(hook.requests[0].body)
    assert [(page["change"], page["url"]) for page in told["pages"]] == [
        ("changed", f"{site.url}/b.html")
    ]
    assert "It waits 20 seconds." in (tmp_path / "skill" / "references" / "pages.md").read_text()
    assert third.exit_code == 0
    before = feed_file.read_bytes()
    crawl()
    assert (hook.requests, feed_file.read_bytes()) == ([], before)

    feed_file.write_text("my own notes")
    site.pages["/b.html"] = html("B", "<p>Is another.</p>")
    refused = crawl()
    assert refused.exit_code == 1
    assert "was not written: it is no XML" in refused.log
    assert feed_file.read_text() == "my own notes"


def test_kinds_of_change_are_told_and_names_of_built_files_and_versions_are_no_change(
    serve, run_crawl, tmp_path
):
    picture = "<p>It looks like <a href='/api/0.32/this'>this</a>.</p><img src='/_images/{}.png' alt='A plot'>"
    text = "<p>It waits 10 seconds.</p><pre><code class='language-py'>wait(10)</code></pre>"
    site = serve(
        {
            "/": html(
                "Home", "<p>Welcome.</p><a href='/plot.html'>P</a> <a href='/wait.html'>W</a>"
            ),
            "/plot.html": html("Plot", picture.format("30f8c1d2")),
            "/wait.html": html("Wait", text),
        }
    )

    def crawl(**arguments):
        outcome = run_crawl(f"{site.url}/", arguments={"source": "s", **arguments})
        rows = outcome.by_path(site.url)
        return {path: (row["change"], row["change_kinds"]) for path, row in rows.items()}, rows

    def export(*more):
        done = command(
            "export", "s", *more, "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", cwd=tmp_path
        )
        rows = map(json.loads, done.stdout.splitlines())
        return {row["url"].removeprefix(site.url): row for row in rows}

    assert list(crawl()[0].values()) == [("new", [])] * 3
    picture = picture.replace("0.32", "0.33")
    site.pages["/plot.html"] = html("Plot", picture.format("9b11d0e7"))
    site.pages["/wait.html"] = html("Wait", text.replace("wait(10)", "wait(20)"))
    changed, rows = crawl()
    assert changed == {
        "/": ("unchanged", []),
        "/plot.html": ("unchanged", []),
        "/wait.html": ("changed", ["code"]),
    }
    assert rows["/plot.html"]["seq"] is None
    for row in (rows["/plot.html"], export()["/plot.html"]):
        assert "9b11d0e7" in row["content"]
        assert row["content_hash"] == hashlib.sha256(row["content"].encode()).hexdigest()
    site.pages["/wait.html"] = html("Wait", text.replace("10", "20"))
    site.pages["/plot.html"] = html("Plot", picture.format("9b11d0e7").replace("A plot", "A chart"))
    assert crawl(emit="changes")[0] == {
        "/wait.html": ("changed", ["text"]),
        "/plot.html": ("changed", ["text"]),
    }
    assert export()["/wait.html"]["change_kinds"] == ["text"]
    since = export("--since", "3")
    assert since["/wait.html"]["change_kinds"] == ["text", "code"]
    assert export("--since", "0")["/wait.html"]["change_kinds"] == []
