"""`llmsspider doctor`: what works on this machine, and what to do where it does not.

One line for each thing, `✓` or what to do. Exit code 1 where something that was asked for, a folder
or an address, cannot work.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from llmsspider.cli.mcp import settings_for
from llmsspider.cli.options import FAILED, WRONG, OneLineParser
from llmsspider.config.settings import Config
from llmsspider.errors import LlmsspiderError
from llmsspider.store import Stores
from llmsspider.web.loading import EXTRAS, missing_extra
from llmsspider.web.urls import require_http_url

PURPOSES = {
    "browser": "pages that scripts make",
    "documents": "PDF, Word, PowerPoint, Excel, EPUB",
    "embeddings": "search by meaning",
    "lancedb": "vectors in LanceDB",
    "mcp": "the MCP server and the web page",
    "parquet": "Parquet feeds",
    "pdf": "PDF files",
    "postgresql": "a store for several machines",
    "qdrant": "vectors in Qdrant",
    "s3": "feeds on S3",
    "sign": "signed requests",
}
"""What each extra is for."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
LOW_DISK = 1024**3
"""Free bytes below which a crawl may fill the disk."""
PLAN_SECS = 60


@dataclass(slots=True, frozen=True)
class Finding:
    """One thing that was looked at; `needed` says that what was asked for cannot work without it."""

    is_well: bool
    what: str
    needed: bool = False

    def line(self) -> str:
        """Return it as it is printed."""
        return f"{'✓' if self.is_well else '✗' if self.needed else '-'} {self.what}"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = OneLineParser(
        prog="llmsspider doctor",
        description="Say what works here, and what to do where it does not.",
    )
    made.add_argument(
        "places", nargs="*", metavar="FOLDER|URL", help="a folder of a crawl, a site to be crawled"
    )
    return made


def main(argv: Sequence[str]) -> int:
    """Print the findings; returns the exit code."""
    options = parser().parse_args(argv)
    urls = [place for place in options.places if "://" in place]
    folders = [place for place in options.places if "://" not in place]
    try:
        checked = [require_http_url(url) for url in urls]
        settings = settings_for(folders, {})
        config = Config.from_settings(settings)
    except LlmsspiderError as error:
        for problem in error.problems:
            sys.stderr.write(f"llmsspider doctor: {problem}\n")
        return WRONG
    is_well = True
    for finding in chain(_machine(), _stores(config.stores, folders), _sites(checked)):
        sys.stdout.write(f"{finding.line()}\n")
        sys.stdout.flush()
        is_well = is_well and (finding.is_well or not finding.needed)
    return 0 if is_well else FAILED


def _machine() -> Iterator[Finding]:
    """Python, extras, the browser, the disk, proxies."""
    yield Finding(True, f"Python {platform.python_version()} on {platform.platform(terse=True)}")
    for extra in EXTRAS:
        lack = missing_extra(extra)
        said = f"{extra}: {PURPOSES[extra]}"
        yield Finding(lack is None, f"{said}; {lack}" if lack else said)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    found = f"browser: {browser}" if browser else "browser: none on the PATH; install Chromium"
    yield Finding(browser is not None, found)
    free = shutil.disk_usage(Path.cwd()).free
    yield Finding(free > LOW_DISK, f"disk: {free / 1024**3:.1f} GiB free here")
    proxies = [name for name in ("http_proxy", "https_proxy", "no_proxy") if os.environ.get(name)]
    yield Finding(True, f"proxy: {', '.join(proxies) or 'none is set'}")


def _stores(stores: Stores, folders: Sequence[str]) -> Iterator[Finding]:
    """Each source that is stored: whether it can be read whole."""
    named = ", ".join(folders) or "the stores of this folder"
    sources, problems = stores.list_sources()
    yield Finding(bool(sources) or not folders, f"{named}: {len(sources)} sources", bool(folders))
    for problem in problems:
        yield Finding(False, problem, needed=True)
    for source in sources:
        try:
            with closing(stores.open(source.name, create=False)) as store:
                pages = sum(1 for _ in store.iter_pages("url"))
        except LlmsspiderError as error:
            yield Finding(False, f"{source.name}: {error}", needed=True)
            continue
        yield Finding(True, f"{source.name}: {pages} pages can be read ({source.status})")


def _sites(urls: Sequence[str]) -> Iterator[Finding]:
    """Each address: its name, and what a crawl would find there."""
    for url in urls:
        host = urlsplit(url).hostname or ""
        try:
            addresses = sorted({str(one[4][0]) for one in socket.getaddrinfo(host, None)})
        except OSError as error:
            yield Finding(False, f"{host}: its name does not resolve ({error})", needed=True)
            continue
        yield Finding(True, f"{host}: {', '.join(addresses[:3])}")
        command = [sys.executable, "-m", "llmsspider", "plan", url]
        try:
            done = subprocess.run(  # noqa: S603  # our own interpreter, no shell
                command, capture_output=True, text=True, timeout=PLAN_SECS, check=False
            )
        except subprocess.TimeoutExpired:
            yield Finding(False, f"{url}: no plan within {PLAN_SECS} s", needed=True)
            continue
        said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
        for line in said[:8]:
            yield Finding(done.returncode == 0, line, needed=done.returncode != 0)
