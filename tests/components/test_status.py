"""`scrapy status`: what it says of sources that were never crawled, are going, lost, or done."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from crawling import Outcome, begin, begin_crawl, command
from forked import HANGS_SECS, Forked
from sites import html
from stores import NAME, SITE, Place, record

from llmsspider.crawler.progress import Progress

COUNTS = {"done": 42, "queued": 78, "phase": "crawling", "unchanged": 7, "pages_per_min": 60.0}


@pytest.fixture
def place(tmp_path: Path):
    found = Place(None, tmp_path / "store")
    yield found
    for store in found.opened:
        store.close()


@pytest.fixture
def status(tmp_path: Path) -> Callable[..., Outcome]:
    environment = {"LLMS_DATA_DIR": str(tmp_path / "store")}
    return lambda *words: command("status", *words, cwd=tmp_path, env=environment)


def begun(place: Place, **owner):
    store = place.open()
    store.begin_run("crawl", {}, **owner)
    store.record_error(SITE + "bad", "not_found", "HTTP status 404", 404)
    store.record_filtered("https://x.example/", "offsite", "another site")
    store.heartbeat(COUNTS)
    store.flush()
    return store


def test_without_a_source_that_is_said(status) -> None:
    done = status()
    assert (done.exit_code, done.stdout) == (0, "no sources yet\n")


def test_an_unknown_source_is_a_mistake(status) -> None:
    done = status("nothing")
    assert done.exit_code == 2
    assert (
        done.log
        == "scrapy status: source 'nothing' is not known; `scrapy sources` lists those that are\n"
    )


def test_a_source_never_crawled_is_pending(place, status) -> None:
    place.open()
    assert status(NAME).stdout == f"{NAME}  {SITE}\n  status     PENDING\n"
    assert json.loads(status(NAME, "--json").stdout)["run"] is None


def test_a_run_that_is_going_shows_how_far_it_is_and_what_it_left_out(place, status) -> None:
    begun(place)
    lines = status(NAME).stdout.splitlines()
    assert lines[0] == f"{NAME}  {SITE}"
    assert "  status     CRAWLING" in lines
    assert any(line.startswith("  run ") and line.endswith(", crawling") for line in lines)
    assert "  done       42/120 pages (35%)" in lines
    assert {"  failed     1 (not_found 1)", "  filtered   1 (offsite 1)"} <= set(lines)
    assert lines[-2:] == [
        f"    not_found: {SITE}bad (HTTP status 404)",
        "    offsite: https://x.example/ (another site)",
    ]
    assert any(line.startswith("  began      ") for line in lines)
    assert any(line.startswith("  took       ") for line in lines)


def test_a_run_whose_process_died_is_lost(place, status) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    begun(place, pid=process.pid)
    found = json.loads(status(NAME, "--json").stdout)
    assert (found["status"], found["run"]["state"], found["run"]["percent"]) == ("lost", "lost", 35)
    assert f"process {process.pid} on " in status(NAME).stdout


def test_a_finished_run_is_kept_with_totals_and_changes(place, status) -> None:
    store = begun(place)
    store.save_page(record("a"), "new")
    store.finish_run(
        "finished",
        complete=True,
        why=None,
        counts={
            **COUNTS,
            "done": 2,
            "queued": 0,
            "elapsed_secs": 7.5,
            "documents": 1,
            "changes": {"new": 1},
        },
    )
    text = status().stdout
    assert "  status     INDEXED\n" in text
    assert ", complete\n" in text
    assert "  pages      1\n" in text
    assert "  done       2/2 pages (100%)\n" in text
    assert "  changes    new 1\n" in text
    assert "  took       7.5 s, " in text, "the time of the run's own clock, as the log has it"
    (found,) = json.loads(status("--json").stdout)
    assert found["run"]["errors"]["urls"] == [
        {"url": SITE + "bad", "kind": "not_found", "reason": "HTTP status 404", "status": 404}
    ]


def test_many_urls_of_one_reason_are_cut_in_the_text_and_whole_in_json(place, status) -> None:
    store = begun(place)
    for number in range(30):
        store.record_filtered(f"{SITE}{number}", "trap", "looks endless")
    store.flush()
    assert "    trap: 25 more, see --json\n" in status(NAME).stdout
    found = json.loads(status(NAME, "--json").stdout)
    assert len(found["run"]["filtered"]["urls"]) == 31
    assert found["run"]["filtered"]["by_reason"] == {"offsite": 1, "trap": 30}


def test_watch_follows_a_real_crawl_to_its_end_and_a_killed_one_is_lost(serve, tmp_path) -> None:
    go, under_way = threading.Event(), threading.Event()

    def held(_seen) -> str:
        under_way.set()
        go.wait(HANGS_SECS)
        return html("Held", "<p>Some late text.</p>")

    names = [f"/p{number}.html" for number in range(10)]
    pages = {name: html(name, f"<p>Some text of {name}.</p>") for name in names}
    links = "".join(f"<a href='{name}'>x</a>" for name in [*names, "/held.html"])
    site = serve({"/": html("Home", links), **pages, "/held.html": held})
    environment = {"LLMS_DATA_DIR": str(tmp_path / "store")}

    def start() -> Forked:
        under_way.clear()
        process = begin_crawl(f"{site.url}/", tmp_path)
        assert under_way.wait(HANGS_SECS), process.log
        return process

    process = start()
    process.kill()
    assert "  status     lost\n" in command("status", cwd=tmp_path, env=environment).stdout
    process = start()
    looks = tmp_path / "looks.jsonl"
    words = ("status", "--watch", "--json")
    watch = begin(
        *words, cwd=tmp_path, stdout=looks, stderr=tmp_path / "watch.txt", env=environment
    )
    watch.wait_until(lambda: looks.exists() and looks.read_text().endswith("\n"))
    go.set()
    assert process.wait() == 0
    assert watch.wait() == 0
    seen = [json.loads(line)[0] for line in looks.read_text().splitlines()]
    assert seen[0]["status"] == "CRAWLING"
    assert seen[-1]["status"] == "INDEXED"
    last = seen[-1]["run"]
    assert (last["documents"], last["errors"]["count"], last["done"]) == (
        12,
        2,
        14,
    )  # two links are dead
    assert [look["run"]["done"] for look in seen] == sorted(look["run"]["done"] for look in seen)


def test_a_long_run_keeps_as_many_points_as_a_short_one() -> None:
    progress = Progress()
    for number in range(1000):
        progress.began -= 1
        progress.documents = number
        progress.sample()
    assert 100 < len(progress.timeline) <= 240
    assert progress.timeline[0].done == 0
    assert progress.timeline[-1].done > 980


def test_done_counts_each_page_once() -> None:
    progress = Progress()
    for change in ("new", "unchanged", "deleted"):
        progress.document("html", change)
    progress.error("network", "https://e.com/a", "timeout")
    progress.kept += 1  # whose stored document is the unchanged one
    progress.record_filtered("soft-404", "https://e.com/b", "")
    progress.record_filtered("offsite", "https://x.example/", "")
    counts = progress.counts(queued=1)
    assert (counts["done"], counts["total"], counts["percent"]) == (3, 4, 75)
