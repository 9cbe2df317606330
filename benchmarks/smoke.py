"""What a crawl costs: `make smoke`.

Crawls a generated local site with the spider `docs` and with a link-only Scrapy spider, in turn, each as the
command a user types, and prints CPU and wall time and the median of the paired CPU ratios. The CPU of every
process of a crawl counts, workers included; that of the server, a thread of this process, does not. A crawl of
one page by each shows what starting costs, so that the cost of a page can be told apart from it.

Linux only: workers that outlive their crawl are collected by `PR_SET_CHILD_SUBREAPER`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generated_site import SiteWriter, serving  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
PACKAGES = ("scrapy", "twisted", "lxml", "markdownify", "sqlalchemy")


@dataclass(frozen=True)
class Cost:
    """One crawl: CPU seconds of its main process and of its other processes, wall seconds, pages obtained."""

    main_secs: float
    workers_secs: float
    wall_secs: float
    pages: int

    @property
    def cpu_secs(self) -> float:
        """CPU seconds of all processes."""
        return self.main_secs + self.workers_secs


def measure(arguments: list[str], folder: Path, pages_pattern: str, **environment: str) -> Cost:
    """Run `scrapy ARGUMENTS` in `folder` to the end of its last process; raises `SystemExit` when it fails."""
    log = folder / "log"
    command = [sys.executable, "-m", "scrapy", *arguments]
    started = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=output, stderr=output
        )
    _, status, main = os.wait4(process.pid, 0)
    wall_secs = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    workers_secs = _wait_for_orphans()
    text = log.read_text(encoding="utf-8", errors="replace")
    found = re.search(pages_pattern, text)
    if process.returncode or not found:
        raise SystemExit(
            f"{' '.join(command)} failed with exit code {process.returncode}:\n{text[-3000:]}"
        )
    return Cost(main.ru_utime + main.ru_stime, workers_secs, wall_secs, int(found[1]))


def _wait_for_orphans() -> float:
    """Wait for the processes that a crawl left behind (the fork server and its workers); their CPU seconds."""
    secs = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return secs
        secs += usage.ru_utime + usage.ru_stime


def ours(url: str) -> Cost:
    """Crawl with the spider `docs`, default settings, a fresh store and a JSON Lines feed."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["crawl", "docs", "-a", f"url={url}", "-O", "documents.jsonl"]
        arguments += [
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
            "-s",
            f"LLMS_DATA_DIR={folder}",
        ]
        project = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(HERE.parent)}
        return measure(arguments, Path(folder), r"'llms/documents': (\d+)", **project)


def link_only(url: str) -> Cost:
    """Crawl with the link-only spider; the project's settings are out of its sight."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["runspider", str(HERE / "link_only_spider.py"), "-a", f"url={url}"]
        return measure(arguments, Path(folder), r"'pages': (\d+)")


def machine() -> str:
    """Return processor, number of cores and load in one line."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    return f"{model[1] if model else platform.machine()}, {cores} cores, load {load:.1f}, {platform.platform()}"


def line(name: str, cost: Cost) -> str:
    """Return one row of the table."""
    return (
        f"{name:<16} {cost.pages:>5} {cost.cpu_secs:>8.2f} {cost.main_secs:>8.2f} "
        f"{cost.workers_secs:>8.2f} {cost.wall_secs:>8.2f}"
    )


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=400, help="pages of the site (default: 400)")
    parser.add_argument("--rounds", type=int, default=5, help="paired rounds (default: 5)")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("smoke.py: needs Linux (PR_SET_CHILD_SUBREAPER)")

    site = SiteWriter(options.pages).site()
    size = sum(map(len, site.values())) / len(site) / 1024
    print(f"{len(site)} pages of {size:.0f} KiB on average; {machine()}")
    print(
        f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in PACKAGES)}\n"
    )
    print(f"{'':<16} {'pages':>5} {'CPU s':>8} {'main s':>8} {'other s':>8} {'wall s':>8}")

    lone = {"/": b"<html><body><main><h1>One</h1><p>A page without links.</p></main></body></html>"}
    with serving(lone) as url:
        our_start, their_start = ours(f"{url}/"), link_only(f"{url}/")
    print(line("docs, 1 page", our_start))
    print(line("links, 1 page", their_start))

    pairs = []
    with serving(site) as url:
        for _ in range(options.rounds):
            pair = ours(f"{url}/"), link_only(f"{url}/")
            print(line("docs", pair[0]), line("link-only", pair[1]), sep="\n", flush=True)
            if {cost.pages for cost in pair} != {len(site)}:
                raise SystemExit(f"smoke.py: a crawl did not get the {len(site)} pages")
            pairs.append(pair)
    report(pairs, our_start, their_start, options.json)


def report(
    pairs: list[tuple[Cost, Cost]], our_start: Cost, their_start: Cost, file: Path | None
) -> None:
    """Print the medians; a page's cost is what the crawl took beyond a crawl of one page."""
    pages = pairs[0][0].pages - 1
    figures = {
        "cpu_ratio": median(mine.cpu_secs / theirs.cpu_secs for mine, theirs in pairs),
        "main_process_cpu_ratio": median(
            mine.main_secs / theirs.main_secs for mine, theirs in pairs
        ),
        "wall_ratio": median(mine.wall_secs / theirs.wall_secs for mine, theirs in pairs),
        "ours_cpu_ms_a_page": median(
            (a.cpu_secs - our_start.cpu_secs) / pages * 1000 for a, _ in pairs
        ),
        "ours_main_cpu_ms_a_page": median(
            (a.main_secs - our_start.main_secs) / pages * 1000 for a, _ in pairs
        ),
        "link_only_cpu_ms_a_page": median(
            (b.cpu_secs - their_start.cpu_secs) / pages * 1000 for _, b in pairs
        ),
    }
    print(
        f"\nmedian of {len(pairs)} paired rounds: docs / link-only = {figures['cpu_ratio']:.2f} CPU "
        f"(main process alone {figures['main_process_cpu_ratio']:.2f}), {figures['wall_ratio']:.2f} wall"
        f"\nper page without the start: docs {figures['ours_cpu_ms_a_page']:.1f} ms CPU (main process "
        f"{figures['ours_main_cpu_ms_a_page']:.1f}), link-only {figures['link_only_cpu_ms_a_page']:.1f} ms"
    )
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
