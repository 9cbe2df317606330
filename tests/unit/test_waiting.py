"""Which pages wait, how many of them, and what comes back."""

from __future__ import annotations

import pytest
from stores import record

from llmsspider.crawler import settle as module
from llmsspider.crawler.settle import HOLDS, Failure, Spool, Waiting, WaitingPage, reasons_with
from llmsspider.items import Digest, Link, LlmsEntry


def failed(number: int) -> WaitingPage:
    return WaitingPage(
        "failed", number, failure=Failure(f"https://example.com/{number}", "network", "lost")
    )


@pytest.mark.parametrize(
    ("kind", "status", "may_pass"),
    [
        ("network", None, True),
        ("rate_limited", None, True),
        ("not_found", 404, False),
        ("auth", 403, False),
        ("http", None, True),
        ("http", 200, True),
        ("http", 304, True),
        ("http", 400, False),
        ("http", 418, False),
    ],
)
def test_what_may_have_passed_by_the_end_of_the_crawl(kind, status, may_pass):
    assert Failure("https://example.com/", kind, "", status).may_pass is may_pass


def test_pages_come_back_in_order_and_once():
    waiting = Waiting(Spool())
    assert all(waiting.keep(failed(number)) for number in range(3))
    assert [page.request for page in waiting.take("failed", most=2)] == [0, 1]
    assert [page.request for page in waiting.take("failed")] == [2]
    assert waiting.number("failed") == 0


def test_no_more_wait_than_the_limit_says_whether_they_came_back_or_not():
    waiting = Waiting(Spool())
    number = int(HOLDS["failed"].pages)
    assert [waiting.keep(failed(one)) for one in range(number + 5)].count(True) == number
    assert len(list(waiting.take("failed", most=10))) == 10
    assert not waiting.keep(failed(0))


def test_none_waits_where_a_stop_would_lose_it_nor_near_the_limit_of_documents(monkeypatch):
    waiting = Waiting(Spool())
    assert not waiting.keep(WaitingPage("moved", record=record("new"))), (
        "not before the store was read"
    )
    waiting.closed.clear()
    assert not waiting.keep(WaitingPage("moved", record=record("new")), room=HOLDS["moved"].room)
    assert waiting.keep(
        WaitingPage("moved", record=record("new", "text")), room=HOLDS["moved"].room + 1
    )
    few = {**HOLDS, "moved": HOLDS["moved"]._replace(characters=4)}
    monkeypatch.setattr(module, "HOLDS", few)
    assert not waiting.keep(WaitingPage("moved", record=record("more")))
    assert waiting.keep(WaitingPage("wall", record=record("wall"))), "it waits on disk"
    assert waiting.keep(failed(1)), "it has no text"
    waiting._spool.close()


def test_a_new_page_that_comes_twice_waits_twice_and_the_first_one_is_the_first():
    waiting = Waiting(Spool())
    waiting.closed.clear()
    for text in ("first", "second"):
        waiting.keep(WaitingPage("moved", record=record("new", text)))
    assert [page.record.content for page in waiting.take("moved")] == ["first", "second"]


def test_a_page_whose_markdown_came_waits_no_more():
    waiting = Waiting(Spool())
    for path in "ba":
        waiting.keep(WaitingPage("markdown", record=record(path)))
    waiting.keep(WaitingPage("tag", record=record("c")))
    assert waiting.pop(record("b")).record.url == record("b").url
    assert waiting.pop(record("b")) is None
    pages = waiting.take("markdown", "tag")
    assert [page.record.url for page in pages] == [record(path).url for path in "ac"], (
        "by their addresses"
    )


def test_possible_bot_walls_wait_on_disk_as_they_are():
    waiting, records = Waiting(Spool()), [record("a", "Text \udc80 with\nlines\n"), record("a")]
    records[0].links = [Link("a", "https://e.com/a")]
    records[0].llms = LlmsEntry("https://e.com/llms.txt", None, "T", None, 3)
    records[1].digest = Digest.of("Text", ())
    pages = [WaitingPage("wall", record=one) for one in records]
    assert all(map(waiting.keep, pages))
    assert [page.record for page in pages] == [None, None]
    assert [page.record for page in waiting.take("wall")] == records
    assert list(waiting.take("wall")) == []
    waiting._spool.close()
    waiting._spool.close()


def test_what_becomes_of_each_reason():
    """What the phases, a stop and a continued JOBDIR do with the pages that wait for it."""
    assert reasons_with(until="read") == ("markdown", "tag", "stub", "copy-of")
    assert reasons_with(until="gone") == ("moved",)
    assert reasons_with(failed=True) == ("failed", "links", "wall")
    assert set(HOLDS) - set(reasons_with(again=True)) == {"shape", "wall", "in-file"}
