"""Time and peak memory of every export, from a store filled with pages made up from a seed.

    python benchmarks/exports.py                       100,000 pages, every format
    python benchmarks/exports.py --pages 10000 --only graph,flat

Each export is a process of its own, `scrapy export`; its memory is what the system counts (`ru_maxrss`). A page
has 6 KB of Markdown, 20 links in it and 100 followed URLs: those of a navigation that all pages of a section share.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generated_site import WORDS

from llmsspider.items import Link
from llmsspider.store import PageRecord, SourceRecord, open_store
from llmsspider.web.urls import document_id, identity

SOURCE = "docs.example.com"
SITE = f"https://{SOURCE}/"
PAGES_A_SECTION = 100

FORMATS = {
    "jsonl": ("--format", "jsonl"),
    "csv": ("--format", "csv"),
    "parquet": ("--format", "parquet"),
    "chunks": ("--format", "chunks"),
    "flat": ("--format", "flat"),
    "flat depth": ("--format", "flat", "--order", "depth"),
    "graph json": ("--format", "graph", "--as", "json"),
    "graph ascii": ("--format", "graph", "--as", "ascii"),
    "tree": ("--format", "tree"),
    "tree again": ("--format", "tree"),
}


def url_of(number: int) -> str:
    return SITE if number == 0 else f"{SITE}section-{number // PAGES_A_SECTION}/page-{number}.html"


def page(number: int, pages: int, chance: random.Random) -> PageRecord:
    """One page; what it links to lies in its section, but for the first of each section and a few others."""
    section = number - number % PAGES_A_SECTION
    nearby = range(section, min(section + PAGES_A_SECTION, pages))
    follow = [url_of(other) for other in nearby] + [url_of((section + PAGES_A_SECTION) % pages)]
    linked = [url_of(chance.choice(nearby)) for _ in range(17)] + [url_of(chance.randrange(pages))]
    links = [
        *(Link(f"see {place}", f"{url}#part-{place}") for place, url in enumerate(linked)),
        Link("elsewhere", f"https://other.example.org/{chance.randrange(500)}"),
        Link("", f"https://github.example.com/repository/blob/main/page-{number}.md"),
    ]
    text = [f"# Page {number}\n"]
    for place in range(6):
        text.append(f"\n## Part {place}\n\n" + " ".join(chance.choices(WORDS, k=120)) + "\n")
        text.append(
            f"\n[see {place}]({links[place].url})\n\n```python\nx = {chance.random()}\n```\n"
        )
    content = "".join(text)
    digest = hashlib.sha256(content.encode()).hexdigest()
    url = url_of(number)
    return PageRecord(
        id=document_id(SOURCE, url),
        identity=identity(url),
        url=url,
        fetched_url=url,
        title=f"Page {number}",
        content=content,
        content_hash=digest,
        raw_hash=digest,
        depth=min(number, 1 + number // PAGES_A_SECTION) if number else 0,
        links=links,
        follow=follow,
        status=200,
        mime_type="text/html",
        fetched_at="2026-11-21T22:00:00Z",
    )


def fill(folder: Path, pages: int) -> None:
    chance = random.Random(1)
    with open_store(None, folder / "store", SOURCE) as store:
        store.upsert_source(SourceRecord(SOURCE, SITE))
        store.begin_run("crawl", {})
        for number in range(pages):
            store.save_page(page(number, pages, chance), "new")
        store.finish_run("finished", complete=True, why=None, counts={})


def size_of(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def export(folder: Path, name: str) -> tuple[float, float, float, int]:
    """Seconds by the clock and of CPU, MB of memory at most, bytes written."""
    output = folder / ("tree" if name.startswith("tree") else "output")
    root = Path(__file__).resolve().parent.parent
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(root),
        "LLMS_DATA_DIR": str(folder / "store"),
    }
    command = [sys.executable, "-m", "scrapy", "export", SOURCE, *FORMATS[name], "-o", str(output)]
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.monotonic() - started
    if status != 0:
        raise SystemExit(f"{name}: exit status {status}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size_of(output)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--only", default="", help="names of formats, separated by commas")
    parser.add_argument("--folder", type=Path, help="keep the store here, and use it again")
    options = parser.parse_args()
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or list(FORMATS)
    with tempfile.TemporaryDirectory(prefix="llmsspider-exports-") as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "store").exists():
            started = time.monotonic()
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder, options.pages)
            print(f"{options.pages} pages stored in {time.monotonic() - started:.0f} s")
        print(f"the store: {size_of(folder / 'store') / 2**20:.0f} MB")
        print(f"{'format':<12} {'seconds':>8} {'CPU':>8} {'peak MB':>8} {'MB out':>8}")
        for name in chosen:
            elapsed, cpu, memory, size = export(folder, name)
            print(
                f"{name:<12} {elapsed:>8.1f} {cpu:>8.1f} {memory:>8.0f} {size / 2**20:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
