"""Reads of one source: its pages, readings, changes, runs and history, with flat memory."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any, Literal, get_args

from sqlalchemy import (
    Connection,
    LargeBinary,
    Select,
    and_,
    bindparam,
    case,
    func,
    select,
    type_coerce,
)

from llmsspider.errors import StoreError
from llmsspider.items import Change, ChangeKind, Link, LlmsEntry, decompress
from llmsspider.store import runs
from llmsspider.store.database import Database, batches
from llmsspider.store.records import (
    ASSET,
    PAGE_COLUMNS,
    WHOLE,
    FilteredUrl,
    PageError,
    PageHistory,
    PageRecord,
    PageState,
    Parts,
    Reading,
    RunRecord,
    SourceRecord,
    StoredPage,
    Version,
    unpacked,
)
from llmsspider.store.schema import (
    alias,
    change,
    content,
    error,
    filtered,
    link,
    memory,
    page,
    run_table,
    source,
    version,
)
from llmsspider.web.urls import ANCHOR_ROUTE, page_key

Order = Literal["found", "depth", "url"]
"""`found`: as first saved; `depth`: breadth-first, then as first saved; `url`: by URL."""

_ORDERS = {
    "found": (page.c.id,),
    "depth": (page.c.depth, page.c.id),
    "url": (page.c.url, page.c.id),
}

CHUNK = 200
HISTORY_CHUNK = 20
"""Pages held in memory at a time, without and with their earlier contents."""

# Statements, built once and run many times. Parameters that would clash with a column of the same
# name begin with `b_`.

_STATE = [one.name for one in fields(PageState)]
_REQUESTED = case((page.c.identity.endswith(ANCHOR_ROUTE), page.c.identity), else_=page.c.url)
STATE: list[Any] = [
    type_coerce(page.c[one], LargeBinary) if one.endswith("_hash") else page.c[one]
    for one in _STATE
]
STATE[_STATE.index("url")] = _REQUESTED

_MINE = page.c.source_id == bindparam("b_source_id")
_DOCUMENT = (_MINE, page.c.gone.is_(False))
_BY_KEYS = page.c.key.in_(bindparam("b_keys", expanding=True))


@cache
def _pages(parts: Parts) -> Select[Any]:
    """Pages of a source with the id of the run that changed them last, and the given parts."""
    columns: list[Any] = [*page.c, run_table.c.id.label("run_id")]
    joined: Any = page.outerjoin(
        run_table, (run_table.c.source_id == page.c.source_id) & (run_table.c.number == page.c.run)
    )
    if "content" in parts:
        columns.append(content.c.data)
        joined = joined.outerjoin(content, content.c.page_id == page.c.id)
    if "links" in parts:
        columns += [
            type_coerce(one, LargeBinary).label(one.name)
            for one in (link.c.links, link.c.follow, link.c.headings)
        ]
        joined = joined.outerjoin(link, link.c.page_id == page.c.id)
    return select(*columns).select_from(joined).where(_MINE)


ONE_PAGE = _pages(WHOLE).where(page.c.key == bindparam("b_key"), page.c.gone.is_(False))
"""A document by its key. Built once: building it took eight times as long as running it."""

_READING = select(
    page.c.url,
    page.c.accept,
    page.c.etag,
    page.c.last_modified,
    page.c.headers,
    page.c.extractor_version.label("read_by"),
    page.c.reason.label("why"),
    page.c.raw_hash,
).where(_MINE, page.c.seq == 0)
VALIDATORS = _READING.where(page.c.key == bindparam("b_key"))
READING = VALIDATORS.add_columns(content.c.data).join_from(page, content)
"""What is no document, by its key; without and with its body."""


def page_record(row: Mapping[str, Any]) -> PageRecord:
    """The record of a row of `page` joined with `content` and `link` (either may be missing)."""
    values = {name: row[name] for name in PAGE_COLUMNS if row[name] is not None}
    values.setdefault("fetched_url", row["url"])
    values.setdefault("validators_url", values["fetched_url"])
    values.setdefault("source_hash", row["content_hash"])
    if row["llms"]:
        values["llms"] = LlmsEntry(**row["llms"])
    data = row.get("data")
    return PageRecord(
        **values,
        id=row["document_id"],
        content=None if data is None else decompress(data).decode("utf-8"),
        links=[Link(text, url) for text, url in unpacked(row.get("links")) or ()],
        follow=unpacked(row.get("follow")) or [],
        heading_ids=[(text, own_id) for text, own_id in unpacked(row.get("headings")) or ()],
    )


def _stored(row: Any, change: Any) -> StoredPage:
    """The record of a row that also has `run_id`, and what happened to the page."""
    record = page_record(row)
    reason = row["reason"]
    if change == "changed" and reason:
        record.change_kinds = reason.split(",")
    return StoredPage(
        record, row["seq"], change, row["run_id"] or "", reason if row["gone"] else None
    )


def _replayed(row: Any, was_new: int, kinds: Collection[ChangeKind]) -> StoredPage:
    found = _stored(row, "deleted" if row["gone"] else "new" if was_new else "changed")
    found.record.change_kinds = [
        kind for kind in get_args(ChangeKind) if kind in kinds and found.change == "changed"
    ]
    return found


def _state(row: Any) -> PageState:
    values = dict(zip(_STATE, row, strict=True))
    values["fetched_url"] = values["fetched_url"] or values["url"]
    values["validators_url"] = values["validators_url"] or values["fetched_url"]
    values["has_end_tag"] = bool(values["has_end_tag"])
    for name in (
        "accept",
        "last_modified",
        "extractor_version",
        "origin",
    ):  # few values, shared by all pages
        values[name] = values[name] and sys.intern(values[name])
    return PageState(**values)


class SourceReader:
    """What is stored of one source, by the keys of `urls.page_key`; lists are streamed from one
    snapshot.

    Any method raises `StoreError` when the database fails.
    """

    def __init__(self, database: Database, source_name: str):
        self._database = database
        self._name = source_name
        self._source_id: int | None = None
        self._source: SourceRecord | None = None
        # of single reads: each statement sees the latest commit
        self._connection: Connection | None = None
        try:
            self._connection = database.reader()
            # in one statement: another process may be writing it at this moment
            every = select(source)
            wanted = every if database.is_sqlite else every.where(source.c.name == source_name)
            found = {row["name"]: row for row in self._read(wanted).mappings()}
            if source_name in found:
                row = found[source_name]
                self._source_id = row["id"]
                self._source = runs.source_record(row)
            elif found:
                raise StoreError(
                    f"page store {database.label} belongs to the source {next(iter(found))!r}"
                )
        except BaseException:
            if self._connection is not None:
                self._connection.close()
            database.engine.dispose()
            raise

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        self._opened()

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Commit what was written, and see one moment of the database."""
        self.flush()
        with self._database.snapshot() as connection:
            yield connection

    def _opened(self) -> Connection:
        if self._connection is None:
            raise StoreError(f"page store {self._database.label} is closed")
        return self._connection

    # The source and its runs

    def source_record(self) -> SourceRecord | None:
        """The source as last read or written here (its status not filled); None before the first
        write.
        """
        return self._source

    def memory(self) -> dict[str, Any]:
        """What earlier runs learned of the source, by name."""
        mine = memory.c.source_id == self._source_id
        return dict(map(tuple, self._read(select(memory.c.name, memory.c.value).where(mine))))

    def runs(self) -> list[RunRecord]:
        """Every run of the source, oldest first."""
        if self._source_id is None:
            return []
        with self._snapshot() as connection:
            return runs.all_runs(connection, self._source_id, self._name)

    def undelivered_since(self) -> int | None:
        """The number to replay from, so that what was stored and not handed over is; None when
        nothing is.
        """
        return runs.undelivered_since(self.runs(), self.last_seq())

    # Pages

    def page_states(self, wanted: Callable[[str], bool] | None = None) -> dict[bytes, PageState]:
        """The state of every document by key, or of those whose URL is `wanted`; 0.8 KB of memory
        each.
        """
        return {state.key: state for state in self._states() if wanted is None or wanted(state.url)}

    def aliases(self) -> dict[bytes, bytes]:
        """Keys of joined spellings, each with the key of its page."""
        statement = select(alias.c.key, alias.c.target).where(alias.c.source_id == self._source_id)
        return dict(map(tuple, self._read(statement)))

    def load_page(self, key: bytes) -> PageRecord | None:
        """A document with content and links, or None. Sees what this run has saved."""
        self._flush_pages((key,))
        row = self._read(ONE_PAGE, b_key=key).mappings().first()
        return None if row is None else page_record(row)

    def title(self, key: bytes) -> str | None:
        """The title of a page, as stored before this run."""
        title: str | None = self._read(
            select(page.c.title).where(_MINE, page.c.key == key)
        ).scalar()
        return title

    def page_by_url(self, url: str) -> PageRecord | None:
        """The document a URL stands for, by its identity or as a joined spelling of another page."""
        key = page_key(url)
        route = self.load_page(page_key(url + ANCHOR_ROUTE)) if "#" in url else None
        if (record := route or self.load_page(key)) is not None:
            return record
        joined = select(alias.c.target).where(
            alias.c.source_id == self._source_id, alias.c.key == key
        )
        target = self._read(joined).scalar()
        return None if target is None else self.load_page(target)

    def count_pages(self) -> int:
        """How many documents there are."""
        self.flush()
        return int(
            self._read(select(func.count()).select_from(page).where(*_DOCUMENT)).scalar_one()
        )

    def load_pages(
        self, keys: Iterable[bytes], parts: Parts = WHOLE
    ) -> Iterator[PageRecord | None]:
        """The documents of the keys, in their order, with the given `parts`; None for one that is
        not there.

        Sees what this run has saved of a page before its portion is read.
        """
        for portion in batches(keys, CHUNK):
            self._flush_pages(portion)
            wanted = _pages(parts).where(_BY_KEYS, page.c.gone.is_(False))
            found = self._read(wanted, b_keys=portion).mappings()
            records = {row["key"]: page_record(row) for row in found}
            yield from map(records.get, portion)

    def links_of(self, keys: Sequence[bytes]) -> dict[bytes, tuple[list[list[str]], Any]]:
        """Text and URL of each link in the content of the documents among the keys, by key, and
        text and id of each heading that has one; None where they are not known.
        """
        self.flush()
        columns = (page.c.key, link.c.links, link.c.headings)
        found = select(*columns).join_from(page, link).where(*_DOCUMENT, _BY_KEYS)
        return {key: (links, headings) for key, links, headings in self._read(found, b_keys=keys)}

    def iter_pages(self, order: Order = "found", parts: Parts = WHOLE) -> Iterator[StoredPage]:
        """Every document, streamed from one snapshot, with the given `parts`."""
        ordered = select(page.c.id).where(*_DOCUMENT).order_by(*_ORDERS[order])
        with self._snapshot() as connection:
            ids = array("q", connection.execute(ordered, self._parameters()).scalars())
            yield from (_stored(row, row["change"]) for row in self._by_id(connection, ids, parts))

    def changes_since(self, seq: int, parts: Parts = WHOLE) -> Iterator[StoredPage]:
        """The latest state of every page changed after `seq`, with `parts`, in the order of
        changes, from one snapshot.

        `change` is what happened to the page since `seq`, whatever the steps between: a page that
        is new since then is `new` though it changed twice. Tombstones have no content and no links.
        """
        with self._snapshot() as connection:
            ids, was_new = self._changed(connection, seq)
            kinds = self._kinds(connection, seq)
            rows = zip(self._by_id(connection, ids, parts), was_new, strict=True)
            yield from (_replayed(row, is_new, kinds.get(row["id"], ())) for row, is_new in rows)

    def history_since(self, seq: int, until: int | None = None) -> Iterator[PageHistory]:
        """Every page changed after `seq`, as `changes_since` gives it, with its earlier contents
        that are kept; with `until`, as it was after that change, however it went on.
        """
        with self._snapshot() as connection:
            ids, was_new = self._changed(connection, seq, until)
            for start in range(0, len(ids), HISTORY_CHUNK):
                portion = ids[start : start + HISTORY_CHUNK]
                versions = _versions(connection, portion)
                last = {} if until is None else _last_changes(connection, portion, until)
                found = self._by_id(connection, portion, WHOLE)
                for row, is_new in zip(found, was_new[start:], strict=False):
                    earlier = versions.get(row["id"], ())
                    now = _replayed(row, is_new, ())
                    history = PageHistory(now, bool(is_new), earlier)
                    ended = last.get(row["id"])
                    yield history if ended is None else _as_of(history, ended)

    def versions_of(self, key: bytes) -> tuple[Version, ...]:
        """The earlier contents of one page that are kept, oldest first."""
        with self._snapshot() as connection:
            wanted = select(page.c.id).where(_MINE, page.c.key == key)
            page_id = connection.execute(wanted, self._parameters()).scalar()
            return _versions(connection, [page_id]).get(page_id, ()) if page_id is not None else ()

    def history_size(self) -> tuple[int, int]:
        """The number of earlier contents that are kept, and their size in bytes as they are stored."""
        with self._snapshot() as connection:
            size = func.coalesce(func.sum(func.length(version.c.data)), 0)
            measured = select(func.count(), size).join_from(version, page).where(_MINE)
            number, stored = connection.execute(measured, self._parameters()).one()
            return int(number), int(stored)

    def seq_at(self, moment: datetime) -> int:
        """The number of the last change that was stored at a moment; 0 when it was before the
        first.
        """
        self.flush()
        before = (change.c.source_id == self._source_id, change.c.at <= moment)
        return int(self._read(select(func.max(change.c.seq)).where(*before)).scalar() or 0)

    def last_seq(self) -> int:
        """The number of the last change stored; 0 before the first."""
        self.flush()
        return int(
            self._read(select(source.c.last_seq).where(source.c.id == self._source_id)).scalar()
            or 0
        )

    def moved_from(self) -> dict[bytes, list[str]]:
        """The former addresses of documents that have some, by key."""
        found = select(page.c.key, page.c.moved_from).where(
            *_DOCUMENT, page.c.moved_from.is_not(None)
        )
        return dict(map(tuple, self._read(found)))

    # What is no document, errors, filtered URLs

    def reading(self, key: bytes, *, with_body: bool = True) -> Reading | None:
        """What was read of a URL that is no document, without its body where only the validators
        are wanted.
        """
        statement = READING if with_body else VALIDATORS
        row = self._read(statement, b_key=key).mappings().first()
        if row is None:
            return None
        values = dict(row)
        data = values.pop("data", None)
        return Reading(**values, body=decompress(data) if data else b"")

    def assets(self) -> list[Reading]:
        """The files that are kept beside the pages, by URL, without their bodies."""
        self.flush()
        kept = (page.c.extractor_version == ASSET, page.c.raw_hash.is_not(None))
        rows = self._read(_READING.where(*kept).order_by(page.c.url)).mappings()
        return [Reading(**row) for row in rows]

    def errors(self, of: RunRecord) -> list[PageError]:
        """The page errors of a run kept by name, oldest first."""
        return self._details(error, PageError, of.number)

    def filtered(self, of: RunRecord) -> list[FilteredUrl]:
        """The URLs that a run filtered, as far as kept by name, oldest first."""
        return self._details(filtered, FilteredUrl, of.number)

    def _details(self, table: Any, kind: Any, number: int) -> list[Any]:
        self.flush()
        mine = (table.c.source_id == self._known_source(), table.c.run == number)
        columns = [table.c[one.name] for one in fields(kind)]
        return [
            kind(*row) for row in self._read(select(*columns).where(*mine).order_by(table.c.id))
        ]

    def _flush_pages(self, keys: Sequence[bytes]) -> None:
        """Commit what was written of these pages."""

    def _states(self, *conditions: Any) -> Iterator[PageState]:
        with self._snapshot() as connection:
            streaming = connection.execution_options(yield_per=1000)
            found = streaming.execute(
                select(*STATE).where(*_DOCUMENT, *conditions), self._parameters()
            )
            yield from map(_state, found)

    def _changed(
        self, connection: Connection, since: int, until: int | None = None
    ) -> tuple[array[int], bytes]:
        """Row ids of the pages changed after `since`, and not after `until` for the first time, by
        last change; 1 for each whose first change made it.
        """
        later = select(change.c.change).where(change.c.page_id == page.c.id, change.c.seq > since)
        if until is not None:
            later = later.where(change.c.seq <= until)
        first = later.order_by(change.c.seq).limit(1).scalar_subquery()
        found = select(page.c.id, first).where(_MINE, page.c.seq > since).order_by(page.c.seq)
        if until is not None:
            found = found.where(first.is_not(None))
        ids = array("q")
        was_new = bytearray()
        for page_id, kind in connection.execute(found, self._parameters()):
            ids.append(page_id)
            was_new.append(kind == "new")
        return ids, bytes(was_new)

    def _kinds(self, connection: Connection, since: int) -> dict[int, set[ChangeKind]]:
        """What changed of pages after `since`, by row id; nothing for a page with a change of which
        it is not known.
        """
        mine = (
            change.c.source_id == self._source_id,
            change.c.seq > since,
            change.c.change == "changed",
        )
        found: dict[int, set[Any]] = {}
        for page_id, kinds in connection.execute(
            select(change.c.page_id, change.c.reason).where(*mine)
        ):
            found.setdefault(page_id, set()).update((kinds or "?").split(","))
        return {page_id: kinds for page_id, kinds in found.items() if "?" not in kinds}

    def _by_id(self, connection: Connection, ids: Iterable[int], parts: Parts) -> Iterator[Any]:
        for chunk in batches(ids, CHUNK):
            wanted = _pages(parts).where(page.c.id.in_(bindparam("b_ids", expanding=True)))
            found = connection.execute(wanted, self._parameters(b_ids=chunk)).mappings()
            by_id = {row["id"]: row for row in found}
            yield from map(by_id.__getitem__, chunk)

    def _parameters(self, **more: Any) -> dict[str, Any]:
        return {"b_source_id": self._source_id or 0, **more}

    def _read(self, statement: Select[Any], **parameters: Any) -> Any:
        """Run a SELECT with retries, on a new connection if the server closed this one."""

        def attempt() -> Any:
            connection = self._opened()
            if connection.invalidated:
                self._connection = self._database.reader()
                connection.close()
            found = self._opened().execute(statement, self._parameters(**parameters))
            return found.freeze()()  # read here, where what is damaged is a `StoreError`

        return self._database.with_retry(attempt)

    def _known_source(self) -> int:
        if self._source_id is None:
            raise StoreError(
                f"page store: {self._name!r} is not stored yet; call upsert_source first"
            )
        return self._source_id


_RUN_OF_CHANGE = and_(
    change.c.source_id == run_table.c.source_id, change.c.run == run_table.c.number
)


def _last_changes(connection: Connection, page_ids: Sequence[int], until: int) -> dict[int, Any]:
    """The last change of pages that is not after `until`, by their row ids."""
    wanted = (
        select(change.c.page_id, change.c.seq, change.c.change, change.c.reason, run_table.c.id)
        .join_from(change, run_table, _RUN_OF_CHANGE)
        .where(change.c.page_id.in_(page_ids), change.c.seq <= until)
        .order_by(change.c.seq)
    )
    return {row.page_id: row for row in connection.execute(wanted)}


def _as_of(history: PageHistory, ended: Any) -> PageHistory:
    """Return the history of a page up to a change: what it was then, as far as that is kept."""
    now = history.now
    if now.seq <= ended.seq:
        return history
    earlier = tuple(one for one in history.versions if one.seq <= ended.seq)
    was_new = history.was_new and ended.change != "deleted"
    kind: Change = "new" if was_new else ended.change
    text = earlier[-1] if earlier and ended.change != "deleted" else None
    record = replace(now.record, content=None)
    if text is not None:
        record = replace(
            record, content=text.content, content_hash=text.content_hash, title=text.title
        )
    stored = StoredPage(record, ended.seq, kind, ended.id, ended.reason)
    return PageHistory(stored, history.was_new, earlier[:-1] if text is not None else earlier)


def _versions(connection: Connection, page_ids: Sequence[int]) -> dict[int, tuple[Version, ...]]:
    """The earlier contents of pages by their row ids, oldest first."""
    wanted = (
        select(version)
        .where(version.c.page_id.in_(page_ids))
        .order_by(version.c.page_id, version.c.seq)
    )
    names = ("seq", "run", "title", "content_hash", "extractor_version")
    return {
        page_id: tuple(
            Version(
                **{name: row[name] for name in names},
                content=decompress(row["data"]).decode("utf-8"),
            )
            for row in rows
        )
        for page_id, rows in groupby(
            connection.execute(wanted).mappings(), lambda row: row["page_id"]
        )
    }
