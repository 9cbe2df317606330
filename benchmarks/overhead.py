"""What progress and the live page cost: `python benchmarks/overhead.py --pages 2000 --pairs 5`.

Crawls a generated site in pairs, with and without, the order swapped from pair to pair; a pair that nobody counts comes
first. With: the display in a terminal (each crawl has one of its own, a pseudo-terminal), the live page, and one client
that reads its events to the end. Without: `TERM=dumb`, `LOGSTATS_INTERVAL=0`, `LLMS_STATUS_PORT=off`. CPU is
that of all processes of the crawl; site and client are threads of this process and do not count. Linux only, see
measuring.py.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generated_site import SiteWriter, serving  # noqa: E402
from measuring import Cost, measure  # noqa: E402

IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
ENVIRONMENT = {
    "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
    "PYTHONPATH": str(HERE.parent),
    "TERM": "xterm-256color",
    "COLUMNS": "120",
    "LINES": "40",
}
SETTINGS = {
    "with": ("LLMS_STATUS_PORT=0",),
    "without": ("LLMS_STATUS_PORT=off", "LOGSTATS_INTERVAL=0"),
}


class Reader(threading.Thread):
    """Finds the address of the live page in the log and reads its events to the last one."""

    def __init__(self, log: Path):
        super().__init__(daemon=True)
        self.log = log
        self.events: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Wait for the page, then read."""
        while not (port := self.port()):
            if self.ended.wait(0.1):
                return
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"event: "):
                self.events.append(line[7:].decode().strip())
            elif self.events[-1:] == ["end"] and line.startswith(b"data: "):
                break
        connection.close()

    def port(self) -> int | None:
        """Return the port the log tells, None while there is none."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        found = re.search(r"live page: http://127\.0\.0\.1:(\d+)/", text)
        return int(found[1]) if found else None


def crawl(url: str, kind: str, pages: int) -> tuple[Cost, int]:
    """Crawl once; returns the cost and the number of events read."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        words = ["-a", f"url={url}/", "-a", "max_pages=0", "-O", "documents.jsonl"]
        settings = (
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
            f"LLMS_DATA_DIR={place}",
            *SETTINGS[kind],
        )
        words += [word for setting in settings for word in ("-s", setting)]
        reader = Reader(folder / "log")
        if kind == "with":
            reader.start()
        environment = ENVIRONMENT | ({"TERM": "dumb"} if kind == "without" else {})
        command = [sys.executable, "-m", "scrapy", "crawl", "docs", *words]
        cost = measure(
            [sys.executable, "-c", IN_A_TERMINAL, *command],
            folder,
            environment=environment,
            timeout_secs=900,
        )
        reader.ended.set()
        if kind == "with":
            reader.join(10)
        documents = sum(1 for _ in (folder / "documents.jsonl").open("rb"))
    if documents != pages + 1 or (reader.events[-1:] == ["end"]) != (kind == "with"):
        raise SystemExit(f"{kind}: {documents} documents, last events {reader.events[-2:]}")
    return cost, len(reader.events)


def main() -> None:
    """Crawl in pairs and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    with serving(SiteWriter(options.pages).site()) as url:
        ratios = []
        for pair in range(options.pairs + 1):
            costs = {}
            for kind in ("with", "without") if pair % 2 else ("without", "with"):
                cost, events = crawl(url, kind, options.pages)
                costs[kind] = cost
                print(
                    f"{pair or 'warm-up'}  {kind:8} CPU {cost.cpu_secs:.2f} s, wall {cost.wall_secs:.1f} s, "
                    f"{cost.peak_mib:.0f} MiB, {events} events",
                    flush=True,
                )
            if pair:
                ratios.append(costs["with"].cpu_secs / costs["without"].cpu_secs)
    print(
        f"CPU with / without: {', '.join(f'{ratio:.3f}' for ratio in ratios)}; median {median(ratios):.3f}"
    )
    print(f"load now {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
