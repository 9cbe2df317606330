"""One sync: every source once, on whichever place is free; what became of each, read from its store."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from llmsspider.crawl.progress import duration
from llmsspider.errors import StoreError, UnknownSourceError
from llmsspider.launch.places import PlaceFailed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmsspider.launch.places import Place
    from llmsspider.launch.sourcefile import SourceEntry
    from llmsspider.store import RunRecord, Stores


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


def is_partial(run: RunRecord) -> bool:
    """Whether the site answered in part only: more pages failed than a complete run may have."""
    return bool(run.counts.get("outage"))


def report(results: Iterable[Result], elapsed_secs: float) -> dict[str, Any]:
    """Return the whole of a sync, ready for JSON."""
    found = list(results)
    states = Counter(result.state for result in found)
    return {
        "elapsed_secs": round(elapsed_secs, 1),
        **{state: states[state] for state in get_args(State)},
        "documents": sum(result.as_dict()["documents"] for result in found),
        "sources": [result.as_dict() for result in found],
    }


HEAD = ("SOURCE", "RESULT", "DOCUMENTS", "NEW", "CHANGED", "DELETED", "ERRORS", "TIME", "WHERE", "NOTE")


def table(results: Iterable[Result], elapsed_secs: float) -> Iterator[str]:
    """Yield the lines of the summary."""
    found = list(results)
    rows = [HEAD, *(_row(result) for result in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    total = report(found, elapsed_secs)
    partly = f", {total['incomplete']} incomplete" if total["incomplete"] else ""
    yield (
        f"{len(found)} sources: {total['ok']} ok, {total['failed']} failed, {total['skipped']} skipped{partly}; "
        f"{total['documents']} documents, {duration(elapsed_secs)}"
    )


def _row(result: Result) -> tuple[str, ...]:
    data = result.as_dict()
    changes = data["changes"]
    note = result.reason
    if not note and result.run is not None and not result.run.complete:
        note = f"incomplete: {result.run.why or result.run.outcome}"
    numbers = [
        data["documents"],
        *(changes.get(kind, 0) for kind in ("new", "changed", "deleted")),
        data["errors"],
    ]
    shown = map(str, numbers) if result.run is not None else ["-"] * len(numbers)
    return (result.source, result.state, *shown, duration(result.secs), result.where, note)


# One sync: every source once, on whichever place is free; a place that fails hands its sources to the others.

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


@contextlib.contextmanager
def _among(idle: set[asyncio.Task[None]]) -> Iterator[None]:
    """Count the current task as idle until the block ends."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  # a coroutine that runs has one
    idle.add(task)
    try:
        yield
    finally:
        idle.discard(task)


async def _reason_to_skip(began: _Try) -> str | None:
    run = began.before
    if run is not None and is_running(run):
        return f"run {run.id} is going on {run.host.partition(' ')[0]}"
    return "an earlier job for it waits or runs there" if await began.place.has(began.entry) else None


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
        self._wanted = 0
        self._over = asyncio.Event()

    async def sync(self, entries: Sequence[SourceEntry]) -> list[Result]:
        """Return the result of each source, in the order given."""
        self._wanted = len(entries)
        for entry in entries:
            self._queue.put_nowait((entry, 1))
        workers = [asyncio.create_task(self._serve(place)) for place in self._places]
        both: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._over.wait()),
            asyncio.ensure_future(asyncio.wait(workers)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*both, *workers):
                task.cancel()
            await asyncio.gather(*both, *workers, return_exceptions=True)
        failed = "no place is left that could crawl it"
        return [
            self._results.get(entry.name) or Result(entry.name, "failed", reason=failed) for entry in entries
        ]

    async def _serve(self, place: Place) -> None:
        """Keep the slots of a place busy until it fails."""
        idle: set[asyncio.Task[None]] = set()
        tasks = [asyncio.create_task(self._slot(place, idle)) for _ in range(place.slots)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            faults = [task.exception() for task in tasks if task.done()]
            self._note(f"{faults[0]}; its sources go elsewhere")
            for waiting in idle:
                waiting.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # the busy ones find out for themselves
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _slot(self, place: Place, idle: set[asyncio.Task[None]]) -> None:
        while True:
            with _among(idle):
                entry, attempt = await self._queue.get()
            began = _Try(entry, attempt, place, time.monotonic())
            try:
                await self._attempt(began)
            except PlaceFailed as fault:
                await self._elsewhere(began, str(fault))
                raise
            except StoreError as error:
                self._done(Result(entry.name, "failed", place.name, str(error)))

    async def _attempt(self, began: _Try) -> None:
        began.before = await self._last(began.entry)
        reason = await _reason_to_skip(began)
        if reason is not None:
            self._done(Result(began.entry.name, "skipped", began.place.name, reason))
            return
        await self._record(began, await began.place.crawl(began.entry))

    async def _elsewhere(self, began: _Try, fault: str) -> None:
        """Give a source to another place, once its run, if there is one, has ended."""
        while is_running(await self._newer(began)):  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(WATCH_SECS)
        await self._record(began, fault, place_failed=True)

    async def _record(self, began: _Try, said: str, *, place_failed: bool = False) -> None:
        """Record the result of a crawl; one whose process or place died is started again."""
        entry, place = began.entry, began.place.name
        run = await self._newer(began)
        secs = time.monotonic() - began.at
        if run is not None and run.finished_at is not None:
            reason = failure_of(run)
            state: State = "failed" if reason else "incomplete" if is_partial(run) else "ok"
            self._done(Result(entry.name, state, place, reason, secs, run))
        elif (place_failed or run is not None) and began.attempt < ATTEMPTS:
            self._note(f"{entry.name}: its crawl was lost ({said}); it is started again")
            self._queue.put_nowait((entry, began.attempt + 1))
        else:
            self._done(Result(entry.name, "failed", place, said, secs, run))

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
