"""`llmsspider doctor`: what works on this machine, and what to do where it does not.

One line for each thing, `✓` or what to do. Exit code 1 where something that was asked for, a folder
or an address, cannot work.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit
from urllib.request import getproxies

from llmsspider.browser.session import find_program
from llmsspider.cli.answering import answer_of
from llmsspider.cli.mcp import settings_for, stores_of
from llmsspider.cli.options import FAILED, WRONG, OneLineParser
from llmsspider.config.settings import Config
from llmsspider.errors import LlmsspiderError, SearchError, command
from llmsspider.store import Stores
from llmsspider.web.loading import EXTRAS, missing_extra
from llmsspider.web.urls import redacted, require_http_url

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

LOW_DISK = 1024**3
"""Free bytes below which a crawl may fill the disk."""
COMMAND_SECS = 60
"""Time that an answer of the MCP server may take."""


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
        places = stores_of(Config.from_settings(settings), folders)
    except LlmsspiderError as error:
        for problem in error.problems:
            sys.stderr.write(f"llmsspider doctor: {problem}\n")
        return WRONG
    is_well = True
    looked_at = chain(_machine(), _stores(places, folders), _mcp(folders), _sites(checked))
    for finding in looked_at:
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
    browser = find_program()
    found = f"browser: {browser}" if browser else "browser: none on the PATH; install Chromium"
    yield Finding(browser is not None, found)
    free = shutil.disk_usage(Path.cwd()).free
    yield Finding(free > LOW_DISK, f"disk: {free / 1024**3:.1f} GiB free here")
    proxies = ", ".join(f"{scheme} {redacted(url)}" for scheme, url in getproxies().items())
    yield Finding(True, f"proxy: {proxies or 'none is set'}")
    trusted = ssl.create_default_context().cert_store_stats()["x509_ca"]
    place = ssl.get_default_verify_paths()
    where = place.cafile or place.capath or f"{place.openssl_cafile} is missing"
    remedy = "" if trusted else "; set SSL_CERT_FILE to a file of authorities"
    yield Finding(bool(trusted), f"certificates: {trusted} authorities, {where}{remedy}")


def _stores(places: Sequence[Stores], folders: Sequence[str]) -> Iterator[Finding]:
    """Each source that is stored: whether it can be read whole."""
    for stores, named in zip(places, folders or ["the stores of this folder"], strict=True):
        sources, problems = stores.list_sources()
        found = f"{named}: {len(sources)} sources"
        yield Finding(bool(sources) or not folders, found, needed=True)
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


def _mcp(folders: Sequence[str]) -> Iterator[Finding]:
    """The MCP server as clients start it: it is asked which sources there are."""
    if missing_extra("mcp"):
        return
    words = ["mcp", *folders]
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as silence:
            said = asyncio.run(asyncio.wait_for(_asked(words, silence), COMMAND_SECS))
    except Exception as error:  # whatever a server that does not start raises
        what = f"it was started and did not answer ({error or type(error).__name__})"
        yield Finding(False, f"MCP: {what}; `{command(*words)}` says why", bool(folders))
        return
    yield Finding(True, f"MCP: `{command(*words)}` was started and named {said} sources")


async def _asked(words: Sequence[str], log: TextIO) -> int:
    """Start the MCP server and return the number of sources that it names."""
    from mcp import ClientSession, StdioServerParameters  # noqa: PLC0415  # an extra
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "llmsspider", *words], env=dict(os.environ)
    )
    async with (
        stdio_client(server, errlog=log) as (reading, writing),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        answer = await session.call_tool("list_sources", {})
    return len((answer.structured_content or {})["sources"])


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
        try:
            plan = asyncio.run(answer_of("plan", url, "--json"))
        except SearchError as error:
            yield Finding(False, f"{url}: {error}", needed=True)
            continue
        yield from _answers(plan)


def _answers(plan: dict[str, Any]) -> Iterator[Finding]:
    """What a site answers, by the plan of its crawl (docs/reference/plan.schema.json)."""
    start = plan["start"]
    seeds = plan["seeds"]
    said = start["message"] or start["error"] or f"answers with status {start['status']}"
    yield Finding(not start["error"], f"{start['url']}: {said}", needed=not seeds)
    for tried in plan["tried"]:
        is_found = tried["outcome"] == "found"
        yield Finding(is_found, f"{tried['url']}: {tried['reason'] or tried['outcome']}")
    yield Finding(bool(seeds or plan["start_links"]), f"pages listed: {seeds}", needed=True)
    yield from (Finding(True, line) for line in (plan["scope"]["text"], *plan["learned"]) if line)
