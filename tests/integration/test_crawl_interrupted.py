"""Crawls that are stopped or killed, and what the next one makes of it."""

from __future__ import annotations

import json
import re
import signal
import threading
from typing import Any

import pytest
from crawling import begin, begin_crawl, command, crawl, crawl_words
from forked import HANGS_SECS, Forked
from site_server import Site
from sites import html

TWO_AT_A_TIME = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2}


def pages(number: int) -> dict[str, str]:
    """A home page and so many below it."""
    names = [f"/p{index}.html" for index in range(number)]
    links = "".join(f"<a href='{name}'>x</a> " for name in names)
    return {
        "/": html("Home", f"<p>Welcome to it.</p>{links}"),
        **{name: html(name, f"<p>The text of {name}.</p>") for name in names},
    }


class Half:
    """A site of which half is crawled: from the page with the number `after` on, each is held until `go` is set."""

    def __init__(self, serve, number: int, after: int):
        self.go, self.reached = threading.Event(), threading.Event()
        self.site: Site = serve(pages(number))
        for index in range(after, number):
            self.hold(f"/p{index}.html", self.site.pages[f"/p{index}.html"])

    def hold(self, path: str, page: str) -> None:
        """Answer with a page once `go` is set."""

        def held(_seen: object) -> str:
            self.reached.set()
            self.go.wait(HANGS_SECS)
            return page

        self.site.pages[path] = held

    def begin(self, folder, *words: str, **settings) -> Forked:
        """Start a crawl and wait until it is half-way."""
        given = {**TWO_AT_A_TIME, **settings}
        process = begin_crawl(f"{self.site.url}/", folder, settings=given, words=words)
        process.wait_until(self.reached.is_set)
        return process


def contents(outcome):
    return {
        document["url"]: document["content_hash"]
        for document in outcome.documents
        if document["content"]
    }


@pytest.mark.parametrize("with_jobdir", [False, True], ids=["plain", "JOBDIR"])
def test_after_kill_9_the_next_run_has_everything_and_deletes_nothing(serve, tmp_path, with_jobdir):
    half = Half(serve, 30, after=15)
    url = f"{half.site.url}/"
    options = ("-s", f"JOBDIR={tmp_path / 'job'}") if with_jobdir else ()
    half.begin(tmp_path, *options).kill()
    half.go.set()
    outcome = crawl(url, tmp_path, options=options)
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    assert contents(outcome) == contents(crawl(url, undisturbed))
    assert "deleted" not in {document["change"] for document in outcome.documents}
    assert ("did not end cleanly" in outcome.log) is with_jobdir


def test_a_job_adds_each_page_once_to_its_feed_however_often_it_is_killed(serve, tmp_path):
    """The last row of a killed crawl may be cut off; a page that changed meanwhile is told again."""
    half = Half(serve, 30, after=15)
    for number in range(15):  # rows larger than the buffer of the file
        text = f"<p>The text of page {number}.</p>" + f"<p>{number} and more. </p>" * 800
        half.site.pages[f"/p{number}.html"] = html(f"Page {number}", text)
    feed = tmp_path / "all.jsonl"
    given = {**TWO_AT_A_TIME, "JOBDIR": tmp_path / "job"}
    words = [*crawl_words(f"{half.site.url}/", tmp_path, given)[:-2], "-o", str(feed)]
    output = {"stdout": tmp_path / "stdout.txt", "stderr": tmp_path / "log.txt"}

    def told() -> int:
        return feed.read_bytes().count(b"\n") if feed.exists() else 0

    for _kill in range(2):
        half.reached.clear()
        process = begin(*words, cwd=tmp_path, **output)
        process.wait_until(lambda: half.reached.is_set() and told())
        process.kill()
        with feed.open("ab") as file:
            file.write(b'{"id": "cut o')
    changed = f"{half.site.url}/p0.html"
    half.site.pages["/p0.html"] = half.site.pages["/p0.html"].replace("The text", "Another text")
    half.go.set()

    def rows() -> list[dict[str, Any]]:
        return [json.loads(line) for line in feed.read_text().splitlines()]

    assert command(*words, cwd=tmp_path).exit_code == 0
    urls = [row["url"] for row in rows()]
    assert set(urls) == {f"{half.site.url}{path}" for path in pages(30)}
    assert {url for url in urls if urls.count(url) > 1} <= {changed}
    (*_, last) = (row for row in rows() if row["url"] == changed)
    assert "Another text" in last["content"]
    command(*words, cwd=tmp_path)
    assert len(rows()) == len(urls) + 31, "a new crawl adds its rows"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_ends_cleanly_keeps_yesterdays_file_and_reports(serve, tmp_path, how):
    half = Half(serve, 30, after=15)
    (tmp_path / "documents.jsonl").write_text("yesterday\n")
    process = half.begin(tmp_path)
    process.send_signal(how)
    half.go.set()
    process.wait()
    assert (tmp_path / "documents.jsonl").read_text() == "yesterday\n"
    assert (tmp_path / "documents.jsonl.partial").read_text().count("\n") > 5
    assert "incomplete (shutdown)" in process.log
    assert "documents.jsonl.partial" in process.log


def test_pages_that_wait_for_their_markdown_are_stored_when_a_crawl_is_stopped(serve, tmp_path):
    half = Half(serve, 12, after=11)
    listed = {
        f"/docs/d{number}.md": f"# Page {number}\n\n" + "Some text. " * 50 for number in range(5)
    }
    half.site.pages |= listed
    half.site.pages["/llms.txt"] = "# Site\n\n" + "".join(
        f"- [{path[6:8]}]({path})\n" for path in listed
    )
    process = half.begin(tmp_path)
    process.send_signal(signal.SIGINT)
    half.go.set()
    process.wait()
    (waited,) = re.findall(r"'llms/stored-at-stop': (\d+)", process.log)
    data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    source = half.site.url.partition("//")[2]
    rows = command("export", source, "--since", "0", *data, cwd=tmp_path).stdout.splitlines()
    (exported,) = re.findall(r"documents: (\d+)", process.log)
    assert int(waited) > 0
    assert len(rows) == int(exported) + int(waited)
    assert any("/p0.html" in row and "The text of /p0.html." in row for row in rows)


def test_a_stopped_job_is_continued_and_complete(serve, tmp_path):
    half = Half(serve, 30, after=15)
    site = half.site
    options = ("-s", f"JOBDIR={tmp_path / 'job'}")
    process = half.begin(tmp_path, *options)
    process.send_signal(signal.SIGINT)
    half.go.set()
    process.wait()
    first = {path for path in site.paths() if path.startswith("/p") and not path.endswith(".md")}
    site.clear()
    outcome = crawl(f"{site.url}/", tmp_path, options=options)
    second = {path for path in site.paths() if path.startswith("/p") and not path.endswith(".md")}
    assert first | second == {f"/p{index}.html" for index in range(30)}
    assert len(first & second) < 8
    assert "deleted" not in {document["change"] for document in outcome.documents}


def test_a_continued_job_keeps_to_its_scope_from_the_first_request_on(serve, tmp_path):
    half = Half(serve, 30, after=2)
    links = '<p>Told elsewhere: <a href="/blog/1.html">news</a>.</p>'
    for number in range(2, 30):
        half.hold(
            f"/p{number}.html", html(f"Page {number}", f"<p>The text of page {number}.</p>{links}")
        )
    half.site.pages["/blog/1.html"] = html("News", "<p>This is blocked.</p>")
    options = ("-s", f"JOBDIR={tmp_path / 'job'}", "-a", "block=/blog/**")
    process = half.begin(tmp_path, *options)
    process.send_signal(signal.SIGINT)
    process.wait_for_log("Closing spider (shutdown)")
    half.go.set()
    process.wait()
    outcome = crawl(f"{half.site.url}/", tmp_path, options=options)
    assert len(outcome.documents) > 20
    assert "/blog/1.html" not in half.site.paths()


def test_a_job_delivers_what_a_crawl_without_one_does_stopped_or_not(serve, tmp_path):
    """The home page comes before it is known how the site names its Markdown, and waits for that."""
    half = Half(serve, 12, after=6)
    paths = [f"/p{number}.html" for number in range(12)]
    twins = {f"/p{number}/index.md": f"# Page {number}\n\nIts Markdown.\n" for number in range(12)}
    half.site.pages |= twins | {"/index.md": "# Home\n\nThe Markdown of the home page.\n"}
    half.site.pages["/llms.txt"] = "# Site\n\n" + "".join(
        f"- [Page]({path})\n" for path in ["/no.md", *twins]
    )
    links = "".join(f"<a href='{path}'>x</a> " for path in paths)
    half.site.pages["/"] = html("Home", f"<p>Welcome to it.</p>{links}")
    half.go.set()

    def delivered(*folders: str, options: tuple[str, ...] = ()) -> dict[str, str]:
        rows = [
            row
            for name in folders
            for row in crawl(f"{half.site.url}/", tmp_path / name, options=options).documents
        ]
        return {row["url"]: row["content_hash"] for row in rows}

    for name in ("plain", "job", "stopped"):
        (tmp_path / name).mkdir()
    expected = delivered("plain")
    assert delivered("job", options=("-s", f"JOBDIR={tmp_path / 'job' / 'job'}")) == expected
    options = ("-s", f"JOBDIR={tmp_path / 'stopped' / 'job'}")
    half.go.clear()
    half.reached.clear()
    process = half.begin(tmp_path / "stopped", *options)
    process.send_signal(signal.SIGINT)
    process.wait_for_log("Closing spider (shutdown)")
    half.go.set()
    process.wait()
    partial = (tmp_path / "stopped" / "documents.jsonl.partial").read_text().splitlines()
    first = {row["url"]: row["content_hash"] for row in map(json.loads, partial)}
    assert first | delivered("stopped", options=options) == expected


def test_a_job_that_was_stopped_when_all_was_crawled_ends_well(serve, tmp_path):
    half = Half(serve, 8, after=7)
    half.site.pages["/llms-full.txt"] = (
        "# Everything\n\n" + "All of it, in one text that names no page. " * 50
    )
    options = ("-s", f"JOBDIR={tmp_path / 'job'}")
    process = half.begin(tmp_path, *options)
    process.send_signal(signal.SIGINT)
    process.wait_for_log("Closing spider (shutdown)")
    half.go.set()
    process.wait()
    outcome = crawl(f"{half.site.url}/", tmp_path, options=options)
    assert (outcome.exit_code, outcome.stats["finish_reason"]) == (0, "finished"), outcome.log
    assert "llms/origin/llms-full" not in outcome.stats, "the pages are there, so the file is none"


def test_answers_that_wait_to_be_judged_are_not_taken_when_a_job_is_stopped(serve, tmp_path):
    half = Half(serve, 30, after=15)
    options = ("-s", f"JOBDIR={tmp_path / 'job'}")
    half.go.set()
    crawl(f"{half.site.url}/", tmp_path)
    half.go.clear()
    half.reached.clear()
    walled = [f"/p{number}.html" for number in range(4)]
    half.site.pages |= dict.fromkeys(walled, html("Docs", "<p>No entry here, for nobody.</p>"))
    process = half.begin(tmp_path, *options, CONCURRENT_REQUESTS=4)
    process.send_signal(signal.SIGINT)
    process.wait_for_log("Closing spider (shutdown)")
    half.go.set()
    process.wait()
    outcome = crawl(f"{half.site.url}/", tmp_path, options=options)
    data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    rows = command("export", half.site.url.partition("//")[2], *data, cwd=tmp_path).stdout
    assert outcome.exit_code == 0
    assert {row["change"] for row in outcome.documents} == {"unchanged"}
    assert all(f"The text of {path}." in rows for path in walled)
    assert "No entry" not in rows


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
    half = Half(serve, 30, after=0)
    limit = json.dumps({"own_classes.TimeIsUp": 0})
    process = half.begin(tmp_path, "-s", f"EXTENSIONS={limit}", "-s", "TIME_IS_UP_AT=/p0.html")
    process.wait_for_log("Closing spider (closespider_timeout)")
    half.go.set()
    process.wait()
    rows = (tmp_path / "documents.jsonl").read_text().splitlines()
    assert 0 < len(rows) < 31
    assert "incomplete (closespider_timeout)" in process.log


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
    processes = [
        begin_crawl(f"{site.url}/", folder, settings=TWO_AT_A_TIME, words=data)
        for folder in folders
    ]
    assert [process.wait() for process in processes] == [0, 0], [
        process.log for process in processes
    ]
    last = crawl(f"{site.url}/", folders[0], settings={"LLMS_DATA_DIR": tmp_path / "shared"})
    assert {document["change"] for document in last.documents} == {"unchanged"}
    assert len(last.documents) == 31
