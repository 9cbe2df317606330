"""Make the pictures of README.md: a first run in a terminal, and the page that shows it. Run by `make pictures`."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from docs_site import Quiet, build
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PORT = 8000
COLUMNS = 100
ANSWER_SECS = 0.5
"""Time until a page is answered: that of a site far away, so that the crawl lasts long enough to be seen at work."""
SERVER_SECS = 5
"""Time until the page answers, once it says where."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class FarAway(Quiet):
    """A server that takes its time, as one on the internet does."""

    def do_GET(self) -> None:  # noqa: N802
        """Answer after a while."""
        time.sleep(ANSWER_SECS)
        super().do_GET()


def main() -> None:
    """Crawl the documentation of the project in a terminal, and draw what it shows and what `llmsspider ui` shows of it."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as name:
        folder = Path(name)
        url = f"http://127.0.0.1:{PORT}/"
        site = build(folder / "site", url)
        (site / "llms-full.txt").unlink()  # its pages would be there at once
        handler = functools.partial(FarAway, directory=str(site))
        with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            words = ["llmsspider", url, "-o", "docs"]
            hidden = ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", "LLMS_STATUS_PORT=off"]
            shown = in_terminal([*words, *hidden], folder)
            server.shutdown()
        terminal(" ".join(words), shown.replace(f" {' '.join(hidden)}", ""))
        photograph(folder / "docs")


def in_terminal(words: list[str], folder: Path) -> str:
    """Run a command in a terminal of `COLUMNS` columns; returns what it shows in the end, with its colours."""
    primary, secondary = pty.openpty()
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": "60",
    }
    with subprocess.Popen(
        [sys.executable, "-m", *words], cwd=folder, env=environment, stdin=secondary, stdout=secondary, stderr=secondary
    ) as process:  # fmt: skip
        os.close(secondary)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(primary, 65536):
                said += part
        assert process.wait() == 0, said.decode()
    os.close(primary)
    return on_screen(said.decode())


def on_screen(stream: str) -> str:
    """Return the lines that stand on a terminal once it was sent a stream: those that were drawn over are gone."""
    lines = [""]
    row = 0
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", stream):
        control = re.fullmatch(r"\x1b\[([0-9;?]*)([A-Za-z])", part)
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif control and control[2] == "A":
            row -= int(control[1] or 1)
        elif control and control[2] == "K":
            lines[row] = ""
        elif part != "\r" and (control is None or control[2] == "m"):
            lines[row] += part
    return "\n".join(lines).strip()


def terminal(command: str, shown: str) -> None:
    """Draw a terminal as SVG; nothing is loaded from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(Text("$ ", style="green bold") + Text(command, style="bold"))
    console.print(Text.from_ansi(shown))
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="llmsspider"), flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    (PICTURES / "first-run.svg").write_text(svg, encoding="utf-8")


def photograph(folder: Path) -> None:
    """Photograph a search in the page of a folder."""
    served = [
        sys.executable,
        "-m",
        "llmsspider",
        "ui",
        str(folder),
        "--http",
        f"127.0.0.1:{PORT + 1}",
    ]
    address = f"http://127.0.0.1:{PORT + 1}/search?q=what+happens+when+a+page+is+gone"
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    taken = [
        browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,760",
        f"--screenshot={PICTURES / 'ui.png'}", address,
    ]  # fmt: skip
    with subprocess.Popen(served, cwd=ROOT, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        server.stderr.readline()
        time.sleep(SERVER_SECS)
        subprocess.run(taken, check=True, capture_output=True)
        server.terminate()


if __name__ == "__main__":
    main()
