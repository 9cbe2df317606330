"""Reading many pages with flat memory, and the details of a run."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection, select

from llmsspider.store import history, rows, statements
from llmsspider.store.history import PageHistory
from llmsspider.store.records import WHOLE, FilteredUrl, PageError, PageRecord, Parts, StoredPage
from llmsspider.store.schema import error, filtered, page

Order = Literal["found", "depth", "url"]
"""`found`: as first saved; `depth`: breadth-first, then as first saved; `url`: by URL."""

CHUNK = 200
"""Pages held in memory at a time."""
HISTORY_CHUNK = 20
"""Pages held in memory at a time with their earlier contents."""

_ORDERS = {"found": (page.c.id,), "depth": (page.c.depth, page.c.id), "url": (page.c.url, page.c.id)}


def living_pages(connection: Connection, source_id: int, order: Order, parts: Parts) -> Iterator[StoredPage]:
    """Every page that is not a tombstone, in the order asked, with the parts asked for."""
    ordered = (
        select(page.c.id)
        .where(page.c.source_id == source_id, page.c.gone.is_(False))
        .order_by(*_ORDERS[order])
    )
    ids = array("q", connection.execute(ordered).scalars())
    for row in _by_id(connection, source_id, ids, parts):
        yield rows.stored_page(row)


def replay(connection: Connection, source_id: int, since: int) -> Iterator[StoredPage]:
    """Every page changed after `since`, by its last change; `change` is the net of all since then."""
    ids, firsts = array("q"), bytearray()
    for page_id, first in connection.execute(statements.first_change_after(source_id, since)):
        ids.append(page_id)
        firsts.append(first == "new")
    for row, was_new in zip(_by_id(connection, source_id, ids, WHOLE), firsts, strict=True):
        kind = "deleted" if row["gone"] else "new" if was_new else "changed"
        yield rows.stored_page({**row, "replayed": kind})


def replay_with_history(connection: Connection, source_id: int, since: int) -> Iterator[PageHistory]:
    """The pages of `replay`, each with its earlier contents."""
    changed = connection.execute(statements.first_change_after(source_id, since)).all()
    for start in range(0, len(changed), HISTORY_CHUNK):
        portion = changed[start : start + HISTORY_CHUNK]
        ids = [page_id for page_id, _ in portion]
        versions = history.of_pages(connection, ids)
        for row, (page_id, first) in zip(_by_id(connection, source_id, ids, WHOLE), portion, strict=True):
            was_new = first == "new"
            kind = "deleted" if row["gone"] else "new" if was_new else "changed"
            yield PageHistory(rows.stored_page({**row, "replayed": kind}), was_new, versions.get(page_id, ()))


def pages_of(
    read: Callable[..., Any], source_id: int, keys: Iterable[bytes], parts: Parts
) -> Iterator[PageRecord | None]:
    """The living pages of the keys, in their order; None for one that is not there."""
    remaining = iter(keys)
    while chunk := list(islice(remaining, CHUNK)):
        found = read(statements.pages_by_key(parts), {"b_source_id": source_id, "b_keys": chunk}).mappings()
        records = {bytes(row["key"]): rows.page_record(dict(row)) for row in found}
        for key in chunk:
            yield records.get(key)


def errors(read: Callable[[Any], Any], source_id: int, run_number: int) -> list[PageError]:
    """The page errors of a run kept by name, oldest first."""
    columns = (error.c.url, error.c.kind, error.c.message, error.c.status)
    found = read(
        select(*columns).where(error.c.source_id == source_id, error.c.run == run_number).order_by(error.c.id)
    )
    return [PageError(*row) for row in found]


def filtered_urls(read: Callable[[Any], Any], source_id: int, run_number: int) -> list[FilteredUrl]:
    """The URLs a run left out that are kept by name, oldest first."""
    columns = (filtered.c.url, filtered.c.reason, filtered.c.rule)
    mine = (filtered.c.source_id == source_id, filtered.c.run == run_number)
    return [FilteredUrl(*row) for row in read(select(*columns).where(*mine).order_by(filtered.c.id))]


def _by_id(
    connection: Connection, source_id: int, ids: Sequence[int], parts: Parts
) -> Iterator[dict[str, Any]]:
    remaining = iter(ids)
    while chunk := list(islice(remaining, CHUNK)):
        rows_found = connection.execute(
            statements.pages_by_id(parts), {"b_source_id": source_id, "b_ids": chunk}
        )
        found = {row["id"]: dict(row) for row in rows_found.mappings()}
        for page_id in chunk:
            yield found[page_id]
