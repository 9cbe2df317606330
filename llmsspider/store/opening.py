"""Opening the database of one source, by name."""

from __future__ import annotations

from pathlib import Path

from llmsspider.errors import UnknownSourceError
from llmsspider.program import command
from llmsspider.store.database import Database, open_postgresql, open_sqlite
from llmsspider.store.location import resolve_data_dir, source_file
from llmsspider.store.migrations import migrate


def open_database(url: str | None, data_dir: Path | None, source_name: str, *, create: bool) -> Database:
    """The migrated database of a source, for `Store.open`."""
    if url:
        database = open_postgresql(url)
    else:
        path = source_file(resolve_data_dir(data_dir), source_name)
        if not create and not path.exists():
            raise unknown_source(source_name)
        database = open_sqlite(path)
    try:
        migrate(database)
    except BaseException:
        database.engine.dispose()
        raise
    return database


def unknown_source(name: str) -> UnknownSourceError:
    """The error for a source nobody has crawled."""
    return UnknownSourceError(f"source {name!r} is not known; `{command('sources')}` lists those that are")
