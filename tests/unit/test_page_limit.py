"""The limits of a crawl, and what it remembers of the links it saw."""

from __future__ import annotations

from llmsspider.crawler.progress import MIN_QUEUE, PageLimit, Progress
from llmsspider.crawler.second_requests import SeenLinks


def test_the_limit_of_requests_follows_from_that_of_pages():
    assert PageLimit(20, Progress()).max_requests == 300
    assert PageLimit(20, Progress(), max_requests=50).max_requests == 50
    for without in (PageLimit(0, Progress()), PageLimit(20, Progress(), max_requests=0)):
        assert (without.max_requests, without.room(10**9), without.reached) == (0, None, False)


def test_a_crawl_that_sent_its_requests_takes_the_documents_under_way_and_no_more_links():
    limit = PageLimit(20, Progress(), max_requests=2)
    limit.requests += 1
    assert not limit.reached
    limit.requests += 1
    assert limit.reached
    assert (limit.refusal.reason, limit.why) == ("max-requests", "max_requests")
    assert limit.left == 20


def test_the_reason_is_the_limit_that_was_reached():
    progress = Progress()
    limit = PageLimit(1, progress, max_requests=1)
    limit.requests += 1
    progress.document("html", "new")
    assert (limit.refusal.reason, limit.why, limit.left) == ("max-pages", "max_pages", 0)


def test_no_more_pages_wait_than_requests_are_left():
    limit = PageLimit(0, Progress(), max_requests=5000)
    assert (limit.room(0), limit.room(4999), limit.room(5001)) == (5000, 1, 0)
    for _ in range(4990):
        limit.requests += 1
    assert limit.room(0) == MIN_QUEUE


def test_links_are_seen_once_and_remembered_in_bounded_number():
    seen = SeenLinks(limit=100)
    seen.add("b")
    assert ["a" in seen, "b" in seen] == [False, True]
    seen = SeenLinks(limit=100)
    assert [seen.add("a"), seen.add("a")] == [True, False]
    for number in range(1000):
        assert seen.add(f"link {number}")
        assert not seen.add("a")  # in use, so never forgotten
        assert len(seen) <= 101
