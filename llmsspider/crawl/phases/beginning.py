"""The first phases: discovery through the crawl's own engine, then full text, the start page and the listed pages."""

from __future__ import annotations

import asyncio
import logging
from itertools import chain, islice
from typing import TYPE_CHECKING

from llmsspider.crawl.full_text import find_lagging
from llmsspider.crawl.pages import with_valid_urls
from llmsspider.errors import ConversionError
from llmsspider.items import Page, PageMeta, Section, content_hash
from llmsspider.site.discovered import Options, Seed
from llmsspider.site.discovery import discover
from llmsspider.site.providers import repository_at
from llmsspider.site.repository_listing import discover_repository
from llmsspider.web.addresses import same_site
from llmsspider.web.locales import start_in_language
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.page_forms import HTML_TYPES, MARKDOWN_TYPES, is_markdown_url
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import host, identity, page_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request

    from llmsspider.crawl.phases import Phase
    from llmsspider.site.discovered import Discovery, FetchResult

logger = logging.getLogger(__name__)

PLANNED_PAGES = 5
"""Maximum number of listed Markdown pages that a plan fetches."""

FILTERED_AT_ONCE = 1000
"""Listed URLs that are counted as filtered before other tasks get their turn."""


async def discover_site(phase: Phase) -> Discovery | None:
    """Discover the site, and fix the bounds of the crawl by what was found.

    Returns:
        What was found; None for a run that goes over stored pages only.
    """
    run, arguments = phase.run, phase.run.arguments
    if arguments.mode == "refresh" or arguments.retry:
        return None
    run.progress.enter("discovery")
    discovery, start_page = await _start_in_language(phase)
    discovery.start_url = run.memory.start_history.section_of(discovery)
    section, known = start_page.meta.section, run.memory.start_history.declared
    if section is None and known is not None:  # a wall in its place names none
        start_page.meta.section = Section(*known)
    run.memory.start_history = run.memory.start_history.after(discovery, section)
    run.discovered(discovery, start_page)
    start = identity(discovery.start.final_url)
    linked = filter(run.bounds.allowed, usable(start_page.follow))
    others = (url for url in chain((seed.url for seed in discovery.seeds), linked) if identity(url) != start)
    if discovery.full_texts or any(others):
        run.expect_pages()
    await _learn_soft_404(phase)
    await _record(phase, discovery)
    scope = run.bounds.scope
    if scope is not None and (discovery.seeds or not discovery.start.error):
        phase.note(scope.describe())
    if scope is not None and run.config.plan_only:
        from llmsspider.crawl.plan import make_plan  # noqa: PLC0415  # a crawl makes none

        await _sample_markdown(phase, discovery)
        run.plan = make_plan(run, run.memory.link_bases, discovery, scope, start_page)
    return discovery


async def _start_in_language(phase: Phase) -> tuple[Discovery, Page]:
    """Discover from the start page, or from its translation into the language of the argument `language`."""
    language = phase.run.arguments.language
    discovery, start_page = await _look(phase, phase.run.arguments.url or "")
    if language is None or language == "all":
        return discovery, start_page
    url = discovery.start.final_url
    target = start_in_language(url, language, start_page.meta.hreflang)
    if not target or not same_site(target, url) or identity(target) == identity(url):
        return discovery, start_page
    phase.note(f"language {language}: starting from {target}")
    return await _look(phase, target)


async def _look(phase: Phase, url: str) -> tuple[Discovery, Page]:
    arguments, config = phase.run.arguments, phase.run.config
    options = Options(
        llms_txt=arguments.llms_txt,
        link_depth=config.link_depth,
        full_text=config.full_text,
        optional=arguments.optional,
        use_sitemaps=arguments.follow != "llms",
        enabled=config.discovery_enabled,
    )
    phase.fetch.start_url = url
    repository = repository_at(url, config.repository_hosts) if config.discovery_enabled else None
    if repository is not None and not arguments.llms_txt:
        phase.fetch.api = repository.api
        phase.run.site.repository, discovery = await discover_repository(
            phase.fetch, repository, config.formats.extensions("listed"), note=phase.note
        )
        return discovery, Page("", [], [], PageMeta())
    discovery = await discover(
        phase.fetch, url, options, note=phase.note, expect_pages=phase.run.expect_pages
    )
    return discovery, await _scan(phase, discovery.start)


async def _scan(phase: Phase, answer: FetchResult) -> Page:
    """Return the links and metadata of the start page; nothing where it is no HTML or cannot be read."""
    if not answer.ok or answer.content_type not in HTML_TYPES:
        return Page("", [], [], PageMeta())
    readings = phase.run.readings
    known = readings.start_page(answer.body, answer.final_url)
    if known is not None:
        return known
    try:
        read = await phase.run.workers.read_metadata(answer.body, answer.final_url, None)
    except ConversionError:
        return Page("", [], [], PageMeta())
    page = with_valid_urls(read)
    readings.keep_start_page(page, answer.body, answer.final_url)
    return page


async def _learn_soft_404(phase: Phase) -> None:
    """Remember what a site that answers 200 to everything shows for files it does not have."""
    answer = phase.fetch.false_answer
    if answer is None:
        return
    try:
        page = await phase.run.workers.convert(answer.body, answer.final_url, None)
    except ConversionError:
        return
    if page.markdown:
        phase.run.site.soft404_hashes.add(content_hash(page.markdown))


async def _record(phase: Phase, discovery: Discovery) -> None:
    """Log what discovery warns of, and count what it filtered."""
    for warning in discovery.warnings:
        logger.warning("%(warning)s", {"warning": warning}, extra={"spider": phase.spider})
    for number, cut in enumerate(discovery.cut):
        if number % FILTERED_AT_ONCE == 0:
            await asyncio.sleep(0)
        phase.run.record_filtered(cut.url, cut.reason, cut.rule)
    for url in discovery.external:
        phase.run.record_filtered(url, "offsite", "an llms file on another site")


async def _sample_markdown(phase: Phase, discovery: Discovery) -> None:
    """Learn what the links of Markdown are relative to, for a plan; a crawl learns it from its pages."""
    run = phase.run
    for full_text in discovery.full_texts:
        if full_text.is_usable:
            await phase.spider.full_texts.sample(full_text)
    listed = (seed.url for seed in discovery.seeds if is_markdown_url(seed.url))
    for url in islice(listed, PLANNED_PAGES):
        answer = await phase.fetch(url)
        if answer.ok and answer.content_type in MARKDOWN_TYPES:
            draft = await run.workers.read_markdown(answer.text)
            run.memory.link_bases.look(run.page_of(url), answer.final_url, "markdown", draft.hrefs)
    run.memory.link_bases.conclude()


# --- seeds: full text, the start page and the listed pages, or the stored ones; links do the rest ---

SAMPLE = 8
"""Stored pages that are requested first where the start page failed."""

SEEDS_AT_ONCE = 20_000
"""How many listed pages are queued at a time."""

LISTED_AT_ONCE = 1000
"""Listed pages that are looked at before other tasks get their turn."""


async def seed_requests(phase: Phase, discovery: Discovery | None) -> AsyncIterator[Request]:
    """Yield the requests that the crawl begins with."""
    phase.run.progress.enter("crawling")
    if discovery is not None and phase.run.arguments.follow == "llms":
        yield phase.results(phase.spider.full_texts.llms_files())
        return
    async for request in _stored_or_failed(phase) if discovery is None else _site(phase, discovery):
        yield request


async def _stored_or_failed(phase: Phase) -> AsyncIterator[Request]:
    """Yield the requests of a run for stored pages only (`mode=refresh`), or for those that failed last time."""
    phase.run.without_discovery()
    phase.run.expect_pages()
    make = phase.spider.requests
    requests = make.failed_before() if phase.run.arguments.retry else make.refresh()
    async for request in phase.idle.in_portions(requests):
        yield request


async def _site(phase: Phase, discovery: Discovery) -> AsyncIterator[Request]:
    """Yield full text first: the pages that it holds are not fetched. Then the start page and the listed pages."""
    if any(full_text.is_usable for full_text in discovery.full_texts):
        run, memory = phase.run, phase.run.memory
        await find_lagging(run, memory.lagging, run.known.number, phase.fetch, discovery)
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
        page, full = run.page_of(seed.url), run.limit.refusal
        if run.limit.reached:
            is_new = not run.requested(page)
            if is_new and phase.spider.requests.admits(page, listed=run.bounds.is_listed(page)):
                run.coverage.incomplete(run.limit.why)
                run.record_filtered(page, *full)
        elif (request := phase.spider.requests.seed(seed)) is not None:
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
        if full_text.is_usable and full_text.report and full_text.url in run.memory.lagging.files:
            for url in full_text.report.urls:
                seed = Seed(url, "llms-full.txt")
                run.memory.lagging.pages.add(page_key(run.page_of(url)))
                run.site.enter(seed)
                discovery.seeds.append(seed)


def _named_markdown(phase: Phase, discovery: Discovery) -> Iterator[Request]:
    """Yield one seed whose Markdown is named: its response shows the Markdown form of the start page's host."""
    run, start = phase.run, phase.run.page_of(discovery.start.final_url)
    for seed in discovery.seeds:
        page = run.page_of(seed.url)
        beside = is_markdown_url(seed.url) and host(page) == host(start) and identity(page) != identity(start)
        if beside and run.bounds.refusal(page, listed=run.bounds.is_listed(page)) is None:
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
