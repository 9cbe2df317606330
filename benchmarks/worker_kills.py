"""Kill one conversion worker in each of many crawls: `python benchmarks/worker_kills.py --kills 200 [--workers 1 2 4]`.

A generated site of 101 pages is crawled as a user would, and a worker is killed (SIGKILL, as the kernel does when
memory is short) at a random moment of one of four kinds: when the first worker is there (start), at a random page
while it converts (busy) or waits (idle), and when the last page was served (end). What counts is what an
undisturbed crawl gives: every page in the feed, with its content, exit code 0. A crawl that takes longer than
--timeout hangs. A crawl that had ended before its moment came is not counted, nor one whose worker was not gone by the
signal while the crawl went on. "At a call" are the kills of which the log says that a page was converted again.
Every other page is long, so that workers are busy. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests" / "support")]

from generated_site import SiteWriter  # noqa: E402
from site_server import Site, serving  # noqa: E402

MOMENTS = ("start", "busy", "idle", "end")


@dataclass
class FormCounts:
    """What became of the crawls of one number of workers and one kind of moment."""

    kills: int = 0
    at_a_call: int = 0
    late: int = 0
    hangs: int = 0
    failed: int = 0
    lost: Counter[int] = field(default_factory=Counter)
    """How many crawls lost so many pages."""

    def row(self, workers: int, moment: str) -> str:
        """One row of the table."""
        lost = sum(pages * crawls for pages, crawls in self.lost.items())
        figures = f"{self.kills:>5} {self.at_a_call:>9} {lost:>11} {self.hangs:>6} {self.failed:>10} {self.late:>5}"
        return f"{workers:>7} {moment:<6} {figures}"


def children(pid: int) -> list[int]:
    """Ids of the processes below a process; none when it has ended."""
    with contextlib.suppress(OSError, ProcessLookupError):
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def workers_of(crawl: int) -> list[int]:
    """Ids of the conversion workers of a crawl: what its fork server has forked."""
    return [worker for server in children(crawl) for worker in children(server)]


def is_running(pid: int) -> bool:
    """Whether a process uses the processor right now, or waits for its turn."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    return False


def is_dead(pid: int) -> bool:
    """Whether a process that was killed is gone, or a zombie, within a second."""
    for _ in range(1000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.001)
    return False


class Killer:
    """Watches a crawl, and kills one of its workers when the moment has come."""

    def __init__(self, site: Site, pages: int, chance: random.Random, moment: str):
        self.site, self.pages, self.chance, self.moment = site, pages, chance, moment
        self.after = chance.randrange(5, pages - 10) if moment in {"busy", "idle"} else 0

    def strike(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill a worker; returns False when the crawl ended before."""
        while process.poll() is None:
            if victims := self._victims(process.pid):
                if self.moment in {"start", "end"}:
                    time.sleep(self.chance.uniform(0, 0.1))
                victim = self.chance.choice(victims)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    return is_dead(victim) and process.poll() is None
            time.sleep(0.0005)
        return False

    def _victims(self, crawl: int) -> list[int]:
        served = sum(seen.status == 200 for seen in self.site.requests)
        if served < (self.pages if self.moment == "end" else self.after):
            return []
        workers = workers_of(crawl)
        if self.moment == "busy":
            return [worker for worker in workers if is_running(worker)]
        if self.moment == "idle":
            return [worker for worker in workers if not is_running(worker)]
        return workers


def crawl(
    site: Site, folder: Path, workers: int, *settings_given: str, **arguments: str
) -> subprocess.Popen[bytes]:
    """Start a crawl into an empty store."""
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "docs",
        "-a",
        f"url={site.url}/",
        "-O",
        "documents.jsonl",
    ]
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": folder / "store",
        "LLMS_CONVERT_WORKERS": workers,
    }
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    command += [word for given in settings_given for word in ("-s", given)]
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(HERE.parent),
    }
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)


def hashes(folder: Path) -> dict[str, str]:
    """Content hash by path of the documents in the feed."""
    with contextlib.suppress(OSError):
        rows = map(
            json.loads, (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
        )
        return {
            row["url"].partition("://")[2].partition("/")[2]: row["content_hash"] for row in rows
        }
    return {}


def main() -> None:
    """Kill, compare, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds after which a crawl hangs"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    bodies = SiteWriter(options.pages).site()
    for number, path in enumerate(bodies):
        if number % 2:
            text = b"".join(
                b"<p>Paragraph %d of <code>this</code> long page.</p>" % each for each in range(800)
            )
            bodies[path] = bodies[path].replace(b"</h1>", b"</h1>" + text, 1)
    kinds = list(itertools.product(options.workers, MOMENTS))
    tallies = {kind: FormCounts() for kind in kinds}
    with serving(Site({path: body.decode() for path, body in bodies.items()})) as site:
        with tempfile.TemporaryDirectory() as name:
            undisturbed = crawl(site, Path(name), options.workers[0])
            if undisturbed.wait(options.timeout) or len(expected := hashes(Path(name))) != len(
                bodies
            ):
                raise SystemExit((Path(name) / "log").read_text(encoding="utf-8")[-3000:])
        rounds = itertools.cycle(kinds)
        while sum(tally.kills for tally in tallies.values()) < options.kills:
            workers, moment = kind = next(rounds)
            one_crawl(
                site,
                workers,
                tallies[kind],
                Killer(site, len(bodies), chance, moment),
                expected,
                options,
            )
    print("workers moment kills at a call  pages lost  hangs  exit code  late")
    for workers, moment in kinds:
        print(tallies[workers, moment].row(workers, moment))


def one_crawl(
    site: Site,
    workers: int,
    tally: FormCounts,
    killer: Killer,
    expected: dict[str, str],
    options: argparse.Namespace,
) -> None:
    """Crawl, kill, and count what became of it."""
    site.clear()
    with tempfile.TemporaryDirectory() as name:
        process = crawl(site, Path(name), workers)
        struck = killer.strike(process)
        try:
            exit_code = process.wait(options.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            tally.hangs += 1
            exit_code = 0
        if not struck:
            tally.late += 1
            return
        found = hashes(Path(name))
        lost = sum(found.get(path) != content_hash for path, content_hash in expected.items())
        tally.kills += 1
        tally.at_a_call += "A conversion worker died" in (Path(name) / "log").read_text(
            encoding="utf-8"
        )
        tally.failed += exit_code != 0
        tally.lost[lost] += 1
        if lost or exit_code:
            print(
                f"{workers} workers, {killer.moment}: {lost} pages lost, exit code {exit_code}",
                flush=True,
            )
            print((Path(name) / "log").read_text(encoding="utf-8")[-1500:], flush=True)


if __name__ == "__main__":
    main()
