"""What a start page says of its section when it leads elsewhere for a night."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.start_page import StartHistory, StartPage
from llmsspider.crawler.source_memory import Doubts, SourceMemory
from llmsspider.items import Section
from llmsspider.site.discovered import Discovery, FetchResult

START = "https://e.com/docs/"


def answer(final_url: str, **more) -> FetchResult:
    return FetchResult(START, final_url, 200, **more)


def known(section: str = START) -> StartHistory:
    return StartHistory().after(
        Discovery(answer(section), section), Section("/docs/", "it says so")
    )


@pytest.mark.parametrize(
    ("final_url", "statuses", "expected"),
    [
        pytest.param(START, [], None, id="no redirect"),
        pytest.param("https://e.com/docs/intro.html", [301], None, id="a page of the section"),
        pytest.param("https://e.com/docs/?a", [302], None, id="a query"),
        pytest.param(
            "https://e.com/docs/soon", [302], "https://e.com/docs/soon", id="a page of it, for now"
        ),
        pytest.param("https://e.com/", [302], "https://e.com/", id="the home page, for now"),
        pytest.param("https://e.com/", [301], "https://e.com/", id="the home page, for good"),
        pytest.param("https://e.com/docs/3.1/", [302], "https://e.com/docs/3.1/", id="a version"),
        pytest.param("https://new.com/docs/", [301], None, id="another host, for good"),
        pytest.param(
            "https://new.com/docs/", [301, 302], "https://new.com/docs/", id="another host, for now"
        ),
    ],
)
def test_where_a_start_page_leads_for_the_first_time(final_url, statuses, expected):
    assert known().led_elsewhere(answer(final_url), statuses) == expected
    assert StartHistory().led_elsewhere(answer(final_url), statuses) is None, "a first crawl"


def test_what_it_does_in_two_runs_counts():
    def night(before: StartHistory, doubts: Doubts) -> SimpleNamespace:
        page = StartPage()
        page.history = before
        kept = json.loads(json.dumps([page.keep(End()), doubts.to_keep(complete=False)]))
        later = StartPage()
        later.remember(kept[0])
        learned = SimpleNamespace(start_page=later)
        return SimpleNamespace(learned=learned, start=later, doubts=Doubts(kept[1]))

    async def no_page(url: str):
        raise AssertionError(f"{url} shows nothing of a redirect for now")

    def is_doubted(memory: SimpleNamespace, answered: FetchResult) -> bool:
        doubts = SourceMemory.doubts_start(memory, answered, [302], no_page)
        return asyncio.run(doubts)

    first, home = night(known(), Doubts()), answer("https://e.com/")
    assert is_doubted(first, home)
    failed = Discovery(answer(START, error="http"), START)
    again = night(first.start.history.after(failed, None), first.doubts)
    assert again.start.history.section_of(failed) == START
    assert not is_doubted(again, home)
    other = night(first.start.history, first.doubts)
    assert is_doubted(other, answer("https://e.com/soon/"))
    assert (
        again.start.history.after(Discovery(home, "https://e.com/"), None).section
        == "https://e.com/"
    )


def test_a_start_page_that_fails_keeps_the_section():
    before = known("https://e.com/docs/3.1/")
    failed = Discovery(answer(START, error="network"), START)
    assert before.section_of(failed) == "https://e.com/docs/3.1/"
    assert before.after(failed, None).declared == ("/docs/", "it says so")
    assert before.section_of(Discovery(answer(START), START)) == START
    other = "https://e.com/other/"
    failed_too = FetchResult(other, other, 0, error="network")
    assert before.section_of(Discovery(failed_too, other)) == other
    assert StartHistory(START).section_of(failed) == START
    again = StartHistory().after(Discovery(answer("https://e.com/docs/intro"), START), None)
    assert again.led_elsewhere(answer("https://e.com/docs/intro"), [302]) is None, (
        "it always led there"
    )
    assert StartHistory.from_json({"told": "damaged", "url": 3}).declared is None
    assert StartHistory.from_json("damaged") == StartHistory()
