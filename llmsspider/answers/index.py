"""The search index of a source: made from its page store, updated with its changes, searched for candidates.

It lies beside the store: in a file of its own for SQLite, in tables of the same database for PostgreSQL. It holds
no text, only words and the offsets of each passage in the content that the store keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from llmsspider.answers.index_writer import BATCH, SEPARATOR, IndexWriter, first_id, state_of
from llmsspider.answers.passages import (
    indexed_page,
    is_optional,
    own_hints,
    target_of,
)
from llmsspider.answers.ranking import Candidates, Hit, PageHit, PageSignals, version_key
from llmsspider.answers.schema import (
    IS_STALE,
    Fts5Words,
    TsvectorWords,
    Words,
    drop_other_versions,
    link,
    metadata,
    page,
    passage,
    source,
)
from llmsspider.answers.words import IndexQuery, Query, digest_of
from llmsspider.errors import SearchError, StoreError
from llmsspider.store import CONTENT, Store
from llmsspider.store.database import POSTGRESQL_SCHEMA, Database, open_postgresql, open_sqlite
from llmsspider.web.locales import replaced, tree_of

MOST_PASSAGES = 160
"""Passages that are considered for a query."""

MOST_PAGES = 60
"""Pages that are considered for a query by their title, hints and headings."""

COMMON_SHARE = 0.2
"""A term that more than this share of the passages hold selects no candidates where the query has a rarer one."""

ALWAYS_SELECTIVE = 2000
"""A term that no more passages than this hold selects candidates whatever its share."""

MOST_VERSIONS = 30
"""Maximum number of versions of one source that are distinguished, the newest ones."""

_HIT = (
    passage.c.id,
    page.c.key,
    page.c.hash,
    passage.c.start,
    passage.c.stop,
    passage.c.headings,
    passage.c.digest,
)


class SourceIndex:
    """The index of one source. Several processes may use it at once; use an object from one thread at a time.

    Args:
        database: the database of the index; missing tables are created.
        name: of the source.
        store: identifies the store: another value than before means that the source was deleted and crawled again.

    Raises:
        SearchError: the database cannot be used, or its SQLite has no FTS5; one line.
    """

    def __init__(self, database: Database, name: str, store: str):
        self._database = database
        self._words: Words = Fts5Words() if database.is_sqlite else TsvectorWords()
        self._versions_at: tuple[int, list[str]] = (-1, [])
        self._counted_at: tuple[int, tuple[int, int]] = (-1, (0, 0))
        try:
            self._id = database.write(lambda connection: self._prepare(connection, name, store))
            self._reader = database.reader()
            self._writer = IndexWriter(self._words, self._id)
        except StoreError as error:
            database.engine.dispose()
            raise SearchError(f"search index: {error}") from error

    @classmethod
    def open(cls, url: str | None, path: Path, name: str, store: str) -> Self:
        """Open the index of a source: in the PostgreSQL database of `url`, else in the file `path`.

        A file that is damaged or of another version is rebuilt from the store.
        """
        if url:
            return cls(open_postgresql(url), name, store)
        try:
            return cls(open_sqlite(path), name, store)
        except (SearchError, StoreError):
            remove(path)
            return cls(open_sqlite(path), name, store)

    def _prepare(self, connection: Connection, name: str, store: str) -> int:
        """Create missing tables and rows; returns the number of the source."""
        if not self._database.is_sqlite:
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {POSTGRESQL_SCHEMA}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727368)")  # one process at a time
        drop_other_versions(connection)
        metadata.create_all(connection)
        self._words.create(connection)
        known = connection.execute(select(source.c.id, source.c.store).where(source.c.name == name)).first()
        if known is not None and known.store == store:
            return int(known.id)
        if known is not None:
            self._clear(connection, known.id)
            connection.execute(update(source).where(source.c.id == known.id).values(store=store))
            return int(known.id)
        fresh = {"name": name, "store": store, "seq": 0, "run": "", "next_id": 1, "dead": 0}
        if not self._database.is_sqlite:
            fresh["next_id"] = 0  # ids of many sources get an offset below
        made = connection.execute(insert(source).values(fresh)).inserted_primary_key
        number = int(made[0]) if made else 0
        connection.execute(update(source).where(source.c.id == number).values(next_id=first_id(number) + 1))
        return number

    def _clear(self, connection: Connection, number: int) -> None:
        self._words.clear(connection, number)
        for table in (page, passage, link):
            connection.execute(delete(table).where(table.c.source_id == number))
        connection.execute(update(source).where(source.c.id == number).values(seq=0, run="", dead=0))

    # Updates from the store

    def is_behind(self, store: Store) -> bool:
        """Whether the store has something that the index does not have."""
        state = self._state()
        left = self._reader.execute(
            select(page.c.id).where(page.c.source_id == self._id, IS_STALE).limit(1)
        ).first()
        return store.last_seq() != state.seq or state.run != store.last_ended_run() or left is not None

    def sync(self, store: Store, until: Callable[[], bool] = lambda: False) -> bool:
        """Update the index with what changed in the store since the last call.

        Args:
            store: the page store the index belongs to.
            until: called after each batch; True stops there.

        Returns:
            Whether the index is up to date.
        """
        if self._words.keeps_deleted_words and self._state().dead > max(self.count()[1], 200):
            self._write(lambda connection: self._clear(connection, self._id))
        begin, run = self._state().seq, store.last_ended_run()
        changes = store.changes_since(begin, CONTENT)
        while batch := list(islice(changes, BATCH)):
            links = store.links_of([one.record.key for one in batch])
            pages = [
                None if one.change == "deleted" else indexed_page(one.record, links.get(one.record.key, ()))
                for one in batch
            ]
            self._write(partial(self._writer.replace_pages, batch=batch, pages=pages))
            if until():
                return False
        if begin:
            self._take_outlines(store)
        else:  # each page has just been read
            self._write(lambda connection: self._writer.write_outlines(connection, (), run))
        while left := self._write(self._writer.write_hints):
            if until() and left:
                return False
        return True

    def add_digests(self, store: Store) -> None:
        """Make the digests of the passages that have none: only vectors need them."""
        columns = (page.c.key, page.c.hash, passage.c.id, passage.c.start, passage.c.stop)
        joined = select(*columns).join_from(passage, page, page.c.id == passage.c.page_id)
        mine = (page.c.source_id == self._id, passage.c.digest.is_(None))
        lacking = self._reader.execute(joined.where(*mine).order_by(page.c.id)).all()
        of_page = [(bytes(key), list(rows)) for key, rows in groupby(lacking, key=lambda row: row.key)]
        pages = zip(of_page, store.load_pages([key for key, _ in of_page], CONTENT), strict=True)
        while batch := list(islice(pages, BATCH)):
            made = [
                {"passage": row.id, "digest": digest_of(record.content[row.start : row.stop])}
                for (_, rows), record in batch
                if record is not None and record.content is not None
                for row in rows
                if bytes(row.hash).hex() == record.content_hash
            ]
            self._write(partial(self._writer.write_digests, made=made))

    def _take_outlines(self, store: Store) -> None:
        """Update notes of llms.txt and titles of pages whose content did not change."""
        run = store.last_ended_run()
        if run == self._state().run:
            return
        columns = (page.c.key, page.c.title, page.c.own, page.c.optional)
        known = {
            bytes(row.key): (row.title, row.own, row.optional)
            for row in self._reader.execute(select(*columns).where(page.c.source_id == self._id))
        }
        changed = []
        for outline in store.outlines():
            now = (outline.title or "", own_hints(outline), is_optional(outline))
            if known.get(outline.key, now) != now:
                changed.append((outline.key, dict(zip(("title", "own", "optional"), now, strict=True))))

        self._write(lambda connection: self._writer.write_outlines(connection, changed, run))

    # Answers

    def candidates(self, query: Query) -> Candidates:
        """The passages and pages that fit a query best; none for a query without terms."""
        totals = self.count()
        terms = {place: self._words.match(term) for place, term in enumerate(query.terms)}
        counts = {place: self._counts(term) for place, term in terms.items()}
        last = len(query.terms) - 1
        if (
            query.last_is_open
            and not any(counts.get(last, (1,)))
            and (opened := self._words.prefix(query.terms[last]))
        ):
            terms[last], counts[last] = opened, self._counts(opened)
        rarity = tuple(_rarity(counted, totals) for counted in counts.values())
        present = {place: term for place, term in terms.items() if any(counts[place])}
        limit = max(ALWAYS_SELECTIVE, COMMON_SHARE * totals[1])
        selective = {
            place: term for place, term in present.items() if 0 < counts[place][1] <= limit
        } or present
        required = [place for place, term in enumerate(query.terms) if term.required]
        if any(not counts[place][1] for place in required):
            return Candidates([], {}, {}, rarity)
        scores = self._best(self._words.passages, IndexQuery(selective, rarity, required, MOST_PASSAGES))
        hits = [_hit(row, *scores[row.id]) for row in self._passages(passage.c.id.in_(scores))]
        of_pages = self._best(self._words.pages, IndexQuery(present, rarity, (), MOST_PAGES))
        columns = (page.c.key, page.c.words)
        found = self._reader.execute(select(*columns).where(page.c.words.in_(of_pages)))
        pages = {bytes(row.key): PageHit(bytes(row.key), *of_pages[row.words]) for row in found}
        hits.sort(key=lambda hit: -hit.score)
        return Candidates(hits, pages, self._standing({*pages, *(hit.page for hit in hits)}), rarity)

    def _counts(self, term: str) -> tuple[int, int]:
        """Count the pages whose title, hints or headings hold a term, and the passages that hold it."""
        pages, passages = self._words.pages, self._words.passages
        return self._words.count(self._reader, pages, self._id, term), self._words.count(
            self._reader, passages, self._id, term
        )

    def _best(self, table: str, query: IndexQuery) -> dict[int, tuple[float, frozenset[int]]]:
        if self._words.keeps_deleted_words:
            query = replace(query, limit=query.limit + min(self._state().dead, query.limit))
        found = self._words.best(self._reader, table, self._id, query)
        return {row: (score, held) for row, score, held in found}

    def _passages(self, *conditions: Any) -> Sequence[Any]:
        joined = select(*_HIT).join_from(passage, page, page.c.id == passage.c.page_id)
        return self._reader.execute(joined.where(page.c.source_id == self._id, *conditions)).all()

    def hits(self, scores: Mapping[int, float]) -> Candidates:
        """The passages with the given numbers and scores; their `terms` are empty."""
        hits = [_hit(row, scores[row.id], frozenset()) for row in self._passages(passage.c.id.in_(scores))]
        return Candidates(hits, {}, self._standing({hit.page for hit in hits}), ())

    def passages_of(self, key: bytes) -> list[Hit]:
        """The passages of a page, in order."""
        found = [_hit(row, 0.0, frozenset()) for row in self._passages(page.c.key == key)]
        return sorted(found, key=lambda hit: hit.start)

    def digests(self) -> list[tuple[int, bytes, bytes]]:
        """Number, page and digest of every passage that has one (`add_digests`)."""
        columns = select(passage.c.id, page.c.key, passage.c.digest)
        joined = columns.join_from(passage, page, page.c.id == passage.c.page_id)
        mine = (page.c.source_id == self._id, passage.c.digest.is_not(None))
        found = self._reader.execute(joined.where(*mine).order_by(passage.c.id))
        return [(row.id, bytes(row.key), bytes(row.digest)) for row in found]

    def vocabulary(self) -> Iterable[tuple[str, int]]:
        """Every word of the index (its stem) with the number of passages that hold it."""
        found: Iterable[tuple[str, int]] = self._words.vocabulary(self._reader, self._id)
        return found

    def fragments(self, url: str) -> list[tuple[str, str]]:
        """The fragments of a page that links of the source lead to, each with the text of a link."""
        mine = (link.c.source_id == self._id, link.c.target == target_of(url))
        said = self._reader.execute(select(link.c.said).where(*mine).distinct()).scalars().all()
        found = dict.fromkeys((fragment, text) for one in said for fragment, text in orjson.loads(one))
        return [one for one in found if one[0]]

    def url_of(self, page_id: str) -> str | None:
        """The URL of the page with a document id."""
        mine = (page.c.source_id == self._id, page.c.document == page_id)
        found: str | None = self._reader.execute(select(page.c.url).where(*mine)).scalar()
        return found

    def count(self) -> tuple[int, int]:
        """The numbers of pages and passages."""
        seq = self._state().seq
        if self._counted_at[0] != seq:
            mine = page.c.source_id == self._id
            counted = select(func.count(), func.coalesce(func.sum(page.c.passages), 0)).where(mine)
            pages, passages = self._reader.execute(counted).one()
            self._counted_at = seq, (int(pages), int(passages))
        return self._counted_at[1]

    def _standing(self, keys: Iterable[bytes]) -> dict[bytes, PageSignals]:
        columns = (page.c.key, page.c.url, page.c.title, page.c.optional, page.c.passages)
        pages, passages = self.count()
        found = {}
        mine = (page.c.source_id == self._id, page.c.key.in_(list(keys)))
        for row in self._reader.execute(select(*columns).where(*mine)).all():
            version = tree_of(row.url).get("version")
            superseded = self._is_superseded(row.url, version)
            found[bytes(row.key)] = PageSignals(
                row.url, row.title, row.optional, version, superseded, row.passages * pages / max(passages, 1)
            )
        return found

    def _is_superseded(self, url: str, version: str | None) -> bool:
        """Whether the source has the page in a newer version, or at an address without a version (the current one)."""
        if version is None:
            return False
        newer = [other for other in self._versions() if version_key(other) > version_key(version)]
        urls = [replaced(url, version, other) for other in (*newer, None)]
        mine = (page.c.source_id == self._id, page.c.target.in_([target_of(other) for other in urls]))
        return self._reader.execute(select(page.c.id).where(*mine).limit(1)).first() is not None

    def _versions(self) -> list[str]:
        """The versions that URL paths of the source name, newest first, `MOST_VERSIONS` at most."""
        seq = self._state().seq
        if self._versions_at[0] != seq:
            urls = self._reader.execute(select(page.c.url).where(page.c.source_id == self._id)).scalars()
            found = {version for url in urls if (version := tree_of(url).get("version"))}
            self._versions_at = seq, sorted(found, key=version_key, reverse=True)[:MOST_VERSIONS]
        return self._versions_at[1]

    # The database

    def _state(self) -> Any:
        return state_of(self._reader, self._id)

    def _write(self, work: Callable[[Connection], Any]) -> Any:
        try:
            return self._database.write(work)
        except StoreError as error:
            raise SearchError(f"search index: {error}") from error

    def close(self) -> None:
        """Close the database; a second call does nothing."""
        self._reader.close()
        with suppress(StoreError):
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove(path: Path) -> None:
    """Delete the file of an index, with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _rarity(counts: tuple[int, int], totals: tuple[int, int]) -> float:
    """The inverse document frequency of a term among passages, or among pages where no passage holds it.

    0 where none does.
    """
    of_pages, of_passages = counts
    held, total = (of_passages, totals[1]) if of_passages else (of_pages, totals[0])
    return math.log(1 + (max(total, held) - held + 0.5) / (held + 0.5)) if held else 0.0


def _hit(row: Any, score: float, terms: frozenset[int]) -> Hit:
    path = tuple(row.headings.split(SEPARATOR)) if row.headings else ()
    digest = bytes(row.digest or b"")
    return Hit(bytes(row.key), bytes(row.hash), row.start, row.stop, path, digest, score, terms)
