"""What 10,000 sources a night take, and where SQLite and one PostgreSQL end.

    python benchmarks/scale.py store PAGES       writers at a time into the page store, SQLite and PostgreSQL; PAGES is a folder of HTML
    python benchmarks/scale.py states PAGES      what the states of stored pages take in memory, which every crawl loads first
    python benchmarks/scale.py simulate          a night of `--sources` by number of nodes, `--plot FILE.svg` draws it
    python benchmarks/scale.py giant             one source of `--pages`, by the rate that its host allows

All figures are CPU time, of the clients and of the servers, so that they hold on a busy machine. What a crawl costs is measured by
`benchmarks/sources_night.py measure`. docs/lab/scale.md has the results; `scale_model.py` is the model. Everything stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "tests" / "support")]

from postgresql_server import running_server  # noqa: E402
from scale_model import Costs, Fleet, Night, Source, make_sources, simulate  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402

from llmsspider.content.extraction import convert  # noqa: E402
from llmsspider.items import content_hash  # noqa: E402
from llmsspider.store import PageRecord, SourceRecord, open_store  # noqa: E402

COSTS = Costs(
    start_cpu_secs=0.083,
    page_cpu_secs=0.0100,
    same_cpu_secs=0.0018,
    extra_requests=11,
    job_mib=130,
    page_kib=3.0,
)
"""Measured; see docs/lab/scale.md for machine, load and commands."""


# --- the page store ---


def records_of(folder: Path, limit: int) -> list[Any]:
    """Convert HTML files; return their page records."""
    found = []
    for file in sorted(folder.rglob("*.html"))[:limit]:
        url = f"https://docs.example.com/{file.relative_to(folder)}"
        body = file.read_bytes()
        page = convert(body, url, None)
        digest = content_hash(page.markdown)
        found.append(
            PageRecord(
                id=digest[:32],
                identity=url,
                url=url,
                fetched_url=url,
                title=page.meta.title,
                content=page.markdown,
                content_hash=digest,
                source_hash=digest,
                raw_hash=hashlib.sha256(body).hexdigest(),
                links=list(page.links),
                follow=[link.url for link in page.links],
                status=200,
                mime_type="text/html",
                etag=f'"{digest[:16]}"',
                validators_url=url,
                extractor_version="1",
                fetched_at="2026-11-21T22:00:00Z",
            )
        )
    return found


def write(
    url: str | None, folder: str, source: str, records: list[Any], pages: int, results: Any
) -> None:
    """Store so many pages under addresses of their own; a process."""
    with open_store(url, Path(folder), source) as store:
        store.upsert_source(SourceRecord(source, "https://docs.example.com/"))
        store.begin_run("crawl", {})
        cpu, began = time.process_time(), time.perf_counter()
        for number in range(pages):
            record = records[number % len(records)]
            content = f"{record.content}\n{source} {os.getpid()} {number}\n"
            digest = content_hash(content)
            identity = f"{record.url}?{os.getpid()}-{number}"
            store.save_page(
                replace(
                    record,
                    identity=identity,
                    content=content,
                    content_hash=digest,
                    source_hash=digest,
                ),
                "new",
            )
        store.flush()
        results.put((time.process_time() - cpu, time.perf_counter() - began))
        store.finish_run("finished", complete=True, why=None, counts={})


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, of its children that ended and of those that live."""
    ticks, total = os.sysconf("SC_CLK_TCK"), 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended
                continue
            if int(entry.name) == pid:
                total += sum(int(fields[index]) for index in (11, 12, 13, 14))
            elif int(fields[1]) == pid:
                total += sum(int(fields[index]) for index in (11, 12))
    return total / ticks


def measure_store(options: argparse.Namespace) -> None:
    """Print what a page costs for each number of writers: each with a source of its own, then all with one."""
    records = records_of(options.folder, options.records)
    chars = sum(len(record.content) for record in records) / len(records)
    print(
        f"{len(records)} pages of {options.folder}, {chars:.0f} characters of Markdown each; {options.pages} a writer"
    )
    cases = [(writers, False) for writers in options.writers] + [
        (writers, True) for writers in options.writers if writers > 1
    ]
    for writers, shared in cases:
        with tempfile.TemporaryDirectory() as folder:
            done = write_all(options, records, None, Path(folder), writers, shared=shared)
            stored = sum(file.stat().st_size for file in Path(folder).glob("*.sqlite*"))
            say_store("SQLite", done, 0.0, stored, writers, shared=shared)
    for writers, shared in cases:
        with running_server() as server:
            pid = int((Path(server.control[2]) / "postmaster.pid").read_text().split()[0])
            url, before = f"{server.url}/postgres", cpu_of(pid)
            empty = database_size(url)
            done = write_all(options, records, url, Path(), writers, shared=shared)
            say_store(
                "PostgreSQL",
                done,
                cpu_of(pid) - before,
                database_size(url) - empty,
                writers,
                shared=shared,
            )


def write_all(
    options: argparse.Namespace,
    records: list[Any],
    url: str | None,
    folder: Path,
    writers: int,
    *,
    shared: bool,
) -> tuple[int, float, float]:
    """Start the writers together; return pages stored, CPU and wall seconds of them."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    names = ["site" if shared else f"site{number}" for number in range(writers)]
    tasks = [
        context.Process(
            target=write, args=(url, str(folder), name, records, options.pages, results)
        )
        for name in names
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    if any(task.exitcode for task in tasks):
        raise SystemExit("a writer failed")
    found = [results.get() for _ in tasks]
    return writers * options.pages, sum(cpu for cpu, _ in found), max(wall for _, wall in found)


def say_store(
    kind: str,
    done: tuple[int, float, float],
    server_cpu: float,
    size: int,
    writers: int,
    *,
    shared: bool,
) -> None:
    """Print one line."""
    pages, cpu, wall = done
    print(
        f"{kind:<10} {writers} {'on one source' if shared and writers > 1 else 'a source each':<14} {pages:>6} pages: "
        f"{1000 * cpu / pages:.2f} ms CPU of the writer, {1000 * server_cpu / pages:.2f} ms of the server, "
        f"{size / pages / 1000:.1f} KB a page, {pages / wall:.0f} pages/s (load {os.getloadavg()[0]:.0f})",
        flush=True,
    )


def database_size(url: str) -> int:
    """Bytes of a PostgreSQL database."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as connection:
            return int(
                connection.exec_driver_sql(
                    "SELECT pg_database_size(current_database())"
                ).scalar_one()
            )
    finally:
        engine.dispose()


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(folder: str, results: Any) -> None:
    """Load the states of all stored pages; a process."""
    with open_store(None, Path(folder), "site", create=False) as store:
        before, cpu = resident(), time.process_time()
        states = store.page_states()
        results.put((len(states), resident() - before, time.process_time() - cpu))


def measure_states(options: argparse.Namespace) -> None:
    """Store pages in SQLite; print what a fresh process needs to load their states."""
    records = records_of(options.folder, options.records)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for task in (
            context.Process(
                target=write, args=(None, folder, "site", records, options.pages, results)
            ),
            context.Process(target=load, args=(folder, results)),
        ):
            task.start()
            task.join()
        size = sum(file.stat().st_size for file in Path(folder).glob("*.sqlite*"))
    written, (pages, memory, cpu) = results.get(), results.get()
    print(
        f"{pages} pages stored in {written[0]:.0f} s CPU, {size / pages / 1000:.1f} KB each; their states: {memory / pages:.0f} bytes of "
        f"memory and {1000 * cpu / pages:.3f} ms CPU a page (load {os.getloadavg()[0]:.0f})"
    )


# --- the simulation ---


def run_simulation(options: argparse.Namespace) -> None:
    """Print a first night, an ordinary one, and one in which sites name what changed, for each number of nodes."""
    sources = make_sources(
        options.sources, options.seed, largest=options.largest, shared=options.shared
    )
    sizes = sorted(source.pages for source in sources)
    print(
        f"{len(sources)} sources on {len({source.host for source in sources})} hosts, {sum(sizes)} pages: median {sizes[len(sizes) // 2]}, "
        f"99 of 100 below {sizes[len(sizes) * 99 // 100]}, largest {sizes[-1]}; {options.cores} cores and {options.jobs} jobs a node, "
        f"{options.rate:g} requests/s a host, {options.order} first"
    )
    print(
        "nodes  night   hours  CPU h  cores used  requests/s  writes/s  GB a node  cost  busiest host alone"
    )
    found: dict[str, list[tuple[int, Night]]] = {}
    for nodes in options.nodes:
        for name, changed in (("first", 1.0), ("later", options.changed), ("named", 0.5)):
            fleet = Fleet(
                nodes,
                options.cores,
                options.jobs,
                options.rate,
                options.latency,
                order=options.order,
            )
            asked = sources
            # the changed pages and a sample of a fiftieth, as many again, are requested
            if name == "named":
                asked = [
                    replace(one, pages=max(3, round(2 * options.changed * one.pages)))
                    for one in sources
                ]
            night = simulate(asked, fleet, COSTS, changed=changed)
            found.setdefault(name, []).append((nodes, night))
            print(
                f"{nodes:>5}  {name:<6} {night.makespan / 3600:>6.1f} {night.cpu_secs / 3600:>6.1f} {night.utilisation:>10.0%} "
                f"{night.requests / night.makespan:>11.0f} {night.write_rate:>9.0f} {night.node_mib / 1024:>10.1f} "
                f"{night.core_secs / 3600 * options.price:>5.2f} {night.ends[len(night.ends) * 99 // 100] / 3600:>10.1f} h  {night.busiest_host_secs / 3600:.1f} h ({night.busiest_host})"
            )
    if options.plot:
        options.plot.write_text(plot(found), encoding="utf-8")


STORED_KB = 4.2
"""A page in PostgreSQL, measured by the part `store`."""


def run_giant(options: argparse.Namespace) -> None:
    """Print what one large source takes."""
    print("requests/s  days  CPU h  GB a crawl  GB in PostgreSQL")
    for rate in options.rates:
        fleet = Fleet(
            1,
            options.cores,
            options.jobs,
            rate,
            options.latency,
            concurrency=max(8, round(2 * rate * options.latency)),
        )
        night = simulate([Source("giant", "giant.example", options.pages)], fleet, COSTS)
        crawl = COSTS.job_mib / 1024 + options.pages * COSTS.page_kib / 1024**2
        print(
            f"{rate:>10g} {night.makespan / 86400:>5.1f} {night.cpu_secs / 3600:>6.1f} {crawl:>11.1f} "
            f"{options.pages * STORED_KB / 1e6:>17.0f}"
        )


COLOURS = {
    "first crawl": "#1f6feb",
    "later night": "#8b949e",
    "all sources": "#1f6feb",
    "99 of 100 sources": "#2da44e",
}


def plot(found: dict[str, list[tuple[int, Night]]]) -> str:
    """Return an SVG of two panels: hours of a first night and share of the cores used, by number of nodes."""
    first, later = found["first"], found["later"]
    bound = max(night.busiest_host_secs for _, night in first) / 3600
    hours = {
        "all sources": [(nodes, night.makespan / 3600) for nodes, night in first],
        "99 of 100 sources": [
            (nodes, night.ends[len(night.ends) * 99 // 100] / 3600) for nodes, night in first
        ],
    }
    share = {
        name: [(nodes, 100 * night.utilisation) for nodes, night in rows]
        for name, rows in (("first crawl", first), ("later night", later))
    }
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 300" font-family="sans-serif" font-size="11" fill="#444">',
        '<rect width="760" height="300" fill="#fff"/>',
        *panel(60, "hours until done", hours, bound, f"busiest host alone: {bound:.1f} h"),
        *panel(440, "CPU used, % of all cores", share, None, ""),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def panel(
    left: int,
    title: str,
    series: dict[str, list[tuple[int, float]]],
    bound: float | None,
    label: str,
) -> list[str]:
    """Return one panel: a line for each series, nodes in steps of two along the axis."""
    top, bottom, width = 40, 250, 280
    nodes = [number for number, _ in next(iter(series.values()))]
    highest = 1.1 * max(
        [value for rows in series.values() for _, value in rows] + ([bound] if bound else [])
    )
    across = {
        number: left + width * index / max(1, len(nodes) - 1) for index, number in enumerate(nodes)
    }

    def down(value: float) -> float:
        return bottom - (bottom - top) * value / highest

    parts = [
        f'<text x="{left}" y="24" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{left} {top}V{bottom}H{left + width}" fill="none" stroke="#888"/>',
        *(
            f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{number}</text>'
            for number, x in across.items()
        ),
        f'<text x="{left + width / 2}" y="{bottom + 34}" text-anchor="middle">nodes</text>',
        *(
            f'<text x="{left - 6}" y="{down(highest * step / 4) + 4:.0f}" text-anchor="end">{highest * step / 4:.{0 if highest > 20 else 1}f}</text>'
            for step in range(5)
        ),
    ]
    if bound:
        parts.append(
            f'<path d="M{left} {down(bound):.1f}H{left + width}" stroke="#cf222e" stroke-dasharray="5 3"/>'
        )
        parts.append(
            f'<text x="{left + width}" y="{down(bound) - 5:.1f}" text-anchor="end" fill="#cf222e">{escape(label)}</text>'
        )
    for index, (name, rows) in enumerate(series.items()):
        points = " ".join(f"{across[number]:.1f},{down(value):.1f}" for number, value in rows)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{across[n]:.1f}" cy="{down(v):.1f}" r="3" fill="{COLOURS[name]}"/>'
            for n, v in rows
        ]
        parts.append(
            f'<text x="{left + width}" y="{24 + 14 * index}" text-anchor="end" fill="{COLOURS[name]}">{name}</text>'
        )
    return parts


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("store")
    part.add_argument("folder", type=Path, help="a folder of HTML pages")
    part.add_argument("--records", type=int, default=400, help="pages of the folder that are used")
    part.add_argument("--pages", type=int, default=3000, help="pages that each writer stores")
    part.add_argument("--writers", type=int, nargs="+", default=[1, 2, 4, 8])
    part.set_defaults(run=measure_store)
    part = parts.add_parser("states")
    part.add_argument("folder", type=Path, help="a folder of HTML pages")
    part.add_argument("--records", type=int, default=400, help="pages of the folder that are used")
    part.add_argument("--pages", type=int, default=60_000)
    part.set_defaults(run=measure_states)
    part = parts.add_parser("simulate")
    part.add_argument("--sources", type=int, default=10_000)
    part.add_argument("--seed", type=int, default=1)
    part.add_argument("--largest", type=int, default=100_000, help="pages of the largest source")
    part.add_argument(
        "--shared", type=float, default=0.3, help="share of the sources on a host with others"
    )
    part.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    part.add_argument("--cores", type=int, default=4)
    part.add_argument("--jobs", type=int, default=16, help="crawls at a time on a node")
    part.add_argument("--rate", type=float, default=5.0, help="requests a second of one host")
    part.add_argument("--latency", type=float, default=0.4, help="seconds a host takes to answer")
    part.add_argument(
        "--changed", type=float, default=0.02, help="share of the pages that change in a day"
    )
    part.add_argument("--order", choices=("file", "largest"), default="largest")
    part.add_argument("--price", type=float, default=0.05, help="what a core costs an hour")
    part.add_argument("--plot", type=Path, metavar="FILE.svg")
    part.set_defaults(run=run_simulation)
    part = parts.add_parser("giant")
    part.add_argument("--pages", type=int, default=5_000_000)
    part.add_argument("--rates", type=float, nargs="+", default=[5.0, 25.0, 100.0])
    part.add_argument("--cores", type=int, default=4)
    part.add_argument("--jobs", type=int, default=16, help="crawls at a time on the node")
    part.add_argument("--latency", type=float, default=0.4, help="seconds the host takes to answer")
    part.set_defaults(run=run_giant)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
