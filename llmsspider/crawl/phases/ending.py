"""The last phases, which need what all pages have shown. Each begins when nothing of the one before is under way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Request

from llmsspider.crawl.deferred import AT_ONCE, MAX_SECS
from llmsspider.crawl.deletions import (
    decide_parts,
    exports_unreached,
    keep_doubtful_pages,
    note_outage,
    reason_not_to_delete,
    unreached,
)
from llmsspider.crawl.requests import synthetic_request

if TYPE_CHECKING:
    from llmsspider.crawl.phases import Phase
    from llmsspider.site.discovery import Discovery


async def undecided_pages(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield the pages that waited until it was known which languages and versions are copies."""
    while phase.run.pending_pages.undecided:
        for request in phase.spider.requests.decided():
            yield request
        await phase.idle.wait_until_idle()
    phase.run.coverage.check_limit(phase.run.limit)
    phase.run.memory.count_dead_links()


async def failed_pages(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Retry the pages that failed, a few at a time; those for which there is no time are given up."""
    retries, end = phase.run.retries, monotonic() + MAX_SECS
    if retries.waiting:
        phase.note(f"retrying {len(retries.waiting)} pages that failed")
    while retries.waiting and monotonic() < end:
        for retry in retries.take(AT_ONCE):
            phase.run.count("second-chance")
            yield retry.request
        await phase.idle.wait_until_idle()
    if retries.waiting:
        yield synthetic_request(phase.spider.parse_lost)


async def pages_without_markdown(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Request the Markdown of pages that came before their host's forms were known; then yield those without."""
    pending = phase.run.pending_pages
    pending.enabled = False
    if not pending.waiting:
        return
    requests = list(phase.spider.requests.pending())
    if requests:
        phase.note(
            f"requesting the Markdown of {len(requests)} pages, whose URL was not known when they came"
        )
        phase.run.count("markdown/asked-again", len(requests))
    for request in requests:
        yield request
    await phase.idle.wait_until_idle()
    yield synthetic_request(phase.spider.parse_held)


async def suspect_answers(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Decide about the answers that may stand in place of their pages."""
    while phase.run.suspects.waiting:
        yield synthetic_request(phase.spider.parse_suspects)
        await phase.idle.wait_until_idle()


async def lagging_full_texts(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Take the pages that the site answers with 404 from full-text files that lag."""
    if phase.run.memory.lagging.missing:
        yield synthetic_request(phase.spider.parse_lagging_full_texts)


async def whole_full_texts(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Take full-text files as documents where no page came; else count those that are not split as filtered."""
    run = phase.run
    if discovery is None or run.arguments.follow == "llms":
        return
    lists = [file for file in discovery.files if file.kind == "index" and file.is_called_full]
    whole = {text.url: text.why_whole for text in discovery.full_texts}
    whole |= dict.fromkeys((file.url for file in lists), "it lists pages")
    if whole and not run.limit.documents and not run.moved_pages.waiting:
        yield synthetic_request(phase.spider.parse_whole_full_texts)
        return
    split = {text.url for text in discovery.full_texts if text.is_usable}
    for url, why in whole.items():
        if url not in split:
            run.record_filtered(url, "full-text-unsplit", f"{why}; its pages are crawled")


async def verification(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield one request for each stored page that nothing led to this time."""
    run = phase.run
    note_outage(run)
    if not run.known.states:
        return
    run.progress.enter("verifying")
    reason = reason_not_to_delete(run)
    if reason is not None:
        phase.note(f"nothing is deleted: {reason}")
    elif run.arguments.mode != "refresh":
        pages = (state for state in unreached(run) if not state.is_part)
        stored = (phase.spider.requests.verification(state) for state in pages)
        async for request in phase.idle.in_portions(stored):
            yield request


async def moved_pages(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield the new pages, those that were another stored page with its address."""
    decide_parts(phase.run)
    keep_doubtful_pages(phase.run)
    note_outage(phase.run)
    if phase.run.moved_pages.waiting:
        yield synthetic_request(phase.spider.parse_moved)


async def tombstones(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield the tombstones of the stored pages that are gone, or those pages where none may be deleted."""
    run = phase.run
    run.progress.enter("finishing")
    if reason_not_to_delete(run) is not None:
        if run.known.states and exports_unreached(run):
            yield synthetic_request(phase.spider.parse_kept)
    elif run.known.outcomes:
        yield synthetic_request(phase.spider.parse_end)


ENDING: tuple[Callable[[Phase, Discovery | None], AsyncIterator[Request]], ...] = (
    undecided_pages,
    failed_pages,
    pages_without_markdown,
    suspect_answers,
    lagging_full_texts,
    whole_full_texts,
    verification,
    moved_pages,
    tombstones,
)
"""The phases in their order; the crawl is idle before and after each of them."""
