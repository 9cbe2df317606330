"""What became of each source of a sync: read from the page store, shown as a table or as JSON."""

from dataclasses import dataclass
from typing import Any, Literal

from llmsspider.errors import UnknownSourceError
from llmsspider.store import RunRecord, Stores

State = Literal["ok", "incomplete", "failed", "skipped"]
"""`incomplete`: there are documents, but more pages failed than a complete run may have."""


@dataclass(slots=True, frozen=True)
class Result:
    """One source of a sync: `where` it was crawled, `reason` it failed or was skipped for, its run
    in the store.
    """

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
    """Return the newest run of a source; None before the first.

    Raises `StoreError`.
    """
    try:
        with stores.open(source, create=False) as store:
            runs = store.runs()
    except UnknownSourceError:
        return None
    return runs[-1] if runs else None


def is_running(run: RunRecord | None) -> bool:
    """Whether the process of a run is alive."""
    return run is not None and run.is_going


def failure_of(run: RunRecord) -> str:
    """The reason why a finished run counts as failed; empty for one that succeeded."""
    outcome = run.outcome or ""
    if outcome != "finished" and not outcome.startswith("closespider_"):
        why = f": {run.why}" if run.why and outcome else ""
        return f"{outcome or 'the run did not end'}{why}"
    if run.counts.get("delivered") is not False:
        return ""
    lost = run.counts.get("undelivered")
    which = f": {lost[0]}" if isinstance(lost, list) and lost else ""
    return f"its documents were not delivered{which}"
