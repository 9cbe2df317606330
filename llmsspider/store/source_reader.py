"""Reads of one source: its pages, changes, runs and history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Select, func, select

from llmsspider.errors import StoreError
from llmsspider.store import history, queries, rows, runs
from llmsspider.store.database import Database
from llmsspider.store.history import PageHistory
from llmsspider.store.queries import Reader
from llmsspider.store.records import (
    WHOLE,
    FilteredUrl,
    Outline,
    PageError,
    PageRecord,
    PageState,
    Parts,
    Resource,
    RunRecord,
    SourceRecord,
    StoredPage,
)
from llmsspider.store.schema import alias, change, page, source
from llmsspider.web.urls import page_key


class SourceReader:
    """What is stored of one source. Reading a page is one indexed SELECT; lists are streamed from one snapshot.

    Any method raises `StoreError` when the database fails. Page keys are those of `urls.page_key`.
    """

    def __init__(self, database: Database, source_name: str):
        self._database = database
        self._name = source_name
        self._source_id: int | None = None
        self._reader = Reader(database)
        self._source: SourceRecord | None = None
        try:
            self._load_source()
        except BaseException:
            self._reader.close()
            raise

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        self._reader.check()

    # The source and its runs

    def source_record(self) -> SourceRecord | None:
        """The source as last read or written here (its status not filled); None before the first write."""
        return self._source

    def runs(self) -> list[RunRecord]:
        """Every run of the source, oldest first."""
        if self._source_id is None:
            return []
        self.flush()
        with self._database.snapshot() as connection:
            return runs.all_runs(connection, self._source_id, self._name)

    def last_ended_run(self) -> str:
        """The id of the last run that has ended; an empty string before the first."""
        self.flush()
        found = self._reader.read(queries.LAST_ENDED_RUN, {"b_source_id": self._source_id or 0})
        return found.scalar() or ""

    def undelivered_since(self) -> int | None:
        """The number to replay from, so that what was stored and not handed over is; None when nothing is."""
        return runs.undelivered_since(self.runs(), self.last_seq())

    # Pages

    def page_states(self) -> dict[bytes, PageState]:
        """The state of every living page by key; 0.8 KB of memory each."""
        return {state.key: state for state in self._states()}

    def aliases(self) -> dict[bytes, bytes]:
        """Keys of joined spellings, each with the key of its page."""
        statement = select(alias.c.key, alias.c.target).where(alias.c.source_id == self._source_id)
        return {bytes(key): bytes(target) for key, target in self._reader.read(statement)}

    def load_page(self, key: bytes) -> PageRecord | None:
        """A living page with content and links, or None. Sees what this run has saved."""
        self._flush_pages((key,))
        found = self._reader.read(queries.ONE_PAGE, {"b_source_id": self._source_id or 0, "b_key": key})
        row = found.mappings().first()
        return None if row is None else rows.page_record(dict(row))

    def title(self, key: bytes) -> str | None:
        """The title of a page, as stored before this run."""
        found = select(page.c.title).where(page.c.source_id == self._source_id, page.c.key == key)
        return self._reader.read(found).scalar()  # type: ignore[no-any-return]

    def page_by_url(self, url: str) -> PageRecord | None:
        """The living page a URL stands for, by its identity or as a joined spelling of another page."""
        key = page_key(url)
        if (record := self.load_page(key)) is not None:
            return record
        joined = select(alias.c.target).where(alias.c.source_id == self._source_id, alias.c.key == key)
        target = self._reader.read(joined).scalar()
        return None if target is None else self.load_page(bytes(target))

    def count_pages(self) -> int:
        """How many living pages there are."""
        self.flush()
        counted = select(func.count()).where(page.c.source_id == self._source_id, page.c.gone.is_(False))
        return int(self._reader.read(counted).scalar_one())

    def load_pages(self, keys: Iterable[bytes], parts: Parts = WHOLE) -> Iterator[PageRecord | None]:
        """The living pages of the keys, in their order, with the given `parts`; None for one that is not there.

        Sees what this run has saved of a page before its portion is read.
        """
        remaining = iter(keys)
        while portion := list(islice(remaining, queries.CHUNK)):
            self._flush_pages(portion)
            yield from queries.pages_of(self._reader.read, self._source_id or 0, portion, parts)

    def links_of(self, keys: Sequence[bytes]) -> dict[bytes, list[list[str]]]:
        """Text and URL of each link in the content of the living pages among the keys, by key."""
        self.flush()
        asked = {"b_source_id": self._source_id or 0, "b_keys": keys}
        return {
            bytes(key): rows.link_pairs(links)
            for key, links in self._reader.read(queries.LINKS_BY_KEY, asked)
        }

    def outlines(self) -> Iterator[Outline]:
        """The outline of every living page, streamed from one snapshot."""
        return map(rows.outline, self._streamed(queries.OUTLINES))

    def iter_pages(self, order: queries.Order = "found", parts: Parts = WHOLE) -> Iterator[StoredPage]:
        """Every living page, streamed from one snapshot, with the given `parts`."""
        self.flush()
        with self._database.snapshot() as connection:
            yield from queries.living_pages(connection, self._source_id or 0, order, parts)

    def changes_since(self, seq: int, parts: Parts = WHOLE) -> Iterator[StoredPage]:
        """The latest state of every page changed after `seq`, with `parts`, in the order of changes, from one snapshot.

        `change` is what happened to the page since `seq`, whatever the steps between: a page that is
        new since then is `new` though it changed twice. Tombstones have no content and no links.
        """
        self.flush()
        with self._database.snapshot() as connection:
            yield from queries.replay(connection, self._source_id or 0, seq, parts)

    def history_since(self, seq: int) -> Iterator[PageHistory]:
        """Every page changed after `seq`, as `changes_since` gives it, with its earlier contents that are kept."""
        self.flush()
        with self._database.snapshot() as connection:
            yield from queries.replay_with_history(connection, self._source_id or 0, seq)

    def history_size(self) -> tuple[int, int]:
        """The number of earlier contents that are kept, and their size in bytes as they are stored."""
        self.flush()
        with self._database.snapshot() as connection:
            return history.size(connection, self._source_id or 0)

    def seq_at(self, moment: datetime) -> int:
        """The number of the last change that was stored at a moment; 0 when it was before the first."""
        self.flush()
        at = moment.timestamp()
        found = select(func.max(change.c.seq)).where(change.c.source_id == self._source_id, change.c.at <= at)
        return int(self._reader.read(found).scalar() or 0)

    def last_seq(self) -> int:
        """The number of the last change stored; 0 before the first."""
        self.flush()
        return int(
            self._reader.read(select(source.c.last_seq).where(source.c.id == self._source_id)).scalar() or 0
        )

    def moved_from(self) -> dict[bytes, list[str]]:
        """The former addresses of living pages that have some, by key."""
        statement = select(page.c.key, page.c.moved_from).where(
            page.c.source_id == self._source_id, page.c.moved_from.is_not(None), page.c.gone.is_(False)
        )
        return {bytes(key): orjson.loads(urls) for key, urls in self._reader.read(statement)}

    # Stored answers, errors, filtered URLs

    def resource(self, key: bytes, *, with_body: bool = True) -> Resource | None:
        """A stored answer by its key, without its body where only the validators are wanted."""
        statement = queries.RESOURCE if with_body else queries.RESOURCE_VALIDATORS
        found = self._reader.read(statement, {"b_source_id": self._source_id or 0, "b_key": key})
        row = found.mappings().first()
        return None if row is None else rows.resource_record(row)

    def errors(self, run: RunRecord) -> list[PageError]:
        """The page errors of a run kept by name."""
        self.flush()
        return queries.errors(self._reader.read, self._known_source(), run.number)

    def filtered(self, run: RunRecord) -> list[FilteredUrl]:
        """The URLs that a run filtered, as far as kept by name."""
        self.flush()
        return queries.filtered_urls(self._reader.read, self._known_source(), run.number)

    def _flush_pages(self, keys: Sequence[bytes]) -> None:
        """Commit what was written of these pages."""

    def _states(self, *conditions: Any) -> Iterator[PageState]:
        return map(rows.page_state, self._streamed(queries.LIVING_STATES.where(*conditions)))

    def _streamed(self, statement: Select[Any]) -> Iterator[Any]:
        self.flush()
        with self._database.snapshot() as connection:
            streaming = connection.execution_options(yield_per=1000)
            yield from streaming.execute(statement, {"b_source_id": self._source_id or 0})

    def _known_source(self) -> int:
        if self._source_id is None:
            raise StoreError(f"page store: {self._name!r} is not stored yet; call upsert_source first")
        return self._source_id

    def _load_source(self) -> None:
        """Read the source; in one statement, since another process may be writing it at this moment."""
        wanted = (
            select(source) if self._database.is_sqlite else select(source).where(source.c.name == self._name)
        )
        found = {row["name"]: row for row in self._reader.read(wanted).mappings()}
        if self._name in found:
            row = found[self._name]
            self._source_id, self._source = row["id"], rows.source_record(dict(row))
        elif found:
            raise StoreError(f"page store {self._database.label} belongs to the source {next(iter(found))!r}")
