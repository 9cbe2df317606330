"""What crawls tell of changes: the Atom feed, the webhook, the skill; told once, and again where it was not taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from lxml import etree
from site_server import Reply
from sites import html

PAGES = {
    "/": html(
        "Home", "<p>Welcome.</p><a href='/a.html'>A</a> <a href='/b.html'>B</a> <a href='/old.html'>O</a>"
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
    assert "did not take what changed; the next run sends it again: it answered with status 500" in first.log
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
    signed = f"{called.headers['webhook-id']}.{called.headers['webhook-timestamp']}.".encode() + called.body
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
    assert [(page["change"], page["url"]) for page in told["pages"]] == [("changed", f"{site.url}/b.html")]
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
