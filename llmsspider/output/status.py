"""What the store says of a source and its last run, as text that no terminal acts on."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from llmsspider.crawl.progress import duration
from llmsspider.output.summary import by, found, parts
from llmsspider.store.records import FilteredUrl, RunKind, Status

if TYPE_CHECKING:
    from llmsspider.store import PageError, RunRecord, SourceRecord, Store


# Text of strangers on its way to a terminal, a log file or a spreadsheet: shown, and never acted on. Pure.

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, and those that turn the direction of writing."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that spreadsheets calculate (https://owasp.org/www-community/attacks/CSV_Injection)."""


def printable(text: str) -> str:
    r"""Return a text with its control characters written out.

    >>> printable("\x1b[2J\ttitle")
    '\\x1b[2J\ttitle'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def without_formula(cell: object) -> object:
    """Return the value of a CSV cell; a text that a spreadsheet would calculate gets an apostrophe in front.

    >>> without_formula("=1+1"), without_formula(-1)
    ("'=1+1", -1)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


class PrintableFilter(logging.Filter):
    """Write out the control characters of the records of a handler: headers and errors hold text of the site."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record."""
        message = record.getMessage()
        if _CONTROL.search(message):
            record.msg, record.args = printable(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = printable(record.exc_text)
        return True


@dataclass(slots=True, frozen=True)
class FailedUrl:
    """A page that failed: the kind of error, its message, and the HTTP status where there was a response."""

    url: str
    kind: str
    reason: str
    status: int | None


@dataclass(slots=True, frozen=True)
class Errors:
    """Failed pages: all of them counted, by kind of error, and those that the store keeps by URL."""

    count: int
    by_kind: dict[str, int]
    urls: list[FailedUrl]


@dataclass(slots=True, frozen=True)
class FilteredUrls:
    """Filtered URLs: all of them counted, by reason, and those that the store keeps by URL."""

    count: int
    by_reason: dict[str, int]
    urls: list[FilteredUrl]


@dataclass(slots=True, frozen=True)
class RunStatus:
    """What the store keeps of a run; times are ISO 8601 in UTC."""

    id: str
    kind: RunKind
    state: Literal["finished", "lost", "going"]
    pid: int
    host: str
    started: str | None
    finished: str | None
    heartbeat: str | None
    elapsed_secs: float
    outcome: str | None
    complete: bool
    why: str | None
    outage: str | None
    phase: str
    done: int
    queued: int
    total: int
    percent: int
    documents: int
    unchanged: int
    changes: dict[str, int]
    origins: dict[str, int]
    chunks: dict[str, int]
    pages_per_min: float
    discovered_file: str | None
    discovered_file_type: str
    linked_files: int
    crawl_type: str | None
    scope: str | None
    errors: Errors
    filtered: FilteredUrls


@dataclass(slots=True, frozen=True)
class History:
    """Earlier contents of pages that the store keeps, and their size as stored."""

    versions: int
    bytes: int


@dataclass(slots=True, frozen=True)
class SourceStatus:
    """A source and its last run, as `scrapy status --json` gives it; `run` is None before the first."""

    source: str
    url: str
    status: Status
    pages: int
    last_crawl: str | None
    runs: int
    history: History
    run: RunStatus | None


SHOWN = 5
"""URLs the text names for each reason; JSON has all that the store kept."""


def read_status(store: Store, record: SourceRecord) -> SourceStatus:
    """Return the state of a source and of its last run; raises `StoreError`.

    Args:
        store: the open store of the source.
        record: the source with status and number of pages, as `Stores.list_sources` gives it.
    """
    runs = store.runs()
    last = runs[-1] if runs else None
    finished = [run for run in runs if run.finished_at is not None]
    versions, stored_bytes = store.history_size()
    return SourceStatus(
        source=record.name,
        url=record.url,
        status=record.status,
        pages=record.pages,
        last_crawl=_iso(finished[-1].finished_at) if finished else None,
        runs=len(runs),
        history=History(versions, stored_bytes),
        run=run_status(last, store.errors(last), store.filtered(last)) if last else None,
    )


def run_status(run: RunRecord, errors: Sequence[PageError], filtered: Sequence[FilteredUrl]) -> RunStatus:
    """Return what the store keeps of a run."""
    counts: dict[str, Any] = dict(run.counts)
    done, queued = int(counts.get("done", 0)), int(counts.get("queued", 0))
    total = done + queued
    by_kind = _merged(run.errors, (error.kind for error in errors))
    by_reason = _merged(run.filtered, (url.reason for url in filtered))
    return RunStatus(
        id=run.id,
        kind=run.kind,
        state="finished" if run.finished_at else "lost" if run.lost else "going",
        pid=run.pid,
        host=run.host.partition(" ")[0],
        started=_iso(run.started_at),
        finished=_iso(run.finished_at),
        heartbeat=_iso(run.heartbeat_at),
        elapsed_secs=_elapsed_secs(run),
        outcome=run.outcome,
        complete=run.complete,
        why=run.why,
        outage=counts.get("outage"),
        phase=counts.get("phase", "starting"),
        done=done,
        queued=queued,
        total=total,
        percent=done * 100 // total if total else 0,
        documents=counts.get("documents", 0),
        unchanged=counts.get("unchanged", 0),
        changes=counts.get("changes", {}),
        origins=counts.get("origins", {}),
        chunks=counts.get("chunks", {}),
        pages_per_min=counts.get("pages_per_min", 0),
        discovered_file=counts.get("discovered_file"),
        discovered_file_type=counts.get("discovered_file_type", "none"),
        linked_files=counts.get("linked_files", 0),
        crawl_type=counts.get("crawl_type"),
        scope=counts.get("scope"),
        errors=Errors(
            sum(by_kind.values()), by_kind, [FailedUrl(e.url, e.kind, e.message, e.status) for e in errors]
        ),
        filtered=FilteredUrls(sum(by_reason.values()), by_reason, list(filtered)),
    )


def _merged(counted: dict[str, int], named: Iterable[str]) -> dict[str, int]:
    """The counts of the last heartbeat, raised to what the store has kept by URL since then."""
    return dict(Counter(counted) | Counter(named))


def _elapsed_secs(run: RunRecord) -> float:
    """The time a run took, by its own clock where it has ended: what its log and its report say."""
    if run.finished_at is not None and "elapsed_secs" in run.counts:
        return float(cast("float", run.counts["elapsed_secs"]))
    return round((_end(run) - run.started_at).total_seconds(), 1)


def _end(run: RunRecord) -> datetime:
    """When the run ended; the last heartbeat of a lost one, now for one that is going."""
    if run.finished_at is not None:
        return run.finished_at
    return run.heartbeat_at if run.lost else datetime.now(UTC)


def status_lines(status: SourceStatus) -> Iterator[str]:
    """Yield the state of a source as text."""
    run = status.run
    yield f"{status.source}  {status.url}"
    yield _row("status", status.status)
    if run is None:
        return
    if status.history.versions:
        yield _row("history", _history(status.history))
    if run.state == "finished":
        yield from _finished(status, run)
    else:
        yield _row("progress", f"{run.done}/{run.total} pages ({run.percent}%), {run.phase}{_rate(run)}")
        yield _row("found", found(run) if run.discovered_file or run.done else "nothing yet")
    yield _row("unchanged", str(run.unchanged))
    yield _row("errors", _counted(run.errors.count, run.errors.by_kind))
    yield from _named((one.kind, one.url, one.reason) for one in run.errors.urls)
    yield _row("filtered", _counted(run.filtered.count, run.filtered.by_reason))
    yield from _named((one.reason, one.url, one.rule) for one in run.filtered.urls)
    yield _row("started", f"{run.started} (run {run.id})")
    yield _row("elapsed", duration(run.elapsed_secs))
    if run.state == "lost":
        yield _row("lost", f"process {run.pid} on {run.host}, last seen {run.heartbeat}")


def _finished(status: SourceStatus, run: RunStatus) -> Iterator[str]:
    ended = "complete" if run.complete else f"incomplete: {run.why or run.outcome}"
    yield _row("last crawl", f"{run.finished}, {ended}")
    yield _row("pages", f"{status.pages} stored; {run.done}/{run.total} pages ({run.percent}%)")
    yield _row("found", found(run))
    yield _row("documents", _counted(run.documents, run.origins))
    yield _row("changes", parts(run.changes) or "none")
    if run.chunks:
        yield _row("chunks", _counted(sum(run.chunks.values()), run.chunks))


def _history(history: History) -> str:
    return f"{history.versions} earlier contents of pages, {history.bytes / 1e6:.1f} MB"


def _rate(run: RunStatus) -> str:
    return f", {run.pages_per_min:.0f} pages/min" if run.pages_per_min else ""


def _counted(count: int, counts: dict[str, int]) -> str:
    return f"{count}{by(counts)}"


def _named(urls: Iterable[tuple[str, str, str | None]]) -> Iterator[str]:
    """Yield a few URLs of each reason, given as (reason, URL, detail), and the number of further ones."""
    grouped: dict[str, list[tuple[str, str | None]]] = {}
    for reason, url, detail in urls:
        grouped.setdefault(reason, []).append((url, detail))
    for reason, named in grouped.items():
        for url, detail in named[:SHOWN]:
            yield f"    {reason}: {url}" + (f" ({detail})" if detail else "")
        if len(named) > SHOWN:
            yield f"    {reason}: {len(named) - SHOWN} more, see --json"


def _row(name: str, value: str) -> str:
    return f"  {name:<11}{value}"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
