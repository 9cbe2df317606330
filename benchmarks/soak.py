"""A long crawl of a site that fails all the time: `python benchmarks/soak.py --pages 5000`.

Every request has a small chance of one of many faults, discovery included. Memory and open files of the crawl's
processes are sampled every few seconds and printed against the pages done; the documents are compared with the pages
of the site. Two crawls: the first takes what it gets, the second, over the same store and with the same faults, has to
find the rest; a third without faults has to find that everything is as it should be. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from fault_server import FaultSite, serving_faults  # noqa: E402
from generated_site import SiteWriter  # noqa: E402

FAULTS = [
    "delay:0.5",
    "drip:1",
    "stall:6",
    "reset",
    "hangup",
    "reset-midway",
    "truncated",
    "chunked",
    "chunked-cut",
    "chunked-bad",
    "no-length",
    "http10",
    "status-bad",
    "header-long",
    "header-many",
    "early-hints",
    "500",
    "502",
    "504",
    "525",
    "408",
    "304",
    "204",
    "206",
    "empty",
    "blank",
    "partial",
    "redirect-self",
    "redirect-loop",
    "redirect-storm",
    "redirect-nowhere",
    "redirect-bad",
    "gzip",
    "gzip-cut",
    "gzip-bad",
    "gzip-lie",
    "br",
    "br-cut",
    "zstd",
    "zstd-cut",
    "deflate",
    "deflate-cut",
    "encoding:klingon",
    "charset:iso-8859-1",
    "latin-1",
    "bom",
    "nul",
    "type",
    "type:text/plain",
    "etag:abc",
    "etag-weak",
    "modified:86400",
    "modified:yesterday",
]
SAMPLE_SECS = 2.0


@dataclass
class Sample:
    """The crawl's processes at one moment."""

    secs: float
    served: int
    megabytes: float
    files: int
    processes: int


@dataclass
class Soak:
    """What one crawl left."""

    exit_code: int
    documents: dict[str, dict]
    changes: Counter[str]
    errors: Counter[str]
    samples: list[Sample] = field(default_factory=list)


def crawl(url: str, folder: Path, site: FaultSite, timeout_secs: float, workers: int) -> Soak:
    """Crawl as a user would, in a process of its own, and watch it."""
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": folder / "store",
        "LLMS_CONVERT_WORKERS": workers,
        "DOWNLOAD_TIMEOUT": timeout_secs,
        "LLMS_REPORT": folder / "report.html",
        "AUTOTHROTTLE_MAX_DELAY": 1,
    }
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "docs",
        "-a",
        f"url={url}",
        "-O",
        "documents.jsonl",
    ]
    command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command += ["-a", "max_pages=0"]
    project = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(HERE.parent)}
    samples: list[Sample] = []
    began, before = time.monotonic(), len(site.requests)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **project}, stdout=log, stderr=log
        )
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            sample = sampled(watched, began, len(site.requests) - before)
            if sample:
                samples.append(sample)
            time.sleep(SAMPLE_SECS)
    file = folder / "documents.jsonl"
    rows = (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )
    errors = json.loads((folder / "run.json").read_text(encoding="utf-8"))["run"]["errors"]["urls"]
    documents = {row["url"]: row for row in rows if row["change"] != "deleted"}
    duplicates = len(rows) - len({row["url"] for row in rows})
    changes = Counter(row["change"] for row in rows)
    changes["twice"] += duplicates
    return Soak(
        process.returncode, documents, changes, Counter(error["kind"] for error in errors), samples
    )


def sampled(process: psutil.Process, began: float, served: int) -> Sample | None:
    """Return memory (RSS) and open files of a process and its children; None when it has just ended."""
    try:
        everyone = [process, *process.children(recursive=True)]
        memory = sum(each.memory_info().rss for each in everyone)
        files = sum(each.num_fds() for each in everyone)
    except psutil.Error:
        return None
    return Sample(time.monotonic() - began, served, memory / 1e6, files, len(everyone))


def report(name: str, soak: Soak, pages: int) -> None:
    """Print one crawl: samples at ten moments, and what came of it."""
    print(
        f"\n{name}: exit {soak.exit_code}, {len(soak.documents)} documents of {pages}, {dict(soak.changes)}"
    )
    print(f"errors {dict(soak.errors)}")
    print("| requests served | secs | memory MB | open files | processes |\n|---|---|---|---|---|")
    step = max(1, len(soak.samples) // 10)
    for sample in [*soak.samples[::step], soak.samples[-1]]:
        print(
            f"| {sample.served} | {sample.secs:.0f} | {sample.megabytes:.0f} | {sample.files} | {sample.processes} |",
            flush=True,
        )


def flat(samples: list[Sample]) -> tuple[float, float]:
    """Return the median memory of the second and of the last fifth of the crawl, in MB."""
    fifth = max(1, len(samples) // 5)
    parts = samples[fifth : 2 * fifth], samples[-fifth:]
    first, last = (sorted(sample.megabytes for sample in part)[len(part) // 2] for part in parts)
    return first, last


def main() -> None:
    """Run the crawls; exit code 1 when something was lost, came twice or was deleted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument(
        "--percent", type=float, default=0.2, help="chance of each fault, in a hundred requests"
    )
    parser.add_argument("--timeout", type=float, default=4, help="seconds a download may take")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    made = SiteWriter(options.pages, options.seed).site()
    site = FaultSite(dict(made), seed=options.seed)
    trouble = {"*": ",".join(f"{fault}%{options.percent}" for fault in FAULTS)}
    try:
        with serving_faults(site):
            first = soak(site, trouble, folder, options)
            report("first crawl, with faults", first, len(made))
            second = soak(site, trouble, folder, options)
            report("second crawl, with faults", second, len(made))
            struck = Counter(site.struck)
            third = soak(site, {}, folder, options)
            report("third crawl, healthy", third, len(made))
            healthy = soak(site, {}, folder / "healthy", options)
    finally:
        shutil.rmtree(folder)
    differ = [
        url
        for url, row in healthy.documents.items()
        if third.documents.get(url, {}).get("content") != row["content"]
    ]
    deleted = sum(crawl.changes["deleted"] for crawl in (first, second, third))
    twice = sum(crawl.changes["twice"] for crawl in (first, second, third))
    print(
        f"\nfaults served in the first two crawls: {struck.total()} of {len(struck)} kinds: {dict(struck)}"
    )
    print(f"memory, second and last fifth of the first crawl: {flat(first.samples)} MB")
    print(
        f"documents {len(first.documents)}, {len(second.documents)}, {len(third.documents)} of {len(healthy.documents)}"
    )
    print(f"differing from a fresh healthy crawl {len(differ)}, deleted {deleted}, twice {twice}")
    raise SystemExit(
        bool(differ or deleted or twice or len(third.documents) != len(healthy.documents))
    )


def soak(
    site: FaultSite, scripts: dict[str, str], folder: Path, options: argparse.Namespace
) -> Soak:
    """Crawl with these scripts."""
    folder.mkdir(exist_ok=True)
    site.set_faults(scripts)
    return crawl(f"{site.url}/", folder, site, options.timeout, options.workers)


if __name__ == "__main__":
    main()
