"""The tables of a search index: pages, passages, links, and the full-text tables in SQLite FTS5 or PostgreSQL.

One database holds one source (SQLite) or many (PostgreSQL). The index can always be rebuilt from the page
store: tables of another schema version are not migrated, a new index is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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

VERSION = 2
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
    Column("run", Text, nullable=False),  # the last run whose outlines are indexed
    Column("next_id", BigInteger, nullable=False),  # of a page, passage or row of words; never used twice
    Column("dead", BigInteger, nullable=False),  # passages whose words are still in the index
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
    Column("target", BigInteger, nullable=False),  # `pages.target_of` its URL
    Column("passages", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("own", Text, nullable=False),  # what llms.txt and the page say of it
    Column("hints", Text, nullable=False),  # the same with the texts of links to it, as indexed
    Column("headings", Text, nullable=False),
    Column("optional", Boolean, nullable=False),
    Column("words", BigInteger),  # its row of words; null until hints are indexed
    Column("stale", Boolean, nullable=False),  # its hints are to be written again
    Index(f"{PREFIX}page_key", "source_id", "key", unique=True),
    Index(f"{PREFIX}page_target", "source_id", "target"),
    Index(f"{PREFIX}page_document", "document"),
    Index(f"{PREFIX}page_words", "words"),
)
IS_STALE = page.c.stale.is_(True)
Index(f"{PREFIX}page_stale", page.c.source_id, sqlite_where=IS_STALE, postgresql_where=IS_STALE)

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
    Column("target", BigInteger, nullable=False),  # `pages.target_of` the URL without its fragment
    Column("said", Text, nullable=False),  # JSON: [[fragment, text of the link], …]
    Index(f"{PREFIX}link_page", "page_id"),
    Index(f"{PREFIX}link_target", "source_id", "target"),
)


def drop_other_versions(connection: Connection) -> None:
    """Drop the tables of an index of another version, where there are some and none of this one."""
    schema = None if connection.dialect.name == "sqlite" else POSTGRESQL_SCHEMA
    names = [name for name in inspect(connection).get_table_names(schema) if _OF_ANY_VERSION.match(name)]
    if source.name in names:
        return
    virtual = ("_vocabulary", "_fts")
    for name in sorted(names, key=lambda name: not name.endswith(virtual)):
        qualified = f"{schema}.{name}" if schema else name
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {qualified}")  # FTS5's own tables go with theirs


def insert_rows(connection: Connection, into: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of all columns of a table, in their order: with many rows that takes a third of the time of dicts."""
    is_sqlite = connection.dialect.name == "sqlite"
    _insert(
        connection, into.name if is_sqlite else f"{POSTGRESQL_SCHEMA}.{into.name}", into.columns.keys(), rows
    )


def _insert(
    connection: Connection, into: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    if rows:
        marks = ", ".join(["?" if connection.dialect.name == "sqlite" else "%s"] * len(columns))
        statement = f"INSERT INTO {into} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        connection.exec_driver_sql(statement, list(rows))


PASSAGE_WORDS = ("title", "headings", "body", "beside")
PAGE_WORDS = ("title", "hints", "url", "headings", "beside")
"""The texts of a passage and of a page whose words are written, in the order of rows."""


class Words(Protocol):
    """The words of passages and pages in one database: written, counted, and ranked."""

    keeps_deleted_words: ClassVar[bool]
    passages: ClassVar[str]
    pages: ClassVar[str]

    def create(self, connection: Connection) -> None: ...  # noqa: D102
    def add(  # noqa: D102
        self, connection: Connection, table: str, source: int, rows: Sequence[tuple[Any, ...]]
    ) -> None: ...
    def delete(self, connection: Connection, table: str, ids: Sequence[int]) -> None: ...  # noqa: D102
    def clear(self, connection: Connection, source: int) -> None: ...  # noqa: D102
    def match(self, term: Term) -> str: ...  # noqa: D102
    def prefix(self, term: Term) -> str | None: ...  # noqa: D102
    def count(self, connection: Connection, table: str, source: int, expression: str) -> int: ...  # noqa: D102
    def best(  # noqa: D102
        self, connection: Connection, table: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]: ...
    def vocabulary(self, connection: Connection, source: int) -> Iterator[tuple[str, int]]: ...  # noqa: D102


_VOCABULARY = f"{PREFIX}vocabulary"
AUTOMERGE = 16
"""FTS5's `automerge`: segments merged at once; with the default of 4 the same words are written twice as often."""
_TOKENIZER = "content='', tokenize='porter unicode61 remove_diacritics 2'"


def _phrase(words: Sequence[str]) -> str:
    return '"' + " ".join(words) + '"'


class Fts5Words:
    """Words in SQLite FTS5.

    The tables hold no text (`content=''`), so SQLite before 3.43 cannot delete words: rows of deleted pages stay until
    the index is rebuilt; joining with the tables above filters them.
    """

    keeps_deleted_words: ClassVar[bool] = True
    passages: ClassVar[str] = f"{PREFIX}passage_fts"
    pages: ClassVar[str] = f"{PREFIX}page_fts"
    _weights: ClassVar[dict[str, str]] = {
        passages: "bm25(5.0, 3.0, 1.0, 1.0)",
        pages: "bm25(6.0, 4.0, 2.0, 1.0, 1.0)",
    }
    _columns: ClassVar[dict[str, Any]] = {
        passages: PASSAGE_WORDS,
        pages: PAGE_WORDS,
    }

    def create(self, connection: Connection) -> None:
        """Create missing tables."""
        known = connection.execute(
            text("SELECT 1 FROM sqlite_master WHERE name = :name"), {"name": self.passages}
        ).scalar()
        if known:
            return
        for table, columns in self._columns.items():
            connection.exec_driver_sql(
                f"CREATE VIRTUAL TABLE {table} USING fts5({', '.join(columns)}, {_TOKENIZER})"
            )
            options = [("rank", self._weights[table]), ("automerge", AUTOMERGE)]
            connection.exec_driver_sql(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", options)  # noqa: S608
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE {_VOCABULARY} USING fts5vocab({self.passages}, row)"
        )

    def add(self, connection: Connection, table: str, source: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write words: rows of a number and the texts, as `PASSAGE_WORDS` and `PAGE_WORDS` name them."""
        _insert(connection, table, ("rowid", *self._columns[table]), rows)

    def delete(self, connection: Connection, table: str, ids: Sequence[int]) -> None:
        """Do nothing: the words stay until the index is rebuilt."""

    def clear(self, connection: Connection, source: int) -> None:
        """Delete every word."""
        for table in self._columns:
            connection.exec_driver_sql(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608

    def match(self, term: Term) -> str:
        """The expression of a term; every word is quoted, so none is an operator."""
        found = [_phrase(term.words)] if term.words else []
        if term.beside:
            found += [f"beside : {_phrase(term.beside)}", _phrase(term.beside)]
        return " OR ".join(found)

    def prefix(self, term: Term) -> str | None:
        """The expression of a term whose last word is a prefix; None where it is too short."""
        return (
            f"{_phrase(term.words)} *"
            if term.words and len(term.words[-1]) > 2 and not term.required
            else None
        )

    def count(self, connection: Connection, table: str, source: int, expression: str) -> int:
        """How many rows hold a term."""
        statement = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
        return int(connection.exec_driver_sql(statement, (expression,)).scalar_one())

    def best(
        self, connection: Connection, table: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]:
        """The best rows: id, score, and the terms (by place) in each.

        Rows of deleted pages are among them: set a higher limit.
        """
        if not query.expressions:
            return []
        every = "(" + " OR ".join(f"({one})" for one in query.expressions.values()) + ")"
        whole = " AND ".join(
            [
                every,
                *(f"({query.expressions[place]})" for place in query.required if place in query.expressions),
            ]
        )
        statement = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"  # noqa: S608
        found = connection.exec_driver_sql(statement, (whole, query.limit)).fetchall()
        rows = {place: self._rows(connection, table, one) for place, one in query.expressions.items()}
        return [(row, -rank, frozenset(place for place in rows if row in rows[place])) for row, rank in found]

    def _rows(self, connection: Connection, table: str, expression: str) -> frozenset[int]:
        statement = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608
        return frozenset(connection.exec_driver_sql(statement, (expression,)).scalars())

    def vocabulary(self, connection: Connection, source: int) -> Iterator[tuple[str, int]]:
        """Every word (its stem) with the number of passages that hold it."""
        for row in connection.exec_driver_sql(f"SELECT term, doc FROM {_VOCABULARY}"):  # noqa: S608
            yield row[0], row[1]


_LONGEST = 200_000
"""Characters of one column; PostgreSQL refuses more than 1 MB of words."""
_NO_WORD = re.compile(r"[\W_]+")


def _query(place: int, expression: str) -> tuple[str, dict[str, str]]:
    """The SQL of a term's tsquery, and its values."""
    name = f"term{place}"
    if expression.startswith("="):
        beside = f"phraseto_tsquery('simple', :{name})"
        return f"({beside} || phraseto_tsquery('english', :{name}))", {name: expression[1:]}
    if expression.endswith("*"):
        return f"to_tsquery('simple', :{name})", {
            name: f"{expression[:-1]}:*"
        }  # one word of letters and digits
    return f"phraseto_tsquery('english', :{name})", {name: expression}


def _plain(value: str) -> str:
    """Separate words by spaces, so that PostgreSQL's parser takes none for a URL, address or file name."""
    return _NO_WORD.sub(" ", value[:_LONGEST])


class TsvectorWords:
    """Words in PostgreSQL's full text search.

    `ts_rank` ignores how rare a word is, so the score of a row is the sum over the terms of `ts_rank` times inverse
    document frequency.
    """

    keeps_deleted_words: ClassVar[bool] = False
    passages: ClassVar[str] = f"{PREFIX}passage_vectors"
    pages: ClassVar[str] = f"{PREFIX}page_vectors"
    _weights = "'{0.3, 0.4, 0.8, 1.0}'"  # of D (body), C (beside), B (headings, hints), A (title)
    _columns: ClassVar[dict[str, Any]] = {
        passages: {"title": "A", "headings": "B", "beside": "C", "body": "D"},
        pages: {"title": "A", "hints": "B", "beside": "C", "url": "B", "headings": "D"},
    }

    def create(self, connection: Connection) -> None:
        """Create missing tables."""
        for table in self._columns:
            name = f"{POSTGRESQL_SCHEMA}.{table}"
            connection.execute(
                text(
                    f"CREATE TABLE IF NOT EXISTS {name} "
                    "(id bigint PRIMARY KEY, source_id integer NOT NULL, words tsvector NOT NULL)"
                )
            )
            connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_gin ON {name} USING gin (words)"))
            connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_source ON {name} (source_id)"))

    def add(self, connection: Connection, table: str, source: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write words: rows of a number and the texts, as `PASSAGE_WORDS` and `PAGE_WORDS` name them."""
        words = " || ".join(
            f"setweight(to_tsvector('{'simple' if name == 'beside' else 'english'}', :{name}), '{weight}')"
            for name, weight in self._columns[table].items()
        )
        names = PASSAGE_WORDS if table == self.passages else PAGE_WORDS
        values = [
            {
                "id": number,
                "source": source,
                **dict(zip(names, map(_plain, texts), strict=True)),
            }
            for number, *texts in rows
        ]
        if values:
            statement = f"INSERT INTO {POSTGRESQL_SCHEMA}.{table} (id, source_id, words) VALUES (:id, :source, {words})"  # noqa: S608
            connection.execute(text(statement), values)

    def delete(self, connection: Connection, table: str, ids: Sequence[int]) -> None:
        """Delete the words of rows."""
        statement = f"DELETE FROM {POSTGRESQL_SCHEMA}.{table} WHERE id = ANY(:ids)"  # noqa: S608
        connection.execute(text(statement), {"ids": list(ids)})

    def clear(self, connection: Connection, source: int) -> None:
        """Delete every word of a source."""
        for table in self._columns:
            statement = f"DELETE FROM {POSTGRESQL_SCHEMA}.{table} WHERE source_id = :source"  # noqa: S608
            connection.execute(text(statement), {"source": source})

    def match(self, term: Term) -> str:
        """The words of a term, for `_query`; `=` before those to be found among the words of `words.beside`."""
        return " ".join(term.words) if term.words else "=" + " ".join(term.beside)

    def prefix(self, term: Term) -> str | None:
        """The prefix expression (`word*`) of a term; None where it is too short."""
        whole = len(term.words) == 1 and len(term.words[0]) > 2 and not term.required
        return f"{term.words[0]}*" if whole else None

    def count(self, connection: Connection, table: str, source: int, expression: str) -> int:
        """How many rows hold a term."""
        sql, values = _query(0, expression)
        statement = (
            f"SELECT count(*) FROM {POSTGRESQL_SCHEMA}.{table} WHERE source_id = :source AND words @@ {sql}"  # noqa: S608
        )
        return int(connection.execute(text(statement), {"source": source, **values}).scalar_one())

    def best(
        self, connection: Connection, table: str, source: int, query: IndexQuery
    ) -> list[tuple[int, float, frozenset[int]]]:
        """The best rows: id, score, and the terms (by place) in each."""
        if not query.expressions:
            return []
        queries = {place: _query(place, expression) for place, expression in query.expressions.items()}
        values: dict[str, Any] = {"source": source, "limit": query.limit}
        for place, (_, given) in queries.items():
            values |= given | {f"rarity{place}": query.rarity[place]}
        score = " + ".join(
            f":rarity{place} * ts_rank({self._weights}, words, {sql}, 1)"
            for place, (sql, _) in queries.items()
        )
        holds = ", ".join(f"words @@ {sql}" for sql, _ in queries.values())
        where = " OR ".join(f"words @@ {sql}" for sql, _ in queries.values())
        needed = "".join(f" AND words @@ {queries[place][0]}" for place in query.required if place in queries)
        statement = (
            f"SELECT id, {score} AS score, {holds} FROM {POSTGRESQL_SCHEMA}.{table} "  # noqa: S608
            f"WHERE source_id = :source AND ({where}){needed} ORDER BY score DESC, id LIMIT :limit"
        )
        return [
            (row[0], row[1], frozenset(place for place, held in zip(queries, row[2:], strict=True) if held))
            for row in connection.execute(text(statement), values)
        ]

    def vocabulary(self, connection: Connection, source: int) -> Iterator[tuple[str, int]]:
        """Every word (its stem) with the number of passages that hold it."""
        inner = f"SELECT words FROM {POSTGRESQL_SCHEMA}.{self.passages} WHERE source_id = {int(source)}"  # noqa: S608
        found = connection.execute(text("SELECT word, ndoc FROM ts_stat(:inner)"), {"inner": inner})
        yield from ((row.word, row.ndoc) for row in found)
