"""Sources and their runs: their rows, beginning and finishing a run, what that drops, the state of
a source.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, true, update

from llmsspider.errors import UnknownSourceError, command
from llmsspider.store.database import Database
from llmsspider.store.records import ASSET, Json, RunRecord, SourceRecord, Status
from llmsspider.store.schema import (
    alias,
    change,
    content,
    error,
    filtered,
    memory,
    page,
    run_table,
    source,
    version,
)

SOURCE_COLUMNS = {one.name for one in fields(SourceRecord)} - {
    "status",
    "pages",
    "undelivered_since",
    "crawled_at",
    "last_seq",
    "last_run",
}
_RUN = {one.name for one in fields(RunRecord)} - {"source", "lost"}
"""The fields of records that are columns of the same name."""


def source_record(row: Any) -> SourceRecord:
    """The record of a row of `source`; `status` and `pages` are filled by the caller."""
    return SourceRecord(**{name: row[name] for name in SOURCE_COLUMNS})


@dataclass(slots=True, frozen=True)
class Retention:
    """How many earlier contents of a page are kept: a number of them, or those that were current in
    the last `days`.
    """

    versions: int = 5
    days: int | None = None

    @classmethod
    def parse(cls, value: object) -> Retention:
        """Read the setting: a number of versions, or days. Raises `ValueError` for anything else.

        >>> Retention.parse("3")
        Retention(versions=3, days=None)
        >>> Retention.parse("90 days")
        Retention(versions=0, days=90)
        """
        text = str(value).strip()
        if text.isascii() and text.isdigit() and len(text) < 6:
            return cls(int(text))
        if found := re.fullmatch(r"(\d{1,5})\s*d(?:ays?)?", text, re.ASCII | re.IGNORECASE):
            return cls(0, int(found[1]))
        raise ValueError(f"{value!r} is neither a number of versions nor of days")


def unknown_source(name: str) -> UnknownSourceError:
    """The error for a source nobody has crawled."""
    return UnknownSourceError(
        f"source {name!r} is not known; `{command('sources')}` lists those that are"
    )


# The rows of `run`: beginning and finishing one, and recognising a lost one.

HEARTBEAT_LIMIT_SECS = 60
"""A run without a heartbeat for longer is lost; call `Store.heartbeat` at least every 15 s."""
DETAIL_RUNS = READING_RUNS = 20
"""Runs of a source for which errors and filtered URLs are listed, and what is no document is kept
while unused.
"""


def this_host() -> str:
    """Name of this machine and, on Linux, of the process id namespace: where a pid means something."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 (not a path)
    except OSError:
        return socket.gethostname()


def new_run_id(now: datetime) -> str:
    """A short id that sorts by time: `20261121T220100-ab12cd`."""
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def is_lost(row: Mapping[str, Any], now: datetime) -> bool:
    """Whether an unfinished run's process died (seen from its own host) or its last heartbeat is
    too old.

    So is one in the future: the clock was put back, and a living run sends the next within seconds.
    """
    if row["finished_at"] is not None:
        return False
    if abs((now - row["heartbeat_at"]).total_seconds()) > HEARTBEAT_LIMIT_SECS:
        return True
    if row["host"] in {this_host(), socket.gethostname()}:
        try:
            os.kill(row["pid"], 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
    return False


def begin(
    connection: Connection, source_id: int, wanted: RunRecord, resumes: str | None
) -> tuple[RunRecord, int]:
    """Insert a run, its number and place filled in; returns it and its `reach_from`.

    Call in a write transaction.
    """
    locked = select(source.c.last_seq).where(source.c.id == source_id).with_for_update()
    last_seq = connection.execute(locked).scalar_one()
    earlier = _rows(connection, source_id)
    going = [
        row for row in earlier if row["finished_at"] is None and not is_lost(row, wanted.started_at)
    ]
    record = replace(wanted, number=1, seq_before=last_seq, concurrent=bool(going))
    if earlier:
        previous = earlier[-1]
        record = replace(
            record,
            number=previous["number"] + 1,
            predecessor=previous["id"],
            predecessor_clean=previous["finished_at"] is not None or previous in going,
        )
    resumed = [row["reach_from"] for row in earlier if row["id"] == resumes]
    reach_from: int = min([record.number, *(row["number"] for row in going), *resumed])
    row = {name: getattr(record, name) for name in _RUN} | {
        "source_id": source_id,
        "reach_from": reach_from,
    }
    connection.execute(insert(run_table), row)
    return record, reach_from


def _run_record(row: Mapping[str, Any], name: str, *, lost: bool = False) -> RunRecord:
    return RunRecord(**{column: row[column] for column in _RUN}, source=name, lost=lost)


def finish(
    connection: Connection, source_id: int, number: int, values: Json, retention: Retention
) -> None:
    """Mark a run as finished, delete the details of runs long past. Call in a write transaction."""
    now = time.time()
    values = values | {"finished_at": now, "heartbeat_at": now}
    mine = (run_table.c.source_id == source_id, run_table.c.number == number)
    connection.execute(update(run_table).where(*mine).values(values))
    # of a night of many jobs
    first = connection.execute(select(run_table.c.reach_from).where(*mine)).scalar_one()
    for table in (error, filtered):
        past = table.c.run <= first - DETAIL_RUNS
        connection.execute(delete(table).where(table.c.source_id == source_id, past))
    _drop_readings(connection, source_id, page.c.reached <= first - READING_RUNS)
    _drop_versions(connection, source_id, number, retention)


def ask_to_end(connection: Connection, source_id: int, numbers: Sequence[int]) -> None:
    """Write into runs that go how they are to end. Call in a write transaction."""
    of_these = (run_table.c.source_id == source_id, run_table.c.number.in_(numbers))
    connection.execute(
        update(run_table)
        .where(*of_these, run_table.c.finished_at.is_(None))
        .values(outcome="shutdown")
    )


def is_asked_to_end(connection: Connection, source_id: int, number: int) -> bool:
    """Say whether that was done to a run."""
    mine = (run_table.c.source_id == source_id, run_table.c.number == number)
    return connection.execute(select(run_table.c.outcome).where(*mine)).scalar_one() is not None


def _drop_versions(
    connection: Connection, source_id: int, number: int, retention: Retention
) -> None:
    """Delete what is beyond the retention: by number of the pages that the run changed, by age of
    all pages.
    """
    of_source = select(page.c.id).where(page.c.source_id == source_id)
    beyond: Any = true()
    if retention.days is not None:
        beyond = version.c.replaced_at < time.time() - retention.days * 86_400
    elif retention.versions:
        later = version.alias("later")
        follows = (later.c.page_id == version.c.page_id) & (later.c.seq > version.c.seq)
        number_of = select(func.count()).select_from(later).where(follows).scalar_subquery()
        beyond = number_of >= retention.versions
        of_source = of_source.where(page.c.run == number)
    connection.execute(delete(version).where(version.c.page_id.in_(of_source), beyond))


def drop_originals(connection: Connection, source_id: int, extractor_version: str) -> None:
    """Delete readings but for assets, and contents not made with `extractor_version`.

    Call in a write transaction.
    """
    of_source = version.c.page_id.in_(select(page.c.id).where(page.c.source_id == source_id))
    connection.execute(
        delete(version).where(of_source, version.c.extractor_version != extractor_version)
    )
    _drop_readings(connection, source_id, page.c.extractor_version != ASSET)


def _drop_readings(
    connection: Connection, source_id: int, *conditions: ColumnElement[bool]
) -> None:
    readings = (page.c.source_id == source_id, page.c.seq == 0, *conditions)
    connection.execute(
        delete(content).where(content.c.page_id.in_(select(page.c.id).where(*readings)))
    )
    connection.execute(delete(page).where(*readings))


def all_runs(connection: Connection, source_id: int, name: str) -> list[RunRecord]:
    """Every run of a source, oldest first."""
    now = datetime.fromtimestamp(time.time(), UTC)
    return [_run_record(row, name, lost=is_lost(row, now)) for row in _rows(connection, source_id)]


def status(runs: Sequence[RunRecord], pages: int) -> Status:
    """The state of a source from its runs and the number of its living pages."""
    if not runs:
        return "PENDING"
    if any(one.is_going for one in runs):
        return "UPDATING" if any(one.finished_at for one in runs) and pages else "CRAWLING"
    if runs[-1].lost:
        return "lost"
    if runs[-1].outcome in {"start_failed", "no_documents"} or not pages:
        return "ERROR"
    return "STOPPED" if runs[-1].outcome == "shutdown" else "INDEXED"


def undelivered_since(runs: Sequence[RunRecord], last_seq: int) -> int | None:
    """The number to replay from, so that what was stored and never handed over is; None when
    nothing is.

    A run says in `counts["delivered"]` whether its feeds were stored; one that delivered the
    complete set (`emit=all`) makes up for those before it. `runs` are all of the source, oldest
    first, `last_seq` is the last change stored.
    """
    since: list[int] = []
    ends = [*(later.seq_before for later in runs[1:]), last_seq]
    for one, end in zip(runs, ends, strict=False):
        whole = one.complete and one.arguments.get("emit", "all") == "all"
        if one.counts.get("delivered") is True and whole:
            since.clear()
        elif is_undelivered(one) and end > one.seq_before:
            since.append(one.seq_before)
    return min(since, default=None)


def is_undelivered(one: RunRecord) -> bool:
    """Whether a run ended without handing over what it stored, and nobody has replayed it."""
    delivered = one.counts.get("delivered")
    return delivered is False or (one.lost and delivered is None)


def note_replayed(connection: Connection, source_id: int, name: str, since: int) -> None:
    """Note that what the undelivered runs from `since` on stored was exported.

    Call in a write transaction.
    """
    for one in all_runs(connection, source_id, name):
        if is_undelivered(one) and one.seq_before >= since:
            its_row = update(run_table).where(
                run_table.c.source_id == source_id, run_table.c.number == one.number
            )
            connection.execute(its_row.values(counts={**one.counts, "delivered": "replayed"}))


def _rows(connection: Connection, source_id: int) -> Sequence[Any]:
    mine = select(run_table).where(run_table.c.source_id == source_id).order_by(run_table.c.number)
    return connection.execute(mine).mappings().all()


# Built once: building these took longer than running them.
_LIVING = select(func.count()).where(page.c.source_id == source.c.id, page.c.gone.is_(False))
_SOURCES = select(source, _LIVING.scalar_subquery().label("pages")).order_by(source.c.name)
_RUNS = select(run_table).order_by(run_table.c.number)


def all_sources(database: Database) -> list[SourceRecord]:
    """Every source of a migrated database, with what is derived, by name; closes the database."""
    try:
        with database.snapshot() as connection:
            rows = connection.execute(_SOURCES).mappings().all()
            rows_of_runs = connection.execute(_RUNS).mappings().all()
    finally:
        database.engine.dispose()
    now = datetime.fromtimestamp(time.time(), UTC)
    runs: defaultdict[int, list[Any]] = defaultdict(list)
    for one in rows_of_runs:
        runs[one["source_id"]].append(one)
    found = []
    for row in rows:
        record = source_record(row)
        known = [_run_record(one, record.name, lost=is_lost(one, now)) for one in runs[row["id"]]]
        ended = [one for one in known if one.finished_at]
        record.pages = row["pages"]
        record.status = status(known, record.pages)
        record.undelivered_since = undelivered_since(known, row["last_seq"])
        record.last_seq = row["last_seq"]
        if ended:
            record.crawled_at = ended[-1].finished_at
            record.last_run = ended[-1].id
        found.append(record)
    return found


def delete_rows(connection: Connection, source_id: int) -> None:
    """Delete a source with everything stored of it. Call in a write transaction."""
    for table in (error, filtered, alias, change, memory, page, run_table):
        connection.execute(delete(table).where(table.c.source_id == source_id))
    connection.execute(delete(source).where(source.c.id == source_id))
