"""The tables of the page store, their column types, and bringing a database to the schema of this
version.

What sites send is hostile: control characters in an ETag, NUL and lone surrogates in a title,
numbers of fifty digits. The types make all of it storable, so that one page cannot fail a batch.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
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
from llmsspider.items import LlmsEntry, compress
from llmsspider.store.database import MIGRATION_LOCK, POSTGRESQL_SCHEMA, TURN_TABLE, Database
from llmsspider.store.records import unpacked


class Cleaned(TypeDecorator[Any]):
    """A column of a plain type whose values, but for None, are converted on their way in."""

    impl = Text
    cache_ok = True

    def __init__(self, plain: Any, to_column: Callable[[Any], Any]):
        super().__init__()
        self.plain = plain
        self.to_column = to_column

    def load_dialect_impl(self, dialect: Dialect) -> Any:  # noqa: D102
        return dialect.type_descriptor(self.plain())

    def process_bind_param(self, value: Any, _dialect: Dialect) -> Any:  # noqa: D102
        return None if value is None else self.to_column(value)


class Converted(Cleaned):
    """The same, and converted on their way out, too."""

    cache_ok = True

    def __init__(
        self, plain: Any, to_column: Callable[[Any], Any], from_column: Callable[[Any], Any]
    ):
        super().__init__(plain, to_column)
        self.from_column = from_column

    def process_result_value(self, value: Any, _dialect: Dialect) -> Any:  # noqa: D102
        return None if value is None else self.from_column(value)


_CONTROLS = dict.fromkeys([*range(32), 127])


def storable(text: str) -> str:
    """The text without NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 has no form for
    them).
    """
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def to_json(value: object) -> bytes:
    """JSON of a value made of dicts, lists, strings, numbers, dates, or of an llms.txt entry; no
    lone surrogates.
    """
    if isinstance(value, LlmsEntry):
        value = {name: getattr(value, name) for name in LlmsEntry.__slots__}
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "replace")


def _within(bits: int) -> Callable[[int], int | None]:
    return lambda number: number if abs(number) < 2 ** (bits - 1) else None


CleanText = Cleaned(Text, storable)
HeaderValue = Cleaned(Text, lambda value: storable(value.translate(_CONTROLS)).strip() or None)
"""A header value safe to send back: no control characters; NULL when nothing is left."""
SmallNumber = Cleaned(Integer, _within(32))
BigNumber = Cleaned(BigInteger, _within(64))
"""Numbers of 32 and 64 bits; NULL in place of one that has more."""
Sha256 = Converted(LargeBinary, lambda value: bytes.fromhex(value) or None, bytes.hex)
"""A SHA-256 in hex, kept as 32 bytes."""
Json = Converted(Text, lambda value: to_json(value).decode(), orjson.loads)
Packed = Converted(LargeBinary, lambda value: compress(to_json(value)), unpacked)
"""A value that JSON can hold, kept as its text, or as one zstd frame of that."""
Time = Converted(
    Float,
    lambda value: value.timestamp() if isinstance(value, datetime) else value,
    lambda seconds: datetime.fromtimestamp(seconds, UTC),
)
"""A moment, kept as seconds since the epoch."""

# The tables; whoever changes them adds a step to `STEPS`. One database holds one source (SQLite) or
# many (PostgreSQL); every table but `meta` therefore hangs on `source`. `page` has a row for
# whatever was read: a document, the tombstone of one, or an answer that never was one, such as an
# llms.txt, a sitemap, or a page that was filtered. Content and links stand beside it, so that
# reading the state of all pages stays cheap. `content.data` and `version.data` are zstd frames.

metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")


def _source_id(*, primary_key: bool = False) -> Column[int]:
    owner = ForeignKey("source.id", ondelete="CASCADE")
    return Column(
        "source_id", Integer, owner, nullable=False, primary_key=primary_key, autoincrement=False
    )


def _page_id() -> Column[int]:
    owner = ForeignKey("page.id", ondelete="CASCADE")
    return Column("page_id", RowId, owner, primary_key=True, autoincrement=False)


def _columns(kind: Any, *names: str, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names]


def _details(name: str, *columns: Column[Any]) -> Table:
    """A table of what happened to URLs in a run."""
    index = Index(f"{name}_run", "source_id", "run")
    mine = (Column("id", RowId, primary_key=True), _source_id(), *_columns(Integer, "run"))
    return Table(name, metadata, *mine, *_columns(CleanText, "url"), *columns, index)


meta = Table("meta", metadata, Column("key", Text, primary_key=True), *_columns(Text, "value"))

source = Table(
    "source",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    *_columns(CleanText, "url"),
    *_columns(CleanText, "llms_txt", nullable=True),
    *_columns(Text, "scope", "extractor_version"),
    *_columns(Json, "arguments", "says", "rights"),
    *_columns(Time, "created_at"),
    Column("next_seq", BigInteger, nullable=False),  # the next number nobody has reserved
    Column("last_seq", BigInteger, nullable=False),  # the greatest number written to `change`
)

run_table = Table(
    "run",
    metadata,
    _source_id(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    *_columns(Text, "kind", "host"),
    *_columns(Integer, "pid"),
    *_columns(Time, "started_at", "heartbeat_at"),
    *_columns(BigInteger, "seq_before"),
    # a page reached by this run or a later one is reached
    Column("reach_from", Integer, nullable=False),
    *_columns(Text, "predecessor", "outcome", "why", nullable=True),
    *_columns(Boolean, "predecessor_clean", "concurrent", "complete"),
    *_columns(Time, "finished_at", nullable=True),
    *_columns(Json, "arguments", "counts"),
    # exact numbers of filtered URLs by reason, of page errors by kind
    *_columns(Json, "filtered", "errors"),
)

page = Table(
    "page",
    metadata,
    Column("id", RowId, primary_key=True),
    _source_id(),
    Column("key", LargeBinary, nullable=False),  # of its identity; or of a `records.Reading`
    *_columns(CleanText, "identity", "url"),
    *_columns(Text, "document_id", "origin", "discovered_by", "extractor_version", "fetched_at"),
    Column("fetched_url", CleanText),  # null: the same as url
    Column("validators_url", CleanText),  # null: the same as the URL fetched
    *_columns(CleanText, "title", "description", "language", "mime_type", "accept", nullable=True),
    *_columns(HeaderValue, "etag", "last_modified", nullable=True),
    *_columns(Sha256, "content_hash", "raw_hash", nullable=True),
    # of its Markdown before pipelines; null: the same as content_hash
    Column("source_hash", Sha256),
    # its HTML had </html>, its Markdown a last line end; null: neither
    Column("has_end_tag", Boolean),
    *_columns(Json, "llms", "moved_from", nullable=True),
    Column("extra", Json),  # fields that pipelines added
    Column("declared", Json),  # what it declares of its use
    Column("headers", Json),  # of what is no document: those that say what its body is
    *_columns(SmallNumber, "status", nullable=True),
    *_columns(BigNumber, "markdown_tokens", nullable=True),
    *_columns(Integer, "depth"),
    Column("seq", BigInteger, nullable=False),  # its last change; 0: it never was a document
    *_columns(Text, "change"),
    Column("reason", Text),  # why it is no document
    Column("run", Integer, nullable=False),  # the run of its last change
    Column("reached", Integer, nullable=False),  # the last run that reached it
    Column("gone", Boolean, nullable=False),  # it is no document
    UniqueConstraint("source_id", "key"),
    Index("page_seq", "source_id", "seq"),
)

content = Table("content", metadata, _page_id(), *_columns(LargeBinary, "data"))

link = Table(
    "link",
    metadata,
    _page_id(),
    Column("links", Packed, nullable=False),  # [[text, url], …] of the main content
    Column("follow", Packed, nullable=False),  # [url, …] of the whole page
    Column("headings", Packed),  # [[text, id], …] of headings with an id; null: not known
)

change = Table(
    "change",
    metadata,
    _source_id(primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("page_id", RowId, ForeignKey("page.id", ondelete="CASCADE"), nullable=False),
    *_columns(Integer, "run"),
    *_columns(Text, "change"),
    *_columns(Text, "reason", nullable=True),
    *_columns(CleanText, "url"),
    *_columns(Sha256, "content_hash", nullable=True),
    *_columns(Time, "at"),
    Index("change_page", "page_id", "seq"),
)

version = Table(
    "version",
    metadata,
    _page_id(),
    # the change that it came with
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    *_columns(Integer, "run"),
    *_columns(Text, "title", nullable=True),
    *_columns(Sha256, "content_hash", nullable=True),
    *_columns(Text, "extractor_version"),
    *_columns(Time, "replaced_at"),
    *_columns(LargeBinary, "data"),
)

memory = Table(
    "memory",
    metadata,
    _source_id(primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Packed, nullable=False),  # as whoever learned it wrote it
)

alias = Table(
    "alias",
    metadata,
    _source_id(primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("target", LargeBinary, nullable=False),  # key of the page it is another spelling of
    *_columns(CleanText, "url"),
)

error = _details(
    "error",
    *_columns(Text, "kind"),
    Column("message", CleanText, key="reason", nullable=False),
    *_columns(SmallNumber, "status", nullable=True),
)

filtered = _details(
    "filtered", *_columns(Text, "reason"), *_columns(CleanText, "rule", nullable=True)
)


def _add_memory(connection: Connection, binary: str) -> None:
    """Give what was learned of sources, in two columns and a reading, a row for each thing."""
    for statement in (
        f"""CREATE TABLE memory (source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
            name TEXT NOT NULL, value {binary} NOT NULL, PRIMARY KEY (source_id, name))""",
        "ALTER TABLE source ADD COLUMN says TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE source ADD COLUMN rights TEXT NOT NULL DEFAULT '{}'",
    ):
        connection.execute(text(statement))
    ledger = text(
        "SELECT data FROM content JOIN page ON page.id = content.page_id"
        " WHERE source_id = :id AND seq = 0 AND extractor_version = 'ledger'"
    )
    set_texts = text("UPDATE source SET says = :says, rights = :rights WHERE id = :id")
    remember = text("INSERT INTO memory (source_id, name, value) VALUES (:id, :name, :value)")
    sources = connection.execute(text("SELECT id, forms, discovery FROM source")).all()
    for number, forms, discovery in sources:
        hosts = orjson.loads(forms)
        learned = hosts.pop("*", {}) | orjson.loads(discovery) | {"forms": hosts}
        texts = {name: to_json(learned.pop(name, {})).decode() for name in ("says", "rights")}
        connection.execute(set_texts, {"id": number, **texts})
        checked = connection.execute(ledger, {"id": number}).scalar()
        if checked is not None:
            learned["witnesses"] = {**learned.get("witnesses", {}), "checked": unpacked(checked)}
        for name, value in learned.items():
            row = {"id": number, "name": name, "value": compress(to_json(value))}
            connection.execute(remember, row)
    for column in ("forms", "discovery"):
        connection.execute(text(f"ALTER TABLE source DROP COLUMN {column}"))


Step = str | Callable[[Connection, str], None]
"""Statements, or what executes them, given the type of a column of bytes."""

STEPS: tuple[Step, ...] = (
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
    # 8: what a page declares of its use
    "ALTER TABLE page ADD COLUMN declared TEXT",
    # 9: the ids of headings
    "ALTER TABLE link ADD COLUMN headings {binary}",
    # 10: a row for each thing that is learned of a source
    _add_memory,
)
"""`STEPS[n]` takes version n+1 to n+2. A step is never edited once released, and says its own DDL:
the tables above may
have moved on. Unqualified names are the store's tables on both databases."""


def migrate(database: Database, steps: Sequence[Step] = STEPS) -> Database:
    """Create the tables, or bring them to version `len(steps) + 1`, in one transaction; returns the
    database.

    Raises `StoreError` for a database that is newer, is not ours, or cannot be read; it is left as
    it is, and closed.
    """
    wanted = len(steps) + 1
    try:
        with database.faults():
            with database.engine.connect() as connection:
                found = _version(connection, database)
            if database.read_only and found < wanted:
                earlier = (
                    f"page store {database.label} is of an earlier version, and its folder cannot"
                    " be written"
                )
                raise StoreError(f"{earlier}: copy the folder, and name the copy in LLMS_DATA_DIR")
            if found != wanted:
                with database.writing() as connection:
                    _upgrade(connection, database, steps, wanted)
    except BaseException:
        database.engine.dispose()
        raise
    return database


def _upgrade(
    connection: Connection, database: Database, steps: Sequence[Step], wanted: int
) -> None:
    if not database.is_sqlite:
        connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        connection.execute(text(f"SET LOCAL search_path TO {POSTGRESQL_SCHEMA}"))
    found = _version(connection, database)
    if found > wanted:
        newer = f"page store {database.label} has version {found}, this llmsspider knows {wanted}"
        raise StoreError(
            f"{newer}: upgrade llmsspider, or choose another LLMS_DATA_DIR or LLMS_STORE_URL"
        )
    if found == 0:
        if not database.is_sqlite and not inspect(connection).has_schema(POSTGRESQL_SCHEMA):
            connection.execute(CreateSchema(POSTGRESQL_SCHEMA))
        metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(meta), {"key": "version", "value": str(wanted)})
        return
    row_id, binary = ("INTEGER", "BLOB") if database.is_sqlite else ("BIGINT", "BYTEA")
    for step in steps[found - 1 :]:
        if callable(step):
            step(connection, binary)
            continue
        for statement in step.split(";"):
            connection.execute(text(statement.format(row_id=row_id, binary=binary)))
    connection.execute(update(meta).where(meta.c.key == "version").values(value=str(wanted)))


_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
    "postgresql": f"SELECT tablename FROM pg_tables WHERE schemaname = '{POSTGRESQL_SCHEMA}'",  # noqa: S608
}
_VERSION = select(meta.c.value).where(meta.c.key == "version")


def _version(connection: Connection, database: Database) -> int:
    """The version found; 0 for an empty database.

    Raises `StoreError` when the tables are not ours.
    """
    # SQLAlchemy's inspector takes longer than all else of an opening
    tables = set(connection.exec_driver_sql(_TABLES[connection.dialect.name]).scalars())
    if not tables - {TURN_TABLE}:
        return 0
    value = connection.execute(_VERSION).scalar() if meta.name in tables else None
    if value is None or not str(value).isdigit():
        not_ours = "is not a page store of llmsspider; it is left as it is"
        raise StoreError(f"page store {database.label} {not_ours}")
    return int(value)
