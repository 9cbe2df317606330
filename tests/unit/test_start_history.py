"""What a start page says of its section when it leads elsewhere for a night."""

from __future__ import annotations

import json

import pytest

from llmsspider.crawl.source_memory import StartHistory
from llmsspider.items import Section
from llmsspider.site.discovery import Discovery, FetchResult

START = "https://e.com/docs/"


def answer(final_url: str, **more) -> FetchResult:
    return FetchResult(START, final_url, 200, **more)


def known(section: str = START) -> StartHistory:
    return StartHistory().after(Discovery(answer(section), section), Section("/docs/", "it says so"), "")


@pytest.mark.parametrize(
    ("final_url", "statuses", "expected"),
    [
        pytest.param(START, [], None, id="no redirect"),
        pytest.param("https://e.com/docs/intro.html", [301], None, id="a page of the section"),
        pytest.param("https://e.com/docs/?a", [302], None, id="a query"),
        pytest.param("https://e.com/docs/soon", [302], "https://e.com/docs/soon", id="a page of it, for now"),
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


def test_what_it_does_in_two_runs_is_believed():
    before, failed = known(), answer(START, error="http")
    home = answer("https://e.com/")
    led = before.led_elsewhere(home, [302])
    discovery = Discovery(failed, START)
    night = StartHistory.from_json(json.loads(json.dumps(before.after(discovery, None, led or "").to_json())))
    assert night.section_of(discovery) == START
    assert night.led_elsewhere(home, [302]) is None
    assert night.led_elsewhere(answer("https://e.com/soon/"), [302]) == "https://e.com/soon/"
    assert night.after(Discovery(home, "https://e.com/"), None, "").section == "https://e.com/"


def test_a_start_page_that_fails_keeps_the_section():
    before = known("https://e.com/docs/3.1/")
    failed = Discovery(answer(START, error="network"), START)
    assert before.section_of(failed) == "https://e.com/docs/3.1/"
    assert before.after(failed, None, "").declared == ("/docs/", "it says so")
    assert before.section_of(Discovery(answer(START), START)) == START
    again = StartHistory().after(Discovery(answer("https://e.com/docs/intro"), START), None, "")
    assert again.led_elsewhere(answer("https://e.com/docs/intro"), [302]) is None, "it always led there"
    assert StartHistory.from_json({"told": "damaged", "url": 3}).declared is None
    assert StartHistory.from_json("damaged") == StartHistory()
