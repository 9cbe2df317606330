"""The state of a run as one value, from the run itself or from the store; all that shows a run draws this.

`RunStatus` is what the store keeps, `RunReport` the same with what only the crawl knows. The log, the console, the
terminal, the live page, `scrapy status`, run.json and the HTML report are made from them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from llmsspider.crawl.plan import advice, links_out_of_scope, start_failure
from llmsspider.crawl.progress import Progress
from llmsspider.store.records import FilteredUrl, PageError, RunKind, RunRecord, Status

if TYPE_CHECKING:
    from pathlib import Path

    from llmsspider.crawl.progress import RecentPage
    from llmsspider.crawl.run import Run
    from llmsspider.site.discovered import Discovery
    from llmsspider.store import SourceRecord, Store


@dataclass(slots=True, frozen=True)
class Errors:
    """Failed pages: all of them counted, by kind of error, and those that the store keeps by URL."""

    count: int
    by_kind: dict[str, int]
    urls: list[PageError]


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


@dataclass(slots=True, frozen=True)
class Fallback:
    """A page that markdownify converted, and why the chosen converter failed."""

    url: str
    why: str


@dataclass(slots=True, frozen=True)
class Conversion:
    """The converter, and the pages it failed on: all of them counted, and some by URL."""

    converter: str
    fallbacks: int
    urls: list[Fallback]


@dataclass(slots=True, frozen=True, kw_only=True)
class RunReport(RunStatus):
    """The state of a run of this process. Of errors and filtered URLs it has examples, until the store is read."""

    source: str
    url: str | None
    seq_before: int
    recent: list[RecentPage]
    """The pages done last, the latest first."""
    timeline: list[tuple[float, int, int]]
    """Seconds since the start, pages done, pages that failed."""
    phases: list[tuple[str, float]]
    """The phases entered, each with the seconds since the start."""
    discovery: Discovery | None
    conversion: Conversion
    mirror: str | None
    """What was done to the Markdown tree, in words; None where it was not written."""
    report: Path | None
    """Where the HTML report was written."""
    delivered: bool | None
    """Whether the outputs were stored where they belong; None where there are none, and before the run is closed."""
    notes: list[str] = field(default_factory=list)
    """What a person should know: a start page that failed, links that were out of scope."""
    advice: str | None = None
    """Why there are no documents, or none are kept, and what to do."""


def run_report(run: Run) -> RunReport:
    """Return the state of a run at this moment; it may be going, or closed."""
    progress, outputs, counts = run.progress, run.outputs, run.counts()
    now = datetime.now(UTC)
    record = replace(
        run.record or RunRecord("", 0, run.source, "crawl", {}, os.getpid(), "", now, now),
        finished_at=now if run.outcome else None,
        heartbeat_at=now,
        outcome=run.outcome or None,
        complete=run.coverage.complete and run.outcome == "finished",
        why=run.coverage.why_incomplete,
        counts=counts,
        errors=dict(progress.errors),
        filtered=dict(progress.filtered),
    )
    errors, filtered = progress.error_examples.items(), progress.filtered_examples.items()
    status = run_status(
        record,
        [PageError(one.url, kind, one.detail, None) for kind, found in errors for one in found],
        [FilteredUrl(one.url, reason, one.detail) for reason, found in filtered for one in found],
    )
    fallbacks = [Fallback(one.url, one.detail) for one in progress.fallback_examples]
    return RunReport(
        **{one.name: getattr(status, one.name) for one in fields(status)}
        | {"elapsed_secs": counts["elapsed_secs"]},
        source=run.source,
        url=run.arguments.url,
        seq_before=run.seq_before,
        recent=list(reversed(progress.recent)),
        timeline=[(point.secs, point.done, point.errors) for point in progress.timeline],
        phases=list(progress.phases),
        discovery=run.discovery,
        conversion=Conversion(run.config.converter, progress.fallbacks, fallbacks),
        mirror=outputs.mirror,
        report=outputs.report[0] if outputs.report else None,
        delivered=outputs.delivered,
        notes=[line for line in (start_failure(run), links_out_of_scope(run)) if line],
        advice=advice(run),
    )


def read_status(store: Store, record: SourceRecord) -> SourceStatus:
    """Return the state of a source (as `Stores.list_sources` gives it) and of its last run; raises `StoreError`."""
    runs = store.runs()
    finished = [run for run in runs if run.finished_at is not None]
    return SourceStatus(
        source=record.name,
        url=record.url,
        status=record.status,
        pages=record.pages,
        last_crawl=_iso(finished[-1].finished_at) if finished else None,
        runs=len(runs),
        history=History(*store.history_size()),
        run=stored_status(store, runs[-1]) if runs else None,
    )


def stored_status(store: Store, run: RunRecord) -> RunStatus:
    """Return the state of a run as the store has it, with all errors and filtered URLs that it kept."""
    return run_status(run, store.errors(run), store.filtered(run))


def run_status(run: RunRecord, failed: Sequence[PageError], filtered: Sequence[FilteredUrl]) -> RunStatus:
    """Return the state of a run, with the failed and filtered URLs that are known."""
    none_yet = Progress().counts(queued=0) | {"crawl_type": None}  # before the first heartbeat
    counts = none_yet | run.counts
    total = counts["done"] + counts["queued"]
    # the counts of the last heartbeat, raised to what the store has kept by URL since then
    by_kind = dict(Counter(run.errors) | Counter(error.kind for error in failed))
    by_reason = dict(Counter(run.filtered) | Counter(url.reason for url in filtered))
    if run.finished_at is not None and "elapsed_secs" in run.counts:  # what its log and its report say
        elapsed_secs = run.counts["elapsed_secs"]
    else:
        end = run.finished_at or (run.heartbeat_at if run.lost else datetime.now(UTC))
        elapsed_secs = round((end - run.started_at).total_seconds(), 1)
    given = {
        **{one.name: counts.get(one.name) for one in fields(RunStatus)},
        "id": run.id,
        "kind": run.kind,
        "state": "finished" if run.finished_at else "lost" if run.lost else "going",
        "pid": run.pid,
        "host": run.host.partition(" ")[0],
        "started": _iso(run.started_at),
        "finished": _iso(run.finished_at),
        "heartbeat": _iso(run.heartbeat_at),
        "elapsed_secs": elapsed_secs,
        "outcome": run.outcome,
        "complete": run.complete,
        "why": run.why,
        "total": total,
        "percent": counts["done"] * 100 // total if total else 0,
        "errors": Errors(sum(by_kind.values()), by_kind, list(failed)),
        "filtered": FilteredUrls(sum(by_reason.values()), by_reason, list(filtered)),
    }
    return RunStatus(**given)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
