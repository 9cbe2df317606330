"""Progress in a terminal (a real one, by pty) and where there is none."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crawling import ROOT
from sites import html

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pty is of POSIX systems")

NAMES = [f"/p{number}.html" for number in range(30)]


def slow(_seen) -> str:
    time.sleep(0.1)
    return html("Page", f"<p>Some text {time.monotonic()}.</p>")


PAGES = {
    "/": html("Home", "".join(f"<a href='{name}'>x</a>" for name in NAMES)),
    **dict.fromkeys(NAMES, slow),
    "/llms.txt": "# Site\n\n- [One](/p0.html)\n",
}


def start(url: str, folder: Path, stderr: int, *options: str, **environment: str) -> subprocess.Popen:
    """Start a real crawl that writes its log to `stderr`."""
    words = ["-a", f"url={url}/", "-O", "documents.jsonl", *options]
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_CONVERT_WORKERS": "0",
        "CONCURRENT_REQUESTS_PER_DOMAIN": "2",
        "LOGSTATS_INTERVAL": "1",
    }
    words += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    given = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(ROOT),
        "LLMS_DATA_DIR": str(folder / "store"),
        "TERM": "xterm",
        "COLUMNS": "100",
        "LINES": "40",
        **environment,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "docs", *words]
    return subprocess.Popen(command, cwd=folder, env=given, stderr=stderr)


def read_terminal(primary: int, until: bytes | None = None) -> bytes:
    """Read what a terminal shows, to its end or until something appears."""
    shown = b""
    while until is None or until not in shown:
        try:
            part = os.read(primary, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        shown += part
    return shown


def in_terminal(url: str, folder: Path, *options: str, interrupt: bool = False, **environment: str):
    primary, secondary = pty.openpty()
    process = start(url, folder, secondary, *options, **environment)
    os.close(secondary)
    shown = b""
    if interrupt:
        shown = read_terminal(primary, until=b"crawling")
        process.send_signal(signal.SIGINT)
    shown += read_terminal(primary)
    os.close(primary)
    return process.wait(), shown.decode()


def test_a_terminal_shows_a_display_with_whole_log_lines_above(serve, tmp_path: Path) -> None:
    site = serve(PAGES)
    code, shown = in_terminal(site.url, tmp_path)
    assert code == 0
    assert "found llms.txt at /llms.txt\r\n" in shown
    long = "scope auto: pages below 127.0.0.1:"
    assert re.search(rf"INFO: {re.escape(long)}\S+, and pages that .* \(wider: -a scope=domain\)\r\n", shown)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"│ crawling +━.* \d+/\d+ pages \(\d+%\) │", text)
    assert re.search(r"│ finished +━+ +33/33 pages \(100%\) │", text)  # home, 30 pages, two dead links
    assert "errors     2  not_found 2" in text
    assert "Crawled " not in text
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    assert shown.rindex("complete, ") > shown.rindex("╰")  # the summary comes after the display


def test_one_ctrl_c_stops_reports_and_gives_the_terminal_back(serve, tmp_path: Path) -> None:
    site = serve(PAGES)
    _, shown = in_terminal(site.url, tmp_path, interrupt=True)
    assert "incomplete (shutdown)" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


@pytest.mark.parametrize(
    ("options", "environment"),
    [(("-s", "LLMS_PROGRESS=plain"), {}), ((), {"TERM": "dumb"})],
    ids=["LLMS_PROGRESS=plain", "TERM=dumb"],
)
def test_a_terminal_can_do_without(serve, tmp_path: Path, options, environment) -> None:
    site = serve(PAGES)
    _, shown = in_terminal(site.url, tmp_path, *options, **environment)
    assert "\x1b" not in shown
    assert "crawling: " in shown


def test_without_a_terminal_lines_tell_how_far_it_is(serve, tmp_path: Path) -> None:
    site = serve(PAGES)
    process = start(site.url, tmp_path, subprocess.PIPE)
    log = process.communicate(timeout=60)[1].decode()
    assert "\x1b" not in log
    lines = re.findall(
        r"INFO: crawling: (\d+)/(\d+) pages \(\d+%\), \d+ unchanged, (\d+) errors, (\d+) left out", log
    )
    assert lines
    assert all(int(done) <= int(total) for done, total, _, _ in lines)
    assert "logstats" not in log


def test_a_wrong_value_is_said(tmp_path: Path) -> None:
    process = start("http://127.0.0.1:9", tmp_path, subprocess.PIPE, "-s", "LLMS_PROGRESS=loud")
    log = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 2
    assert "setting LLMS_PROGRESS='loud': accepted are auto, plain" in log


def test_a_single_page_has_neither_display_nor_live_page(serve, tmp_path: Path) -> None:
    site = serve({"/": html("Home", "<p>The only page.</p>")})
    primary, secondary = pty.openpty()
    command = [sys.executable, "-m", "scrapy", "crawl", "page", "-a", f"url={site.url}/", "-O", "page.jsonl"]
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
    }
    process = subprocess.Popen(
        [*command, "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"],
        cwd=tmp_path,
        env=environment,
        stderr=secondary,
    )
    os.close(secondary)
    shown = read_terminal(primary)
    os.close(primary)
    assert process.wait() == 0
    assert b"\x1b" not in shown
    assert b"live page" not in shown
