"""`Store`: the pages of one source, and the run that is going over them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import orjson
from sqlalchemy import Connection, RowMapping, func, select

from llmsspider.errors import StoreError
from llmsspider.items import Change, content_hash
from llmsspider.store import batch, history, queries, rows, runs
from llmsspider.store.database import Database
from llmsspider.store.history import PageHistory, Retention
from llmsspider.store.queries import Reader
from llmsspider.store.records import (
    WHOLE,
    FilteredUrl,
    Json,
    PageError,
    PageRecord,
    PageState,
    Parts,
    Resource,
    RunKind,
    RunRecord,
    SourceRecord,
    StoredPage,
    Touch,
)
from llmsspider.store.schema import alias, change, page, source
from llmsspider.store.writer import RunWriter
from llmsspider.web.urls import page_key


class Store:
    """Pages, changes and runs of one source. Use from one thread; not for sharing between processes.

    Writes return at once: one thread commits them in batches. Reading a page is one indexed SELECT. Any
    method raises `StoreError` when the database fails; after a failed write every later call does.
    Page keys are those of `urls.page_key`.
    """

    def __init__(self, database: Database, source_name: str):
        self._database = database
        self._name = source_name
        self._source_id: int | None = None
        self._reader = Reader(database)
        self._writer: RunWriter | None = None
        self.run: RunRecord | None = None
        """The run begun last, as it was at its beginning."""
        self._source: SourceRecord | None = None
        try:
            self._load_source()
        except BaseException:
            self._reader.close()
            raise

    # All sources of a project

    @classmethod
    def open(cls, url: str | None, data_dir: Path | None, source: str, *, create: bool = True) -> Self:
        """Open the store of a source: PostgreSQL when `url` is given, else its SQLite file in `data_dir`.

        `data_dir` None stands for what `resolve_data_dir` says. With `create` False nothing is made: the source has
        to be known (`UnknownSourceError`). Raises `StoreError`, one line, when the store cannot be opened, is damaged,
        newer than this program, or not a store; it is left untouched then.
        """
        database = runs.open_database(url, data_dir, source, create=create)
        try:
            store = cls(database, source)
        except BaseException:
            database.engine.dispose()
            raise
        if not create and store.source_record() is None:
            store.close()
            raise runs.unknown_source(source)
        return store

    @classmethod
    def list_sources(cls, url: str | None, data_dir: Path | None) -> tuple[list[SourceRecord], list[str]]:
        """Every source with status and number of pages, by name; and a line for each that cannot be read.

        Raises `StoreError` when nothing can be read.
        """
        return runs.list_sources(url, data_dir)

    @classmethod
    def delete(cls, url: str | None, data_dir: Path | None, source: str) -> None:
        """Delete a source with everything stored of it.

        Raises `StoreError` when it is not known, cannot be opened, or is being crawled.
        """
        with cls.open(url, data_dir, source, create=False) as store:
            going = [run.id for run in store.runs() if run.finished_at is None and not run.lost]
        if going:
            raise StoreError(f"source {source!r} is being crawled by run {going[-1]}; stop that first")
        runs.delete_source(url, data_dir, source)

    # The source and its runs

    def source_record(self) -> SourceRecord | None:
        """The source as last read or written here (its status not filled); None before the first write."""
        return self._source

    def upsert_source(self, record: SourceRecord) -> None:
        """Create the source or replace what is stored of it; its name must be that of the store."""
        if record.name != self._name:
            raise StoreError(f"page store of {self._name!r}: cannot hold the source {record.name!r}")
        values = rows.source_row(record)
        fresh = {"created_at": time.time(), "next_seq": 1, "last_seq": 0}

        def upsert(connection: Connection) -> RowMapping:
            connection.execute(queries.upsert_source(self._database.is_sqlite, values), values | fresh)
            return connection.execute(select(source).where(source.c.name == self._name)).mappings().one()

        row = self._database.write(upsert)
        self._source_id, self._source = row["id"], rows.source_record(dict(row))

    def begin_run(
        self,
        kind: RunKind,
        arguments: Json,
        pid: int | None = None,
        host: str | None = None,
        *,
        resumes: str | None = None,
        retention: Retention | None = None,
    ) -> RunRecord:
        """Record that a run begins; this process is taken for its own unless said otherwise.

        `resumes` is the id of an unfinished run whose work this one continues (a JOBDIR): what that one
        reached counts as reached. `retention` says how many earlier contents of changed pages are kept.
        """
        source_id = self._known_source()
        if self._writer is not None:
            self._writer.close()
        self.run, reach_from = self._database.write(
            lambda connection: runs.begin(
                connection,
                source_id,
                self._name,
                kind,
                arguments,
                pid=os.getpid() if pid is None else pid,
                host=runs.this_host() if host is None else host,
                resumes=resumes,
            )
        )
        self._writer = RunWriter(self._database, source_id, self.run, reach_from, retention or Retention())
        return self.run

    def heartbeat(self, counts: Mapping[str, Any]) -> None:
        """Say that the run is alive, and how far it is; at least every 15 s (silent for 60 s, it is lost)."""
        writer = self._running()
        writer.put(batch.RunUpdate(writer.tallies(counts) | {"heartbeat_at": time.time()}))

    def finish_run(self, outcome: str, *, complete: bool, why: str | None, counts: Mapping[str, Any]) -> None:
        """Write what is queued and close the run.

        `outcome` is the finish reason, `complete` whether the run saw everything, `why` the reason if not.
        """
        writer = self._running()
        writer.flush()
        values = writer.tallies(counts) | {"outcome": outcome, "complete": complete, "why": why}
        source_id = self._known_source()
        self._database.write(
            lambda connection: runs.finish(connection, source_id, writer.run.number, values, writer.retention)
        )
        writer.give_back()

    def runs(self) -> list[RunRecord]:
        """Every run of the source, oldest first."""
        if self._source_id is None:
            return []
        self.flush()
        with self._database.snapshot() as connection:
            return runs.all_runs(connection, self._source_id, self._name)

    def undelivered_since(self) -> int | None:
        """The number to replay from, so that what was stored and not handed over is; None when nothing is."""
        return runs.undelivered_since(self.runs(), self.last_seq())

    def note_replayed(self, since: int) -> None:
        """Note that the changes after `since` were exported; writes only where a run had not delivered them."""
        if (undelivered := self.undelivered_since()) is None or since > undelivered:
            return
        source_id = self._known_source()
        self._database.write(lambda connection: runs.note_replayed(connection, source_id, self._name, since))

    # Pages, written

    def save_page(self, record: PageRecord, change: Change) -> int | None:
        """Replace a page as a whole; returns the number of the change, None when it is `unchanged`.

        `unchanged` is for a page whose content is the same though its body, links or extractor are not.
        A saved page counts as reached. Raises `ValueError` for content that is not that of `content_hash`: a page with
        another's hash would change without anybody being told.
        """
        if record.content is not None and content_hash(record.content) != record.content_hash:
            raise ValueError(f"{record.url}: the content is not that of its content_hash")
        seq = None if change == "unchanged" else self._running().next_seq()
        self._running().put_page(batch.Save(record.key, record, change, seq))
        return seq

    def touch_page(self, key: bytes, touch: Touch) -> None:
        """Note what the run learned about an unchanged page, and that it was reached."""
        self._running().put_page(batch.TouchPage(key, touch))

    def mark_reached(self, key: bytes) -> None:
        """Note that the run reached a page, whatever it answered."""
        self._running().put(batch.Reach(key))

    def delete_page(self, key: bytes, reason: str) -> int:
        """Make a page a tombstone (content and links dropped); returns the number of the change."""
        seq = self._running().next_seq()
        self._running().put_page(batch.DeletePage(key, reason, seq))
        return seq

    def save_moved_from(self, key: bytes, urls: Sequence[str]) -> None:
        """Set the former addresses of a page that this run has saved or touched."""
        self._running().put(batch.MovedFrom(key, tuple(urls)))

    def moved_from(self) -> dict[bytes, list[str]]:
        """The former addresses of living pages that have some, by key."""
        statement = select(page.c.key, page.c.moved_from).where(
            page.c.source_id == self._source_id, page.c.moved_from.is_not(None), page.c.gone.is_(False)
        )
        return {bytes(key): orjson.loads(urls) for key, urls in self._reader.read(statement)}

    def add_alias(self, key: bytes, target: bytes, url: str) -> None:
        """Remember that the identity of `key`, seen as `url`, is another spelling of the page `target`."""
        self._running().put(batch.Alias(key, target, url))

    # Pages, read

    def page_states(self) -> dict[bytes, PageState]:
        """The state of every living page by key; 0.8 KB of memory each."""
        return {state.key: state for state in self._states()}

    def aliases(self) -> dict[bytes, bytes]:
        """Keys of joined spellings, each with the key of its page."""
        statement = select(alias.c.key, alias.c.target).where(alias.c.source_id == self._source_id)
        return {bytes(key): bytes(target) for key, target in self._reader.read(statement)}

    def load_page(self, key: bytes) -> PageRecord | None:
        """A living page with content and links, or None. Sees what this run has saved."""
        if self._writer is not None and self._writer.holds(key):
            self.flush()
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

    def unreached(self) -> Iterator[PageState]:
        """Living pages that neither this run, nor the one it resumes, nor one going beside it has reached."""
        yield from self._states(page.c.reached < self._running().reach_from)

    def load_pages(self, keys: Iterable[bytes], parts: Parts = WHOLE) -> Iterator[PageRecord | None]:
        """The living pages of the keys, in their order, with the `parts` asked for; None for one that is not there."""
        self.flush()
        return queries.pages_of(self._reader.read, self._source_id or 0, keys, parts)

    def iter_pages(self, order: queries.Order = "found", parts: Parts = WHOLE) -> Iterator[StoredPage]:
        """Every living page, streamed from one snapshot, with the `parts` asked for."""
        self.flush()
        with self._database.snapshot() as connection:
            yield from queries.living_pages(connection, self._source_id or 0, order, parts)

    def changes_since(self, seq: int) -> Iterator[StoredPage]:
        """The latest state of every page changed after `seq`, in the order of changes, from one snapshot.

        `change` is what happened to the page since `seq`, whatever the steps between: a page that is
        new since then is `new` though it changed twice. Tombstones have no content and no links.
        """
        self.flush()
        with self._database.snapshot() as connection:
            yield from queries.replay(connection, self._source_id or 0, seq)

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

    # Answers that are no documents

    def save_resource(self, resource: Resource) -> None:
        """Keep an answer, in place of an earlier one for the same URL and representation."""
        self._running().put(resource)

    def use_resource(self, key: bytes) -> None:
        """Note that the run used a stored answer; those that no run uses are dropped after a while."""
        self._running().put(batch.UseResource(key))

    def resource(self, key: bytes, *, with_body: bool = True) -> Resource | None:
        """A stored answer by its key, without its body where only the validators are wanted."""
        statement = queries.RESOURCE if with_body else queries.RESOURCE_VALIDATORS
        found = self._reader.read(statement, {"b_source_id": self._source_id or 0, "b_key": key})
        row = found.mappings().first()
        return None if row is None else rows.resource_record(row)

    def drop_originals(self, extractor_version: str) -> None:
        """Drop stored answers, and earlier contents of pages that were not made with `extractor_version`.

        They are text as the site sent it, or as other pipelines left it.
        """
        source_id = self._known_source()
        self.flush()
        self._database.write(
            lambda connection: history.drop_originals(connection, source_id, extractor_version)
        )

    # What went wrong or was left out

    def record_error(self, url: str, kind: str, message: str, status: int | None = None) -> None:
        """Count a page error of the run, and keep it by name while there are few of its kind."""
        self._running().error(PageError(url, kind, message, status))

    def record_filtered(self, url: str, reason: str, rule: str | None = None) -> None:
        """Count a filtered URL, and keep it by name while there are few of its reason."""
        self._running().left_out(FilteredUrl(url, reason, rule))

    def errors(self, run: RunRecord) -> list[PageError]:
        """The page errors of a run kept by name."""
        self.flush()
        return queries.errors(self._reader.read, self._known_source(), run.number)

    def filtered(self, run: RunRecord) -> list[FilteredUrl]:
        """The URLs that a run filtered, as far as kept by name."""
        self.flush()
        return queries.filtered_urls(self._reader.read, self._known_source(), run.number)

    # Life

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        self._reader.check()
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Write what is queued and close the database; a second call does nothing.

        An unfinished run stays unfinished: it is lost once this process has ended.
        """
        if self._reader.closed:
            return
        try:
            if self._writer is not None:
                self._writer.close()
                self._writer.give_back()
        finally:
            self._reader.close()
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _states(self, *conditions: Any) -> Iterator[PageState]:
        self.flush()
        with self._database.snapshot() as connection:
            statement = queries.LIVING_STATES.where(*conditions)
            streaming = connection.execution_options(yield_per=1000)
            for row in streaming.execute(statement, {"b_source_id": self._source_id or 0}):
                yield rows.page_state(row)

    def _known_source(self) -> int:
        if self._source_id is None:
            raise StoreError(f"page store: {self._name!r} is not stored yet; call upsert_source first")
        return self._source_id

    def _running(self) -> RunWriter:
        if self._writer is None:
            raise StoreError("page store: no run has begun")
        return self._writer

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
