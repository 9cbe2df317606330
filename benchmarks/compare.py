"""How fast, beside others: `make bench`, or parts of it with `python benchmarks/compare.py PART …`.

Serves real documentation (Debian's python3.11-doc and postgresql-doc-15) and generated sites from a local nginx, crawls
them with llmsspider and its peers in alternating rounds, and writes docs/lab/performance-results.md, its plot and
benchmarks/results.json. Parts that are run alone replace their own results and leave the others.

    python      all crawlers on the Python documentation        text     Markdown-native and llms-full sites
    postgresql  the same on PostgreSQL's, less the slowest      recrawl  the second crawl beside the first
    start       time to the first request                       growth   30,000 pages beside 1,000 (once)
    index       indexing for search beside the crawl            memory   100,000 pages (once, only when asked for)

See docs/lab/performance.md. Linux, nginx, wget; the peers are installed into benchmarks/.venvs/.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import contestants  # noqa: E402
import peer_sites as sites  # noqa: E402
import results  # noqa: E402
from contestants import OUTPUT, Contestant, ours  # noqa: E402
from measuring import TIMED_OUT, Cost, measure  # noqa: E402
from smoke import PACKAGES, machine, version  # noqa: E402
from webserver import WebServer, free_port, serving  # noqa: E402

DEFAULT_PARTS = ("python", "postgresql", "text", "recrawl", "index", "start", "growth")
SLOW = {"postgresql": (contestants.CRAWL4AI, contestants.CRAWLEE_PARSEL)}
"""Left out where the part `python` has measured them already."""
LINK_ONLY_TURNS = 3
"""Pairs in each round with the crawler that most targets are about."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    rounds: int
    only: tuple[str, ...]
    pages: int
    growth: tuple[int, int]
    memory: int
    timeout_secs: float
    folder: Path

    def takes(self, contestant: Contestant, part: str) -> bool:
        """Say whether a crawler takes part."""
        if self.only:
            return (
                any(word in contestant.name for word in self.only) or contestant is contestants.OURS
            )
        return contestant in contestants.ALL and contestant not in SLOW.get(part, ())


# --- one crawl ---


def crawl(
    contestant: Contestant, server: WebServer, folder: Path, timeout_secs: float
) -> dict[str, Any]:
    """Crawl with one crawler in `folder`; returns what it cost, asked for and wrote."""
    server.requests()
    cost = measure(
        contestant.command(server.url),
        folder,
        environment=contestant.environment,
        accept=contestant.accept,
        timeout_secs=timeout_secs,
    )
    row = observation(contestant, cost, server, folder)
    if cost.exit_code == TIMED_OUT:
        pages, documents = row["pages"], row["documents"]
        row["failed"] = (
            f"stopped after {timeout_secs:.0f} s with {pages} pages, {documents} documents"
        )
    return row


def observation(
    contestant: Contestant, cost: Cost, server: WebServer, folder: Path
) -> dict[str, Any]:
    """Return the figures of one crawl."""
    asked = server.requests()
    output = folder / OUTPUT
    return {
        "name": contestant.name,
        "cpu_secs": round(cost.cpu_secs, 3),
        "wall_secs": round(cost.wall_secs, 3),
        "peak_mib": round(cost.peak_mib, 1),
        "memory": cost.memory,
        "first_request_secs": round(
            min((request.time for request in asked), default=0) - cost.started, 3
        ),
        "requests": len(asked),
        "pages": len({request.path for request in asked if request.is_page}),
        "megabytes": round(sum(request.sent for request in asked) / 1e6, 2),
        "documents": sum(1 for _ in output.open("rb"))
        if contestant.writes and output.is_file()
        else None,
    }


def alone(
    contestant: Contestant, server: WebServer, options: Options, part: str, number: object = ""
) -> dict[str, Any]:
    """Crawl in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        row = crawl(contestant, server, Path(folder), options.timeout_secs)
    say(part, number, row)
    return row


def say(part: str, number: object, row: dict[str, Any]) -> None:
    """Print a line about one crawl."""
    if "failed" in row:
        print(f"{part} {number} {row['name']}: {row['failed']}", flush=True)
        return
    print(
        f"{part} {number} {row['name']}: {row['pages']} pages, {row['documents']} documents, "
        f"{row['requests']} requests, {row['cpu_secs']:.2f} s CPU, {row['wall_secs']:.2f} s, "
        f"{row['peak_mib']:.0f} MiB",
        flush=True,
    )


Entry = tuple[Contestant, WebServer]


def alternate(entries: Sequence[Entry], options: Options, part: str) -> list[list[dict[str, Any]]]:
    """Run the rounds; each begins with another crawler. One that failed is not asked again."""
    rounds: list[list[dict[str, Any]]] = []
    failed: set[str] = set()
    for number in range(options.rounds):
        turn = number % len(entries)
        order = [*entries[turn:], *entries[:turn]]
        rows = [
            alone(contestant, server, options, part, number + 1)
            for contestant, server in order
            if contestant.name not in failed
        ]
        for row in rows:
            row.pop("memory", None)
        failed |= {row["name"] for row in rows if "failed" in row}
        rounds.append(rows)
    return rounds


def in_pairs(
    crawlers: Sequence[Contestant], server: WebServer, options: Options, part: str
) -> list[list[dict[str, Any]]]:
    """Run each other crawler next to a crawl of ours, in turns before and after it; one that failed is not asked again.

    A round of all takes minutes, and a shared machine is half as fast in some minutes as in others.
    """
    pairs: list[list[dict[str, Any]]] = []
    failed: set[str] = set()
    others = [other for other in crawlers if other is not contestants.OURS]
    turns = [
        other
        for other in others
        for _ in range(LINK_ONLY_TURNS if other is contestants.LINK_ONLY else 1)
    ]
    for number in range(1, options.rounds + 1):
        for turn, other in enumerate(turns):
            if other.name in failed:
                continue
            order = (contestants.OURS, other) if (number + turn) % 2 else (other, contestants.OURS)
            pairs.append([alone(contestant, server, options, part, number) for contestant in order])
            failed |= {row["name"] for row in pairs[-1] if "failed" in row}
    return pairs


def warm_up(crawlers: Iterable[Contestant], options: Options) -> None:
    """Install what is missing and crawl one page with each, so that all is compiled and in memory."""
    with serving(sites.lone_page(options.folder / "lone")) as server:
        for contestant in crawlers:
            if contestant.requirements:
                contestants.environment(contestant.requirements)
            alone(contestant, server, options, "warming up")


# --- parts ---


def real_documentation(part: str, docs: sites.DebianDocs, options: Options) -> dict[str, Any]:
    """Compare all crawlers on a site of HTML pages."""
    known = contestants.ALL
    crawlers = [contestant for contestant in known if options.takes(contestant, part)]
    root = docs.root()
    warm_up(crawlers, options)
    sites.read_once(root)
    with serving(root) as server:
        pairs = in_pairs(crawlers, server, options, part)
    return {"site": docs.version(), "rounds": pairs, "times": options.rounds}


def text(options: Options) -> dict[str, Any]:
    """Compare the same generated pages as HTML only, with Markdown twins, and as one full text."""
    html = sites.generated(options.folder / "html", options.pages)
    ports = free_port(), free_port()
    twins = sites.with_markdown(html, options.folder / "markdown", f"http://127.0.0.1:{ports[0]}/")
    full = sites.with_full_text(html, options.folder / "full", f"http://127.0.0.1:{ports[1]}/")
    warm_up([contestants.OURS], options)
    one = sites.lone_page(options.folder / "one")
    with (
        serving(html) as plain,
        serving(twins, ports[0]) as markdown,
        serving(full, ports[1]) as whole,
        serving(one) as single,
    ):
        entries = [
            (ours(name="one page"), single),
            (ours(name="HTML"), plain),
            (ours(name="Markdown"), markdown),
            (ours(name="llms-full"), whole),
            (replace(contestants.LINK_ONLY, name="links only, HTML"), plain),
        ]
        rounds = alternate(entries, options, "text")
    return {"site": f"generated, {options.pages:,} pages", "rounds": rounds}


def recrawl(options: Options) -> dict[str, Any]:
    """Crawl a site with ETags twice with the same store, and ask for its documents with Scrapy alone."""
    warm_up([contestants.OURS], options)
    root = sites.PYTHON.root()
    sites.read_once(root)
    rounds = []
    with serving(root) as server:
        for number in range(1, options.rounds + 1):
            rows = []
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                for one in (ours(name="first"), ours(name="unchanged"), contestants.CONDITIONAL):
                    rows.append(crawl(one, server, Path(folder), options.timeout_secs))
                    say("recrawl", number, rows[-1])
            rounds.append(rows)
    return {"site": sites.PYTHON.version(), "rounds": rounds}


def index(options: Options) -> dict[str, Any]:
    """Crawl a site, and index its store for search: the CPU of the indexing alone, without the start of Python."""
    warm_up([contestants.OURS], options)
    root = sites.PYTHON.root()
    sites.read_once(root)
    command = [sys.executable, str(HERE / "indexing.py"), "store"]
    indexing = Contestant(
        "indexing", lambda _url: command, "", environment=contestants.PROJECT, writes=False
    )
    rounds = []
    with serving(root) as server:
        for number in range(1, options.rounds + 1):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                place = Path(folder)
                rows = [
                    crawl(one, server, place, options.timeout_secs)
                    for one in (contestants.OURS, indexing)
                ]
                found = json.loads((place / "log").read_text(encoding="utf-8"))
            rows[1].update(found, documents=rows[0]["documents"], first_request_secs=0.0)
            for row in rows:
                say("index", number, row)
            rounds.append(rows)
    return {"site": sites.PYTHON.version(), "rounds": rounds}


def start(options: Options) -> dict[str, Any]:
    """Compare the time from `scrapy crawl` to the first request with that of a new Scrapy project."""
    with serving(sites.lone_page(options.folder / "start")) as server:
        entries = [
            (contestants.OURS, server),
            (empty_project(options.folder / "empty", server.url), server),
        ]
        warm_up([contestants.OURS], options)
        rounds = alternate(entries, replace(options, rounds=3 * options.rounds), "start")
    return {"site": "one page", "rounds": rounds}


def empty_project(folder: Path, url: str) -> Contestant:
    """Make a project with `scrapy startproject` and a spider of one request."""
    scrapy = [sys.executable, "-m", "scrapy"]
    bare = {key: value for key, value in os.environ.items() if key != "SCRAPY_SETTINGS_MODULE"}
    subprocess.run(
        [*scrapy, "startproject", "empty", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        env=bare,
        cwd=folder.parent,
    )
    (folder / "empty" / "spiders" / "one.py").write_text(
        f"import scrapy\n\n\nclass One(scrapy.Spider):\n    name = 'one'\n    start_urls = ['{url}']\n\n"
        "    def parse(self, response):\n        return {'url': response.url}\n",
        encoding="utf-8",
    )
    return Contestant(
        "empty Scrapy project",
        lambda _url: [*scrapy, "crawl", "one"],
        "as `scrapy startproject` makes it",
        environment={"SCRAPY_SETTINGS_MODULE": "empty.settings", "PYTHONPATH": str(folder)},
        writes=False,
    )


def growth(options: Options) -> dict[str, Any]:
    """Crawl a small generated site and a large one: cost of a page, memory. The large one is crawled once."""
    small, large = options.growth
    warm_up([contestants.OURS], options)
    rows: dict[int, list[dict[str, Any]]] = {}
    for pages in (1, small, large):
        folder = options.folder / f"generated-{pages}"
        root = sites.generated(folder, pages) if pages > 1 else sites.lone_page(folder)
        with serving(root) as server:
            times = options.rounds if pages < large else 1
            rows[pages] = [
                alone(ours(name=f"{pages:,} pages"), server, options, "growth", number + 1)
                for number in range(times)
            ]
        shutil.rmtree(folder)
    paired = itertools.zip_longest(*rows.values())
    return {
        "site": f"generated, {small:,} and {large:,} pages",
        "pages": [1, small, large],
        "rounds": [[row for row in number if row] for number in paired],
    }


def memory(options: Options) -> dict[str, Any]:
    """Crawl a very large generated site once and watch the memory."""
    root = sites.generated(options.folder / "large", options.memory)
    with serving(root) as server:
        row = alone(ours(name=f"{options.memory:,} pages"), server, options, "memory")
    shutil.rmtree(root)
    return {
        "site": f"generated, {options.memory:,} pages",
        "pages": [options.memory],
        "rounds": [[row]],
    }


PARTS: dict[str, Callable[[Options], dict[str, Any]]] = {
    "python": lambda options: real_documentation("python", sites.PYTHON, options),
    "postgresql": lambda options: real_documentation("postgresql", sites.POSTGRESQL, options),
    "text": text,
    "recrawl": recrawl,
    "index": index,
    "start": start,
    "growth": growth,
    "memory": memory,
}


# --- the command ---


def first_line(*command: str) -> str:
    """Return the first line that a command writes."""
    asked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    return (asked.stdout + asked.stderr).partition("\n")[0].strip()


def conditions(commit: str) -> dict[str, Any]:
    """Return machine, versions and time."""
    nginx = first_line(shutil.which("nginx") or "/usr/sbin/nginx", "-v")
    wget = re.search(r"Wget [\d.]+", first_line("wget", "--version"))
    peers = [pin for name in ("crawlee", "crawl4ai") for pin in contestants.pinned(name)[:1]]
    return {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": [
            f"llmsspider {commit}",
            f"Python {sys.version.split()[0]}",
            *(f"{name} {version(name)}" for name in PACKAGES),
            *(pin.replace("==", " ") for pin in peers),
            wget[0] if wget else "wget",
            nginx.rpartition(" ")[2],
        ],
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="default: all but memory")
    parser.add_argument("--rounds", type=int, default=3, help="paired rounds (default: 3)")
    parser.add_argument(
        "--only", action="append", default=[], help="only crawlers with this in their name"
    )
    parser.add_argument(
        "--pages", type=int, default=2000, help="pages of the part `text` (default: 2000)"
    )
    parser.add_argument(
        "--growth", type=int, nargs=2, default=(1000, 30_000), metavar=("SMALL", "LARGE")
    )
    parser.add_argument("--memory", type=int, default=100_000, help="pages of the part `memory`")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds one crawl may take")
    parser.add_argument(
        "--results", type=Path, default=HERE / "results.json", help="figures, read and written"
    )
    parser.add_argument(
        "--docs", type=Path, default=HERE.parent / "docs" / "lab", help="folder of page and plot"
    )
    parser.add_argument(
        "--folder", type=Path, help="where sites are written (default: the temporary folder)"
    )
    parser.add_argument(
        "--render",
        action="store_true",
        help="write page and plot from the figures, measure nothing",
    )
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}: use {', '.join(PARTS)}")
    return options


def main() -> None:
    """Run the parts and write the results after each."""
    chosen = arguments()
    where = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacks = [name for name in ("git", "nginx", "wget") if shutil.which(name, path=where) is None]
    if lacks and not chosen.render:
        raise SystemExit(
            f"make bench needs {', '.join(lacks)}: apt-get install git nginx-light wget"
        )
    commit = first_line("git", "describe", "--always", "--dirty")  # before the results are written
    figures = (
        json.loads(chosen.results.read_text(encoding="utf-8")) if chosen.results.is_file() else {}
    )
    for part in () if chosen.render else chosen.parts or DEFAULT_PARTS:
        with tempfile.TemporaryDirectory(prefix="llmsspider-bench-", dir=chosen.folder) as folder:
            options = Options(
                rounds=chosen.rounds,
                only=tuple(chosen.only),
                pages=chosen.pages,
                growth=tuple(chosen.growth),
                memory=chosen.memory,
                timeout_secs=chosen.timeout,
                folder=Path(folder),
            )
            began, around = time.monotonic(), conditions(commit)
            figures[part] = {**PARTS[part](options), **around}
            figures[part]["minutes"] = round((time.monotonic() - began) / 60, 1)
        chosen.results.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    plot = chosen.docs / "performance-results.svg"
    if set(results.TITLES) & set(figures):
        python = contestants.environment("plot")
        subprocess.run(
            [str(python), str(HERE / "plot.py"), str(chosen.results), str(plot)], check=True
        )
    page = chosen.docs / "performance-results.md"
    page.write_text(results.page(figures, plot.name), encoding="utf-8")
    print(f"{page} is written")


if __name__ == "__main__":
    main()
