"""What one run writes: numbered, gathered into batches by one thread, each batch in one transaction.

Numbers are handed out before they are written, so two runs of one source could commit them out of order, and who reads
by number would miss the late ones. `Batch.write` gives fresh numbers to changes that come too late.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, case, delete, insert, select, update

from llmsspider.errors import StoreError
from llmsspider.items import Change
from llmsspider.store import history
from llmsspider.store.database import Database
from llmsspider.store.history import Retention
from llmsspider.store.records import FilteredUrl, PageError, PageRecord, Reading, RunRecord
from llmsspider.store.rows import Row, page_row, reading_row
from llmsspider.store.schema import alias, change, content, error, filtered, link, page, run, source

logger = logging.getLogger(__name__)

BATCH_ROWS, BATCH_SECS = 500, 1.0
"""A batch is committed when it holds this many rows or its first row has waited this long."""
QUEUE_ROWS = 1000
"""What may wait to be written; then callers wait too."""
BLOCK = 1000
"""Sequence numbers that a run reserves at a time."""
DETAIL_LIMIT = 1000
"""URLs kept by name for each reason and each error kind of a run; the counts are always exact."""


# --- statements; parameters that would clash with a column of the same name begin with `b_` ---


def _upsert(database: Database, table: Table, *key: str) -> Any:
    """Insert a row, or replace the one of the same key; `reached` is never set back."""
    made = database.insert(table)
    replaced = {one.name: made.excluded[one.name] for one in table.c if one.name not in {"id", *key}}
    if table is page:
        later = page.c.reached > made.excluded.reached
        replaced["reached"] = case((later, page.c.reached), else_=made.excluded.reached)
    return made.on_conflict_do_update(index_elements=key, set_=replaced)


_PAGE = (page.c.source_id == bindparam("b_source_id"), page.c.key == bindparam("b_key"))
_DOCUMENT = update(page).where(*_PAGE, page.c.gone.is_(False))
_LATER_RUN = case((page.c.reached < bindparam("b_run"), bindparam("b_run")), else_=page.c.reached)
"""`reached` after a run reached the page: never set back by an earlier run going beside it."""


def _set(*names: str) -> dict[str, Any]:
    return {name: bindparam(f"b_{name}") for name in names}


_KEPT = {"id", "source_id", "key", "seq", "change", "reason", "run", "reached"}
RESAVE = _DOCUMENT.values(**_set(*(one.name for one in page.c if one.name not in _KEPT)), reached=_LATER_RUN)
"""Replaces a page that counts as unchanged."""
TOUCH = _DOCUMENT.values(**_set("depth", "discovered_by", "llms", "status", "fetched_at"), reached=_LATER_RUN)
"""Notes what a run learned about an unchanged page."""
TOUCH_VALIDATORS = TOUCH.values(**_set("etag", "last_modified", "validators_url", "accept"))
"""The same, with its validators."""
MOVED_FROM = update(page).where(*_PAGE).values(**_set("moved_from"))
USE_READING = update(page).where(*_PAGE).values(run=bindparam("b_run"), reached=_LATER_RUN)
DELETE_PAGE = (
    update(page).where(*_PAGE).values(gone=True, change="deleted", extra=None, **_set("seq", "reason", "run"))
)
"""Makes a page a tombstone."""
_THIS_RUN = (run.c.source_id == bindparam("b_source_id"), run.c.number == bindparam("b_run"))
HEARTBEAT = update(run).where(*_THIS_RUN).values(**_set("counts", "filtered", "errors", "heartbeat_at"))
DELETE_CONTENT = delete(content).where(content.c.page_id == bindparam("b_page_id"))
DELETE_LINKS = delete(link).where(link.c.page_id == bindparam("b_page_id"))
_THIS_SOURCE = source.c.id == bindparam("b_source_id")
LOCKED_SOURCE = select(source.c.next_seq, source.c.last_seq).where(_THIS_SOURCE).with_for_update()
ADVANCE_SOURCE = update(source).where(_THIS_SOURCE).values(**_set("next_seq", "last_seq"))
_INSERT_ERROR, _INSERT_FILTERED = insert(error), insert(filtered)
KNOWN_PAGES = select(page.c.key, page.c.id, page.c.url, page.c.gone).where(
    page.c.source_id == bindparam("b_source_id"), page.c.key.in_(bindparam("b_keys", expanding=True))
)


# --- what waits to be written, and the transaction that writes it ---


class Save(NamedTuple):
    """A page as a whole, or what is no document; `seq` is None when the page counts as unchanged."""

    key: bytes
    record: PageRecord | Reading
    change: Change | None
    seq: int | None


class Delete(NamedTuple):
    """A page becomes a tombstone."""

    key: bytes
    reason: str
    seq: int


class Detail(NamedTuple):
    """A row for a statement. `key` is that of the page whose other writes have to stay in their order."""

    statement: Any
    row: Row
    key: bytes | None = None


Operation = Save | Delete | Detail
Pages = dict[bytes, tuple[int, str, bool]]  # row id, URL and "is no document" of stored pages, by key


class Batch:
    """Operations of one run that are committed together, at most one of each page."""

    def __init__(self, writer: RunWriter):
        self._writer = writer
        self._saves: list[Save] = []
        self._deletions: list[Delete] = []
        self._details: dict[Any, list[Row]] = {}
        self._keys: set[bytes] = set()
        self.size = 0

    def takes(self, operation: Operation) -> bool:
        """False when the operation has to wait for a later batch."""
        return operation.key is None or operation.key not in self._keys

    def add(self, operation: Operation) -> None:
        """Add an operation that the batch takes."""
        if operation.key is not None:
            self._keys.add(operation.key)
        if isinstance(operation, Save):
            self._saves.append(operation)
        elif isinstance(operation, Delete):
            self._deletions.append(operation)
        else:
            self._details.setdefault(operation.statement, []).append(operation.row)
        self.size += 1

    def write(self, connection: Connection) -> None:
        """Write everything; the caller commits. May be repeated on a new transaction."""
        renumber = self._advance_sequence(connection)
        saved = [one for one in self._saves if one.change and one.seq is not None]
        changes: list[Save | Delete] = [*saved, *self._deletions]
        if changes and self._writer.retention.keeps:
            history.keep(connection, self._writer.source_id, [one.key for one in changes])
        written = self._save(connection, renumber) | self._delete(connection, renumber)
        known = [one for one in changes if one.key in written]
        mine = {"source_id": self._writer.source_id, "run": self._writer.run.number, "at": time.time()}
        logged = [_log_entry(one, written[one.key]) | mine | {"seq": renumber(one.seq or 0)} for one in known]
        _many(connection, insert(change), logged)
        for statement, rows in self._details.items():
            connection.execute(statement, rows)

    def _advance_sequence(self, connection: Connection) -> Callable[[int], int]:
        """Lock the source, note the last number, and give late changes fresh numbers."""
        numbers = [*(one.seq for one in self._saves), *(one.seq for one in self._deletions)]
        own = sorted(filter(None, numbers))
        mine = {"b_source_id": self._writer.source_id}
        next_seq, last_seq = connection.execute(LOCKED_SOURCE, mine).one()
        if not own:
            return lambda seq: seq
        fresh = {seq: next_seq + index for index, seq in enumerate(own)} if own[0] <= last_seq else {}
        values = {"b_next_seq": next_seq + len(fresh), "b_last_seq": fresh.get(own[-1], own[-1])}
        connection.execute(ADVANCE_SOURCE, mine | values)
        return lambda seq: fresh.get(seq, seq)

    def _save(self, connection: Connection, renumber: Callable[[int], int]) -> Pages:
        """Write pages as wholes; returns them as they are stored now."""
        source_id, number = self._writer.source_id, self._writer.run.number
        replaced, same = [], []
        for key, record, kind, seq in self._saves:
            mine: Row = {"source_id": source_id, "run": number, "reached": number}
            if isinstance(record, Reading):
                replaced.append(reading_row(record) | mine)
            elif seq is None:
                row = page_row(record) | {"gone": False, "source_id": source_id, "run": number, "key": key}
                same.append({f"b_{name}": value for name, value in row.items()})
            else:
                changed = {"seq": renumber(seq), "change": kind, "reason": None, "gone": False}
                replaced.append(page_row(record) | mine | changed)
        _many(connection, self._writer.upsert_page, replaced)
        _many(connection, RESAVE, same)
        written = self._pages(connection, [save.key for save in self._saves])
        contents, emptied, links = [], [], []
        for key, record, _, _ in self._saves:
            page_id, _, gone = written.get(key, (0, "", True))
            if gone and isinstance(record, PageRecord):  # an unchanged page that is not there any more
                continue
            if (frame := record.frame) is None:
                emptied.append({"b_page_id": page_id})
            else:
                contents.append({"page_id": page_id, "data": frame})
            if isinstance(record, PageRecord):
                pairs = [(one.text, one.url) for one in record.links]
                links.append({"page_id": page_id, "links": pairs, "follow": record.follow})
        _many(connection, DELETE_CONTENT, emptied)
        _many(connection, self._writer.upsert_content, contents)
        _many(connection, self._writer.upsert_links, links)
        return written

    def _delete(self, connection: Connection, renumber: Callable[[int], int]) -> Pages:
        """Make pages tombstones; returns them as they are stored now."""
        mine = {"b_source_id": self._writer.source_id, "b_run": self._writer.run.number}
        rows = [
            mine | {"b_key": key, "b_reason": reason, "b_seq": renumber(seq)}
            for key, reason, seq in self._deletions
        ]
        _many(connection, DELETE_PAGE, rows)
        written = self._pages(connection, [one.key for one in self._deletions])
        ids = [{"b_page_id": page_id} for page_id, _, _ in written.values()]
        _many(connection, DELETE_CONTENT, ids)
        _many(connection, DELETE_LINKS, ids)
        return written

    def _pages(self, connection: Connection, keys: list[bytes]) -> Pages:
        """The stored pages among `keys`."""
        found = connection.execute(KNOWN_PAGES, {"b_source_id": self._writer.source_id, "b_keys": keys})
        return {key: (page_id, url, gone) for key, page_id, url, gone in found}


def _log_entry(one: Save | Delete, page: tuple[int, str, bool]) -> Row:
    page_id, url, _ = page
    if isinstance(one, Delete):
        return {
            "page_id": page_id,
            "change": "deleted",
            "reason": one.reason,
            "url": url,
            "content_hash": None,
        }
    made = {"page_id": page_id, "change": one.change, "reason": None, "url": one.record.url}
    return made | {"content_hash": getattr(one.record, "content_hash", None)}


def _many(connection: Connection, statement: Any, rows: Iterable[Row]) -> None:
    if rows := list(rows):
        connection.execute(statement, rows)


# --- the writes of a run ---


class RunWriter:
    """The writes of a run that has begun: its queue, the thread that commits, its numbers, its details bounded.

    Pages reached by the run number `reach_from`, or a later one, count as reached by this one.
    """

    def __init__(
        self, database: Database, source_id: int, run: RunRecord, reach_from: int, retention: Retention
    ):
        self.source_id, self.run, self.reach_from, self.retention = source_id, run, reach_from, retention
        self.upsert_page = _upsert(database, page, "source_id", "key")
        self.upsert_content = _upsert(database, content, "page_id")
        self.upsert_links = _upsert(database, link, "page_id")
        self.upsert_alias = _upsert(database, alias, "source_id", "key")
        self._database = database
        self._next_seq = self._end_seq = 0
        self._queued: set[bytes] = set()
        self._filtered: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._queue: queue.Queue[Any] = queue.Queue(QUEUE_ROWS)
        self._due = threading.Event()
        """Set when a batch should be written before its time: it is full, or somebody waits for it."""
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name="llmsspider-store", daemon=True)
        self._thread.start()

    def put(self, operation: Operation) -> None:
        """Queue a write; waits while the queue is full. Raises `StoreError` once writing has failed."""
        self._check()
        if operation.key is not None:
            self._queued.add(operation.key)
        if self._queue.qsize() + 1 >= min(BATCH_ROWS, self._queue.maxsize):
            self._due.set()
        self._queue.put(operation)

    def update(self, statement: Any, *, after: bytes | None = None, **values: Any) -> None:
        """Queue an update; one `after` the earlier writes of a page has its key."""
        values |= {"source_id": self.source_id, "run": self.run.number}
        self.put(Detail(statement, {f"b_{name}": value for name, value in values.items()}, after))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def holds(self, keys: Iterable[bytes]) -> bool:
        """Return whether one of the pages may have been written and not yet committed."""
        return not self._queued.isdisjoint(keys)

    def next_seq(self) -> int:
        """Take the number of a change: reserved before it is used, so that no other change ever gets it."""
        if self._next_seq == self._end_seq:
            mine = source.c.id == self.source_id

            def reserve(connection: Connection) -> int:
                first: int = connection.execute(
                    select(source.c.next_seq).where(mine).with_for_update()
                ).scalar_one()
                connection.execute(update(source).where(mine).values(next_seq=first + BLOCK))
                return first

            self._next_seq = self._database.write(reserve)
            self._end_seq = self._next_seq + BLOCK
        self._next_seq += 1
        return self._next_seq - 1

    def give_back(self) -> None:
        """Return the numbers that no change took, unless another run has reserved numbers after them."""
        if self._next_seq < self._end_seq:
            unused = (source.c.id == self.source_id) & (source.c.next_seq == self._end_seq)
            returned = update(source).where(unused).values(next_seq=self._next_seq)
            self._database.write(lambda connection: connection.execute(returned))
            self._next_seq = self._end_seq = 0

    def detail(self, found: PageError | FilteredUrl) -> None:
        """Count a page error or a filtered URL, and keep it by name while there are few of its kind or reason."""
        if isinstance(found, PageError):
            counter, kind, statement = self._errors, found.kind, _INSERT_ERROR
        else:
            counter, kind, statement = self._filtered, found.reason, _INSERT_FILTERED
        counter[kind] += 1
        if counter[kind] <= DETAIL_LIMIT:
            mine: Row = {"source_id": self.source_id, "run": self.run.number}
            row = mine | {name: getattr(found, name) for name in found.__slots__}
            self.put(Detail(statement, row))

    def heartbeat(self, counts: Mapping[str, Any]) -> None:
        """Queue the progress of the run."""
        self.update(HEARTBEAT, **self.tallies(counts), heartbeat_at=time.time())

    def tallies(self, counts: Mapping[str, Any]) -> Row:
        """Columns of `run` for the numbers so far."""
        return {"counts": dict(counts), "filtered": dict(self._filtered), "errors": dict(self._errors)}

    def flush(self) -> None:
        """Return when everything queued so far is committed. Raises `StoreError` when it could not be."""
        if self._thread.is_alive():
            done = threading.Event()
            self._queue.put(done)
            self._due.set()
            done.wait()
        self._check()
        self._queued.clear()

    def close(self) -> None:
        """Write what is left and end the thread. Raises `StoreError` when something could not be written."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._due.set()
            self._thread.join()
        self._check()

    def _work(self) -> None:
        """Commit batches until None comes.

        The queue is looked at once, at the end of a batch's time: waking up for each operation costs both threads more
        than writing it.
        """
        held: list[Any] = []
        while (item := held.pop() if held else self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            batch = Batch(self)
            batch.add(item)
            self._due.wait(BATCH_SECS)
            self._due.clear()
            while batch.size < BATCH_ROWS and not self._queue.empty():
                item = self._queue.get()  # nobody else takes from the queue
                if item is None or isinstance(item, threading.Event) or not batch.takes(item):
                    held.append(item)
                    break
                batch.add(item)
            if held or batch.size >= BATCH_ROWS:
                self._due.set()  # what is behind it may be waited for, too
            self._commit(batch)

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
