"""A sync without a crawl: the file, and which place gets which source when places and crawls fail."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from llmsspider.commands.sync import report, table
from llmsspider.config.sources import SourceEntry, parse_entries, read_entries
from llmsspider.errors import ArgumentsError, StoreError
from llmsspider.store import SourceRecord, Stores
from llmsspider.sync import nightly
from llmsspider.sync.lock import one_at_a_time
from llmsspider.sync.nightly import Nightly
from llmsspider.sync.node import PlaceFailed
from llmsspider.sync.results import Result

URL = "https://docs.example.com/guide/"


def nothing_stored(_url: str) -> None:
    return None


# --- the file ---


def test_defaults_lie_below_what_a_source_says():
    content = {
        "defaults": {"max_pages": 50, "full": True, "allow": ["/a/**", "/{b,c}/**"]},
        "sources": [
            {"url": URL},
            {"url": "https://example.org/", "source": "named", "max_pages": 7},
        ],
    }
    first, second = parse_entries(content, nothing_stored)
    allow = "/a/**\n/{b,c}/**"
    assert first.arguments == {
        "max_pages": "50",
        "full": "true",
        "allow": allow,
        "url": URL,
        "source": "docs.example.com/guide",
    }
    assert (first.name, second.name) == ("docs.example.com/guide", "named")
    assert second.arguments["max_pages"] == "7"


def test_a_stored_source_keeps_its_name():
    (entry,) = parse_entries({"sources": [{"url": URL}]}, {URL: "stored"}.get)
    assert (entry.name, entry.arguments["source"]) == ("stored", "stored")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, ["it lists no source: write [[sources]] with url or source below it"]),
        (
            {"sources": {"url": URL}},
            ["it lists no source: write [[sources]] with url or source below it"],
        ),
        (
            {"sources": [{"url": URL}], "source": 1},
            ["source is unknown (accepted: [defaults], [[sources]])"],
        ),
        (
            {
                "sources": [
                    {"url": "x"},
                    {"max_pages": 1},
                    {"url": URL, "maxdepth": 2, "full": "perhaps"},
                ]
            },
            [
                "source 1 (x): argument url='x': invalid_url",
                "source 2 (without url and source): argument url is missing",
                f"source 3 ({URL}): argument full='perhaps'",
                f"source 3 ({URL}): argument maxdepth='2' is unknown; did you mean max_depth?",
            ],
        ),
        (
            {"sources": [{"url": URL}], "defaults": {"source": "all"}},
            ["[defaults]: source belongs to one source"],
        ),
        (
            {"sources": [{"url": URL}], "defaults": {"render": "often"}},
            ["[defaults]: argument render='often'"],
        ),
        (
            {"sources": [{"url": URL, "max_pages": 1.5}]},
            [f"source 1 ({URL}): argument max_pages: text, a number"],
        ),
        ({"sources": [{"url": URL, "profile": "none.toml"}]}, [f"source 1 ({URL}): "]),
        (
            {"sources": [{"url": URL}, {"url": f"{URL}intro"}]},
            [
                f"source 2 ({URL}intro): the same source as 1, docs.example.com/guide; name it with source="
            ],
        ),
    ],
    ids=[
        "empty",
        "no list",
        "key",
        "arguments",
        "default",
        "bad default",
        "type",
        "profile",
        "twice",
    ],
)
def test_each_mistake_is_one_line(content: dict[str, Any], said: list[str]):
    with pytest.raises(ArgumentsError) as raised:
        parse_entries(content, nothing_stored)
    problems = raised.value.problems
    assert len(problems) == len(said), problems
    assert all(problem.startswith(line) for problem, line in zip(problems, said, strict=True)), (
        problems
    )


@pytest.mark.parametrize(
    "text", [None, b"[[sources]\n", b"\xff"], ids=["missing", "not TOML", "not UTF-8"]
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, text: bytes | None):
    path = tmp_path / "sources.toml"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ArgumentsError) as raised:
        read_entries(path, nothing_stored)
    (problem,) = raised.value.problems
    assert problem.startswith(f"{path}: ")


# --- places ---


class FakePlace:
    """Crawls as told: `does` gives for each source what happens at each attempt, `ok` where it says nothing."""

    def __init__(
        self, name: str, stores: Stores, does: dict[str, list[str]] | None = None, slots: int = 2
    ):
        self.name, self.slots = name, slots
        self.stores, self.does = stores, does or {}
        self.asked: list[str] = []
        self.jobs: set[str] = set()
        self.down = False

    async def has(self, entry: SourceEntry) -> bool:
        if self.down:
            raise PlaceFailed(f"{self.name} is down")
        return entry.name in self.jobs

    async def crawl(self, entry: SourceEntry) -> str:
        self.asked.append(entry.name)
        what = (self.does.get(entry.name) or ["ok"]).pop(0)
        await asyncio.sleep(0)
        if what == "refused":
            return "exit code 2: argument x is unknown"
        if what == "down":
            self.down = True
        if what in {"down", "down after the end"} or self.down:
            if what == "down after the end":
                self.run(entry, "finished")
            raise PlaceFailed(f"{self.name} is down")
        self.run(entry, what)
        return "exit code"

    def run(self, entry: SourceEntry, what: str) -> None:
        with self.stores.open(entry.name) as store:
            store.upsert_source(SourceRecord(entry.name, URL))
            store.begin_run("crawl", {}, pid=2**22 + 1 if what == "lost" else None)
            if what != "lost":
                counts = {"documents": 3, "changes": {"new": 3}, "delivered": what != "undelivered"}
                outcome = "finished" if what in {"ok", "undelivered"} else what
                store.finish_run(outcome, complete=True, why=None, counts=counts)


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores(None, tmp_path / "store")


def synced(stores: Stores, names: str, *places: FakePlace) -> tuple[dict[str, Result], list[str]]:
    notes: list[str] = []
    entries = [SourceEntry(name, {}) for name in names.split()]
    results = asyncio.run(asyncio.wait_for(Nightly(places, stores, notes.append).sync(entries), 60))
    assert [result.source for result in results] == names.split()
    return {result.source: result for result in results}, notes


def states(results: dict[str, Result]) -> dict[str, str]:
    return {name: result.state for name, result in results.items()}


def test_what_the_store_says_of_the_run_decides(stores: Stores):
    does = {
        "b": ["start_failed"],
        "c": ["closespider_pagecount"],
        "d": ["undelivered"],
        "e": ["refused"],
    }
    results, _ = synced(stores, "a b c d e", FakePlace("here", stores, does))
    assert states(results) == {"a": "ok", "b": "failed", "c": "ok", "d": "failed", "e": "failed"}
    assert [results[name].reason for name in "bde"] == [
        "start_failed",
        "its documents were not delivered",
        "exit code 2: argument x is unknown",
    ]
    assert report(results.values(), 1.0)["documents"] == 12
    assert (
        list(table(results.values(), 61))[-1]
        == "5 sources: 2 ok, 3 failed, 0 skipped; 12 documents, 1 min 1 s"
    )


def test_a_lost_crawl_is_begun_again_and_not_for_ever(stores: Stores):
    place = FakePlace("here", stores, {"a": ["lost", "ok"], "b": ["lost"] * 5}, slots=1)
    results, _ = synced(stores, "a b", place)
    assert states(results) == {"a": "ok", "b": "failed"}
    assert (place.asked.count("a"), place.asked.count("b")) == (2, 3)


def test_a_source_that_is_going_is_skipped(stores: Stores):
    with stores.open("a") as store:
        store.upsert_source(SourceRecord("a", URL))
        run = store.begin_run("crawl", {}, pid=os.getpid())
    place = FakePlace("node", stores)
    place.jobs = {"b"}
    results, _ = synced(stores, "a b c", place)
    assert states(results) == {"a": "skipped", "b": "skipped", "c": "ok"}
    assert run.id in results["a"].reason
    assert place.asked == ["c"]


def test_the_sources_of_a_place_that_fails_go_elsewhere(stores: Stores):
    bad = FakePlace("bad", stores, {name: ["down"] for name in "abcdef"})
    good = FakePlace("good", stores)
    results, notes = synced(stores, "a b c d e f", bad, good)
    assert set(states(results).values()) == {"ok"}
    assert {result.where for result in results.values()} == {"good"}
    assert notes.count("bad is down; its sources go elsewhere") == 1


def test_a_crawl_that_ended_before_its_node_failed_is_not_begun_again(stores: Stores):
    bad = FakePlace("bad", stores, {"a": ["down after the end"]}, slots=1)
    results, _ = synced(stores, "a", bad)
    assert states(results) == {"a": "ok"}


def test_without_a_place_the_rest_has_failed(stores: Stores):
    bad = FakePlace("bad", stores, {name: ["down"] for name in "abc"})
    results, _ = synced(stores, "a b c", bad)
    assert {result.reason for result in results.values()} == {
        "no place is left that could crawl it"
    }
    assert {result.state for result in results.values()} == {"failed"}


def test_a_store_that_cannot_be_read_for_a_while_costs_no_source(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nightly, "WATCH_SECS", 0.2)
    stores.open("a").close()
    (file,) = (tmp_path / "store").glob("a-*.sqlite")
    file.write_bytes(b"this is no database, and never was one" * 100)
    results, _ = synced(stores, "a", FakePlace("here", stores))
    assert states(results) == {"a": "failed"}
    assert file.name in results["a"].reason
    repair = threading.Timer(0.3, file.unlink)
    repair.start()
    results, _ = synced(stores, "a", FakePlace("here", stores))
    repair.join()
    assert states(results) == {"a": "ok"}


def test_two_syncs_do_not_overlap(tmp_path: Path):
    with (
        one_at_a_time(tmp_path),
        pytest.raises(StoreError, match=f"process {os.getpid()}"),
        one_at_a_time(tmp_path),
    ):
        pass
    with one_at_a_time(tmp_path):
        pass


def test_a_source_is_found_by_its_name_alone(stores: Stores):
    assert stores.get("a") is None
    with stores.open("a") as store:
        store.upsert_source(SourceRecord("a", URL))
    found = stores.get("a")
    assert found is not None
    assert found.url == URL
