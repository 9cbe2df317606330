from __future__ import annotations

import threading
import time

import pytest
from engine_crawl import engine_crawl
from forked import HANGS_SECS
from loopback import Answer, Arrived, loopback


class CountsVisitors:
    """Pages that wait until `limit` are asked for at a time, once; `most` is the largest number at a time."""

    def __init__(self, limit: int) -> None:
        self.lock, self.now, self.most = threading.Lock(), 0, 0
        self.limit, self.reached = limit, threading.Event()

    def __call__(self, arrived: Arrived) -> Answer:
        if arrived.target == "/robots.txt":
            return 404, {}, b""
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        if self.now >= self.limit:
            self.reached.set()
        self.reached.wait(HANGS_SECS)
        time.sleep(0.05)  # time for one too many
        with self.lock:
            self.now -= 1
        return 200, {}, b"page"


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_requests_at_a_time_than_the_limit(tmp_path, limit):
    visitors = CountsVisitors(limit)
    with loopback(visitors) as server:
        urls = [server.url(f"/{number}") for number in range(15)]
        settings = {
            "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
            "CONCURRENT_REQUESTS_PER_DOMAIN": limit,
        }
        outcome = engine_crawl(tmp_path, urls, settings=settings)
    assert [outcome.of(url)["status"] for url in urls] == [200] * 15
    assert visitors.most == limit
