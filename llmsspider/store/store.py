"""The page store of a source with the run that goes over it, and the stores of a project
(`LLMS_STORE_CLASS`).
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, select
from w3lib.url import canonicalize_url

from llmsspider.errors import ArgumentsError, StoreError, UnknownSourceError
from llmsspider.items import Change
from llmsspider.store import runs
from llmsspider.store.database import (
    SUFFIX,
    Database,
    delete_sqlite,
    open_postgresql,
    open_sqlite,
    resolve_data_dir,
    source_file,
    source_slug,
)
from llmsspider.store.listing import sources_of
from llmsspider.store.reader import SourceReader
from llmsspider.store.records import (
    FilteredUrl,
    Json,
    PageError,
    PageRecord,
    PageState,
    Reading,
    RunKind,
    RunRecord,
    SourceRecord,
)
from llmsspider.store.schema import alias, memory, migrate, page, source
from llmsspider.store.writer import HEARTBEAT, SET_HEADINGS, USE_READING, Detail, RunWriter, Write
from llmsspider.web.loading import find

logger = logging.getLogger(__name__)


class Store(SourceReader):
    """Pages, changes and runs of one source, read and written. Use from one thread of one process.

    Writes return at once: one thread commits them in batches. After one that failed later calls
    raise `StoreError`.
    """

    def __init__(self, database: Database, source_name: str):
        self._writer: RunWriter | None = None
        self.run: RunRecord | None = None  # the run begun last, as it was at its beginning
        super().__init__(database, source_name)

    # All sources of a project

    @classmethod
    def open(
        cls, url: str | None, data_dir: Path | None, source: str, *, create: bool = True
    ) -> Self:
        """Open the store of a source: PostgreSQL when `url` is given, else its SQLite file in
        `data_dir`.

        `data_dir` None stands for what `resolve_data_dir` says. With `create` False nothing is
        made: the source has to be known (`UnknownSourceError`). Raises `StoreError`, one line, when
        the store cannot be opened, is damaged, newer than this program, or not a store; it is left
        untouched then.
        """
        path = source_file(resolve_data_dir(data_dir), source)
        if not (url or create or path.exists()):
            raise runs.unknown_source(source)
        store = cls(migrate(open_postgresql(url) if url else open_sqlite(path)), source)
        if not create and store.source_record() is None:
            store.close()
            raise runs.unknown_source(source)
        return store

    @classmethod
    def list_sources(
        cls, url: str | None, data_dir: Path | None
    ) -> tuple[list[SourceRecord], list[str]]:
        """Every source with status and number of pages, by name; and a line for each that cannot be
        read.

        Raises `StoreError` when nothing can be read.
        """
        if url:
            return runs.all_sources(migrate(open_postgresql(url))), []
        found = list[SourceRecord]()
        problems = list[str]()
        for path in sorted(resolve_data_dir(data_dir).glob(f"*{SUFFIX}")):
            try:
                found += sources_of(path)
            except StoreError as fault:
                problems.append(str(fault))
        return sorted(found, key=lambda record: record.name), problems

    @classmethod
    def delete(cls, url: str | None, data_dir: Path | None, source: str) -> None:
        """Delete a source with everything stored of it.

        Raises `StoreError` when it is not known, cannot be opened, or is being crawled.
        """
        with cls.open(url, data_dir, source, create=False) as store:
            going = [one.id for one in store.runs() if one.is_going]
            if going:
                raise StoreError(
                    f"source {source!r} is being crawled by run {going[-1]}; stop that first"
                )
            if url:
                store._database.write(
                    lambda connection: runs.delete_rows(connection, store._known_source())
                )
        if not url:
            delete_sqlite(source_file(resolve_data_dir(data_dir), source))

    # The source and its runs

    def upsert_source(self, record: SourceRecord) -> None:
        """Create the source or replace what is stored of it; its name must be that of the store."""
        if record.name != self._name:
            raise StoreError(
                f"page store of {self._name!r}: cannot hold the source {record.name!r}"
            )
        values = {name: getattr(record, name) for name in runs.SOURCE_COLUMNS - {"created_at"}}
        fresh = {"created_at": time.time(), "next_seq": 1, "last_seq": 0}

        def upsert(connection: Connection) -> Any:
            made = self._database.insert(source).values(values | fresh)
            connection.execute(made.on_conflict_do_update(index_elements=["name"], set_=values))
            return (
                connection.execute(select(source).where(source.c.name == self._name))
                .mappings()
                .one()
            )

        row = self._database.write(upsert)
        self._source_id = row["id"]
        self._source = runs.source_record(row)

    def remember(self, learned: Mapping[str, Any]) -> None:
        """Replace what is remembered of the source under these names; None leaves it."""
        source_id = self._known_source()
        made = self._database.insert(memory)
        upsert = made.on_conflict_do_update(
            index_elements=["source_id", "name"], set_={"value": made.excluded.value}
        )
        rows = [
            {"source_id": source_id, "name": name, "value": value}
            for name, value in learned.items()
            if value is not None
        ]
        self._database.write(lambda connection: connection.execute(upsert, rows))

    def begin_run(
        self,
        kind: RunKind,
        arguments: Json,
        pid: int | None = None,
        host: str | None = None,
        *,
        resumes: str | None = None,
        retention: runs.Retention | None = None,
    ) -> RunRecord:
        """Record that a run begins; this process is taken for its own unless said otherwise.

        `resumes` is the id of an unfinished run whose work this one continues (a JOBDIR): what that
        one reached counts as reached. `retention` says how many earlier contents of changed pages
        are kept.
        """
        source_id = self._known_source()
        if self._writer is not None:
            self._writer.close()
        now = datetime.fromtimestamp(time.time(), UTC)
        pid = os.getpid() if pid is None else pid
        host = runs.this_host() if host is None else host
        wanted = RunRecord(
            runs.new_run_id(now), 0, self._name, kind, arguments, pid, host, now, now
        )
        begin = partial(runs.begin, source_id=source_id, wanted=wanted, resumes=resumes)
        self.run, reach_from = self._database.write(begin)
        keep = retention or runs.Retention()
        self._writer = RunWriter(self._database, source_id, self.run.number, reach_from, keep)
        return self.run

    def heartbeat(self, counts: Mapping[str, Any]) -> bool:
        """Store the progress of the run, and return whether it is asked to stop; call it at least
        every 15 s: a run without a heartbeat for 60 s is lost.
        """
        writer = self._running()
        writer.update(HEARTBEAT, **writer.tallies(counts), heartbeat_at=time.time())
        with self._database.snapshot() as connection:
            return runs.is_asked_to_end(connection, writer.source_id, writer.number)

    def request_stop(self) -> bool:
        """Ask the runs that go, in whatever process, to stop with their next heartbeat; returns
        whether one goes.
        """
        going = [one.number for one in self.runs() if one.is_going]
        source_id = self._known_source()
        self._database.write(lambda connection: runs.ask_to_end(connection, source_id, going))
        return bool(going)

    def finish_run(
        self, outcome: str, *, complete: bool, why: str | None, counts: Mapping[str, Any]
    ) -> None:
        """Write what is queued and close the run.

        `outcome` is the finish reason, `complete` whether the run saw everything, `why` the reason
        if not.
        """
        writer = self._running()
        writer.flush()
        values = writer.tallies(counts) | {"outcome": outcome, "complete": complete, "why": why}
        mine = writer.source_id, writer.number
        self._database.write(
            lambda connection: runs.finish(connection, *mine, values, writer.retention)
        )
        writer.give_back()

    def note_replayed(self, since: int) -> None:
        """Note that the changes after `since` were exported; writes only where a run had not
        delivered them.
        """
        if (undelivered := self.undelivered_since()) is None or since > undelivered:
            return
        source_id = self._known_source()
        self._database.write(
            lambda connection: runs.note_replayed(connection, source_id, self._name, since)
        )

    # Pages, written

    def save_page(self, record: PageRecord, change: Change) -> int | None:
        """Replace a page as a whole, which counts as reached; returns the number of the change,
        None when `unchanged`.

        `unchanged` is for a page whose content is the same, names of built files aside, though its
        body, links or extractor are not. Raises `ValueError` for content that is not that of
        `content_hash`: a page with another's would change unnoticed.
        """
        if record.content is not None and record.hash_of_content != record.content_hash:
            raise ValueError(f"{record.url}: the content is not that of its content_hash")
        seq = None if change == "unchanged" else self._running().next_seq()
        self._running().put(
            Write(record.key, seq, change, record, ",".join(record.change_kinds) or None)
        )
        return seq

    def touch_page(self, record: PageRecord) -> None:
        """Note what the run learned about an unchanged page, and that it was reached.

        Written are depth, `discovered_by`, `llms`, `status`, `fetched_at`, and the validators where
        there are any.
        """
        names = ["depth", "discovered_by", "llms", "status", "fetched_at"]
        if record.validators_url and (record.etag or record.last_modified):
            names += ["etag", "last_modified", "validators_url", "accept"]
        self._running().note(record.key, **{name: getattr(record, name) for name in names})

    def delete_page(self, key: bytes, reason: str) -> int:
        """Make a page a tombstone (content and links deleted); returns the number of the change."""
        seq = self._running().next_seq()
        self._running().put(Write(key, seq, "deleted", reason=reason))
        return seq

    def save_moved_from(self, key: bytes, urls: Sequence[str]) -> None:
        """Set the former addresses of a page that this run has saved or touched."""
        self._running().note(key, after=False, moved_from=list(urls) or None)

    def save_heading_ids(self, key: bytes, ids: Sequence[tuple[str, str]]) -> None:
        """Set text and id of the headings of a page that this run has saved, as its HTML has them."""
        self._running().update(SET_HEADINGS, key=key, headings=ids or None)

    def add_alias(self, key: bytes, target: bytes, url: str) -> None:
        """Remember that the identity of `key`, seen as `url`, is another spelling of the page
        `target`.
        """
        writer = self._running()
        row = {"source_id": writer.source_id, "key": key, "target": target, "url": url}
        writer.put(Detail(writer.upserts[alias], row))

    def unreached(self) -> Iterator[PageState]:
        """Living pages that neither this run, nor the one it resumes, nor one going beside it has
        reached.
        """
        yield from self._states(page.c.reached < self._running().reach_from)

    # What is no document

    def save_reading(self, reading: Reading) -> None:
        """Keep what was read of a URL that is no document, in place of an earlier one of the same
        key.
        """
        self._running().put(Write(reading.key, 0, record=reading))

    def use_reading(self, key: bytes) -> None:
        """Note that the run used a reading; those that no run uses are deleted after a while."""
        self._running().update(USE_READING, key=key)

    def drop_originals(self, extractor_version: str) -> None:
        """Delete what is as sites sent it, or other pipelines returned it: readings, contents of
        other versions.
        """
        source_id = self._known_source()
        self.flush()
        self._database.write(
            lambda connection: runs.drop_originals(connection, source_id, extractor_version)
        )

    # Errors and filtered URLs

    def record_error(self, url: str, kind: str, message: str, status: int | None = None) -> None:
        """Count a page error of the run, and keep it by name while there are few of its kind."""
        self._running().detail(PageError(url, kind, message, status))

    def record_filtered(self, url: str, reason: str, rule: str | None = None) -> None:
        """Count a filtered URL, and keep it by name while there are few of its reason."""
        self._running().detail(FilteredUrl(url, reason, rule))

    # Life

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        super().flush()
        if self._writer is not None:
            self._writer.flush()

    def _flush_pages(self, keys: Sequence[bytes]) -> None:
        if self._writer is not None and self._writer.holds(keys):
            self.flush()

    def close(self) -> None:
        """Write what is queued and close the database; a second call does nothing.

        An unfinished run stays unfinished: it is lost once this process has ended.
        """
        if self._connection is None:
            return
        try:
            if self._writer is not None:
                self._writer.close()
                self._writer.give_back()
        finally:
            self._connection.close()
            self._connection = None
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> RunWriter:
        if self._writer is None:
            raise StoreError("page store: no run has begun")
        return self._writer


DEFAULT_CLASS = "llmsspider.store.Store"

METHODS = tuple(sorted(name for name in dir(Store) if not name.startswith("_")))
"""The methods that a store class needs."""


@dataclass(slots=True, frozen=True)
class Stores:
    """`url` is that of a PostgreSQL database, None for one SQLite file a source in `data_dir`."""

    url: str | None = None
    data_dir: Path | None = None
    kind: type[Store] = Store

    def open(self, source: str, *, create: bool = True) -> Store:
        """The open store of a source; see `Store.open`."""
        return self.kind.open(self.url, self.data_dir, source, create=create)

    def list_sources(self) -> tuple[list[SourceRecord], list[str]]:
        """Every source, and a line for each that cannot be read; see `Store.list_sources`."""
        return self.kind.list_sources(self.url, self.data_dir)

    def list(self) -> list[SourceRecord]:
        """Every source that can be read, by name; what cannot is a warning in the log, once."""
        found, problems = self.list_sources()
        for problem in problems:
            _warn(problem)
        return found

    def get(self, source: str) -> SourceRecord | None:
        """The source of this name as it is stored, read alone, its status not filled; None when it
        is not known.
        """
        try:
            with closing(self.open(source, create=False)) as store:
                return store.source_record()
        except UnknownSourceError:
            return None

    def find(self, start_url: str) -> SourceRecord | None:
        """The source first crawled from `start_url` (fragment and order of parameters aside), or
        None.
        """
        wanted = canonicalize_url(start_url)
        return next(
            (record for record in self.list() if canonicalize_url(record.url) == wanted), None
        )

    def index_file(self, source: str, suffix: str) -> Path:
        """The file of an index of a source (`answers`), which lies in the data directory; it need
        not exist yet.
        """
        return resolve_data_dir(self.data_dir) / (source_slug(source) + suffix)

    def delete(self, source: str) -> None:
        """Delete a source with everything stored of it; see `Store.delete`."""
        self.kind.delete(self.url, self.data_dir, source)


@cache
def _warn(problem: str) -> None:
    logger.warning("%s", problem)


def store_class(given: object) -> type[Store]:
    """The class that `LLMS_STORE_CLASS` names; raises `ArgumentsError`, one line, where it lacks
    methods or is none.
    """
    try:
        found = given if isinstance(given, type) else find(str(given))
        if not isinstance(found, type):
            raise TypeError("it is no class")
        if missing := [name for name in METHODS if not callable(getattr(found, name, None))]:
            raise TypeError(f"it lacks {', '.join(missing)}")
    except Exception as error:  # whatever the user's module raises
        accepted = "the path of a store class is accepted, see docs/explanation/store.md"
        why = f"{type(error).__name__}: {error}"
        raise ArgumentsError([f"setting LLMS_STORE_CLASS={given!r}: {accepted} ({why})"]) from None
    return found
