"""What rendered pages were drawn from: what is remembered, and for how long."""

from __future__ import annotations

import json

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.drawn import MAX_DRAWN, Drawn, DrawnPages

URL = "https://docs.example.com/guide"
DRAWN = Drawn("aa", {f"{URL}.json": "bb"}, "dd", has_routes=False)
ALL = End(followed_links=True, is_complete=True, saw_all=True)


def again(pages: DrawnPages, end: End = ALL) -> DrawnPages:
    """What the next run remembers, by way of the store."""
    found = DrawnPages()
    found.remember(json.loads(json.dumps(pages.keep(end))))
    return found


def test_what_a_page_was_drawn_from_is_remembered_while_it_is_seen():
    pages = DrawnPages()
    pages.learn(URL, DRAWN)
    second = again(pages)
    assert second.of(URL) == DRAWN
    third = again(second)
    assert again(third, End()).of(URL) == DRAWN, "a run that did not see all forgets nothing"
    assert again(third).of(URL) is None, "nobody asked for it in the third run"


@pytest.mark.parametrize("known", [None, Drawn("cc", {}, "dd", has_routes=True)])
def test_the_last_rendering_counts(known):
    pages = DrawnPages()
    pages.learn(URL, DRAWN)
    pages.learn(URL, known)
    assert again(pages).of(URL) == known


@pytest.mark.parametrize("kept", [[], "x", {URL: 1}, {URL: ["aa"]}, {URL: [1, 2, 3, 4, 5]}])
def test_what_cannot_be_read_counts_as_nothing(kept):
    pages = DrawnPages()
    pages.remember(kept)
    assert pages.of(URL) is None
    assert pages.keep(ALL) == {}


def test_so_many_pages_are_remembered():
    pages = DrawnPages()
    for number in range(MAX_DRAWN + 1):
        pages.learn(f"{URL}/{number}", DRAWN)
    assert len(pages.keep(ALL)) == MAX_DRAWN
