"""How fast a host is asked: `python benchmarks/pace.py [--pages 100]`.

Crawls a generated site whose server takes 10, 50 and 200 ms to answer, once freely and once with a limit of requests
(429 above it), as if it were a public host (`LLMS_MAX_RATE=5`), and once each without a highest rate. Prints requests a
second on average and in the busiest second, answers with 429, and documents.
"""

from __future__ import annotations

import argparse
import bisect
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests" / "support")]

from generated_site import SiteWriter  # noqa: E402
from site_server import Reply, Seen, Site, serving  # noqa: E402
from worker_kills import crawl, hashes  # noqa: E402

PUBLIC_RATE = 5.0


class Limited:
    """A site that takes `latency_secs` to answer and answers 429 to more than `most` requests in `window_secs`."""

    def __init__(self, bodies: dict[str, bytes], latency_secs: float, most: int | None, window_secs: float):
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
    parser.add_argument("--latencies", type=int, nargs="*", default=[10, 50, 200], help="milliseconds")
    parser.add_argument("--limit", type=int, default=20, help="requests that are answered ...")
    parser.add_argument("--window", type=float, default=10, help="... in so many seconds")
    options = parser.parse_args()
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
