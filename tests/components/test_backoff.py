"""What a server sees under Crawl-delay, 429 and Retry-After.

On a busy machine a request can arrive long after it left, so no upper limit of seconds is asked, and no gap
between two arrivals is: they are compared with a moment before which the crawl cannot have sent.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

from engine_crawl import engine_crawl
from loopback import Answer, Arrived, Loopback, loopback, page

from llmsspider.downloadermiddlewares.host_pace import FIRST_DELAY_SECS, MAX_FORBIDDEN

OPEN = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.0/8"}
SLACK = 0.02
"""Seconds that a timer may be early."""


def keeps(server: Loopback, secs: float) -> bool:
    """Whether each page came a wait of `secs` later than the one before, counted from the arrival of robots.txt."""
    read = next(request.at for request in server.requests if request.target == "/robots.txt")
    return all(at - read >= number * secs - SLACK for number, at in enumerate(times(server)))


def times(server: Loopback) -> list[float]:
    return [request.at for request in server.requests if request.target != "/robots.txt"]


def gaps(server: Loopback) -> list[float]:
    """Seconds between arrivals; after an answer that asks to wait none can be too short by the machine's fault."""
    return [later - earlier for earlier, later in pairwise(times(server))]


class RefusesAtFirst:
    """429 or 503 for the first `count` page requests, with the given Retry-After, then pages."""

    def __init__(self, count: int, retry_after: str | None, status: int = 429):
        self.left, self.retry_after, self.status = count, retry_after, status

    def __call__(self, arrived: Arrived) -> Answer:
        if arrived.target == "/robots.txt":
            return 404, {}, b""
        if self.left:
            self.left -= 1
            return (
                self.status,
                {"Retry-After": self.retry_after} if self.retry_after else {},
                b"later",
            )
        return 200, {}, b"now"


def test_crawl_delay_is_kept_for_its_host_only(tmp_path):
    def answer(arrived: Arrived) -> Answer:
        return (
            200,
            {},
            b"User-agent: *\nCrawl-delay: 0.2\n" if arrived.target == "/robots.txt" else b"page",
        )

    def hurried(arrived: Arrived) -> Answer:
        return (404, {}, b"") if arrived.target == "/robots.txt" else (200, {}, b"page")

    with loopback(answer) as slow, loopback(hurried, "127.0.0.2") as fast:
        urls = [server.url(f"/{number}") for number in range(8) for server in (slow, fast)]
        outcome = engine_crawl(tmp_path, urls, settings=OPEN)
    assert (len(slow.pages), len(fast.pages)) == (8, 8)
    assert keeps(slow, 0.2)
    assert {host: delay for host, delay in outcome.delays.items() if delay} == {"127.0.0.1": 0.2}, (
        "the other host does not wait"
    )
    assert "requires a Crawl-delay of 0.2 s" in outcome.log


def test_a_download_delay_is_said_once_for_a_host_that_it_slows(tmp_path):
    with loopback(lambda _arrived: (200, {}, b"page")) as server:
        urls = [server.url(f"/{number}") for number in range(3)]
        slow = engine_crawl(tmp_path, urls, settings={**OPEN, "DOWNLOAD_DELAY": 0.01})
        quick = engine_crawl(tmp_path, urls, settings=OPEN)
    assert slow.log.count("127.0.0.1: 0.01 s between requests, as DOWNLOAD_DELAY") == 1
    assert "between requests, as DOWNLOAD_DELAY" not in quick.log


def test_crawl_delay_of_our_own_group_holds_with_autothrottle(tmp_path):
    robots = b"User-agent: *\nCrawl-delay: 9\n\nUser-agent: llmsspider\nCrawl-delay: 0.3\n"

    def answer(arrived: Arrived) -> Answer:
        return 200, {}, robots if arrived.target == "/robots.txt" else b"page"

    with loopback(answer) as server:
        settings = {**OPEN, "AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01}
        urls = [server.url(f"/{number}") for number in range(5)]
        outcome = engine_crawl(tmp_path, urls, settings=settings)
    assert len(server.pages) == 5
    assert keeps(server, 0.3)
    assert outcome.delays == {"127.0.0.1": 0.3}, "the group of all others does not count"


def test_crawl_delay_is_cut_to_the_longest_wait(tmp_path):
    def answer(arrived: Arrived) -> Answer:
        return (
            200,
            {},
            b"User-agent: *\nCrawl-delay: 86400\n" if arrived.target == "/robots.txt" else b"page",
        )

    with loopback(answer) as server:
        settings = {**OPEN, "AUTOTHROTTLE_MAX_DELAY": 1}
        outcome = engine_crawl(tmp_path, [server.url("/1"), server.url("/2")], settings=settings)
    assert sorted(server.pages) == ["/1", "/2"]
    assert keeps(server, 1)
    assert outcome.delays == {"127.0.0.1": 1}, "not the day that was asked for"


def test_retry_after_in_seconds_pauses_the_host_once(tmp_path):
    with loopback(RefusesAtFirst(1, "2")) as server:
        urls = [server.url(f"/{number}") for number in range(4)]
        settings = {**OPEN, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        outcome = engine_crawl(tmp_path, urls, settings=settings)
    assert [outcome.of(url)["status"] for url in urls] == [200] * 4
    assert gaps(server)[0] >= 2 - SLACK
    assert outcome.delays["127.0.0.1"] < 2, "one pause, then on"
    assert outcome.stats["llms/backoff/429"] == 1


def test_retry_after_as_a_date(tmp_path):
    arrivals: list[datetime] = []
    wait = timedelta(seconds=3)

    def answer(arrived: Arrived) -> Answer:
        if arrived.target == "/robots.txt":
            return 404, {}, b""
        arrivals.append(datetime.now(UTC))
        if len(arrivals) > 1:
            return 200, {}, b"now"
        return 503, {"Retry-After": format_datetime(arrivals[0] + wait, usegmt=True)}, b"later"

    with loopback(answer) as server:
        outcome = engine_crawl(tmp_path, [server.url("/a")], settings=OPEN)
    assert outcome.of(server.url("/a"))["status"] == 200
    first, second = arrivals
    assert second - first >= wait - timedelta(seconds=1), "a date has whole seconds"
    assert outcome.stats["llms/backoff/503"] == 1


def test_refusals_without_a_time_wait_longer_each_time_and_recover(tmp_path):
    with loopback(RefusesAtFirst(2, None)) as server:
        urls = [server.url(f"/{number}") for number in range(12)]
        settings = {**OPEN, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        outcome = engine_crawl(tmp_path, urls, settings=settings)
    assert {outcome.of(url)["status"] for url in urls} == {200}
    assert gaps(server)[0] >= 1 - SLACK
    assert gaps(server)[1] >= 2 - SLACK
    assert outcome.delays["127.0.0.1"] < FIRST_DELAY_SECS * 2, (
        "the pauses were too short, not the distance"
    )


def test_a_page_that_stays_refused_is_rate_limited(tmp_path):
    with loopback(RefusesAtFirst(99, "0")) as server:
        outcome = engine_crawl(tmp_path, [server.url("/a")], settings=OPEN)
    assert server.pages == ["/a"] * 3
    assert (outcome.of(server.url("/a"))["kind"], outcome.of(server.url("/a"))["status"]) == (
        "rate_limited",
        429,
    )


def test_a_host_that_asks_for_an_hour_is_left_alone_and_no_other(tmp_path):
    with loopback(RefusesAtFirst(99, "3600")) as server, loopback(page, "127.0.0.2") as other:
        urls = [server.url(f"/{number}") for number in range(6)]
        others = [other.url(f"/{number}") for number in range(3)]
        settings = {
            **OPEN,
            "AUTOTHROTTLE_MAX_DELAY": 2,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "CONCURRENT_REQUESTS": 1,
        }
        outcome = engine_crawl(tmp_path, [*urls, *others], settings=settings)
    assert len(server.pages) == 1
    assert [outcome.of(url)["kind"] for url in urls] == ["rate_limited"] * 6
    assert [outcome.of(url)["status"] for url in others] == [200] * 3
    assert outcome.stats["llms/blocked/rate-limited"] == 5


def test_a_redirected_request_keeps_the_pace_of_the_host_it_goes_to(tmp_path):
    def slow(arrived: Arrived) -> Answer:
        return (
            200,
            {},
            b"User-agent: *\nCrawl-delay: 0.3\n" if arrived.target == "/robots.txt" else b"page",
        )

    with loopback(slow, "127.0.0.2") as target:

        def redirecting(arrived: Arrived) -> Answer:
            if arrived.target == "/robots.txt":
                return 404, {}, b""
            return 302, {"Location": target.url(arrived.target)}, b""

        with loopback(redirecting) as source:
            urls = [target.url("/first"), *(source.url(f"/{number}") for number in range(4))]
            engine_crawl(tmp_path, urls, settings=OPEN)
    assert len(target.pages) == 5
    assert keeps(target, 0.3)


def test_two_crawls_of_one_host_share_its_crawl_delay(tmp_path):
    """As `scrapy sync --jobs 2` has it, with two sources on one host."""

    def answer(arrived: Arrived) -> Answer:
        return (
            200,
            {},
            b"User-agent: *\nCrawl-delay: 0.3\n" if arrived.target == "/robots.txt" else b"page",
        )

    with loopback(answer, "127.0.0.3") as server, ThreadPoolExecutor() as executor:
        crawls = [
            executor.submit(
                engine_crawl,
                folder,
                [server.url(f"/{n}-{number}") for number in range(5)],
                settings=OPEN,
            )
            for n in range(2)
            if (folder := tmp_path / str(n)).mkdir() is None
        ]
        for crawl in crawls:
            crawl.result()
    assert len(server.pages) == 10
    first = times(server)[0]
    last = times(server)[-1]
    assert last - first >= 9 * 0.3 - 0.3 - SLACK, "each took its turn; the first may arrive late"


def test_a_host_that_forbids_page_after_page_is_not_asked_any_more(tmp_path):
    def answer(arrived: Arrived) -> Answer:
        return (404, {}, b"") if arrived.target == "/robots.txt" else (403, {}, b"no")

    with loopback(answer) as server:
        urls = [server.url(f"/{number}") for number in range(MAX_FORBIDDEN + 8)]
        settings = {**OPEN, "CONCURRENT_REQUESTS": 1}
        outcome = engine_crawl(tmp_path, urls, settings=settings)
    assert len(server.pages) == MAX_FORBIDDEN
    assert outcome.stats["llms/blocked/host-refuses"] == 8
    assert [outcome.of(url)["kind"] for url in urls[-8:]] == ["rate_limited"] * 8


def test_the_highest_rate_holds_where_it_is_set(tmp_path):
    with loopback(RefusesAtFirst(0, None)) as server:
        settings = {**OPEN, "LLMS_MAX_RATE": 10}
        engine_crawl(tmp_path, [server.url(f"/{number}") for number in range(8)], settings=settings)
    read = next(request.at for request in server.requests if request.target == "/robots.txt")
    assert all(at - read >= (number + 1) * 0.1 - SLACK for number, at in enumerate(times(server)))
