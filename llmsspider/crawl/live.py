"""The state of a run that is going, as the live page shows it: `/status.json` and its events. No Scrapy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from llmsspider.crawl.progress import RecentPage, Snapshot

if TYPE_CHECKING:
    from llmsspider.crawl.progress import Example
    from llmsspider.crawl.run import Run

TimelinePoint = tuple[float, int, int]
"""Seconds since the start, pages done, pages that failed."""

ReasonedUrl = tuple[str, str, str]
"""An error kind or filter reason, a URL, and the detail in words."""


@dataclass(slots=True, frozen=True)
class ReadFile:
    """A file that discovery read: llms.txt, or one that it links to."""

    url: str
    kind: str
    title: str | None
    entries: int


@dataclass(slots=True, frozen=True)
class LiveNumbers(Snapshot):
    """What changes all the time: the event `numbers` of the live page."""

    source: str
    url: str | None
    run: str
    recent: list[RecentPage]
    timeline: list[TimelinePoint]
    ended: bool
    outcome: str | None
    complete: bool
    why: str | None
    report: str | None

    @classmethod
    def of(cls, run: Run) -> LiveNumbers:
        """Return the numbers of a run at this moment."""
        return LiveNumbers(**_numbers(run))


@dataclass(slots=True, frozen=True)
class LiveStatus(LiveNumbers):
    """All of the state: `/status.json`, and the events `state` and `end` (docs/reference/live.schema.json)."""

    scope: str | None
    files: list[ReadFile]
    sitemaps: list[str]
    error_examples: list[ReasonedUrl]
    filtered_examples: list[ReasonedUrl]

    @classmethod
    def of(cls, run: Run) -> LiveStatus:
        """Return the state of a run at this moment."""
        files = run.discovery.files if run.discovery is not None else []
        return LiveStatus(
            **_numbers(run),
            scope=run.bounds.scope.describe() if run.bounds.scope else None,
            files=[ReadFile(file.url, file.kind, file.title, len(file.entries)) for file in files],
            sitemaps=list(run.discovery.sitemaps) if run.discovery is not None else [],
            error_examples=_examples(run.progress.error_examples),
            filtered_examples=_examples(run.progress.filtered_examples),
        )


def _numbers(run: Run) -> dict[str, Any]:
    """Return the fields of `LiveNumbers`."""
    snapshot, report = run.snapshot(), run.outputs.report
    return {
        **{field.name: getattr(snapshot, field.name) for field in fields(snapshot)},
        "source": run.source,
        "url": run.arguments.url,
        "run": run.id,
        "recent": list(reversed(run.progress.recent)),
        "timeline": [(point.secs, point.done, point.errors) for point in run.progress.timeline],
        "ended": bool(run.outcome),
        "outcome": run.outcome or None,
        "complete": run.coverage.complete and run.outcome == "finished",
        "why": run.coverage.why_incomplete,
        "report": str(report[0]) if report else None,
    }


def _examples(found: dict[str, list[Example]]) -> list[ReasonedUrl]:
    return [
        (reason, example.url, example.detail) for reason, examples in found.items() for example in examples
    ]
