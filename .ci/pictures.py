"""Make the pictures of README.md: a first run in a terminal, and the report it wrote. Run by `make pictures`."""

from __future__ import annotations

import functools
import http.server
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
COLUMNS = 120
ANSWER_SECS = 0.5
"""Time until a page is answered: that of a site far away, so that the crawl lasts long enough to be seen at work."""
LINE_SECS = 6
"""Time between two lines of progress; usually 60 s."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class FarAway(Quiet):
    """A server that takes its time, as one on the internet does."""

    def do_GET(self) -> None:  # noqa: N802
        """Answer after a while."""
        time.sleep(ANSWER_SECS)
        super().do_GET()


def main() -> None:
    """Crawl the documentation of the project, and draw what was said and written.

    The lines of progress show the crawl at work: pages come one by one, and a line more often than usual.
    """
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as name:
        folder = Path(name)
        url = f"http://127.0.0.1:{PORT}/"
        site = build(folder / "site", url)
        (
            site / "llms-full.txt"
        ).unlink()  # its pages would be there before the first line of progress
        handler = functools.partial(FarAway, directory=str(site))
        with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            words = ["llmsspider", url, "-o", "docs"]
            hidden = [
                "-s",
                "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
                "-s",
                f"LLMS_REPORT={folder / 'report'}",
                *("-s", f"LOGSTATS_INTERVAL={LINE_SECS}"),
            ]
            said = subprocess.run(
                [sys.executable, "-u", "-m", *words, *hidden],
                cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            ).stdout  # fmt: skip
            server.shutdown()
        shown = [line for line in said.splitlines() if not line.startswith("report: ")]
        terminal(" ".join(words), [line.replace(f" {' '.join(hidden)}", "") for line in shown])
        screenshot(folder / "report" / "report.html")


def terminal(command: str, lines: list[str]) -> None:
    """Draw a terminal as SVG; nothing is loaded from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(Text("$ ", style="green bold") + Text(command, style="bold"))
    for line in lines:
        console.print(Text(line, style="bold green" if " pages of " in line else ""))
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="llmsspider"), flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    (PICTURES / "first-run.svg").write_text(svg, encoding="utf-8")


def screenshot(page: Path) -> None:
    """Photograph the report."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    subprocess.run(
        [
            browser, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1180,860",
            f"--screenshot={PICTURES / 'report.png'}", page.as_uri(),
        ],
        check=True, capture_output=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
