"""Which dead links the next crawl skips."""

from __future__ import annotations

import pytest

from llmsspider.crawl.second_requests import MAX_CRAWLS, MAX_STORED, DeadLinks

DEAD = "https://e.com/docs/gone"
OTHER = "https://e.com/docs/other"


def remembered(*urls: str) -> dict[str, int]:
    links = DeadLinks()
    links.died(*urls)
    return links.to_keep(whole=True)


def test_a_link_that_was_dead_is_skipped_and_counted():
    links = DeadLinks(remembered(DEAD))
    assert links.skip(DEAD, DEAD)
    assert links.skip(f"{DEAD}#part", DEAD)
    assert not links.skip(OTHER, OTHER)
    assert DEAD in links.skipped
    assert OTHER not in links.skipped
    assert len(set(links.skipped.values())) == 1


def test_a_link_to_markdown_is_known_by_its_own_address():
    links = DeadLinks(remembered("https://e.com/a/", "https://e.com/a.md"))
    assert links.skip("https://e.com/a.md", "https://e.com/a.html")


def test_it_is_asked_again_after_so_many_crawls():
    kept, crawls = remembered(DEAD), 0
    while (links := DeadLinks(kept)).skip(DEAD, DEAD):
        kept, crawls = links.to_keep(whole=True), crawls + 1
    assert crawls == MAX_CRAWLS
    links.died(DEAD)
    assert DeadLinks(links.to_keep(whole=True)).skip(DEAD, DEAD)


def test_what_no_page_shows_any_more_is_forgotten_unless_the_crawl_was_cut_short():
    links = DeadLinks(remembered(DEAD, OTHER))
    assert links.skip(DEAD, DEAD)
    assert links.to_keep(whole=True) == {DEAD: 1}
    assert links.to_keep(whole=False) == {DEAD: 1, OTHER: 0}


def test_full_asks_for_all_of_them():
    assert not DeadLinks(remembered(DEAD), trusted=False).skip(DEAD, DEAD)


def test_so_many_are_remembered():
    kept = remembered(*(f"https://e.com/{number}" for number in range(MAX_STORED + 5)))
    assert len(kept) == MAX_STORED


@pytest.mark.parametrize("stored", [None, [], "x", {1: 2}, {DEAD: "soon"}])
def test_what_cannot_be_read_is_ignored(stored):
    assert not DeadLinks(stored).skip(DEAD, DEAD)
