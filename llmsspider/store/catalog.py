"""All sources of a data directory or a database: listing, deleting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, delete, select

from llmsspider.errors import StoreError
from llmsspider.store import rows, runs
from llmsspider.store.database import Database, open_postgresql, open_sqlite
from llmsspider.store.location import resolve_data_dir, source_file, source_files
from llmsspider.store.migrations import migrate
from llmsspider.store.opening import unknown_source
from llmsspider.store.records import SourceRecord
from llmsspider.store.schema import alias, change, error, filtered, page, resource, run, source


def survey(url: str | None, data_dir: Path | None) -> tuple[list[SourceRecord], list[str]]:
    """Every source with status and number of pages, by name; and a line for each file that cannot be read.

    Raises `StoreError` when the PostgreSQL of `url` cannot be read.
    """
    if url:
        with _opened(open_postgresql(url)) as database:
            return list(_sources(database)), []
    found: list[SourceRecord] = []
    problems: list[str] = []
    for path in source_files(resolve_data_dir(data_dir)):
        try:
            with _opened(open_sqlite(path)) as database:
                found.extend(_sources(database))
        except StoreError as fault:
            problems.append(str(fault))
    return sorted(found, key=lambda record: record.name), problems


def delete_source(url: str | None, data_dir: Path | None, name: str) -> None:
    """Delete a source with everything stored of it, for `Store.delete`, which has made sure that it may go."""
    if url:
        with _opened(open_postgresql(url)) as database:
            _delete_rows(database, name)
        return
    path = source_file(resolve_data_dir(data_dir), name)
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"page store {file}: cannot be deleted: {error.strerror}") from error


@contextmanager
def _opened(database: Database) -> Iterator[Database]:
    try:
        migrate(database)
        yield database
    finally:
        database.engine.dispose()


def _sources(database: Database) -> Iterator[SourceRecord]:
    with database.snapshot() as connection:
        for row in connection.execute(select(source).order_by(source.c.name)).mappings().all():
            record = rows.source_record(dict(row))
            record.pages = runs.living_pages(connection, row["id"])
            known = runs.all_runs(connection, row["id"], record.name)
            record.status = runs.status(known, record.pages)
            record.undelivered_since = runs.undelivered_since(known, row["last_seq"])
            yield record


def _delete_rows(database: Database, name: str) -> None:
    def delete_all(connection: Connection) -> None:
        source_id = connection.execute(select(source.c.id).where(source.c.name == name)).scalar()
        if source_id is None:
            raise unknown_source(name)
        for table in (error, filtered, resource, alias, change, page, run):
            connection.execute(delete(table).where(table.c.source_id == source_id))
        connection.execute(delete(source).where(source.c.id == source_id))

    database.write(delete_all)
