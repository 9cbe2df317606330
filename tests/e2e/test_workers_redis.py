"""One site crawled by several workers over a real Redis."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from crawling import Outcome, begin_crawl, crawl
from forked import HANGS_SECS
from redis import Redis
from redis_server import redis_url, running_redis  # noqa: F401  (fixture)
from site_server import Seen
from sites import html

from llmsspider.store import Stores

pytestmark = pytest.mark.redis

PAGES = 60


def many(number: int) -> dict[str, Any]:
    """So many pages, each of which links to two below it."""

    def page(title: str, *below: int) -> str:
        links = "".join(f"<a href='/p{n}.html'>{n}</a> " for n in below if n < number)
        return html(title, f"<p>Text of {title}.</p>{links}")

    return {"/": page("Home", 1, 2)} | {
        f"/p{n}.html": page(f"Page {n}", 2 * n + 1, 2 * n + 2) for n in range(1, number)
    }


def together(url: str, folder: Path, redis: str, workers: int = 2, **options: Any) -> list[Outcome]:
    """Crawl with so many workers and one store."""
    places = [folder / f"worker{number}" for number in range(workers)]
    settings = {
        "LLMS_REDIS_URL": redis,
        "LLMS_DATA_DIR": str(folder / "store"),
        **options.pop("settings", {}),
    }

    def work(place: Path) -> Outcome:
        place.mkdir(exist_ok=True)
        return crawl(url, place, settings=settings, **options)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, places))


def both_are_there(redis: str) -> bool:
    """Wait until two workers have joined: a small site is crawled before a slow one has started."""
    deadline = time.monotonic() + HANGS_SECS
    with Redis.from_url(redis) as server:
        while sum(server.hlen(key) for key in server.scan_iter("llmsspider:*:workers")) < 2:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
    return True


def all_are_known(redis: str) -> bool:
    """Whether every page has been queued; until then a worker may have taken all that there is."""
    with Redis.from_url(redis) as server:
        return sum(server.scard(key) for key in server.scan_iter("llmsspider:*:seen")) >= PAGES - 1


def paths_of(outcomes: list[Outcome], url: str, *changes: str) -> Counter[str]:
    found = (row for outcome in outcomes for row in outcome.documents)
    return Counter(row["url"].removeprefix(url) for row in found if not changes or row["change"] in changes)


def test_workers_share_a_crawl_and_its_end(serve, redis_url: str, tmp_path: Path):  # noqa: F811
    pages = many(PAGES)
    home = pages["/"]
    site = serve({**pages, "/": lambda _seen: home if both_are_there(redis_url) else "too late"})
    outcomes = together(f"{site.url}/", tmp_path, redis_url)
    for outcome in outcomes:
        assert outcome.exit_code == 0, outcome.log
        assert "ERROR" not in outcome.log
    asked = Counter(path for path in site.paths() if path in pages)
    assert set(asked.values()) == {1}, asked.most_common(5)
    assert len(asked) == PAGES
    assert paths_of(outcomes, site.url) == Counter(dict.fromkeys(asked, 1))
    assert Counter(site.paths())["/llms.txt"] == 1, "one of them looked for it"
    with Stores(None, tmp_path / "store").open(_source(tmp_path)) as store:
        assert sorted((run.complete, run.counts["workers"]) for run in store.runs()) == [
            (False, 2),
            (True, 2),
        ]
        assert store.count_pages() == PAGES

    for gone in ("/p58.html", "/p59.html"):
        del site.pages[gone]
    site.pages["/p2.html"] = site.pages["/p2.html"].replace("Text of Page 2.", "Another text.")
    outcomes = together(f"{site.url}/", tmp_path, redis_url)
    assert [outcome.exit_code for outcome in outcomes] == [0, 0]
    assert paths_of(outcomes, site.url, "deleted") == {"/p58.html": 1, "/p59.html": 1}
    assert paths_of(outcomes, site.url, "changed") == {"/p2.html": 1}
    assert paths_of(outcomes, site.url, "unchanged").total() == PAGES - 3


def _source(folder: Path) -> str:
    (record,) = Stores(None, folder / "store").list()
    return record.name


def test_a_killed_worker_costs_pages_until_the_next_crawl_and_no_deletion(
    serve: Callable[..., Any],
    redis_url: str,  # noqa: F811
    tmp_path: Path,
):
    taken, killed = threading.Event(), threading.Event()
    calm = [True]

    def slowly(page: str) -> Callable[[Seen], str]:
        def answer(seen: Seen) -> str:
            if "victim" in seen.headers.get("user-agent", seen.headers.get("User-Agent", "")):
                taken.set()
                killed.wait(HANGS_SECS)
            elif not calm[0]:
                taken.wait(HANGS_SECS)  # the other worker goes on once the victim has a page
            return page

        return answer

    pages = {path: html(path, f"<p>Text of {path}.</p>") for path in many(PAGES)}
    pages["/"] = html("Home", "".join(f"<a href='{path}'>{path}</a> " for path in pages))
    home = pages.pop("/")
    site = serve({path: slowly(page) for path, page in pages.items()})
    site.pages["/"] = lambda _seen: home if calm[0] or both_are_there(redis_url) else "too late"
    place, store = tmp_path / "alone", str(tmp_path / "store")
    place.mkdir()
    before = crawl(f"{site.url}/", place, settings={"LLMS_DATA_DIR": store})
    assert len(before.documents) == PAGES

    calm[0] = False
    common = {"LLMS_REDIS_URL": redis_url, "LLMS_DATA_DIR": store, "LLMS_DISCOVERY_TIMEOUT": HANGS_SECS}
    folders = [tmp_path / "survivor", tmp_path / "victim"]
    for folder in folders:
        folder.mkdir()
    survivor = begin_crawl(f"{site.url}/", folders[0], settings=common)
    victim = begin_crawl(f"{site.url}/", folders[1], settings={**common, "LLMS_CONTACT": "victim"})
    try:
        victim.wait_until(lambda: taken.is_set() and all_are_known(redis_url))
        victim.kill()
        killed.set()
        survivor.wait()
    finally:
        survivor.kill()
        victim.kill()
    text = survivor.log
    assert survivor.exitcode == 0, text
    rows = [json.loads(line) for line in (folders[0] / "documents.jsonl").read_text().splitlines()]
    assert 0 < len(rows) < PAGES, "what the victim had taken is missing"
    assert {row["change"] for row in rows} == {"unchanged"}
    assert re.search(r"incomplete \(worker \S+ on \S+ died\)|incomplete \(one of several workers", text), text

    calm[0] = True
    after = crawl(f"{site.url}/", place, settings={"LLMS_DATA_DIR": store})
    assert after.exit_code == 0, after.log
    assert Counter(row["change"] for row in after.documents) == {"unchanged": PAGES}
    assert ": complete, " in after.log


def test_a_redis_that_goes_away_ends_the_crawl_with_one_line(serve: Callable[..., Any], tmp_path: Path):
    program = shutil.which("redis-server")
    assert program is not None
    begun = threading.Event()

    def held(_seen: Seen) -> str:
        begun.set()
        gone.wait(HANGS_SECS)
        return html("Held", "<p>Late.</p><a href='/late.html'>later</a>")

    gone = threading.Event()
    site = serve({**many(5), "/p1.html": held})
    with running_redis(program) as url:
        process = begin_crawl(f"{site.url}/", tmp_path, settings={"LLMS_REDIS_URL": url})
        process.wait_until(begun.is_set)
    gone.set()
    assert process.wait() == 1, process.log
    text = process.log
    assert "Closing spider (redis_lost)" in text
    assert text.count("ERROR: LLMS_REDIS_URL: Redis at 127.0.0.1:") == 1, text
    assert "Traceback" not in text, text
    assert "s3cret" not in text
