"""The state of a run as text: for the log, the console, the terminal and `scrapy status`; control characters shown."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping

from llmsspider.crawl.progress import duration, replay_command
from llmsspider.errors import command
from llmsspider.output.status import RunReport, RunStatus, SourceStatus

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


# The words that several views share.

SHOWN = 5
"""URLs that `scrapy status` names for each reason; its JSON has all that the store kept."""
EXAMPLES = 2
"""URLs that the end of a crawl names for each reason."""
LIMITS = ("max_pages", "max_requests")
"""Why a run is incomplete where the next one ends at the same limit."""


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
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items(), key=lambda item: -item[1]))


def counted(count: int, counts: Mapping[str, int]) -> str:
    """Return a number, and counts by name in brackets where there are any."""
    return f"{count} ({parts(counts)})" if counts else str(count)


def pages(run: RunStatus) -> str:
    """Return how many pages are done, of how many that are known; a stopped crawl does not know all."""
    at_least = "at least " if run.outcome == "shutdown" and run.total else ""
    return f"{run.done}{' of ' if at_least else '/'}{at_least}{run.total} pages ({run.percent}%)"


_Reasons = tuple[str, int, Mapping[str, int], list[tuple[str, str, str | None]]]


def _by_reason(run: RunStatus) -> Iterator[_Reasons]:
    """Yield what failed and what was filtered: a name, the number, counts by reason, and (reason, URL, detail)."""
    errors, filtered = run.errors, run.filtered
    yield "failed", errors.count, errors.by_kind, [(one.kind, one.url, one.reason) for one in errors.urls]
    urls = [(one.reason, one.url, one.rule) for one in filtered.urls]
    yield "filtered", filtered.count, filtered.by_reason, urls


def _named(urls: Iterable[tuple[str, str, str | None]], most: int, more: str | None = None) -> Iterator[str]:
    """Yield a few URLs of each reason and, where `more` is given, the number of further ones."""
    grouped: dict[str, list[str]] = {}
    for reason, url, detail in urls:
        grouped.setdefault(reason, []).append(f"{reason}: {url}" + (f" ({detail})" if detail else ""))
    for reason, lines in grouped.items():
        yield from lines[:most]
        if more and len(lines) > most:
            yield f"{reason}: {len(lines) - most} more, {more}"


# The views.


def progress_line(run: RunStatus) -> str:
    """Return how far a crawl is, for the log."""
    return (
        f"{run.phase}: {run.done}/{run.total} pages ({run.percent}%), {run.unchanged} unchanged, "
        f"{run.errors.count} errors, {run.filtered.count} filtered, {run.pages_per_min:.0f} pages/min, "
        f"{duration(run.elapsed_secs)}"
    )


def log_lines(run: RunReport) -> Iterator[str]:
    """Yield the summary at the end of the log, with examples of what failed and what was filtered."""
    yield f"found {found(run)}"
    changes = f" ({parts(run.changes)})" if run.changes else ""
    yield f"documents: {counted(run.documents, run.origins)}{changes}"
    for name, count, by_reason, urls in _by_reason(run):
        if count:
            yield f"{name}: {counted(count, by_reason)}"
            yield from (f"  {line}" for line in _named(urls, EXAMPLES))
    conversion = run.conversion
    if conversion.fallbacks:
        yield f"converted by markdownify, since {conversion.converter} failed: {conversion.fallbacks}"
        yield from (f"  fallback: {one.url} ({one.why})" for one in conversion.urls[:EXAMPLES])
    if run.scope is not None:
        yield run.scope
    if run.mirror is not None:
        yield f"tree {run.mirror}"
    ended = "complete" if run.complete else f"incomplete ({run.why or run.outcome})"
    yield f"source {run.source}, run {run.id}: {ended}, {run.elapsed_secs:.1f} s"


def console_lines(run: RunReport, outputs: list[str]) -> Iterator[str]:
    """Yield the summary of a closed run that `llmsspider` prints; `outputs` says where the documents are."""
    number = "1 page" if run.documents == 1 else f"{run.documents} pages"
    changes = f" ({parts(run.changes)})" if run.changes else ""
    yield f"{number} of {run.source}{changes}, {duration(run.elapsed_secs)}"
    yield from outputs
    for name, count, by_reason, urls in _by_reason(run):
        if count:
            yield f"{count} {name} ({parts(by_reason)})"
            if name == "failed":
                yield from (f"  {line}" for line in _named(urls, EXAMPLES, f"see `{command('status')}`"))
    yield from run.notes
    if run.advice is not None:
        yield f"store_failed: {run.advice}" if run.outcome == "store_failed" else run.advice
    if run.delivered is False and run.outcome != "store_failed":
        yield f"not delivered: an output could not be stored; `{replay_command(run.source, run.seq_before)}` gives it"
    if not run.complete:
        yield _incomplete(run)


def _incomplete(run: RunStatus) -> str:
    """Say in one line why a run is not complete, and what the next crawl does."""
    if run.outcome == "shutdown":
        again = "the next crawl begins again: of the stored pages it fetches only what changed"
        return f"stopped at {pages(run)}, not complete; nothing was deleted, and {again}"
    line = f"the crawl is incomplete: {run.why or run.outcome}; nothing was deleted"
    if run.why in LIMITS:
        return f"{line}, and the next crawl ends at this limit, too: -a {run.why}=0 takes all pages"
    return f"{line}, and the next crawl tries again"


def nothing(run: RunReport) -> str:
    """Return one line on a crawl of which no output came: why, and what to do."""
    if run.documents and run.outcome is None:
        unsure = "what was read last may not be stored, and no output was written"
        return f"ended at once, {pages(run)}: {unsure}; the next crawl fetches what is missing"
    if run.documents and run.outcome != "store_failed":
        number = "1 page is" if run.documents == 1 else f"{run.documents} pages are"
        return f"{number} stored, but not all are written as files; the log says why, and the next crawl writes them"
    if run.outcome == "shutdown":
        return "stopped before the first page"
    if run.advice and run.outcome == "store_failed":
        return f"{run.outcome}: {run.advice}"
    return run.advice or f"nothing was obtained ({run.outcome or 'the crawl did not start'})"


def status_lines(status: SourceStatus) -> Iterator[str]:
    """Yield the state of a source as text."""
    row = "  {:<11}{}".format
    run, history = status.run, status.history
    yield f"{status.source}  {status.url}"
    yield row("status", status.status)
    if run is None:
        return
    if history.versions:
        yield row("history", f"{history.versions} earlier contents of pages, {history.bytes / 1e6:.1f} MB")
    if run.state == "finished":
        stopped = "stopped, not complete" if run.outcome == "shutdown" else ""
        why = "complete" if run.complete else stopped or f"incomplete: {run.why or run.outcome}"
        yield row("last crawl", f"{run.finished}, {why}")
        yield row("pages", f"{status.pages} stored; {pages(run)}")
        yield row("found", found(run))
        yield row("documents", counted(run.documents, run.origins))
        yield row("changes", parts(run.changes) or "none")
        if run.chunks:
            yield row("chunks", counted(sum(run.chunks.values()), run.chunks))
    else:
        rate = f", {run.pages_per_min:.0f} pages/min" if run.pages_per_min else ""
        yield row("progress", f"{pages(run)}, {run.phase}{rate}")
        yield row("found", found(run) if run.discovered_file or run.done else "nothing yet")
    yield row("unchanged", str(run.unchanged))
    for name, count, by_reason, urls in _by_reason(run):
        yield row("errors" if name == "failed" else name, counted(count, by_reason))
        yield from (f"    {line}" for line in _named(urls, SHOWN, "see --json"))
    yield row("started", f"{run.started} (run {run.id})")
    yield row("elapsed", duration(run.elapsed_secs))
    if run.state == "lost":
        yield row("lost", f"process {run.pid} on {run.host}, last seen {run.heartbeat}")
