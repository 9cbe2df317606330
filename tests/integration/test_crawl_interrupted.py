"""Crawls that are stopped or killed, and what the next one makes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from crawling import ROOT, crawl
from sites import html


def pages(number: int) -> dict:
    def answer(path):
        def page(_seen):
            time.sleep(0.05)
            return html(path, f"<p>The text of {path}.</p>")

        return page

    names = [f"/p{index}.html" for index in range(number)]
    links = "".join(f"<a href='{name}'>x</a> " for name in names)
    return {"/": html("Home", f"<p>Welcome to it.</p>{links}"), **{name: answer(name) for name in names}}


def start(url, folder, *options):
    """Start a real `scrapy crawl` process."""
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "docs", "-a", f"url={url}", "-O", "documents.jsonl"),
        *("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", f"LLMS_DATA_DIR={folder / 'store'}"),
        *("-s", "LLMS_CONVERT_WORKERS=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=2", *options),
    ]
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def contents(outcome):
    return {
        document["url"]: document["content_hash"] for document in outcome.documents if document["content"]
    }


@pytest.mark.parametrize("with_jobdir", [False, True], ids=["plain", "JOBDIR"])
def test_after_kill_9_the_next_run_has_everything_and_deletes_nothing(serve, tmp_path, with_jobdir):
    site = serve(pages(60))
    options = ("-s", f"JOBDIR={tmp_path / 'job'}") if with_jobdir else ()
    process = start(f"{site.url}/", tmp_path, *options)
    wait_for(lambda: len(site.paths()) > 35)
    process.kill()
    process.communicate()
    outcome = crawl(f"{site.url}/", tmp_path, options=options)
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    assert contents(outcome) == contents(crawl(f"{site.url}/", undisturbed))
    assert "deleted" not in {document["change"] for document in outcome.documents}
    assert ("did not end cleanly" in outcome.log) is with_jobdir


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_ends_cleanly_keeps_yesterdays_file_and_reports(serve, tmp_path, how):
    site = serve(pages(60))
    (tmp_path / "documents.jsonl").write_text("yesterday\n")
    process = start(f"{site.url}/", tmp_path)
    wait_for(lambda: len(site.paths()) > 35)
    process.send_signal(how)
    _, log = process.communicate(timeout=60)
    assert (tmp_path / "documents.jsonl").read_text() == "yesterday\n"
    assert (tmp_path / "documents.jsonl.partial").read_text().count("\n") > 5
    assert "incomplete (shutdown)" in log
    assert "documents.jsonl.partial" in log


def test_a_stopped_job_is_continued_and_complete(serve, tmp_path):
    site = serve(pages(40))
    options = ("-s", f"JOBDIR={tmp_path / 'job'}")
    process = start(f"{site.url}/", tmp_path, *options)
    wait_for(lambda: len(site.paths()) > 25)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    first = {path for path in site.paths() if path.startswith("/p") and not path.endswith(".md")}
    site.clear()
    outcome = crawl(f"{site.url}/", tmp_path, options=options)
    second = {path for path in site.paths() if path.startswith("/p") and not path.endswith(".md")}
    assert first | second == {f"/p{index}.html" for index in range(40)}
    assert len(first & second) < 8
    assert "deleted" not in {document["change"] for document in outcome.documents}


def test_a_finished_jobdir_is_crawled_anew(serve, tmp_path):
    site = serve(pages(3))
    options = ("-s", f"JOBDIR={tmp_path / 'job'}")
    crawl(f"{site.url}/", tmp_path, options=options)
    assert len(crawl(f"{site.url}/", tmp_path, options=options).documents) == 4


def test_a_failed_night_leaves_yesterdays_file(serve, tmp_path):
    site = serve(pages(3))
    crawl(f"{site.url}/", tmp_path)
    before = (tmp_path / "documents.jsonl").read_bytes()
    site.pages.clear()
    outcome = crawl(f"{site.url}/", tmp_path)
    assert outcome.exit_code == 1
    assert (tmp_path / "documents.jsonl").read_bytes() == before


def test_a_time_limit_exports_what_there_is_and_says_incomplete(serve, tmp_path):
    site = serve(pages(200))
    options = (
        "-s",
        "CLOSESPIDER_TIMEOUT=3",
        "-s",
        "CONCURRENT_REQUESTS_PER_DOMAIN=1",
        "-s",
        "DOWNLOAD_DELAY=0.1",
    )
    outcome = crawl(f"{site.url}/", tmp_path, options=options)
    assert 0 < len(outcome.documents) < 200
    assert any("incomplete (closespider_timeout)" in line for line in outcome.lines)


def test_no_change_empties_a_feed_of_changes(serve, tmp_path):
    site = serve(pages(2))
    crawl(f"{site.url}/", tmp_path, arguments={"emit": "changes"})
    crawl(f"{site.url}/", tmp_path, arguments={"emit": "changes"})
    assert (tmp_path / "documents.jsonl").read_text() == ""


def test_two_crawls_of_one_source_at_once_both_finish(serve, tmp_path):
    site = serve(pages(30))
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'shared'}")
    processes = [start(f"{site.url}/", folder, *data) for folder in folders]
    logs = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], logs
    last = crawl(f"{site.url}/", folders[0], settings={"LLMS_DATA_DIR": tmp_path / "shared"})
    assert {document["change"] for document in last.documents} == {"unchanged"}
    assert len(last.documents) == 31
