"""A night of many sources: what a job costs, two Scrapyd nodes doing it, and 10,000 sources worked out.

    python benchmarks/sources_night.py measure     what one crawl costs, first and second: CPU, memory, store, requests
    python benchmarks/sources_night.py nodes       `scrapy sync` over two Scrapyd nodes with one PostgreSQL, two nights
    python benchmarks/sources_night.py catalog     what it takes to list all sources, and to find one
    python benchmarks/sources_night.py simulate    10,000 sources a night, worked out from `INPUTS`

`nodes` needs requirements-dev.txt and a PostgreSQL. Everything stays on 127.0.0.1.
docs/how-to/many-sites.md has the results.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from math import log
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "tests" / "support")]

from generated_site import SiteWriter  # noqa: E402
from measuring import measure as cost_of  # noqa: E402
from postgresql_server import _programs, running_server  # noqa: E402
from scrapyd_server import build_egg, running_scrapyd  # noqa: E402
from site_server import Site, serving  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402

from llmsspider.store import SourceRecord, Stores  # noqa: E402

PROJECT = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
LOCAL = ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
MIB = 1024 * 1024


@dataclass(frozen=True)
class Inputs:
    """What `measure` and `catalog` gave; CPU is that of a busy machine, see docs/how-to/many-sites.md."""

    start_cpu_secs: float = 2.7
    first_page_cpu_secs: float = 0.0107
    again_page_cpu_secs: float = 0.0013
    job_mib: float = 89.0
    page_mib: float = 0.04
    store_page_bytes: float = 6100.0
    store_change_bytes: float = 400.0
    extra_requests: float = 13.0
    connections_a_job: int = 2
    catalog_source_ms: float = 2.5


INPUTS = Inputs()


# --- measure ---


def measure(options: argparse.Namespace) -> None:
    """Crawl sites of different sizes twice; print the cost of each crawl and of a page."""
    found = {}
    for pages in options.sizes:
        with tempfile.TemporaryDirectory() as name, serving(Site(dict(SiteWriter(pages).site()))) as site:
            site.etags, folder = True, Path(name)
            for night in ("first", "second"):
                site.clear()
                command = [
                    sys.executable,
                    "-m",
                    "scrapy",
                    "crawl",
                    "docs",
                    "-a",
                    f"url={site.url}/",
                    "-O",
                    "d.jsonl",
                ]
                command += [*LOCAL, "-s", f"LLMS_DATA_DIR={folder / 'store'}", "-s", "LLMS_CONVERT_WORKERS=0"]
                cost = cost_of(command, folder, environment=PROJECT)
                (store,) = (folder / "store").glob("*.sqlite")
                found[pages, night] = cost
                print(
                    f"{pages:>5} pages, {night:<6}: {cost.cpu_secs:6.2f} s CPU, {cost.wall_secs:6.2f} s, "
                    f"{cost.peak_mib:5.0f} MiB, {len(site.paths())} requests, store {store.stat().st_size} bytes, "
                    f"load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
    small, large = min(options.sizes), max(options.sizes)
    for night in ("first", "second"):
        one, many = found[small, night], found[large, night]
        page = (many.cpu_secs - one.cpu_secs) / (large - small)
        mib = (many.peak_mib - one.peak_mib) / (large - small)
        print(
            f"{night}: {one.cpu_secs - small * page:.2f} s CPU to start, {page * 1000:.1f} ms and {mib:.3f} MiB a page"
        )


# --- two nodes ---


def nodes(options: argparse.Namespace) -> None:
    """Two real Scrapyd nodes, one PostgreSQL, so many sources, two nights."""
    programs = _programs()
    assert programs is not None, "needs PostgreSQL"
    chance = random.Random(1)
    sizes = [chance.choice((10, 20, 40)) for _ in range(options.sources)]
    with ExitStack() as stack, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sites = [
            stack.enter_context(serving(Site(dict(SiteWriter(size, n).site()))))
            for n, size in enumerate(sizes)
        ]
        for site in sites:
            site.etags = True
        database = f"{stack.enter_context(running_server(programs)).url}/postgres"
        egg = build_egg(folder)
        places = [folder / "node1", folder / "node2"]
        for place in places:
            place.mkdir()
        servers = [stack.enter_context(running_scrapyd(place)) for place in places]
        for server in servers:
            server.add_version(egg)
        lines = [f'[[sources]]\nurl = "{site.url}/"\nsource = "site{n:02}"\n' for n, site in enumerate(sites)]
        (folder / "sources.toml").write_text("[defaults]\nmax_pages = 100\n\n" + "\n".join(lines))
        print(
            f"{options.sources} sources, {sum(sizes) + len(sizes)} pages, 2 nodes, load {os.getloadavg()[0]:.1f}"
        )
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "sync",
            "--jobs",
            "2",
            *LOCAL,
            "-s",
            f"LLMS_STORE_URL={database}",
        ]
        command += [
            "-s",
            "LLMS_CONVERT_WORKERS=0",
            "sources.toml",
            "--scrapyd",
            *(server.url for server in servers),
        ]
        engine = create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
        for night in (1, 2):
            for site in sites:
                site.clear()
            if night == 2:
                for site in sites[::5]:
                    path = next(path for path in site.pages if path != "/")
                    site.pages[path] = site.pages[path].replace(b"<p>", b"<p>Tonight, ", 1)  # type: ignore[union-attr]
            shown = re.sub(r"test:\w+@", "…@", " ".join(["scrapy", *command[3:]]))
            print(f"\n$ {shown}", flush=True)
            done = subprocess.run(command, cwd=folder, env={**os.environ, **PROJECT}, check=False)
            requests = sum(len(site.paths()) for site in sites)
            with engine.connect() as connection:
                size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
                pages = connection.exec_driver_sql("SELECT count(*) FROM llmsspider.page").scalar_one()
            load = os.getloadavg()[0]
            print(
                f"exit code {done.returncode}; {requests} requests; {pages} pages stored, {size / MIB:.1f} MiB, "
                f"load {load:.1f}"
            )
        engine.dispose()


def catalog(options: argparse.Namespace) -> None:
    """How long it takes to list all sources of a PostgreSQL, and to find one by its name."""
    programs = _programs()
    assert programs is not None, "needs PostgreSQL"
    with running_server(programs) as server:
        stores = Stores(f"{server.url}/postgres")
        for number in range(options.sources):
            with stores.open(f"site{number}") as store:
                store.upsert_source(SourceRecord(f"site{number}", f"https://{number}.example/"))
                store.begin_run("crawl", {})
                store.finish_run("finished", complete=True, why=None, counts={})
        began = time.perf_counter()
        assert len(stores.list()) == options.sources
        listed = (time.perf_counter() - began) * 1000
        began = time.perf_counter()
        assert stores.get("site0") is not None
        found = (time.perf_counter() - began) * 1000
    each = f"{listed / options.sources:.1f} ms each, load {os.getloadavg()[0]:.1f}"
    print(f"{options.sources} sources: listed in {listed:.0f} ms ({each}), one by its name in {found:.0f} ms")


# --- simulate ---


@dataclass
class Night:
    """What a night came to."""

    wall_secs: float
    cpu_secs: float
    requests: int
    pages: int
    stored_bytes: float
    longest_secs: float
    largest: int


def sizes_of(sources: int, seed: int, median: float, spread: float, limit: int) -> list[int]:
    """Pages of each source: log-normal, cut at `max_pages`."""
    chance = random.Random(seed)
    return [max(1, min(limit, int(chance.lognormvariate(log(median), spread)))) for _ in range(sources)]


def night(options: argparse.Namespace, sizes: list[int], *, first: bool, inputs: Inputs = INPUTS) -> Night:
    """Give each source to the first free slot, as `scrapy sync` does.

    A crawl takes as long as its site lets it (`--latency` for each request, 8 at a time), or its CPU where the slots
    of a node share fewer cores.
    """
    slots = [0.0] * (options.nodes * options.jobs)
    heapq.heapify(slots)
    share = max(1.0, options.jobs / options.cores)
    cpu_total, requests_total, stored, longest = 0.0, 0, 0.0, 0.0
    for pages in sizes:
        changed = pages if first else max(0, round(pages * options.changed))
        requests = int(pages + inputs.extra_requests)
        same = pages - changed
        cpu = inputs.start_cpu_secs + changed * inputs.first_page_cpu_secs + same * inputs.again_page_cpu_secs
        secs = max(requests * options.latency / 8, cpu * share) + inputs.start_cpu_secs
        heapq.heappush(slots, heapq.heappop(slots) + secs)
        cpu_total += cpu
        requests_total += requests
        stored += pages * inputs.store_page_bytes * first + changed * inputs.store_change_bytes
        longest = max(longest, secs)
    return Night(max(slots), cpu_total, requests_total, sum(sizes), stored, longest, max(sizes))


def simulate(options: argparse.Namespace) -> None:
    """Print the first night and an ordinary one, and what is closest to its limit."""
    sizes = sizes_of(options.sources, 1, options.median, options.spread, options.max_pages)
    slots = options.nodes * options.jobs
    print(
        f"{options.sources} sources, {sum(sizes)} pages (median {sorted(sizes)[len(sizes) // 2]}, largest {max(sizes)})"
    )
    print(
        f"{options.nodes} nodes of {options.cores} cores, {options.jobs} jobs each, {options.latency} s a request"
    )
    for name, first in (
        ("first night", True),
        (f"a night, {options.changed:.0%} of the pages changed", False),
    ):
        found = night(options, sizes, first=first)
        busy = found.cpu_secs / (found.wall_secs * options.nodes * options.cores)
        print(f"\n{name}:")
        print(f"  {found.wall_secs / 3600:.1f} h; the longest source alone {found.longest_secs / 60:.0f} min")
        print(f"  {found.cpu_secs / 3600:.1f} h CPU, {busy:.0%} of the cores; {found.requests} requests")
        print(
            f"  {found.requests / found.wall_secs:.0f} requests/s, {found.stored_bytes / 1024 / MIB:.2f} GiB stored"
        )
    job_mib = INPUTS.job_mib + INPUTS.page_mib * max(sizes)
    listed = options.sources * INPUTS.catalog_source_ms / 1000
    small, large = options.jobs * INPUTS.job_mib / 1024, options.jobs * job_mib / 1024
    print(
        f"\nmemory of a node: {small:.1f} GiB for small sources, {large:.1f} GiB if all of its jobs are the largest"
    )
    print(
        f"connections to PostgreSQL: {slots} jobs x {INPUTS.connections_a_job} = {slots * INPUTS.connections_a_job}"
    )
    print(f"starting: {options.sources * INPUTS.start_cpu_secs / 3600:.1f} h CPU")
    print(
        f"listing all sources once: {listed:.0f} s; in every job it would be {listed * options.sources / 3600:.0f} h"
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("measure")
    part.add_argument("--sizes", type=int, nargs="+", default=[10, 200])
    part.set_defaults(run=measure)
    part = parts.add_parser("nodes")
    part.add_argument("--sources", type=int, default=20)
    part.set_defaults(run=nodes)
    part = parts.add_parser("catalog")
    part.add_argument("--sources", type=int, default=200)
    part.set_defaults(run=catalog)
    part = parts.add_parser("simulate")
    part.add_argument("--sources", type=int, default=10_000)
    part.add_argument("--nodes", type=int, default=4)
    part.add_argument("--cores", type=int, default=4)
    part.add_argument("--jobs", type=int, default=8, help="crawls at a time on a node")
    part.add_argument("--median", type=float, default=80, help="pages of the median source")
    part.add_argument(
        "--spread", type=float, default=1.5, help="sigma of the log-normal distribution of pages"
    )
    part.add_argument("--max-pages", type=int, default=10_000)
    part.add_argument("--changed", type=float, default=0.02, help="share of the pages that change in a day")
    part.add_argument("--latency", type=float, default=0.4, help="seconds a request takes")
    part.set_defaults(run=simulate)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
