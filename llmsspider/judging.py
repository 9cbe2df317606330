"""What the end of a crawl may say of the stored pages that it did not reach. No Scrapy here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from llmsspider.incremental import Judgement, judge
from llmsspider.outcomes import OUTAGES
from llmsspider.store import LINKS
from llmsspider.urlgate import parse
from llmsspider.urls import page_key
from llmsspider.walls import BELIEVED_RUNS

if TYPE_CHECKING:
    from llmsspider.run import Run
    from llmsspider.store import PageState


MAX_MOVED_TO_ONE = 3
"""Pages that may move to one page without being guarded; more of them look like a login or an error page."""


def outage(failed: Mapping[str, int], obtained: int, share: float) -> str | None:
    """Say that more pages failed than a complete run may have, or None. One page may always fail.

    Args:
        failed: number of failed pages by error kind; those that say nothing of the site's state are left out of it.
        obtained: pages that answered.
        share: of all pages that were asked for, how many may fail, from 0 to 1.

    >>> outage({"auth": 3, "not_found": 7}, 27, 0.1) is None
    True
    >>> outage({"auth": 4}, 27, 0.1)
    '4 of 31 pages failed (auth 4)'
    """
    lost = Counter({kind: number for kind, number in failed.items() if kind in OUTAGES})
    asked = lost.total() + obtained
    if lost.total() <= max(1, share * asked):
        return None
    kinds = ", ".join(f"{kind} {number}" for kind, number in lost.most_common())
    return f"{lost.total()} of {asked} pages failed ({kinds})"


def note_outage(run: Run) -> None:
    """Make the run incomplete when too many pages failed: those asked for, and those that could not be verified."""
    obtained = max(run.progress.documents - run.progress.kept, 0) + len(run.moved_pages.waiting)
    kept = [kind for key, kind in run.known.reasons.items() if run.known.fates[key] == "kept"]
    failed = run.progress.errors + Counter(kept)
    why = outage(failed, obtained, run.config.max_failed_share)
    if why is not None:
        run.failed_in_part(why)


def reason_not_to_delete(run: Run) -> str | None:
    """Say why this run may not decide that pages are gone, or None."""
    if not run.complete:
        return run.why_incomplete
    if run.arguments.retry:
        return "only failed pages were asked for"
    if run.limit.documents == 0 and not run.moved_pages.waiting:
        return "nothing was obtained"
    discovery = run.discovery
    if discovery is not None and discovery.start.error in OUTAGES:
        return "the start page failed"
    lost = run.files_before.lost
    return f"{lost[0]} could not be read this time" if lost else None


def settle_doubts(run: Run) -> None:
    """Keep the stored pages of which this run alone cannot say that they are gone.

    Those are pages that answered the verification with a wall, pages without text or with the one that the site has for
    missing pages; those that redirect for now, or together with many others; and what only such pages link to.
    """
    if run.arguments.confirm_deletions:
        return
    for suspect in run.suspects.verified:
        wall = run.suspects.evidence(suspect)
        if wall is not None and not run.believes(suspect, wall):
            run.known.fated(suspect.key, "kept", wall.kind)
    arriving = Counter(run.known.targets.values())
    for key, fate in list(run.known.fates.items()):
        what, needed = _doubt(run, key, fate, arriving)
        if what and run.doubts.again(key, what) < needed:
            run.known.fated(key, "kept", "not-sure")
    _keep_linked(run)


def _doubt(run: Run, key: bytes, fate: str, arriving: Counter[bytes]) -> tuple[str, int]:
    """Return what a page answered, and in how many runs in a row it has to; empty and 0 for what is believed."""
    confirm, reason = max(run.config.confirm_runs, 2), run.known.reasons[key]
    if fate == "dropped" and reason in {"empty", "soft-404"}:
        return reason, confirm
    target = run.known.targets.get(key)
    if fate != "moved" or target is None:
        return "", 0
    many, for_now = arriving[target] > MAX_MOVED_TO_ONE, key in run.known.elsewhere_for_now
    return (
        (f"moved {target.hex()}", BELIEVED_RUNS if many and for_now else confirm)
        if many or for_now
        else ("", 0)
    )


def _keep_linked(run: Run) -> None:
    """Keep the pages that nothing leads to any more but pages that are kept."""
    fates = run.known.fates
    kept = [key for key, fate in fates.items() if fate == "kept"]
    while kept:
        linked = {
            page_key(run.page_of(url))
            for record in run.store.load_pages(kept, LINKS)
            if record is not None
            for url in record.follow
            if isinstance(parse(url), str)
        }
        kept = [key for key in linked if fates.get(key) == "unlinked"]
        for key in kept:
            run.known.fated(key, "kept", "not-seen")


def exports_unreached(run: Run) -> bool:
    """Say whether stored pages that were not reached belong to the output: the site could not show them this time.

    It is otherwise with a crawl that was told to see less, or obtained nothing.
    """
    whole = not run.cut and not run.arguments.retry and run.arguments.mode == "crawl"
    return whole and run.obtained > 0


def unreached(run: Run) -> Iterator[PageState]:
    """Yield the stored pages inside the bounds of a run that it has neither confirmed nor judged."""
    for state in run.store.unreached():
        if state.key not in run.known.fates and run.bounds.covers(state):
            yield state


def judgement_of(run: Run) -> Judgement:
    """Decide which stored pages are deleted and which are exported as they were.

    A page that has a document in this run is neither.
    """
    unreached = {state.key for state in run.store.unreached()}
    return judge(
        run.known,
        {key for key, state in run.known.states.items() if run.bounds.covers(state)},
        unreached=unreached,
        confirmed=run.arguments.confirm_deletions,
        only_gone=run.arguments.mode == "refresh",
        arrived=_arrived(run, unreached),
        missing=run.missing,
        runs=run.config.confirm_runs,
    )


def _arrived(run: Run, unreached: set[bytes]) -> frozenset[bytes]:
    """Return the pages that moved to one that has a document in this run.

    Many that move to one page are a sign of a fault: those are not returned.
    """
    arriving = Counter(run.known.targets.values())
    present = {
        target
        for target, number in arriving.items()
        if number <= MAX_MOVED_TO_ONE and target not in unreached and run.store.load_page(target) is not None
    }
    return frozenset(key for key, target in run.known.targets.items() if target in present)
