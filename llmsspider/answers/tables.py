"""The tables of a search index, and what is written into them: pages, passages, links to fragments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from llmsspider.answers.ranking import outline_of
from llmsspider.answers.words import WordParts, passages, word_parts
from llmsspider.store import PageRecord

LinkedPage = tuple[PageRecord, Iterable[Sequence[str]]]
"""A page with its content, and text and URL of each link in that."""

MAX_PAGE_PASSAGES = 2000
"""Maximum number of passages of one page that are indexed: about 3 MB of text."""

MAX_LINKS, MAX_LINK_TEXT = 500, 120
"""Maximum number of links of one page to fragments of pages that are kept, and of characters of their texts."""

SEPARATOR = "\x1f"  # between the headings of a passage
VERSION = 4  # of the tables and of what is written into them

TABLES = """
-- seq: of the last change that is indexed; run: the last one whose titles and notes are; next_id: of a page or passage,
-- never used twice; dead: passages that are deleted, but for their words
CREATE TABLE state (store TEXT, seq INTEGER, run TEXT, next_id INTEGER, dead INTEGER);
CREATE TABLE page (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE, hash BLOB, document TEXT UNIQUE, url TEXT, passages INTEGER,
    title TEXT, hints TEXT, optional INTEGER
);
CREATE INDEX page_url ON page (url);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY, page INTEGER, start INTEGER, stop INTEGER, headings TEXT, digest BLOB
);
CREATE INDEX passage_page ON passage (page);
CREATE TABLE link (page INTEGER, url TEXT, fragment TEXT, text TEXT);
CREATE INDEX link_page ON link (page);
CREATE INDEX link_url ON link (url);
CREATE VIRTUAL TABLE passage_words USING fts5(
    title, headings, body, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE page_words USING fts5(
    title, hints, headings, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO passage_words (passage_words, rank) VALUES ('rank', 'bm25(5.0, 3.0, 1.0, 1.0)');
INSERT INTO page_words (page_words, rank) VALUES ('rank', 'bm25(6.0, 4.0, 1.0, 1.0)');
-- segments merged at once: with the default of 4 the same words are written twice as often
INSERT INTO passage_words (passage_words, rank) VALUES ('automerge', 16);
"""


def clear(connection: Connection) -> None:
    """Empty the tables."""
    for table in ("page", "passage", "link"):
        connection.exec_driver_sql(f"DELETE FROM {table}")  # noqa: S608
        if table != "link":
            connection.exec_driver_sql(f"INSERT INTO {table}_words ({table}_words) VALUES ('delete-all')")  # noqa: S608
    connection.exec_driver_sql("UPDATE state SET seq = 0, run = '', dead = 0")


def replace_pages(
    connection: Connection, seqs: Mapping[bytes, int | None], pages: Sequence[LinkedPage]
) -> None:
    """Replace pages, given the numbers of their changes; what another process has indexed meanwhile stays as it is."""
    state = connection.exec_driver_sql("SELECT * FROM state").one()
    todo = {key: seq for key, seq in seqs.items() if seq is None or seq > state.seq}
    ids = tuple(
        connection.exec_driver_sql(rows_in("SELECT id FROM page WHERE key", todo), tuple(todo)).scalars()
    )
    dead = connection.exec_driver_sql(rows_in("DELETE FROM passage WHERE page", ids), ids).rowcount
    connection.exec_driver_sql(rows_in("DELETE FROM link WHERE page", ids), ids)
    connection.exec_driver_sql(rows_in("DELETE FROM page WHERE id", ids), ids)
    next_id = _add(connection, [page for page in pages if page[0].key in todo], state.next_id)
    seq = max([state.seq, *(one for one in todo.values() if one is not None)])
    values = (seq, next_id, state.dead + dead)
    connection.exec_driver_sql("UPDATE state SET seq = ?, next_id = ?, dead = ?", values)


def _add(connection: Connection, pages: Sequence[LinkedPage], next_id: int) -> int:
    """Cut pages into passages and insert them; returns the next free number."""
    rows: dict[str, list[tuple[Any, ...]]] = {
        "page": [],
        "passage": [],
        "link": [],
        "page_words (rowid, title, hints, headings, parts)": [],
        "passage_words (rowid, title, headings, body, parts)": [],
    }
    of_pages, of_passages, of_links, words_of_pages, words_of_passages = rows.values()
    for record, links in pages:
        number, next_id = next_id, next_id + 1
        content = record.content or ""
        found = list(islice(passages(content), MAX_PAGE_PASSAGES))
        title, hints, optional = outline_of(record)
        every = "\n".join(dict.fromkeys(heading for one in found for heading in one.heading_path))
        ids = (number, record.key, bytes.fromhex(record.content_hash or ""), record.id, record.url)
        of_pages.append((*ids, len(found), title, hints, optional))
        words_of_pages.append((number, title, hints, every, word_parts(f"{title}\n{hints}\n{every}")))
        parted = ((text[:MAX_LINK_TEXT], *url.partition("#")) for text, url in links)
        to_fragments = dict.fromkeys((number, url, part, text) for text, url, _, part in parted if part)
        of_links += islice(to_fragments, MAX_LINKS)
        title_parts, parts = word_parts(title), WordParts(content)
        path: tuple[str, ...] = ()
        headings = below = ""
        for one in found:
            if one.heading_path is not path:  # the passages of a section share theirs
                path = one.heading_path
                headings = SEPARATOR.join(path)
                below = "\n".join([heading for heading in path if heading != title])
            of_passages.append((next_id, number, one.start, one.end, headings, None))
            further = f"{title_parts} {parts.of(one.start, one.end)}"
            words_of_passages.append((next_id, title, below, content[one.start : one.end], further))
            next_id += 1
    for into, of_table in rows.items():
        if of_table:
            marks = ", ".join("?" * len(of_table[0]))
            connection.exec_driver_sql(f"INSERT INTO {into} VALUES ({marks})", of_table)  # noqa: S608
    return next_id


def rows_in(statement: str, values: Collection[Any]) -> str:
    """A statement that ends with a column, for rows where that has one of the values."""
    return f"{statement} IN ({', '.join('?' * len(values))})"
