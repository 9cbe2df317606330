"""The processes in which `scrapy sync` crawls on this machine: each takes one source after the other.

A line on stdin of such a process is JSON: first the settings, then for each source the file of its log and the words
of `scrapy crawl`. A line on stdout is the exit code of a crawl and whether another may follow, or a sign of life.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import os
import re
import resource
import signal
import sys
import warnings
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from llmsspider.store.database import source_slug

if TYPE_CHECKING:
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from llmsspider.commands.crawl import Command
    from llmsspider.config.sources import SourceEntry

ALIVE = b"\n"
ALIVE_SECS = 5.0
"""Time between two signs of life of a crawl."""

# --- in the process of the sync ---

SOURCES = 2_000
"""Sources that a process crawls at most."""

HANGS_SECS = 600.0
"""Time without a sign of life after which a process is killed."""

STOP_SECS = 60
"""How long a crawl gets to end by itself when the sync is stopped."""


class ProcessLost(Exception):  # noqa: N818  # not an error of the user's
    """The process ended while it crawled a source; the message says how, and what its log said last."""


@dataclass(slots=True)
class LocalProcesses:
    """The machine itself: processes that crawl with these settings, and a folder for a log of each source.

    `command` starts one, which calls `serve`.
    """

    slots: int
    settings: Mapping[str, str]
    logs: Path
    command: tuple[str, ...]
    name: str = "here"
    _idle: list[_Process] = field(default_factory=list)

    async def has(self, entry: SourceEntry) -> bool:
        """Return False: the store knows what runs here."""
        return False

    async def crawl(self, entry: SourceEntry) -> str:
        """Run the crawl; its log replaces that of the last night. Raises `ProcessLost`."""
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{source_slug(entry.name)}.log"
        log.write_bytes(b"")
        given = [part for pair in entry.arguments.items() for part in ("-a", "=".join(pair))]
        process = await self._process(log)
        try:
            answer = await process.ask([str(log), "docs", *given])
        except TimeoutError:
            with log.open("a") as file:
                file.write(f"CRITICAL: no sign of life for {HANGS_SECS:g} s; it was killed\n")
            answer = None
            process.kill()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.child.terminate()
            await process.end()
            raise
        if answer is not None and answer["more"] and process.crawled < SOURCES:
            self._idle.append(process)
        else:
            await process.end()
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        faults = [line for line in lines if re.search(r"ERROR|CRITICAL|^scrapy ", line)]
        code = process.child.returncode if answer is None else answer["exit_code"]
        said = f"exit code {code}: {(faults or lines or ['no log'])[-1].strip()} ({log})"
        if answer is None:
            raise ProcessLost(said)
        return said

    async def _process(self, log: Path) -> _Process:
        """Return a process that has nothing to do, or a new one; what that says while it starts is in the log."""
        while self._idle:
            if (idle := self._idle.pop()).child.returncode is None:
                return idle
        with log.open(
            "ab"
        ) as file:  # a session of its own: Ctrl-C in a terminal is for the sync, which then stops it
            child = await asyncio.create_subprocess_exec(
                *self.command, stdin=PIPE, stdout=PIPE, stderr=file, start_new_session=True
            )
        process = _Process(child)
        process.write(dict(self.settings))
        return process

    async def close(self) -> None:
        """End the processes, which have nothing to do any more."""
        await asyncio.gather(*(process.end() for process in self._idle))


@dataclass(slots=True)
class _Process:
    """One process, and how many sources it has crawled."""

    child: Process
    crawled: int = 0

    def write(self, value: object) -> None:
        """Write a line to its stdin."""
        assert self.child.stdin is not None  # noqa: S101
        self.child.stdin.write(orjson.dumps(value) + b"\n")

    async def ask(self, words: list[str]) -> dict[str, int] | None:
        """Have a source crawled; returns what the process says of it, None where it ended before.

        Raises `TimeoutError` where it hangs.
        """
        assert self.child.stdout is not None  # noqa: S101
        self.crawled += 1
        self.write(words)
        line = ALIVE
        while line == ALIVE:
            line = await asyncio.wait_for(self.child.stdout.readline(), HANGS_SECS)
        answer: dict[str, int] | None = orjson.loads(line) if line else None
        return answer

    def kill(self) -> None:
        """Kill it with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Wait until it has ended, as it does when it is given nothing more; kill it where it does not."""
        assert self.child.stdin is not None  # noqa: S101
        self.child.stdin.close()
        try:
            await asyncio.wait_for(self.child.wait(), STOP_SECS)
        except TimeoutError:
            self.kill()
            await self.child.wait()


# --- in the process of the crawls ---

PEAK_MIB = 768.0
"""Memory that no process may have had which takes another source; `MEMUSAGE_LIMIT_MB` where that is less."""


def serve(command: type[Command]) -> None:
    """Crawl what stdin says, one source after the other with one reactor, until it ends."""
    from scrapy.crawler import AsyncCrawlerProcess  # noqa: PLC0415  # the sync does without
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

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
    lines: BinaryIO, answers: int, process: AsyncCrawlerProcess, settings: Settings, command: type[Command]
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
    process: AsyncCrawlerProcess, command: Command, words: list[str], answer: Callable[[bytes], None]
) -> int:
    """Return the exit code of a crawl; whatever any part of it prints is in its log."""
    log, *words = words
    with open(log, "ab") as file:  # noqa: ASYNC230, PTH123
        for standard in (1, 2):
            os.dup2(file.fileno(), standard)
    from scrapy.utils.log import log_scrapy_info  # noqa: PLC0415

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
