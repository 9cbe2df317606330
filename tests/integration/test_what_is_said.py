"""What commands say of a run while it goes, when it was stopped or killed, and when it ended at a limit."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from crawling import command
from forked import HANGS_SECS, ROOT, Forked, fork, run_module
from sites import html

LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", "LLMS_CONVERT_WORKERS=0")
NAMES = [f"/p{number}.html" for number in range(40)]


def begin(folder: Path, *words: str) -> Forked:
    """Start `llmsspider WORDS` in a folder, with nothing of a project around it."""
    number = len(list(folder.glob("*.stdout")))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SCRAPY_", "LLMS_"))
    }
    return fork(
        run_module, "llmsspider", *words,
        cwd=folder, stdout=folder / f"{number}.stdout", stderr=folder / f"{number}.stderr",
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def run(folder: Path, *words: str) -> tuple[int, str]:
    """Run it to its end; returns the exit code and all that it printed."""
    process = begin(folder, *words)
    return process.wait(), process.stdout + process.log


def numbered(page=html) -> dict:
    links = "".join(f"<a href='{name}'>x</a>" for name in NAMES)
    return {
        "/": html("Home", f"<p>Welcome.</p>{links}"),
        **{name: page(name, "<p>Some text.</p>") for name in NAMES},
    }


@pytest.fixture
def held(serve):
    """A site whose pages but the first are answered once `go` is set."""
    asked, go = threading.Event(), threading.Event()

    def slow(_seen: object) -> str:
        asked.set()
        go.wait(HANGS_SECS)
        return html("Slow", "<p>Late.</p>")

    site = serve({**numbered(), **dict.fromkeys(NAMES, slow)})
    site.asked, site.go = asked, go
    yield site
    go.set()


def test_a_first_crawl_is_known_while_it_goes_and_after_it_was_killed(held, tmp_path):
    crawl = begin(tmp_path, f"{held.url}/", "-o", "docs", *LOCAL)
    assert held.asked.wait(HANGS_SECS)
    name = f"{held.url.removeprefix('http://')}"
    for words in (["status"], ["status", "docs"], ["sources"], ["status", name]):
        code, printed = run(tmp_path, *words)
        assert code == 0, printed
        assert "CRAWLING" in printed, words
    crawl.kill()
    assert "lost" in run(tmp_path, "status", "docs")[1]
    assert "lost" in run(tmp_path, "sources")[1]


def test_a_limit_of_pages_is_named_and_nothing_is_promised_of_the_next_crawl(serve, tmp_path):
    site = serve(numbered())
    code, printed = run(tmp_path, f"{site.url}/", "-o", "docs", "-a", "max_pages=5", *LOCAL)
    assert code == 0
    assert (
        "the crawl is incomplete: max_pages; nothing was deleted, and the next crawl ends at this limit, too: "
        "-a max_pages=0 takes all pages\n"
    ) in printed


def test_the_closing_lines_name_the_pages_that_failed(serve, tmp_path):
    site = serve({"/": html("Home", "<p>Welcome.</p><a href='/gone.html'>x</a>")})
    printed = run(tmp_path, f"{site.url}/", "-o", "docs", *LOCAL)[1]
    assert "3 failed (not_found 3)\n" in printed, "two links of the navigation are dead, too"
    assert f"  not_found: {site.url}/" in printed
    assert "  not_found: 1 more, see `llmsspider status`\n" in printed


def test_pages_that_are_stored_are_not_called_nothing_where_the_folder_cannot_be_written(
    serve, tmp_path
):
    site = serve(numbered())
    words = (f"{site.url}/", "-o", "docs", "-a", "max_pages=4", *LOCAL)
    run(tmp_path, *words)
    (tmp_path / "docs/index.md").unlink()
    (tmp_path / "docs/index.md").mkdir()
    site.pages["/"] = html(
        "Home", "<p>Welcome back.</p>" + "".join(f"<a href='{name}'>x</a>" for name in NAMES)
    )
    code, printed = run(tmp_path, *words)
    assert code == 1
    assert (
        "llmsspider: 4 pages are stored, but not all are written as files; the log says why"
        in printed
    )
    assert "nothing was obtained" not in printed
    (tmp_path / "docs/index.md").rmdir()
    assert run(tmp_path, *words)[0] == 0
    assert "Welcome back." in (tmp_path / "docs/home.md").read_text()


def test_a_name_that_is_none_of_the_folders_is_said_to_be_wrong(serve, tmp_path):
    site = serve(numbered())
    for folder in ("one", "two"):
        run(
            tmp_path,
            f"{site.url}/",
            "-o",
            folder,
            "-a",
            "max_pages=1",
            "-a",
            f"source={folder}",
            *LOCAL,
        )
    assert run(tmp_path, "status", "three") == (
        2,
        "llmsspider: 'three' is none of the folders here: name one of one, two\n",
    )
    assert (
        "several folders here hold documentation: name one of one, two"
        in run(tmp_path, "status")[1]
    )


@pytest.mark.parametrize(
    "given", ['{"x.foo": {"format": "foo"}}', '{"x.foo": {}}'], ids=["unknown", "none"]
)
def test_a_feed_format_that_does_not_exist_is_one_line_and_nothing_is_fetched(
    serve, tmp_path, given
):
    site = serve(numbered())
    line = (
        "feed x.foo: the format 'foo' does not exist"
        if 'foo"}' in given
        else "feed x.foo: no format is named"
    )
    code, printed = run(tmp_path, f"{site.url}/", "-o", "docs", "-s", f"FEEDS={given}", *LOCAL)
    assert (code, printed.count("\n")) == (2, 1)
    assert f"llmsspider: {line}; accepted are chunks, csv, graph, jl, json" in printed
    done = command(
        "crawl", "docs", "-a", f"url={site.url}/", "-s", f"FEEDS={given}", *LOCAL, cwd=tmp_path
    )
    assert done.exit_code == 2
    assert f"crawl docs: {line}" in done.log
    assert not site.requests


def test_folders_of_sources_have_readable_names_and_those_of_before_stay(serve, tmp_path):
    site = serve(numbered())
    words = ("crawl", "docs", "-a", f"url={site.url}/", "-a", "max_pages=3", *LOCAL)
    command(*words, "-s", "LLMS_MIRROR_DIR=trees/%(source)s", cwd=tmp_path)
    (folder,) = (tmp_path / "trees").iterdir()
    assert folder.name == site.url.removeprefix("http://").replace(":", "-")
    held = json.loads((folder / ".llmsspider.json").read_text())
    other = {**held, "source": "another"}
    (folder / ".llmsspider.json").write_text(json.dumps(other))
    command(*words, "-s", "LLMS_MIRROR_DIR=trees/%(source)s", cwd=tmp_path)
    names = {one.name for one in (tmp_path / "trees").iterdir()}
    (hashed,) = names - {folder.name}
    assert hashed.startswith(f"{folder.name}-"), "the readable name is another source's"
    (folder / ".llmsspider.json").write_text(json.dumps(held))
    command(*words, "-s", "LLMS_MIRROR_DIR=trees/%(source)s", cwd=tmp_path)
    assert {one.name for one in (tmp_path / "trees").iterdir()} == names, (
        "a folder of that name is kept"
    )


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_a_stopped_crawl_command_says_what_is_there_and_fails_where_nothing_is_written(
    held, tmp_path, twice
):
    held.pages[NAMES[0]] = html("First", "<p>Some text.</p>")
    words = ("-a", f"url={held.url}/", "-O", "d.jsonl", "-s", "LLMS_DATA_DIR=store", *LOCAL)
    crawl = begin(tmp_path, "crawl", "docs", *words)
    assert held.asked.wait(HANGS_SECS)
    crawl.send_signal(signal.SIGINT)
    crawl.wait_until(
        lambda: "Closing spider" in "".join(log.read_text() for log in tmp_path.rglob("*.log"))
    )
    if twice:
        crawl.send_signal(signal.SIGINT)
    else:
        held.go.set()
    assert crawl.wait() == twice
    written = (tmp_path / "d.jsonl").exists()
    assert (written, "d.jsonl written" in crawl.log) == (not twice, not twice)
    assert ("ended at once, " in crawl.log, "stopped at " in crawl.log) == (twice, not twice), (
        crawl.log
    )
    state = "lost" if twice else "STOPPED"
    assert state in run(tmp_path, "status", "--json", "-s", "LLMS_DATA_DIR=store")[1]


def test_a_crawl_command_that_is_stopped_before_the_first_page_fails(serve, tmp_path):
    asked, go = threading.Event(), threading.Event()

    def slow(_seen: object) -> str:
        asked.set()
        go.wait(HANGS_SECS)
        return html("Slow", "<p>Late.</p>")

    site = serve({"/": slow})
    crawl = begin(tmp_path, "crawl", "docs", "-a", f"url={site.url}/", "-O", "d.jsonl", *LOCAL)
    assert asked.wait(HANGS_SECS)
    crawl.send_signal(signal.SIGINT)
    crawl.wait_until(
        lambda: "Closing spider" in "".join(log.read_text() for log in tmp_path.rglob("*.log"))
    )
    go.set()
    assert crawl.wait() == 1
    assert "stopped before the first page" in crawl.log
