"""Where a source can be crawled: a process on this machine, or a Scrapyd node over its JSON API."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from llmsspider.store.database import source_slug

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


STOP_SECS = 60
"""How long a local crawl gets to end by itself when the sync is stopped."""


@dataclass(slots=True, frozen=True)
class SourceEntry:
    """One source of the file: its name in the store, and its spider arguments as text."""

    name: str
    arguments: dict[str, str]


class PlaceFailed(Exception):  # noqa: N818  # not an error of the user's
    """The place does not answer any more; its sources go to other places. The message gives the reason."""


class Place(Protocol):
    """Crawls sources, a bounded number at a time."""

    name: str
    slots: int

    async def has(self, entry: SourceEntry) -> bool:
        """Return whether an earlier job for the source waits or runs here; raises `PlaceFailed`."""
        ...

    async def crawl(self, entry: SourceEntry) -> str:
        """Crawl to the end; returns the message for a source without a run in the store. Raises `PlaceFailed`."""
        ...


class LocalProcesses:
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

    async def has(self, entry: SourceEntry) -> bool:
        """Return False: the store knows what runs here."""
        return False

    async def crawl(self, entry: SourceEntry) -> str:
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
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        faults = [line for line in lines if re.search(r"ERROR|CRITICAL|^scrapy ", line)]
        last = (faults or lines or ["no log"])[-1].strip()
        return f"exit code {code}: {last} ({path})"


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECS)
        except TimeoutError:
            process.kill()


# --- a Scrapyd node as the place where sources are crawled, over its JSON API ---

POLL_SECS = 1.0
"""Time between two looks at the jobs of a node."""

ANSWER_SECS = 30
"""How long a node may take to answer."""

TRIES = 3
"""Number of failed requests in a row after which a node counts as failed; a job is over when it is missing as often."""


class Node:
    """A Scrapyd.

    Args:
        url: its address; a user and password in it are used and never shown.
        slots: jobs at a time, waiting ones included.
        project: the name the project was deployed under.
        settings: what was given with `-s`, passed on.
        auth: user and password where the address has none.
        job: prefix of the jobs of this sync, different each night.
    """

    def __init__(
        self,
        url: str,
        slots: int,
        project: str,
        settings: Mapping[str, str],
        *,
        auth: tuple[str, str] | None,
        job: str,
    ):
        parts = urlsplit(url)
        self.name = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        self.slots = slots
        self._project = project
        self._settings = settings
        own = (parts.username, parts.password or "") if parts.username else auth
        self._auth = aiohttp.BasicAuth(*own) if own else None
        self._job = job

    async def has(self, entry: SourceEntry) -> bool:
        """Return whether a job of an earlier sync for the source waits or runs here."""
        jobs = await self._jobs()
        prefix = f"{source_slug(entry.name)}."
        return any(job.startswith(prefix) for job in (*jobs["pending"], *jobs["running"]))

    async def crawl(self, entry: SourceEntry) -> str:
        """Schedule the job and look until it is over."""
        job = f"{source_slug(entry.name)}.{self._job}"
        fields = {"project": self._project, "spider": "docs", "jobid": job, **entry.arguments}
        pairs = [*fields.items(), *(("setting", "=".join(pair)) for pair in self._settings.items())]
        await self._ask("POST", "schedule", data=pairs)
        missing = 0
        while missing < TRIES:
            await asyncio.sleep(POLL_SECS)
            jobs = await self._jobs()
            if job in jobs["finished"]:
                break
            missing = 0 if job in (*jobs["pending"], *jobs["running"]) else missing + 1
        return f"see {self.name}/logs/{self._project}/docs/{job}.log"

    async def _jobs(self) -> dict[str, list[str]]:
        answer = await self._ask("GET", "listjobs", params={"project": self._project})
        return {state: [job["id"] for job in answer[state]] for state in ("pending", "running", "finished")}

    async def _ask(self, method: str, service: str, **parameters: Any) -> dict[str, Any]:
        """Send a request to the API, with retries; scheduling is not retried, since it may have worked."""
        limit = aiohttp.ClientTimeout(total=ANSWER_SECS)
        for left in range(0 if method == "POST" else TRIES - 1, -1, -1):
            try:
                async with (
                    aiohttp.ClientSession(auth=self._auth, timeout=limit) as session,
                    session.request(method, f"{self.name}/{service}.json", **parameters) as response,
                ):
                    response.raise_for_status()
                    answer: dict[str, Any] = await response.json(content_type=None)
                    break
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                if not left:
                    raise PlaceFailed(f"{self.name}: {str(error) or type(error).__name__}") from error
                await asyncio.sleep(POLL_SECS)
        if answer.get("status") != "ok":
            raise PlaceFailed(f"{self.name}: {answer.get('message', answer)}")
        return answer
