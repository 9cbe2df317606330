"""What one run writes: numbered, gathered into batches by one thread, each batch in one
transaction.

Numbers are handed out before they are written, so two runs of one source could commit them out of
order, and who reads by number would miss the late ones. A batch gives fresh numbers to changes that
come too late.
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, Update, bindparam, case, delete, insert, select, update

from llmsspider.errors import StoreError
from llmsspider.items import Change
from llmsspider.store.database import Database
from llmsspider.store.records import (
    PAGE_COLUMNS,
    FilteredUrl,
    PageError,
    PageRecord,
    Reading,
)
from llmsspider.store.runs import Retention
from llmsspider.store.schema import (
    alias,
    change,
    content,
    error,
    filtered,
    link,
    page,
    run_table,
    source,
    version,
)

logger = logging.getLogger(__name__)

BATCH_ROWS = 500
BATCH_SECS = 1.0
"""A batch is committed when it holds this many rows or its first row has waited this long."""
QUEUE_ROWS = BLOCK = DETAIL_LIMIT = 1000
"""Rows that may wait (then callers wait, too); numbers reserved at a time; URLs listed of a reason
or an error kind.
"""

Row = dict[str, Any]

# Statements; parameters that would clash with a column of the same name begin with `b_`.


def _upsert(database: Database, table: Table) -> Any:
    """Insert a row, or replace the one of the same key; `reached` is never set back."""
    key = ("source_id", "key") if "key" in table.c else ("page_id",)
    made = database.insert(table)
    replaced = {
        one.name: made.excluded[one.name] for one in table.c if one.name not in {"id", *key}
    }
    if table is page:
        later = page.c.reached > made.excluded.reached
        replaced["reached"] = case((later, page.c.reached), else_=made.excluded.reached)
    return made.on_conflict_do_update(index_elements=key, set_=replaced)


def _set(*names: str) -> Row:
    return {name: bindparam(f"b_{name}") for name in names}


def _bound(row: Row) -> Row:
    return {f"b_{name}": value for name, value in row.items()}


_THIS_SOURCE = source.c.id == bindparam("b_source_id")
_LOCKED_SOURCE = select(source.c.next_seq, source.c.last_seq).where(_THIS_SOURCE).with_for_update()
_MINE = page.c.source_id == bindparam("b_source_id")
_PAGE = (_MINE, page.c.key == bindparam("b_key"))
_THESE_PAGES = (_MINE, page.c.key.in_(bindparam("b_keys", expanding=True)))
_KNOWN_PAGES = select(page.c.key, page.c.id, page.c.url, page.c.gone).where(*_THESE_PAGES)
_REACHED = case((page.c.reached < bindparam("b_run"), bindparam("b_run")), else_=page.c.reached)
"""`reached` after a run reached the page: never set back by an earlier run going beside it."""
_UNCHANGED = {"id", "source_id", "key", "seq", "change", "reason", "run", "reached"}
USE_READING = update(page).where(*_PAGE).values(run=bindparam("b_run"), reached=_REACHED)
SET_HEADINGS = (
    update(link)
    .where(link.c.page_id.in_(select(page.c.id).where(*_PAGE)))
    .values(headings=bindparam("b_headings"))
)
_GONE = _set("seq", "reason", "run") | {"gone": True, "change": "deleted", "extra": None}
_DELETE_PAGE = update(page).where(*_PAGE).values(**_GONE)
_DELETE_CONTENT, _DELETE_LINKS = (
    delete(one).where(one.c.page_id == bindparam("b_page_id")) for one in (content, link)
)
_THIS_RUN = (
    run_table.c.source_id == bindparam("b_source_id"),
    run_table.c.number == bindparam("b_run"),
)
HEARTBEAT = (
    update(run_table)
    .where(*_THIS_RUN)
    .values(**_set("counts", "filtered", "errors", "heartbeat_at"))
)
_KEPT = ("seq", "run", "title", "content_hash", "extractor_version")
_KEEP = insert(version).from_select(
    ["page_id", *_KEPT, "replaced_at", "data"],
    select(
        page.c.id,
        *(page.c[one] for one in _KEPT),
        bindparam("b_now", type_=version.c.replaced_at.type),
    )
    .add_columns(content.c.data)
    .join_from(page, content, content.c.page_id == page.c.id)
    .where(*_THESE_PAGES),
)
"""Keeps the contents of the pages that are about to be replaced; compressed already, they are
copied as they are.
"""


@cache
def _note(*names: str) -> Update:
    return (
        update(page).where(*_PAGE, page.c.gone.is_(False)).values(**_set(*names), reached=_REACHED)
    )


_RESAVE = _note(*(one.name for one in page.c if one.name not in _UNCHANGED))
"""Replaces a page that counts as unchanged."""


# What waits to be written.


class Write(NamedTuple):
    """A page as a whole, what is no document, or a deletion (`record` is None).

    `seq` is None for a page that counts as unchanged, 0 for what is no document. `reason` is that
    of a deletion; of a page that changed, it holds the kinds of change.
    """

    key: bytes
    seq: int | None
    change: Change | None = None
    record: PageRecord | Reading | None = None
    reason: str | None = None


class Detail(NamedTuple):
    """A row for a statement.

    `key` is that of the page whose other writes have to stay in their order.
    """

    statement: Any
    row: Row
    key: bytes | None = None


def page_row(record: PageRecord) -> Row:
    """Columns of `page` for a document, without its change and run; what is NULL has the value of
    another column.
    """
    row = {name: getattr(record, name) for name in PAGE_COLUMNS}
    row |= {"key": record.key, "document_id": record.id, "headers": None, "gone": False}
    row["moved_from"] = record.moved_from or None
    row["extra"] = record.extra or None
    row["declared"] = record.declared or None
    for name, same in (
        ("validators_url", record.fetched_url),
        ("fetched_url", record.url),
        ("source_hash", record.content_hash),
    ):
        row[name] = None if row[name] == same else row[name]
    return row


def link_row(record: PageRecord) -> Row:
    """Columns of `link` for a document."""
    pairs = [(one.text, one.url) for one in record.links]
    return {"links": pairs, "follow": record.follow, "headings": record.heading_ids or None}


def reading_row(reading: Reading) -> Row:
    """Columns of `page` for what is no document, without its run."""
    names = ("key", "url", "accept", "etag", "last_modified", "raw_hash")
    given = {name: getattr(reading, name) for name in names}
    given |= {
        "headers": dict(reading.headers),
        "extractor_version": reading.read_by,
        "reason": reading.why,
    }
    empty: Row = dict.fromkeys(
        ("document_id", "origin", "discovered_by", "fetched_at", "change"), ""
    )
    numbers = {"depth": 0, "seq": 0, "gone": True}
    return dict.fromkeys(PAGE_COLUMNS) | empty | numbers | given | {"identity": reading.url}


class RunWriter:
    """The writes of a run that has begun; pages reached by the run number `reach_from`, or a later
    one, are reached.
    """

    def __init__(
        self,
        database: Database,
        source_id: int,
        number: int,
        reach_from: int,
        retention: Retention,
    ):
        self.source_id = source_id
        self.number = number
        self.reach_from = reach_from
        self.retention = retention
        self._mine = {"source_id": source_id, "run": number}
        self.upserts = {table: _upsert(database, table) for table in (page, content, link, alias)}
        self._database = database
        self._next_seq = self._end_seq = 0
        self._queued: set[bytes] = set()
        self._tallied: dict[Table, Counter[str]] = {error: Counter(), filtered: Counter()}
        self._queue: queue.Queue[Any] = queue.Queue(QUEUE_ROWS)
        # a batch should be written before its time: it is full, or waited for
        self._due = threading.Event()
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name="llmsspider-store", daemon=True)
        self._thread.start()

    def put(self, operation: Write | Detail) -> None:
        """Queue a write; waits while the queue is full.

        Raises `StoreError` once writing has failed.
        """
        self._check()
        if operation.key is not None:
            self._queued.add(operation.key)
        if self._queue.qsize() + 1 >= min(BATCH_ROWS, self._queue.maxsize):
            self._due.set()
        self._queue.put(operation)

    def update(self, statement: Any, **values: Any) -> None:
        """Queue an update that any batch may hold."""
        self.put(Detail(statement, _bound(values | self._mine)))

    def note(self, key: bytes, *, after: bool = True, **values: Any) -> None:
        """Queue columns of a document that the run reached, `after` its earlier writes or beside
        them.
        """
        row = _bound(values | self._mine | {"key": key})
        self.put(Detail(_note(*values), row, key if after else None))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def holds(self, keys: Iterable[bytes]) -> bool:
        """Return whether one of the pages may have been written and not yet committed."""
        return not self._queued.isdisjoint(keys)

    def next_seq(self) -> int:
        """Take the number of a change: reserved before it is used, so that no other change ever
        gets it.
        """
        if self._next_seq == self._end_seq:

            def reserve(connection: Connection) -> int:
                mine = {"b_source_id": self.source_id}
                first: int = connection.execute(_LOCKED_SOURCE, mine).one().next_seq
                connection.execute(
                    update(source).where(_THIS_SOURCE).values(next_seq=first + BLOCK), mine
                )
                return first

            self._next_seq = self._database.write(reserve)
            self._end_seq = self._next_seq + BLOCK
        self._next_seq += 1
        return self._next_seq - 1

    def give_back(self) -> None:
        """Return the numbers that no change took, unless another run has reserved numbers after
        them.
        """
        if self._next_seq < self._end_seq:
            unused = (source.c.id == self.source_id) & (source.c.next_seq == self._end_seq)
            returned = update(source).where(unused).values(next_seq=self._next_seq)
            self._database.write(lambda connection: connection.execute(returned))
            self._next_seq = self._end_seq = 0

    def detail(self, found: PageError | FilteredUrl) -> None:
        """Count a page error or a filtered URL, and keep it by name while there are few of its kind
        or reason.
        """
        table, kind = (
            (error, found.kind) if isinstance(found, PageError) else (filtered, found.reason)
        )
        self._tallied[table][kind] += 1
        if self._tallied[table][kind] <= DETAIL_LIMIT:
            row = self._mine | {name: getattr(found, name) for name in found.__slots__}
            self.put(Detail(_INSERTS[table], row))

    def tallies(self, counts: Mapping[str, Any]) -> Row:
        """Columns of `run` for the numbers so far."""
        tallies = {"filtered": dict(self._tallied[filtered]), "errors": dict(self._tallied[error])}
        return {"counts": dict(counts), **tallies}

    def flush(self) -> None:
        """Return when everything queued so far is committed.

        Raises `StoreError` when it could not be.
        """
        if self._thread.is_alive():
            done = threading.Event()
            self._queue.put(done)
            self._due.set()
            done.wait()
        self._check()
        self._queued.clear()

    def close(self) -> None:
        """Write what is left and end the thread.

        Raises `StoreError` when something could not be written.
        """
        if self._thread.is_alive():
            self._queue.put(None)
            self._due.set()
            self._thread.join()
        self._check()

    # The thread that commits

    def _work(self) -> None:
        """Commit batches, each with one operation of a page at most, until None comes; each is
        gathered at its end.
        """
        held: list[Any] = []
        while (item := held.pop() if held else self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            self._due.wait(BATCH_SECS)
            self._due.clear()
            batch = self._gather(item, held)
            if held or len(batch) >= BATCH_ROWS:
                self._due.set()  # what is behind it may be waited for, too
            if self._failure is not None:
                continue  # the rest is discarded, so that nobody waits
            try:
                self._database.write(partial(self._write, batch=batch))
            except StoreError as error:
                self._failure = error
                logger.error("%s; nothing more is stored in this run", error)
            except (
                Exception
            ) as error:  # a fault of ours must reach the crawl, not end a thread in silence
                why = f"{type(error).__name__}: {error}"
                self._failure = StoreError(f"page store {self._database.label}: {why}")
                logger.exception("Writing to the page store failed")

    def _gather(self, first: Write | Detail, held: list[Any]) -> list[Write | Detail]:
        """Return a batch; what has to wait for its end is put into `held`."""
        batch = [first]
        keys = {first.key}
        while len(batch) < BATCH_ROWS and not self._queue.empty():
            item = self._queue.get()  # nobody else takes from the queue
            if item is None or isinstance(item, threading.Event) or (item.key and item.key in keys):
                held.append(item)
                break
            keys.add(item.key)
            batch.append(item)
        return batch

    def _write(self, connection: Connection, batch: list[Write | Detail]) -> None:
        """Write everything; the caller commits. May be repeated on a new transaction."""
        writes = self._numbered(connection, [one for one in batch if isinstance(one, Write)])
        changes = [one for one in writes if one.seq]
        if changes and (self.retention.versions or self.retention.days):
            keys = [one.key for one in changes]
            connection.execute(
                _KEEP, {"b_source_id": self.source_id, "b_keys": keys, "b_now": time.time()}
            )
        self._log(connection, changes, self._write_pages(connection, writes))
        details: dict[Any, list[Row]] = {}
        for one in batch:
            if isinstance(one, Detail):
                details.setdefault(one.statement, []).append(one.row)
        for statement, rows in details.items():
            connection.execute(statement, rows)

    def _numbered(self, connection: Connection, writes: list[Write]) -> list[Write]:
        """Return the writes with the numbers of their changes: where another run was faster, late
        ones get fresh numbers.
        """
        mine = {"b_source_id": self.source_id}
        next_seq, last_seq = connection.execute(_LOCKED_SOURCE, mine).one()
        own = sorted(one.seq for one in writes if one.seq)
        if not own:
            return writes
        fresh: dict[int | None, int] = {}
        if own[0] <= last_seq:
            fresh = {seq: next_seq + index for index, seq in enumerate(own)}
        values = {"next_seq": next_seq + len(fresh), "last_seq": fresh.get(own[-1], own[-1])}
        connection.execute(update(source).where(_THIS_SOURCE).values(values), mine)
        return [one._replace(seq=fresh.get(one.seq, one.seq)) for one in writes]

    def _log(
        self,
        connection: Connection,
        changes: list[Write],
        written: Mapping[bytes, tuple[int, str, bool]],
    ) -> None:
        """Write a row for each change of a page that is stored."""
        at = time.time()
        rows = []
        for one in changes:
            if one.key in written:
                page_id, url, _ = written[one.key]
                row = {"page_id": page_id, "url": url, "at": at, "seq": one.seq}
                row |= {"change": one.change, "reason": one.reason}
                row["content_hash"] = getattr(one.record, "content_hash", None)
                rows.append(self._mine | row)
        _many(connection, _INSERTS[change], rows)

    def _write_pages(
        self, connection: Connection, writes: list[Write]
    ) -> dict[bytes, tuple[int, str, bool]]:
        """Write rows, contents and links of pages; returns row id, URL and "is no document" of each
        as stored now.
        """
        reached = self._mine | {"reached": self.number}
        replaced = []
        same = []
        deleted = []
        for key, seq, kind, record, reason in writes:
            if record is None:
                deleted.append(_bound(self._mine | {"key": key, "reason": reason, "seq": seq}))
            elif isinstance(record, Reading):
                replaced.append(reading_row(record) | reached)
            elif seq is None:
                same.append(_bound(page_row(record) | self._mine))
            else:
                replaced.append(
                    page_row(record) | reached | {"seq": seq, "change": kind, "reason": reason}
                )
        _many(connection, self.upserts[page], replaced)
        _many(connection, _RESAVE, same)
        _many(connection, _DELETE_PAGE, deleted)
        return self._write_contents(connection, writes)

    def _write_contents(
        self, connection: Connection, writes: list[Write]
    ) -> dict[bytes, tuple[int, str, bool]]:
        """Write contents and links of pages whose rows are written."""
        keys = [one.key for one in writes]
        found = connection.execute(_KNOWN_PAGES, {"b_source_id": self.source_id, "b_keys": keys})
        written = {key: (page_id, url, gone) for key, page_id, url, gone in found}
        contents = []
        links = []
        emptied = []
        unlinked = []
        for key, _, _, record, _ in writes:
            page_id, _, gone = written.get(key, (0, "", True))
            # an unchanged page that is not there any more
            if gone and isinstance(record, PageRecord):
                continue
            if record is None or (frame := record.frame) is None:
                emptied.append({"b_page_id": page_id})
            else:
                contents.append({"page_id": page_id, "data": frame})
            if record is None:
                unlinked.append({"b_page_id": page_id})
            elif isinstance(record, PageRecord):
                links.append({"page_id": page_id, **link_row(record)})
        _many(connection, _DELETE_CONTENT, emptied)
        _many(connection, _DELETE_LINKS, unlinked)
        _many(connection, self.upserts[content], contents)
        _many(connection, self.upserts[link], links)
        return written


_INSERTS = {table: insert(table) for table in (change, error, filtered)}


def _many(connection: Connection, statement: Any, rows: list[Row]) -> None:
    if rows:
        connection.execute(statement, rows)
