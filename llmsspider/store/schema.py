"""The tables of the page store, and bringing a database to the schema of this version, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.schema import CreateSchema

from llmsspider.errors import StoreError
from llmsspider.store.database import POSTGRESQL_SCHEMA, Database

# The tables of the page store; whoever changes them adds a step to `STEPS`.
# One database holds one source (SQLite) or many (PostgreSQL); every table but `meta` therefore hangs on `source`.
# Content and links live beside the page, not in it, so that reading the state of all pages stays cheap. Times are
# seconds since the epoch; hashes are raw bytes; JSON is text; `content.data`, `version.data`, `resource.data`,
# `link.links` and `link.follow` are zstd frames.

metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")


def _source_id(*, primary_key: bool = False) -> Column[int]:
    owner = ForeignKey("source.id", ondelete="CASCADE")
    return Column("source_id", Integer, owner, nullable=False, primary_key=primary_key, autoincrement=False)


def _page_id() -> Column[int]:
    owner = ForeignKey("page.id", ondelete="CASCADE")
    return Column("page_id", RowId, owner, primary_key=True, autoincrement=False)


meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

source = Table(
    "source",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("llms_txt", Text),
    Column("scope", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("forms", Text, nullable=False),
    Column("discovery", Text, nullable=False),
    Column("extractor_version", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("next_seq", BigInteger, nullable=False),  # the next number nobody has reserved
    Column("last_seq", BigInteger, nullable=False),  # the greatest number written to `change`
)

run = Table(
    "run",
    metadata,
    _source_id(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("heartbeat_at", Float, nullable=False),
    Column("seq_before", BigInteger, nullable=False),
    Column("reach_from", Integer, nullable=False),  # a page reached by this run or a later one is reached
    Column("predecessor", Text),
    Column("predecessor_clean", Boolean, nullable=False),
    Column("concurrent", Boolean, nullable=False),
    Column("finished_at", Float),
    Column("outcome", Text),
    Column("complete", Boolean, nullable=False),
    Column("why", Text),
    Column("counts", Text, nullable=False),
    Column("filtered", Text, nullable=False),  # exact number of filtered URLs, by reason
    Column("errors", Text, nullable=False),  # exact number of page errors, by kind
)

page = Table(
    "page",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("key", LargeBinary, nullable=False),
    Column("identity", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("fetched_url", Text),  # null: the same as url
    Column("title", Text),
    Column("description", Text),
    Column("language", Text),
    Column("content_hash", LargeBinary),
    Column("raw_hash", LargeBinary),
    Column("origin", Text, nullable=False),
    Column("discovered_by", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("llms", Text),
    Column("status", Integer),
    Column("mime_type", Text),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("validators_url", Text),  # null: the same as the URL fetched
    Column("accept", Text),
    Column("markdown_tokens", BigInteger),
    Column("extractor_version", Text, nullable=False),
    Column("fetched_at", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # its last change
    Column("change", Text, nullable=False),
    Column("reason", Text),
    Column("run", Integer, nullable=False),  # the run of its last change
    Column("reached", Integer, nullable=False),  # the last run that reached it
    Column("gone", Boolean, nullable=False),
    Column("moved_from", Text),  # a JSON array of URLs; null: none
    Column(
        "has_end_tag", Boolean
    ),  # its HTML had </html>, its Markdown a last line end; null: it was neither
    Column("source_hash", LargeBinary),  # of its Markdown before pipelines; null: the same as content_hash
    Column("extra", Text),  # fields that pipelines added, a JSON object; null: none
    UniqueConstraint("source_id", "key"),
    Index("page_seq", "source_id", "seq"),
)

content = Table("content", metadata, _page_id(), Column("data", LargeBinary, nullable=False))

link = Table(
    "link",
    metadata,
    _page_id(),
    Column("links", LargeBinary, nullable=False),  # [[text, url], …] of the main content
    Column("follow", LargeBinary, nullable=False),  # [url, …] of the whole page
)

change = Table(
    "change",
    metadata,
    _source_id(primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("page_id", RowId, ForeignKey("page.id", ondelete="CASCADE"), nullable=False),
    Column("run", Integer, nullable=False),
    Column("change", Text, nullable=False),
    Column("reason", Text),
    Column("url", Text, nullable=False),
    Column("content_hash", LargeBinary),
    Column("at", Float, nullable=False),
    Index("change_page", "page_id", "seq"),
)

version = Table(
    "version",
    metadata,
    _page_id(),
    Column(
        "seq", BigInteger, primary_key=True, autoincrement=False
    ),  # the change that this content came with
    Column("run", Integer, nullable=False),
    Column("title", Text),
    Column("content_hash", LargeBinary),
    Column("extractor_version", Text, nullable=False),
    Column("replaced_at", Float, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

alias = Table(
    "alias",
    metadata,
    _source_id(primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("target", LargeBinary, nullable=False),  # key of the page it is another spelling of
    Column("url", Text, nullable=False),
)

resource = Table(
    "resource",
    metadata,
    _source_id(primary_key=True),
    Column("key", LargeBinary, primary_key=True),  # of URL and Accept
    Column("url", Text, nullable=False),
    Column("accept", Text),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("headers", Text, nullable=False),  # those that say what the body is, lower-case names
    Column("run", Integer, nullable=False),  # the last run that used it
    Column("data", LargeBinary, nullable=False),
)

error = Table(
    "error",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("run", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("status", Integer),
    Index("error_run", "source_id", "run"),
)

filtered = Table(
    "filtered",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("run", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("rule", Text),
    Index("filtered_run", "source_id", "run"),
)


# Bringing a database to the schema of this version, in one transaction, and never past it.
# A new database gets the tables as they are now. An older one is taken forward step by step; a newer one, a foreign
# or a damaged one is refused and left as it is.

Step = Callable[[Connection], None]


def _add_resources(connection: Connection) -> None:
    """Version 2: the answers of discovery and link sources, to be revalidated."""
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
    """Version 4: whether the HTML of a page has its end tag."""
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


def _add_what_pipelines_do(connection: Connection) -> None:
    """Version 6: the hash of a page's Markdown before pipelines, and the fields that they added."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.execute(text(f"ALTER TABLE page ADD COLUMN source_hash {binary}"))
    connection.execute(text("ALTER TABLE page ADD COLUMN extra TEXT"))


STEPS: tuple[Step, ...] = (
    _add_resources,
    _add_moved_from,
    _add_has_end_tag,
    _add_versions,
    _add_what_pipelines_do,
)
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
    connection.execute(update(meta).where(meta.c.key == "version").values(value=str(wanted)))


def _create(connection: Connection, database: Database, version: int) -> None:
    if not database.is_sqlite and not inspect(connection).has_schema(POSTGRESQL_SCHEMA):
        connection.execute(CreateSchema(POSTGRESQL_SCHEMA))
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(meta), {"key": "version", "value": str(version)})


def _version(connection: Connection, database: Database) -> int:
    """The version found; 0 for an empty database. Raises `StoreError` when the tables are not ours."""
    tables = inspect(connection).get_table_names(schema=None if database.is_sqlite else POSTGRESQL_SCHEMA)
    if not tables:
        return 0
    value = None
    if meta.name in tables:
        value = connection.execute(select(meta.c.value).where(meta.c.key == "version")).scalar()
    if value is None or not str(value).isdigit():
        raise StoreError(
            f"page store {database.label} is not a page store of llmsspider; it is left as it is"
        )
    return int(value)
