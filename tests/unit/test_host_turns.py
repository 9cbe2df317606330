"""One budget a host over processes: turns in a file."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3

import pytest
from worker_calls import take_turns

from llmsspider.downloadermiddlewares.turns import FARTHEST_SECS, Turns


@pytest.fixture
def file(tmp_path):
    return tmp_path / "shared" / "turns.sqlite"


@pytest.fixture
def turns(file):
    turns = Turns(file)
    yield turns
    turns.close()


def test_turns_keep_their_distance_whoever_takes_them(file, turns):
    other = Turns(file)
    taken = [who.reserve("e.com", 1.0, 100.0) for who in (turns, other, turns, other)]
    assert taken == [100.0, 101.0, 102.0, 103.0]
    assert turns.reserve("e.org", 1.0, 100.0) == 100.0, "another host has turns of its own"
    assert turns.reserve("e.com", 0.25, 110.0) == 110.0, "turns that nobody took are gone"
    other.close()


def test_a_pause_is_for_all(file, turns):
    other = Turns(file)
    turns.reserve("e.com", 0.0, 160.0)
    assert other.reserve("e.com", 1.0, 100.0) == 160.0
    turns.reserve("e.com", 0.0, 130.0)
    assert other.reserve("e.com", 1.0, 100.0) == 161.0, "a shorter pause does not end it"
    other.close()


def test_turns_of_the_time_before_the_machine_was_started_anew_are_forgotten(turns):
    turns.reserve("e.com", 1.0, 1e9)
    assert turns.reserve("e.com", 1.0, 100.0) == 100.0
    turns.reserve("e.com", 0.0, 100.0 + FARTHEST_SECS / 2)
    assert turns.reserve("e.com", 1.0, 100.0) == 100.0 + FARTHEST_SECS / 2


def test_processes_at_the_same_time_get_different_turns(tmp_path):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for number in range(40):  # each time they make the file at once
            file = str(tmp_path / str(number) / "turns.sqlite")
            taken = [at for found in pool.starmap(take_turns, [(file, 5)] * 4, 1) for at in found]
            assert sorted(taken) == [100.0 + number for number in range(20)]


def test_a_file_that_cannot_be_used_is_said_once_and_costs_nothing_else(file, caplog):
    file.parent.mkdir()
    file.write_bytes(b"no database" * 100)
    turns = Turns(file)
    assert turns.reserve("e.com", 1.0, 100.0) == 100.0
    assert turns.reserve("e.com", 1.0, 100.0) == 100.0
    turns.reserve("e.com", 0.0, 200.0)
    (record,) = caplog.records
    assert "crawls of one host at the same time do not share its pace" in record.getMessage()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of folders here")
def test_a_folder_that_others_may_write_to_is_not_used(file, turns, caplog):
    file.parent.mkdir()
    file.parent.chmod(0o777)
    assert turns.reserve("e.com", 1.0, 100.0) == 100.0
    assert "belongs to somebody else" in caplog.text
    assert not file.exists()


def test_a_crawl_that_was_killed_leaves_a_file_that_works(file, turns):
    turns.reserve("e.com", 1.0, 100.0)
    turns.close()
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT host, next FROM turns").fetchall() == [("e.com", 101.0)]
    connection.close()
