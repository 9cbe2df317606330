"""Where a source can be crawled, and the first such place: a process on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from typing import TYPE_CHECKING, Protocol

from llmsspider.store.location import source_slug

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmsspider.sync.sourcefile import Entry

STOP_SECS = 60
"""How long a local crawl gets to end by itself when the sync is stopped."""


class PlaceFailed(Exception):  # noqa: N818  # not an error of the user's
    """The place does not answer any more; its sources go elsewhere. The message says why."""


class Place(Protocol):
    """Crawls sources, a bounded number at a time."""

    name: str
    slots: int

    async def has(self, entry: Entry) -> bool:
        """Say whether an earlier job for the source waits or runs here; raises `PlaceFailed`."""
        ...

    async def crawl(self, entry: Entry) -> str:
        """Crawl to the end; returns what to say where the store knows of no run. Raises `PlaceFailed`."""
        ...


class Here:
    """The machine itself: each source is a `scrapy crawl` of its own.

    Args:
        slots: crawls at a time.
        settings: what was given with `-s`, passed on.
        logs: folder for the log of each source.
    """

    name = "here"

    def __init__(self, slots: int, settings: Mapping[str, str], logs: Path):
        self.slots = slots
        self._settings = settings
        self._logs = logs

    async def has(self, entry: Entry) -> bool:
        """Say no: what runs here tells the store."""
        return False

    async def crawl(self, entry: Entry) -> str:
        """Run the crawl; its log replaces that of the last night."""
        self._logs.mkdir(parents=True, exist_ok=True)
        path = self._logs / f"{source_slug(entry.name)}.log"
        given = [part for pair in entry.arguments.items() for part in ("-a", "=".join(pair))]
        given += [part for pair in self._settings.items() for part in ("-s", "=".join(pair))]
        with path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "scrapy", "crawl", "docs", *given, stdout=log, stderr=log
            )
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await _stop(process)
                raise
        return f"exit code {code}: {_last_error(path)} ({path})"


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECS)
        except TimeoutError:
            process.kill()


def _last_error(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"ERROR|CRITICAL|^scrapy ", line)]
    return (errors or lines or ["no log"])[-1].strip()
