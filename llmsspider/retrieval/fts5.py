"""Words of passages and pages in SQLite FTS5.

The tables hold no text (`content=''`), so SQLite before 3.43 cannot take words out: rows of pages that are gone
stay until the index is
made again, and are left out by what they are joined with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from llmsspider.retrieval.schema import PREFIX
from llmsspider.retrieval.words import IndexQuery, Term

KEEPS_DEAD_WORDS = True

PASSAGES = f"{PREFIX}passage_fts"
PAGES = f"{PREFIX}page_fts"
_VOCABULARY = f"{PREFIX}vocabulary"
_TOKENIZER = "content='', tokenize='porter unicode61 remove_diacritics 2'"
_WEIGHTS = {PASSAGES: "bm25(5.0, 3.0, 1.0, 1.0)", PAGES: "bm25(6.0, 4.0, 2.0, 1.0, 1.0)"}
_COLUMNS = {
    PASSAGES: ("title", "headings", "body", "beside"),
    PAGES: ("title", "hints", "url", "headings", "beside"),
}


def create(connection: Connection) -> None:
    """Make the tables that are not there."""
    known = connection.execute(
        text("SELECT 1 FROM sqlite_master WHERE name = :name"), {"name": PASSAGES}
    ).scalar()
    if known:
        return
    for table, columns in _COLUMNS.items():
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE {table} USING fts5({', '.join(columns)}, {_TOKENIZER})"
        )
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({table}, rank) VALUES ('rank', ?)",  # noqa: S608
            (_WEIGHTS[table],),
        )
    connection.exec_driver_sql(f"CREATE VIRTUAL TABLE {_VOCABULARY} USING fts5vocab({PASSAGES}, row)")


def add(connection: Connection, table: str, source: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write words: rows of `id` and the columns of the table."""
    names = ("id", *_COLUMNS[table])
    marks = ", ".join("?" * len(names))
    values = [tuple(row[name] for name in names) for row in rows]
    if values:
        columns = ", ".join(("rowid", *_COLUMNS[table]))
        connection.exec_driver_sql(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608


def forget(connection: Connection, table: str, ids: Sequence[int]) -> None:
    """Leave the words where they are: what they belong to is gone."""


def clear(connection: Connection, source: int) -> None:
    """Take out every word."""
    for table in _COLUMNS:
        connection.exec_driver_sql(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608


def match(term: Term) -> str:
    """The expression of a term; every word is quoted, so none is an operator."""
    found = [_phrase(term.words)] if term.words else []
    if term.beside:
        found += [f"beside : {_phrase(term.beside)}", _phrase(term.beside)]
    return " OR ".join(found)


def opened(term: Term) -> str | None:
    """The expression of a term whose last word may go on; None where it is too short."""
    return (
        f"{_phrase(term.words)} *" if term.words and len(term.words[-1]) > 2 and not term.required else None
    )


def count(connection: Connection, table: str, source: int, expression: str) -> int:
    """How many rows hold a term."""
    statement = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
    return int(connection.exec_driver_sql(statement, (expression,)).scalar_one())


def best(
    connection: Connection, table: str, source: int, asked: IndexQuery
) -> list[tuple[int, float, frozenset[int]]]:
    """The rows that fit best: id, score, and which terms (by place) they hold.

    Rows of pages that are gone are among them: ask for some more.
    """
    if not asked.expressions:
        return []
    every = "(" + " OR ".join(f"({one})" for one in asked.expressions.values()) + ")"
    whole = " AND ".join(
        [every, *(f"({asked.expressions[place]})" for place in asked.required if place in asked.expressions)]
    )
    statement = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"  # noqa: S608
    found = connection.exec_driver_sql(statement, (whole, asked.limit)).fetchall()
    rows = {place: _rows(connection, table, one) for place, one in asked.expressions.items()}
    return [(row, -rank, frozenset(place for place in rows if row in rows[place])) for row, rank in found]


def _rows(connection: Connection, table: str, expression: str) -> frozenset[int]:
    statement = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608
    return frozenset(connection.exec_driver_sql(statement, (expression,)).scalars())


def vocabulary(connection: Connection, source: int) -> Iterator[tuple[str, int]]:
    """Every word (its stem) with the number of passages that hold it."""
    for row in connection.exec_driver_sql(f"SELECT term, doc FROM {_VOCABULARY}"):  # noqa: S608
        yield row[0], row[1]


def _phrase(words: Sequence[str]) -> str:
    return '"' + " ".join(words) + '"'
