"""Which JOBDIR is continued and which is discarded."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmsspider.crawler.job import MARKER, Job, left_job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A JOBDIR as Scrapy leaves it, with a file of somebody else."""
    (tmp_path / "requests.queue").mkdir()
    (tmp_path / "requests.queue" / "active.json").write_text("{}")
    for name in ("requests.seen", "spider.state", "mine.txt"):
        (tmp_path / name).write_text("x")
    return tmp_path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_stopped_crawl_is_continued(folder):
    Job(str(folder), earlier=("run-1",)).mark("run-2", "shutdown")
    before = left(folder)
    assert left_job(str(folder)) == Job(str(folder), "run-2", ("run-1", "run-2"))
    assert left(folder) == before


@pytest.mark.parametrize(
    ("marker", "warned"),
    [
        pytest.param(None, True, id="no marker: killed before it was written"),
        pytest.param('{"run": "run-1", "outcome": null}', True, id="killed while it ran"),
        pytest.param("{", True, id="a marker that was cut off"),
        pytest.param("[]", True, id="a marker of another form"),
        pytest.param(
            '{"run": "", "outcome": "shutdown"}', False, id="stopped before the run began"
        ),
        pytest.param('{"run": "run-1", "outcome": "finished"}', False, id="finished"),
        pytest.param(
            '{"run": "run-1", "outcome": "closespider_timeout"}', False, id="ended by a limit"
        ),
        pytest.param('{"run": "run-1", "outcome": "start_failed"}', False, id="failed"),
    ],
)
def test_what_cannot_be_continued_is_discarded(folder, caplog, marker, warned):
    if marker is not None:
        (folder / MARKER).write_text(marker)
    assert left_job(str(folder)).resumes is None
    assert left(folder) == {"mine.txt"}
    assert ("did not end cleanly" in caplog.text) is warned


def test_a_killed_crawl_leaves_the_runs_whose_rows_a_feed_may_hold(folder):
    Job(str(folder), earlier=("run-1",)).mark("run-2", None)
    assert left_job(str(folder)) == Job(str(folder), None, ("run-1", "run-2"))


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_jobdir_nothing_is_done(path):
    assert left_job(path) == Job(path)
    left_job(path).mark("run-1", None)


def test_a_new_folder_is_a_new_crawl(tmp_path):
    assert left_job(str(tmp_path)) == Job(str(tmp_path))
    missing = left_job(str(tmp_path / "missing"))
    assert missing.resumes is None
    missing.mark("run-1", None)
    assert not (tmp_path / "missing").exists()
