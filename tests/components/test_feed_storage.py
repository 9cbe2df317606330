"""Local feeds: staged, swapped in, put aside, continued."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from stores import record

from llmsspider.crawler.job import Job
from llmsspider.errors import StoreError
from llmsspider.output import feeds as rows_of
from llmsspider.output.feeds import (
    FeedFile,
    ParquetExporter,
    StagedFileFeedStorage,
    feed_problems,
    unwritable,
)

SPIDER = Spider("test")


def run(*, succeeded: bool = True, resumes: str | None = None) -> SimpleNamespace:
    """What the storage asks of a run."""
    ended = asyncio.Event()
    ended.set()
    outputs = SimpleNamespace(undelivered=[])
    job = Job(resumes=resumes)
    return SimpleNamespace(succeeded=succeeded, job=job, outputs=outputs, ended=ended)


def storage(target: Path, the_run, *, resumable: bool = False, **options) -> StagedFileFeedStorage:
    given = {"overwrite": True, "format": "jsonlines", **options}
    made = StagedFileFeedStorage(str(target), feed_options=given)
    made.run, made.resumable = the_run, resumable
    return made


def write(target: Path, text: str, the_run, **options) -> None:
    feed = storage(target, the_run, **options)
    file = feed.open(SPIDER)
    file.write(text.encode())
    feed.store(file)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A feed with yesterday's documents."""
    path = tmp_path / "out" / "documents.jsonl"
    path.parent.mkdir()
    path.write_text("yesterday\n")
    return path


def test_a_feed_that_succeeded_replaces_the_target_and_leaves_nothing_else(target):
    the_run = run()
    write(target, "today\n", the_run)
    assert target.read_text() == "today\n"
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert the_run.outputs.undelivered == []


def test_while_it_is_written_the_target_is_yesterdays(target):
    feed = storage(target, run())
    with feed.open(SPIDER) as file:
        file.write(b"half")
        file.flush()
        assert target.read_text() == "yesterday\n"
        assert feed.staged.read_text() == "half"


def test_a_feed_of_a_failed_run_is_put_aside_and_counts_as_not_delivered(target, caplog):
    the_run = run(succeeded=False)
    write(target, "half\n", the_run)
    assert target.read_text() == "yesterday\n"
    assert target.with_name("documents.jsonl.partial").read_text() == "half\n"
    assert len(the_run.outputs.undelivered) == 1
    assert "is left as it was" in caplog.text


def test_the_first_feed_of_a_stopped_crawl_is_better_than_none(tmp_path):
    write(tmp_path / "documents.jsonl", "half\n", run(succeeded=False))
    assert (tmp_path / "documents.jsonl").read_text() == "half\n"


def test_a_crawl_that_is_continued_continues_its_feed(tmp_path):
    target = tmp_path / "documents.jsonl"
    write(target, "first\n", run(succeeded=False), resumable=True)
    assert not target.exists()
    write(target, "second\n", run(resumes="run-1"), resumable=True)
    assert target.read_text() == "first\nsecond\n"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("resumes", "options"),
    [(None, {}), ("run-1", {"format": "json"})],
    ids=["a new crawl", "a format of one value"],
)
def test_what_was_put_aside_is_not_continued(target, resumes, options):
    write(target, "first\n", run(succeeded=False))
    write(target, "second\n", run(resumes=resumes), **options)
    assert target.read_text() == "second\n"


def test_an_appending_feed_is_written_as_scrapy_does(target):
    write(target, "today\n", run(), overwrite=False)
    assert target.read_text() == "yesterday\ntoday\n"


@pytest.mark.parametrize("succeeded", [True, False])
def test_a_batch_waits_for_the_end_of_the_crawl(target, succeeded):
    the_run = run(succeeded=succeeded)
    the_run.ended.clear()

    async def work() -> None:
        feed = storage(target, the_run)
        file = feed.open(SPIDER)
        file.write(b"today\n")
        stored = asyncio.ensure_future(feed.store(file))
        await asyncio.sleep(0)
        assert target.read_text() == "yesterday\n"
        the_run.ended.set()
        await stored

    asyncio.run(work())
    assert target.read_text() == ("today\n" if succeeded else "yesterday\n")
    assert len(the_run.outputs.undelivered) == (0 if succeeded else 1)


def test_a_batch_that_replaces_nothing_is_there_once_its_documents_are_stored(tmp_path):
    the_run, seen = run(), []
    the_run.ended.clear()
    the_run.known = SimpleNamespace(
        flush=lambda: seen.append([path.name for path in tmp_path.iterdir()])
    )
    write(tmp_path / "documents-1.jsonl", "today\n", the_run)
    assert seen == [["documents-1.jsonl.part"]]
    assert (tmp_path / "documents-1.jsonl").read_text() == "today\n"


def test_a_batch_whose_documents_cannot_be_stored_is_not_delivered(tmp_path):
    the_run = run()
    the_run.ended.clear()

    def flush() -> None:
        raise StoreError("the disk is full")

    the_run.known = SimpleNamespace(flush=flush)
    with pytest.raises(StoreError):
        write(tmp_path / "documents-1.jsonl", "today\n", the_run)
    assert [path.name for path in tmp_path.iterdir()] == ["documents-1.jsonl.part"]
    assert the_run.outputs.undelivered == [f"{tmp_path / 'documents-1.jsonl'}: the disk is full"]


def test_a_folder_that_is_missing_is_made(tmp_path):
    write(tmp_path / "a" / "b" / "documents.jsonl", "x\n", run())
    assert (tmp_path / "a" / "b" / "documents.jsonl").read_text() == "x\n"


def test_a_target_that_cannot_be_opened_later_counts_as_not_delivered(tmp_path):
    the_run = run()
    feed = storage(tmp_path / "out" / "documents.jsonl", the_run)
    (tmp_path / "out").write_text("a file in place of the folder")
    with pytest.raises(OSError, match="exists"):
        feed.open(SPIDER)
    assert len(the_run.outputs.undelivered) == 1


def test_what_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    assert unwritable(tmp_path / "new.jsonl") is None
    assert unwritable(tmp_path / "a" / "b" / "new.jsonl") is None
    assert unwritable(tmp_path / "file") is None
    assert unwritable(tmp_path) == f"{tmp_path} is a folder"
    assert "is no folder" in str(unwritable(tmp_path / "file" / "new.jsonl"))
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_folder_without_permission():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        child = os.fork()
        if child == 0:  # root may write everywhere, so the question is asked as somebody else
            status = 1
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                status = (
                    0 if "permission denied" in str(unwritable(Path(folder, "new.jsonl"))) else 2
                )
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        Path(folder).chmod(0o700)


def test_a_target_that_cannot_be_written_is_said_at_the_start(tmp_path):
    (tmp_path / "file").touch()
    uri = str(tmp_path / "file" / "documents.jsonl")
    with pytest.raises(NotConfigured, match="is no folder"):
        StagedFileFeedStorage.from_crawler(get_crawler(), uri, feed_options={"overwrite": True})


def test_parquet_needs_pyarrow_and_a_file_of_its_own(target, monkeypatch):
    settings = Settings(
        {
            "FEEDS": {
                str(target): {"format": "parquet"},
                "s3://docs/new.parquet": {"format": "parquet"},
            }
        }
    )
    settings["FEED_EXPORTERS"] = {"parquet": "llmsspider.output.feeds.ParquetExporter"}
    assert feed_problems(settings) == [
        f"feed {target}: nothing can be added to a Parquet file; replace it with -O"
    ]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert feed_problems(settings)[-1] == (
        'feed s3://docs/new.parquet: the extra "parquet" is missing: '
        f"{sys.executable} -m pip install 'pyarrow>=18'"
    )


def test_parquet_is_written_group_by_group(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(rows_of, "ROW_GROUP", 3)
    monkeypatch.setattr(rows_of, "ROW_GROUP_CHARACTERS", 1000)
    contents = ["a", "b", "c", "d" * 1000, "e"]
    with (tmp_path / "docs.parquet").open("wb") as file:
        exporter = ParquetExporter(file)
        exporter.start_exporting()
        for number, content in enumerate(contents):
            page = record(str(number), content)
            exporter.export_item(page.document(source="s", run="r", seq=number, change="new"))
        exporter.finish_exporting()
        assert not file.closed
    found = parquet.ParquetFile(tmp_path / "docs.parquet")
    assert [found.metadata.row_group(n).num_rows for n in range(found.num_row_groups)] == [3, 1, 1]
    assert found.read().column("content").to_pylist() == contents


def test_documents_of_other_spiders_are_delivered_without_a_run(target):
    write(target, json.dumps({"a": 1}), None)
    assert json.loads(target.read_text()) == {"a": 1}


def test_a_feed_with_rows_that_could_not_be_written_is_not_delivered(target, caplog):
    """`/dev/full` is a disk without room; there is room again when the crawl ends."""
    file = FeedFile(io.FileIO("/dev/full", "w"))
    for _ in range(20):
        file.write(b"x" * 1000)
    file.write(b"x" * 100_000)
    the_run = run()
    with pytest.raises(OSError, match="No space left"):
        storage(target, the_run).store(file)
    assert "No space left" in the_run.outputs.undelivered[0]
    assert caplog.text.count("No space left") == 1
    assert target.read_text() == "yesterday\n"
