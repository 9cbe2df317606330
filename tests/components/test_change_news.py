"""The Atom feed and the webhook: what they say, how they are signed and tried again, what they refuse."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree
from site_server import Reply, Seen, Site, serving
from stores import NAME, SITE, Place, record

from llmsspider.diff import webhook
from llmsspider.diff.atom import ATOM, MAX_ENTRIES, MAX_PER_RUN, NotAFeedError, updated_feed
from llmsspider.diff.source import SourceChanges, changes_since
from llmsspider.items import THIRD_PARTY
from llmsspider.store import Store
from llmsspider.web.addresses import AllowedAddresses

NOW = datetime(2026, 11, 23, 4, 0, tzinfo=UTC)
LOOPBACK = AllowedAddresses.from_setting("127.0.0.1")


def crawl(store: Store, pages: dict[str, str | None]) -> SourceChanges:
    """One run; returns what it changed."""
    known, since = store.page_states(), store.last_seq()
    store.begin_run("crawl", {})
    for path, text in pages.items():
        page = record(path, text, title=path.title())
        if text is None:
            store.delete_page(page.key, "not-found")
        else:
            store.save_page(page, "changed" if page.key in known else "new")
    store.finish_run("finished", complete=True, why=None, counts={})
    return changes_since(store, NAME, since)


@pytest.fixture
def store(tmp_path: Path):
    opened = Place(None, tmp_path / "data").open()
    yield opened
    opened.close()


def entries(feed: bytes) -> list[etree._Element]:
    return etree.fromstring(feed).findall(f"{{{ATOM}}}entry")


def said(feed: bytes, name: str) -> list[str | None]:
    return [entry.findtext(f"{{{ATOM}}}{name}") for entry in entries(feed)]


def test_a_feed_grows_at_its_front_and_repeats_nothing(store: Store):
    first = updated_feed(None, crawl(store, {"a": "# A\n\nIt is 1.\n", "b": "# B\n"}), SITE, NOW)
    changes = crawl(store, {"a": "# A\n\nIt is <2>.\n", "b": None})
    second = updated_feed(first, changes, SITE, NOW)
    assert said(second, "title") == ["Changed: A", "Deleted: B", "New: A", "New: B"]
    assert said(second, "updated") == ["2026-11-23T04:00:00Z"] * 4
    content = entries(second)[0].findtext(f"{{{ATOM}}}content") or ""
    assert "It is <del>1</del><ins>&lt;2&gt;</ins>." in content
    assert said(updated_feed(second, changes, SITE, NOW), "id") == said(second, "id")
    root = etree.fromstring(second)
    assert root.findtext(f"{{{ATOM}}}id") == "urn:llmsspider:e.com%2Fdocs"
    assert len(set(said(second, "id"))) == 4
    assert THIRD_PARTY in root.findtext(f"{{{ATOM}}}subtitle")
    links = [entry.find(f"{{{ATOM}}}link").get("href") for entry in entries(second)]
    assert links == [SITE + "a", SITE + "b", SITE + "a", SITE + "b"]


def test_a_feed_is_bounded_and_counts_what_it_leaves_out(store: Store):
    feed = None
    for number in range(4):
        pages = {f"p{number}-{page}": f"# P {number} {page}\n" for page in range(150)}
        feed = updated_feed(feed, crawl(store, pages), SITE, NOW)
    assert feed is not None
    titles = said(feed, "title")
    assert len(titles) == MAX_ENTRIES
    assert titles[MAX_PER_RUN] == "50 more pages: 150 new"


def test_what_a_site_writes_is_text_in_a_feed(store: Store):
    feed = updated_feed(
        None, crawl(store, {"a\x0b": "# A\n\n<script>alert(1)</script>\n"}), SITE, NOW
    )
    crawled = crawl(store, {"a\x0b": "# A\n\n<script>alert(2)</script> \x01 ]]>\n"})
    content = (
        entries(updated_feed(feed, crawled, SITE, NOW))[0].findtext(f"{{{ATOM}}}content") or ""
    )
    assert "<script" not in content


@pytest.mark.parametrize(
    ("existing", "why"),
    [
        (b"my notes", "it is no XML"),
        (b"<rss/>", "it is no Atom feed"),
        (f"<feed xmlns='{ATOM}'><id>urn:other</id></feed>".encode(), "it is the feed 'urn:other'"),
    ],
)
def test_what_is_no_feed_of_this_source_is_not_replaced(store: Store, existing: bytes, why: str):
    with pytest.raises(NotAFeedError, match=why):
        updated_feed(existing, crawl(store, {"a": "# A\n"}), SITE, NOW)


def test_a_payload_names_pages_and_is_bounded(store: Store):
    crawl(store, {"a": "# A\n\nOne.\n"})
    told = json.loads(
        webhook.payload(crawl(store, {"a": "# A\n\nTwo.\n", "b": "# B\n"}), SITE, "r1")
    )
    assert told["counts"] == {"new": 1, "changed": 1, "moved": 0, "deleted": 0}
    assert told["pages"][0] == {
        "change": "changed",
        "url": SITE + "a",
        "title": "A",
        "section": "/docs/",
        "moved_from": None,
        "seq": 2,
        "in_words": ["1 added, 1 removed"],
    }
    many = crawl(store, {f"p{number}": f"# P {number}\n" for number in range(1010)})
    told = json.loads(webhook.payload(many, SITE, "r2"))
    assert (len(told["pages"]), told["left_out"]) == (webhook.MAX_PAGES, 10)


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("plain words", b"plain words"),
        ("whsec_c2VjcmV0", b"secret"),
        ("whsec_not base64!", b"whsec_not base64!"),
    ],
)
def test_a_signature_is_that_of_standard_webhooks(secret: str, key: bytes):
    headers = webhook.signed_headers(b"{}", "m1", 1_700_000_000, secret)
    expected = hmac.new(key, b"m1.1700000000.{}", hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("m1", "1700000000")
    assert "webhook-signature" not in webhook.signed_headers(b"{}", "m1", 1, None)


def call(url: str, *, allowed: AllowedAddresses = LOOPBACK, timeout_secs: float = 30) -> None:
    headers = {"Content-Type": "application/json"}
    sending = webhook.send(url, b"{}", headers, allowed, pauses=(0, 0), timeout_secs=timeout_secs)
    asyncio.run(sending)


def called(*statuses: int) -> tuple[int, str | None]:
    """Number of calls of a server that answers so, and why they came to nothing."""
    left = list(statuses)

    def answer(_: Seen) -> Reply:
        status = left.pop(0) if len(left) > 1 else left[0]
        return Reply("", status, headers={"Location": "{base}/inside"} if status == 307 else {})

    with serving(Site({"/hook": answer})) as site:
        try:
            call(f"{site.url}/hook")
        except webhook.WebhookError as error:
            return len(site.requests), str(error)
        return len(site.requests), None


def test_a_server_that_is_back_takes_it_and_one_that_refuses_is_not_asked_again():
    assert called(204) == (1, None)
    assert called(503, 429, 200) == (3, None)
    assert called(500) == (3, "it answered with status 500")
    assert called(404, 200) == (1, "it answered with status 404")


def test_a_redirect_is_not_followed():
    number, why = called(307, 200)
    assert (number, "redirect (status 307)" in (why or "")) == (1, True)


def test_addresses_inside_are_refused_however_they_are_spelled():
    for url in (
        "http://127.0.0.1:9/",
        "http://2130706433:9/",
        "http://localhost:9/",
        "http://[::ffff:127.0.0.1]:9/",
    ):
        with pytest.raises(webhook.WebhookError, match="not a public address"):
            call(url, allowed=AllowedAddresses())
    with pytest.raises(webhook.WebhookError, match="only http and https"):
        call("file:///etc/passwd", allowed=AllowedAddresses())


def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch):
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: inside)
    with pytest.raises(
        webhook.WebhookError, match=r"hook\.example leads to 10\.0\.0\.1, which is not a public"
    ):
        call("http://hook.example/", allowed=AllowedAddresses())


def test_a_server_that_hangs_is_left():
    hanging = threading.Event()

    def hang(_: Seen) -> Reply:
        hanging.wait(60)
        return Reply("")

    with serving(Site({"/hook": hang})) as site:
        with pytest.raises(webhook.WebhookError, match="no answer in time"):
            call(f"{site.url}/hook", timeout_secs=0.2)
        hanging.set()
        assert len(site.requests) <= 3
