"""One site, several workers over a real Redis: `python benchmarks/workers.py --pages 5000 --workers 1 2 4 [--kills 5]`.

Serves a generated site, crawls it with so many workers that share a Redis and an SQLite store, and prints documents,
wall time, work of each worker and how often pages were asked for. With `--kills`, two workers crawl and the second is
killed (SIGKILL) and started again so many times; then an ordinary crawl follows, which has to end complete, with every
page and no deletion. Needs redis-server; everything stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

from generated_site import SiteWriter, serving  # noqa: E402
from redis_server import running_redis  # noqa: E402


def start(url: str, folder: Path, name: str, *settings: str) -> subprocess.Popen[bytes]:
    """Start a worker, or an ordinary crawl where no Redis is among the settings."""
    command = [sys.executable, "-m", "scrapy", "crawl", "docs", "-a", f"url={url}", "-a", "max_pages=0"]
    command += ["-a", "source=bench", "-O", f"{name}.jsonl", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
    command += ["-s", f"LLMS_DATA_DIR={folder / 'store'}", "-s", "LLMS_CONVERT_WORKERS=0"]
    command += [part for setting in settings for part in ("-s", setting)]
    project = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(HERE.parent)}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, env={**os.environ, **project}, stdout=log, stderr=log)


def rows(folder: Path, name: str) -> list[dict]:
    """The documents a worker delivered, also those of a killed one."""
    files = [*folder.glob(f"{name}.jsonl"), *folder.glob(f"{name}.jsonl.part")]
    found = []
    for file in files[:1]:
        for line in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def say(folder: Path, name: str, secs: float, code: int | None) -> Counter[str]:
    """Print what a worker did; returns its URLs."""
    found = rows(folder, name)
    changes = dict(Counter(row["change"] for row in found))
    log = (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
    last = [line for line in log.splitlines() if "source bench, run" in line][-1:]
    print(
        f"    {name}: exit {code}, {len(found)} documents {changes}, {secs:.1f} s; {''.join(last)[-110:]}",
        flush=True,
    )
    return Counter(row["url"] for row in found if row["change"] != "deleted")


def together(url: str, place: str, number: int, redis_url: str) -> None:
    """One crawl by so many workers."""
    with tempfile.TemporaryDirectory(prefix="workers-") as name:
        folder, began = Path(name), time.monotonic()
        workers = [start(url, folder, f"worker{n}", f"LLMS_REDIS_URL={redis_url}") for n in range(number)]
        ends: dict[int, float] = {}
        while len(ends) < number:
            for n, worker in enumerate(workers):
                if n not in ends and worker.poll() is not None:
                    ends[n] = time.monotonic() - began
            time.sleep(0.1)
        print(f"{number} workers{place}: {time.monotonic() - began:.1f} s", flush=True)
        urls: Counter[str] = Counter()
        for n, worker in enumerate(workers):
            urls += say(folder, f"worker{n}", ends[n], worker.returncode)
        print(f"    together {len(urls)} pages, {sum(urls.values()) - len(urls)} twice", flush=True)


def killed(url: str, kills: int, redis_url: str, every_secs: float) -> None:
    """Two workers, the second killed again and again; then an ordinary crawl."""
    with tempfile.TemporaryDirectory(prefix="workers-") as place:
        folder, began = Path(place), time.monotonic()
        setting = f"LLMS_REDIS_URL={redis_url}"
        first = start(url, folder, "worker0", setting)
        while first.poll() is None and "scope auto" not in (folder / "worker0.log").read_text():
            time.sleep(0.1)  # it leads
        done = 0
        while done < kills and first.poll() is None:
            name = f"killed{done}"
            victim = start(url, folder, name, setting)
            while victim.poll() is None and "joined the crawl" not in (folder / f"{name}.log").read_text():
                time.sleep(0.1)
            time.sleep(every_secs)
            if victim.poll() is None and first.poll() is None:
                victim.kill()
                done += 1
            victim.wait()
        code = first.wait()
        print(f"killed {done} times: {time.monotonic() - began:.1f} s", flush=True)
        for number in range(done):
            documents = len(rows(folder, f"killed{number}"))
            print(f"    killed{number}: {documents} documents in its unfinished output", flush=True)
        urls = say(folder, "worker0", time.monotonic() - began, code)
        began = time.monotonic()
        last = start(url, folder, "ordinary")
        code = last.wait()
        after = say(folder, "ordinary", time.monotonic() - began, code)
        print(f"    {len(urls)} pages of the survivor, {len(after)} after the ordinary crawl", flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument(
        "--every", type=float, default=3.0, help="seconds from a worker's joining until it is killed"
    )
    options = parser.parse_args()
    print(f"{options.pages} pages, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("conversion/workers.py: needs redis-server")
    with serving(SiteWriter(options.pages).site()) as site, running_redis(program) as redis_url:
        for number in options.workers:
            together(f"{site}/", f" (load {os.getloadavg()[0]:.1f})", number, redis_url)
        if options.kills:
            killed(f"{site}/", options.kills, redis_url, options.every)


if __name__ == "__main__":
    main()
