"""What the end of a crawl may say of the stored pages that it did not reach. No Scrapy here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from llmsspider.incremental import Judgement, judge

if TYPE_CHECKING:
    from llmsspider.run import Run
    from llmsspider.store import PageState


def reason_not_to_delete(run: Run) -> str | None:
    """Say why this run may not decide that pages are gone, or None."""
    if not run.complete:
        return run.why_incomplete
    if run.arguments.retry:
        return "only failed pages were asked for"
    if run.limit.documents == 0:
        return "nothing was obtained"
    discovery = run.discovery
    if discovery is not None and discovery.start.error in {"network", "challenge", "rate_limited"}:
        return "the start page failed"
    lost = run.files_before.lost
    return f"{lost[0]} could not be read this time" if lost else None


def exports_unreached(run: Run) -> bool:
    """Say whether stored pages that were not reached belong to the output: the site could not show them this time.

    It is otherwise with a crawl that was told to see less, or obtained nothing.
    """
    whole = run.complete and not run.arguments.retry and run.arguments.mode == "crawl"
    return whole and run.limit.documents > 0


def unreached(run: Run) -> Iterator[PageState]:
    """Yield the stored pages inside the bounds of a run that it has neither confirmed nor judged."""
    for state in run.store.unreached():
        if state.key not in run.known.fates and run.bounds.covers(state):
            yield state


def judgement_of(run: Run) -> Judgement:
    """Decide which stored pages are deleted and which are exported as they were.

    A page that has a document in this run is neither.
    """
    return judge(
        run.known,
        {key for key, state in run.known.states.items() if run.bounds.covers(state)},
        unreached={state.key for state in run.store.unreached()},
        confirmed=run.arguments.confirm_deletions,
        only_gone=run.arguments.mode == "refresh",
    )
