"""Words of passages and pages in PostgreSQL's full text search.

Its ranking knows no rarity of words, so that is multiplied in: the score of a row is the sum of `ts_rank` of each
term times its inverse
document frequency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from llmsspider.retrieval.schema import PREFIX
from llmsspider.retrieval.words import IndexQuery, Term
from llmsspider.store.database import POSTGRESQL_SCHEMA

KEEPS_DEAD_WORDS = False

PASSAGES = f"{PREFIX}passage_vectors"
PAGES = f"{PREFIX}page_vectors"
_WEIGHTS = "'{0.3, 0.4, 0.8, 1.0}'"  # of D (body), C (beside), B (headings, hints), A (title)
_COLUMNS = {
    PASSAGES: {"title": "A", "headings": "B", "beside": "C", "body": "D"},
    PAGES: {"title": "A", "hints": "B", "beside": "C", "url": "B", "headings": "D"},
}
_LONGEST = 200_000
"""Characters of one column; PostgreSQL refuses more than 1 MB of words."""

_NO_WORD = re.compile(r"[\W_]+")


def create(connection: Connection) -> None:
    """Make the tables that are not there."""
    for table in _COLUMNS:
        name = f"{POSTGRESQL_SCHEMA}.{table}"
        connection.execute(
            text(
                f"CREATE TABLE IF NOT EXISTS {name} "
                "(id bigint PRIMARY KEY, source_id integer NOT NULL, words tsvector NOT NULL)"
            )
        )
        connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_gin ON {name} USING gin (words)"))
        connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_source ON {name} (source_id)"))


def add(connection: Connection, table: str, source: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write words: rows of `id` and the columns of the table."""
    words = " || ".join(
        f"setweight(to_tsvector('{'simple' if name == 'beside' else 'english'}', :{name}), '{weight}')"
        for name, weight in _COLUMNS[table].items()
    )
    values = [
        {"id": row["id"], "source": source, **{name: _plain(row[name]) for name in _COLUMNS[table]}}
        for row in rows
    ]
    if values:
        statement = (
            f"INSERT INTO {POSTGRESQL_SCHEMA}.{table} (id, source_id, words) VALUES (:id, :source, {words})"  # noqa: S608
        )
        connection.execute(text(statement), values)


def forget(connection: Connection, table: str, ids: Sequence[int]) -> None:
    """Take out the words of rows."""
    statement = f"DELETE FROM {POSTGRESQL_SCHEMA}.{table} WHERE id = ANY(:ids)"  # noqa: S608
    connection.execute(text(statement), {"ids": list(ids)})


def clear(connection: Connection, source: int) -> None:
    """Take out every word of a source."""
    for table in _COLUMNS:
        statement = f"DELETE FROM {POSTGRESQL_SCHEMA}.{table} WHERE source_id = :source"  # noqa: S608
        connection.execute(text(statement), {"source": source})


def match(term: Term) -> str:
    """The words of a term, for `_query`; `=` before those that stand beside a text."""
    return " ".join(term.words) if term.words else "=" + " ".join(term.beside)


def opened(term: Term) -> str | None:
    """A word that may go on, with `*` behind it; None where it is too short."""
    whole = len(term.words) == 1 and len(term.words[0]) > 2 and not term.required
    return f"{term.words[0]}*" if whole else None


def count(connection: Connection, table: str, source: int, expression: str) -> int:
    """How many rows hold a term."""
    sql, values = _query(0, expression)
    statement = (
        f"SELECT count(*) FROM {POSTGRESQL_SCHEMA}.{table} WHERE source_id = :source AND words @@ {sql}"  # noqa: S608
    )
    return int(connection.execute(text(statement), {"source": source, **values}).scalar_one())


def best(
    connection: Connection, table: str, source: int, asked: IndexQuery
) -> list[tuple[int, float, frozenset[int]]]:
    """The rows that fit best: id, score, and which terms (by place) they hold."""
    if not asked.expressions:
        return []
    queries = {place: _query(place, expression) for place, expression in asked.expressions.items()}
    values: dict[str, Any] = {"source": source, "limit": asked.limit}
    for place, (_, given) in queries.items():
        values |= given | {f"rarity{place}": asked.rarity[place]}
    score = " + ".join(
        f":rarity{place} * ts_rank({_WEIGHTS}, words, {sql}, 1)" for place, (sql, _) in queries.items()
    )
    holds = ", ".join(f"words @@ {sql}" for sql, _ in queries.values())
    where = " OR ".join(f"words @@ {sql}" for sql, _ in queries.values())
    needed = "".join(f" AND words @@ {queries[place][0]}" for place in asked.required if place in queries)
    statement = (
        f"SELECT id, {score} AS score, {holds} FROM {POSTGRESQL_SCHEMA}.{table} "  # noqa: S608
        f"WHERE source_id = :source AND ({where}){needed} ORDER BY score DESC, id LIMIT :limit"
    )
    return [
        (row[0], row[1], frozenset(place for place, held in zip(queries, row[2:], strict=True) if held))
        for row in connection.execute(text(statement), values)
    ]


def vocabulary(connection: Connection, source: int) -> Iterator[tuple[str, int]]:
    """Every word (its stem) with the number of passages that hold it."""
    inner = f"SELECT words FROM {POSTGRESQL_SCHEMA}.{PASSAGES} WHERE source_id = {int(source)}"  # noqa: S608
    found = connection.execute(text("SELECT word, ndoc FROM ts_stat(:inner)"), {"inner": inner})
    yield from ((row.word, row.ndoc) for row in found)


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
    """Words apart, so that PostgreSQL's parser takes none for an address or a file name."""
    return _NO_WORD.sub(" ", value[:_LONGEST])
