"""The state of a run as `/status.json` gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmsspider.progress import Example
    from llmsspider.run import Run

State = dict[str, Any]
"""JSON-ready; docs/progress.md lists its keys."""


def numbers(run: Run) -> State:
    """Return what changes all the time: the snapshot, the timeline, and whether the run has ended."""
    return {
        **run.snapshot().as_dict(),
        "source": run.source,
        "url": run.arguments.url,
        "run": run.id,
        "timeline": [[point.secs, point.done, point.errors] for point in run.progress.timeline],
        "ended": bool(run.outcome),
        "outcome": run.outcome or None,
        "complete": run.complete and run.outcome == "finished",
        "why": run.why_incomplete,
        "report": str(run.report[0]) if run.report else None,
    }


def state(run: Run) -> State:
    """Return everything: the numbers, what discovery read, scope, and URLs that failed or were left out."""
    discovery = run.discovery
    progress = run.progress
    return {
        **numbers(run),
        "scope": run.bounds.scope.describe() if run.bounds.scope else None,
        "files": [
            {"url": file.url, "kind": file.kind, "title": file.title, "entries": len(file.entries)}
            for file in (discovery.files if discovery else ())
        ],
        "sitemaps": list(discovery.sitemaps) if discovery else [],
        "error_examples": _examples(progress.error_examples),
        "filtered_examples": _examples(progress.filtered_examples),
    }


def _examples(found: dict[str, list[Example]]) -> list[list[str]]:
    """Return [reason, URL, detail] of each example."""
    return [
        [reason, example.url, example.detail] for reason, examples in found.items() for example in examples
    ]
