"""The phases of a crawl; the last ones need what all pages have shown.

Each begins when the one before is through.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from time import monotonic
from typing import Any

from scrapy import Request
from scrapy.exceptions import CloseSpider

from llmsspider.config.arguments import NO_URL, NO_URL_GIVEN
from llmsspider.crawler.beginning import Phase, discover_site, leave_out_pages, seed_requests
from llmsspider.crawler.deletions import DELETED, DeletionPlan, plan_deletions
from llmsspider.crawler.pages import utc_now
from llmsspider.crawler.progress import replay_command
from llmsspider.crawler.settle import reasons_with
from llmsspider.errors import LlmsspiderError, StoreError
from llmsspider.store import LINKS, PageState
from llmsspider.web import stats
from llmsspider.web.urls import page_key, usable

logger = logging.getLogger(__name__)
faults = logging.getLogger(f"{__name__}.faults")
"""What ended the run; the closing lines of `llmsspider` say it again."""

MAX_SECS = 300.0  # maximum time of the retries, in seconds; pages not requested by then are errors
AT_ONCE = 2  # number of pages that are retried at a time


async def undecided_pages(phase: Phase) -> AsyncIterator[Request]:
    """Yield the pages that waited until it was known what is a copy, and what addresses like theirs
    are.
    """
    at_end = phase.spider.at_end
    while phase.waiting.number("copy", "shape", "file"):
        for request in [*at_end.decided(), *at_end.of_shapes(), *at_end.named_like_files()]:
            yield request
        await phase.wait_until_idle()
    if phase.limit.cut:
        phase.coverage.incomplete("max_requests")
    for dropped in phase.learned.drained():
        phase.report.filtered(*dropped)


async def unsettled_links(phase: Phase) -> AsyncIterator[Request]:
    """Settle the pages that waited for others to show what their links are relative to."""
    if phase.waiting.number("links"):
        yield phase.results(phase.spider.pages.with_settled_links())


async def failed_pages(phase: Phase) -> AsyncIterator[Request]:
    """Retry the pages that failed, a few at a time: an outage may be over now.

    The rest is given up in time.
    """
    waiting = phase.waiting
    end = monotonic() + MAX_SECS
    if number := waiting.number("failed"):
        phase.report.note(f"retrying {number} pages that failed")
    while waiting.number("failed") and monotonic() < end:
        for page in waiting.take("failed", most=AT_ONCE):
            phase.report.count("second-chance")
            yield page.request
        await phase.wait_until_idle()
    if waiting.number("failed"):
        yield phase.results(phase.spider.at_end.given_up())


async def waiting_pages(phase: Phase) -> AsyncIterator[Request]:
    """Request the Markdown of pages that came before their host's forms were known; then settle all
    that wait.
    """
    waiting = phase.waiting
    of_read = reasons_with(until="read")
    waiting.closed |= {"copy", "shape", "file", *of_read}
    if not waiting.number(*of_read):
        return
    requests = list(phase.spider.at_end.markdown_requests())
    if requests:
        pages = f"{len(requests)} pages, whose URL was not known when they came"
        phase.report.note(f"requesting the Markdown of {pages}")
        phase.report.count("markdown/asked-again", len(requests))
    for request in requests:
        yield request
    await phase.wait_until_idle()
    yield phase.results(phase.spider.at_end.waiting_pages())


async def suspect_answers(phase: Phase) -> AsyncIterator[Request]:
    """Settle the answers that may stand in place of their pages."""
    while phase.waiting.number("wall"):
        yield phase.results(phase.spider.at_end.walls())
        await phase.wait_until_idle()


async def lost_pages(phase: Phase) -> AsyncIterator[Request]:
    """Request as themselves the pages that count as another of which nothing came; those still lost
    have failed.
    """
    run = phase.run
    for url, depth in run.lost_pages():
        yield phase.spider.at_end.itself(url, depth)
    await phase.wait_until_idle()
    for url, _ in run.lost_pages():
        phase.report.failed(url, "http", "it counts as another page, of which nothing came")


async def lagging_full_texts(phase: Phase) -> AsyncIterator[Request]:
    """Take the pages that the site answers with 404 from full-text files that lag."""
    if phase.waiting.number("in-file"):
        yield phase.results(phase.spider.full_texts.pages(lagging=True))


async def whole_full_texts(phase: Phase) -> AsyncIterator[Request]:
    """Take full-text files as documents where no page came; else count those that are not split as
    filtered.
    """
    run = phase.run
    discovery = phase.site.discovery
    if discovery is None or phase.arguments.follow == "llms":
        return
    whole = {text.url: text.why_whole for text in discovery.full_texts}
    for file in discovery.files:
        if file.kind == "index" and file.is_called_full:
            whole[file.url] = "it lists pages"
    if whole and not run.has_documents and not phase.waiting.number("moved"):
        yield phase.results(phase.spider.full_texts.whole())
        return
    for text in discovery.full_texts:
        if text.is_usable:
            del whole[text.url]
    for url, why in whole.items():
        phase.report.filtered(url, "full-text-unsplit", f"{why}; its pages are crawled")


async def verification(phase: Phase) -> AsyncIterator[Request]:
    """Yield one request for each stored page that nothing led to this time."""
    run = phase.run
    run.note_outage()
    if not phase.known.states:
        return
    phase.progress.enter("verifying")
    reason = run.reason_not_to_delete()
    if reason is not None:
        phase.report.note(f"nothing is deleted: {reason}")
    elif phase.arguments.mode != "refresh":
        pages = (state for state in _unreached(phase) if not state.is_part)
        stored = (phase.spider.at_end.verification(state) for state in pages)
        async for request in phase.in_portions(stored):
            yield request


async def moved_pages(phase: Phase) -> AsyncIterator[Request]:
    """Decide on the stored pages, and yield the new ones, those that were another stored page with
    its address.
    """
    run = phase.run
    waiting = phase.waiting
    _decide_parts(phase)
    run.note_outage()
    phase.known.follow_redirects(phase.addresses.final_page)

    def stored_text(key: bytes) -> str:
        record = phase.known.load(key)
        return (record.content if record is not None else None) or ""

    if phase.known.states and run.reason_not_to_delete() is None:
        records = [page.record for page in waiting.pages("moved") if page.record is not None]
        if records and phase.arguments.mode != "refresh":
            phase.moves.pair(records, stored_text)
        _decide(phase, {record.key for record in records})
    waiting.closed.add("moved")
    moved = waiting.take("moved")
    yield phase.results(result for page in moved for result in phase.spider.documents.settled(page))


def _decide(phase: Phase, new: set[bytes]) -> None:
    """Plan which stored pages are deleted; the documents of the pages `new` are still to come."""
    run = phase.run
    known = phase.known
    unreached = {state.key for state in phase.known.stored.unreached()}
    if not unreached:
        run.deletions = DeletionPlan({}, (), {})
        return
    written = {
        key for key in known.targets.values() if key not in unreached and phase.known.load(key)
    }
    plan = run.deletions = plan_deletions(
        known,
        {key for key, state in known.states.items() if phase.bounds.covers(state)},
        unreached=unreached,
        named={known.aliases.get(key, key) for key in phase.addresses.requested_pages},
        present=new | written,
        links=partial(_linked_by, phase),
        again=phase.memory.doubts.again,
        confirmed=phase.arguments.confirm_deletions,
        only_gone=phase.arguments.mode == "refresh",
    )
    for key, reason in plan.waits.items():
        phase.progress.doubtful[reason] += 1
        known.stays(key, reason)
    if plan.blocked_by:
        phase.coverage.incomplete("deletions held back")
        logger.warning("%(reason)s", {"reason": plan.blocked_by}, extra={"spider": phase.spider})


def _linked_by(phase: Phase, keys: list[bytes]) -> set[bytes]:
    """Return the keys of the pages that stored pages link to."""
    records = filter(None, phase.known.stored.load_pages(keys, LINKS))
    urls = usable(url for record in records for url in record.follow)
    return {page_key(phase.addresses.page_of(url)) for url in urls}


async def tombstones(phase: Phase) -> AsyncIterator[Request]:
    """Yield the tombstones of the stored pages that are gone, or those pages where none may be
    deleted.
    """
    run = phase.run
    arguments = phase.arguments
    stored = phase.spider.documents.stored
    phase.progress.enter("finishing")
    if run.deletions is not None:
        yield phase.results(_deleted_pages(phase, run.deletions))
        yield phase.results(page for key in run.deletions.keep for page in stored(key))
        return
    # stored pages that were not reached belong to the output where the site could not show them
    # this time: not where the crawl was limited, or obtained nothing
    is_part = phase.coverage.cut or arguments.retry or arguments.mode != "crawl"
    if phase.known.states and not is_part and run.obtained:
        unreached = filter(phase.bounds.covers, phase.known.stored.unreached())
        yield phase.results(page for state in unreached for page in stored(state.key))


def _deleted_pages(phase: Phase, plan: DeletionPlan) -> Iterator[Any]:
    for target in {phase.known.targets[key] for key in plan.delete if key in phase.known.targets}:
        phase.known.stored.save_moved_from(target, phase.known.moved_from[target])
    for key, reason in plan.delete.items():
        record = phase.known.load(key)
        if record is not None:
            phase.report.count(stats.deleted(reason))
            record.fetched_at = utc_now()
            yield phase.records.item(record, "deleted")


ENDING: tuple[Callable[[Phase], AsyncIterator[Request]], ...] = (
    unsettled_links,
    undecided_pages,
    failed_pages,
    waiting_pages,
    suspect_answers,
    lost_pages,
    lagging_full_texts,
    whole_full_texts,
    verification,
    moved_pages,
    tombstones,
)
"""The phases in their order; the crawl is idle before and after each of them."""


async def all_phases(phase: Phase, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield the requests of a whole crawl, or what `start` yields; raises `CloseSpider` for a run
    without pages.
    """
    run = phase.run
    own = await anext(start, None)
    if own is not None:
        _prepare_own_start(phase, getattr(own, "url", ""))
        yield own
        async for request in start:
            yield request
        return
    if phase.arguments.url == NO_URL:
        logger.error(NO_URL_GIVEN, extra={"spider": phase.spider})
        raise CloseSpider("start_failed")
    try:
        await _begin(phase)
        if phase.config.plan_only:
            raise CloseSpider("planned")
        for requests in (seed_requests, *ENDING):
            async for request in requests(phase):
                yield request
            await phase.wait_until_idle()
    except StoreError as error:
        phase.coverage.fault = str(error)
        faults.error("The crawl ends: %(error)s", {"error": error}, extra={"spider": phase.spider})
        raise CloseSpider("store_failed") from error
    start_failed = phase.site.discovery is not None and bool(phase.site.discovery.start.error)
    number = run.obtained if start_failed else run.has_documents
    if not number and not phase.progress.changes["deleted"]:
        raise CloseSpider("start_failed" if start_failed else "no_documents")


def _prepare_own_start(phase: Phase, url: str) -> None:
    """Fix the bounds of a run whose spider has a `start` of its own, from `url` on: nothing is
    known before it, and nothing is stored.
    """
    phase.run.remembers = False
    phase.report.note(
        "the spider's own start takes the place of discovery: what comes of it is not stored"
    )
    phase.coverage.incomplete("a start of its own")
    phase.workers.open()
    phase.bounds.stored((), url if phase.arguments.url == NO_URL else None)


async def _begin(phase: Phase) -> None:
    """Open the run, say which pages may wait for the end, and discover; raises `CloseSpider` where
    that fails.
    """
    settings = phase.crawler.settings
    run = phase.run
    try:
        run.open()
        run.job.mark(run.id, None)
        if not settings.getbool("RETRY_ENABLED") or settings.getint("RETRY_TIMES") <= 0:
            phase.waiting.closed.add("failed")
        if run.job.path:
            phase.waiting.closed.add("shape")  # a stop would lose them
        if phase.arguments.max_depth is not None:
            # depths are exact only where links are followed at once
            phase.waiting.closed.add("links")
        if phase.known.states:
            phase.waiting.closed.discard("moved")
        await discover_site(phase)
        if not phase.config.plan_only:
            await leave_out_pages(phase)
    except LlmsspiderError as error:
        faults.error("%(error)s", {"error": error}, extra={"spider": phase.spider})
        phase.coverage.fault = str(error)
        raise CloseSpider(
            "store_failed" if isinstance(error, StoreError) else "start_failed"
        ) from error
    if phase.outputs.undelivered_since is not None and not phase.config.plan_only:
        logger.warning(
            "an earlier run stored changes that it did not deliver; `%(command)s` gives them",
            {"command": replay_command(phase.records.source, phase.outputs.undelivered_since)},
            extra={"spider": phase.spider},
        )


def _unreached(phase: Phase) -> Iterator[PageState]:
    """Yield the stored pages inside the bounds of a run that it has neither confirmed nor recorded
    an outcome of.
    """
    waiting = {page.record.key for page in phase.waiting.pages("moved") if page.record is not None}
    for state in phase.known.stored.unreached():
        is_open = state.key not in phase.known.outcomes and state.key not in waiting
        if is_open and phase.bounds.covers(state):
            yield state


def _decide_parts(phase: Phase) -> None:
    """Give documents made of another page's body the outcome of that page, where it was not read in
    this run.
    """
    for state in [state for state in _unreached(phase) if state.is_part]:
        outcome = phase.known.outcomes.get(page_key(state.whole_url))
        if outcome in DELETED:
            phase.known.record_outcome(state.key, "unlinked" if outcome == "moved" else outcome)
        else:
            phase.known.record_outcome(state.key, "kept", "not-seen")
