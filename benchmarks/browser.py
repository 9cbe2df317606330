"""What pages that scripts make cost: `python benchmarks/browser.py --pages 500`.

A site of a history router on 127.0.0.1: the server answers each address with one shell, its program draws the page
from a data file. Two crawls over one store. Printed for each: requests and seconds of a page, the requests of each
kind, and the memory of the browser (PSS of its processes, MiB) against the pages done. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

from measuring import pss_kib  # noqa: E402
from site_server import Reply, Site, serving  # noqa: E402

SAMPLE_SECS = 5.0
"""Time between two looks at the memory."""

APP = """
const app = document.getElementById('app');
const page = await (await fetch('/data' + location.pathname.replace(/\\/$/, '/index') + '.json')).json();
document.title = page.title;
app.innerHTML = `<nav><a href="/">Home</a></nav><main><h1>${page.title}</h1>${page.html}</main>`;
"""
SHELL = "<!doctype html><meta charset=utf-8><title>Site</title><div id='app'></div><script type='module' src='/app.js'></script>"


def pages(count: int) -> dict[str, Reply | str]:
    """Return the answers of a site with so many pages besides its first one."""
    names = [f"/guide/{number}" for number in range(count)]
    links = "".join(f"<li><a href='{name}'>{name}</a></li>" for name in names)
    found: dict[str, Reply | str] = {"/app.js": Reply(APP, content_type="text/javascript")}
    for name in ("/", *names):
        html = (
            f"<ul>{links}</ul>" if name == "/" else f"<p>This is page {name} of the guide.</p>" * 40
        )
        found[name] = SHELL
        found[f"/data{name.rstrip('/') or '/index'}.json"] = json.dumps(
            {"title": f"Page {name}", "html": html}
        )
    return found


def browser_mib(pid: int) -> float:
    """Return the memory of the browser that a crawl started."""
    children = psutil.Process(pid).children(recursive=True)
    kib = 0
    for child in children:
        try:
            kib += pss_kib(child.pid) if "chrom" in child.name() else 0
        except (psutil.Error, OSError):
            continue  # it has ended
    return kib / 1024


def crawl(site: Site, folder: Path, count: int) -> None:
    """Crawl the site once, and print what it cost."""
    began = time.monotonic()
    first = len(site.requests)
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "docs"),
        *("-a", f"url={site.url}/", "-O", f"{folder}/docs.jsonl"),
        *("-s", f"LLMS_DATA_DIR={folder}/store", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=True"),
        *("-s", "LLMS_MAX_RATE=0"),
    ]
    with Path(folder, "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=HERE.parent, stdout=log, stderr=log)
        while process.poll() is None:
            time.sleep(SAMPLE_SECS)
            done = sum(seen.path.startswith("/data/") for seen in site.requests[first:])
            if process.poll() is None and (mib := browser_mib(process.pid)):
                print(f"  {done} pages: {mib:.0f} MiB")
    seen = site.requests[first:]
    kinds = Counter(
        "data" if "/data/" in one.path else "shells" if "guide" in one.path else "others"
        for one in seen
    )
    documents = len(Path(folder, "docs.jsonl").read_text().splitlines())
    secs = time.monotonic() - began
    print(
        f"{documents} documents of {count + 1} pages, {len(seen) / documents:.2f} requests and",
        end="",
    )
    print(f" {secs / documents:.2f} s a document, {dict(kinds)}, exit code {process.returncode}")


def main() -> None:
    """Crawl twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    options = parser.parse_args()
    site = Site(pages(options.pages))
    site.etags = True
    site.missing = SHELL
    with tempfile.TemporaryDirectory() as folder, serving(site):
        for _ in range(2):
            crawl(site, Path(folder), options.pages)


if __name__ == "__main__":
    main()
