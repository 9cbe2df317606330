"""The tables of the page store, and bringing a database to the schema of this version, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
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
from llmsspider.store.rows import BigNumber, CleanText, HeaderValue, Json, Packed, Sha256, SmallNumber, Time

# The tables of the page store; whoever changes them adds a step to `STEPS`.
# One database holds one source (SQLite) or many (PostgreSQL); every table but `meta` therefore hangs on `source`.
# `page` has a row for whatever was read: a document, the tombstone of one, or an answer that never was one, such as an
# llms.txt, a sitemap, or a page that was filtered. Content and links stand beside it, so that reading the state of all
# pages stays cheap. `content.data` and `version.data` are zstd frames.

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
    Column("url", CleanText, nullable=False),
    Column("llms_txt", CleanText),
    Column("scope", Text, nullable=False),
    Column("arguments", Json, nullable=False),
    Column("forms", Json, nullable=False),
    Column("discovery", Json, nullable=False),
    Column("extractor_version", Text, nullable=False),
    Column("created_at", Time, nullable=False),
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
    Column("arguments", Json, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("started_at", Time, nullable=False),
    Column("heartbeat_at", Time, nullable=False),
    Column("seq_before", BigInteger, nullable=False),
    Column("reach_from", Integer, nullable=False),  # a page reached by this run or a later one is reached
    Column("predecessor", Text),
    Column("predecessor_clean", Boolean, nullable=False),
    Column("concurrent", Boolean, nullable=False),
    Column("finished_at", Time),
    Column("outcome", Text),
    Column("complete", Boolean, nullable=False),
    Column("why", Text),
    Column("counts", Json, nullable=False),
    Column("filtered", Json, nullable=False),  # exact number of filtered URLs, by reason
    Column("errors", Json, nullable=False),  # exact number of page errors, by kind
)

page = Table(
    "page",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column(
        "key", LargeBinary, nullable=False
    ),  # of its identity; of what is no document, see `records.Reading`
    Column("identity", CleanText, nullable=False),
    Column("document_id", Text, nullable=False),
    Column("url", CleanText, nullable=False),
    Column("fetched_url", CleanText),  # null: the same as url
    Column("title", CleanText),
    Column("description", CleanText),
    Column("language", CleanText),
    Column("content_hash", Sha256),
    Column("raw_hash", Sha256),
    Column("origin", Text, nullable=False),
    Column("discovered_by", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("llms", Json),
    Column("status", SmallNumber),
    Column("mime_type", CleanText),
    Column("etag", HeaderValue),
    Column("last_modified", HeaderValue),
    Column("validators_url", CleanText),  # null: the same as the URL fetched
    Column("accept", CleanText),
    Column("markdown_tokens", BigNumber),
    Column("extractor_version", Text, nullable=False),
    Column("fetched_at", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # its last change; 0: it never was a document
    Column("change", Text, nullable=False),
    Column("reason", Text),  # why it is no document
    Column("run", Integer, nullable=False),  # the run of its last change
    Column("reached", Integer, nullable=False),  # the last run that reached it
    Column("gone", Boolean, nullable=False),  # it is no document
    Column("moved_from", Json),
    # Its HTML had </html>, its Markdown a last line end; null: it was neither.
    Column("has_end_tag", Boolean),
    Column("source_hash", Sha256),  # of its Markdown before pipelines; null: the same as content_hash
    Column("extra", Json),  # fields that pipelines added
    Column("headers", Json),  # of what is no document: those that say what its body is
    UniqueConstraint("source_id", "key"),
    Index("page_seq", "source_id", "seq"),
)

content = Table("content", metadata, _page_id(), Column("data", LargeBinary, nullable=False))

link = Table(
    "link",
    metadata,
    _page_id(),
    Column("links", Packed, nullable=False),  # [[text, url], …] of the main content
    Column("follow", Packed, nullable=False),  # [url, …] of the whole page
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
    Column("url", CleanText, nullable=False),
    Column("content_hash", Sha256),
    Column("at", Time, nullable=False),
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
    Column("content_hash", Sha256),
    Column("extractor_version", Text, nullable=False),
    Column("replaced_at", Time, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

alias = Table(
    "alias",
    metadata,
    _source_id(primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("target", LargeBinary, nullable=False),  # key of the page it is another spelling of
    Column("url", CleanText, nullable=False),
)

error = Table(
    "error",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("run", Integer, nullable=False),
    Column("url", CleanText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message", CleanText, key="reason", nullable=False),
    Column("status", SmallNumber),
    Index("error_run", "source_id", "run"),
)

filtered = Table(
    "filtered",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("run", Integer, nullable=False),
    Column("url", CleanText, nullable=False),
    Column("reason", Text, nullable=False),
    Column("rule", CleanText),
    Index("filtered_run", "source_id", "run"),
)


# Bringing a database to the schema of this version, in one transaction, and never past it.
# A new database gets the tables as they are now. An older one is brought forward step by step; a newer one, a foreign
# or a damaged one is refused and left as it is.

STEPS = (
    # 2: answers that are no documents, to be revalidated
    """CREATE TABLE resource (source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
        key {binary} NOT NULL,
        url TEXT NOT NULL, accept TEXT, etag TEXT, last_modified TEXT, headers TEXT NOT NULL, run INTEGER NOT NULL,
        data {binary} NOT NULL, PRIMARY KEY (source_id, key))""",
    # 3: the former addresses of pages that moved
    "ALTER TABLE page ADD COLUMN moved_from TEXT",
    # 4: whether the HTML of a page has its end tag
    "ALTER TABLE page ADD COLUMN has_end_tag BOOLEAN",
    # 5: the earlier contents of changed pages
    """CREATE TABLE version (page_id {row_id} NOT NULL REFERENCES page (id) ON DELETE CASCADE, seq BIGINT NOT NULL,
        run INTEGER NOT NULL, title TEXT, content_hash {binary}, extractor_version TEXT NOT NULL,
        replaced_at FLOAT NOT NULL, data {binary} NOT NULL, PRIMARY KEY (page_id, seq))""",
    # 6: the hash of a page's Markdown before pipelines, and the fields that they added
    "ALTER TABLE page ADD COLUMN source_hash {binary}; ALTER TABLE page ADD COLUMN extra TEXT",
    # 7: one table for whatever was read
    """ALTER TABLE page ADD COLUMN headers TEXT;
    INSERT INTO page (source_id, key, identity, document_id, url, accept, etag, last_modified, headers, origin,
        discovered_by, depth, extractor_version, fetched_at, seq, change, run, reached, gone)
        SELECT source_id, key, url, '', url, accept, etag, last_modified, headers, '', '', 0, '', '', 0, '', run, run,
        TRUE
        FROM resource;
    INSERT INTO content (page_id, data) SELECT page.id, resource.data FROM resource
        JOIN page ON page.source_id = resource.source_id AND page.key = resource.key;
    DROP TABLE resource""",
)
"""`STEPS[n]` takes version n+1 to n+2. A step is never edited once released, and says its own DDL: the tables above may
have moved on. Unqualified names are the store's tables on both databases."""

_LOCK = 0x6C6C6D73
"""Key of the PostgreSQL advisory lock that keeps two processes from migrating at once."""


def migrate(database: Database, steps: Sequence[str] = STEPS) -> None:
    """Create the tables, or bring them to version `len(steps) + 1`.

    Raises `StoreError` for a database that is newer, is not ours, or cannot be read.
    """
    wanted = len(steps) + 1
    with database.faults():
        with database.engine.connect() as connection:
            found = _version(connection, database)
        if found == wanted:
            return
        if database.read_only and found < wanted:
            raise StoreError(
                f"page store {database.label} is of an earlier version, and its folder cannot be written: copy the "
                "folder, and name the copy in LLMS_DATA_DIR"
            )
        with database.writing() as connection:
            _upgrade(connection, database, steps, wanted)


def _upgrade(connection: Connection, database: Database, steps: Sequence[str], wanted: int) -> None:
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
        if not database.is_sqlite and not inspect(connection).has_schema(POSTGRESQL_SCHEMA):
            connection.execute(CreateSchema(POSTGRESQL_SCHEMA))
        metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(meta), {"key": "version", "value": str(wanted)})
        return
    types = (
        {"row_id": "INTEGER", "binary": "BLOB"}
        if database.is_sqlite
        else {"row_id": "BIGINT", "binary": "BYTEA"}
    )
    for statement in ";".join(steps[found - 1 :]).split(";"):
        connection.execute(text(statement.format_map(types)))
    connection.execute(update(meta).where(meta.c.key == "version").values(value=str(wanted)))


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
