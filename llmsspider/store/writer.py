"""The one thread that writes: what a run changes, numbered, gathered into batches, each in one transaction."""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from llmsspider.errors import StoreError
from llmsspider.store import batch, queries
from llmsspider.store.batch import Batch, Operation, Save
from llmsspider.store.database import Database
from llmsspider.store.history import Retention
from llmsspider.store.records import FilteredUrl, PageError, Resource, RunRecord
from llmsspider.store.rows import Row, dump
from llmsspider.store.schema import source

logger = logging.getLogger(__name__)


# Sequence numbers of changes: given out at once, reserved in the database in blocks.
# A number is reserved before it is used, so a number that was exported and not stored by a killed run is never
# given to another change.

BLOCK = 1000


class Sequence:
    """The numbers one run may give out; growing, with gaps after a kill or beside another run."""

    def __init__(self, database: Database, source_id: int):
        self._database = database
        self._source_id = source_id
        self._next = 0
        self._end = 0

    def take(self) -> int:
        """The next number. Touches the database once in `BLOCK` calls."""
        if self._next == self._end:
            self._reserve()
        self._next += 1
        return self._next - 1

    def give_back(self) -> None:
        """Return what is left of the block, unless another run has reserved numbers after it."""
        unused = (source.c.id == self._source_id) & (source.c.next_seq == self._end)
        if self._next < self._end:
            returned = update(source).where(unused).values(next_seq=self._next)
            self._database.write(lambda connection: connection.execute(returned))
            self._next = self._end = 0

    def _reserve(self) -> None:
        mine = source.c.id == self._source_id

        def reserve(connection: Connection) -> int:
            first: int = connection.execute(
                select(source.c.next_seq).where(mine).with_for_update()
            ).scalar_one()
            connection.execute(update(source).where(mine).values(next_seq=first + BLOCK))
            return first

        self._next = self._database.write(reserve)
        self._end = self._next + BLOCK


# The one thread that writes: it gathers operations into batches and commits each in one transaction.

BATCH_ROWS = 1000
BATCH_SECS = 1.0
"""A batch is committed when it holds this many rows or its first row has waited this long."""
QUEUE_UNITS = 20_000
"""What may wait: an operation weighs 1, and 1 more for every 4 KiB of text. Then callers wait too."""


class _WeighedQueue(queue.Queue[Any]):
    """A queue whose size is the weight of what is in it (the hooks are those queue.Queue documents)."""

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self.weight = 0

    def _qsize(self) -> int:
        return self.weight

    def _put(self, item: Any) -> None:
        self.weight += _weight(item)
        super()._put(item)

    def _get(self) -> Any:
        item = super()._get()
        self.weight -= _weight(item)
        return item


class Writer:
    """Queue and thread for the writes of one run."""

    def __init__(self, database: Database, source_id: int, run_number: int, *, keeps_history: bool = True):
        self._database = database
        self._source_id = source_id
        self._run_number = run_number
        self._keeps_history = keeps_history
        self._upserts = queries.upserts(database.is_sqlite)
        self._queue = _WeighedQueue(QUEUE_UNITS)
        self._due = threading.Event()
        """Set when a batch should be written before its time: it is full, or somebody waits for it."""
        self._failure: StoreError | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="llmsspider-store", daemon=True)
        self._thread.start()

    def put(self, operation: Operation) -> None:
        """Queue an operation; waits while the queue is full. Raises `StoreError` once writing has failed."""
        self._check()
        if self._queue.weight + 1 >= min(BATCH_ROWS, self._queue.maxsize):
            self._due.set()
        self._queue.put(operation)

    def flush(self) -> None:
        """Return when everything queued so far is committed. Raises `StoreError` when it could not be."""
        if self._thread.is_alive():
            done = threading.Event()
            self._queue.put(done)
            self._due.set()
            done.wait()
        self._check()

    def close(self) -> None:
        """Write what is left and end the thread. Raises `StoreError` when something could not be written."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
            self._due.set()
            self._thread.join()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        held: Any = None
        while True:
            first = held if held is not None else self._queue.get()
            held = None
            if first is None:
                return
            if isinstance(first, threading.Event):
                first.set()
                continue
            batch = Batch(self._source_id, self._run_number, self._upserts, keeps_history=self._keeps_history)
            batch.add(first)
            held, ended = self._fill(batch)
            self._commit(batch)
            if ended:
                return

    def _fill(self, batch: Batch) -> tuple[Any, bool]:
        """Add what arrives in time; returns what has to wait for a later turn, and whether to end now.

        It looks once, at the end of that time: waking up for each operation costs both threads more than writing it.
        """
        self._due.wait(BATCH_SECS)
        self._due.clear()
        while batch.size < BATCH_ROWS:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return None, False
            if item is None:
                return None, True
            if isinstance(item, threading.Event) or not batch.takes(item):
                self._due.set()  # what is behind it may be waited for, too
                return item, False
            batch.add(item)
        self._due.set()
        return None, False

    def _commit(self, batch: Batch) -> None:
        """Commit the batch, or keep the error; after a failure the rest is discarded so that nobody waits."""
        if self._failure is not None:
            return
        try:
            self._database.write(batch.write)
        except StoreError as error:
            self._failure = error
            logger.error("%s; nothing more is stored in this run", error)
        except Exception as error:  # a fault of ours must reach the crawl, not end a thread in silence
            self._failure = StoreError(f"page store {self._database.label}: {type(error).__name__}: {error}")
            logger.exception("Writing to the page store failed")


def _weight(item: Any) -> int:
    if isinstance(item, Save):
        return 1 + (len(item.record.content or "") >> 12)
    return 1 + (len(item.body) >> 12 if isinstance(item, Resource) else 0)


# What one run writes: queued for the thread that commits, its changes numbered, its details bounded.

DETAIL_LIMIT = 1000
"""URLs kept by name for each reason and each error kind of a run; the counts are always exact."""


class RunWriter:
    """The writes of a run that has begun.

    Args:
        database: where they go.
        source_id: the source of the run.
        run: the run as it was at its beginning.
        reach_from: pages reached by a run of this number, or a later one, count as reached.
        retention: how many earlier contents of changed pages are kept.
    """

    def __init__(
        self,
        database: Database,
        source_id: int,
        run: RunRecord,
        reach_from: int,
        retention: Retention,
    ):
        self.run = run
        self.reach_from = reach_from
        self.retention = retention
        self._writer = Writer(database, source_id, run.number, keeps_history=retention.keeps)
        self._sequence = Sequence(database, source_id)
        self._queued: set[bytes] = set()
        self._filtered: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def put(self, operation: batch.Operation) -> None:
        """Queue a write."""
        self._writer.put(operation)

    def put_page(self, operation: batch.Save | batch.TouchPage | batch.DeletePage) -> None:
        """Queue a write that `holds` knows of until it is flushed."""
        self._queued.add(operation.key)
        self._writer.put(operation)

    def holds(self, key: bytes) -> bool:
        """Return whether a page may have been written and not yet committed."""
        return key in self._queued

    def next_seq(self) -> int:
        """Take the number of a change."""
        return self._sequence.take()

    def error(self, page_error: PageError) -> None:
        """Count a page error, and keep it by name while there are few of its kind."""
        self._errors[page_error.kind] += 1
        if self._errors[page_error.kind] <= DETAIL_LIMIT:
            self._writer.put(page_error)

    def filtered(self, url: FilteredUrl) -> None:
        """Count a filtered URL, and keep it by name while there are few of its reason."""
        self._filtered[url.reason] += 1
        if self._filtered[url.reason] <= DETAIL_LIMIT:
            self._writer.put(url)

    def tallies(self, counts: Mapping[str, Any]) -> Row:
        """Columns of `run` for the numbers so far."""
        return {
            "counts": dump(dict(counts)),
            "filtered": dump(dict(self._filtered)),
            "errors": dump(dict(self._errors)),
        }

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        self._writer.flush()
        self._queued.clear()

    def give_back(self) -> None:
        """Give back the numbers that no change took."""
        self._sequence.give_back()

    def close(self) -> None:
        """Commit what is queued and end the thread."""
        self._writer.close()
