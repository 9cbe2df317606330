"""Permanent redirects: which links are followed at once, and when they are asked about again."""

from __future__ import annotations

import pytest

from llmsspider.crawler.learn.base import End, PageFailed
from llmsspider.crawler.learn.redirects import ASKED_AGAIN, MAX_STORED, Redirects

OLD = "https://e.com/old"
NEW = "https://e.com/new/"
ALL = End(followed_links=True, is_complete=True, saw_all=True)


def after(kept: object, *, trusted: bool = True) -> Redirects:
    learned = Redirects(trusted=trusted)
    learned.remember(kept)
    return learned


def test_an_address_is_followed_at_once_until_it_is_asked_again():
    learned = Redirects()
    assert learned.target_of(OLD) == OLD
    learned.learn(OLD, NEW)
    assert learned.target_of(OLD) == OLD  # it was requested in this run
    kept = learned.keep(ALL)
    nights = 0
    while (learned := after(kept)).target_of(OLD) == NEW:
        kept = learned.keep(ALL)
        nights += 1
    assert nights <= ASKED_AGAIN
    assert after({OLD: [NEW, 0]}).target_of(f"{OLD}#part") == NEW
    assert after({OLD: [NEW, ASKED_AGAIN]}).target_of(OLD) == OLD
    assert after({OLD: [NEW, 0]}, trusted=False).target_of(OLD) == OLD


def test_not_all_of_them_are_asked_again_in_one_crawl():
    learned = Redirects()
    for number in range(200):
        learned.learn(f"{OLD}/{number}", NEW)
    assert {crawls for _, crawls in learned.keep(ALL).values()} == set(range(ASKED_AGAIN))


def test_one_that_was_asked_again_is_not_for_as_many_crawls():
    learned = after({OLD: [NEW, ASKED_AGAIN]})
    learned.learn(OLD, NEW)
    assert learned.keep(ALL) == {OLD: (NEW, 0)}
    learned = after({OLD: [NEW, ASKED_AGAIN]})
    learned.asked_again = 50
    assert learned.target_of(OLD) == NEW


def test_where_nothing_is_any_more_nothing_leads():
    learned = after({OLD: [NEW, 0]})
    learned.target_of(OLD)
    learned.page_failed(PageFailed(NEW, "not_found"))
    assert learned.keep(ALL) == {}
    learned = after({OLD: [NEW, 0]})
    learned.target_of(OLD)
    learned.page_failed(PageFailed(NEW, "network"))
    assert learned.keep(ALL) == {OLD: (NEW, 1)}


def test_what_was_not_met_is_forgotten_by_a_run_that_saw_all():
    assert after({OLD: [NEW, 3]}).keep(ALL) == {}
    assert after({OLD: [NEW, 3]}).keep(End()) == {OLD: (NEW, 3)}


@pytest.mark.parametrize("kept", [None, [], {OLD: NEW}, {OLD: [1, 2]}, {OLD: [NEW]}])
def test_what_cannot_be_read_is_nothing(kept):
    assert after(kept).target_of(OLD) == OLD


def test_so_many_are_stored():
    learned = Redirects()
    for number in range(MAX_STORED + 1):
        learned.learn(f"{OLD}/{number}", NEW)
    assert len(learned.keep(ALL)) == MAX_STORED
