"""One sync of a file of sources: each once, on whichever place is free; what became of each, read from its store."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from llmsspider.config import profiles
from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.config.sources import default_name
from llmsspider.errors import ArgumentsError, StoreError, UnknownSourceError
from llmsspider.launch.places import PlaceFailed, SourceEntry

if TYPE_CHECKING:
    from pathlib import Path

    from llmsspider.launch.places import Place
    from llmsspider.store import RunRecord, Stores


# --- the file: `sources.toml`, each source with the arguments of the spider `docs` by name ---

_KEYS = {"defaults", "sources"}
_ANY_URL = "https://docs.example.com/"


def read_entries(path: Path, stored_name: Callable[[str], str | None]) -> list[SourceEntry]:
    """Return the sources of a file, in its order.

    Args:
        path: the file.
        stored_name: gives the name of the source that was first crawled from a URL, None for a new one.

    Raises:
        ArgumentsError: one line for each mistake.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError([f"{path}: {getattr(error, 'strerror', None) or error}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ArgumentsError([f"{path}: {error}"]) from None
    try:
        return parse_entries(content, stored_name)
    except ArgumentsError as error:
        raise ArgumentsError([f"{path}: {problem}" for problem in error.problems]) from None


def parse_entries(content: dict[str, Any], stored_name: Callable[[str], str | None]) -> list[SourceEntry]:
    """Return the sources of the file's content; see `read_entries`."""
    problems = [
        f"{key} is unknown (accepted: [defaults], [[sources]])" for key in content if key not in _KEYS
    ]
    tables = content.get("sources")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ArgumentsError([*problems, "it lists no source: write [[sources]] with url or source below it"])
    defaults = content.get("defaults", {})
    problems += _problems_of_defaults(defaults)
    if problems:
        raise ArgumentsError(problems)
    entries: dict[str, int] = {}
    found = []
    for number, table in enumerate(tables, 1):
        where = f"source {number} ({table.get('source') or table.get('url') or 'without url and source'})"
        try:
            entry = _entry({**defaults, **table}, stored_name)
        except ArgumentsError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        first = entries.setdefault(entry.name, number)
        if first != number:
            problems.append(f"{where}: the same source as {first}, {entry.name}; name it with source=")
        found.append(entry)
    if problems:
        raise ArgumentsError(problems)
    return found


def _problems_of_defaults(defaults: object) -> list[str]:
    if not isinstance(defaults, dict):
        return ["[defaults] is a table of arguments"]
    own = [name for name in ("url", "source", "llms_txt") if name in defaults]
    if own:
        return [f"[defaults]: {name} belongs to one source" for name in own]
    try:
        check_arguments(DocsArguments, {**_spelled(defaults), "url": _ANY_URL})
    except ArgumentsError as error:
        return [f"[defaults]: {problem}" for problem in error.problems]
    return []


def _entry(table: dict[str, Any], stored_name: Callable[[str], str | None]) -> SourceEntry:
    given = _spelled(table)
    checked = check_arguments(DocsArguments, given)
    profiles.load(checked.profile)
    url = checked.url or ""
    name = checked.source or stored_name(url) or default_name(url)
    return SourceEntry(name, {**given, "source": name})


def _spelled(table: dict[str, Any]) -> dict[str, str]:
    """The values as `-a` takes them; raises `ArgumentsError`."""
    spelled, problems = {}, []
    for name, value in table.items():
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            spelled[name] = "\n".join(value)
        elif isinstance(value, bool):
            spelled[name] = str(value).lower()
        elif isinstance(value, str | int):
            spelled[name] = str(value)
        else:
            problems.append(f"argument {name}: text, a number, true, false or a list of texts is accepted")
    if problems:
        raise ArgumentsError(problems)
    return spelled


# --- one sync at a time for a store, as seen from one machine ---

NAME = "sync.lock"


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the lock in `folder` until the block ends; the system frees it when the process dies.

    Raises `StoreError` when another sync has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / NAME).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StoreError(
                f"another sync is going (process {file.read().strip() or 'unknown'}); nothing was started"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


# What became of each source: read from the page store, shown as a table or as JSON.

State = Literal["ok", "incomplete", "failed", "skipped"]
"""`incomplete`: there are documents, but more pages failed than a complete run may have."""


@dataclass(slots=True, frozen=True)
class Result:
    """One source of a sync: `where` it was crawled, `reason` it failed or was skipped for, its run in the store."""

    source: str
    state: State
    where: str = ""
    reason: str = ""
    secs: float = 0.0
    run: RunRecord | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        counts = self.run.counts if self.run is not None else {}
        return {
            "source": self.source,
            "state": self.state,
            "where": self.where,
            "reason": self.reason,
            "secs": round(self.secs, 1),
            "run": self.run.id if self.run else None,
            "outcome": self.run.outcome if self.run else None,
            "complete": self.run.complete if self.run else None,
            "documents": counts.get("documents", 0),
            "changes": counts.get("changes", {}),
            "errors": sum(self.run.errors.values()) if self.run else 0,
        }


def last_run(stores: Stores, source: str) -> RunRecord | None:
    """Return the newest run of a source, None for one that was never crawled; raises `StoreError`."""
    try:
        with closing(stores.open(source, create=False)) as store:
            runs = store.runs()
    except UnknownSourceError:
        return None
    return runs[-1] if runs else None


def is_running(run: RunRecord | None) -> bool:
    """Whether the process of a run is alive."""
    return run is not None and run.finished_at is None and not run.lost


def failure_of(run: RunRecord) -> str:
    """The reason why a finished run counts as failed; empty for one that succeeded."""
    outcome = run.outcome or ""
    if outcome != "finished" and not outcome.startswith("closespider_"):
        return outcome or "the run did not end"
    return "its documents were not delivered" if run.counts.get("delivered") is False else ""


# --- the sync: a place that fails hands its sources to the others ---

ATTEMPTS = 3
"""How often a source is begun at most, when the place or the process of its crawl fails."""

WATCH_SECS = 5.0
"""Time between two looks at a run in the store whose node does not answer."""


@dataclass(slots=True)
class _Try:
    """One attempt at a source: `before` is its newest run before it, `at` when it was begun."""

    entry: SourceEntry
    attempt: int
    place: Place
    at: float
    before: RunRecord | None = None


class Nightly:
    """Crawls a list of sources.

    Args:
        places: where; all of them use these stores.
        stores: where what became of a crawl is read.
        note: takes a line for people.
    """

    def __init__(self, places: Sequence[Place], stores: Stores, note: Callable[[str], None]):
        self._places = places
        self._stores = stores
        self._note = note
        self._queue: asyncio.Queue[tuple[SourceEntry, int]] = asyncio.Queue()
        self._results: dict[str, Result] = {}
        self._wanted = self._busy = 0
        self._failed: set[int] = set()
        """The places that failed, by their number."""
        self._over = asyncio.Event()

    async def sync(self, entries: Sequence[SourceEntry]) -> list[Result]:
        """Return the result of each source, in the order given."""
        self._wanted = len(entries)
        for entry in entries:
            self._queue.put_nowait((entry, 1))
        numbered = [number for number, place in enumerate(self._places) for _ in range(place.slots)]
        slots = [asyncio.create_task(self._slot(number)) for number in numbered]
        for slot in slots:
            slot.add_done_callback(self._look_for_fault)
        try:
            await self._over.wait()
        finally:
            for slot in slots:
                slot.cancel()
            ended = await asyncio.gather(*slots, return_exceptions=True)
        faults = [one for one in ended if isinstance(one, Exception)]
        if faults:
            raise faults[0]
        failed = "no place is left that could crawl it"
        return [
            self._results.get(entry.name) or Result(entry.name, "failed", reason=failed) for entry in entries
        ]

    def _look_for_fault(self, slot: asyncio.Task[None]) -> None:
        if not slot.cancelled() and slot.exception() is not None:
            self._over.set()

    async def _slot(self, number: int) -> None:
        """Crawl one source after the other until the place fails."""
        place = self._places[number]
        while True:
            entry, attempt = await self._queue.get()
            if number in self._failed:
                self._queue.put_nowait((entry, attempt))
                return
            began = _Try(entry, attempt, place, time.monotonic())
            self._busy += 1
            try:
                await self._attempt(began)
            except PlaceFailed as fault:
                if number not in self._failed:
                    self._failed.add(number)
                    self._note(f"{fault}; its sources go elsewhere")
                await self._elsewhere(began, str(fault))
            except StoreError as error:
                self._done(Result(entry.name, "failed", place.name, str(error)))
            finally:
                self._busy -= 1
            if not self._busy and len(self._failed) == len(self._places):
                self._over.set()

    async def _attempt(self, began: _Try) -> None:
        entry, place = began.entry, began.place
        run = began.before = await self._last(entry)
        reason = None
        if run is not None and is_running(run):
            reason = f"run {run.id} is going on {run.host.partition(' ')[0]}"
        elif await place.has(entry):
            reason = "an earlier job for it waits or runs there"
        if reason is not None:
            self._done(Result(entry.name, "skipped", place.name, reason))
            return
        await self._record(began, await place.crawl(entry))

    async def _elsewhere(self, began: _Try, fault: str) -> None:
        """Give a source to another place, once its run, if there is one, has ended."""
        while is_running(await self._newer(began)):  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(WATCH_SECS)
        await self._record(began, fault, place_failed=True)

    async def _record(self, began: _Try, message: str, *, place_failed: bool = False) -> None:
        """Record the result of a crawl; one whose process or place died is started again."""
        entry, place = began.entry, began.place.name
        run = await self._newer(began)
        secs = time.monotonic() - began.at
        if run is not None and run.finished_at is not None:
            reason = failure_of(run)
            state: State = "failed" if reason else "incomplete" if run.counts.get("outage") else "ok"
            self._done(Result(entry.name, state, place, reason, secs, run))
        elif (place_failed or run is not None) and began.attempt < ATTEMPTS:
            self._note(f"{entry.name}: its crawl was lost ({message}); it is started again")
            self._queue.put_nowait((entry, began.attempt + 1))
        else:
            self._done(Result(entry.name, "failed", place, message, secs, run))

    async def _newer(self, began: _Try) -> RunRecord | None:
        """Return the run that was begun since the attempt, or None; None, too, where the store cannot be read."""
        try:
            run = await self._last(began.entry)
        except StoreError as error:
            self._note(str(error))
            return None
        return run if run is not None and (began.before is None or run.number > began.before.number) else None

    async def _last(self, entry: SourceEntry) -> RunRecord | None:
        return await asyncio.to_thread(last_run, self._stores, entry.name)

    def _done(self, result: Result) -> None:
        self._results[result.source] = result
        documents = result.as_dict()["documents"]
        ended = (
            f"{documents} documents in {result.secs:.1f} s"
            if result.state in {"ok", "incomplete"}
            else result.reason
        )
        self._note(
            f"{len(self._results)}/{self._wanted} {result.state}: {result.source} ({ended})"
            + (f", {result.where}" if result.where else "")
        )
        if len(self._results) == self._wanted:
            self._over.set()
