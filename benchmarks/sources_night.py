"""A night of many sources: what a job costs, and two Scrapyd nodes doing it.

    python benchmarks/sources_night.py measure     what one crawl costs, first and second: CPU, memory, store, requests
    python benchmarks/sources_night.py nodes       `scrapy sync` over two Scrapyd nodes with one PostgreSQL, two nights
    python benchmarks/sources_night.py sections    one site of 20,000 pages in sections on two nodes, and as one crawl
    python benchmarks/sources_night.py catalog     what it takes to list all sources, and to find one

`nodes` and `sections` need requirements-dev.txt and a PostgreSQL. Everything stays on 127.0.0.1.
docs/how-to/many-sites.md has the results; `scale.py` simulates 10,000 sources.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "tests" / "support")]

from generated_site import SiteWriter, in_words  # noqa: E402
from measuring import measure as cost_of  # noqa: E402
from postgresql_server import running_server  # noqa: E402
from scrapyd_server import Scrapyd, build_egg, running_scrapyd  # noqa: E402
from site_server import Site, serving  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402

from llmsspider.errors import StoreError  # noqa: E402
from llmsspider.store import RunRecord, SourceRecord, Stores  # noqa: E402

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


# --- one source in sections ---

PAGES_A_DIRECTORY = 100
UNLISTED = 10  # of them, that only links lead to


def large_site(pages: int) -> dict[str, bytes]:
    """Return so many small pages in directories that link to each other; nine of ten pages are in a sitemap."""
    names = [in_words(number) for number in range(-(-pages // PAGES_A_DIRECTORY))]
    paths = [
        f"/{name}/{'more-' if at >= PAGES_A_DIRECTORY - UNLISTED else ''}{in_words(at)}"
        for name in names
        for at in range(PAGES_A_DIRECTORY)
    ][:pages]
    writer, site = SiteWriter(PAGES_A_DIRECTORY), {}
    for number, path in enumerate(paths):
        linked = [paths[(number + step) % len(paths)] for step in (1, 7, 90, 95, 1234)]
        links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in linked)
        site[path] = (
            f"<!doctype html><html lang='en'><head><title>{path[1:]}</title></head><body><main><h1>{path[1:]}</h1>"
            f"<p>{writer.words(60)}</p><ul>{links}</ul></main></body></html>"
        ).encode()
    listed = "".join(
        f"<url><loc>{{base}}{path}</loc></url>" for path in paths if "/more-" not in path
    )
    site["/"] = site[paths[0]]
    site["/sitemap.xml"] = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'  # type: ignore[assignment]
    )
    return site


def change(site: Site) -> None:
    """Change a page, delete one, and move one to another directory."""
    paths = [path for path in site.pages if path.count("/") == 2 and "/more-" not in path]
    site.pages[paths[5]] = site.pages[paths[5]].replace(b"<p>", b"<p>Tonight, ", 1)  # type: ignore[union-attr]
    gone, old, new = paths[len(paths) // 2], paths[7], f"{paths[-1]}-new"
    site.pages[new] = site.pages.pop(old)
    del site.pages[gone]
    renamed = {f'"{gone}"'.encode(): b'"/"', f'"{old}"'.encode(): f'"{new}"'.encode()}
    for path, page in site.pages.items():
        for before, after in renamed.items() if isinstance(page, bytes) else ():
            site.pages[path] = bytes(site.pages[path]).replace(before, after)  # type: ignore[arg-type]
    listed = str(site.pages["/sitemap.xml"]).replace(f"<url><loc>{{base}}{gone}</loc></url>", "")
    site.pages["/sitemap.xml"] = listed.replace(f"{{base}}{old}<", f"{{base}}{new}<")


def documents_of(stores: Stores) -> dict[str, tuple[object, ...]]:
    """Return what is stored of each page, by its address, but for what differs from crawl to crawl."""
    names = (
        "title",
        "content_hash",
        "origin",
        "discovered_by",
        "language",
        "moved_from",
        "status",
        "mime_type",
    )
    with stores.open("s") as store:
        records = (page.record for page in store.iter_pages("url"))
        return {
            one.url: (*(getattr(one, name) for name in names), *map(str, one.links))
            for one in records
        }


def told_of(stores: Stores) -> set[tuple[str, str]]:
    """Return each change that the last run told."""
    with stores.open("s") as store:
        return {
            (page.record.url, page.change)
            for page in store.changes_since(store.runs()[-1].seq_before)
        }


def kill_node(node: Scrapyd, stores: Stores, before: int, pages: int) -> None:
    """Kill a node with the crawls that it started, once so many pages of the night are done."""
    done = 0
    while done < pages:
        time.sleep(1)
        with suppress(StoreError), stores.open("s", create=False) as store:
            done = sum(
                int(str(run.counts.get("done", 0))) for run in store.runs() if run.number > before
            )
    children = Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split()
    for pid in (node.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    print(f"killed {node.url} and {len(children)} crawls when {done} pages were done", flush=True)


def runs_of(stores: Stores) -> list[RunRecord]:
    """Return the runs of the source, none before the first."""
    with suppress(StoreError), stores.open("s", create=False) as store:
        return store.runs()
    return []


def sections(options: argparse.Namespace) -> None:
    """One site, as one crawl and in sections on two nodes, of which one is killed half-way; then it changes."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = stack.enter_context(serving(Site(dict(large_site(options.pages)))))
        site.etags = True
        bases = {kind: stack.enter_context(running_server()) for kind in ("whole", "sections")}
        stores = {kind: Stores(f"{server.url}/postgres") for kind, server in bases.items()}
        egg, places = build_egg(folder), [folder / "node1", folder / "node2"]
        for place in places:
            place.mkdir()
        servers = [stack.enter_context(running_scrapyd(place, items_dir="")) for place in places]
        for server in servers:
            server.add_version(egg)
        entry = f'[[sources]]\nurl = "{site.url}/"\nsource = "s"\nmax_pages = 0\n'
        (folder / "whole.toml").write_text(entry)
        (folder / "sections.toml").write_text(f"{entry}section_pages = {options.section_pages}\n")
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "sync",
            "--jobs",
            "1",
            *LOCAL,
            "-s",
            "LLMS_CONVERT_WORKERS=0",
        ]
        for night in range(1, options.nights + 1):
            if night > 1:
                change(site)
            for kind in ("whole", "sections"):
                site.clear()
                words = [
                    *command,
                    "-s",
                    f"LLMS_STORE_URL={bases[kind].url}/postgres",
                    f"{kind}.toml",
                ]
                words += (
                    ["--scrapyd", *(server.url for server in servers)] if kind == "sections" else []
                )
                began, before = time.monotonic(), len(runs_of(stores[kind]))
                if kind == "sections" and night == 1:
                    killed = (servers[0], stores[kind], before, options.pages // 2)
                    threading.Thread(target=kill_node, args=killed, daemon=True).start()
                done = subprocess.run(words, cwd=folder, env={**os.environ, **PROJECT}, check=False)
                runs = runs_of(stores[kind])
                jobs = Counter(run.section[1] for run in runs[before:])
                print(
                    f"night {night}, {kind}: exit code {done.returncode}, {len(site.paths())} requests, "
                    f"{time.monotonic() - began:.0f} s, documents {runs[-1].counts['documents']}, changes "
                    f"{runs[-1].counts['changes']}, jobs {dict(jobs)}, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
            whole, parts = map(documents_of, stores.values())
            told, told_in_parts = map(told_of, stores.values())
            other = [url for url in whole.keys() | parts.keys() if whole.get(url) != parts.get(url)]
            print(
                f"night {night}: {len(whole)} and {len(parts)} documents, {len(other)} differ {other[:3]}; "
                f"{len(told)} and {len(told_in_parts)} changes told, {len(told ^ told_in_parts)} differ",
                flush=True,
            )


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
    part = parts.add_parser("sections")
    part.add_argument("--pages", type=int, default=20_000)
    part.add_argument("--section-pages", type=int, default=2_800)
    part.add_argument("--nights", type=int, default=2)
    part.set_defaults(run=sections)
    part = parts.add_parser("catalog")
    part.add_argument("--sources", type=int, default=200)
    part.set_defaults(run=catalog)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
