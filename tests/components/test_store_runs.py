"""Runs: what they reached, how they ended, and which of them died."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest
from sqlalchemy import update
from stores import NAME, SITE, Place, record

from llmsspider.errors import StoreError
from llmsspider.store import FilteredUrl, PageError, SourceRecord, Stores
from llmsspider.store.records import RunRecord
from llmsspider.store.runs import HEARTBEAT_LIMIT_SECS, new_run_id, status, this_host
from llmsspider.store.schema import run_table


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def silence(store, run: RunRecord, seconds: float) -> None:
    """Make the run's last heartbeat `seconds` old, as a clock would."""
    with store._database.writing() as connection:
        then = time.time() - seconds
        connection.execute(
            update(run_table).where(run_table.c.id == run.id).values(heartbeat_at=then)
        )


def unreached(store) -> list[str]:
    return sorted(state.url.removeprefix(SITE) for state in store.unreached())


def reach(store, path: str) -> None:
    """Note that a page did not change."""
    store.touch_page(record(path))


def first_crawl(place: Place, paths: str = "abcd") -> None:
    store = place.open()
    store.begin_run("crawl", {})
    for path in paths:
        store.save_page(record(path), "new")
    store.finish_run("finished", complete=True, why=None, counts={})
    store.close()


def last_run(place: Place) -> str:
    (listed,) = [one for one in Stores(place.url, place.data_dir).list() if one.name == NAME]
    return listed.last_run


def test_a_finished_run_is_kept_with_its_counts(place: Place):
    store = place.open()
    begun = store.begin_run("crawl", {"url": SITE, "max_pages": 5})
    store.save_page(record(), "new")
    store.heartbeat({"pages": 1})
    assert last_run(place) == ""
    store.finish_run(
        "max_pages", complete=False, why="max_pages=5 was reached", counts={"pages": 5}
    )
    assert last_run(place) == begun.id
    store.begin_run("crawl", {})
    assert last_run(place) == begun.id
    store.close()
    run, _ = place.open().runs()
    assert run.id == begun.id
    assert (run.number, run.kind, run.arguments) == (1, "crawl", {"url": SITE, "max_pages": 5})
    assert (run.outcome, run.complete, run.why) == ("max_pages", False, "max_pages=5 was reached")
    assert run.counts == {"pages": 5}
    assert run.finished_at is not None
    assert run.started_at <= run.heartbeat_at <= run.finished_at
    assert (run.seq_before, run.lost) == (0, False)


def test_a_heartbeat_shows_progress_while_the_run_goes(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    store.record_filtered("u", "out-of-scope")
    store.heartbeat({"pages": 3})
    store.flush()
    (run,) = place.open().runs()
    assert (run.counts, run.filtered, run.finished_at, run.lost) == (
        {"pages": 3},
        {"out-of-scope": 1},
        None,
        False,
    )


def test_a_run_that_goes_is_asked_to_stop_by_another_process(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    assert not store.heartbeat({})
    assert place.open().request_stop()
    assert store.heartbeat({})
    (run,) = place.open().runs()
    assert (run.is_going, run.outcome) == (True, "shutdown")
    store.finish_run("finished", complete=True, why=None, counts={})
    assert not place.open().request_stop()
    assert place.open().runs()[0].outcome == "finished"
    store.begin_run("crawl", {})
    assert not store.heartbeat({}), "what was asked of the run before is over"


def test_run_ids_sort_by_time_and_differ():
    early = new_run_id(datetime(2026, 11, 21, 22, 1, 0, tzinfo=UTC))
    late = new_run_id(datetime(2026, 11, 21, 22, 1, 1, tzinfo=UTC))
    assert early.startswith("20261121T220100-")
    assert early < late
    assert len({new_run_id(datetime.now(UTC)) for _ in range(20)}) == 20


def test_pages_not_reached_are_found(place: Place):
    first_crawl(place)
    store = place.open()
    store.begin_run("crawl", {})
    assert unreached(store) == ["a", "b", "c", "d"]
    reach(store, "a")
    reach(store, "b")
    store.save_page(record("c", raw_hash="00" * 32), "unchanged")
    store.save_page(record("e"), "new")
    assert unreached(store) == ["d"]
    store.delete_page(record("d").key, "unlinked")
    assert unreached(store) == []


def test_a_resumed_run_has_reached_what_its_predecessor_reached(place: Place):
    first_crawl(place)
    killed = place.open()
    dead = killed.begin_run("crawl", {}, dead_pid())
    reach(killed, "a")
    killed.close()
    resumed = place.open()
    begun = resumed.begin_run("crawl", {}, resumes=dead.id)
    reach(resumed, "b")
    assert unreached(resumed) == ["c", "d"]
    assert (begun.predecessor, begun.predecessor_clean) == (dead.id, False)
    resumed.finish_run("finished", complete=False, why="resumed", counts={})
    afresh = place.open()
    afresh.begin_run("crawl", {})
    assert unreached(afresh) == ["a", "b", "c", "d"]


def test_what_a_run_beside_this_one_reaches_is_not_unreached(place: Place):
    first_crawl(place)
    early, late = place.open(), place.open()
    early.begin_run("crawl", {})
    beside = late.begin_run("crawl", {})
    assert (beside.concurrent, beside.predecessor_clean) == (True, True)
    reach(early, "a")
    reach(late, "b")
    for store in (early, late):
        store.flush()
    assert unreached(early) == ["c", "d"]
    assert unreached(late) == ["c", "d"]


def test_a_run_taken_for_lost_that_wakes_again_does_not_unreach_what_a_later_one_reached(
    place: Place,
):
    first_crawl(place)
    asleep, later = place.open(), place.open()
    silence(asleep, asleep.begin_run("crawl", {}), HEARTBEAT_LIMIT_SECS + 1)
    later.begin_run("crawl", {})
    for path in "abcd":
        reach(later, path)
    later.flush()
    asleep.save_page(record("a", "# A2\n"), "changed")
    asleep.save_page(record("b"), "unchanged")
    reach(asleep, "c")
    reach(asleep, "d")
    asleep.flush()
    assert unreached(later) == []


@pytest.mark.parametrize(
    ("pid", "silent_for", "lost"),
    [
        pytest.param(None, 0, False, id="alive"),
        pytest.param(dead_pid, 0, True, id="its process has died on this machine"),
        pytest.param(None, HEARTBEAT_LIMIT_SECS + 5, True, id="silent for too long"),
        pytest.param(None, HEARTBEAT_LIMIT_SECS - 20, False, id="silent, but not for too long"),
    ],
)
def test_a_run_is_lost_when_its_process_died_or_fell_silent(place: Place, pid, silent_for, lost):
    store = place.open()
    begun = store.begin_run("crawl", {}, pid() if pid else None)
    silence(store, begun, silent_for)
    (run,) = store.runs()
    assert run.lost is lost


def test_a_dead_pid_of_another_machine_says_nothing(place: Place):
    store = place.open()
    store.begin_run("crawl", {}, dead_pid(), "elsewhere")
    assert not store.runs()[0].lost
    assert this_host() != "elsewhere"


def test_the_next_run_knows_that_the_one_before_it_died(place: Place):
    first_crawl(place)
    clean = place.open()
    assert clean.begin_run("crawl", {}, dead_pid()).predecessor_clean
    clean.close()
    after = place.open().begin_run("refresh", {})
    assert not after.predecessor_clean
    assert (after.number, after.seq_before) == (3, 4)


def test_a_run_that_a_failed_delivery_left_behind_is_replayed_from_its_seq_before(place: Place):
    first_crawl(place)
    store = place.open()
    run = store.begin_run("crawl", {})
    store.save_page(record("a", "# changed\n"), "changed")
    store.save_page(record("new"), "new")
    changes = [
        (page.record.url, page.change, page.run) for page in store.changes_since(run.seq_before)
    ]
    assert changes == [(SITE + "a", "changed", run.id), (SITE + "new", "new", run.id)]


def test_errors_and_left_out_urls_are_kept_by_name_up_to_a_limit_and_counted_exactly(
    place: Place, monkeypatch
):
    monkeypatch.setattr("llmsspider.store.writer.DETAIL_LIMIT", 3)
    store = place.open()
    run = store.begin_run("crawl", {})
    for number in range(5):
        store.record_filtered(f"{SITE}{number}", "out-of-scope", "scope=auto")
        store.record_error(f"{SITE}{number}", "not_found", "404", 404)
    store.record_filtered(SITE, "robots")
    store.record_error(SITE, "network", "timed out")
    store.finish_run("finished", complete=True, why=None, counts={})
    (kept,) = store.runs()
    assert (kept.filtered, kept.errors) == (
        {"out-of-scope": 5, "robots": 1},
        {"not_found": 5, "network": 1},
    )
    left_out, errors = store.filtered(run), store.errors(run)
    assert left_out == [
        *(FilteredUrl(f"{SITE}{number}", "out-of-scope", "scope=auto") for number in range(3)),
        FilteredUrl(SITE, "robots", None),
    ]
    assert errors[0] == PageError(SITE + "0", "not_found", "404", 404)
    assert errors[-1] == PageError(SITE, "network", "timed out", None)
    assert len(errors) == 4


def test_details_of_runs_long_past_are_dropped_and_their_counts_kept(place: Place, monkeypatch):
    monkeypatch.setattr("llmsspider.store.runs.DETAIL_RUNS", 2)
    store = place.open()
    for _ in range(4):
        store.begin_run("crawl", {})
        store.record_filtered("u", "out-of-scope")
        store.record_error("u", "network", "reset")
        store.finish_run("finished", complete=True, why=None, counts={})
    runs = store.runs()
    assert [(len(store.filtered(run)), len(store.errors(run))) for run in runs] == [
        (0, 0),
        (0, 0),
        (1, 1),
        (1, 1),
    ]
    assert [run.filtered for run in runs] == [{"out-of-scope": 1}] * 4


def test_what_a_source_was_given_comes_back(place: Place):
    store = place.open()
    given = SourceRecord(
        NAME,
        SITE,
        llms_txt=SITE + "llms.txt",
        scope="section",
        arguments={"max_pages": 10},
        says={"title": "Site", "notes": None},
        rights={"e.com": []},
        extractor_version="3",
    )
    store.upsert_source(given)
    first = store.source_record()
    assert first is not None
    given.scope = "host"
    store.upsert_source(given)
    store.close()
    found = place.open().source_record()
    assert found is not None
    assert (found.llms_txt, found.scope, found.arguments) == (
        given.llms_txt,
        "host",
        given.arguments,
    )
    assert (found.says, found.rights) == (given.says, given.rights)
    assert found.extractor_version == "3"
    assert found.created_at == first.created_at
    with pytest.raises(StoreError, match="cannot hold"):
        place.open().upsert_source(SourceRecord("another", SITE))


def state_of(place: Place) -> str:
    (found,) = Stores(place.url, place.data_dir).list()
    return found.status


def test_the_status_of_a_source_follows_its_runs(place: Place):
    store = place.open()
    assert state_of(place) == "PENDING"
    store.begin_run("crawl", {})
    store.save_page(record(), "new")
    store.flush()
    assert state_of(place) == "CRAWLING"
    store.finish_run("finished", complete=True, why=None, counts={})
    assert state_of(place) == "INDEXED"
    begun = store.begin_run("crawl", {})
    assert state_of(place) == "UPDATING"
    silence(store, begun, HEARTBEAT_LIMIT_SECS + 1)
    assert state_of(place) == "lost"
    store.finish_run("start_failed", complete=False, why="404", counts={})
    assert state_of(place) == "ERROR"
    store.begin_run("refresh", {})
    store.finish_run("shutdown", complete=False, why="stopped", counts={})
    assert state_of(place) == "STOPPED"


def test_a_first_run_that_left_nothing_is_an_error_whatever_its_outcome():
    now = datetime.now(UTC)
    ended = RunRecord(
        "r", 1, "s", "crawl", {}, 1, "h", now, now, finished_at=now, outcome="shutdown"
    )
    assert status([ended], pages=0) == "ERROR"
    assert status([ended], pages=1) == "STOPPED"


def test_what_is_learned_of_a_source_is_remembered_by_name(place: Place):
    store = place.open()
    assert store.memory() == {}
    store.remember({"tags": ["a"], "forms": {"e.com": {}}, "nothing": None})
    store.remember({"tags": [], "forms": None})
    assert place.open().memory() == {"tags": [], "forms": {"e.com": {}}}
