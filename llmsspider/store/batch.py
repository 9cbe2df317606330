"""What waits to be written, and the one transaction that writes it.

Sequence numbers are handed out before they are written, so two runs of one source could commit them out of
order, and a consumer that reads by sequence would pass over the late ones. `Batch.write` therefore renumbers
changes that come too late: what is in the `change` table was always committed in the order of its numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, update

from llmsspider.items import Change
from llmsspider.store import history, queries, rows
from llmsspider.store.records import FilteredUrl, PageError, PageRecord, Resource, Touch
from llmsspider.store.rows import digest, storable
from llmsspider.store.schema import error, filtered, run

Renumber = Callable[[int], int]

Pages = dict[bytes, tuple[int, str, bool]]
"""Row id, URL and "is a tombstone" of stored pages, by key."""


@dataclass(slots=True, frozen=True)
class Save:
    """A page as a whole; `seq` is None when the page counts as unchanged."""

    key: bytes
    record: PageRecord
    change: Change
    seq: int | None


@dataclass(slots=True, frozen=True)
class TouchPage:
    """What a run learned about an unchanged page."""

    key: bytes
    touch: Touch


@dataclass(slots=True, frozen=True)
class DeletePage:
    """A page becomes a tombstone."""

    key: bytes
    reason: str
    seq: int


@dataclass(slots=True, frozen=True)
class Alias:
    """A spelling is joined to a page."""

    key: bytes
    target: bytes
    url: str


@dataclass(slots=True, frozen=True)
class RunUpdate:
    """Columns of the run's row."""

    values: rows.Row


@dataclass(slots=True, frozen=True)
class MovedFrom:
    """The former addresses of a page."""

    key: bytes
    urls: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class UseResource:
    """A stored resource was used again."""

    key: bytes


Operation = (
    Save
    | TouchPage
    | DeletePage
    | Alias
    | RunUpdate
    | Resource
    | UseResource
    | PageError
    | FilteredUrl
    | MovedFrom
)


def _rank(operation: Save | TouchPage | DeletePage) -> int:
    """The place of its kind in `Batch.write`."""
    if isinstance(operation, Save):
        return 0 if operation.seq is not None else 1
    return 2 if isinstance(operation, TouchPage) else 3


class Batch:
    """Operations of one run that are committed together.

    Kinds are written one after the other (saves, touches, deletions, …), each as one `executemany`;
    `takes` refuses an operation for which that order would be wrong.
    """

    def __init__(
        self, source_id: int, run_number: int, upserts: queries.Upserts, *, keeps_history: bool = True
    ):
        self._source_id = source_id
        self._run_number = run_number
        self._upserts = upserts
        self._keeps_history = keeps_history
        self._operations: dict[type, list[Any]] = {}
        self._ranks: dict[bytes, int] = {}
        self.size = 0

    def takes(self, operation: Operation) -> bool:
        """False when the operation has to wait for a later batch."""
        if not isinstance(operation, Save | TouchPage | DeletePage):
            return True
        if isinstance(operation, Save) and operation.seq is not None:
            return operation.key not in self._ranks  # the content of each change is kept
        return self._ranks.get(operation.key, 0) <= _rank(operation)

    def add(self, operation: Operation) -> None:
        """Add an operation that the batch takes."""
        if isinstance(operation, Save | TouchPage | DeletePage):
            self._ranks[operation.key] = _rank(operation)
        self._operations.setdefault(type(operation), []).append(operation)
        self.size += 1

    def write(self, connection: Connection) -> None:
        """Write everything; the caller commits. May be repeated on a new transaction."""
        renumber = self._advance_sequence(connection)
        saves: list[Save] = self._operations.get(Save, [])
        deletions: list[DeletePage] = self._operations.get(DeletePage, [])
        written = self._save(connection, saves, renumber)
        self._touch(connection)
        written |= self._delete(connection, deletions, renumber)
        changes: list[Save | DeletePage] = [*(save for save in saves if save.seq is not None), *deletions]
        self._log_changes(connection, changes, written, renumber)
        self._details(connection)

    def _advance_sequence(self, connection: Connection) -> Renumber:
        """Lock the source, note the last number, and give late changes fresh numbers."""
        own = [
            op.seq
            for kind in (Save, DeletePage)
            for op in self._operations.get(kind, [])
            if op.seq is not None
        ]
        this_source = {"b_source_id": self._source_id}
        next_seq, last_seq = connection.execute(queries.LOCKED_SOURCE, this_source).one()
        if not own:
            return _same
        own.sort()
        late = own[0] <= last_seq
        fresh = {seq: next_seq + index for index, seq in enumerate(own)} if late else {}
        values = {"b_next_seq": next_seq + len(fresh), "b_last_seq": fresh.get(own[-1], own[-1])}
        connection.execute(queries.ADVANCE_SOURCE, this_source | values)
        return (lambda seq: fresh[seq]) if late else _same

    def _save(self, connection: Connection, saves: list[Save], renumber: Renumber) -> Pages:
        """Write pages as wholes; returns them as they are stored now."""
        if not saves:
            return {}
        changed = [self._changed_row(save, renumber) for save in saves if save.seq is not None]
        self._keep(connection, [save.key for save in saves if save.seq is not None])
        same = [self._resaved_row(save) for save in saves if save.seq is None]
        _many(connection, self._upserts.page, changed)
        _many(connection, queries.RESAVE, same)
        written = self._pages(connection, [save.key for save in saves])
        ids = _ids(written, gone=False)
        contents, emptied, links = [], [], []
        for save in saves:
            if (page_id := ids.get(save.key)) is None:
                continue
            content, main, follow = rows.body_rows(save.record)
            if content is None:
                emptied.append({"b_page_id": page_id})
            else:
                contents.append({"page_id": page_id, "data": content})
            links.append({"page_id": page_id, "links": main, "follow": follow})
        _many(connection, queries.DELETE_CONTENT, emptied)
        _many(connection, self._upserts.content, contents)
        _many(connection, self._upserts.links, links)
        return written

    def _changed_row(self, save: Save, renumber: Renumber) -> rows.Row:
        return rows.page_row(save.record) | {
            "source_id": self._source_id,
            "seq": renumber(save.seq or 0),
            "change": save.change,
            "reason": None,
            "run": self._run_number,
            "reached": self._run_number,
            "gone": False,
        }

    def _resaved_row(self, save: Save) -> rows.Row:
        row = rows.page_row(save.record) | {
            "reached": self._run_number,
            "gone": False,
            "source_id": self._source_id,
        }
        return {f"b_{name}": value for name, value in row.items()}

    def _touch(self, connection: Connection) -> None:
        plain: list[rows.Row] = []
        fresh: list[rows.Row] = []
        for operation in self._operations.get(TouchPage, []):
            row = (
                rows.touch_row(operation.touch) | self._where(operation.key) | {"b_reached": self._run_number}
            )
            (fresh if operation.touch.validators else plain).append(row)
        _many(connection, queries.TOUCH, plain)
        _many(connection, queries.TOUCH_VALIDATORS, fresh)

    def _delete(self, connection: Connection, deletions: list[DeletePage], renumber: Renumber) -> Pages:
        """Make pages tombstones; returns them as they are stored now."""
        if not deletions:
            return {}
        parameters = [
            self._where(op.key)
            | {"b_run": self._run_number, "b_seq": renumber(op.seq), "b_reason": op.reason}
            for op in deletions
        ]
        self._keep(connection, [op.key for op in deletions])
        _many(connection, queries.DELETE_PAGE, parameters)
        written = self._pages(connection, [op.key for op in deletions])
        ids = [{"b_page_id": page_id} for page_id in _ids(written, gone=True).values()]
        _many(connection, queries.DELETE_CONTENT, ids)
        _many(connection, queries.DELETE_LINKS, ids)
        return written

    def _keep(self, connection: Connection, keys: list[bytes]) -> None:
        """Keep the contents that are about to be replaced."""
        if keys and self._keeps_history:
            history.keep(connection, self._source_id, keys)

    def _log_changes(
        self, connection: Connection, logged: list[Save | DeletePage], written: Pages, renumber: Renumber
    ) -> None:
        now = time.time()
        entries = []
        for op in logged:
            if op.key not in written:
                continue
            page_id, url, _ = written[op.key]
            save = op if isinstance(op, Save) else None
            entries.append(
                {
                    "source_id": self._source_id,
                    "seq": renumber(op.seq or 0),
                    "page_id": page_id,
                    "run": self._run_number,
                    "change": save.change if save else "deleted",
                    "reason": None if isinstance(op, Save) else op.reason,
                    "url": storable(save.record.url) if save else url,
                    "content_hash": digest(save.record.content_hash) if save else None,
                    "at": now,
                }
            )
        _many(connection, queries.INSERT_CHANGE, entries)

    def _details(self, connection: Connection) -> None:
        mine = {"source_id": self._source_id, "run": self._run_number}
        aliases = [
            {"source_id": self._source_id, "key": op.key, "target": op.target, "url": storable(op.url)}
            for op in self._operations.get(Alias, [])
        ]
        _many(connection, self._upserts.alias, aliases)
        resources = [rows.resource_row(op) | mine for op in self._operations.get(Resource, [])]
        _many(connection, self._upserts.resource, resources)
        used = [
            self._where(op.key) | {"b_run": self._run_number} for op in self._operations.get(UseResource, [])
        ]
        _many(connection, queries.USE_RESOURCE, used)
        moved = [
            self._where(op.key) | {"b_moved_from": rows.moved_from_column(op.urls)}
            for op in self._operations.get(MovedFrom, [])
        ]
        _many(connection, queries.MOVED_FROM, moved)
        failed = [rows.error_row(op) | mine for op in self._operations.get(PageError, [])]
        _many(connection, insert(error), failed)
        filtered_urls = [rows.filtered_row(op) | mine for op in self._operations.get(FilteredUrl, [])]
        _many(connection, insert(filtered), filtered_urls)
        this_run = (run.c.source_id == self._source_id) & (run.c.number == self._run_number)
        for operation in self._operations.get(RunUpdate, []):
            connection.execute(update(run).where(this_run).values(operation.values))

    def _where(self, key: bytes) -> rows.Row:
        return {"b_source_id": self._source_id, "b_key": key}

    def _pages(self, connection: Connection, keys: list[bytes]) -> Pages:
        """The stored pages among `keys`."""
        found = connection.execute(queries.KNOWN_PAGES, {"b_source_id": self._source_id, "b_keys": keys})
        return {bytes(key): (page_id, url, gone) for key, page_id, url, gone in found}


def _ids(pages: Pages, *, gone: bool) -> dict[bytes, int]:
    """Row ids by key, of the tombstones or of the others."""
    return {key: page_id for key, (page_id, _, is_gone) in pages.items() if is_gone == gone}


def _same(seq: int) -> int:
    return seq


def _many(connection: Connection, statement: Any, parameters: Iterable[rows.Row]) -> None:
    if parameters := list(parameters):
        connection.execute(statement, parameters)
