"""Which dead links the next crawl skips."""

from __future__ import annotations

import pytest

from llmsspider.crawler.learn.base import Dropped, End, PageFailed
from llmsspider.crawler.learn.dead_links import (
    ASKED_AGAIN,
    MAX_STORED,
    NOT_ASKED,
    SPREAD,
    DeadLinks,
)

DEAD = "https://e.com/docs/gone"
OTHER = "https://e.com/docs/other"


WHOLE, PART = End(followed_links=True, saw_all=True), End(followed_links=True)


def dead(*urls: str, **how: object) -> PageFailed:
    return PageFailed(urls[0], "not_found", **{"resolved_to": urls[1:], **how})


def links_after(kept: object, **how: object) -> DeadLinks:
    links = DeadLinks(**how)
    links.remember(kept)
    return links


def remembered(*urls: str) -> dict[str, int]:
    links = DeadLinks()
    for url in urls:
        links.page_failed(dead(url))
    return links.keep(WHOLE)


@pytest.mark.parametrize(
    "failed",
    [
        dead(DEAD, listed=True),
        dead(DEAD, is_stored=True),
        dead(DEAD, by="sitemap"),
        PageFailed(DEAD, "http"),
    ],
)
def test_only_a_link_that_nothing_else_names_is_dead(failed):
    links = DeadLinks()
    links.page_failed(failed)
    assert not links.was_dead(DEAD)


def test_a_link_is_dead_by_each_address_that_was_tried():
    links = DeadLinks()
    links.page_failed(dead(DEAD, OTHER))
    assert links.was_dead(OTHER)


def test_a_crawl_that_follows_no_links_leaves_what_is_stored():
    assert links_after({DEAD: 1}).keep(End()) is None


def test_skipped_links_that_no_changed_page_led_to_are_counted():
    links = links_after(remembered(DEAD, OTHER), requested=lambda link: link == OTHER)
    assert links.skip(DEAD, DEAD)
    assert links.skip(OTHER, OTHER)
    assert list(links.drained()) == [Dropped(DEAD, "dead-link", NOT_ASKED)]


def test_a_link_that_was_dead_is_skipped_and_counted():
    links = links_after(remembered(DEAD))
    assert links.skip(DEAD, DEAD)
    assert links.skip(f"{DEAD}#part", DEAD)
    assert not links.skip(OTHER, OTHER)
    assert DEAD in links.skipped
    assert OTHER not in links.skipped
    assert len(set(links.skipped.values())) == 1


def test_a_link_to_markdown_is_known_by_its_own_address():
    links = links_after(remembered("https://e.com/a/", "https://e.com/a.md"))
    assert links.skip("https://e.com/a.md", "https://e.com/a.html")


def crawls_until_asked(kept: dict[str, int], url: str) -> int:
    crawls = 0
    while (links := links_after(kept)).skip(url, url):
        kept, crawls = links.keep(WHOLE), crawls + 1
    return crawls


def test_they_are_asked_again_after_so_many_crawls_and_not_all_in_one():
    urls = [f"https://e.com/{number}" for number in range(30)]
    first = {crawls_until_asked(remembered(url), url) for url in urls}
    assert first == set(range(ASKED_AGAIN - SPREAD + 1, ASKED_AGAIN + 1))
    links = links_after({DEAD: ASKED_AGAIN})
    assert not links.skip(DEAD, DEAD)
    links.page_failed(dead(DEAD))
    assert crawls_until_asked(links.keep(WHOLE), DEAD) == ASKED_AGAIN


def test_while_a_witness_is_believed_they_may_wait_longer():
    links = links_after({DEAD: ASKED_AGAIN + 9})
    links.asked_again = 50
    assert links.skip(DEAD, DEAD)


def test_what_no_page_shows_any_more_is_forgotten_unless_the_crawl_was_cut_short():
    kept = remembered(DEAD, OTHER)
    links = links_after(kept)
    assert links.skip(DEAD, DEAD)
    assert links.keep(WHOLE) == {DEAD: kept[DEAD] + 1}
    assert links.keep(PART) == {DEAD: kept[DEAD] + 1, OTHER: kept[OTHER]}


def test_full_asks_for_all_of_them():
    assert not links_after(remembered(DEAD), trusted=False).skip(DEAD, DEAD)


def test_so_many_are_remembered():
    kept = remembered(*(f"https://e.com/{number}" for number in range(MAX_STORED + 5)))
    assert len(kept) == MAX_STORED


@pytest.mark.parametrize("stored", [None, [], "x", {1: 2}, {DEAD: "soon"}])
def test_what_cannot_be_read_is_ignored(stored):
    assert not links_after(stored).skip(DEAD, DEAD)
