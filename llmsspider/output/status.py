"""The state of a run as one value, from the run itself or from the store, and as text; all that
shows a run draws this.

`RunStatus` is what the store keeps, `RunReport` the same with what only the crawl knows. The log,
the console, the terminal, the live page, `scrapy status`, run.json and the HTML report are made
from them.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from llmsspider.crawler.plan import WITHOUT_DOCUMENTS, advice, notes
from llmsspider.crawler.progress import Progress, RecentPage, doubted, duration, replay_command
from llmsspider.crawler.run import Run
from llmsspider.errors import command
from llmsspider.site.discovered import Discovery
from llmsspider.store import Store
from llmsspider.store.records import (
    FilteredUrl,
    PageError,
    RunKind,
    RunRecord,
    SourceRecord,
    Status,
)


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
    doubtful: dict[str, int]
    origins: dict[str, int]
    chunks: dict[str, int]
    pages_per_min: float
    discovered_file: str | None
    discovered_file_type: str
    linked_files: int
    crawl_type: str | None
    scope: str | None
    witness: str | None
    requests: int
    bytes: int
    errors: Errors
    filtered: FilteredUrls


@dataclass(slots=True, frozen=True)
class History:
    """Earlier contents of pages that the store keeps, and their size as stored."""

    versions: int
    bytes: int


@dataclass(slots=True, frozen=True)
class SourceStatus:
    """A source and its last run, as `scrapy status --json` gives it; `run` is None before the
    first.
    """

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
    """The state of a run of this process.

    Of errors and filtered URLs it has examples, until the store is read.
    """

    source: str
    url: str | None
    seq_before: int
    recent: list[RecentPage]  # the pages done last, the latest first
    timeline: list[tuple[float, int, int]]  # seconds since the start, pages done, pages that failed
    phases: list[tuple[str, float]]  # the phases entered, each with the seconds since the start
    discovery: Discovery | None
    conversion: Conversion
    mirror: (
        str | None
    )  # what was done to the Markdown tree, in words; None where it was not written
    report: Path | None
    delivered: bool | None
    """Whether the outputs were stored where they belong; None where there are none, and before the
    run is closed.
    """
    notes: list[str]
    """What a person should know: a start page that failed, links out of scope, what was learned of
    addresses.
    """
    advice: str | None  # why there are no documents, or none are kept, and what to do


def run_report(run: Run) -> RunReport:
    """Return the state of a run at this moment; it may be going, or closed."""
    progress = run.progress
    outputs = run.outputs
    counts = run.counts()
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
    errors = progress.error_examples.items()
    filtered = progress.filtered_examples.items()
    status = run_status(
        record,
        [PageError(one.url, kind, one.detail, None) for kind, found in errors for one in found],
        [FilteredUrl(one.url, reason, one.detail) for reason, found in filtered for one in found],
    )
    has_notes = "out-of-scope" in progress.filtered or (
        run.discovery is not None and run.discovery.start.error
    )
    learned = run.bounds.learned.lines() if run.bounds.learned.answers else ()
    unmatched = [
        f"the selector {css!r} matched nothing on any page" for css in run.workers.unmatched
    ]
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
        notes=[*(notes(run) if has_notes else ()), *learned, *unmatched],
        advice=advice(run) if run.outcome in WITHOUT_DOCUMENTS else None,
    )


def read_status(store: Store, record: SourceRecord) -> SourceStatus:
    """Return the state of a source (as `Stores.list_sources` gives it) and of its last run; raises
    `StoreError`.
    """
    runs = store.runs()
    return SourceStatus(
        source=record.name,
        url=record.url,
        status=record.status,
        pages=record.pages,
        last_crawl=_iso(max((run.finished_at for run in runs if run.finished_at), default=None)),
        runs=len(runs),
        history=History(*store.history_size()),
        run=stored_status(store, runs[-1]) if runs else None,
    )


def stored_status(store: Store, run: RunRecord) -> RunStatus:
    """Return the state of a run as the store has it, with every URL that it kept."""
    return run_status(run, store.errors(run), store.filtered(run))


def run_status(
    run: RunRecord, failed: Sequence[PageError], filtered: Sequence[FilteredUrl]
) -> RunStatus:
    """Return the state of a run, with the failed and filtered URLs that are known."""
    counts = Progress().counts(queued=0) | run.counts  # before the first heartbeat there are none
    total = counts["done"] + counts["queued"]
    # the counts of the last heartbeat, raised to what the store has kept by URL since then
    by_kind = dict(Counter(run.errors) | Counter(error.kind for error in failed))
    by_reason = dict(Counter(run.filtered) | Counter(url.reason for url in filtered))
    end = run.finished_at or (run.heartbeat_at if run.lost else datetime.now(UTC))
    elapsed_secs: Any = round((end - run.started_at).total_seconds(), 1)
    stored = run.counts if run.finished_at is not None else {}  # what its log and its report say
    given = {
        **{one.name: counts.get(one.name) for one in fields(RunStatus)},
        **{
            name: getattr(run, name) for name in ("id", "kind", "pid", "outcome", "complete", "why")
        },
        "state": "finished" if run.finished_at else "lost" if run.lost else "going",
        "host": run.host.partition(" ")[0],
        **{name: _iso(getattr(run, f"{name}_at")) for name in ("started", "finished", "heartbeat")},
        "elapsed_secs": stored.get("elapsed_secs", elapsed_secs),
        "total": total,
        "percent": counts["done"] * 100 // total if total else 0,
        "errors": Errors(sum(by_kind.values()), by_kind, list(failed)),
        "filtered": FilteredUrls(sum(by_reason.values()), by_reason, list(filtered)),
    }
    return RunStatus(**given)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


# The state of a run as text: for the log, the console, the terminal and `scrapy status`.

SHOWN = 5
EXAMPLES = 2
"""URLs that `scrapy status`, and the end of a crawl, name for each reason."""


def found(run: RunStatus) -> str:
    """Return the file that a crawl follows, or that there is none."""
    if run.discovered_file is None:
        return "no llms.txt, llms-full.txt or sitemap; following links"
    linked = f" and {run.linked_files} linked" if run.linked_files else ""
    return f"{run.discovered_file_type}: {run.discovered_file}{linked}"


def parts(counts: Mapping[str, int]) -> str:
    """Return counts by name, the largest first.

    >>> parts({"html": 1, "markdown": 4})
    'markdown 4, html 1'
    """
    return ", ".join(
        f"{name} {number}" for name, number in sorted(counts.items(), key=lambda item: -item[1])
    )


def counted(what: object, counts: Mapping[str, int]) -> str:
    """Return a number or what is counted, and counts by name in brackets where there are any."""
    return f"{what} ({parts(counts)})" if counts else str(what)


def pages(run: RunStatus) -> str:
    """Return how many pages are done, of how many that are known; a stopped crawl does not know
    all.
    """
    of = " of at least " if run.outcome == "shutdown" and run.total else "/"
    return f"{run.done}{of}{run.total} pages ({run.percent}%)"


_Url = tuple[str, str, str | None]


def url_groups(run: RunStatus) -> Iterator[tuple[str, int, Mapping[str, int], Iterable[_Url]]]:
    """Yield what failed and what was filtered: a name, the number, counts by reason, and (reason,
    URL, detail).
    """
    failed = [(one.kind, one.url, one.reason) for one in run.errors.urls]
    yield "failed", run.errors.count, run.errors.by_kind, failed
    filtered = [(one.reason, one.url, one.rule) for one in run.filtered.urls]
    yield "filtered", run.filtered.count, run.filtered.by_reason, filtered


def _named(urls: Iterable[_Url], most: int, more: str | None = None) -> Iterator[str]:
    """Yield a few URLs of each reason and, where `more` is given, the number of further ones."""
    grouped: dict[str, list[str]] = {}
    for reason, url, detail in urls:
        grouped.setdefault(reason, []).append(
            f"{reason}: {url}" + (f" ({detail})" if detail else "")
        )
    for reason, lines in grouped.items():
        yield from lines[:most]
        if more and len(lines) > most:
            yield f"{reason}: {len(lines) - most} more, {more}"


def facts(run: RunStatus) -> Iterator[tuple[str, str]]:
    """Yield what a page says of a run: names, and values in words."""
    values = {
        "Pages": pages(run),
        "Documents": counted(run.documents, run.origins),
        "Changes": parts(run.changes),
        "Failed": counted(run.errors.count, run.errors.by_kind),
        "Filtered": counted(run.filtered.count, run.filtered.by_reason),
        "Found": found(run),
        "Scope": run.scope,
        "Witness": run.witness,
        "In doubt": doubted(run.doubtful),
        "Requests": f"{run.requests:,}",
        "Began": (run.started or "")[:16].replace("T", " "),
        "Took": f"{duration(run.elapsed_secs)}, {run.pages_per_min:.0f} pages/min",
    }
    yield from ((name, value) for name, value in values.items() if value)


def progress_line(run: RunStatus) -> str:
    """Return how far a crawl is, for the log."""
    return (
        f"{run.phase}: {run.done}/{run.total} pages ({run.percent}%), {run.unchanged} unchanged,"
        f" {run.errors.count} errors, {run.filtered.count} filtered, {run.pages_per_min:.0f}"
        f" pages/min, {duration(run.elapsed_secs)}"
    )


def log_lines(run: RunReport) -> Iterator[str]:
    """Yield the summary at the end of the log, with examples of what failed and what was filtered."""
    yield f"found {found(run)}"
    yield f"documents: {counted(counted(run.documents, run.origins), run.changes)}"
    for name, count, by_reason, urls in url_groups(run):
        if count:
            yield f"{name}: {counted(count, by_reason)}"
            yield from (f"  {line}" for line in _named(urls, EXAMPLES))
    conversion = run.conversion
    if conversion.fallbacks:
        yield (
            f"converted by markdownify, since {conversion.converter} failed: {conversion.fallbacks}"
        )
        yield from (f"  fallback: {one.url} ({one.why})" for one in conversion.urls[:EXAMPLES])
    tree = run.mirror and f"tree {run.mirror}"
    yield from filter(None, (doubted(run.doubtful), run.scope, run.witness, tree))
    ended = "complete" if run.complete else f"incomplete ({run.why or run.outcome})"
    yield f"source {run.source}, run {run.id}: {ended}, {run.elapsed_secs:.1f} s"


def console_lines(run: RunReport, outputs: list[str]) -> Iterator[str]:
    """Yield the summary of a closed run that `llmsspider` prints; `outputs` says where the
    documents are.
    """
    number = "1 page" if run.documents == 1 else f"{run.documents} pages"
    yield f"{counted(f'{number} of {run.source}', run.changes)}, {duration(run.elapsed_secs)}"
    yield from filter(None, (*outputs, doubted(run.doubtful)))
    for name, count, by_reason, urls in url_groups(run):
        if count:
            yield counted(f"{count} {name}", by_reason)
            if name == "failed":
                yield from (
                    f"  {line}" for line in _named(urls, EXAMPLES, f"see `{command('status')}`")
                )
    yield from run.notes
    if run.advice is not None:
        yield f"store_failed: {run.advice}" if run.outcome == "store_failed" else run.advice
    if run.delivered is False and run.outcome != "store_failed":
        yield (
            "not delivered: an output could not be stored;"
            f" `{replay_command(run.source, run.seq_before)}` gives it"
        )
    if run.outcome == "shutdown" and not run.complete:
        again = "the next crawl begins again: of the stored pages it fetches only what changed"
        yield f"stopped at {pages(run)}, not complete; nothing was deleted, and {again}"
    elif not run.complete:
        is_limit = run.why in {"max_pages", "max_requests"}
        limited = f"the next crawl ends at this limit, too: -a {run.why}=0 takes all pages"
        then = limited if is_limit else "the next crawl tries again"
        yield f"the crawl is incomplete: {run.why or run.outcome}; nothing was deleted, and {then}"


def nothing(run: RunReport) -> str:
    """Return one line on a crawl of which no output came: why, and what to do."""
    if run.documents and run.outcome is None:
        unsure = "what was read last may not be stored, and no output was written"
        return f"ended at once, {pages(run)}: {unsure}; the next crawl fetches what is missing"
    if run.documents and run.outcome != "store_failed":
        number = "1 page is" if run.documents == 1 else f"{run.documents} pages are"
        return (
            f"{number} stored, but not all are written as files; the log says why, and the next"
            " crawl writes them"
        )
    if run.outcome == "shutdown":
        return "stopped before the first page"
    if run.advice:
        return f"{run.outcome}: {run.advice}" if run.outcome == "store_failed" else run.advice
    return f"nothing was obtained ({run.outcome or 'the crawl did not start'})"


def status_lines(status: SourceStatus) -> Iterator[str]:
    """Yield the state of a source as text."""
    row = "  {:<11}{}".format
    run = status.run
    history = status.history
    yield f"{status.source}  {status.url}"
    yield row("status", status.status)
    if run is None:
        return
    if history.versions:
        yield row(
            "history", f"{history.versions} earlier contents of pages, {history.bytes / 1e6:.1f} MB"
        )
    if run.state == "finished":
        why = f"incomplete: {run.why or run.outcome}"
        why = "stopped, not complete" if run.outcome == "shutdown" else why
        yield row("last crawl", f"{run.finished}, {'complete' if run.complete else why}")
        yield row("pages", f"{status.pages} stored; {pages(run)}")
        yield row("found", found(run))
        yield row("documents", counted(run.documents, run.origins))
        yield row("changes", parts(run.changes) or "none")
        yield row("witness", run.witness or "none")
        yield from filter(None, (doubted(run.doubtful, indent="  "),))
        if run.chunks:
            yield row("chunks", counted(sum(run.chunks.values()), run.chunks))
    else:
        rate = f", {run.pages_per_min:.0f} pages/min" * bool(run.pages_per_min)
        yield row("progress", f"{pages(run)}, {run.phase}{rate}")
        yield row("found", found(run) if run.discovered_file or run.done else "nothing yet")
    yield row("unchanged", str(run.unchanged))
    for name, count, by_reason, urls in url_groups(run):
        yield row("errors" if name == "failed" else name, counted(count, by_reason))
        yield from (f"    {line}" for line in _named(urls, SHOWN, "see --json"))
    yield row("started", f"{run.started} (run {run.id})")
    yield row("elapsed", duration(run.elapsed_secs))
    if run.state == "lost":
        yield row("lost", f"process {run.pid} on {run.host}, last seen {run.heartbeat}")
