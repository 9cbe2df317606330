"""The tables of a search index: pages, passages, links, and their words in SQLite FTS5 or PostgreSQL.

One database holds one source (SQLite) or many (PostgreSQL). The index can always be rebuilt from the page store:
tables of another version are not migrated, a new index is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    text,
)

from llmsspider.answers.words import IndexQuery, Term
from llmsspider.store.database import POSTGRESQL_SCHEMA

VERSION = 3
"""Of the tables and of what is written into them."""

PREFIX = f"search{VERSION}_"
_OF_ANY_VERSION = re.compile(r"search\d+_")

metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")

source = Table(
    f"{PREFIX}source",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("store", Text, nullable=False),  # distinguishes the store from another one of the same name
    Column("seq", BigInteger, nullable=False),  # the last change that is indexed
    Column("run", Text, nullable=False),  # the last run whose titles and notes are indexed
    Column("next_id", BigInteger, nullable=False),  # of a page or passage; never used twice
    Column("dead", BigInteger, nullable=False),  # passages that are deleted, but for their words
)

page = Table(
    f"{PREFIX}page",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=False),
    Column("source_id", Integer, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),  # of the content that was indexed
    Column("document", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("target", BigInteger, nullable=False),  # `passages.target_of` its URL
    Column("passages", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("hints", Text, nullable=False),  # `passages.hints_of` it
    Column("optional", Boolean, nullable=False),
    Index(f"{PREFIX}page_key", "source_id", "key", unique=True),
    Index(f"{PREFIX}page_target", "source_id", "target"),
    Index(f"{PREFIX}page_document", "document"),
)

passage = Table(
    f"{PREFIX}passage",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=False),
    Column("source_id", Integer, nullable=False),
    Column("page_id", BigInteger, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("headings", Text, nullable=False),
    Column("digest", LargeBinary),  # null until an embedder wants it
    Index(f"{PREFIX}passage_page", "page_id"),
)

link = Table(
    f"{PREFIX}link",
    metadata,
    Column("source_id", Integer, nullable=False),
    Column("page_id", BigInteger, nullable=False),
    Column("target", BigInteger, nullable=False),  # `passages.target_of` the URL without its fragment
    Column("fragment", Text, nullable=False),
    Column("text", Text, nullable=False),
    Index(f"{PREFIX}link_page", "page_id"),
    Index(f"{PREFIX}link_target", "source_id", "target"),
)


def drop_other_versions(connection: Connection) -> None:
    """Drop the tables of an index of another version, where there are some and none of this one."""
    schema = None if connection.dialect.name == "sqlite" else POSTGRESQL_SCHEMA
    names = [name for name in inspect(connection).get_table_names(schema) if _OF_ANY_VERSION.match(name)]
    if source.name in names:
        return
    for name in sorted(names, key=lambda name: not name.endswith(("_vocabulary", "_fts"))):
        qualified = f"{schema}.{name}" if schema else name
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {qualified}")  # FTS5's own tables go with theirs


def insert_rows(
    connection: Connection, into: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows of the columns named: with many rows tuples take a third of the time of dicts."""
    if rows:
        is_sqlite = connection.dialect.name == "sqlite"
        marks = ", ".join(["?" if is_sqlite else "%s"] * len(columns))
        name = into if is_sqlite else f"{POSTGRESQL_SCHEMA}.{into}"
        statement = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        connection.exec_driver_sql(statement, list(rows))


PASSAGES, PAGES = "passage", "page"
"""What words are kept of."""
COLUMNS = {PASSAGES: ("title", "headings", "body", "parts"), PAGES: ("title", "hints", "headings", "parts")}
"""The texts of a passage and of a page whose words are written, in the order of rows."""


class FullText(Protocol):
    """The words of `PASSAGES` and `PAGES` in one database: written, counted, and ranked."""

    keeps_deleted: ClassVar[bool]
    """Words of deleted rows are found until the source is cleared."""

    def create(self, connection: Connection) -> None:
        """Create missing tables."""

    def add(self, connection: Connection, of: str, source: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write words: rows of a number and the texts, as `COLUMNS` names them."""

    def delete(self, connection: Connection, of: str, ids: Sequence[int]) -> None:
        """Delete the words of rows, unless they are kept."""

    def clear(self, connection: Connection, source: int) -> None:
        """Delete every word of a source."""

    def expression(self, term: Term) -> str:
        """What `count` and `best` take for a term; no word of it is an operator."""

    def prefix(self, term: Term) -> str | None:
        """The expression of a term that is the beginning of a word; None where it is too short."""

    def count(self, connection: Connection, of: str, source: int, expression: str) -> int:
        """How many rows hold a term."""

    def best(
        self, connection: Connection, of: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]:
        """The best rows: id, score, and the terms (by index) in each."""

    def vocabulary(self, connection: Connection, source: int) -> list[str]:
        """Every word (its stem)."""


def _phrase(words: Sequence[str]) -> str:
    return '"' + " ".join(words) + '"'


class Fts5:
    """Words in SQLite FTS5.

    The tables hold no text (`content=''`), so SQLite before 3.43 cannot delete words: rows of deleted pages stay until
    the index is rebuilt; joining with the tables above filters them.
    """

    keeps_deleted: ClassVar[bool] = True
    _tables: ClassVar[Mapping[str, str]] = {PASSAGES: f"{PREFIX}passage_fts", PAGES: f"{PREFIX}page_fts"}
    _ranks: ClassVar[Mapping[str, str]] = {
        PASSAGES: "bm25(5.0, 3.0, 1.0, 1.0)",
        PAGES: "bm25(6.0, 4.0, 1.0, 1.0)",
    }
    _tokenizer = "content='', tokenize='porter unicode61 remove_diacritics 2'"
    _automerge = (
        16  # segments merged at once: with the default of 4 the same words are written twice as often
    )

    def create(self, connection: Connection) -> None:
        """Create missing tables."""
        known = inspect(connection).get_table_names()
        for of, table in self._tables.items():
            if table not in known:
                columns = ", ".join(COLUMNS[of])
                connection.exec_driver_sql(
                    f"CREATE VIRTUAL TABLE {table} USING fts5({columns}, {self._tokenizer})"
                )
                options = [("rank", self._ranks[of]), ("automerge", self._automerge)]
                connection.exec_driver_sql(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", options)  # noqa: S608

    def add(self, connection: Connection, of: str, source: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write words."""
        insert_rows(connection, self._tables[of], ("rowid", *COLUMNS[of]), rows)

    def delete(self, connection: Connection, of: str, ids: Sequence[int]) -> None:
        """Do nothing: the words stay until the index is rebuilt."""

    def clear(self, connection: Connection, source: int) -> None:
        """Delete every word."""
        for table in self._tables.values():
            connection.exec_driver_sql(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608

    def expression(self, term: Term) -> str:
        """A MATCH expression in which every word is quoted."""
        found = [_phrase(term.words)] if term.words else []
        if term.parts:
            found += [f"parts : {_phrase(term.parts)}", _phrase(term.parts)]
        return " OR ".join(found)

    def prefix(self, term: Term) -> str | None:
        """The phrase with its last word as a prefix."""
        is_long = bool(term.words) and len(term.words[-1]) > 2
        return f"{_phrase(term.words)} *" if is_long and not term.required else None

    def count(self, connection: Connection, of: str, source: int, expression: str) -> int:
        """Count rows, those of deleted pages among them."""
        table = self._tables[of]
        statement = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
        return int(connection.exec_driver_sql(statement, (expression,)).scalar_one())

    def best(
        self, connection: Connection, of: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]:
        """Rank by BM25; rows of deleted pages are among the result: set a higher limit."""
        if not query.expressions:
            return []
        every = " OR ".join(f"({one})" for one in query.expressions.values())
        required = [query.expressions[place] for place in query.required if place in query.expressions]
        whole = " AND ".join(f"({one})" for one in (every, *required))
        table = self._tables[of]
        statement = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"  # noqa: S608
        found = connection.exec_driver_sql(statement, (whole, query.limit)).fetchall()
        rows = {place: self._rows(connection, of, one) for place, one in query.expressions.items()}
        return [(row, -rank, frozenset(place for place in rows if row in rows[place])) for row, rank in found]

    def _rows(self, connection: Connection, of: str, expression: str) -> frozenset[int]:
        table = self._tables[of]
        statement = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608
        return frozenset(connection.exec_driver_sql(statement, (expression,)).scalars())

    def vocabulary(self, connection: Connection, source: int) -> list[str]:
        """Every word of the passages."""
        name, words = f"temp.{PREFIX}vocabulary", self._tables[PASSAGES]
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab(main, {words}, row)"
        )
        return list(connection.exec_driver_sql(f"SELECT term FROM {name}").scalars())  # noqa: S608


_NO_WORD = re.compile(r"[\W_]+")


def _tsquery(place: int, expression: str) -> tuple[str, dict[str, str]]:
    """The SQL of a term's tsquery, and its values."""
    name = f"term{place}"
    if expression.startswith("="):
        parts = f"phraseto_tsquery('simple', :{name})"
        return f"({parts} || phraseto_tsquery('english', :{name}))", {name: expression[1:]}
    if expression.endswith("*"):  # one word of letters and digits
        return f"to_tsquery('simple', :{name})", {name: f"{expression[:-1]}:*"}
    return f"phraseto_tsquery('english', :{name})", {name: expression}


class PostgresqlText:
    """Words in PostgreSQL's full text search.

    `ts_rank` ignores how rare a word is, so the score of a row is the sum over the terms of `ts_rank` times inverse
    document frequency.
    """

    keeps_deleted: ClassVar[bool] = False
    _tables: ClassVar[Mapping[str, str]] = {
        PASSAGES: f"{POSTGRESQL_SCHEMA}.{PREFIX}passage_vectors",
        PAGES: f"{POSTGRESQL_SCHEMA}.{PREFIX}page_vectors",
    }
    _classes: ClassVar[Mapping[str, str]] = {PASSAGES: "ABDC", PAGES: "ABDC"}  # of the columns, in order
    _weights = "'{0.3, 0.4, 0.8, 1.0}'"  # of the classes D, C, B, A
    _longest = 200_000  # characters of a column; PostgreSQL refuses more than 1 MB of words

    def create(self, connection: Connection) -> None:
        """Create missing tables."""
        columns = "id bigint PRIMARY KEY, source_id integer NOT NULL, words tsvector NOT NULL"
        for of, table in self._tables.items():
            index = f"CREATE INDEX IF NOT EXISTS {PREFIX}{of}_vectors"
            connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            connection.exec_driver_sql(f"{index}_gin ON {table} USING gin (words)")
            connection.exec_driver_sql(f"{index}_source ON {table} (source_id)")

    def add(self, connection: Connection, of: str, source: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write words, separated by spaces, so that the parser takes none for a URL, address or file name."""
        words = " || ".join(
            f"setweight(to_tsvector('{'simple' if name == 'parts' else 'english'}', :{name}), '{weight}')"
            for name, weight in zip(COLUMNS[of], self._classes[of], strict=True)
        )
        plain = [[_NO_WORD.sub(" ", one[: self._longest]) for one in texts] for _, *texts in rows]
        values = [
            {"id": row[0], "source": source, **dict(zip(COLUMNS[of], texts, strict=True))}
            for row, texts in zip(rows, plain, strict=True)
        ]
        if values:
            into = f"INSERT INTO {self._tables[of]} (id, source_id, words)"
            connection.execute(text(f"{into} VALUES (:id, :source, {words})"), values)

    def delete(self, connection: Connection, of: str, ids: Sequence[int]) -> None:
        """Delete the words of rows."""
        statement = f"DELETE FROM {self._tables[of]} WHERE id = ANY(:ids)"  # noqa: S608
        connection.execute(text(statement), {"ids": list(ids)})

    def clear(self, connection: Connection, source: int) -> None:
        """Delete every word of a source."""
        for table in self._tables.values():
            statement = f"DELETE FROM {table} WHERE source_id = :source"  # noqa: S608
            connection.execute(text(statement), {"source": source})

    def expression(self, term: Term) -> str:
        """The words of a term, for `_tsquery`; `=` before those that are word parts."""
        return " ".join(term.words) if term.words else "=" + " ".join(term.parts)

    def prefix(self, term: Term) -> str | None:
        """The only word with `*`."""
        is_word = len(term.words) == 1 and len(term.words[0]) > 2
        return f"{term.words[0]}*" if is_word and not term.required else None

    def count(self, connection: Connection, of: str, source: int, expression: str) -> int:
        """Count rows."""
        sql, values = _tsquery(0, expression)
        where = f"FROM {self._tables[of]} WHERE source_id = :source AND words @@ {sql}"
        found = connection.execute(text(f"SELECT count(*) {where}"), {"source": source, **values})
        return int(found.scalar_one())

    def best(
        self, connection: Connection, of: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]:
        """Rank by `ts_rank` and inverse document frequency."""
        if not query.expressions:
            return []
        queries = {place: _tsquery(place, expression) for place, expression in query.expressions.items()}
        values: dict[str, Any] = {"source": source, "limit": query.limit}
        for place, (_, given) in queries.items():
            values |= given | {f"rarity{place}": query.rarity[place]}
        holds = {place: f"words @@ {sql}" for place, (sql, _) in queries.items()}
        score = " + ".join(
            f":rarity{place} * ts_rank({self._weights}, words, {sql}, 1)"
            for place, (sql, _) in queries.items()
        )
        needed = "".join(f" AND {holds[place]}" for place in query.required if place in holds)
        statement = (
            f"SELECT id, {score} AS score, {', '.join(holds.values())} FROM {self._tables[of]} "  # noqa: S608
            f"WHERE source_id = :source AND ({' OR '.join(holds.values())}){needed} "
            "ORDER BY score DESC, id LIMIT :limit"
        )
        return [
            (row[0], row[1], frozenset(place for place, held in zip(holds, row[2:], strict=True) if held))
            for row in connection.execute(text(statement), values)
        ]

    def vocabulary(self, connection: Connection, source: int) -> list[str]:
        """Every word of the passages."""
        inner = f"SELECT words FROM {self._tables[PASSAGES]} WHERE source_id = {int(source)}"  # noqa: S608
        return list(connection.execute(text("SELECT word FROM ts_stat(:inner)"), {"inner": inner}).scalars())
