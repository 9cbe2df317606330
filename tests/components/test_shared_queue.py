"""What workers share in Redis: pages as plain data, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy import Request

from llmsspider.crawl.distributed.scheduler import SharedQueue
from llmsspider.crawl.distributed.start import SharedDiscovery
from llmsspider.crawl.requests import META
from llmsspider.site.discovery import Discovery, FetchResult, FullText


class WorkerGroup:
    """The queue of a crew without Redis: what a worker pushes, or anybody else, is what the next one takes."""

    def __init__(self) -> None:
        self.keys = {"queue": "queue"}
        self.entries: list[bytes] = []

    def push(self, depth: int, data: bytes) -> None:
        self.entries.append(data)

    def take(self, *, busy: bool, exact: bool) -> bytes | None:
        return self.entries.pop(0) if self.entries else None

    def queued(self) -> int:
        return len(self.entries)


class Spider:
    name = "docs"

    def parse(self, response): ...

    def failed(self, failure): ...

    def closed(self, reason): ...


def queue() -> SharedQueue:
    return SharedQueue(WorkerGroup(), Spider())


def page(**changes) -> Request:
    meta = {
        "depth": 2,
        "handle_httpstatus_list": [304],
        META: {"by": "link", "listed": False, "md": "https://example.com/a.md"},
        **changes.pop("meta", {}),
    }
    return Request("https://example.com/a", meta=meta, priority=-2, **changes)


def test_a_page_is_what_it_was():
    shared = queue()
    asked = page(meta={"redirect_urls": ["https://example.com/b"], "redirect_times": 1, "redirect_ttl": 9})
    shared.push(asked)
    taken = shared.pop(busy=True, exact=False)
    assert (taken.url, taken.priority, taken.meta) == (asked.url, asked.priority, asked.meta)
    assert (taken.callback.__name__, taken.errback.__name__, taken.method) == ("parse", "failed", "GET")
    assert shared.pop(busy=True, exact=False) is None


def test_secrets_of_headers_stay_with_the_worker():
    shared = queue()
    shared.push(page(headers={"Authorization": "Bearer secret"}))
    assert b"secret" not in shared._group.entries[0]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(page(meta={"proxy": "http://proxy.example"}), id="proxy"),
        pytest.param(page(meta={"cookiejar": object()}), id="cookies"),
        pytest.param(page(method="POST", body=b"x"), id="body"),
    ],
)
def test_what_is_more_than_a_page_stays_with_the_worker(request_):
    with pytest.raises(TypeError):
        queue().push(request_)


GOOD = {"url": "https://example.com/a", "priority": 0, "depth": 0, "page": {"by": "link"}}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({**GOOD, "_class": "subprocess.Popen"}, id="a class"),
        pytest.param({**GOOD, "callback": "closed"}, id="a callback"),
        pytest.param({**GOOD, "headers": {"Host": ["inside"]}}, id="headers"),
        pytest.param({**GOOD, "meta": {"proxy": "http://evil.example"}}, id="meta"),
        pytest.param({**GOOD, "page": {"by": "link", "nested": True}}, id="a mark that lifts the scope"),
        pytest.param({**GOOD, "url": "http://localhost:PORT/"}, id="no URL"),
        pytest.param({**GOOD, "page": {"by": "link", "md": "file:///etc/passwd"}}, id="a file"),
        pytest.param([1, 2], id="no object"),
    ],
)
def test_what_is_no_page_is_dropped_and_the_next_taken(entry):
    shared = queue()
    shared._group.entries = [json.dumps(entry).encode(), b"\x80\x04not json", json.dumps(GOOD).encode()]
    assert shared.pop(busy=True, exact=False).url == GOOD["url"]
    assert len(shared) == 0


def test_what_a_worker_found_names_no_file_of_this_machine(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("local")
    start = FetchResult("https://example.com/", "https://example.com/", 200)
    full = FetchResult("https://example.com/llms-full.txt", "https://example.com/llms-full.txt", 200)
    found = SharedDiscovery(Discovery(start, start.url, full_texts=[FullText(full.url, full)]))
    told = json.loads(found.to_json())
    for answer in (told["discovery"]["start"], told["discovery"]["full_texts"][0]["answer"]):
        answer["spool"] = str(secret)
        answer["body"] = "planted"
    read = SharedDiscovery.from_json(json.dumps(told).encode()).discovery
    for answer in (read.start, read.full_texts[0].answer):
        assert (answer.spool, answer.body) == (None, b"")
