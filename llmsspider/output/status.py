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
from typing import Any, Literal

from llmsspider.crawler.plan import WITHOUT_DOCUMENTS
from llmsspider.crawler.progress import Progress, doubted, duration, replay_command
from llmsspider.crawler.run import Run
from llmsspider.errors import command
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
    """A source and its last run, as `llmsspider status --json` gives it; `run` is None before the
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
    conversion: Conversion
    # what was done to the Markdown tree, in words; None where it was not written
    mirror: str | None
    delivered: bool | None
    """Whether the outputs were stored where they belong; None where there are none, and before the
    run is closed.
    """
    notes: list[str]
    """What a person should know: a start page that failed, links out of scope, what was learned of
    addresses.
    """
    advice: str | None  # why there are no documents, or none are kept, and what to do


def current_status(run: Run) -> RunStatus:
    """Return the state of a run of this process at this moment; it may be going, or closed."""
    progress = run.progress
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
    return replace(status, elapsed_secs=counts["elapsed_secs"])


def conversion(run: Run) -> Conversion:
    """Return which converter a run of this process has, and on which pages it failed."""
    fallbacks = [Fallback(one.url, one.detail) for one in run.progress.fallback_examples]
    return Conversion(run.config.converter, run.progress.fallbacks, fallbacks)


def run_report(run: Run) -> RunReport:
    """Return the state of a run with all that its last lines say."""
    status = current_status(run)
    learned = run.bounds.learned.lines() if run.bounds.learned.answers else ()
    unmatched = [
        f"the selector {css!r} matched nothing on any page" for css in run.workers.unmatched
    ]
    return RunReport(
        **{one.name: getattr(status, one.name) for one in fields(status)},
        source=run.source,
        url=run.arguments.url,
        seq_before=run.seq_before,
        conversion=conversion(run),
        mirror=run.outputs.mirror,
        delivered=run.outputs.delivered,
        notes=[*run.advice.notes(), *learned, *unmatched],
        advice=run.advice.of(run.outcome) if run.outcome in WITHOUT_DOCUMENTS else None,
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


def stored_status(store: Store, record: RunRecord) -> RunStatus:
    """Return the state of a run as the store has it, with every URL that it kept."""
    return run_status(record, store.errors(record), store.filtered(record))


def run_status(
    record: RunRecord, failed: Sequence[PageError], filtered: Sequence[FilteredUrl]
) -> RunStatus:
    """Return the state of a run, with the failed and filtered URLs that are known."""
    # before the first heartbeat there are none
    counts = Progress().counts(queued=0) | record.counts
    total = counts["done"] + counts["queued"]
    # the counts of the last heartbeat, raised to what the store has kept by URL since then
    by_kind = dict(Counter(record.errors) | Counter(error.kind for error in failed))
    by_reason = dict(Counter(record.filtered) | Counter(url.reason for url in filtered))
    end = record.finished_at or (record.heartbeat_at if record.lost else datetime.now(UTC))
    elapsed_secs: Any = round((end - record.started_at).total_seconds(), 1)
    # what its log and its report say
    stored = record.counts if record.finished_at is not None else {}
    given = {
        **{one.name: counts.get(one.name) for one in fields(RunStatus)},
        **{
            name: getattr(record, name)
            for name in ("id", "kind", "pid", "outcome", "complete", "why")
        },
        "state": "finished" if record.finished_at else "lost" if record.lost else "going",
        "host": record.host.partition(" ")[0],
        **{
            name: _iso(getattr(record, f"{name}_at"))
            for name in ("started", "finished", "heartbeat")
        },
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


def found(snapshot: RunStatus) -> str:
    """Return the file that a crawl follows, or that there is none."""
    if snapshot.discovered_file is None and snapshot.phase in {"starting", "discovery"}:
        return "llms.txt, llms-full.txt and sitemaps are requested"
    if snapshot.discovered_file is None:
        return "no llms.txt, llms-full.txt or sitemap; following links"
    linked = f" and {snapshot.linked_files} linked" if snapshot.linked_files else ""
    return f"{snapshot.discovered_file_type}: {snapshot.discovered_file}{linked}"


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


def pages(snapshot: RunStatus) -> str:
    """Return how many pages are done, of how many that are known; a stopped crawl does not know
    all.
    """
    of = " of at least " if snapshot.outcome == "shutdown" and snapshot.total else "/"
    return f"{snapshot.done}{of}{snapshot.total} pages ({snapshot.percent}%)"


_Url = tuple[str, str, str | None]


def url_groups(snapshot: RunStatus) -> Iterator[tuple[str, int, Mapping[str, int], Iterable[_Url]]]:
    """Yield what failed and what was filtered: a name, the number, counts by reason, and (reason,
    URL, detail).
    """
    failed = [(one.kind, one.url, one.reason) for one in snapshot.errors.urls]
    yield "failed", snapshot.errors.count, snapshot.errors.by_kind, failed
    filtered = [(one.reason, one.url, one.rule) for one in snapshot.filtered.urls]
    yield "filtered", snapshot.filtered.count, snapshot.filtered.by_reason, filtered


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


def ending(snapshot: RunStatus) -> str:
    """Return how a run ended, or how far it is, in a word or two."""
    if snapshot.state == "lost":
        return "lost"
    if snapshot.state == "going":
        return "stopping" if snapshot.outcome else snapshot.phase
    if snapshot.outcome == "shutdown":
        return "stopped, not complete"
    return "complete" if snapshot.complete else f"incomplete: {snapshot.why or snapshot.outcome}"


def facts(snapshot: RunStatus) -> Iterator[tuple[str, str]]:
    """Yield what is said of a run: names, and values in words."""
    values = {
        "Done": pages(snapshot),
        "Documents": counted(snapshot.documents, snapshot.origins),
        "Changes": parts(snapshot.changes),
        "Failed": counted(snapshot.errors.count, snapshot.errors.by_kind),
        "Filtered": counted(snapshot.filtered.count, snapshot.filtered.by_reason),
        "Found": found(snapshot),
        "Scope": snapshot.scope,
        "Witness": snapshot.witness,
        "In doubt": doubted(snapshot.doubtful),
        "Chunks": counted(sum(snapshot.chunks.values()), snapshot.chunks) * bool(snapshot.chunks),
        "Requests": f"{snapshot.requests:,}",
        "Began": (snapshot.started or "")[:16].replace("T", " "),
        "Took": f"{duration(snapshot.elapsed_secs)}, {snapshot.pages_per_min:.0f} pages/min",
    }
    yield from ((name, value) for name, value in values.items() if value)


def progress_line(snapshot: RunStatus) -> str:
    """Return how far a crawl is, for the log."""
    return (
        f"{snapshot.phase}: {snapshot.done}/{snapshot.total} pages ({snapshot.percent}%),"
        f" {snapshot.unchanged} unchanged, {snapshot.errors.count} errors,"
        f" {snapshot.filtered.count} filtered, {snapshot.pages_per_min:.0f} pages/min,"
        f" {duration(snapshot.elapsed_secs)}"
    )


def log_lines(snapshot: RunReport) -> Iterator[str]:
    """Yield the summary at the end of the log, with examples of what failed and what was filtered."""
    yield f"found {found(snapshot)}"
    yield f"documents: {counted(counted(snapshot.documents, snapshot.origins), snapshot.changes)}"
    for name, count, by_reason, urls in url_groups(snapshot):
        if count:
            yield f"{name}: {counted(count, by_reason)}"
            yield from (f"  {line}" for line in _named(urls, EXAMPLES))
    conversion = snapshot.conversion
    if conversion.fallbacks:
        yield (
            f"converted by markdownify, since {conversion.converter} failed: {conversion.fallbacks}"
        )
        yield from (f"  fallback: {one.url} ({one.why})" for one in conversion.urls[:EXAMPLES])
    tree = snapshot.mirror and f"tree {snapshot.mirror}"
    yield from filter(None, (doubted(snapshot.doubtful), snapshot.scope, snapshot.witness, tree))
    ended = "complete" if snapshot.complete else f"incomplete ({snapshot.why or snapshot.outcome})"
    yield f"source {snapshot.source}, run {snapshot.id}: {ended}, {snapshot.elapsed_secs:.1f} s"


def console_lines(snapshot: RunReport, outputs: list[str]) -> Iterator[str]:
    """Yield the summary of a closed run that `llmsspider` prints; `outputs` says where the
    documents are.
    """
    number = "1 page" if snapshot.documents == 1 else f"{snapshot.documents} pages"
    yield f"{counted(f'{number} of {snapshot.source}', snapshot.changes)}, {duration(snapshot.elapsed_secs)}"
    yield from filter(None, (*outputs, doubted(snapshot.doubtful)))
    for name, count, by_reason, urls in url_groups(snapshot):
        if count:
            yield counted(f"{count} {name}", by_reason)
            if name == "failed":
                yield from (
                    f"  {line}" for line in _named(urls, EXAMPLES, f"see `{command('status')}`")
                )
    yield from snapshot.notes
    if snapshot.advice is not None:
        yield (
            f"store_failed: {snapshot.advice}"
            if snapshot.outcome == "store_failed"
            else snapshot.advice
        )
    if snapshot.delivered is False and snapshot.outcome != "store_failed":
        yield (
            "not delivered: an output could not be stored;"
            f" `{replay_command(snapshot.source, snapshot.seq_before)}` gives it"
        )
    if snapshot.outcome == "shutdown" and not snapshot.complete:
        again = "the next crawl begins again: of the stored pages it fetches only what changed"
        yield f"stopped at {pages(snapshot)}, not complete; nothing was deleted, and {again}"
    elif not snapshot.complete:
        is_limit = snapshot.why in {"max_pages", "max_requests"}
        limited = f"the next crawl ends at this limit, too: -a {snapshot.why}=0 takes all pages"
        then = limited if is_limit else "the next crawl tries again"
        yield f"the crawl is incomplete: {snapshot.why or snapshot.outcome}; nothing was deleted, and {then}"


def nothing(snapshot: RunReport) -> str:
    """Return one line on a crawl of which no output came: why, and what to do."""
    if snapshot.documents and snapshot.outcome is None:
        unsure = "what was read last may not be stored, and no output was written"
        return f"ended at once, {pages(snapshot)}: {unsure}; the next crawl fetches what is missing"
    if snapshot.documents and snapshot.outcome != "store_failed":
        number = "1 page is" if snapshot.documents == 1 else f"{snapshot.documents} pages are"
        return (
            f"{number} stored, but not all are written as files; the log says why, and the next"
            " crawl writes them"
        )
    if snapshot.outcome == "shutdown":
        return "stopped before the first page"
    if snapshot.advice:
        return (
            f"{snapshot.outcome}: {snapshot.advice}"
            if snapshot.outcome == "store_failed"
            else snapshot.advice
        )
    return f"nothing was obtained ({snapshot.outcome or 'the crawl did not start'})"


def status_lines(status: SourceStatus) -> Iterator[str]:
    """Yield the state of a source and of its last run as text."""
    row = "  {:<11}{}".format
    snapshot = status.run
    history = status.history
    yield f"{status.source}  {status.url}"
    yield row("status", status.status)
    if snapshot is None:
        return
    yield row("pages", str(status.pages))
    if history.versions:
        size = f"{history.bytes / 1e6:.1f} MB"
        yield row("history", f"{history.versions} earlier contents of pages, {size}")
    yield row("run", f"{snapshot.id}, {ending(snapshot)}")
    if snapshot.state == "lost":
        owner = f"process {snapshot.pid} on {snapshot.host}"
        yield row("lost", f"{owner}, last seen {snapshot.heartbeat}")
    yield from (row(name.lower(), value) for name, value in facts(snapshot))
    for _, _, _, urls in url_groups(snapshot):
        yield from (f"    {line}" for line in _named(urls, SHOWN, "see --json"))
