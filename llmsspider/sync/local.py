"""The processes in which `scrapy sync` crawls on this machine, each of which takes one source after
the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from llmsspider.web.child_processes import OWN_GROUP, kill_group

if TYPE_CHECKING:
    from llmsspider.config.sources import SourceEntry

ALIVE = b"\n"  # the line with which a process says that it lives
SOURCES = 2_000  # that a process crawls at most
HANGS_SECS = 600.0  # time without a sign of life after which a process is killed
STOP_SECS = 60  # how long a crawl gets to end by itself when the sync is stopped


class ProcessLost(Exception):  # noqa: N818  # not an error of the user's
    """The process ended with a source, or while it crawled it; the message says how, and what its
    log said last.
    """


@dataclass(slots=True)
class LocalProcesses:
    """The machine itself: processes that crawl with these settings, and a folder for a log of each
    source.

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
        log = self.logs / f"{entry.slug}.log"
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
        code = process.child.returncode if answer is None else answer["exit_code"]
        said = f"exit code {code}: {_last_fault(log)} ({log})"
        # where its run has ended all the same, that counts
        if answer is None or not answer["more"]:
            raise ProcessLost(said)
        return said

    async def _process(self, log: Path) -> _Process:
        """Return a process that has nothing to do, or a new one; what that says while it starts is
        in the log.
        """
        while self._idle:
            if (idle := self._idle.pop()).child.returncode is None:
                return idle
        # a session of its own: Ctrl-C in a terminal is for the sync, which then stops it
        with log.open("ab") as file:
            child = await asyncio.create_subprocess_exec(
                *self.command, stdin=PIPE, stdout=PIPE, stderr=file, **OWN_GROUP
            )
        process = _Process(child)
        process.write(dict(self.settings))
        return process

    async def close(self) -> None:
        """End the processes, which have nothing to do any more."""
        await asyncio.gather(*(process.end() for process in self._idle))


def _last_fault(log: Path) -> str:
    """The last line of a log that says what went wrong, else its last line."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    faults = [line for line in lines if re.search(r"ERROR|CRITICAL|^scrapy ", line)]
    return (faults or lines or ["no log"])[-1].strip()


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
        kill_group(self.child.pid)

    async def end(self) -> None:
        """Wait until it has ended, as it does when it is given nothing more; kill it where it does
        not.
        """
        assert self.child.stdin is not None  # noqa: S101
        self.child.stdin.close()
        try:
            await asyncio.wait_for(self.child.wait(), STOP_SECS)
        except TimeoutError:
            self.kill()
            await self.child.wait()
