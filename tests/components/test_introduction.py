"""What a site's llms.txt says of it: kept with the source, at the head of what is made of its pages."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from stores import NAME, SITE, record

from llmsspider.commands.sources import as_rows, as_table
from llmsspider.output.exports import write_flat
from llmsspider.output.mirror import sync
from llmsspider.store import SourceRecord, open_store

SAYS = {
    "title": "The\n\x1b[31mthing",
    "summary": "What it is.",
    "notes": "Read [this](https://e.com/a) first.",
}
HEAD = "# The \x1b[31mthing\n\n> What it is.\n\nRead [this](https://e.com/a) first.\n\n"


@pytest.fixture
def store(tmp_path: Path):
    with open_store(None, tmp_path / "store", NAME) as opened:
        opened.upsert_source(SourceRecord(NAME, SITE, says=SAYS))
        opened.begin_run("crawl", {})
        opened.save_page(record("a"), "new")
        yield opened


def test_index_and_flat_export_begin_with_title_and_introduction(store, tmp_path: Path):
    sync(store, tmp_path / "tree")
    assert (
        (tmp_path / "tree/index.md")
        .read_text(encoding="utf-8")
        .startswith(f"{HEAD}For the instructions")
    )
    out = io.BytesIO()
    write_flat(store, out)
    assert out.getvalue().decode() == f"{HEAD}# A\n\nSource: {SITE}a\n\n\n\n"
    small = io.BytesIO()
    assert write_flat(store, small, budget=1).size == 0
    assert small.getvalue() == b""


def test_sources_shows_the_title(store):
    header, line = as_table([store.source_record()]).splitlines()
    assert header.split() == ["SOURCE", "STATUS", "PAGES", "URL", "TITLE"]
    assert line.endswith(f"{SITE}  The \\x1b[31mthing")
    (found,) = as_rows([store.source_record()])
    assert {name: found[name] for name in SAYS} == SAYS


def test_a_source_that_says_nothing_has_no_introduction():
    record = SourceRecord(NAME, SITE, says={"title": 1, "summary": "x"})
    assert record.introduction == ""
    assert as_table([record]).splitlines()[0].split() == ["SOURCE", "STATUS", "PAGES", "URL"]
