"""What the machine does to a crawl: a full disk, outputs that cannot be written, a store that others hold."""

from __future__ import annotations

import json
import random
import sqlite3
import threading

import pytest
from crawling import begin_crawl, crawl
from forked import HANGS_SECS, Forked
from postgresql_server import new_database
from site_server import Site
from sites import html

CHANCE = random.Random(1)
SAYS = "What each of these pages says, whatever stands in the paragraph that comes after this one."
SOON = {"sqlite": (0.01, 0.1), "postgresql": (0.01, 0.1)}


def large_pages(number: int, size: int = 10_000) -> dict[str, str]:
    """A site of pages that do not compress below `size` bytes each."""
    texts = {
        f"/p{n}.html": html(f"P{n}", f"<p>{SAYS}</p><p>{CHANCE.randbytes(size).hex()}</p>")
        for n in range(number)
    }
    return {
        "/": html("Home", "".join(f"<a href='{path}'>x</a> " for path in texts) + "<p>Home.</p>"),
        **texts,
    }


def crawl_with_little_room(
    url: str, folder, bytes_a_file: int, settings: dict | None = None
) -> Forked:
    """Crawl in a process that cannot write more than that into one file, and tries again soon."""
    constants = {"llmsspider.store.database.RETRY_SECS": SOON}
    process = begin_crawl(
        url, folder, settings=settings, bytes_a_file=bytes_a_file, constants=constants
    )
    process.wait()
    return process


def contents(documents) -> dict[str, str]:
    return {row["url"]: row["content_hash"] for row in documents if row["content"]}


def test_a_full_disk_ends_the_run_with_the_reason_and_loses_nothing(serve, tmp_path):
    site: Site = serve(large_pages(3))
    first = crawl(f"{site.url}/", tmp_path)
    yesterday = (tmp_path / "documents.jsonl").read_bytes()
    site.pages = large_pages(8, 200_000)  # one row of the feed is too large
    process = crawl_with_little_room(f"{site.url}/", tmp_path, bytes_a_file=300_000)
    log = process.log
    assert process.exitcode == 1
    assert "ERROR: store_failed: the page store took no more: make room" in log
    assert (
        f"ERROR: {tmp_path}/documents.jsonl.part: File too large; nothing more is written to it"
        in log
    )
    assert "Caught exception" not in log
    assert "item_error" not in log
    assert (tmp_path / "documents.jsonl").read_bytes() == yesterday
    later = crawl(f"{site.url}/", tmp_path)
    assert later.exit_code == 0
    assert len(first.documents) == 4
    assert len(contents(later.documents)) == 9
    assert "deleted" not in {row["change"] for row in later.documents}


def pages(number: int) -> dict:
    """A home page and so many below it."""
    paths = [f"/p{n}.html" for n in range(number)]
    links = "".join(f"<a href='{path}'>x</a> " for path in paths)
    return {
        "/": html("Home", f"<p>Welcome.</p>{links}"),
        **{path: html(path, f"<p>The text of {path}.</p>") for path in paths},
    }


def test_a_store_that_another_process_holds_is_waited_for(serve, tmp_path):
    """It is held while ten pages are asked for."""
    site: Site = serve(pages(40))
    first, last = site.pages["/p20.html"], site.pages["/p30.html"]
    held = []

    def hold(_seen):
        (file,) = (tmp_path / "store").glob("*.sqlite")
        held.append(
            sqlite3.connect(file, timeout=HANGS_SECS, isolation_level=None, check_same_thread=False)
        )
        held[0].execute("BEGIN IMMEDIATE")
        return first

    def release(_seen):
        held[0].rollback()
        held[0].close()
        return last

    site.pages |= {"/p20.html": hold, "/p30.html": release}
    outcome = crawl(f"{site.url}/", tmp_path, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1})
    assert held
    assert outcome.exit_code == 0
    assert len(contents(outcome.documents)) == 41
    assert "lost" not in outcome.log


def test_outputs_that_cannot_be_written_are_said_and_cost_no_document(serve, tmp_path):
    site: Site = serve(pages(3))
    (tmp_path / "file").touch()
    settings = {
        "LLMS_MIRROR_DIR": tmp_path / "file" / "tree",
        "LLMS_REPORT": tmp_path / "file" / "report",
    }
    outcome = crawl(f"{site.url}/", tmp_path, settings=settings)
    assert len(contents(outcome.documents)) == 4
    assert outcome.exit_code == 1
    assert any(line.startswith("not delivered") for line in outcome.lines)
    assert "the Markdown tree was not written: " in outcome.log
    assert "the report could not be written: " in outcome.log
    assert "Traceback" not in outcome.log


@pytest.mark.postgresql
@pytest.mark.parametrize("is_over", [False, True], ids=["meanwhile", "when-the-last-page-is-in"])
def test_a_postgresql_that_is_restarted_costs_nothing(serve, tmp_path, own_postgresql, is_over):
    site: Site = serve(pages(40))
    stopped, go = threading.Event(), threading.Event()
    first, later = site.pages["/p20.html"], site.pages["/p30.html"]

    def stop(_seen):
        own_postgresql.stop()
        stopped.set()
        return first

    def held(_seen):
        assert go.wait(HANGS_SECS)
        return later

    site.pages["/p20.html"] = stop
    if not is_over:
        site.pages["/p30.html"] = held
    settings = {
        "LLMS_STORE_URL": new_database(own_postgresql.url),
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }
    process = begin_crawl(f"{site.url}/", tmp_path, settings=settings)
    process.wait_until(stopped.is_set)
    if is_over:
        process.wait_until(lambda: "/p39.html" in site.paths())
    process.wait_for_log("trying again")
    own_postgresql.start()
    go.set()
    assert process.wait() == 0, process.log
    rows = [json.loads(line) for line in (tmp_path / "documents.jsonl").read_text().splitlines()]
    site.pages |= {"/p20.html": first, "/p30.html": later}
    again = crawl(f"{site.url}/", tmp_path, settings=settings)
    assert {row["change"] for row in again.documents} == {"unchanged"}
    assert contents(again.documents) == contents(rows)
    assert len(again.documents) == 41


def test_a_store_that_is_full_at_the_very_end_is_said_and_yesterdays_feed_stays(serve, tmp_path):
    """The last pages are written when the crawl has ended. There is room for the feed."""
    site: Site = serve(large_pages(3))
    short = {"FEED_EXPORT_FIELDS": "url,content_hash"}
    crawl(f"{site.url}/", tmp_path, settings={**short, "LLMS_DATA_DIR": tmp_path / "yesterday"})
    yesterday = (tmp_path / "documents.jsonl").read_bytes()
    site.pages = large_pages(16)
    process = crawl_with_little_room(f"{site.url}/", tmp_path, bytes_a_file=200_000, settings=short)
    log = process.log
    assert process.exitcode == 1
    assert "Spider closed (" in log  # finished; on a busy machine a batch is written before that
    assert "ERROR: store_failed: the page store took no more: make room" in log
    assert "incomplete (page store " in log
    assert "documents.jsonl is left as it was" in log
    assert (tmp_path / "documents.jsonl").read_bytes() == yesterday
