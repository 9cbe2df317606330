"""The first phase: what the site says of its pages, through the crawl's own engine."""

from __future__ import annotations

import asyncio
import logging
from itertools import chain, islice
from typing import TYPE_CHECKING

from llmsspider.crawl.pages import with_valid_urls
from llmsspider.errors import ConversionError
from llmsspider.items import Page, PageMeta, Section, content_hash
from llmsspider.site.discovered import Options
from llmsspider.site.discovery import discover
from llmsspider.site.repositories import repository_at
from llmsspider.site.repository_listing import discover_repository
from llmsspider.web.addresses import same_site
from llmsspider.web.locales import start_in_language
from llmsspider.web.markdown_forms import is_markdown_url
from llmsspider.web.media_types import HTML_TYPES, MARKDOWN_TYPES
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import identity

if TYPE_CHECKING:
    from llmsspider.crawl.phases import Phase
    from llmsspider.site.discovered import Discovery, FetchResult
    from llmsspider.web.scope import Scope

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
    if _leads_on(phase, discovery, start_page):
        run.expect_pages()
    await _learn_soft_404(phase)
    await _record(phase, discovery)
    if run.bounds.scope is not None:
        await _explain(phase, discovery, start_page, run.bounds.scope)
    return discovery


def _leads_on(phase: Phase, discovery: Discovery, start_page: Page) -> bool:
    """Return whether the crawl will have more pages than the start page."""
    urls = chain(
        (seed.url for seed in discovery.seeds), filter(phase.run.bounds.allowed, usable(start_page.follow))
    )
    start = identity(discovery.start.final_url)
    return bool(discovery.full_texts) or any(identity(url) != start for url in urls)


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
        max_linked_files=config.max_linked_files,
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


async def _explain(phase: Phase, discovery: Discovery, start_page: Page, scope: Scope) -> None:
    """Log the scope; for `scrapy plan`, make the plan."""
    if discovery.seeds or not discovery.start.error:
        phase.note(scope.describe())
    if phase.run.config.plan_only:
        from llmsspider.crawl.plan import make_plan  # noqa: PLC0415  # a crawl makes none

        await _sample_markdown(phase, discovery)
        phase.run.plan = make_plan(phase.run, discovery, scope, start_page)


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
