"""What the machine does to a crawl: a full disk, outputs that cannot be written, a store that others hold."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from crawling import ROOT, crawl
from postgresql_server import new_database
from site_server import Site
from sites import html

CHANCE = random.Random(1)


def large_pages(number: int) -> dict[str, str]:
    """A site of pages that do not compress well, 20 KB each."""
    texts = {f"/p{n}.html": html(f"P{n}", f"<p>{CHANCE.randbytes(10_000).hex()}</p>") for n in range(number)}
    return {
        "/": html("Home", "".join(f"<a href='{path}'>x</a> " for path in texts) + "<p>Home.</p>"),
        **texts,
    }


def crawl_with_little_room(url: str, folder, *options: str, bytes_a_file: int) -> tuple[int, str]:
    """Crawl in a process that cannot write more than that into one file; returns exit code and log."""
    words = [
        *(sys.executable, "-m", "scrapy", "crawl", "docs", "-a", f"url={url}", "-O", "documents.jsonl"),
        *("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", f"LLMS_DATA_DIR={folder / 'store'}"),
        *("-s", "LLMS_CONVERT_WORKERS=0", *options),
    ]
    limited = ["sh", "-c", f'ulimit -f {bytes_a_file // 512}; exec "$@"', "sh", *words]
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # its data file is larger than the limit
    done = subprocess.run(
        limited, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    return done.returncode, done.stderr


def contents(documents) -> dict[str, str]:
    return {row["url"]: row["content_hash"] for row in documents if row["content"]}


def test_a_full_disk_ends_the_run_with_the_reason_and_loses_nothing(serve, tmp_path):
    site: Site = serve(large_pages(3))
    first = crawl(f"{site.url}/", tmp_path)
    yesterday = (tmp_path / "documents.jsonl").read_bytes()
    site.pages = large_pages(40)
    code, log = crawl_with_little_room(f"{site.url}/", tmp_path, bytes_a_file=300_000)
    assert code == 1
    assert "ERROR: store_failed: the page store took no more: make room" in log
    assert "ERROR: documents.jsonl.part: File too large; nothing more is written to it" in log
    assert "Caught exception" not in log
    assert "item_error" not in log
    assert (tmp_path / "documents.jsonl").read_bytes() == yesterday
    later = crawl(f"{site.url}/", tmp_path)
    assert later.exit_code == 0
    assert len(first.documents) == 4
    assert len(contents(later.documents)) == 41
    assert "deleted" not in {row["change"] for row in later.documents}


def slow_pages(number: int) -> dict:
    """Pages that take a moment, so that something can happen while they are crawled."""

    def page(seen):
        time.sleep(0.05)
        return html(seen.path, f"<p>The text of {seen.path}.</p>")

    paths = [f"/p{n}.html" for n in range(number)]
    links = "".join(f"<a href='{path}'>x</a> " for path in paths)
    return {"/": html("Home", f"<p>Welcome.</p>{links}"), **dict.fromkeys(paths, page)}


def meanwhile(happens: Callable[[], None], site: Site, after: int) -> threading.Thread:
    """Do something when the site has answered so many requests."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while len(site.paths()) < after and time.monotonic() < deadline:
            time.sleep(0.01)
        happens()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_store_that_another_process_holds_is_waited_for(serve, tmp_path):
    site: Site = serve(slow_pages(40))
    held = []

    def hold() -> None:
        (file,) = (tmp_path / "store").glob("*.sqlite")
        other = sqlite3.connect(file, timeout=60, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        began = len(site.paths())
        time.sleep(2)
        held.append(len(site.paths()) - began)
        other.rollback()
        other.close()

    thread = meanwhile(hold, site, after=25)
    outcome = crawl(f"{site.url}/", tmp_path, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2})
    thread.join()
    assert held[0] > 0
    assert outcome.exit_code == 0
    assert len(contents(outcome.documents)) == 41
    assert "lost" not in outcome.log


def test_outputs_that_cannot_be_written_are_said_and_cost_no_document(serve, tmp_path):
    site: Site = serve(slow_pages(3))
    (tmp_path / "file").touch()
    settings = {"LLMS_MIRROR_DIR": tmp_path / "file" / "tree", "LLMS_REPORT": tmp_path / "file" / "report"}
    outcome = crawl(f"{site.url}/", tmp_path, settings=settings)
    assert len(contents(outcome.documents)) == 4
    assert outcome.exit_code == 1
    assert any(line.startswith("not delivered") for line in outcome.lines)
    assert "the Markdown tree was not written: " in outcome.log
    assert "the report could not be written: " in outcome.log
    assert "Traceback" not in outcome.log


@pytest.mark.postgresql
@pytest.mark.parametrize("away_secs", [1, 4], ids=["meanwhile", "when-the-last-page-is-in"])
def test_a_postgresql_that_is_restarted_costs_nothing(serve, tmp_path, own_postgresql, away_secs):
    site: Site = serve(slow_pages(80))

    def restart() -> None:
        own_postgresql.stop()
        time.sleep(away_secs)
        own_postgresql.start()

    thread = meanwhile(restart, site, after=30)
    settings = {"LLMS_STORE_URL": new_database(own_postgresql.url), "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    outcome = crawl(f"{site.url}/", tmp_path, settings=settings)
    thread.join()
    assert outcome.exit_code == 0
    assert "trying again" in outcome.log
    again = crawl(f"{site.url}/", tmp_path, settings=settings)
    assert {row["change"] for row in again.documents} == {"unchanged"}
    assert contents(again.documents) == contents(outcome.documents)
    assert len(again.documents) == 81


def test_a_store_that_is_full_at_the_very_end_is_said_and_yesterdays_feed_stays(serve, tmp_path):
    """The last pages are written when the crawl has ended. There is room for the feed."""
    site: Site = serve(large_pages(3))
    short = ("-s", "FEED_EXPORT_FIELDS=url,content_hash")
    settings = {"FEED_EXPORT_FIELDS": "url,content_hash", "LLMS_DATA_DIR": tmp_path / "yesterday"}
    crawl(f"{site.url}/", tmp_path, settings=settings)
    yesterday = (tmp_path / "documents.jsonl").read_bytes()
    site.pages = large_pages(16)
    code, log = crawl_with_little_room(f"{site.url}/", tmp_path, *short, bytes_a_file=200_000)
    assert code == 1
    assert "Spider closed (finished)" in log
    assert "ERROR: store_failed: the page store took no more: make room" in log
    assert "incomplete (page store " in log
    assert "documents.jsonl is left as it was" in log
    assert (tmp_path / "documents.jsonl").read_bytes() == yesterday
