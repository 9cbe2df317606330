"""A night of many sources: what a job costs, and two Scrapyd nodes doing it.

    python benchmarks/sources_night.py measure     what one crawl costs, first and second: CPU, memory, store, requests
    python benchmarks/sources_night.py nodes       `scrapy sync` over two Scrapyd nodes with one PostgreSQL, two nights
    python benchmarks/sources_night.py catalog     what it takes to list all sources, and to find one

`nodes` needs locks/requirements-dev.txt and a PostgreSQL. Everything stays on 127.0.0.1.
docs/how-to/many-sites.md has the results; `scale.py` simulates 10,000 sources.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "tests" / "support")]

from generated_site import SiteWriter  # noqa: E402
from measuring import measure as cost_of  # noqa: E402
from postgresql_server import running_server  # noqa: E402
from scrapyd_server import build_egg, running_scrapyd  # noqa: E402
from site_server import Site, serving  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402

from llmsspider.store import SourceRecord, Stores  # noqa: E402

PROJECT = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
LOCAL = ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
MIB = 1024 * 1024


# --- measure ---


def measure(options: argparse.Namespace) -> None:
    """Crawl sites of different sizes twice; print the cost of each crawl and of a page."""
    found = {}
    for pages in options.sizes:
        with (
            tempfile.TemporaryDirectory() as name,
            serving(Site(dict(SiteWriter(pages).site()))) as site,
        ):
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
                command += [
                    *LOCAL,
                    "-s",
                    f"LLMS_DATA_DIR={folder / 'store'}",
                    "-s",
                    "LLMS_CONVERT_WORKERS=0",
                ]
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
        database = f"{stack.enter_context(running_server()).url}/postgres"
        egg = build_egg(folder)
        places = [folder / "node1", folder / "node2"]
        for place in places:
            place.mkdir()
        servers = [stack.enter_context(running_scrapyd(place)) for place in places]
        for server in servers:
            server.add_version(egg)
        lines = [
            f'[[sources]]\nurl = "{site.url}/"\nsource = "site{n:02}"\n'
            for n, site in enumerate(sites)
        ]
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
                size = connection.exec_driver_sql(
                    "SELECT pg_database_size(current_database())"
                ).scalar_one()
                pages = connection.exec_driver_sql(
                    "SELECT count(*) FROM llmsspider.page"
                ).scalar_one()
            load = os.getloadavg()[0]
            print(
                f"exit code {done.returncode}; {requests} requests; {pages} pages stored, {size / MIB:.1f} MiB, "
                f"load {load:.1f}"
            )
        engine.dispose()


def catalog(options: argparse.Namespace) -> None:
    """How long it takes to list all sources of a PostgreSQL, and to find one by its name."""
    with running_server() as server:
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
    print(
        f"{options.sources} sources: listed in {listed:.0f} ms ({each}), one by its name in {found:.0f} ms"
    )


def main() -> None:
    """Run one part."""
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
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
