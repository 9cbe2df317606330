"""Fetches without validators: which, how often, and what a false 304 is."""

from __future__ import annotations

import pytest

from llmsspider.crawler import known_pages
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.false_304s import False304s
from llmsspider.web.outcomes import says_unchanged

PAGES = [f"https://e.com/docs/p{number}.html" for number in range(200)]
BEFORE, LATER = "Sat, 21 Nov 2026 22:00:00 GMT", "Sun, 22 Nov 2026 22:00:00 GMT"


@pytest.mark.parametrize("runs", [1, 2, 14])
def test_every_page_is_fetched_whole_once_in_so_many_runs(monkeypatch, runs):
    monkeypatch.setattr(known_pages, "FULL_CHECK_RUNS", runs)
    for first in (1, 40):
        due = [
            url
            for number in range(first, first + runs)
            for url in PAGES
            if not KnownPages(number=number).sends_validators(url)
        ]
        assert sorted(due) == sorted(PAGES)


@pytest.mark.parametrize("path", ["/sitemap.xml", "/latest/llms-full.txt", "/llms.txt"])
def test_lists_are_fetched_whole_later_than_pages(path):
    whole = [
        number
        for number in range(2, 2 + 2 * known_pages.FULL_CHECK_RUNS)
        if not KnownPages(number=number).sends_validators(f"https://e.com{path}", is_page=False)
    ]
    assert len(whole) == 1
    assert whole[0] > known_pages.FULL_CHECK_RUNS


def test_never_is_never(monkeypatch):
    monkeypatch.setattr(known_pages, "FULL_CHECK_RUNS", 0)
    assert all(
        KnownPages(number=number).sends_validators(url) for number in range(20) for url in PAGES
    )


def test_a_host_whose_304_was_false_is_not_believed_again(monkeypatch):
    monkeypatch.setattr(known_pages, "FULL_CHECK_RUNS", 0)
    said: list[str] = []
    learned = False304s(said.append)
    learned.note("https://e.com/a")
    learned.note("https://e.com/b")
    assert said == ["https://e.com/a"], "said once"
    known = KnownPages(unbelieved=learned.hosts)
    assert not known.sends_validators("https://e.com/c")
    assert known.sends_validators("https://other.com/c")
    for kept, expected in ((learned.keep(End()), ["e.com"]), ("damaged", [])):
        later = False304s(said.append)
        later.remember(kept)
        assert later.keep(End()) == expected


@pytest.mark.parametrize(
    ("etag", "modified", "headers", "expected"),
    [
        pytest.param('"1"', None, {"etag": '"1"'}, True, id="the same ETag"),
        pytest.param('W/"1"', None, {"etag": 'W/"1"'}, True, id="the same weak ETag"),
        pytest.param(
            '"1"', BEFORE, {"etag": '"2"', "last-modified": BEFORE}, False, id="the ETag decides"
        ),
        pytest.param('"1"', BEFORE, {"last-modified": BEFORE}, False, id="no ETag any more"),
        pytest.param(None, BEFORE, {"last-modified": BEFORE}, True, id="the same date"),
        pytest.param(None, LATER, {"last-modified": BEFORE}, True, id="an earlier date"),
        pytest.param(None, BEFORE, {"last-modified": LATER}, False, id="a later date"),
        pytest.param(
            None, "today", {"last-modified": "today"}, True, id="the same that is no date"
        ),
        pytest.param(None, None, {}, False, id="no validators"),
    ],
)
def test_whether_a_server_would_have_said_304(etag, modified, headers, expected):
    assert says_unchanged(etag, modified, headers) is expected
