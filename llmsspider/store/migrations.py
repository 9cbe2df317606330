"""Bringing a database to the schema of this version, in one transaction, and never past it.

A new database gets the tables as they are now. An older one is taken forward step by step; a newer one, a
foreign or a damaged one is refused and left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, func, insert, inspect, select, text, update
from sqlalchemy.schema import CreateSchema

from llmsspider.errors import StoreError
from llmsspider.store import schema
from llmsspider.store.database import POSTGRESQL_SCHEMA, Database

Step = Callable[[Connection], None]


def _add_resources(connection: Connection) -> None:
    """Version 2: the answers that discovery and link sources had, to be revalidated."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.execute(
        text(
            "CREATE TABLE resource ("
            "source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE, "
            f"key {binary} NOT NULL, url TEXT NOT NULL, accept TEXT, etag TEXT, last_modified TEXT, "
            f"headers TEXT NOT NULL, run INTEGER NOT NULL, data {binary} NOT NULL, "
            "PRIMARY KEY (source_id, key))"
        )
    )


def _add_moved_from(connection: Connection) -> None:
    """Version 3: the former addresses of pages that moved."""
    connection.execute(text("ALTER TABLE page ADD COLUMN moved_from TEXT"))


def _add_has_end_tag(connection: Connection) -> None:
    """Version 4: whether the HTML of a page had its end tag."""
    connection.execute(text("ALTER TABLE page ADD COLUMN has_end_tag BOOLEAN"))


def _add_versions(connection: Connection) -> None:
    """Version 5: the earlier contents of changed pages."""
    is_sqlite = connection.dialect.name == "sqlite"
    row_id, binary, number, big = (
        ("INTEGER", "BLOB", "FLOAT", "BIGINT") if is_sqlite else ("BIGINT", "BYTEA", "FLOAT", "BIGINT")
    )
    connection.execute(
        text(
            "CREATE TABLE version ("
            f"page_id {row_id} NOT NULL REFERENCES page (id) ON DELETE CASCADE, seq {big} NOT NULL, "
            f"run INTEGER NOT NULL, title TEXT, content_hash {binary}, extractor_version TEXT NOT NULL, "
            f"replaced_at {number} NOT NULL, data {binary} NOT NULL, PRIMARY KEY (page_id, seq))"
        )
    )


STEPS: tuple[Step, ...] = (_add_resources, _add_moved_from, _add_has_end_tag, _add_versions)
"""`STEPS[n]` takes version n+1 to n+2. A step is never edited once released, and says its own DDL: the tables
of `schema` may have moved on. In it, unqualified names are the store's tables on both databases."""

_LOCK = 0x6C6C6D73
"""Key of the PostgreSQL advisory lock that keeps two processes from migrating at once."""


def migrate(database: Database, steps: Sequence[Step] = STEPS) -> None:
    """Create the tables, or take them to version `len(steps) + 1`.

    Raises `StoreError` for a database that is newer, is not ours, or cannot be read.
    """
    wanted = len(steps) + 1
    with database.faults():
        with database.engine.connect() as connection:
            if _version(connection, database) == wanted:
                return
        with database.writing() as connection:
            _take_forward(connection, database, steps, wanted)


def _take_forward(connection: Connection, database: Database, steps: Sequence[Step], wanted: int) -> None:
    if not database.is_sqlite:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        connection.execute(text(f"SET LOCAL search_path TO {POSTGRESQL_SCHEMA}"))
    found = _version(connection, database)
    if found > wanted:
        raise StoreError(
            f"page store {database.label} has version {found}, this llmsspider knows {wanted}: "
            "upgrade llmsspider, or choose another LLMS_DATA_DIR or LLMS_STORE_URL"
        )
    if found == 0:
        _create(connection, database, wanted)
        return
    for step in steps[found - 1 :]:
        step(connection)
    connection.execute(update(schema.meta).where(schema.meta.c.key == "version").values(value=str(wanted)))


def _create(connection: Connection, database: Database, version: int) -> None:
    if not database.is_sqlite and not inspect(connection).has_schema(POSTGRESQL_SCHEMA):
        connection.execute(CreateSchema(POSTGRESQL_SCHEMA))
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(schema.meta), {"key": "version", "value": str(version)})


def _version(connection: Connection, database: Database) -> int:
    """The version found; 0 for an empty database. Raises `StoreError` when the tables are not ours."""
    tables = inspect(connection).get_table_names(schema=None if database.is_sqlite else POSTGRESQL_SCHEMA)
    if not tables:
        return 0
    value = None
    if schema.meta.name in tables:
        value = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == "version")).scalar()
    if value is None or not str(value).isdigit():
        raise StoreError(
            f"page store {database.label} is not a page store of llmsspider; it is left as it is"
        )
    return int(value)
