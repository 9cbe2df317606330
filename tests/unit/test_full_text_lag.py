"""Full-text files that lag: what shows it, which pages are looked at, what counts as the same text."""

from __future__ import annotations

import json

import pytest

from llmsspider.crawl.full_text_lag import (
    MAX_SAMPLES,
    LaggingFiles,
    Sample,
    are_alike,
    chosen,
    counted_words,
    is_newer,
)

FILE = "https://e.com/llms-full.txt"
SAME = [Sample("b", "1", "1"), Sample("c", "2", "2")]


@pytest.mark.parametrize(
    ("nights", "lags"),
    [
        pytest.param([SAME], False, id="all say the same"),
        pytest.param([[*SAME, Sample("a", "new", "old")]], True, id="others say the same word for word"),
        pytest.param([SAME, [Sample("a", "new", "old")]], True, id="others said the same in an earlier run"),
        pytest.param([[Sample("a", "1", "x"), Sample("b", "2", "y")]], False, id="made of another form"),
        pytest.param([[Sample("a", "1", "x")]] * 3, False, id="made of another form, again and again"),
        pytest.param([[Sample("a", "1", "x", is_newer=True)]], True, id="the page has a later date"),
        pytest.param([[Sample("a", "1", "1", is_newer=True)]], False, id="a later date, the same text"),
        pytest.param([[Sample("a", "1", "x")], [Sample("a", "2", "x")]], True, id="only the page changed"),
        pytest.param([[Sample("a", "1", "x")], [Sample("a", "2", "y")]], False, id="both changed"),
        pytest.param([[Sample("a", "2", "1")], [Sample("a", "2", "2")]], True, id="the file came after"),
        pytest.param([[Sample("a", "1", "1")], [Sample("a", "2", "2")]], False, id="changed together"),
    ],
)
def test_what_shows_that_a_file_lags(nights: list[list[Sample]], lags: bool):
    known = LaggingFiles()
    found = []
    for samples in nights:
        found.append(known.compare(FILE, samples))
        known = LaggingFiles.from_json(json.loads(json.dumps(known.to_json())))
    assert any(found) == lags
    assert known.files == ({FILE} if lags else set())


def test_what_the_store_may_hold_of_another_version_is_nothing():
    assert LaggingFiles.from_json(None) == LaggingFiles.from_json("x") == LaggingFiles()


def test_every_page_has_its_turn_and_few_are_asked_in_one_run():
    pages = [f"https://e.com/p{number}" for number in range(43)]
    turns = [chosen(pages, {}, number) for number in range(9)]
    assert {len(set(turn)) for turn in turns} == {MAX_SAMPLES}
    assert {page for turn in turns for page in turn} == set(pages)


def test_pages_changed_last_come_first_and_equal_dates_say_nothing():
    pages = [f"https://e.com/p{number}" for number in range(40)]
    dates = dict.fromkeys(pages, "2026-01-01") | {
        pages[7]: "2026-03-01",
        pages[9]: "2026-02-01T08:00:00Z",
    }
    for number in range(3):
        assert chosen(pages, dates, number)[:2] == [pages[7], pages[9]]
    alike = dict.fromkeys(pages, "2026-01-01")
    assert chosen(pages, alike, 3) == chosen(pages, {}, 3)


@pytest.mark.parametrize(
    ("page", "lastmod", "newer"),
    [
        pytest.param({"last-modified": "Wed, 04 Mar 2026 08:00:00 GMT"}, None, True, id="days later"),
        pytest.param({"last-modified": "Mon, 02 Mar 2026 08:20:00 GMT"}, None, False, id="the same build"),
        pytest.param({"last-modified": "Sun, 01 Mar 2026 08:00:00 GMT"}, "2026-03-09", False, id="earlier"),
        pytest.param(
            {"last-modified": "Wed, 04 Mar 2026 08:00:00 GMT", "date": "Wed, 04 Mar 2026 08:00:01 GMT"},
            None,
            False,
            id="made when it was asked for",
        ),
        pytest.param({}, "2026-03-09", True, id="the sitemap says later"),
        pytest.param({}, "2026-03-02", False, id="the sitemap says the same day"),
        pytest.param({}, "yesterday", False, id="no date"),
        pytest.param({}, None, False, id="none at all"),
    ],
)
def test_a_page_with_a_later_date(page: dict[str, str], lastmod: str | None, newer: bool):
    assert is_newer(page, lastmod, {"last-modified": "Mon, 02 Mar 2026 08:00:00 GMT"}) is newer
    assert not is_newer(page, lastmod, {}), "a file without a date"


def test_walls_are_no_state_of_a_page():
    page = counted_words(
        "# Guide\n\nHow the thing is installed, configured and used on every system there is.\n"
    )
    edited = counted_words("# Guide\n\nHow the thing is installed and used on every system there is today.\n")
    assert are_alike(page, edited)
    assert not are_alike(page, counted_words("# Sign in\n\nPlease sign in with your account to go on.\n"))
