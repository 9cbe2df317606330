"""`scrapy sync --scrapyd`: two real Scrapyd nodes and one PostgreSQL."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from crawling import command
from forked import HANGS_SECS
from scrapyd_server import PROJECT, egg, running_scrapyd  # noqa: F401  (fixture)
from sites import MARKDOWN, PLAIN

from llmsspider.store import Stores

pytestmark = [pytest.mark.scrapyd, pytest.mark.postgresql]

SOURCES = 3


def test_two_nodes_share_the_sources_and_a_third_that_is_down_costs_nothing(
    egg: Path,  # noqa: F811
    postgresql_url: str,
    serve,
    tmp_path: Path,
):
    sites = [serve(MARKDOWN if number % 2 else PLAIN) for number in range(SOURCES)]
    (tmp_path / "sources.toml").write_text(
        "".join(
            f'[[sources]]\nurl = "{site.url}/"\nsource = "s{number}"\n'
            for number, site in enumerate(sites)
        )
    )
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        running_scrapyd(folders[0], items_dir="") as one,
        running_scrapyd(folders[1], items_dir="") as two,
    ):
        for node in (one, two):
            node.add_version(egg)
        nodes = [one.url, two.url, "http://user:secret@127.0.0.1:9"]
        settings = [
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
            "-s",
            f"LLMS_STORE_URL={postgresql_url}",
        ]
        settings += ["-s", "LLMS_CONVERT_WORKERS=0"]
        done = command(
            "sync",
            "--jobs",
            "1",
            *settings,
            "--json",
            "--scrapyd",
            *nodes,
            "sources.toml",
            cwd=tmp_path,
            constants={
                "llmsspider.sync.node.ANSWER_SECS": HANGS_SECS
            },  # a node starts a process before it answers
        )
        logs = [list((folder / "logs" / PROJECT / "docs").glob("*.log")) for folder in folders]
    said = {
        text.partition("`scrapy export ")[2][:2]: text
        for file in chain(*logs)
        for text in [file.read_text()]
    }
    for source, log in said.items():
        assert "WARNING: no output is configured: the documents are in the store only" in log
        assert "documents: " in log and "ERROR" not in log, source
    assert set(said) == {"s0", "s1", "s2"}
    assert done.exit_code == 0, done.log
    report = json.loads(done.stdout)
    assert report["ok"] == SOURCES, done.log
    assert {row["source"]: row["documents"] for row in report["sources"]} == {
        "s0": 4,
        "s1": 3,
        "s2": 4,
    }
    where = Counter(row["where"] for row in report["sources"])
    assert set(where) == {one.url, two.url}
    assert [len(found) for found in logs] == [where[one.url], where[two.url]]
    assert "http://127.0.0.1:9: " in done.log
    assert "its sources go elsewhere" in done.log
    assert "secret" not in done.log + done.stdout
    assert [record.pages for record in Stores(postgresql_url).list()] == [4, 3, 4]
    assert not list(tmp_path.rglob("*.sqlite"))
