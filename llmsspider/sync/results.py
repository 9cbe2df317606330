"""What became of each source: read from the page store, shown as a table or as JSON."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from llmsspider.errors import UnknownSourceError
from llmsspider.progress import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmsspider.store import RunRecord, Stores

State = Literal["ok", "incomplete", "failed", "skipped"]
"""`incomplete`: there are documents, but more pages failed than a complete run may have."""


@dataclass(slots=True, frozen=True)
class Result:
    """One source of a sync: `where` it was crawled, `reason` it failed or was skipped for, its run in the store."""

    source: str
    state: State
    where: str = ""
    reason: str = ""
    secs: float = 0.0
    run: RunRecord | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        counts = self.run.counts if self.run is not None else {}
        return {
            "source": self.source,
            "state": self.state,
            "where": self.where,
            "reason": self.reason,
            "secs": round(self.secs, 1),
            "run": self.run.id if self.run else None,
            "outcome": self.run.outcome if self.run else None,
            "complete": self.run.complete if self.run else None,
            "documents": counts.get("documents", 0),
            "changes": counts.get("changes", {}),
            "errors": sum(self.run.errors.values()) if self.run else 0,
        }


def last_run(stores: Stores, source: str) -> RunRecord | None:
    """Return the newest run of a source, None for one that was never crawled; raises `StoreError`."""
    try:
        with closing(stores.open(source, create=False)) as store:
            runs = store.runs()
    except UnknownSourceError:
        return None
    return runs[-1] if runs else None


def is_going(run: RunRecord | None) -> bool:
    """Whether the process of a run is alive."""
    return run is not None and run.finished_at is None and not run.lost


def failure_of(run: RunRecord) -> str:
    """Why a finished run counts as failed; empty for one that went well."""
    outcome = run.outcome or ""
    if outcome != "finished" and not outcome.startswith("closespider_"):
        return outcome or "the run did not end"
    return "its documents were not delivered" if run.counts.get("delivered") is False else ""


def is_partial(run: RunRecord) -> bool:
    """Whether the site answered in part only: more pages failed than a complete run may have."""
    return bool(run.counts.get("outage"))


def report(results: Iterable[Result], elapsed_secs: float) -> dict[str, Any]:
    """Return the whole of a sync, ready for JSON."""
    found = list(results)
    states = Counter(result.state for result in found)
    return {
        "elapsed_secs": round(elapsed_secs, 1),
        **{state: states[state] for state in get_args(State)},
        "documents": sum(result.as_dict()["documents"] for result in found),
        "sources": [result.as_dict() for result in found],
    }


HEAD = ("SOURCE", "RESULT", "DOCUMENTS", "NEW", "CHANGED", "DELETED", "ERRORS", "TIME", "WHERE", "NOTE")


def table(results: Iterable[Result], elapsed_secs: float) -> Iterator[str]:
    """Yield the lines of the summary."""
    found = list(results)
    rows = [HEAD, *(_row(result) for result in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    total = report(found, elapsed_secs)
    partly = f", {total['incomplete']} incomplete" if total["incomplete"] else ""
    yield (
        f"{len(found)} sources: {total['ok']} ok, {total['failed']} failed, {total['skipped']} skipped{partly}; "
        f"{total['documents']} documents, {duration(elapsed_secs)}"
    )


def _row(result: Result) -> tuple[str, ...]:
    data = result.as_dict()
    changes = data["changes"]
    note = result.reason
    if not note and result.run is not None and not result.run.complete:
        note = f"incomplete: {result.run.why or result.run.outcome}"
    numbers = [
        data["documents"],
        *(changes.get(kind, 0) for kind in ("new", "changed", "deleted")),
        data["errors"],
    ]
    shown = map(str, numbers) if result.run is not None else ["-"] * len(numbers)
    return (result.source, result.state, *shown, duration(result.secs), result.where, note)
