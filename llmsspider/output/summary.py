"""What a crawl found, wrote, filtered and how it ended, as text: one wording for log, console, terminal and status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from llmsspider.crawl.outcome import links_out_of_scope, nothing_obtained, replay_command, start_failure
from llmsspider.crawl.progress import duration

if TYPE_CHECKING:
    from llmsspider.crawl.progress import Example
    from llmsspider.crawl.run import Run

STORE_FAILED = (
    "the page store took no more: make room or free it, and crawl again; what was stored is whole, and nothing was "
    "deleted"
)


class Discovered(Protocol):
    """What discovery found: a `Snapshot` of a run that is going, or the status of a stored one."""

    @property
    def discovered_file(self) -> str | None: ...  # noqa: D102
    @property
    def discovered_file_type(self) -> str: ...  # noqa: D102
    @property
    def linked_files(self) -> int: ...  # noqa: D102


def found(of: Discovered) -> str:
    """Return the file that a crawl follows, or that there is none."""
    if of.discovered_file is None:
        return "no llms.txt, llms-full.txt or sitemap; following links"
    linked = f" and {of.linked_files} linked" if of.linked_files else ""
    return f"{of.discovered_file_type}: {of.discovered_file}{linked}"


def parts(counts: Mapping[str, int]) -> str:
    """Return counts by name, the largest first.

    >>> parts({"html": 1, "markdown": 4})
    'markdown 4, html 1'
    """
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items(), key=lambda item: -item[1]))


def by(counts: Mapping[str, int]) -> str:
    """Return counts by name in brackets, for the end of a line; empty where there are none."""
    return f" ({parts(counts)})" if counts else ""


def failure(run: Run, reason: str) -> str | None:
    """Return one line on why a run has no documents, and what to do; None for a run that has some."""
    if reason == "store_failed":
        return STORE_FAILED
    return nothing_obtained(run) if reason in {"start_failed", "no_documents"} else None


def log_lines(run: Run, reason: str) -> Iterator[str]:
    """Yield the summary at the end of the log, with examples of what failed and what was filtered.

    Args:
        run: the run, ended.
        reason: Scrapy's finish reason.
    """
    progress = run.progress
    yield f"found {found(progress)}"
    yield f"documents: {progress.documents}{by(progress.origins)}{by(progress.changes)}"
    for name, counts, examples in (
        ("failed", progress.errors, progress.error_examples),
        ("filtered", progress.filtered, progress.filtered_examples),
    ):
        if counts:
            yield f"{name}: {counts.total()}{by(counts)}"
            yield from _examples(examples)
    if progress.fallbacks:
        yield f"converted by markdownify, since {run.config.converter} failed: {progress.fallbacks}"
        yield from _examples({"fallback": progress.fallback_examples})
    if run.bounds.scope is not None:
        yield run.bounds.scope.describe()
    if run.outputs.mirror is not None:
        yield f"tree {run.outputs.mirror.describe()}"
    complete = run.coverage.complete and reason == "finished"
    ended = "complete" if complete else f"incomplete ({run.coverage.why_incomplete or reason})"
    yield f"source {run.source}, run {run.id}: {ended}, {run.snapshot().elapsed_secs:.1f} s"


def console_lines(run: Run, outputs: list[str]) -> Iterator[str]:
    """Yield the summary that `llmsspider` prints at the end of a crawl with documents.

    Args:
        run: the run, closed.
        outputs: where the documents are, one line each.
    """
    progress = run.progress
    pages = "1 page" if progress.documents == 1 else f"{progress.documents} pages"
    yield f"{pages} of {run.source}{by(progress.changes)}, {duration(progress.elapsed_secs)}"
    yield from outputs
    for name, counts in (("failed", progress.errors), ("filtered", progress.filtered)):
        if counts:
            yield f"{counts.total()} {name}{by(counts)}"
    yield from filter(None, (start_failure(run), links_out_of_scope(run), failure(run, run.outcome)))
    if run.outputs.delivered is False and run.outcome != "store_failed":
        yield f"not delivered: an output could not be stored; `{replay_command(run.source, run.seq_before)}` gives it"
    if not run.coverage.complete or run.outcome != "finished":
        stopped = "stopped" if run.outcome == "shutdown" else "the crawl is incomplete"
        why = run.coverage.why_incomplete or run.outcome
        yield f"{stopped}{'' if why == 'shutdown' else f': {why}'}; nothing was deleted, and the next crawl goes on"


def _examples(examples: Mapping[str, list[Example]]) -> Iterator[str]:
    for reason, urls in examples.items():
        for example in urls[:2]:
            yield f"  {reason}: {example.url}" + (f" ({example.detail})" if example.detail else "")
