"""How fast a host is asked: `python benchmarks/pace.py [--pages 100]`.

Crawls a generated site whose server takes 10, 50 and 200 ms to answer, once freely and once with a limit of requests
(429 above it), as if it were a public host (`LLMS_MAX_RATE=5`), and once each without a highest rate. Prints requests a
second on average and in the busiest second, answers with 429, and documents.

`--machines 2 --processes 4` has so many crawls of one host at the same time on machines that share no folder but a real
PostgreSQL (Debian's), at `LLMS_MAX_RATE=5`; `--alone` is the same without it. Prints what the server saw, and what a
turn costs. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests" / "support")]

from generated_site import SiteWriter  # noqa: E402
from postgresql_server import new_database, running_server  # noqa: E402
from site_server import Reply, Seen, Site, serving  # noqa: E402
from worker_kills import crawl, hashes  # noqa: E402

from llmsspider.downloadermiddlewares.turns import SharedTurns, Turns  # noqa: E402

PUBLIC_RATE = 5.0


class Limited:
    """A site that takes `latency_secs` to answer and answers 429 to more than `most` requests in `window_secs`."""

    def __init__(
        self, bodies: dict[str, bytes], latency_secs: float, most: int | None, window_secs: float
    ):
        self.latency_secs, self.most, self.window_secs = latency_secs, most, window_secs
        self.times: list[float] = []
        self.answered: list[float] = []
        self.refused = 0
        self._lock = threading.Lock()
        self.site = Site({path: self._page(body.decode()) for path, body in bodies.items()})

    def _page(self, body: str):
        def reply(_seen: Seen) -> Reply | str:
            with self._lock:
                now = time.monotonic()
                self.times.append(now)
                recent = len(self.answered) - bisect.bisect(self.answered, now - self.window_secs)
                if self.most is not None and recent >= self.most:
                    self.refused += 1
                    return Reply("slower", status=429)
                self.answered.append(now)
            time.sleep(self.latency_secs)
            return body

        return reply

    def rates(self) -> tuple[float, int]:
        """Requests for pages a second, and the most in one second."""
        average = (len(self.times) - 1) / (self.times[-1] - self.times[0])
        return average, max(
            bisect.bisect(self.times, at + 1) - number for number, at in enumerate(self.times)
        )


def main() -> None:
    """Crawl and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument(
        "--latencies", type=int, nargs="*", default=[10, 50, 200], help="milliseconds"
    )
    parser.add_argument("--limit", type=int, default=20, help="requests that are answered ...")
    parser.add_argument("--window", type=float, default=10, help="... in so many seconds")
    parser.add_argument("--machines", type=int, default=0)
    parser.add_argument(
        "--processes", type=int, default=4, help="crawls of each machine at the same time"
    )
    parser.add_argument("--alone", action="store_true", help="machines that share nothing")
    options = parser.parse_args()
    if options.machines:
        several_machines(options)
        return
    bodies = SiteWriter(options.pages).site()
    print(
        f"{'host':<8} {'latency':>7} {'limit':>12} {'a second':>9} {'most in 1 s':>12} {'429':>4} {'documents':>10}"
    )
    for host, rate in (("public", PUBLIC_RATE), ("local", None)):
        for latency in options.latencies:
            for most in (None, options.limit):
                limited = Limited(bodies, latency / 1000, most, options.window)
                limit = "none" if most is None else f"{most} in {options.window:g} s"
                documents = one_crawl(limited, rate)
                average, busiest = limited.rates()
                print(
                    f"{host:<8} {latency:>4} ms {limit:>12} {average:>9.1f} {busiest:>12} {limited.refused:>4} "
                    f"{documents:>10}",
                    flush=True,
                )


def several_machines(options: argparse.Namespace) -> None:
    """Crawl one host from several machines, and print what its server saw."""
    at: dict[str, list[float]] = {}

    def page(body: str):
        def reply(seen: Seen) -> str:
            at.setdefault(seen.headers.get("User-Agent", ""), []).append(time.monotonic())
            return body

        return reply

    bodies = SiteWriter(options.pages).site()
    site = Site({path: page(body.decode()) for path, body in bodies.items()})
    site.missing = lambda seen: (page("")(seen), Reply("none", 404))[1]
    with ExitStack() as opened:
        served = opened.enter_context(serving(site))
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        server = opened.enter_context(running_server())
        url = new_database(server.url)
        crawls = []
        for number in range(options.machines * options.processes):
            place, machine = folder / str(number), folder / f"machine{number % options.machines}"
            place.mkdir()
            machine.mkdir(exist_ok=True)
            os.environ["TMPDIR"] = str(machine)
            settings = [
                f"LLMS_MAX_RATE={PUBLIC_RATE}",
                f"USER_AGENT=crawl{number}",
                "ROBOTSTXT_USER_AGENT=x",
            ]
            settings += [] if options.alone else [f"LLMS_STORE_URL={url}"]
            crawls.append(crawl(served, place, 1, *settings, source=f"source {number}"))
        del os.environ["TMPDIR"]
        codes = [process.wait(3600) for process in crawls]
        print(f"machines {options.machines}, crawls {len(crawls)}, exit codes {sorted(set(codes))}")
        times = sorted(moment for moments in at.values() for moment in moments)
        windows = [
            bisect.bisect_left(times, moment + 1) - number for number, moment in enumerate(times)
        ]
        seconds = [sum(1 for _ in group) for group in _by_second(times)]
        print(
            f"requests {len(times)}, a second on average {(len(times) - 1) / (times[-1] - times[0]):.2f}"
        )
        print(
            f"most in any window of a second {max(windows)}, in a second of the clock {max(seconds)}"
        )
        above = sum(window > PUBLIC_RATE for window in windows)
        print(f"windows of a second that hold more than {PUBLIC_RATE:g}: {above} of {len(windows)}")
        longest = max(
            later - sooner for moments in at.values() for sooner, later in pairwise(moments)
        )
        print(f"longest time that a crawl waited between two requests: {longest:.1f} s")
        if not options.alone:
            asyncio.run(cost(url, folder))


def _by_second(times: list[float]) -> list[list[float]]:
    seconds: dict[int, list[float]] = {}
    for moment in times:
        seconds.setdefault(int(moment), []).append(moment)
    return list(seconds.values())


async def cost(url: str, folder: Path, number: int = 2000) -> None:
    """Print what a turn costs, on this side and on that of the database."""

    def database_secs() -> float:
        found = [one for one in psutil.process_iter(["name"]) if one.info["name"] == "postgres"]
        return sum(sum(one.cpu_times()[:2]) for one in found)

    turns = SharedTurns(Turns(folder / "turns.sqlite"), url)
    await turns.reserve("e.com", 0, time.monotonic())
    began, spent, far = [], time.process_time(), database_secs()
    for _ in range(number):
        start = time.perf_counter()
        await turns.reserve("e.com", 0, time.monotonic())
        began.append(1000 * (time.perf_counter() - start))
    spent, far = time.process_time() - spent, database_secs() - far
    await turns.close()
    print(
        f"a turn: {statistics.median(began):.2f} ms (median), {statistics.quantiles(began)[2]:.2f} (3rd quartile)"
    )
    print(
        f"CPU of a turn: {1000 * spent / number:.2f} ms here, {1000 * far / number:.2f} ms in PostgreSQL"
    )


def one_crawl(limited: Limited, rate: float | None) -> int:
    """Crawl the site; returns the number of documents."""
    with serving(limited.site) as site, tempfile.TemporaryDirectory() as name:
        process = crawl(site, Path(name), 1, *([f"LLMS_MAX_RATE={rate}"] if rate else []))
        try:
            process.wait(1800)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return len(hashes(Path(name)))


if __name__ == "__main__":
    main()
