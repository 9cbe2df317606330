"""The last phases, which need what all pages have shown. Each begins when nothing of the one before is under way."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.crawl.bot_walls import ACCEPTED_RUNS, CONFIRM_RUNS, MAX_MOVED_TO_ONE
from llmsspider.crawl.deletions import DELETED, outage, plan_deletions
from llmsspider.crawl.records import utc_now
from llmsspider.store import LINKS, PageState
from llmsspider.web import stats
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.url_gate import parse
from llmsspider.web.urls import page_key

if TYPE_CHECKING:
    from llmsspider.crawl.beginning import Phase
    from llmsspider.crawl.run import Run
    from llmsspider.crawl.settle import Site

logger = logging.getLogger(__name__)

MAX_SECS = 300.0
"""Maximum time of the retries, in seconds; pages not requested by then are errors."""

AT_ONCE = 2
"""Number of pages that are retried at a time."""

MAX_FAILED_SHARE = 0.1
"""The share of pages that may fail in a run that counts as complete; one page always may."""


async def undecided_pages(phase: Phase) -> AsyncIterator[Request]:
    """Yield the pages that waited until it was known which languages and versions are copies."""
    while phase.run.waiting.number("copy"):
        for request in phase.spider.requests.decided():
            yield request
        await phase.wait_until_idle()
    if phase.run.limit.cut:
        phase.run.coverage.incomplete("max_requests")
    phase.run.memory.count_dead_links()


async def unsettled_links(phase: Phase) -> AsyncIterator[Request]:
    """Settle the pages that waited for others to show what their links are relative to."""
    while phase.run.waiting.number("links"):
        yield phase.results(phase.spider.pages.with_settled_links(all_pages=True))
        await phase.wait_until_idle()


async def failed_pages(phase: Phase) -> AsyncIterator[Request]:
    """Retry the pages that failed, a few at a time; those for which there is no time are given up.

    A retry at once meets the same outage: a server that restarts, a limit on connections, a name that does not resolve
    for a minute. At the end of the crawl the site has had time.
    """
    waiting, end = phase.run.waiting, monotonic() + MAX_SECS
    if number := waiting.number("failed"):
        phase.note(f"retrying {number} pages that failed")
    while waiting.number("failed") and monotonic() < end:
        for page in waiting.take("failed", most=AT_ONCE):
            phase.run.count("second-chance")
            yield page.request
        await phase.wait_until_idle()
    if waiting.number("failed"):
        yield phase.results(phase.spider.documents.given_up())


async def waiting_pages(phase: Phase) -> AsyncIterator[Request]:
    """Request the Markdown of pages that came before their host's forms were known; then settle all that wait."""
    waiting = phase.run.waiting
    waiting.closed |= {"copy", "markdown", "tag", "stub"}
    if not waiting.number("markdown", "tag", "stub"):
        return
    requests = list(phase.spider.requests.pending())
    if requests:
        pages = f"{len(requests)} pages, whose URL was not known when they came"
        phase.note(f"requesting the Markdown of {pages}")
        phase.run.count("markdown/asked-again", len(requests))
    for request in requests:
        yield request
    await phase.wait_until_idle()
    yield phase.results(phase.spider.pages.settled_pages())


async def suspect_answers(phase: Phase) -> AsyncIterator[Request]:
    """Settle the answers that may stand in place of their pages."""
    while phase.run.waiting.number("wall"):
        yield phase.results(phase.spider.pages.settled_walls())
        await phase.wait_until_idle()


async def lagging_full_texts(phase: Phase) -> AsyncIterator[Request]:
    """Take the pages that the site answers with 404 from full-text files that lag."""
    if phase.run.waiting.number("in-file"):
        yield phase.results(phase.spider.full_texts.pages(lagging=True))


async def whole_full_texts(phase: Phase) -> AsyncIterator[Request]:
    """Take full-text files as documents where no page came; else count those that are not split as filtered."""
    run, discovery = phase.run, phase.run.discovery
    if discovery is None or run.arguments.follow == "llms":
        return
    lists = [file for file in discovery.files if file.kind == "index" and file.is_called_full]
    whole = {text.url: text.why_whole for text in discovery.full_texts}
    whole |= dict.fromkeys((file.url for file in lists), "it lists pages")
    if whole and not run.has_documents and not run.waiting.number("moved"):
        yield phase.results(phase.spider.full_texts.whole())
        return
    split = {text.url for text in discovery.full_texts if text.is_usable}
    for url, why in whole.items():
        if url not in split:
            run.record_filtered(url, "full-text-unsplit", f"{why}; its pages are crawled")


async def verification(phase: Phase) -> AsyncIterator[Request]:
    """Yield one request for each stored page that nothing led to this time."""
    run = phase.run
    _note_outage(run)
    if not run.known.states:
        return
    run.progress.enter("verifying")
    reason = reason_not_to_delete(run)
    if reason is not None:
        phase.note(f"nothing is deleted: {reason}")
    elif run.arguments.mode != "refresh":
        pages = (state for state in _unreached(run) if not state.is_part)
        stored = (phase.spider.requests.verification(state) for state in pages)
        async for request in phase.in_portions(stored):
            yield request


async def moved_pages(phase: Phase) -> AsyncIterator[Request]:
    """Yield the new pages, those that were another stored page with its address."""
    _decide_parts(phase.run)
    if not phase.run.arguments.confirm_deletions:
        _keep_doubtful_pages(phase.run, phase.spider.documents.site)
    _note_outage(phase.run)
    if phase.run.waiting.number("moved"):
        yield phase.results(_moved_pages(phase))


def _moved_pages(phase: Phase) -> Iterator[Any]:
    """Yield the new pages that waited; those that moved name their former address."""
    run = phase.run

    def stored_text(key: bytes) -> str:
        record = run.store.load_page(key)
        return (record.content if record is not None else None) or ""

    if reason_not_to_delete(run) is None and run.arguments.mode != "refresh":
        records = [page.record for page in run.waiting.pages("moved") if page.record is not None]
        run.moves.pair(records, stored_text)
    run.waiting.closed.add("moved")
    for page in run.waiting.take("moved"):
        yield from phase.spider.documents.settled(page)


async def tombstones(phase: Phase) -> AsyncIterator[Request]:
    """Yield the tombstones of the stored pages that are gone, or those pages where none may be deleted."""
    run, arguments = phase.run, phase.run.arguments
    run.progress.enter("finishing")
    if reason_not_to_delete(run) is None:
        if run.known.outcomes:
            yield phase.results(_deleted_pages(phase))
        return
    # stored pages that were not reached belong to the output where the site could not show them this time: not where
    # the crawl was limited, or obtained nothing
    is_whole = not run.coverage.cut and not arguments.retry and arguments.mode == "crawl"
    if run.known.states and is_whole and run.obtained > 0:
        unreached = (state.key for state in run.store.unreached() if run.bounds.covers(state))
        yield phase.results(page for key in unreached for page in phase.spider.documents.stored(key))


def _deleted_pages(phase: Phase) -> Iterator[Any]:
    """Yield the tombstones of deleted pages, and the stored pages that are kept.

    A page that has a document in this run is neither. Those that moved to such a page need no guard, unless many moved
    to the same one: that is a sign of a fault.
    """
    run, known = phase.run, phase.run.known
    unreached = {state.key for state in run.store.unreached()}
    few = [target for target, times in Counter(known.targets.values()).items() if times <= MAX_MOVED_TO_ONE]
    present = {
        target for target in few if target not in unreached and run.store.load_page(target) is not None
    }
    plan = plan_deletions(
        known,
        {key for key, state in known.states.items() if run.bounds.covers(state)},
        unreached=unreached,
        confirmed=run.arguments.confirm_deletions,
        only_gone=run.arguments.mode == "refresh",
        arrived=frozenset(key for key, target in known.targets.items() if target in present),
        missing=run.memory.missing,
    )
    run.memory.missing = dict(plan.missing)
    if plan.blocked_by:
        run.coverage.incomplete("deletions held back")
        logger.warning("%(reason)s", {"reason": plan.blocked_by}, extra={"spider": phase.spider})
    for target in {known.targets[key] for key in plan.delete if key in known.targets}:
        run.store.save_moved_from(target, known.moved_from[target])
    for key in plan.keep:
        yield from phase.spider.documents.stored(key)
    for key, reason in plan.delete.items():
        record = run.store.load_page(key)
        if record is not None:
            run.count(stats.deleted(reason))
            record.fetched_at = utc_now()
            yield record.item(source=run.source, run=run.id, change="deleted")


ENDING: tuple[Callable[[Phase], AsyncIterator[Request]], ...] = (
    unsettled_links,
    undecided_pages,
    failed_pages,
    waiting_pages,
    suspect_answers,
    lagging_full_texts,
    whole_full_texts,
    verification,
    moved_pages,
    tombstones,
)
"""The phases in their order; the crawl is idle before and after each of them."""


# Whether this run may delete stored pages, and which of them are in doubt.


def _note_outage(run: Run) -> None:
    """Make the run incomplete when too many pages failed: those requested, and those that could not be verified."""
    kept = [kind for key, kind in run.known.reasons.items() if run.known.outcomes[key] == "kept"]
    failed = run.progress.errors + Counter(kept)
    why = outage(failed, run.obtained, MAX_FAILED_SHARE)
    if why is not None:
        run.coverage.outage = why


def reason_not_to_delete(run: Run) -> str | None:
    """Say why this run may not decide that pages are gone, or None."""
    if not run.coverage.complete:
        return run.coverage.why_incomplete
    if run.arguments.retry:
        return "only failed pages were requested"
    if run.progress.documents == 0 and not run.waiting.number("moved"):
        return "nothing was obtained"
    discovery = run.discovery
    if discovery is not None and discovery.start.error in OUTAGES:
        return "the start page failed"
    unread = run.memory.previous_discovery.unread
    return f"{unread[0]} could not be read this time" if unread else None


def _unreached(run: Run) -> Iterator[PageState]:
    """Yield the stored pages inside the bounds of a run that it has neither confirmed nor recorded an outcome of."""
    for state in run.store.unreached():
        if state.key not in run.known.outcomes and run.bounds.covers(state):
            yield state


def _decide_parts(run: Run) -> None:
    """Give documents that were made of another page's body the outcome of that page, where it was not read anew."""
    for state in [state for state in _unreached(run) if state.is_part]:
        outcome = run.known.outcomes.get(page_key(state.whole_url))
        if outcome in DELETED:
            run.known.record_outcome(state.key, "unlinked" if outcome == "moved" else outcome)
        else:
            run.known.record_outcome(state.key, "kept", "not-seen")


def _keep_doubtful_pages(run: Run, site: Site) -> None:
    """Keep the stored pages that may be gone, where one run is not enough to know.

    Kept are pages whose verification was answered by a bot wall, by no text, or by the text that the site has for
    missing pages; pages that redirect temporarily; pages of which many redirect to the same one; and pages that only
    such pages link to.
    """
    known = run.known
    for page in run.waiting.take("verified"):
        wall = site.wall(page.suspect) if page.suspect is not None else None
        if page.suspect is not None and wall is not None:
            known.record_outcome(page.suspect.key, "kept", wall.kind)
    arriving = Counter(known.targets.values())
    for key, outcome in list(known.outcomes.items()):
        what, needed = "", CONFIRM_RUNS  # the answer, and the runs in a row after which it is accepted
        target = known.targets.get(key)
        if outcome == "dropped" and known.reasons[key] in {"empty", "soft-404"}:
            what = known.reasons[key]
        elif outcome == "moved" and target is not None:
            for_now = key in known.elsewhere_for_now
            many = arriving[target] > (1 if for_now else MAX_MOVED_TO_ONE)
            what = f"moved {target.hex()}" if many or for_now else ""
            needed = ACCEPTED_RUNS if many and for_now else CONFIRM_RUNS
        if what and run.memory.doubts.again(key, what) < needed:
            known.stays(key, "not-sure")
    kept = [key for key, outcome in known.outcomes.items() if outcome == "kept"]
    while kept:  # pages that nothing leads to any more but pages that are kept
        linked = {
            page_key(run.page_of(url))
            for record in run.store.load_pages(kept, LINKS)
            if record is not None
            for url in record.follow
            if isinstance(parse(url), str)
        }
        kept = [key for key in linked if known.outcomes.get(key) == "unlinked"]
        for key in kept:
            known.record_outcome(key, "kept", "not-seen")
