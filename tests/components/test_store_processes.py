"""Several processes, and processes that are killed: the store stays whole and no change is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import HANGS_SECS
from sqlalchemy import create_engine
from stores import NAME, Place, record

from llmsspider.errors import StoreError
from llmsspider.store.database import source_file
from llmsspider.store.writer import BLOCK

WORKER = Path(__file__).parents[1] / "support" / "store_worker.py"


@contextmanager
def worker(
    place: Place, prefix: str, count: int, *, held: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Start a worker; one that is `held` has begun its run and waits for `release`."""
    path = os.pathsep.join([str(WORKER.parent), str(WORKER.parents[2])])
    process = subprocess.Popen(
        [sys.executable, WORKER, place.url or "-", place.data_dir, prefix, str(count)],
        stdin=subprocess.PIPE if held else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def release(*processes: subprocess.Popen[str]) -> None:
    """Let workers that are held go on, once all of them have begun their runs."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("run ")
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def given(process: subprocess.Popen[str]) -> Iterator[int]:
    """The sequence numbers a worker gives out, as they come."""
    assert process.stdout is not None
    for line in process.stdout:
        word, _, number = line.strip().rpartition(" ")
        if word and word != "run":
            yield int(number)


@pytest.mark.parametrize("after", [1, 700, 1800])
def test_a_killed_run_leaves_a_whole_store_and_its_numbers_are_not_given_again(
    place: Place, after: int
):
    place.open().close()
    with worker(place, "killed", 1_000_000) as process:
        numbers = given(process)
        seen = [next(numbers) for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        seen += list(numbers)
    store = place.open()
    if place.url is None:
        with sqlite3.connect(source_file(place.data_dir, NAME)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    states = store.page_states()
    pages = list(store.iter_pages())
    assert len(states) == len(pages) == store.count_pages() == len(list(store.changes_since(0)))
    assert all(page.record.content and len(page.record.follow) == 50 for page in pages)
    assert {page.seq for page in pages} <= set(range(1, max(seen) + 1))
    assert store.runs()[-1].lost
    run = store.begin_run("crawl", {})
    assert not run.predecessor_clean
    fresh = store.save_page(record("after"), "new")
    assert fresh is not None
    assert fresh > max(seen)


def test_two_runs_of_one_source_both_finish_and_a_reader_by_number_misses_nothing(place: Place):
    place.open().close()
    reader = place.open()
    known: dict[str, str] = {}
    last = 0
    with worker(place, "one", 1500, held=True) as one, worker(place, "two", 1500, held=True) as two:
        release(one, two)
        outputs = [given(one), given(two)]
        while outputs:
            for output in list(outputs):
                for _ in range(100):
                    if next(output, None) is None:
                        outputs.remove(output)
                        break
            for page in reader.changes_since(last):
                assert page.seq > last
                last = page.seq
                known[page.record.url] = page.record.content_hash or ""
        assert (one.wait(), two.wait()) == (0, 0)
    known |= {
        page.record.url: page.record.content_hash or "" for page in reader.changes_since(last)
    }
    assert known == {page.record.url: page.record.content_hash for page in reader.iter_pages()}
    assert len(known) == 500 + 1000 + 1000
    assert [run.outcome for run in reader.runs()] == ["finished", "finished"]
    assert reader.runs()[1].concurrent


def test_a_change_committed_late_gets_a_number_a_reader_has_not_passed(place: Place):
    early, late, reader = place.open(), place.open(), place.open()
    early.begin_run("crawl", {})
    late.begin_run("crawl", {})
    assert early.save_page(record("first"), "new") == 1
    early.flush()
    assert late.save_page(record("b"), "new") == BLOCK + 1
    late.flush()
    passed = reader.last_seq()
    given_out = early.save_page(record("a"), "new")
    early.delete_page(record("first").key, "not_found")
    early.flush()
    assert given_out == 2
    later = [(page.record.url[-5:], page.change) for page in reader.changes_since(passed)]
    assert later == [("ocs/a", "new"), ("first", "deleted")]
    early.save_page(record("c"), "new")
    late.save_page(record("d"), "new")
    early.flush()
    late.flush()
    numbers = [page.seq for page in reader.changes_since(0)]
    assert len(numbers) == len(set(numbers)) == 5


def test_numbers_go_on_without_gaps_when_runs_end_well(place: Place):
    numbers = []
    for _ in range(3):
        with place.open() as store:
            store.begin_run("crawl", {})
            numbers.append(store.save_page(record(f"p{len(numbers)}"), "new"))
            store.finish_run("finished", complete=True, why=None, counts={})
    assert numbers == [1, 2, 3]


def test_more_changes_than_a_block_keep_growing(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    numbers = [store.save_page(record(f"p{number}"), "new") for number in range(BLOCK + 5)]
    assert numbers == list(range(1, BLOCK + 6))
    assert store.last_seq() == BLOCK + 5


def test_a_failed_write_is_told_by_every_later_call(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("llmsspider.store.database.RETRY_SECS", {"sqlite": (0.01, 0.1)})
    store = Place(None, tmp_path).open()
    store.begin_run("crawl", {})
    other = sqlite3.connect(source_file(tmp_path, NAME))
    other.execute("ALTER TABLE page RENAME TO elsewhere")
    other.close()
    store.save_page(record(), "new")
    for call in (
        store.flush,
        lambda: store.save_page(record("b"), "new"),
        lambda: store.finish_run("finished", complete=True, why=None, counts={}),
        store.close,
    ):
        with pytest.raises(StoreError, match="no such table: page"):
            call()
    store.close()


def test_closing_returns_the_log_to_the_file(tmp_path: Path):
    with Place(None, tmp_path).open() as store:
        store.begin_run("crawl", {})
        store.save_page(record(), "new")
        store.flush()
        assert (
            source_file(tmp_path, NAME)
            .with_name(source_file(tmp_path, NAME).name + "-wal")
            .stat()
            .st_size
        )
    assert [path.name for path in tmp_path.iterdir()] == [source_file(tmp_path, NAME).name]


def test_closing_does_not_wait_for_a_reader(tmp_path: Path):
    """The reader goes on when the store is closed: were it waited for, the test would hang."""
    place = Place(None, tmp_path)
    store, reader = place.open(), place.open()
    store.begin_run("crawl", {})
    for path in "ab":
        store.save_page(record(path), "new")
    store.flush()
    pages = reader.iter_pages()
    next(pages)
    store.save_page(record("c"), "new")
    store.close()
    assert len(list(pages)) == 1
    assert reader.count_pages() == 3


def test_a_full_queue_makes_the_caller_wait(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("llmsspider.store.writer.QUEUE_ROWS", 10)
    store = Place(None, tmp_path).open()
    store.begin_run("crawl", {})
    store.flush()
    other = sqlite3.connect(source_file(tmp_path, NAME), check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    marked: list[int] = []

    def mark() -> None:
        for number in range(3000):
            store.touch_page(record(str(number)))
            marked.append(number)

    caller = threading.Thread(target=mark)
    caller.start()
    caller.join(1)
    assert caller.is_alive()
    assert len(marked) < 3000
    other.rollback()
    other.close()
    caller.join(HANGS_SECS)
    assert len(marked) == 3000
    store.close()


@pytest.mark.postgresql
def test_a_dropped_connection_costs_nothing(postgresql_url: str, tmp_path: Path):
    store = Place(postgresql_url, tmp_path).open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    store.flush()
    engine = create_engine(postgresql_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    engine.dispose()
    assert store.load_page(record("a").key) is not None
    store.save_page(record("b"), "new")
    store.flush()
    assert store.load_page(record("b").key) is not None
    store.finish_run("finished", complete=True, why=None, counts={})
    store.close()
