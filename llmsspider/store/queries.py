"""The SQL of the page store, built once and run many times, and reading pages with flat memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection, Executable, Select, Table, bindparam, case, delete, insert, select, update

from llmsspider.errors import StoreError
from llmsspider.store import history, rows
from llmsspider.store.database import Database
from llmsspider.store.history import PageHistory
from llmsspider.store.records import WHOLE, FilteredUrl, PageError, PageRecord, Parts, StoredPage
from llmsspider.store.rows import Row
from llmsspider.store.schema import alias, change, content, error, filtered, link, page, resource, run, source

# The SQL of the page store, for SQLite and PostgreSQL, built once and run many times.
# Parameters that would clash with a column of the same name begin with `b_`.

STATE = (
    page.c.key,
    page.c.url,
    page.c.fetched_url,
    page.c.validators_url,
    page.c.accept,
    page.c.etag,
    page.c.last_modified,
    page.c.raw_hash,
    page.c.content_hash,
    page.c.extractor_version,
    page.c.origin,
    page.c.depth,
    page.c.has_end_tag,
    page.c.source_hash,
)
"""The columns of `rows.page_state`, in its order."""

_COLUMNS = {column.name for column in page.c}
_FIXED = {"id", "source_id", "key"}
_CHANGE = {"seq", "change", "reason", "run"}

_LATER_RUN = case((page.c.reached < bindparam("b_reached"), bindparam("b_reached")), else_=page.c.reached)
"""`reached` after a run reached the page: never set back by an earlier run going beside it."""


_THIS_PAGE = (page.c.source_id == bindparam("b_source_id"), page.c.key == bindparam("b_key"))
_LIVING = update(page).where(*_THIS_PAGE, page.c.gone.is_(False))

RESAVE = _LIVING.values(
    {
        **{name: bindparam(f"b_{name}") for name in _COLUMNS - _FIXED - _CHANGE},
        "reached": _LATER_RUN,
    }
)
"""Replaces a page that counts as unchanged."""

TOUCH = _LIVING.values(
    depth=bindparam("b_depth"),
    discovered_by=bindparam("b_discovered_by"),
    llms=bindparam("b_llms"),
    status=bindparam("b_status"),
    fetched_at=bindparam("b_fetched_at"),
    reached=_LATER_RUN,
)
"""Notes what a run learned about an unchanged page."""

TOUCH_VALIDATORS = TOUCH.values(
    etag=bindparam("b_etag"),
    last_modified=bindparam("b_last_modified"),
    validators_url=bindparam("b_validators_url"),
    accept=bindparam("b_accept"),
)
"""The same, with its validators."""

DELETE_PAGE = (
    update(page)
    .where(*_THIS_PAGE)
    .values(
        gone=True,
        seq=bindparam("b_seq"),
        change="deleted",
        reason=bindparam("b_reason"),
        run=bindparam("b_run"),
        extra=None,
    )
)
"""Makes a page a tombstone."""


@dataclass(frozen=True)
class Upserts:
    """The statements of a batch that differ by dialect: each inserts a row, or replaces the one of the same key."""

    page: Any
    content: Any
    links: Any
    alias: Any
    resource: Any


def _insert(is_sqlite: bool) -> Any:
    """Return the dialect's `insert`. Loading the other dialect would be a twentieth of a crawl's start."""
    if is_sqlite:
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415

        return sqlite.insert
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415

    return postgresql.insert


def upserts(is_sqlite: bool) -> Upserts:
    """The statements in the dialect of the database."""

    def upsert(table: Table, key: Sequence[str], columns: Iterable[str]) -> Any:
        made = _insert(is_sqlite)(table)
        replaced = {name: made.excluded[name] for name in columns}
        if table is page:  # as `_LATER_RUN`
            later = page.c.reached > made.excluded.reached
            replaced["reached"] = case((later, page.c.reached), else_=made.excluded.reached)
        return made.on_conflict_do_update(index_elements=key, set_=replaced)

    of_source = ("source_id", "key")
    return Upserts(
        page=upsert(page, of_source, _COLUMNS - _FIXED),
        content=upsert(content, ["page_id"], ["data"]),
        links=upsert(link, ["page_id"], ["links", "follow"]),
        alias=upsert(alias, of_source, ["target", "url"]),
        resource=upsert(
            resource, of_source, [column.name for column in resource.c if not column.primary_key]
        ),
    )


def upsert_source(is_sqlite: bool, values: Mapping[str, Any]) -> Any:
    """Insert a source, or set `values` where one of its name is there (another process may be first)."""
    made = _insert(is_sqlite)(source)
    return made.on_conflict_do_update(index_elements=["name"], set_=dict(values))


LIVING_STATES = select(*STATE).where(page.c.source_id == bindparam("b_source_id"), page.c.gone.is_(False))
"""The state of every living page of a source."""

OUTLINES = select(page.c.key, page.c.title, page.c.description, page.c.llms).where(
    page.c.source_id == bindparam("b_source_id"), page.c.gone.is_(False)
)
"""The outline of every living page of a source."""

LAST_ENDED_RUN = (
    select(run.c.id)
    .where(run.c.source_id == bindparam("b_source_id"), run.c.finished_at.is_not(None))
    .order_by(run.c.number.desc())
    .limit(1)
)
"""The id of the last run of a source that has ended."""


def _pages(parts: Parts) -> Select[Any]:
    """Pages of a source with the id of the run that changed them last, and the given parts."""
    columns: list[Any] = [*page.c, run.c.id.label("run_id")]
    joined: Any = page.outerjoin(run, (run.c.source_id == page.c.source_id) & (run.c.number == page.c.run))
    if "content" in parts:
        columns.append(content.c.data)
        joined = joined.outerjoin(content, content.c.page_id == page.c.id)
    if "links" in parts:
        columns += [link.c.links, link.c.follow]
        joined = joined.outerjoin(link, link.c.page_id == page.c.id)
    return select(*columns).select_from(joined).where(page.c.source_id == bindparam("b_source_id"))


ONE_PAGE = _pages(WHOLE).where(page.c.key == bindparam("b_key"), page.c.gone.is_(False))
"""A living page by its key. Built once: building it took eight times as long as running it."""


@cache
def pages_by_id(parts: Parts) -> Select[Any]:
    """Pages by their row ids."""
    return _pages(parts).where(page.c.id.in_(bindparam("b_ids", expanding=True)))


@cache
def pages_by_key(parts: Parts) -> Select[Any]:
    """Living pages by their keys."""
    return _pages(parts).where(page.c.key.in_(bindparam("b_keys", expanding=True)), page.c.gone.is_(False))


LINKS_BY_KEY = (
    select(page.c.key, link.c.links)
    .join_from(page, link, link.c.page_id == page.c.id)
    .where(
        page.c.source_id == bindparam("b_source_id"),
        page.c.key.in_(bindparam("b_keys", expanding=True)),
        page.c.gone.is_(False),
    )
)
"""The links of living pages by their keys."""


KNOWN_PAGES = select(page.c.key, page.c.id, page.c.url, page.c.gone).where(
    page.c.source_id == bindparam("b_source_id"), page.c.key.in_(bindparam("b_keys", expanding=True))
)
"""Row id, URL and "is a tombstone" of pages by their keys."""


def first_change_after(source_id: int, since: int) -> Select[Any]:
    """Row id, and kind of the first change after `since`, of each page changed since; by last change."""
    first = (
        select(change.c.change)
        .where(change.c.page_id == page.c.id, change.c.seq > since)
        .order_by(change.c.seq)
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(page.c.id, first.label("first"))
        .where(page.c.source_id == source_id, page.c.seq > since)
        .order_by(page.c.seq)
    )


_THIS_SOURCE = source.c.id == bindparam("b_source_id")

LOCKED_SOURCE = select(source.c.next_seq, source.c.last_seq).where(_THIS_SOURCE).with_for_update()
"""`next_seq` and `last_seq`, with the row locked where the database locks rows."""

ADVANCE_SOURCE = (
    update(source)
    .where(_THIS_SOURCE)
    .values(next_seq=bindparam("b_next_seq"), last_seq=bindparam("b_last_seq"))
)
"""Sets both; the row is locked."""


_THIS_RESOURCE = (resource.c.source_id == bindparam("b_source_id"), resource.c.key == bindparam("b_key"))

RESOURCE = select(resource).where(*_THIS_RESOURCE)
"""A resource by its key."""

RESOURCE_VALIDATORS = select(*(column for column in resource.c if column is not resource.c.data)).where(
    *_THIS_RESOURCE
)
"""The same without its body."""

USE_RESOURCE = update(resource).where(*_THIS_RESOURCE).values(run=bindparam("b_run"))
MOVED_FROM = update(page).where(*_THIS_PAGE).values(moved_from=bindparam("b_moved_from"))
"""Sets the former addresses of a page."""
INSERT_CHANGE = insert(change)
DELETE_CONTENT = delete(content).where(content.c.page_id == bindparam("b_page_id"))
DELETE_LINKS = delete(link).where(link.c.page_id == bindparam("b_page_id"))


# --- reading many pages with flat memory, and the details of a run ---

Order = Literal["found", "depth", "url"]
"""`found`: as first saved; `depth`: breadth-first, then as first saved; `url`: by URL."""

CHUNK = 200
"""Pages held in memory at a time."""
HISTORY_CHUNK = 20
"""Pages held in memory at a time with their earlier contents."""

_ORDERS = {"found": (page.c.id,), "depth": (page.c.depth, page.c.id), "url": (page.c.url, page.c.id)}


def living_pages(connection: Connection, source_id: int, order: Order, parts: Parts) -> Iterator[StoredPage]:
    """Every page that is not a tombstone, in the given order, with the given parts."""
    ordered = (
        select(page.c.id)
        .where(page.c.source_id == source_id, page.c.gone.is_(False))
        .order_by(*_ORDERS[order])
    )
    ids = array("q", connection.execute(ordered).scalars())
    for row in _by_id(connection, source_id, ids, parts):
        yield rows.stored_page(row)


def replay(connection: Connection, source_id: int, since: int, parts: Parts = WHOLE) -> Iterator[StoredPage]:
    """Every page changed after `since`, by its last change; `change` is the net of all since then."""
    ids, firsts = array("q"), bytearray()
    for page_id, first in connection.execute(first_change_after(source_id, since)):
        ids.append(page_id)
        firsts.append(first == "new")
    for row, was_new in zip(_by_id(connection, source_id, ids, parts), firsts, strict=True):
        kind = "deleted" if row["gone"] else "new" if was_new else "changed"
        yield rows.stored_page({**row, "replayed": kind})


def replay_with_history(connection: Connection, source_id: int, since: int) -> Iterator[PageHistory]:
    """The pages of `replay`, each with its earlier contents."""
    changed = connection.execute(first_change_after(source_id, since)).all()
    for start in range(0, len(changed), HISTORY_CHUNK):
        portion = changed[start : start + HISTORY_CHUNK]
        ids = [page_id for page_id, _ in portion]
        versions = history.of_pages(connection, ids)
        for row, (page_id, first) in zip(_by_id(connection, source_id, ids, WHOLE), portion, strict=True):
            was_new = first == "new"
            kind = "deleted" if row["gone"] else "new" if was_new else "changed"
            yield PageHistory(rows.stored_page({**row, "replayed": kind}), was_new, versions.get(page_id, ()))


def pages_of(
    read: Callable[..., Any], source_id: int, keys: Sequence[bytes], parts: Parts
) -> Iterator[PageRecord | None]:
    """The living pages of the keys, in their order; None for one that is not there."""
    found = read(pages_by_key(parts), {"b_source_id": source_id, "b_keys": keys}).mappings()
    records = {bytes(row["key"]): rows.page_record(dict(row)) for row in found}
    return map(records.get, keys)


def errors(read: Callable[[Any], Any], source_id: int, run_number: int) -> list[PageError]:
    """The page errors of a run kept by name, oldest first."""
    columns = (error.c.url, error.c.kind, error.c.message, error.c.status)
    found = read(
        select(*columns).where(error.c.source_id == source_id, error.c.run == run_number).order_by(error.c.id)
    )
    return [PageError(*row) for row in found]


def filtered_urls(read: Callable[[Any], Any], source_id: int, run_number: int) -> list[FilteredUrl]:
    """The filtered URLs of a run that are stored, oldest first."""
    columns = (filtered.c.url, filtered.c.reason, filtered.c.rule)
    mine = (filtered.c.source_id == source_id, filtered.c.run == run_number)
    return [FilteredUrl(*row) for row in read(select(*columns).where(*mine).order_by(filtered.c.id))]


def _by_id(
    connection: Connection, source_id: int, ids: Sequence[int], parts: Parts
) -> Iterator[dict[str, Any]]:
    remaining = iter(ids)
    while chunk := list(islice(remaining, CHUNK)):
        rows_found = connection.execute(pages_by_id(parts), {"b_source_id": source_id, "b_ids": chunk})
        found = {row["id"]: dict(row) for row in rows_found.mappings()}
        for page_id in chunk:
            yield found[page_id]


# --- the connection that single pages and numbers are read on ---


class Reader:
    """One connection, open until it is closed; each statement sees the latest commit."""

    def __init__(self, database: Database):
        self._database = database
        self._connection: Connection | None = database.reader()

    @property
    def closed(self) -> bool:
        """True once `close` was called."""
        return self._connection is None

    def read(self, statement: Executable, parameters: Row | None = None) -> Any:
        """Run a SELECT with retries, on a new connection if the server closed this one."""

        def attempt() -> Any:
            connection = self._open()
            if connection.invalidated:
                self._connection = self._database.reader()
                connection.close()
                connection = self._connection
            return connection.execute(statement, parameters)

        return self._database.with_retry(attempt)

    def check(self) -> None:
        """Raise `StoreError` when it is closed."""
        self._open()

    def _open(self) -> Connection:
        if self._connection is None:
            raise StoreError(f"page store {self._database.label} is closed")
        return self._connection

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
