"""Clocks that jump: the order of runs and changes does not come from them."""

from __future__ import annotations

import time

import pytest
from stores import Place, record

DAY = 86_400.0


class Clock:
    """The wall clock, shifted by `ahead` seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.real = time.time

    def __call__(self) -> float:
        return self.real() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


def crawl(place: Place, *paths: str) -> None:
    with place.open() as store:
        store.begin_run("crawl", {})
        for path in paths:
            store.save_page(record(path), "new")
        store.finish_run("finished", complete=True, why=None, counts={})


def test_a_clock_put_back_between_runs_changes_no_order(place: Place, clock: Clock):
    clock.ahead = DAY
    crawl(place, "a", "b")
    clock.ahead = 0.0
    crawl(place, "c")
    store = place.open()
    assert [run.number for run in store.runs()] == [1, 2]
    assert store.runs()[1].predecessor_clean
    assert not any(run.lost for run in store.runs())
    assert [(page.seq, page.record.url[-1]) for page in store.changes_since(0)] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
    ]
    assert [page.record.url[-1] for page in store.changes_since(2)] == ["c"]


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])
def test_a_clock_that_jumps_in_a_run_costs_nothing(place: Place, clock: Clock, jump: float):
    store, watcher = place.open(), place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    clock.ahead = jump
    store.heartbeat({})
    store.flush()
    assert not watcher.runs()[0].lost
    store.save_page(record("b"), "new")
    assert [state.url[-1] for state in store.unreached()] == []
    store.finish_run("finished", complete=True, why=None, counts={})
    (run,) = watcher.runs()
    assert (run.complete, run.lost, watcher.last_seq()) == (True, False, 2)


def test_a_dead_run_of_another_machine_does_not_live_until_its_clock_is_reached(
    place: Place, clock: Clock
):
    clock.ahead = DAY
    store = place.open()
    store.begin_run("crawl", {}, None, "elsewhere")
    clock.ahead = 0.0
    assert store.runs()[0].lost
    assert not place.open().begin_run("crawl", {}).predecessor_clean
