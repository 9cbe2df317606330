"""One sync of a list of sources: each once, on whichever place is free; a place that fails hands
its sources to the others.

A place is this machine, which crawls in processes of its own, or a Scrapyd node, over its JSON API.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from llmsspider.config.sources import SourceEntry
from llmsspider.errors import StoreError
from llmsspider.store import RunRecord, Stores
from llmsspider.sync.local import LocalProcesses, ProcessLost
from llmsspider.sync.node import Node, PlaceFailed
from llmsspider.sync.results import Result, State, failure_of, is_running, last_run

Place = LocalProcesses | Node
"""`has` says whether an earlier job for a source waits or runs there; `crawl` crawls it to the end
and returns the
message for a source without a run in the store. Both raise `PlaceFailed`; `ProcessLost` is said of
one crawl."""


# how often a source is begun at most, when the place or the process of its crawl fails
ATTEMPTS = 3
# time between two looks at a run whose node does not answer, or at a store that does not
WATCH_SECS = 5.0
STORE_TRIES = 6  # looks at a store that does not answer
NOWHERE = -1  # stands for a place when none is left
NO_PLACE = "no place is left that could crawl it"


class Nightly:
    """Crawls a list of sources on places that all use these stores; `note` takes a line for people."""

    def __init__(self, places: Sequence[Place], stores: Stores, note: Callable[[str], None]):
        self._places = places
        self._stores = stores
        self._note = note
        self._free: asyncio.Queue[int] = asyncio.Queue()
        """The number of a place for each crawl that it has room for."""
        self._failed: set[int] = set()
        """The places that failed, by their number."""
        self._wanted = self._ended = 0

    async def sync(self, entries: Sequence[SourceEntry]) -> list[Result]:
        """Return the result of each source, in the order given."""
        self._wanted = len(entries)
        for number, place in enumerate(self._places):
            for _ in range(place.slots):
                self._free.put_nowait(number)
        try:
            async with asyncio.TaskGroup() as group:
                sources = [group.create_task(self._source(entry)) for entry in entries]
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
        return [source.result() for source in sources]

    async def _source(self, entry: SourceEntry) -> Result:
        """Crawl a source, and say what became of it."""
        try:
            result = await self._crawl(entry)
        except StoreError as error:
            result = Result(entry.name, "failed", reason=str(error))
        if result.reason == NO_PLACE:
            return result
        documents = result.as_dict()["documents"]
        went = result.state in {"ok", "incomplete"}
        ended = f"{documents} documents in {result.secs:.1f} s" if went else result.reason
        where = f", {result.where}" if result.where else ""
        self._ended += 1
        self._note(f"{self._ended}/{self._wanted} {result.state}: {result.source} ({ended}){where}")
        return result

    async def _crawl(self, entry: SourceEntry) -> Result:
        """Return the result of one job, begun where there is room; it is started again if its place
        or process died.
        """
        for left in range(ATTEMPTS - 1, -1, -1):
            number = await self._free.get()
            while number in self._failed:
                number = await self._free.get()
            if number == NOWHERE:
                self._free.put_nowait(NOWHERE)
                break
            try:
                result, is_lost = await self._attempt(entry, number)
            finally:
                self._free.put_nowait(number)
            if not (is_lost and left):
                return result
            self._note(f"{entry.name}: its crawl was lost ({result.reason}); it is started again")
            await asyncio.sleep(0)  # those that wait for room come first
        return Result(entry.name, "failed", reason=NO_PLACE)

    async def _attempt(self, entry: SourceEntry, number: int) -> tuple[Result, bool]:
        """Return the result of a crawl, and whether it was lost."""
        place = self._places[number]
        began = time.monotonic()
        before = None
        is_lost = True
        try:
            before = await self._last(entry)
            if before is not None and is_running(before):
                why = f"run {before.id} is going on {before.host.partition(' ')[0]}"
                return Result(entry.name, "skipped", place.name, why), False
            if await place.has(entry):
                why = "an earlier job for it waits or runs there"
                return Result(entry.name, "skipped", place.name, why), False
            message = await place.crawl(entry)
            is_lost = False
        except PlaceFailed as fault:
            message = str(fault)
            self._give_up(number, fault)
            while is_running(await self._newer(entry, before)):  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(WATCH_SECS)
        except ProcessLost as fault:
            message = str(fault)
        except StoreError as error:
            return Result(entry.name, "failed", place.name, str(error)), False
        run = await self._newer(entry, before)
        secs = time.monotonic() - began
        if run is None or run.finished_at is None:
            return (
                Result(entry.name, "failed", place.name, message, secs, run),
                is_lost or run is not None,
            )
        reason = failure_of(run)
        return Result(entry.name, _state(run, reason), place.name, reason, secs, run), False

    def _give_up(self, number: int, fault: PlaceFailed) -> None:
        """Send nothing more to a place."""
        if number not in self._failed:
            self._failed.add(number)
            self._note(f"{fault}; its sources go elsewhere")
        if len(self._failed) == len(self._places):
            self._free.put_nowait(NOWHERE)

    async def _newer(self, entry: SourceEntry, before: RunRecord | None) -> RunRecord | None:
        """Return the run that was begun since the run `before`, or None, also where the store
        cannot be read.
        """
        try:
            run = await self._last(entry)
        except StoreError as error:
            self._note(str(error))
            return None
        return run if run is not None and (before is None or run.number > before.number) else None

    async def _last(self, entry: SourceEntry) -> RunRecord | None:
        """Return the newest run; a store that does not answer may be starting, and is asked again."""
        for _ in range(STORE_TRIES - 1):
            with contextlib.suppress(StoreError):
                return await asyncio.to_thread(last_run, self._stores, entry.name)
            await asyncio.sleep(WATCH_SECS)
        return await asyncio.to_thread(last_run, self._stores, entry.name)


def _state(run: RunRecord, reason: str) -> State:
    if reason:
        return "failed"
    return "incomplete" if run.counts.get("outage") else "ok"
