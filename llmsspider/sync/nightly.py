"""One sync: every source once, on whichever place is free; a place that fails hands its sources to the others."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmsspider.errors import StoreError
from llmsspider.sync.places import PlaceFailed
from llmsspider.sync.results import Result, failure_of, is_going, is_partial, last_run

if TYPE_CHECKING:
    from llmsspider.store import RunRecord, Stores
    from llmsspider.sync.places import Place
    from llmsspider.sync.results import State
    from llmsspider.sync.sourcefile import Entry

ATTEMPTS = 3
"""How often a source is begun at most, when the place or the process of its crawl fails."""

WATCH_SECS = 5.0
"""Time between two looks at a run in the store whose node does not answer."""


@dataclass(slots=True)
class _Try:
    """One attempt at a source: `before` is its newest run before it, `at` when it was begun."""

    entry: Entry
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
    if run is not None and is_going(run):
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
        self._queue: asyncio.Queue[tuple[Entry, int]] = asyncio.Queue()
        self._results: dict[str, Result] = {}
        self._wanted = 0
        self._over = asyncio.Event()

    async def sync(self, entries: Sequence[Entry]) -> list[Result]:
        """Return what became of each source, in the order given."""
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
        await self._judge(began, await began.place.crawl(began.entry))

    async def _elsewhere(self, began: _Try, fault: str) -> None:
        """Give a source to another place, once its run, if there is one, is not going any more."""
        while is_going(await self._newer(began)):  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(WATCH_SECS)
        await self._judge(began, fault, place_failed=True)

    async def _judge(self, began: _Try, said: str, *, place_failed: bool = False) -> None:
        """Note what became of a crawl; one whose process or place died is begun again."""
        entry, place = began.entry, began.place.name
        run = await self._newer(began)
        secs = time.monotonic() - began.at
        if run is not None and run.finished_at is not None:
            reason = failure_of(run)
            state: State = "failed" if reason else "incomplete" if is_partial(run) else "ok"
            self._done(Result(entry.name, state, place, reason, secs, run))
        elif (place_failed or run is not None) and began.attempt < ATTEMPTS:
            self._note(f"{entry.name}: its crawl was lost ({said}); it is begun again")
            self._queue.put_nowait((entry, began.attempt + 1))
        else:
            self._done(Result(entry.name, "failed", place, said, secs, run))

    async def _newer(self, began: _Try) -> RunRecord | None:
        """The run that was begun since, or None; also where the store cannot be read any more."""
        try:
            run = await self._last(began.entry)
        except StoreError as error:
            self._note(str(error))
            return None
        return run if run is not None and (began.before is None or run.number > began.before.number) else None

    async def _last(self, entry: Entry) -> RunRecord | None:
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
