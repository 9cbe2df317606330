"""Progress in a terminal and where there is none."""

from __future__ import annotations

import io
import re
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from crawling import begin_crawl
from forked import HANGS_SECS, Forked
from rich.console import Console
from site_server import Site
from sites import html
from terminal import in_terminal

from llmsspider.crawler.progress import Progress
from llmsspider.extensions.display import LinesAbove, view
from llmsspider.output.status import run_status
from llmsspider.store import RunRecord

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pty is of POSIX systems")

NAMES = [f"/p{number}.html" for number in range(10)]
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2, "LOGSTATS_INTERVAL": 0.1}


class Held:
    """A site whose crawl stands still, two pages begun and eight to go, until `go` is set."""

    def __init__(self, serve: Callable[[dict[str, Any]], Site]):
        self.go = threading.Event()
        self.url = serve(
            {
                "/": html("Home", "".join(f"<a href='{name}'>x</a>" for name in NAMES)),
                **{name: self._page(name) for name in NAMES},
                "/llms.txt": "# Site\n\n- [One](/p0.html)\n",
            }
        ).url

    def _page(self, name: str) -> Callable[..., str]:
        def page(_seen: object) -> str:
            self.go.wait(HANGS_SECS)
            return html(name, f"<p>The text of {name}.</p>")

        return page

    def crawl(
        self,
        folder: Path,
        text: str,
        then: Callable[[Forked], None] | None = None,
        settings: dict[str, Any] | None = None,
        **environment: str,
    ) -> tuple[int, str]:
        """Crawl in a terminal, held until `text` is shown; returns the exit code and what was shown."""
        size = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}

        def go(process: Forked) -> None:
            if then is not None:
                then(process)
            self.go.set()

        def start(terminal: Path) -> Forked:
            given, env = {**SETTINGS, **(settings or {})}, {**size, **environment}
            return begin_crawl(f"{self.url}/", folder, settings=given, stderr=terminal, env=env)

        return in_terminal(start, text=text, then=go)


def test_a_terminal_shows_a_display_with_whole_log_lines_above(serve, tmp_path: Path) -> None:
    code, shown = Held(serve).crawl(tmp_path, "crawling")
    assert code == 0
    assert "found llms.txt at /llms.txt\r\n" in shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    long = "INFO: scope auto: pages below 127.0.0.1:"
    words = " ".join(text.split())  # a line that is longer than the terminal breaks between words
    assert re.search(rf"{re.escape(long)}\S+, and pages that .* \(wider: -a scope=domain\)", words)
    assert re.search(r"│ crawling +━.* \d+/\d+ pages \(\d+%\) │", text)
    # home, 10 pages, two dead links
    assert re.search(r"│ finished +━+ +13/13 pages \(100%\) │", text)
    assert "errors     2  not_found 2" in text
    assert "Crawled " not in text
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    assert shown.rindex("complete, ") > shown.rindex("╰")  # the summary comes after the display


def test_one_ctrl_c_stops_reports_and_gives_the_terminal_back(serve, tmp_path: Path) -> None:
    _, shown = Held(serve).crawl(
        tmp_path, "crawling", lambda process: process.send_signal(signal.SIGINT)
    )
    assert "incomplete (shutdown)" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def test_a_terminal_can_do_without(serve, tmp_path: Path) -> None:
    _, shown = Held(serve).crawl(tmp_path, "crawling: ", TERM="dumb")
    assert "\x1b" not in shown
    assert "crawling: " in shown


def test_without_a_terminal_lines_tell_how_far_it_is(serve, tmp_path: Path) -> None:
    held = Held(serve)
    process = begin_crawl(f"{held.url}/", tmp_path, settings=SETTINGS)
    process.wait_for_log("crawling: ")
    held.go.set()
    assert process.wait() == 0
    assert "\x1b" not in process.log
    lines = re.findall(
        r"INFO: crawling: (\d+)/(\d+) pages \(\d+%\), \d+ unchanged, (\d+) errors, (\d+) filtered",
        process.log,
    )
    assert lines
    assert all(int(done) <= int(total) for done, total, _, _ in lines)
    assert "logstats" not in process.log


def test_a_single_page_has_neither_display_nor_live_page(serve, tmp_path: Path) -> None:
    site = serve({"/": html("Home", "<p>The only page.</p>")})
    code, shown = in_terminal(
        lambda terminal: begin_crawl(
            f"{site.url}/", tmp_path, spider="page", stderr=terminal, env={"TERM": "xterm"}
        )
    )
    assert code == 0
    assert "\x1b" not in shown
    assert "live page" not in shown


def test_nothing_is_shown_in_colours_that_white_or_black_hides() -> None:
    counts = Progress().counts(queued=1) | {"documents": 3, "origins": {"html": 3}}
    now = datetime.now(UTC)
    record = RunRecord("1", 1, "docs", "crawl", {}, 1, "here", now, now, counts=counts)
    record.errors["http"] = 1
    record.filtered["offsite"] = 2
    console = Console(width=80, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(view(run_status(record, [], []), "docs"))
    rows = console.file.getvalue().splitlines()[2:-1]
    codes = {code for row in rows for code in re.findall(r"\x1b\[([0-9;]+)m", row)}
    assert codes <= {"0", "1", "2", "1;31"}, codes


def test_lines_above_the_display_break_between_words() -> None:
    console = Console(width=40, file=io.StringIO())
    LinesAbove(console).write("scope auto: pages below docs.example.com and pages that it lists\n")
    lines = console.file.getvalue().splitlines()
    assert all(len(line.rstrip()) <= 40 for line in lines)
    assert " ".join(" ".join(lines).split()).endswith("and pages that it lists")


@pytest.mark.parametrize("columns", [60, 100])
def test_the_display_names_its_lines_in_a_narrow_terminal(columns: int) -> None:
    progress = Progress(
        discovered_file="https://docs.example.com/en/latest/guide/llms.txt",
        discovered_file_type="llms.txt",
    )
    progress.enter("crawling")
    progress.document("markdown", "new")
    console = Console(width=columns, file=io.StringIO())
    now = datetime.now(UTC)
    counts = progress.counts(queued=200)
    filtered = {f"reason-{number}": 1000 + number for number in range(9)}
    run = run_status(
        RunRecord(
            "1", 1, "docs", "crawl", {}, 1, "here", now, now, counts=counts, filtered=filtered
        ),
        [],
        [],
    )
    console.print(view(run, "docs.example.com/en/latest/guide"))
    lines = console.file.getvalue().splitlines()
    shown = " ".join(" ".join(lines).replace("│", " ").split())
    assert all(f"{reason} {number}" in shown for reason, number in filtered.items()), lines
    assert {len(line) for line in lines} == {columns}
    for name in ("found", "documents", "queued", "errors", "filtered", "pace"):
        assert any(line.startswith(f"│ {name} ") for line in lines), lines
