"""The second phase: full text, the start page and the listed pages, or the stored ones; links do the rest."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from llmsspider.crawl.full_text import find_lagging
from llmsspider.site.discovered import Seed
from llmsspider.web.markdown_forms import is_markdown_url
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.urls import host, identity, page_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request

    from llmsspider.crawl.phases import Phase
    from llmsspider.site.discovered import Discovery

SAMPLE = 8
"""Stored pages that are requested first where the start page failed."""

SEEDS_AT_ONCE = 20_000
"""How many listed pages are queued at a time."""

LISTED_AT_ONCE = 1000
"""Listed pages that are looked at before other tasks get their turn."""


async def seed_requests(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield the requests that the crawl begins with."""
    phase.run.progress.enter("crawling")
    if discovery is None:
        requests = _stored_or_failed(phase)
    elif phase.run.arguments.follow == "llms":
        requests = _llms_files(phase)
    else:
        requests = _site(phase, discovery)
    async for request in requests:
        yield request


async def _stored_or_failed(phase: Phase) -> AsyncIterator[Request]:
    """Yield the requests of a run for stored pages only (`mode=refresh`), or for those that failed last time."""
    phase.run.without_discovery()
    phase.run.expect_pages()
    make = phase.spider.requests
    requests = make.failed_before() if phase.run.arguments.retry else make.refresh()
    async for request in phase.idle.in_portions(requests):
        yield request


async def _llms_files(phase: Phase) -> AsyncIterator[Request]:
    yield phase.results(phase.spider.full_texts.llms_files())


async def _site(phase: Phase, discovery: Discovery) -> AsyncIterator[Request]:
    """Yield full text first: the pages that it holds are not fetched. Then the start page and the listed pages."""
    if any(full_text.is_usable for full_text in discovery.full_texts):
        await find_lagging(phase.run, phase.fetch, discovery)
        yield phase.results(phase.spider.full_texts.current())
        await phase.idle.wait_until_idle()
        _list_lagging(phase, discovery)
    for request in (*_named_markdown(phase, discovery), *_start_page(phase, discovery)):
        yield request
    async for request in _listed_pages(phase, discovery):
        yield request
    if discovery.start.error and phase.run.known.states:
        async for request in _stored_pages(phase):
            yield request


async def _listed_pages(phase: Phase, discovery: Discovery) -> AsyncIterator[Request]:
    """Yield a request for each seed; a site may list millions, so that there are never too many in the queue."""
    run = phase.run
    all_at_once = run.arguments.max_depth is not None  # depths are exact only in one go
    queued = 0
    for number, seed in enumerate(discovery.seeds):
        if number % LISTED_AT_ONCE == 0:
            await asyncio.sleep(0)
        if queued >= SEEDS_AT_ONCE and not all_at_once:
            await phase.idle.wait_until_queue_is_empty()
            queued = 0
        if run.limit.reached:
            _beyond_limit(phase, seed)
            continue
        request = phase.spider.requests.seed(seed)
        if request is not None:
            queued += 1
            yield request


async def _stored_pages(phase: Phase) -> AsyncIterator[Request]:
    """Yield requests for stored pages where the start page failed: a few, and the rest if the site answers."""
    run = phase.run
    phase.note(f"the start page failed: going over {len(run.known.states)} stored pages")
    requests = phase.spider.requests.refresh()
    for request in islice(requests, SAMPLE):
        yield request
    await phase.idle.wait_until_idle()
    if run.obtained == 0:
        phase.note("the first stored pages failed too")
        return
    async for request in phase.idle.in_portions(requests):
        yield request


def _list_lagging(phase: Phase, discovery: Discovery) -> None:
    """Make the pages of full-text files that lag seeds."""
    run = phase.run
    for full_text in discovery.full_texts:
        if full_text.is_usable and full_text.report and run.memory.lags(full_text.url):
            for url in full_text.report.urls:
                seed = Seed(url, "llms-full.txt")
                run.memory.lagging.pages.add(page_key(run.page_of(url)))
                run.site.enter(seed)
                discovery.seeds.append(seed)


def _beyond_limit(phase: Phase, seed: Seed) -> None:
    """Count a listed page that the limit filters."""
    run, verdict = phase.run, phase.run.limit.verdict
    page = run.page_of(seed.url)
    if not run.requested(page) and phase.spider.requests.admits(page, listed=run.bounds.is_listed(page)):
        run.coverage.incomplete(run.limit.why)
        run.record_filtered(page, verdict.reason, verdict.rule)


def _named_markdown(phase: Phase, discovery: Discovery) -> Iterator[Request]:
    """Yield one seed whose Markdown is named: its response shows the Markdown form of the start page's host."""
    run, start = phase.run, phase.run.page_of(discovery.start.final_url)
    for seed in discovery.seeds:
        page = run.page_of(seed.url)
        beside = is_markdown_url(seed.url) and host(page) == host(start) and identity(page) != identity(start)
        if beside and run.bounds.verdict(page, listed=run.bounds.is_listed(page)).allowed:
            request = phase.spider.requests.seed(seed)
            yield from (request,) if request is not None else ()
            return


def _start_page(phase: Phase, discovery: Discovery) -> Iterator[Request]:
    """Yield the request for the start page, which discovery has downloaded; what it failed with is counted."""
    run, start = phase.run, discovery.start
    if start.error:
        run.remember(page_key(start.final_url))
        if start.error in OUTAGES:
            run.coverage.failed_in_part("the start page failed")
        phase.spider.failures.of_start_page(start)
        return
    if phase.fetch.start_response is not None:
        run.prefetched.keep(start.final_url, phase.fetch.start_response)
        phase.fetch.start_response = None
    yield phase.spider.requests.start_page(start.final_url)
