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

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from llmsspider.answers.passages import IndexedPage, hints_of, indexed_page, target_of
from llmsspider.answers.ranking import Candidates, Hit, PageHit, PageSignals, version_key
from llmsspider.answers.schema import (
    PAGES,
    PASSAGES,
    Fts5,
    FullText,
    PostgresqlText,
    drop_other_versions,
    insert_rows,
    link,
    metadata,
    page,
    passage,
    source,
)
from llmsspider.answers.words import IndexQuery, Query, digest_of, word_parts
from llmsspider.errors import SearchError, StoreError
from llmsspider.store import CONTENT, OUTLINE, PageRecord, Store
from llmsspider.store.database import POSTGRESQL_SCHEMA, Database, open_postgresql, open_sqlite
from llmsspider.web.locales import replaced, tree_of

MAX_PASSAGES = 160
"""Maximum number of passages that are considered for a query."""

MAX_PAGES = 60
"""Maximum number of pages that are considered for a query by their title, hints and headings."""

COMMON_SHARE = 0.2
"""A term that more than this share of the passages hold selects no candidates where the query has a rarer one."""

ALWAYS_SELECTIVE = 2000
"""A term that no more passages than this hold selects candidates whatever its share."""

MAX_VERSIONS = 30
"""Maximum number of versions of one source that are distinguished, the newest ones."""

BATCH = 100
"""Pages of one transaction."""

SEPARATOR = "\x1f"
"""Between the headings of a passage."""

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
            Empty for the index as it is.

    Raises:
        SearchError: the database cannot be used, or its SQLite has no FTS5; one line.
    """

    def __init__(self, database: Database, name: str, store: str):
        self._database = database
        self._text: FullText = Fts5() if database.is_sqlite else PostgresqlText()
        self._versions_at: tuple[int, list[str]] = (-1, [])
        self._counted_at: tuple[int, tuple[int, int]] = (-1, (0, 0))
        try:
            self._id = database.write(lambda connection: self._prepare(connection, name, store))
            self._reader = database.reader()
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
            with suppress(OSError):
                remove(path)
            return cls(open_sqlite(path), name, store)

    def _prepare(self, connection: Connection, name: str, store: str) -> int:
        """Create missing tables and rows; returns the number of the source."""
        if not self._database.is_sqlite:
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {POSTGRESQL_SCHEMA}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727368)")  # one process at a time
        drop_other_versions(connection)
        metadata.create_all(connection)
        self._text.create(connection)
        known = connection.execute(select(source.c.id, source.c.store).where(source.c.name == name)).first()
        if known is None:
            fresh = {"name": name, "store": store, "seq": 0, "run": "", "next_id": 0, "dead": 0}
            made = connection.execute(insert(source).values(fresh)).inserted_primary_key
            number = int(made[0]) if made else 0
            first_id = (number << 40) + 1  # the ids of sources in one database do not meet
            connection.execute(update(source).where(source.c.id == number).values(next_id=first_id))
            return number
        if store and known.store != store:
            self._clear(connection, known.id)
            connection.execute(update(source).where(source.c.id == known.id).values(store=store))
        return int(known.id)

    def _clear(self, connection: Connection, number: int) -> None:
        self._text.clear(connection, number)
        for table in (page, passage, link):
            connection.execute(delete(table).where(table.c.source_id == number))
        connection.execute(update(source).where(source.c.id == number).values(seq=0, run="", dead=0))

    # Updates from the store

    def is_behind(self, store: Store) -> bool:
        """Whether the store has something that the index does not have."""
        state = self._state()
        return bool(store.last_seq() != state.seq or state.run != store.last_ended_run())

    def sync(self, store: Store, until: Callable[[], bool] = lambda: False) -> bool:
        """Update the index with what changed in the store since the last call.

        Args:
            store: the page store the index belongs to.
            until: called after each batch; True stops there.

        Returns:
            Whether the index is up to date.
        """
        if self._text.keeps_deleted and self._state().dead > max(self.count()[1], 200):
            self._write(lambda connection: self._clear(connection, self._id))
        begin, run = self._state().seq, store.last_ended_run()
        changes = store.changes_since(begin, CONTENT)
        while batch := list(islice(changes, BATCH)):
            seqs = {one.record.key: one.seq for one in batch}
            pages = self._read(store, [one.record for one in batch if one.change != "deleted"])
            self._write(partial(self._replace, seqs=seqs, pages=pages))
            if until():
                return False
        changed = iter(self._changed_outlines(store) if begin and run != self._state().run else ())
        while keys := list(islice(changed, BATCH)):
            records = [record for record in store.load_pages(keys, CONTENT) if record is not None]
            self._write(partial(self._replace, seqs=dict.fromkeys(keys), pages=self._read(store, records)))
            if until():
                return False
        self._write(lambda connection: self._update_source(connection, run=run))
        return True

    @staticmethod
    def _read(store: Store, records: Sequence[PageRecord]) -> list[IndexedPage]:
        links = store.links_of([record.key for record in records])
        return [indexed_page(record, links.get(record.key, ())) for record in records]

    def _changed_outlines(self, store: Store) -> list[bytes]:
        """The keys of pages whose title or notes changed; their content may be as it was."""
        columns = (page.c.key, page.c.title, page.c.hints, page.c.optional)
        found = self._reader.execute(select(*columns).where(page.c.source_id == self._id))
        known = {bytes(row.key): (row.title, row.hints, row.optional) for row in found}
        records = (one.record for one in store.iter_pages(parts=OUTLINE))
        return [record.key for record in records if known.get(record.key, now := _outline(record)) != now]

    def _replace(
        self, connection: Connection, seqs: Mapping[bytes, int | None], pages: Sequence[IndexedPage]
    ) -> None:
        """Replace pages by their new form; those without one are deleted.

        Args:
            connection: in a transaction.
            seqs: the number of the change of each page; what another process has indexed meanwhile is left.
            pages: the new forms.
        """
        state = self._state(connection, lock=True)
        todo = {key: seq for key, seq in seqs.items() if seq is None or seq > state.seq}
        deleted = self._delete(connection, list(todo))
        next_id = self._insert(connection, [one for one in pages if one.record.key in todo], state.next_id)
        seq = max([state.seq, *(one for one in todo.values() if one is not None)])
        self._update_source(connection, seq=seq, next_id=next_id, dead=state.dead + deleted)

    def _delete(self, connection: Connection, keys: Sequence[bytes]) -> int:
        """Delete pages; returns the number of passages deleted."""
        mine = (page.c.source_id == self._id, page.c.key.in_(keys))
        ids = connection.execute(select(page.c.id).where(*mine)).scalars().all()
        if not ids:
            return 0
        passages = connection.execute(select(passage.c.id).where(passage.c.page_id.in_(ids))).scalars().all()
        self._text.delete(connection, PASSAGES, passages)
        self._text.delete(connection, PAGES, ids)
        for column in (passage.c.page_id, link.c.page_id, page.c.id):
            connection.execute(delete(column.table).where(column.in_(ids)))
        return len(passages)

    def _insert(self, connection: Connection, pages: Sequence[IndexedPage], next_id: int) -> int:
        """Insert pages; returns the next free number."""
        of_pages: list[tuple[Any, ...]] = []
        of_passages: list[tuple[Any, ...]] = []
        of_links: list[tuple[Any, ...]] = []
        page_words: list[tuple[Any, ...]] = []
        passage_words: list[tuple[Any, ...]] = []
        for made in pages:
            number, next_id = next_id, next_id + 1
            of_pages.append(self._page_row(number, made))
            title, hints, _ = _outline(made.record)
            page_words.append(
                (number, title, hints, made.headings, word_parts(f"{title}\n{hints}\n{made.headings}"))
            )
            of_links += [(self._id, number, *one) for one in made.links]
            title_parts = word_parts(title)
            path: tuple[str, ...] = ()
            headings = below = ""
            for one, parts in zip(made.passages, made.parts, strict=True):
                if one.heading_path is not path:  # the passages of a section share theirs
                    path = one.heading_path
                    headings = SEPARATOR.join(path)
                    below = "\n".join([heading for heading in path if heading != title])
                of_passages.append((next_id, self._id, number, one.start, one.end, headings, None))
                passage_words.append((next_id, title, below, one.text, f"{title_parts} {parts}"))
                next_id += 1
        for table, rows in ((page, of_pages), (passage, of_passages), (link, of_links)):
            insert_rows(connection, table.name, table.columns.keys(), rows)
        self._text.add(connection, PAGES, self._id, page_words)
        self._text.add(connection, PASSAGES, self._id, passage_words)
        return next_id

    def _page_row(self, number: int, made: IndexedPage) -> tuple[Any, ...]:
        record = made.record
        content_hash = bytes.fromhex(record.content_hash or "")
        names = (record.key, content_hash, record.id, record.url, target_of(record.url))
        return (number, self._id, *names, len(made.passages), *_outline(record))

    def add_digests(self, store: Store) -> None:
        """Make the digests of the passages that have none: only vectors need them."""
        columns = (page.c.key, page.c.hash, passage.c.id, passage.c.start, passage.c.stop)
        joined = select(*columns).join_from(passage, page, page.c.id == passage.c.page_id)
        mine = (page.c.source_id == self._id, passage.c.digest.is_(None))
        lacking = self._reader.execute(joined.where(*mine).order_by(page.c.id)).all()
        of_page = [(bytes(key), list(rows)) for key, rows in groupby(lacking, key=lambda row: row.key)]
        pages = zip(of_page, store.load_pages([key for key, _ in of_page], CONTENT), strict=True)

        def write(connection: Connection) -> None:
            connection.execute(update(passage).where(passage.c.id == bindparam("passage")), made)

        while batch := list(islice(pages, BATCH)):
            made = [
                {"passage": row.id, "digest": digest_of(record.content[row.start : row.stop])}
                for (_, rows), record in batch
                if record is not None and record.content is not None
                for row in rows
                if bytes(row.hash).hex() == record.content_hash
            ]
            if made:
                self._write(write)

    # Answers

    def candidates(self, query: Query) -> Candidates:
        """The passages and pages that fit a query best; none for a query without terms."""
        totals = self.count()
        terms = {place: self._text.expression(term) for place, term in enumerate(query.terms)}
        counts = {place: self._counts(term) for place, term in terms.items()}
        last = len(query.terms) - 1
        if (
            query.last_is_open
            and not any(counts.get(last, (1,)))
            and (opened := self._text.prefix(query.terms[last]))
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
        scores = self._best(PASSAGES, IndexQuery(selective, rarity, required, MAX_PASSAGES))
        hits = [_hit(row, *scores[row.id]) for row in self._passages(passage.c.id.in_(scores))]
        hits.sort(key=lambda hit: -hit.score)
        of_pages = self._best(PAGES, IndexQuery(present, rarity, (), MAX_PAGES))
        found = self._reader.execute(select(page.c.key, page.c.id).where(page.c.id.in_(of_pages)))
        pages = {bytes(row.key): PageHit(bytes(row.key), *of_pages[row.id]) for row in found}
        return Candidates(hits, pages, self._signals({*pages, *(hit.page for hit in hits)}), rarity)

    def _counts(self, term: str) -> tuple[int, int]:
        """Count the pages whose title, hints or headings hold a term, and the passages that hold it."""
        pages, passages = (self._text.count(self._reader, of, self._id, term) for of in (PAGES, PASSAGES))
        return pages, passages

    def _best(self, of: str, query: IndexQuery) -> dict[int, tuple[float, frozenset[int]]]:
        if self._text.keeps_deleted:
            query = replace(query, limit=query.limit + min(self._state().dead, query.limit))
        found = self._text.best(self._reader, of, self._id, query)
        return {row: (score, held) for row, score, held in found}

    def _passages(self, *conditions: Any) -> Sequence[Any]:
        joined = select(*_HIT).join_from(passage, page, page.c.id == passage.c.page_id)
        return self._reader.execute(joined.where(page.c.source_id == self._id, *conditions)).all()

    def hits(self, scores: Mapping[int, float]) -> Candidates:
        """The passages with the given numbers and scores; their `terms` are empty."""
        hits = [_hit(row, scores[row.id], frozenset()) for row in self._passages(passage.c.id.in_(scores))]
        return Candidates(hits, {}, self._signals({hit.page for hit in hits}), ())

    def passages_of(self, key: bytes) -> list[Hit]:
        """The passages of a page, in order."""
        found = [_hit(row, 0.0, frozenset()) for row in self._passages(page.c.key == key)]
        return sorted(found, key=lambda hit: hit.start)

    def digests(self) -> list[tuple[int, bytes, bytes]]:
        """Number, page and digest of every passage that has one (`add_digests`)."""
        found = self._passages(passage.c.digest.is_not(None))
        return sorted((row.id, bytes(row.key), bytes(row.digest)) for row in found)

    def vocabulary(self) -> list[str]:
        """Every word of the index (its stem)."""
        return self._text.vocabulary(self._reader, self._id)

    def fragments(self, url: str) -> list[tuple[str, str]]:
        """The fragments of a page that links of the source lead to, each with the text of a link."""
        mine = (link.c.source_id == self._id, link.c.target == target_of(url))
        found = self._reader.execute(select(link.c.fragment, link.c.text).where(*mine).distinct())
        return [(fragment, text) for fragment, text in found]

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

    def _signals(self, keys: Iterable[bytes]) -> dict[bytes, PageSignals]:
        columns = (page.c.key, page.c.url, page.c.title, page.c.optional, page.c.passages)
        pages, passages = self.count()
        found = {}
        mine = (page.c.source_id == self._id, page.c.key.in_(list(keys)))
        for row in self._reader.execute(select(*columns).where(*mine)).all():
            version = tree_of(row.url).get("version")
            superseded = self._is_superseded(row.url, version)
            length = row.passages * pages / max(passages, 1)
            found[bytes(row.key)] = PageSignals(row.url, row.title, row.optional, version, superseded, length)
        return found

    def _is_superseded(self, url: str, version: str | None) -> bool:
        """Whether the source has the page in a newer version, or at an address without a version (the current one)."""
        if version is None:
            return False
        newer = [other for other in self._versions() if version_key(other) > version_key(version)]
        targets = [target_of(replaced(url, version, other)) for other in (*newer, None)]
        mine = (page.c.source_id == self._id, page.c.target.in_(targets))
        return self._reader.execute(select(page.c.id).where(*mine).limit(1)).first() is not None

    def _versions(self) -> list[str]:
        """The versions that URL paths of the source name, newest first, `MAX_VERSIONS` at most."""
        seq = self._state().seq
        if self._versions_at[0] != seq:
            urls = self._reader.execute(select(page.c.url).where(page.c.source_id == self._id)).scalars()
            found = {version for url in urls if (version := tree_of(url).get("version"))}
            self._versions_at = seq, sorted(found, key=version_key, reverse=True)[:MAX_VERSIONS]
        return self._versions_at[1]

    # The database

    def _state(self, connection: Connection | None = None, *, lock: bool = False) -> Any:
        """The row of the source."""
        found = select(source).where(source.c.id == self._id)
        return (connection or self._reader).execute(found.with_for_update() if lock else found).one()

    def _update_source(self, connection: Connection, **values: Any) -> None:
        connection.execute(update(source).where(source.c.id == self._id).values(values))

    def _write(self, work: Callable[[Connection], Any]) -> None:
        try:
            self._database.write(work)
        except StoreError as error:
            raise SearchError(f"search index: {error}") from error

    def delete(self) -> bool:
        """Delete everything of the source, and close; returns whether there was a page."""
        pages, _ = self.count()
        self._write(lambda connection: self._clear(connection, self._id))
        self._write(lambda connection: connection.execute(delete(source).where(source.c.id == self._id)))
        self.close()
        return pages > 0

    def close(self) -> None:
        """Close the database; a second call does nothing."""
        self._reader.close()
        with suppress(StoreError):
            self._database.close()


def remove(path: Path) -> bool:
    """Delete the file of an index, with what SQLite keeps beside it; returns whether it was there."""
    is_there = path.exists()
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return is_there


def _outline(record: PageRecord) -> tuple[str, str, bool]:
    """What the index has of a page beside its content: title, hints, whether llms.txt calls it optional."""
    return record.title or "", hints_of(record), record.llms is not None and record.llms.optional


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
