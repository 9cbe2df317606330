"""The search index of a source: made from its page store, updated with its changes, searched for
candidates.

It is a SQLite file with full-text tables (FTS5), which hold no text, only words and the offsets of
each passage in the content that the store keeps. It can always be made anew: a file of another
version, or a damaged one, is.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice, repeat
from math import log
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from llmsspider.answers.fragments import FragmentRule, Known, proven_rule, slug
from llmsspider.answers.ranking import (
    Candidates,
    Hit,
    PageSignals,
    outline_of,
    version_key,
)
from llmsspider.answers.words import Query, Term, digest_of, passages, word_parts
from llmsspider.content.markdown.chunks import Span
from llmsspider.errors import SearchError
from llmsspider.store import CONTENT, OUTLINE, PageRecord, Store
from llmsspider.store.database import batches, connect_sqlite, delete_sqlite
from llmsspider.web.trees import replaced, tree_of

T = TypeVar("T")

MAX_ROWS = 240
"""Maximum number of passages, and of pages by their title, hints and headings, that are considered
for a query.
"""

BATCH = 100  # pages of one transaction
MAX_PROOFS = 500  # links, and ids of headings, that are looked at for the rule

_DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
"""Codes of SQLite for a file that is none of its own, damaged, or lacks tables that we need."""

_ENDING = re.compile(r"(?:/index)?(?:\.html?|\.md)?/?$")
ENDINGS = ("", "/", ".html", ".md", "/index.html", "/index.md")

Change = tuple[bytes, int | None, PageRecord | None]
"""A page to index anew: its key, the number of its change, and its record, None for one deleted."""

_HIT = (
    "SELECT passage.id, page.key, page.hash, start, stop, headings, digest "
    "FROM passage JOIN page ON page.id = passage.page WHERE "
)


class DamagedIndexError(SearchError):
    """The file of an index was of another version, or damaged: it is deleted."""


class IndexFile:
    """A SQLite file of an index, which can be made anew at any time.

    SQLite's own driver is used: a query is about ten fixed statements, on whose time SQLAlchemy
    doubled.
    """

    def __init__(self, path: Path):
        self._path = path
        with self._faults():
            self._connection = connect_sqlite(str(path))

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._faults():
            return self._connection.execute(statement, values).fetchall()

    def _in(self, statement: str, values: Iterable[Any]) -> list[Any]:
        given = list(values)
        return self._all(rows_in(statement, given), *given) if given else []

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed at the end, rolled back on an exception."""
        with self._faults():
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                yield self._connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn errors of SQLite into `SearchError`; a file that is damaged is deleted."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            is_no_text = code is None and isinstance(error, sqlite3.OperationalError)
            if is_no_text or (code or 0) & 0xFF in _DAMAGE:
                self._delete(str(error))
            raise SearchError(f"search index {self._path}: {error}") from error

    def _delete(self, why: str) -> NoReturn:
        self.close()
        delete_sqlite(self._path)
        raise DamagedIndexError(f"search index {self._path}: {why}")

    def close(self) -> None:
        """Close the file; idempotent."""
        with suppress(sqlite3.Error, AttributeError):
            self._connection.close()


class IndexState(NamedTuple):
    """The row of the table `state`."""

    store: str
    seq: int
    run: str
    next_id: int
    dead: int


class SourceIndex(IndexFile):
    """The index of one source. Several processes may use it at once; use an object from one thread
    at a time.

    `store` identifies the store: another value than before means that the source was deleted and
    crawled again, or that its pages were made anew by another version.
    """

    def __init__(self, path: Path, store: str):
        self._derived: dict[tuple[str, int], Any] = {}
        super().__init__(path)
        self._connection.row_factory = sqlite3.Row
        try:
            self._prepare(f"{VERSION} {store}")
        except SearchError:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path, store: str) -> Self:
        """Open or create the file of an index; one that is damaged, of another version or store is
        made anew.
        """
        try:
            return cls(path, store)
        except DamagedIndexError:
            return cls(path, store)

    def _prepare(self, store: str) -> None:
        tables = "SELECT name FROM sqlite_master"
        if not self._all(tables):
            with self._writing() as connection:
                statements = TABLES.split(";\n") if not self._all(tables) else ()
                for statement in filter(str.strip, statements):
                    connection.execute(statement)
                if statements:
                    connection.execute("INSERT INTO state VALUES (?, 0, '', 1, 0)", (store,))
        if self.state.store != store:
            self._delete("it is of another version or store")

    def sync(self, store: Store, run: str, until: Callable[[], bool] = lambda: False) -> bool:
        """Update the index with what changed in the store since the last call; returns whether it
        is up to date.

        `run` is the last one of the store that has ended. `until` is called after each batch; True
        stops there.
        """
        state = self.state
        if state.dead > max(self.count()[1], 200) or state.seq > store.last_seq():
            with self._writing() as connection:
                clear(connection)
            state = self.state
        changes = store.changes_since(state.seq, CONTENT)
        changed: Iterator[Change] = (
            (one.record.key, one.seq, None if one.change == "deleted" else one.record)
            for one in changes
        )
        is_later = state.seq and run != state.run
        outlines = self._changed_outlines(store) if is_later else iter(())
        for batch in chain(batches(changed, BATCH), batches(outlines, BATCH)):
            self._replace(store, batch)
            if until():
                return False
        with self._writing() as connection:
            connection.execute("UPDATE state SET run = ?", (run,))
        return True

    def _replace(self, store: Store, batch: Sequence[Change]) -> None:
        records = [record for _, _, record in batch if record is not None]
        links = store.links_of([record.key for record in records])
        pages = [(record, *links.get(record.key, ((), None))) for record in records]
        with self._writing() as connection:
            replace_pages(connection, {key: seq for key, seq, _ in batch}, pages)

    def _changed_outlines(self, store: Store) -> Iterator[Change]:
        """Yield the pages whose title or notes changed; their content may be as it was."""
        known = {row[0]: tuple(row[1:]) for row in self._all("SELECT key, title, hints FROM page")}
        records = (one.record for one in store.iter_pages(parts=OUTLINE))
        keys = [
            record.key
            for record in records
            if known.get(record.key, now := outline_of(record)) != now
        ]
        yield from zip(keys, repeat(None), store.load_pages(keys, CONTENT), strict=False)

    def candidates(self, query: Query, *, as_typed: bool = False) -> Candidates:
        """The passages and pages that fit a query best; none for a query without terms.

        `as_typed`: no other spelling is tried.
        """
        sought = [self._sought(term, as_typed=as_typed) for term in query.terms]
        held = [rows for _, rows in sought]
        unknown = [term for term, rows in zip(query.terms, held, strict=True) if not rows]
        there = " OR ".join(term.match for term, rows in sought if rows)
        required = [f"({term.match})" for term in query.terms if term.required]
        if not there or any(term.required for term in unknown):
            return Candidates(unknown=unknown)
        match = " AND ".join([f"({there})", *required])
        statement = "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        # words of deleted rows are found, too: SQLite before 3.43 cannot delete them
        best = self._all(statement, match, MAX_ROWS + min(self.state.dead, MAX_ROWS))
        scores = dict(best)
        pages = self._in("SELECT key, id FROM page WHERE id", scores)
        of_pages = {key: scores[row] for key, row in pages}
        strength = _strength(scores, held, sum(self.count()))
        return Candidates(self.hits(scores), of_pages, unknown, strength)

    def _sought(self, term: Term, *, as_typed: bool) -> tuple[Term, set[int]]:
        """The term as the pages spell it, and the rows that hold it."""
        rows = self._held(term)
        if rows or as_typed:
            return term, rows
        spelled = next(term.spellings(lambda other: bool(self._held(other))), None)
        return (term, rows) if spelled is None else (spelled, self._held(spelled))

    def _held(self, term: Term) -> set[int]:
        found = self._all("SELECT rowid FROM words WHERE words MATCH ?", term.match)
        return {row for (row,) in found}

    def hits(self, scores: Mapping[int, float]) -> list[Hit]:
        """The passages with the given numbers and scores."""
        return [_hit(row, scores[row["id"]]) for row in self._in(f"{_HIT} passage.id", scores)]

    def hits_where(self, condition: str, *values: Any) -> list[Hit]:
        """The passages that a condition of SQL selects, not scored."""
        return [_hit(row) for row in self._all(_HIT + condition, *values)]

    def vocabulary(self) -> list[str]:
        """Every word of the passages (its stem)."""
        made = (
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)"
        )
        self._connection.execute(made)
        return [word for (word,) in self._all("SELECT term FROM temp.vocabulary")]

    def fragments(self, url: str) -> list[Known]:
        """The known fragments of a page."""
        found = self._all("SELECT fragment, text, own FROM link WHERE url = ? ORDER BY rowid", url)
        return [Known(*row) for row in found]

    def fragment_rule(self, url: str) -> FragmentRule | None:
        """The rule by which the host of a page makes fragments of headings, as far as ids of its
        HTML, or links, prove one.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}/"
        return self._kept(origin, lambda: self._proven(origin))

    def _proven(self, origin: str) -> FragmentRule | None:
        begins = len(origin), origin, MAX_PROOFS
        statement = "SELECT text, fragment FROM link WHERE own AND substr(url, 1, ?) = ? LIMIT ?"
        own = {(heading, fragment) for heading, fragment in self._all(statement, *begins)}
        return proven_rule(own) or proven_rule(own | self._linked(*begins))

    def _linked(self, *begins: object) -> set[tuple[str, str]]:
        """Headings of pages that links lead to, each with the fragment of such a link."""
        linked = (
            "SELECT DISTINCT url, fragment, text FROM link WHERE NOT own AND substr(url, 1, ?) = ?"
            " LIMIT ?"
        )
        titled = (
            "SELECT DISTINCT url, headings FROM page JOIN passage ON passage.page = page.id"
            " WHERE url"
        )
        links = self._all(linked, *begins)
        headings = {
            (url, slug(heading)): heading
            for url, path in self._in(titled, {url for url, _, _ in links})
            for heading in path.split(SEPARATOR)[-1:]
            if heading
        }
        named = ((url, slug(one), part) for url, part, text in links for one in (part, text))
        return {(headings[url, name], part) for url, name, part in named if (url, name) in headings}

    def url_of(self, page: str) -> str | None:
        """The URL of the page with a document id, or with an address that may lack its scheme, its
        host, or its ending.
        """
        found = self._all("SELECT url FROM page WHERE document = ?", page)
        address = page.partition("#")[0].partition("?")[0].rpartition("://")[2]
        if not found and "/" in address:
            bare = f"/{_ENDING.sub('', address).lstrip('/')}"
            ends = [f"{bare}{ending}" for ending in ENDINGS]
            where = " OR ".join("substr(url, -?) = ?" for _ in ends)
            values = (value for end in ends for value in (len(end), end))
            found = self._all(f"SELECT url FROM page WHERE {where}", *values)  # noqa: S608
        return found[0]["url"] if len(found) == 1 else None

    def count(self) -> tuple[int, int]:
        """The numbers of pages and passages."""
        of_pages = "SELECT count(*), coalesce(sum(passages), 0) FROM page"
        pages, passages = self._kept("count", lambda: self._all(of_pages)[0])
        return pages, passages

    def signals(self, keys: Iterable[bytes]) -> dict[bytes, PageSignals]:
        """What ranks pages but for their words."""
        rows = self._in("SELECT key, url, title FROM page WHERE key", keys)
        versions = {url: version for _, url, _ in rows if (version := tree_of(url).get("version"))}
        known = self._kept("versions", self._versions) if versions else ()
        # the page may be there in a newer one, or without one (the current one)
        newer = {
            url: [
                replaced(url, version, other)
                for other in (*known, None)
                if other is None or version_key(other) > version_key(version)
            ]
            for url, version in versions.items()
        }
        wanted = chain.from_iterable(newer.values())
        there = {url for (url,) in self._in("SELECT url FROM page WHERE url", wanted)}
        return {
            key: PageSignals(
                url, title, versions.get(url), not there.isdisjoint(newer.get(url, ()))
            )
            for key, url, title in rows
        }

    def _versions(self) -> set[str]:
        found = {tree_of(url).get("version") for (url,) in self._all("SELECT url FROM page")}
        return {version for version in found if version}

    def _kept(self, name: str, derive: Callable[[], T]) -> T:
        """What is derived from the index, until that changes."""
        at = name, self.state.seq
        if at not in self._derived:
            self._derived[at] = derive()
        found: T = self._derived[at]
        return found

    @property
    def state(self) -> IndexState:
        """What is indexed: another value once the index has changed."""
        rows = self._all("SELECT * FROM state")
        if not rows:
            self._delete("it lacks its state")
        return IndexState(*rows[0])


def _strength(rows: Iterable[int], held: Sequence[Collection[int]], total: int) -> float:
    """The largest share of a query's terms that one of the rows has, rare ones counting more.

    `held` are the rows that hold each term, of `total` ones.
    """
    rarity = [log(1 + max(total, len(one)) / (len(one) + 0.5)) for one in held]
    weighed = [*zip(rarity, held, strict=True)]
    shares = (sum(weight for weight, one in weighed if row in one) for row in rows)
    return max(shares, default=0.0) / sum(rarity)


def _hit(row: Any, score: float = 0.0) -> Hit:
    number, key, content_hash, start, end, headings, digest = row
    path = tuple(headings.split(SEPARATOR)) if headings else ()
    return Hit(number, key, content_hash, start, end, path, digest, score)


# The tables, and what is written into them: pages, passages, links to fragments.

LinkedPage = tuple[PageRecord, Iterable[Sequence[str]], Iterable[Sequence[str]] | None]
"""A page with its content, text and URL of each link in that, text and id of each heading."""

MAX_PAGE_PASSAGES = 2000
"""Maximum number of passages of one page that are indexed: about 3 MB of text."""

MAX_LINKS = 500
MAX_LINK_TEXT = 120
"""Maximum number of links of one page to fragments of pages that are kept, and of characters of
their texts.
"""

WORDS_OF = "words (rowid, text)"
SEPARATOR = "\x1f"  # between the headings of a passage
VERSION = 10  # of the tables and of what is written into them

TABLES = """
-- seq: of the last change that is indexed; run: the last one whose titles and notes are; next_id: of a page or passage,
-- never used twice; dead: passages that are deleted, but for their words
CREATE TABLE state (store TEXT, seq INTEGER, run TEXT, next_id INTEGER, dead INTEGER);
CREATE TABLE page (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE, hash BLOB, document TEXT UNIQUE, url TEXT, passages INTEGER,
    title TEXT, hints TEXT
);
CREATE INDEX page_url ON page (url);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY, page INTEGER, start INTEGER, stop INTEGER, headings TEXT, digest BLOB
);
CREATE INDEX passage_page ON passage (page);
-- own: the id of a heading, and no link
CREATE TABLE link (page INTEGER, url TEXT, fragment TEXT, text TEXT, own INTEGER);
CREATE INDEX link_page ON link (page);
CREATE INDEX link_url ON link (url);
-- a row for each page, with its hints, and for each passage
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize='porter unicode61 remove_diacritics 2'
);
-- segments merged at once: with the default of 4 the same words are written twice as often
INSERT INTO words (words, rank) VALUES ('automerge', 16);
"""


def clear(connection: sqlite3.Connection) -> None:
    """Empty the tables."""
    for table in ("page", "passage", "link"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("UPDATE state SET seq = 0, run = '', dead = 0")


def replace_pages(
    connection: sqlite3.Connection, seqs: Mapping[bytes, int | None], pages: Sequence[LinkedPage]
) -> None:
    """Replace pages, given the numbers of their changes; what another process has indexed meanwhile
    stays as it is.
    """
    state = IndexState(*connection.execute("SELECT * FROM state").fetchone())
    todo = {key: seq for key, seq in seqs.items() if seq is None or seq > state.seq}
    known = connection.execute(rows_in("SELECT id FROM page WHERE key", todo), tuple(todo))
    ids = tuple(number for (number,) in known)
    dead = connection.execute(rows_in("DELETE FROM passage WHERE page", ids), ids).rowcount
    connection.execute(rows_in("DELETE FROM link WHERE page", ids), ids)
    connection.execute(rows_in("DELETE FROM page WHERE id", ids), ids)
    next_id = _add(connection, [page for page in pages if page[0].key in todo], state.next_id)
    seq = max([state.seq, *(one for one in todo.values() if one is not None)])
    values = (seq, next_id, state.dead + dead)
    connection.execute("UPDATE state SET seq = ?, next_id = ?, dead = ?", values)


def _add(connection: sqlite3.Connection, pages: Sequence[LinkedPage], next_id: int) -> int:
    """Cut pages into passages and insert them; returns the next free number."""
    for record, links, heading_ids in pages:
        number = next_id
        content = record.content or ""
        found = list(islice(passages(content), MAX_PAGE_PASSAGES))
        next_id += 1 + len(found)
        title, hints = outline_of(record)
        every = "\n".join(dict.fromkeys(heading for one in found for heading in one.heading_path))
        ids = (number, record.key, bytes.fromhex(record.content_hash or ""), record.id, record.url)
        outline = "\n".join((title, hints, every))
        _insert(connection, "page", [(*ids, len(found), title, hints)])
        _insert(connection, WORDS_OF, [(number, f"{outline}\n{word_parts(outline)}")])
        own = ((number, record.url, part, text, 1) for text, part in heading_ids or ())
        of_links = [*_links(number, links), *islice(own, MAX_PAGE_PASSAGES)]
        _insert(connection, "link", of_links)
        _add_passages(connection, number, content, found)
    return next_id


def _links(number: int, links: Iterable[Sequence[str]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a page's links to fragments, each once."""
    parted = ((text[:MAX_LINK_TEXT], *url.partition("#")) for text, url in links)
    rows = dict.fromkeys((number, url, part, text, 0) for text, url, _, part in parted if part)
    return islice(rows, MAX_LINKS)


def _add_passages(
    connection: sqlite3.Connection, page: int, content: str, found: Sequence[Span]
) -> None:
    """Insert the passages of a page; their numbers follow its own."""
    rows = []
    of_words = []
    for number, one in enumerate(found, page + 1):
        headings = SEPARATOR.join(one.heading_path)
        text = content[one.start : one.end]
        rows.append((number, page, one.start, one.end, headings, digest_of(text)))
        of_words.append((number, f"{headings}\n{text}\n{word_parts(text)}"))
    _insert(connection, "passage", rows)
    _insert(connection, WORDS_OF, of_words)


def _insert(connection: sqlite3.Connection, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {into} VALUES ({marks})", rows)  # noqa: S608


def rows_in(statement: str, values: Collection[Any]) -> str:
    """A statement that ends with a column, for rows where that has one of the values."""
    return f"{statement} IN ({', '.join('?' * len(values))})"
