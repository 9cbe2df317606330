"""Many sources in one process, as `scrapy sync` crawls them, against a process for each.

    python benchmarks/one_process.py --sources 1000 --nights 2
    python benchmarks/one_process.py --sources 1000 --nights 2 --jobs 16 --rate 5

The sites are made up: 5 to 300 pages by a power law, a sitemap, an ETag for each page, on an address of 127.0.0.0/8
each. The first night crawls them all, later ones find nothing changed. CPU and memory are those of the process that
crawls, read after each source; a line is fitted to the CPU by requests, whose beginning is what a source costs without
any. With `--jobs` the sources are synced by so many processes, at `--rate` requests a second of a host; the server
counts how many requests a host got within any second. Linux only; docs/lab/scale.md has the results.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

from generated_site import WORDS, in_words  # noqa: E402
from measuring import measure as cost_of  # noqa: E402

from llmsspider.commands.sync import PROCESS  # noqa: E402
from llmsspider.config.sources import SourceEntry  # noqa: E402
from llmsspider.store import Stores  # noqa: E402
from llmsspider.sync.local import LocalProcesses  # noqa: E402
from llmsspider.sync.nightly import Nightly  # noqa: E402

PROJECT = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
SMALLEST, LARGEST, EXPONENT = 5, 300, 1.9


def sizes(sources: int) -> list[int]:
    """Return the number of pages of each site: its density falls with the size to the power of `EXPONENT`."""
    chance, power = random.Random(1), 1 - EXPONENT
    low, high = SMALLEST**power, LARGEST**power
    return [round((low + chance.random() * (high - low)) ** (1 / power)) for _ in range(sources)]


# --- the sites, in a process of their own ---


def page(site: int, number: int, pages: int) -> bytes:
    """Return a page of a site, with links to the next ones."""
    words = random.Random(site * 1000 + number).choices(WORDS, k=200)
    links = "".join(
        f'<li><a href="/{in_words(n % pages)}.html">{in_words(n % pages)}</a></li>'
        for n in range(number, number + 5)
    )
    text = "".join(f"<p>{' '.join(words[part : part + 40])}</p>" for part in range(0, 200, 40))
    name = f"{in_words(number)} of {in_words(site)}"
    head = f"<!doctype html><html lang=en><title>{name}</title><nav><ul>{links}</ul></nav>"
    return f"{head}<main><h1>{name}</h1>{text}</main></html>".encode()


class OneSite(asyncio.Protocol):
    """A connection to one site: answers whole requests, in order."""

    def __init__(
        self, site: int, pages: int, counts: list[int], window: list[float], most: list[int]
    ):
        self._site, self._pages, self._counts = site, pages, counts
        self._window, self._most = window, most
        self._numbers = {f"/{in_words(number)}.html": number for number in range(pages)} | {"/": 0}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in whole:
            self._counts[self._site] += 1
            now = time.monotonic()
            self._window[:] = [*(moment for moment in self._window if moment > now - 1), now]
            self._most[self._site] = max(self._most[self._site], len(self._window))
            self._transport.write(self._answer(request.decode("latin-1")))  # type: ignore[attr-defined]

    def _answer(self, request: str) -> bytes:
        path = request.split(" ")[1]
        if path == "/sitemap.xml":
            base = request.lower().partition("host: ")[2].split("\r\n")[0]
            urls = "".join(f"<url><loc>http://{base}{path}</loc></url>" for path in self._numbers)
            return _reply("200 OK", f"<urlset>{urls}</urlset>".encode(), "application/xml")
        if path not in self._numbers:
            return _reply("404 Not Found", b"<h1>Not found</h1>", "text/html")
        etag = f'"{self._site}-{self._numbers[path]}"'
        if f"if-none-match: {etag}" in request.lower():
            return _reply("304 Not Modified", b"", "text/html", etag)
        return _reply(
            "200 OK", page(self._site, self._numbers[path], self._pages), "text/html", etag
        )


def _reply(status: str, body: bytes, kind: str, etag: str = "") -> bytes:
    more = f"ETag: {etag}\r\n" if etag else ""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def serve(pages: list[int], pipe: Connection) -> None:
    """Serve the sites; sends their addresses, then, when asked, the requests of each and the most in a second."""

    async def run() -> None:
        loop, counts, most = asyncio.get_running_loop(), [0] * len(pages), [0] * len(pages)
        windows: list[list[float]] = [[] for _ in pages]

        def protocol(site: int) -> OneSite:
            return OneSite(site, pages[site], counts, windows[site], most)

        made = [
            await loop.create_server(
                partial(protocol, site), f"127.0.{1 + site // 250}.{1 + site % 250}", 0
            )
            for site in range(len(pages))
        ]
        pipe.send(["{}:{}".format(*server.sockets[0].getsockname()) for server in made])
        loop.add_reader(
            pipe.fileno(),
            lambda: pipe.send((list(counts), max(most))) if pipe.recv() is None else loop.stop(),
        )
        await asyncio.Event().wait()

    asyncio.run(run())


# --- the nights ---


def cpu_secs(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


def place_of(options: argparse.Namespace, folder: Path) -> LocalProcesses:
    """Return the machine as a place for crawls."""
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.0/8",
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_CONVERT_WORKERS": "0",
    } | ({"LLMS_MAX_RATE": str(options.rate)} if options.rate else {})
    return LocalProcesses(options.jobs, settings, folder / "logs", PROCESS)


def entry_of(number: int, address: str) -> SourceEntry:
    """Return one source."""
    return SourceEntry(f"s{number}", {"url": f"http://{address}/", "source": f"s{number}"})


async def by_the_clock(
    options: argparse.Namespace, addresses: list[str], pipe: Connection, folder: Path
) -> None:
    """Sync all sources with so many processes, night after night; print how long each night takes."""
    entries = [entry_of(number, address) for number, address in enumerate(addresses)]
    stores = Stores(data_dir=folder / "store")
    for night in range(1, options.nights + 1):
        place, (before, _) = place_of(options, folder), asked(pipe)
        began, spent = time.monotonic(), children_secs()
        results = await Nightly([place], stores, lambda _line: None).sync(entries)
        await place.close()
        secs, (after, most) = time.monotonic() - began, asked(pipe)
        states = Counter(result.state for result in results)
        changes = sum((Counter(result.as_dict()["changes"]) for result in results), Counter())
        print(
            f"night {night}: {dict(states)}, {dict(changes)}, {sum(after) - sum(before)} requests, {secs:.0f} s with "
            f"{options.jobs} processes, CPU {children_secs() - spent:.0f} s; at most {most} requests of a host "
            f"within a second, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def children_secs() -> float:
    """Return the CPU time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def nights(
    options: argparse.Namespace, addresses: list[str], pipe: Connection, folder: Path
) -> None:
    """Crawl all sources in one process, night after night; print what each night cost."""
    place = place_of(options, folder)
    for night in range(1, options.nights + 1):
        cpu, memory, pids, before = [], [], set[int](), asked(pipe)[0]
        began, last = time.monotonic(), 0.0
        for number, address in enumerate(addresses):
            said = await place.crawl(entry_of(number, address))
            if not said.startswith("exit code 0:"):
                raise SystemExit(said)
            pid = place._idle[0].child.pid
            used = cpu_secs(pid)
            cpu.append(used - (last if pids and pid in pids else 0.0))
            last = used
            pids.add(pid)
            memory.append(rss_mib(pid))
        await place.close()
        place._idle.clear()
        requests = [after - one for after, one in zip(asked(pipe)[0], before, strict=True)]
        slope, start = statistics.linear_regression(requests[1:], cpu[1:])
        print(
            f"night {night}: {len(addresses)} sources, {sum(requests)} requests, {time.monotonic() - began:.0f} s; "
            f"CPU {sum(cpu):.0f} s: {cpu[0]:.2f} s the first source, "
            f"{start:.3f} s each other and {slope * 1000:.1f} ms a request; "
            f"memory {memory[min(99, len(memory) - 1)]:.1f} MiB after 100, {memory[-1]:.1f} MiB after all, "
            f"at most {max(memory):.1f}; {len(pids)} process, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def asked(pipe: Connection) -> tuple[list[int], int]:
    """Return the number of requests that each site has had, and the most that one had within a second."""
    pipe.send(None)
    counts: tuple[list[int], int] = pipe.recv()
    return counts


def alone(
    options: argparse.Namespace, addresses: list[str], pipe: Connection, folder: Path
) -> None:
    """Crawl some of the sources with a process for each; print what a quiet one costs."""
    (before, _), cpu = asked(pipe), []
    for number in range(0, len(addresses), max(1, len(addresses) // options.alone)):
        words = [
            "-a",
            f"source=s{number}",
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.0/8",
            "-s",
            "LLMS_CONVERT_WORKERS=0",
        ]
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "crawl",
            "docs",
            *words,
            "-s",
            f"LLMS_DATA_DIR={folder / 'store'}",
        ]
        cpu.append(cost_of(command, folder, environment=PROJECT).cpu_secs)
    requests = sum(asked(pipe)[0]) - sum(before)
    print(
        f"a process for each: {len(cpu)} sources, {requests} requests, CPU {statistics.mean(cpu):.2f} s a source"
    )


def main() -> None:
    """Serve, crawl, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=int, default=1000)
    parser.add_argument("--nights", type=int, default=2)
    parser.add_argument(
        "--alone",
        type=int,
        default=20,
        help="sources that are crawled with a process for each, too",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes; more than one: by the clock"
    )
    parser.add_argument("--rate", type=float, help="requests a second of a host (LLMS_MAX_RATE)")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, options.sources + 500)), hard))
    os.environ.update(PROJECT)
    pages = sizes(options.sources)
    print(f"{len(pages)} sites, {sum(pages)} pages, the median {statistics.median(pages):.0f}")
    pipe, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(
        target=serve, args=(pages, theirs), daemon=True
    )
    server.start()
    addresses = pipe.recv()
    with tempfile.TemporaryDirectory() as name:
        if options.jobs > 1:
            asyncio.run(by_the_clock(options, addresses, pipe, Path(name)))
        else:
            asyncio.run(nights(options, addresses, pipe, Path(name)))
            if options.alone:
                alone(options, addresses, pipe, Path(name))
    server.kill()


if __name__ == "__main__":
    main()
