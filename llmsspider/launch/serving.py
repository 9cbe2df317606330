"""What a process of `scrapy sync` runs: crawls of one source after the other, with one reactor and all imported once.

A line on its stdin is JSON: first the settings, then for each source the file of its log and the words of `scrapy
crawl`. A line on its stdout is the exit code of a crawl and whether another may follow, or a sign of life.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import os
import resource
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import orjson
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcessBase
from scrapy.utils.log import log_scrapy_info
from scrapy.utils.project import get_project_settings

from llmsspider.launch.processes import ALIVE

if TYPE_CHECKING:
    from scrapy.settings import Settings

ALIVE_SECS = 5.0
"""Time between two signs of life of a crawl."""

PEAK_MIB = 768.0
"""Memory that no process may have had which takes another source; `MEMUSAGE_LIMIT_MB` where that is less."""


class Crawl(Protocol):
    """The command `crawl`, which the layer above has; `begin` and `outcome` are its two halves."""

    settings: Settings

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Scrapy's."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Scrapy's; raises `SystemExit` for what is refused."""

    def begin(self, process: CrawlerProcessBase, arguments: dict[str, str]) -> Awaitable[None]:
        """Start the crawl; returns what is done when it has ended."""

    def outcome(self, *, bootstrap_failed: bool) -> int:
        """Return the exit code."""


def serve(command: type[Crawl]) -> None:
    """Crawl what stdin says, one source after the other with one reactor, until it ends."""
    settings = get_project_settings()
    jobs, answers = os.fdopen(os.dup(0), "rb", 0), os.dup(1)
    os.dup2(2, 1)
    settings.setdict(orjson.loads(jobs.readline()), priority="cmdline")
    with contextlib.redirect_stderr(io.StringIO()):  # what it says of itself, each crawl says in its log
        process = AsyncCrawlerProcess(settings)
    working = asyncio.get_event_loop().create_task(_crawl_each(jobs, answers, process, settings, command))
    gc.freeze()  # what was imported stays
    process.start(stop_after_crawl=False)
    working.cancel()


async def _crawl_each(
    lines: BinaryIO, answers: int, process: AsyncCrawlerProcess, settings: Settings, command: type[Crawl]
) -> None:
    """Crawl and answer, then end the reactor."""
    from twisted.internet import reactor as installed  # noqa: PLC0415  # one is, by now

    reactor: Any = installed

    def answer(line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # a sync that was killed: the crawl goes on to its end
            os.write(answers, line)

    jobs = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(jobs), lines)
    try:
        while line := await jobs.readline():
            process.settings = settings.copy()
            process.bootstrap_failed = False
            with warnings.catch_warnings():  # what was warned of once is said to the next crawl, too
                code = await _crawl(process, command(), orjson.loads(line), answer)
            gc.collect()
            bound = min(PEAK_MIB, process.settings.getfloat("MEMUSAGE_LIMIT_MB") or PEAK_MIB)
            more = not process.bootstrap_failed and peak_mib() < bound
            answer(orjson.dumps({"exit_code": code, "more": more}) + b"\n")
    finally:
        reactor.stop()


async def _crawl(
    process: AsyncCrawlerProcess, command: Crawl, words: list[str], answer: Callable[[bytes], None]
) -> int:
    """Return the exit code of a crawl; whatever any part of it prints is in its log."""
    log, *words = words
    with open(log, "ab") as file:  # noqa: ASYNC230, PTH123
        for standard in (1, 2):
            os.dup2(file.fileno(), standard)
    parser = argparse.ArgumentParser()
    command.settings = process.settings
    command.add_options(parser)
    opts, args = parser.parse_known_args(words)
    try:
        command.process_options(args, opts)
    except SystemExit as refused:
        return int(refused.code or 0)
    crawl = {asyncio.ensure_future(command.begin(process, opts.spargs))}
    log_scrapy_info(process.settings)
    while crawl:
        _, crawl = await asyncio.wait(crawl, timeout=ALIVE_SECS)
        answer(ALIVE)
    return command.outcome(bootstrap_failed=process.bootstrap_failed)


def peak_mib() -> float:
    """Return the most memory that this process ever had."""
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
