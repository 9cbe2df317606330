"""`llmsspider URL -o DIR` from a folder that is no project."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from forked import HANGS_SECS, ROOT, fork, run_module, run_with
from site_server import Reply
from sites import PLAIN, html

from llmsspider import commands


@pytest.fixture
def llmsspider(tmp_path, tmp_path_factory, quick_children):
    """Return a function that runs the command with nothing of a project around it."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SCRAPY_", "LLMS_"))
        }
        output = tmp_path_factory.mktemp("output")
        process = fork(
            run_with,
            quick_children,
            "llmsspider",
            *arguments,
            cwd=tmp_path,
            stdout=output / "stdout",
            stderr=output / "stderr",
            env={**environment, **HERE},
        )
        return subprocess.CompletedProcess(arguments, process.wait(), process.stdout, process.log)

    return run


HERE = {"PYTHONPATH": str(ROOT), "LLMS_CONVERT_WORKERS": "0"}
"""Pages are converted in the process of the crawl."""
LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")


def test_one_command_makes_the_tree_and_says_what_to_do_next(serve, llmsspider, tmp_path):
    site = serve(PLAIN)
    site.etags = True
    first = llmsspider(f"{site.url}/", "-o", "my docs/", *LOCAL)
    assert first.returncode == 0, first.stderr
    pages, tree, *_, log, _ = first.stdout.splitlines()
    assert pages.startswith(f"4 pages of {site.url.removeprefix('http://')} (new 4), ")
    assert tree == "my docs: 4 files written, 0 untouched, 0 removed"
    assert "Dumping Scrapy stats" in (tmp_path / log.removeprefix("log: ")).read_text()
    told = first.stderr.splitlines()
    assert any(line.startswith("scope auto: ") for line in told), told
    assert len(told + first.stdout.splitlines()) <= 12, told
    assert "[scrapy" not in first.stderr
    again = f"llmsspider {site.url}/ -o 'my docs/' -s LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"
    assert (
        first.stdout.splitlines()[-1]
        == f"Start with my docs/index.md. To fetch what has changed, later: {again}"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"my docs"}
    assert (tmp_path / "my docs/guide/intro.md").exists()

    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper still.</p>")
    second = llmsspider("-o", "my docs/", *LOCAL)
    assert second.returncode == 0, second.stderr
    assert "my docs: 1 files written, 3 untouched, 0 removed" in second.stdout

    (store,) = (tmp_path / "my docs/.llmsspider").glob("**/*.sqlite*")
    store.write_bytes(b"x" * 3000)
    third = llmsspider("-o", "my docs/", *LOCAL)
    assert (third.returncode, third.stdout) == (1, "")
    (line,) = third.stderr.splitlines()
    assert line.startswith("llmsspider: page store ") and "file is not a database" in line
    assert (tmp_path / "my docs/guide/intro.md").exists()


WRONG = {
    "no URL": ((), "a URL is missing"),
    "not a URL": (
        ("docs.example.com", "-o", "docs"),
        "'docs.example.com' has no scheme; did you mean https://docs.example.com?",
    ),
    "a folder without a tree": (
        ("-o", "docs"),
        "docs holds no tree yet: name the URL it is made from",
    ),
    "unknown option": (("--frobnicate",), "--frobnicate is no option (see --help)"),
    "unknown argument": (("https://e.com/", "-a", "max_page=3"), "max_page"),
    "argument without value": (
        ("https://e.com/", "-a", "max_pages"),
        "-a 'max_pages': NAME=VALUE is accepted",
    ),
    "setting without value": (("https://e.com/", "-s", "X"), "-s 'X': NAME=VALUE is accepted"),
    "a folder of other files": (
        ("https://e.com/", "-o", "mine"),
        "-o mine holds files that are not from llmsspider",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_line_and_exit_code_2(
    llmsspider, tmp_path: Path, arguments: tuple[str, ...], said: str
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    done = llmsspider(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("llmsspider: ") and said in line
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}


URL = "http://127.0.0.1:1/"
NO_OPTION = "--foo is no option (see --help)"
BAD_COMMAND_LINES = {
    **{
        f"{name}: an option that there is not": ((name, *words, "--foo"), NO_OPTION)
        for name, *words in (
            ["crawl", "docs"],
            ["delete", "x"],
            ["demo"],
            ["diff", "x"],
            ["export", "x"],
            ["init", "mydocs"],
            ["lint", "x"],
            ["parse", URL],
            ["plan", URL],
            ["recrawl", "x"],
            ["search", "x", "words"],
            ["sources"],
            ["status"],
            ["sync", "x.toml"],
        )
    },
    "mcp: an option that there is not": (("mcp", "--foo"), NO_OPTION),
    **{
        f"{name}: nothing named": ((name,), problem)
        for name, problem in (
            ("crawl", "name one spider"),
            ("delete", "name one source"),
            ("diff", "name one source"),
            ("export", "name one source"),
            ("init", "name the project"),
            ("lint", "name one llms.txt"),
            ("parse", "name one URL"),
            ("plan", "name one url"),
            ("recrawl", "name one source"),
            ("search", "name a source and what to look for"),
            ("sync", "name one file"),
        )
    },
    "demo: a word too many": (("demo", "x"), "unexpected argument 'x'"),
    "parse: a word too many": (("parse", URL, "x"), "name one URL"),
    "parse: no URL": (("parse", "x"), "name one URL"),
    "an option without its value": (
        ("export", "x", "--format"),
        "argument --format: expected one argument",
    ),
    "a word in place of a number": (
        ("sync", "x.toml", "--jobs", "x"),
        "argument --jobs: invalid int value: 'x'",
    ),
    **{
        f"{name} {option}: a negative number": ((name, *words, option, f"{prefix}-1"), f"-1{rest}")
        for name, *words, option, prefix, rest in (
            ["crawl", "docs", "-a", f"url={URL}", "-a", "max_pages=", "': input should be"],
            ["demo", "--port", "", ": it cannot be used"],
            ["export", "x", "--since", "", "': a sequence number, 0 or more"],
            ["export", "x", "--max-tokens", "", "': a number of 0 or more"],
            ["lint", URL, "--max-links", "", "': a number of 0 or more"],
            ["parse", URL, "--depth", "", ": 1 or more"],
            ["plan", URL, "-a", "max_depth=", "': input should be"],
            ["recrawl", "x", "-a", "max_pages=", "': input should be"],
            ["search", "x", "words", "--limit", "", "': a number from 1 to"],
            ["sync", "x.toml", "--jobs", "", ": 1 or more"],
        )
    },
}


@pytest.mark.parametrize(("words", "problem"), BAD_COMMAND_LINES.values(), ids=BAD_COMMAND_LINES)
def test_a_bad_command_line_is_one_line_and_exit_code_2(
    llmsspider, words: tuple[str, ...], problem: str
):
    done = llmsspider(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"llmsspider {words[0]}") and problem in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the file that cannot be read is one of Linux")
def test_a_file_that_cannot_be_read_is_named(llmsspider):
    done = llmsspider("lint", "/proc/self/mem")
    assert (done.returncode, done.stderr) == (
        1,
        "llmsspider lint: /proc/self/mem: Input/output error\n",
    )


def test_a_site_that_gives_nothing_is_exit_code_1_and_no_tree(serve, llmsspider, tmp_path):
    site = serve({})
    done = llmsspider(f"{site.url}/", "-o", "docs", *LOCAL)
    assert done.returncode == 1
    assert (
        f"nothing was obtained from {site.url}/: HTTP status 404; check the address in a browser"
        in done.stderr
    )
    assert list((tmp_path / "docs").glob("*.md")) == []


def test_a_mistyped_address_is_answered_with_the_nearest_pages_and_the_folder_stays_free(
    serve, llmsspider
):
    listed = "# Site\n\n- [Intro](/guide/intro.html)\n- [More](/guide/more.html)\n- [Api](/api/)\n"
    site = serve({**PLAIN, "/llms.txt": Reply(listed, headers={"Content-Type": "text/plain"})})
    done = llmsspider(f"{site.url}/gide/intro.html", "-o", "docs", *LOCAL)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("llmsspider: nothing")]
    said = "check the address in a browser; the nearest pages that the site lists: "
    assert f"/gide/intro.html: HTTP status 404; {said}{site.url}/guide/intro.html" in line
    assert "/guide/intro.html" not in site.paths()
    right = llmsspider(f"{site.url}/guide/intro.html", "-o", "docs", *LOCAL)
    assert right.returncode == 0, right.stderr


def test_a_private_address_ends_with_the_setting_that_allows_it(serve, llmsspider):
    site = serve(PLAIN)
    refused = llmsspider(f"{site.url}/", "-o", "docs")
    assert refused.returncode == 1
    host = site.url.removeprefix("http://")
    *_, why, log = refused.stderr.splitlines()  # a crawl that lasts says in between how far it is
    assert why == (
        f"llmsspider: nothing was obtained from {site.url}/: {host} is not a public address: "
        f"-s LLMS_ALLOW_PRIVATE_ADDRESSES={host} allows it"
    )
    assert log.startswith("log: docs/.llmsspider/logs/")
    assert not site.requests


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


UNREACHABLE = {
    "a name that is not known": (
        "http://nothing.invalid/",
        "no address is known for that host name (DNS); check the spelling, and that you are online",
    ),
    "a closed port": (
        "http://127.0.0.1:{closed}/",
        "the connection was refused: nothing listens at that host and port; check the port, and that the server is up",
    ),
    "https where http is spoken": (
        "https://127.0.0.1:{plain}/",
        "the server does not speak TLS there; try http:// in place of https://",
    ),
}


@pytest.mark.parametrize(("url", "said"), UNREACHABLE.values(), ids=UNREACHABLE)
@pytest.mark.parametrize("command", [(), ("plan",)], ids=["crawl", "plan"])
def test_a_site_that_cannot_be_reached_is_one_line_with_reason_and_remedy(
    serve, llmsspider, closed_port, command, url, said
):
    url = url.format(closed=closed_port, plain=serve(PLAIN).url.rpartition(":")[2])
    done = llmsspider(*command, url, *LOCAL, "-s", "RETRY_TIMES=0")
    assert done.returncode == 1
    said_late = (
        "log: ",
        "starting: ",
        "discovery: ",
        "crawling: ",
        "finishing: ",
    )  # of a slow machine
    said_late += ("writing to the folder ",)  # before, since none was named
    lines = [line for line in done.stderr.splitlines() if not line.startswith(said_late)]
    program = " ".join(["llmsspider", *command])
    assert lines == [
        f"{program}: nothing was obtained from {url}: robots.txt could not be read: {said}"
    ]
    assert done.stdout == ""


def test_commands_find_the_store_of_a_folder_without_a_project(serve, llmsspider, tmp_path):
    site = serve(PLAIN)
    assert llmsspider(f"{site.url}/", "-o", "docs", *LOCAL).returncode == 0
    name = site.url.removeprefix("http://")
    for arguments in (("docs",), (), (name,)):
        assert llmsspider("status", *arguments).stdout.startswith(f"{name}  {site.url}/")
    assert llmsspider("sources").stdout.splitlines()[1].startswith(f"{name}  INDEXED  4 ")
    found = llmsspider("search", "docs/", "intro", "--json")
    assert (found.returncode, json.loads(found.stdout.splitlines()[0])["source"]) == (0, name), (
        found.stderr
    )
    assert llmsspider("search", "intro", "--json").stdout == found.stdout
    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper still.</p>")
    again = llmsspider("recrawl", *LOCAL)
    assert again.returncode == 0, again.stderr
    assert "docs: 1 files written, 3 untouched, 0 removed" in again.stderr
    assert "[scrapy" not in again.stderr, "lines for people, not Scrapy's log"
    assert not (tmp_path / ".scrapy").exists()

    assert llmsspider(f"{site.url}/guide/intro.html", "-o", "more", *LOCAL).returncode == 0
    several = llmsspider("export")
    assert several.returncode == 2
    assert (
        several.stderr
        == "llmsspider: several folders here hold documentation: name one of docs, more\n"
    )
    assert llmsspider("export", "more").returncode == 0
    assert llmsspider("sources").stderr == several.stderr


def test_commands_are_those_that_scrapy_finds(llmsspider):
    said = llmsspider("--help").stdout
    for module in pkgutil.iter_modules(commands.__path__):
        assert re.search(rf"^  {module.name} +\w", said, flags=re.MULTILINE), module.name
    unknown = llmsspider("statu")
    assert unknown.returncode == 2
    assert (
        unknown.stderr
        == "llmsspider: 'statu' is neither a command nor a URL; did you mean status?\n"
    )
    spider = llmsspider("docs", "https://docs.example.com/")
    said = "llmsspider: 'docs' is neither a command nor a URL; it is a spider: llmsspider crawl docs -a url=URL\n"
    assert spider.stderr == said
    assert re.search(r"^  page +\w", llmsspider("--help").stdout, flags=re.MULTILINE)
    assert llmsspider("status", "--help").stdout.startswith(
        "Usage\n=====\n  llmsspider status [options] [source]"
    )


def test_a_file_is_written_where_one_is_named(serve, llmsspider, tmp_path):
    """By its ending; without `-o` the folder is said before; `page` prints one page."""
    site = serve(PLAIN)
    url = f"{site.url}/"
    done = llmsspider(url, "-o", "docs.jsonl", *LOCAL)
    assert (done.returncode, done.stdout) == (0, "")
    assert "docs.jsonl written" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "docs.jsonl").read_text().splitlines()]
    assert {row["url"].removeprefix(site.url) for row in rows} == set(PLAIN)
    assert llmsspider(url, "-O", "docs.md", *LOCAL).returncode == 0
    whole = (tmp_path / "docs.md").read_text()
    assert re.findall("^# (.+)", whole, flags=re.MULTILINE) == ["Home", "Intro", "More", "Deep"]
    piped = llmsspider(url, "-o", "-", *LOCAL)
    assert [json.loads(line)["change"] for line in piped.stdout.splitlines()] == ["unchanged"] * 4
    assert {path.name for path in tmp_path.iterdir()} == {".scrapy", "docs.jsonl", "docs.md"}

    folder = re.sub(r"\W+", "-", site.url.removeprefix("http://")).replace("127-0-0-1", "127.0.0.1")
    alone = llmsspider(url, *LOCAL)
    first = f"writing to the folder {folder} (-o DIR names another, -o docs.jsonl writes one file)"
    assert alone.stderr.splitlines()[0] == first
    assert (tmp_path / folder / "index.md").exists()
    other = llmsspider(f"{url}guide/", "-o", folder, "-a", "source=other", *LOCAL)
    name = site.url.removeprefix("http://")
    said = f"-o {folder} holds the source {name!r}; choose another folder for 'other'"
    assert (other.returncode, other.stderr) == (2, f"llmsspider: {said}\n")

    intro = f"{site.url}/guide/intro.html"
    shown = llmsspider("page", intro, *LOCAL)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == "# Intro\n\nHow to begin.\n\n```python\nx = 1\n```\n"
    assert json.loads(llmsspider("page", intro, "--json", *LOCAL).stdout)["content"] == shown.stdout
    assert llmsspider("page", intro, "-o", "intro.md", *LOCAL).stdout == ""
    assert (tmp_path / "intro.md").read_text() == shown.stdout
    for words, code, problem in (
        (("page", f"{url}none"), 1, f"llmsspider page: {url}none: not_found: HTTP status 404\n"),
        (("page", url, "-a", "rendr=x"), 2, "did you mean render?"),
        (("page", "none"), 2, "'none' cannot be used"),
        (
            ("page", url, "-o", "no/where.md"),
            1,
            "[Errno 2] No such file or directory: 'no/where.md'\n",
        ),
        (("-o", "docs.jsonl"), 2, "docs.jsonl holds no tree yet: name the URL it is made from\n"),
        (("crawl", url), 2, f"{url} is no spider; `llmsspider {url}` crawls it\n"),
        (
            ("crawl", "docs", url, "-o", "x.jsonl"),
            2,
            f"{url} is no spider; `llmsspider {url}` crawls it\n",
        ),
        ((url, "docs.jsonl"), 2, "docs.jsonl is one too many; where to write stands after -o"),
        ((url, "--max-pages", "3"), 2, "--max-pages is no option; did you mean -a max_pages=…?\n"),
        (
            ("crawl", "docs", "--max_page=3"),
            2,
            "--max_page=3 is no option; did you mean -a max_pages=…?\n",
        ),
        (("page", url, "--jsn"), 2, "--jsn is no option; did you mean --json?\n"),
        (("search", "docs", "x", "--limt", "3"), 2, "--limt is no option; did you mean --limit?"),
    ):
        done = llmsspider(*words, *LOCAL)
        assert (done.returncode, done.stdout) == (code, ""), words
        assert problem in done.stderr, words


def test_a_plan_repeats_the_options_it_was_given(serve, llmsspider):
    site = serve(PLAIN)
    said = llmsspider("plan", f"{site.url}/", *LOCAL, "-a", "scope=host").stdout
    start = f"  llmsspider crawl docs -a url={site.url}/ -s LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1 -a scope=host"
    assert f"{start}   # as planned\n" in said


def test_a_pipe_whose_reader_has_seen_enough_gives_no_traceback(serve, llmsspider, tmp_path):
    site = serve(PLAIN)
    assert llmsspider(f"{site.url}/", "-o", "docs", *LOCAL).returncode == 0
    environment = {**os.environ, **HERE}
    for command in ("status --json", "export docs", "export docs --format flat"):
        reader, writer = os.pipe()
        os.close(reader)  # the reader is gone before the first byte
        done = subprocess.run(
            [sys.executable, "-m", "llmsspider", *command.split()],
            cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        os.close(writer)
        assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr, command


def test_ctrl_c_says_what_was_written(serve, tmp_path):
    go = threading.Event()

    def slow(_seen: object) -> str:
        go.wait(HANGS_SECS)
        return html("Slow", "<p>Late.</p>")

    names = [f"/p{number}.html" for number in range(40)]
    pages = dict.fromkeys(names, slow)
    pages["/"] = html(
        "Home", "<p>Welcome.</p>" + "".join(f"<a href='{name}'>x</a>" for name in names)
    )
    site = serve(pages)
    process = fork(
        run_module, "llmsspider", f"{site.url}/", "-o", "docs", *LOCAL, "-s", "LOGSTATS_INTERVAL=0.1",
        cwd=tmp_path, stdout=tmp_path / "stdout", stderr=tmp_path / "stderr",
        env={**os.environ, **HERE},
    )  # fmt: skip
    process.wait_until(lambda: re.search(r"crawling: [1-9]", process.log))
    process.send_signal(signal.SIGINT)
    process.wait_until(
        lambda: "Closing spider" in "".join(log.read_text() for log in tmp_path.rglob("*.log"))
    )
    go.set()
    assert process.wait() == 1
    lines = process.stdout.splitlines()
    written = re.fullmatch(r"(\d+) pages of .*", lines[0])
    assert written and 1 <= int(written[1]) <= 41
    assert lines[1] == f"docs: {written[1]} files written, 0 untouched, 0 removed"
    (stopped,) = (line for line in lines if line.startswith("stopped at "))
    assert re.fullmatch(
        r"stopped at \d+ of at least 43 pages .*, not complete; nothing was deleted, .*", stopped
    )
    status = fork(
        run_module, "llmsspider", "status", "--json", "docs",
        cwd=tmp_path, stdout=tmp_path / "status.json", stderr=tmp_path / "status.txt", env={**os.environ, **HERE},
    )  # fmt: skip
    assert status.wait() == 0
    found = json.loads(status.stdout)
    assert (found["status"], found["run"]["complete"]) == ("STOPPED", False)
    assert found["run"]["total"] == 43, "two links of the home page are dead"
    assert found["run"]["percent"] < 100


def test_a_plan_that_is_stopped_says_so(serve, tmp_path):
    asked, go = threading.Event(), threading.Event()

    def slow(_seen: object) -> str:
        asked.set()
        go.wait(HANGS_SECS)
        return html("Slow", "<p>Late.</p>")

    site = serve({"/": slow})
    process = fork(
        run_module, "llmsspider", "plan", f"{site.url}/", *LOCAL,
        cwd=tmp_path, stdout=tmp_path / "stdout", stderr=tmp_path / "stderr",
        env={**os.environ, **HERE},
    )  # fmt: skip
    process.wait_until(asked.is_set)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)  # the page is under way when the signal comes
    go.set()
    assert process.wait() == 1
    assert process.log == "llmsspider plan: stopped before there was a plan\n"


def test_a_url_that_is_given_twice_is_refused(llmsspider):
    refused = llmsspider("https://e.com/", "-a", "url=https://f.com/")
    said = "llmsspider: -a url=https://f.com/: the URL is named already, https://e.com/\n"
    assert (refused.returncode, refused.stderr) == (2, said)


def test_a_wrong_log_level_is_one_line(llmsspider):
    refused = llmsspider("https://e.com/", "-L", "FOO")
    said = (
        "llmsspider: setting LOG_LEVEL='FOO': CRITICAL, ERROR, WARNING, INFO or DEBUG is accepted\n"
    )
    assert (refused.returncode, refused.stderr) == (2, said)


MODULES = {
    "ITEM_PIPELINES = 'foo'": "setting ITEM_PIPELINES='foo': a dict is accepted, on the command line as JSON",
    "DOWNLOAD_DELAY = 'x'": "setting DOWNLOAD_DELAY='x': a number of 0 or more is accepted",
    "1 / 0": "own_settings: ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize(("line", "said"), MODULES.items(), ids=MODULES)
def test_settings_of_a_project_that_cannot_be_read_are_one_line(tmp_path, line, said):
    (tmp_path / "own_settings.py").write_text(f"from llmsspider.settings import *\n{line}\n")
    found = {
        "SCRAPY_SETTINGS_MODULE": "own_settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
    }
    words = [sys.executable, "-m", "llmsspider", "https://e.com/"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, **found},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"llmsspider: {said}\n")
