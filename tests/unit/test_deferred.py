"""Which lost pages are kept for the end of the crawl."""

from __future__ import annotations

from llmsspider.crawl.deferred import MAX_RETRIES, DeferredRetries, DeferredRetry


def lost(number: int, kind: str = "network") -> DeferredRetry:
    return DeferredRetry(None, f"https://example.com/{number}", kind, "message")


def test_only_what_the_network_lost_is_kept_and_comes_back_in_order() -> None:
    chance = DeferredRetries()
    assert [
        chance.keep(lost(1)),
        chance.keep(lost(2, "not_found")),
        chance.keep(lost(3, "rate_limited")),
    ] == [
        True,
        False,
        True,
    ]
    assert [page.url[-1] for page in chance.take(5)] == ["1", "3"]
    assert chance.take(5) == []


def test_an_answer_without_a_page_may_be_one_the_next_time_unless_it_is_refused() -> None:
    chance = DeferredRetries()
    statuses = [None, 200, 206, 304, 400, 418]
    kept = [
        chance.keep(DeferredRetry(None, "https://example.com/", "http", "", status)) for status in statuses
    ]
    assert kept == [True, True, True, True, False, False]


def test_a_site_that_is_down_is_not_asked_for_every_page_again() -> None:
    chance = DeferredRetries()
    kept = [chance.keep(lost(number)) for number in range(MAX_RETRIES + 5)]
    assert kept.count(True) == MAX_RETRIES
    chance.take(10)
    assert not chance.keep(lost(0))


def test_nothing_is_kept_where_nothing_is_asked_again() -> None:
    assert not DeferredRetries(enabled=False).keep(lost(1))
