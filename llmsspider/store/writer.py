"""The one thread that writes: it gathers operations into batches and commits each in one transaction."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any

from llmsspider.errors import StoreError
from llmsspider.store import statements
from llmsspider.store.batch import Batch, Operation, Save
from llmsspider.store.database import Database
from llmsspider.store.records import Resource

logger = logging.getLogger(__name__)

BATCH_ROWS = 1000
BATCH_SECS = 0.5
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
        self._writes = statements.writes(database.is_sqlite)
        self._queue = _WeighedQueue(QUEUE_UNITS)
        self._failure: StoreError | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="llmsspider-store", daemon=True)
        self._thread.start()

    def put(self, operation: Operation) -> None:
        """Queue an operation; waits while the queue is full. Raises `StoreError` once writing has failed."""
        self._check()
        self._queue.put(operation)

    def flush(self) -> None:
        """Return when everything queued so far is committed. Raises `StoreError` when it could not be."""
        if self._thread.is_alive():
            done = threading.Event()
            self._queue.put(done)
            done.wait()
        self._check()

    def close(self) -> None:
        """Write what is left and end the thread. Raises `StoreError` when something could not be written."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
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
            batch = Batch(self._source_id, self._run_number, self._writes, keeps_history=self._keeps_history)
            batch.add(first)
            held, ended = self._fill(batch)
            self._commit(batch)
            if ended:
                return

    def _fill(self, batch: Batch) -> tuple[Any, bool]:
        """Add what arrives in time; returns what has to wait for a later turn, and whether to end now."""
        deadline = time.monotonic() + BATCH_SECS
        while batch.size < BATCH_ROWS:
            try:
                item = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None, False
            if item is None:
                return None, True
            if isinstance(item, threading.Event) or not batch.takes(item):
                return item, False
            batch.add(item)
        return None, False

    def _commit(self, batch: Batch) -> None:
        """Commit the batch, or remember why not; after a failure the rest is dropped so that nobody waits."""
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
