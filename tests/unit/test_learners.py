"""Learners that no other file has rows for, and what is the same for all of them."""

from __future__ import annotations

import json

import pytest

from llmsspider.crawler.learn import Learners, copies
from llmsspider.crawler.learn.accept_refusals import MAX_IN_VAIN, AcceptRefusals
from llmsspider.crawler.learn.base import End, Learner, PageFailed
from llmsspider.crawler.learn.copies import Copies
from llmsspider.crawler.learn.false_304s import False304s
from llmsspider.crawler.settle import Drop, Publish, ReadPage
from llmsspider.items import PageMeta

HOST = "https://docs.example.com"
PAGE = f"{HOST}/guide"
HTML = {"content-type": "text/html"}
JSON = {"content-type": "application/problem+json; charset=utf-8"}
LLMS = {"location": "/llms.txt"}
LOGIN = {"location": "/login"}
PACKED = {"content-type": "text/markdown"}


def learners() -> Learners:
    return Learners(trusted=True, requested=lambda url: False, report_false_304=lambda url: None)


def again(learner: Learner, next_one: Learner, end: End = End()) -> Learner:  # noqa: B008
    """The learner of the next run, by way of the store."""
    next_one.remember(json.loads(json.dumps(learner.keep(end))))
    return next_one


# --- AcceptRefusals ---


def may_be(learned: AcceptRefusals, status: int, headers=HTML, body=b"x", url=PAGE, stored=False):
    return learned.may_be_refusal(url, status, headers, body, is_stored=lambda: stored)


@pytest.mark.parametrize(
    ("status", "headers", "body", "url", "odd"),
    [
        (406, HTML, b"x", PAGE, True),
        (300, HTML, b"x", PAGE, True),
        (415, HTML, b"x", PAGE, True),
        (404, HTML, b"x", PAGE, True),
        (400, HTML, b"x", PAGE, True),
        (500, HTML, b"x", PAGE, True),
        *((status, HTML, b"x", PAGE, False) for status in (401, 407, 429, 451, 503, 504)),
        (302, LLMS, b"", PAGE, True),
        (302, LLMS, b"", f"{HOST}/llms.txt", False),
        (302, LOGIN, b"", PAGE, True),
        (302, {"location": "/other"}, b"", PAGE, False),
        (302, {}, b"", PAGE, False),
        (200, HTML, b" \n", PAGE, True),
        (200, HTML, b"x", PAGE, False),
        (204, HTML, b"", PAGE, False),
        (200, JSON, b"{}", PAGE, True),
        (200, JSON, b"{}", f"{HOST}/data.json", False),
        (200, {"content-type": "TEXT/XML"}, b"<a/>", PAGE, True),
        (200, {"content-type": "text/xml"}, b"<a/>", f"{HOST}/feed.xml", False),
        (200, PACKED, b"\x1f\x8bx", PAGE, True),
        (200, {**PACKED, "content-encoding": "gzip"}, b"\x1f\x8bx", PAGE, False),
        (200, {"content-type": "application/gzip"}, b"\x1f\x8bx", PAGE, False),
        (200, HTML, b"", f"{HOST}/llms.txt", False),
    ],
)
def test_what_may_be_an_answer_to_accept(status, headers, body, url, odd):
    assert may_be(AcceptRefusals(), status, headers, body, url) is odd


def test_html_is_asked_for_in_vain_so_many_times():
    learned = AcceptRefusals()
    for _ in range(MAX_IN_VAIN):
        assert may_be(learned, 404)
        learned.learn(PAGE, has_html=False)
    assert not may_be(learned, 404)
    assert not may_be(learned, 406)
    assert may_be(learned, 404, url="https://other.example.com/")
    learned.learn(PAGE, has_html=True)
    assert may_be(learned, 404), "it has HTML after all"


def test_later_runs_ask_an_honest_host_once_and_for_stored_pages_alone():
    first = AcceptRefusals()
    first.learn(PAGE, has_html=False)
    for learned in (
        again(first, AcceptRefusals()),
        again(again(first, AcceptRefusals()), AcceptRefusals()),
    ):
        assert not may_be(learned, 404)
        assert may_be(learned, 404, stored=True)
        assert may_be(learned, 406)
        learned.learn(PAGE, has_html=False)
        assert not may_be(learned, 404, stored=True)
        assert not learned.refuses(PAGE)


def test_a_host_that_refuses_is_known_in_the_next_run_unless_everything_is_to_be_seen_again():
    first = AcceptRefusals()
    first.learn(PAGE, has_html=False)
    first.learn(PAGE, has_html=True)
    assert first.keep(End()) == {"refusing": ["docs.example.com"], "honest": []}
    assert again(first, AcceptRefusals()).refuses(f"{HOST}/other")
    assert not again(first, AcceptRefusals()).refuses("https://other.example.com/")
    assert not again(first, AcceptRefusals(trusted=False)).refuses(PAGE)
    for rubbish in (None, [], "x", {"other": 1}):
        learned = AcceptRefusals()
        learned.remember(rubbish)
        assert learned.keep(End()) == {"refusing": [], "honest": []}


# --- Copies ---


def read(learned: Copies, url: str, *copies: str) -> None:
    learned.page_read(ReadPage(url, PageMeta(copies=list(copies))), Publish())


def test_a_copy_is_what_another_page_of_its_host_names():
    learned = Copies()
    assert learned.page_of(f"{PAGE}/print") is None
    read(learned, PAGE, f"{PAGE}/print", "https://other.example.com/print", "no address")
    assert learned.page_of(f"{PAGE}/print") == PAGE
    assert learned.page_of("https://other.example.com/print") is None
    copy = ReadPage(f"{PAGE}/print")
    why = "https://docs.example.com/guide names it as a copy of itself"
    assert learned.by_itself(copy, None) == Drop("canonical", why, PAGE)
    assert learned.by_itself(ReadPage(PAGE), None) is None
    assert learned.by_itself(ReadPage(f"{PAGE}/print", is_wanted=True), None) is None


def test_a_copy_names_none_the_first_page_that_names_one_counts_and_a_page_is_no_copy_of_itself():
    learned = Copies()
    read(learned, PAGE, f"{PAGE}/print", PAGE)
    read(learned, f"{PAGE}/print", f"{PAGE}/phone")
    read(learned, f"{HOST}/b", f"{PAGE}/print")
    assert learned.page_of(PAGE) is None
    assert learned.page_of(f"{PAGE}/phone") is None
    assert learned.page_of(f"{PAGE}/print") == PAGE


def test_so_many_copies_are_known(monkeypatch):
    monkeypatch.setattr(copies, "MAX_COPIES", 2)
    learned = Copies()
    read(learned, PAGE, *(f"{PAGE}/{number}" for number in range(3)))
    assert [learned.page_of(f"{PAGE}/{number}") for number in range(3)] == [PAGE, PAGE, None]


def test_copies_are_known_until_their_page_is_read_again():
    first = Copies()
    read(first, PAGE, f"{PAGE}/print")
    later = again(first, Copies())
    assert later.page_of(f"{PAGE}/print") == PAGE
    assert later.keep(End()) == first.keep(End())
    read(later, PAGE)
    assert later.page_of(f"{PAGE}/print") is None
    assert later.keep(End()) == {}


# --- False304s ---


def test_a_host_is_reported_once_and_remembered():
    reported: list[str] = []
    first = False304s(reported.append)
    for url in (PAGE, f"{HOST}/other", "https://other.example.com/"):
        first.note(url)
    assert reported == [PAGE, "https://other.example.com/"]
    assert first.keep(End()) == ["docs.example.com", "other.example.com"]
    later = again(first, False304s(reported.append))
    later.note(PAGE)
    assert len(reported) == 2
    later.remember({"rubbish": 1})
    assert later.hosts == {"docs.example.com", "other.example.com"}


# --- all of them ---


def test_what_all_learners_keep_comes_back_by_their_names():
    first = learners()
    first.accept_refusals.learn(PAGE, has_html=True)
    first.false_304s.note(PAGE)
    kept = json.loads(json.dumps(first.keep(End())))
    assert kept["unbelieved"] == ["docs.example.com"]
    assert kept["copies"] == {}
    later = learners()
    later.remember({**kept, "of an older release": 1})
    assert later.accept_refusals.refuses(PAGE)
    assert later.false_304s.hosts == {"docs.example.com"}
    assert later.keep(End()) == first.keep(End())


def test_events_reach_the_learners():
    learned = learners()
    learned.page_read(ReadPage(PAGE, PageMeta(copies=[f"{PAGE}/print"])), Publish())
    assert learned.copies.page_of(f"{PAGE}/print") == PAGE
    before = learned.keep(End(followed_links=True))
    for number in range(9):
        learned.page_failed(PageFailed(f"{HOST}/dead/{number}", "not_found"))
    assert learned.keep(End(followed_links=True)) != before
    assert list(learned.drained()) == []


@pytest.mark.parametrize("rubbish", [[1, None], {"x": [1]}, "x", 7, [["a"]], {"x": None}])
def test_what_cannot_be_read_costs_no_run(rubbish):
    learned = learners()
    names = [one.name for one in learned._all]
    assert len(set(names)) == len(names)
    learned.remember(dict.fromkeys(names, rubbish))
    json.dumps(learned.keep(End()), default=list)
