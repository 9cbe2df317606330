"""What a phase of a crawl gets (`Phase`); the first ones: discovery, a sample, full text, start
page, listed pages.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider

from llmsspider.config.arguments import listed_urls
from llmsspider.crawler.callbacks.docs import DocsCallbacks
from llmsspider.crawler.full_text import FullTextFiles
from llmsspider.crawler.pages import PageResponse, refused_by_page, with_valid_urls
from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Config,
    ConversionPool,
    Coverage,
    DocsArguments,
    KnownPages,
    Learners,
    Ledger,
    Moves,
    Outputs,
    PageLimit,
    Progress,
    Readings,
    Records,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.plan import Planner
from llmsspider.crawler.requests import (
    HTML_ACCEPT,
    REDIRECTED,
    EngineFetch,
    RefusedRequest,
    download_sample,
    kind_of_exception,
    synthetic_request,
)
from llmsspider.crawler.run import Run
from llmsspider.errors import ConversionError
from llmsspider.items import Page, PageMeta, Section, content_hash
from llmsspider.site.discovered import Discovery, FetchResult, Options, Seed
from llmsspider.site.discovery import discover
from llmsspider.site.repositories import Address, discover_repository, repository_at
from llmsspider.store import PageState
from llmsspider.web.addresses import same_site
from llmsspider.web.credentials import Credentials
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.page_forms import (
    HTML_TYPES,
    is_markdown_url,
    page_candidates,
)
from llmsspider.web.trees import replaced, same_language, tree_of
from llmsspider.web.urls import host, identity, loose_key, page_key, usable, without_fragment

logger = logging.getLogger(__name__)

# URLs that are dealt with before other tasks get their turn; stored pages that are queued at a time
AT_ONCE = 1000
NAMED_BY_MARKDOWN = 2
"""So many addresses may be that of the page of a Markdown file whose name says it."""
FEW_LINKS = 5
"""So many links of a start page to its host show nothing of what its pages are called."""


class Phase(UsesRun):
    """The crawl that a phase belongs to, and how it waits for the engine: it is idle when a phase
    begins.
    """

    addresses: Addresses
    arguments: DocsArguments
    bounds: Bounds
    config: Config
    coverage: Coverage
    known: KnownPages
    learned: Learners
    ledger: Ledger
    limit: PageLimit
    memory: SourceMemory
    moves: Moves
    outputs: Outputs
    prefetched: dict[str, Any]
    progress: Progress
    readings: Readings
    records: Records
    report: Reporter
    sampled: dict[bytes, dict[str, str]]
    site: SiteKnowledge
    waiting: Waiting
    workers: ConversionPool

    def __init__(self, crawler: Crawler, spider: DocsCallbacks, run: Run, fetch: EngineFetch):
        super().__init__(run)
        self.crawler = crawler
        self.spider = spider
        self.run = run
        self.full_texts = FullTextFiles(run)
        self.fetch = fetch
        """The fetch of discovery; it keeps the start page's response and the answer for a file that
        is not there.
        """

    async def wait_until_idle(self, *, queue_only: bool = False) -> None:
        """Wait until nothing is queued, downloading or being parsed; with `queue_only` until
        nothing is queued.
        """
        engine = self.crawler.engine
        while engine is not None and (
            (engine.scheduler is not None and engine.scheduler.has_pending_requests())
            or (not queue_only and engine.downloader.active)
            or (not queue_only and not engine.scraper.slot.is_idle())  # type: ignore[union-attr]
        ):
            await self.crawler.signals.wait_for(signals.scheduler_empty)

    async def in_portions(self, requests: Iterator[Request]) -> AsyncIterator[Request]:
        """Yield requests, a portion whenever the last one has left the queue."""
        while portion := list(islice(requests, AT_ONCE)):
            for request in portion:
                yield request
            await self.wait_until_idle(queue_only=True)

    def results(self, results: Iterable[Any] | AsyncIterator[Any]) -> Request:
        """Return the request whose callback yields what the crawl knows without asking the site."""
        self.spider.settled.append(results)
        return synthetic_request(self.spider.parse_settled)


async def discover_site(phase: Phase) -> None:
    """Discover the site, and fix the bounds of the crawl by what was found; not if it is for stored
    pages only.
    """
    run = phase.run
    arguments = phase.arguments
    if arguments.mode == "refresh" or arguments.retry:
        return
    phase.progress.enter("discovery")
    discovery, start_page = await _look(phase, arguments.url or "")
    target = _in_wanted_language(phase, discovery, start_page)
    if target is not None:
        phase.report.note(f"language {arguments.language}: starting from {target}")
        discovery, start_page = await _look(phase, target)
    discovery.start_url = phase.learned.start_page.history.section_of(discovery)
    section = start_page.meta.section
    known = phase.learned.start_page.history.declared
    if section is None and known is not None:  # a wall in its place names none
        start_page.meta.section = Section(*known)
    phase.learned.start_page.learn(discovery, section)
    await _learn_page_form(phase, discovery, start_page)
    run.discovered(discovery, start_page)
    start = identity(discovery.start.final_url)
    linked = filter(phase.bounds.allowed, usable(start_page.follow))
    pages = chain((seed.url for seed in discovery.seeds), linked)
    if discovery.full_texts or any(identity(url) != start for url in pages):
        run.expect_pages()
    await _learn_soft_404(phase)
    await _report_discovery(phase, discovery)
    scope = phase.bounds.scope
    if scope is None:
        return
    if discovery.seeds or not discovery.start.error:
        phase.report.note(scope.describe())
    if phase.config.plan_only:
        run.plan = Planner(run).plan(discovery, scope, start_page, run.nights.plan())


def _in_wanted_language(phase: Phase, discovery: Discovery, start_page: Page) -> str | None:
    """Return where the documentation starts in the language that is asked for, None where that is
    the start page.
    """
    language = phase.arguments.language
    url = discovery.start.final_url
    if language is None or language == "all":
        return None
    target = start_in_language(url, language, start_page.meta.hreflang)
    is_other = target and same_site(target, url) and identity(target) != identity(url)
    return target if is_other else None


async def _report_discovery(phase: Phase, discovery: Discovery) -> None:
    """Say what discovery warns of, and count the URLs that it filtered."""
    for warning in discovery.warnings:
        logger.warning("%(warning)s", {"warning": warning}, extra={"spider": phase.spider})
    for number, cut in enumerate(discovery.cut):
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
        phase.report.filtered(cut.url, cut.reason, cut.rule)
    for url in discovery.external:
        phase.report.filtered(url, "offsite", "an llms file on another site")


async def _learn_page_form(phase: Phase, discovery: Discovery, start_page: Page) -> None:
    """Look for the page of one listed Markdown file in a first crawl where nothing else shows what
    the host calls its pages: not even links to some. Three requests at most.
    """
    is_unknown = not phase.known.states and phase.fetch.false_answer is None
    if not is_unknown or discovery.discovered_file_type != "llms.txt":
        return
    markdown_url = _unnamed_markdown([seed.url for seed in discovery.seeds], start_page)
    if markdown_url is None:
        return
    candidates = page_candidates(markdown_url)
    form_of = {page: form for form, page in candidates.items()}
    for url in sorted(candidates.values(), key=lambda url: url != candidates.get("bare")):
        answer = await phase.fetch(url, accept=HTML_ACCEPT)
        is_page = answer.ok and answer.content_type in HTML_TYPES
        named = form_of.get(without_fragment(answer.final_url))
        forms = phase.site.forms_of(markdown_url)
        if is_page and named is not None:
            forms.page_form = named
            return
        forms.no_pages.add(url)


def _unnamed_markdown(listed: list[str], start_page: Page) -> str | None:
    """Return the first listed Markdown file that leaves open what its page is called; None where a
    file or the start page shows how the host calls its pages.
    """
    # `x.html.md` and `x/index.md` name their pages, and nothing of others
    unnamed = (url for url in listed if len(page_candidates(url)) > NAMED_BY_MARKDOWN)
    markdown_url = next(unnamed, None)
    if markdown_url is None:
        return None
    shown = {loose_key(url) for url in (*listed, *start_page.follow) if not is_markdown_url(url)}
    if any(loose_key(url) in shown for url in listed if is_markdown_url(url)):
        return None
    own = host(markdown_url)
    return markdown_url if sum(host(url) == own for url in shown) <= FEW_LINKS else None


async def _learn_soft_404(phase: Phase) -> None:
    """Remember what a site that answers 200 to everything shows for files it does not have."""
    answer = phase.fetch.false_answer
    if answer is not None:
        with suppress(ConversionError):
            page = await phase.workers.convert(answer.body, answer.final_url, None)
            if page.markdown:
                phase.site.soft404_hashes.add(content_hash(page.markdown))


async def _look(phase: Phase, url: str) -> tuple[Discovery, Page]:
    """Discover from an address; return the links and metadata of its page too, none where it is no
    readable HTML.
    """
    arguments = phase.arguments
    config = phase.config
    phase.fetch.start_url = url
    if arguments.urls_file is not None:
        return await _listed_in_file(phase, url, arguments.urls_file), _empty_page()
    is_of_repositories = host(url).removeprefix("www.") in config.repository_hosts
    if is_of_repositories and config.discovery_enabled and not arguments.llms_txt:
        repository = repository_at(url, config.repository_hosts)
        if repository is not None:
            return await _in_repository(phase, repository), _empty_page()
    options = Options(
        llms_txt=arguments.llms_txt,
        link_depth=config.link_depth,
        max_linked_files=config.max_linked_files,
        full_text=config.full_text,
        optional=arguments.optional,
        use_sitemaps=arguments.follow != "llms",
        enabled=config.discovery_enabled,
    )
    discovery = await discover(
        phase.fetch,
        url,
        options,
        note=phase.report.note,
        expect_pages=phase.run.expect_pages,
        witnessed=phase.fetch.witnessed if phase.ledger.histories else None,
    )
    return discovery, await _read_start(phase, discovery.start)


def _empty_page() -> Page:
    return Page("", [], [], PageMeta())


async def _listed_in_file(phase: Phase, url: str, file: str) -> Discovery:
    """Return the pages that a file of the user's lists, in place of discovery."""
    named = listed_urls(file)
    start = await phase.fetch(url)
    seeds = [Seed(one, "list") for one in named if identity(one) != identity(url)]
    is_listed = len(seeds) < len(named)
    discovery = Discovery(start, start.section_url, start_listed=is_listed, seeds=seeds)
    discovery.discovered_file = file
    discovery.discovered_file_type = "list"
    return discovery


async def _in_repository(phase: Phase, address: Address) -> Discovery:
    """Return the files of a repository, in place of discovery."""
    phase.fetch.api = address.project
    listed = phase.config.formats.extensions("listed")
    given = Credentials.from_setting(phase.crawler.settings.get("LLMS_HTTP_AUTH"))
    headers = given.with_tokens(os.environ).headers_for(address.project)
    by_api = address.kind == "gitlab" and bool(headers)
    found = await discover_repository(phase.fetch, address, listed, phase.report.note, by_api)
    phase.site.file_sites.repository, discovery = found
    return discovery


async def _read_start(phase: Phase, answer: FetchResult) -> Page:
    """Return the links and metadata of a start page, as an earlier run read it where it is as it
    was; none where it is no readable HTML.
    """
    if not answer.ok or answer.content_type not in HTML_TYPES:
        return _empty_page()
    page = phase.readings.start_page(answer.body, answer.final_url)
    if page is not None:
        return page
    try:
        read = await phase.workers.read_metadata(answer.body, answer.final_url, None)
    except ConversionError:
        return _empty_page()
    page = with_valid_urls(read)
    phase.readings.keep_start_page(page, answer.body, answer.final_url)
    return page


# --- seeds: full text, the start page and the listed pages, or the stored ones; links do the rest
# ---

SAMPLE = 8  # stored pages that are requested first where the start page failed
SEEDS_AT_ONCE = 20_000  # how many listed pages are queued at a time


async def seed_requests(phase: Phase) -> AsyncIterator[Request]:
    """Yield the requests that the crawl begins with: full text first, then the start page and the
    listed pages.

    Without discovery (`mode=refresh`, `retry`) they are for stored pages only, or for those that
    failed last time.
    """
    run = phase.run
    make = phase.spider.requests
    discovery = phase.site.discovery
    phase.progress.enter("crawling")
    if discovery is None:
        run.without_discovery()
        run.expect_pages()
        requests = make.failed_before() if phase.arguments.retry else make.refresh()
        async for request in phase.in_portions(requests):
            yield request
        return
    _refuse_mistyped(phase, discovery)
    if phase.arguments.follow == "llms":
        yield phase.results(phase.spider.full_texts.whole())
        return
    if await _judges_files(phase, discovery):
        yield phase.results(phase.spider.full_texts.pages())
        await phase.wait_until_idle()
        _crawl_lagging(phase, discovery)
    # before the first answer changes what is known
    for request in list(_first_pages(phase, discovery)):
        yield request
    async for request in _listed_pages(phase, discovery):
        yield request
    if discovery.start.error and phase.known.states:
        async for request in _stored_pages(phase):
            yield request


def _crawl_lagging(phase: Phase, discovery: Discovery) -> None:
    """Make the pages of full-text files that are not believed seeds."""
    for full_text in discovery.full_texts:
        is_html = phase.site.judged.of("full text", full_text.url).is_html
        if full_text.is_usable and full_text.report and is_html:
            for url in full_text.report.urls:
                seed = Seed(url, "llms-full.txt")
                phase.memory.lagging.add(page_key(phase.addresses.page_of(url)))
                phase.site.enter(seed)
                discovery.seeds.append(seed)


async def _judges_files(phase: Phase, discovery: Discovery) -> bool:
    """Judge full-text files, or else the Markdown of stored pages; return whether there is full
    text.
    """
    await _leave_out_misnamed(phase, discovery)
    if any(full_text.is_usable for full_text in discovery.full_texts):
        await phase.full_texts.judge(phase.spider.reader.compared, discovery)
        return True
    if await phase.spider.reader.judge_again():
        phase.fetch.start_response = None  # it came in the form that was believed
    return False


async def _leave_out_misnamed(phase: Phase, discovery: Discovery) -> None:
    """Take full-text files with a wrong base as files that could not be read."""
    misnamed = await phase.full_texts.misnamed(phase.fetch, discovery)
    for full_text in discovery.full_texts:
        why = misnamed.get(full_text.url)
        if why is not None and full_text.report is not None:
            full_text.report = replace(full_text.report, rule=None, reason=why)
            phase.report.note(f"{full_text.url} is not read: {why}")
    discovery.files = [file for file in discovery.files if file.url not in misnamed]
    phase.memory.unreadable(misnamed)


def _refuse_mistyped(phase: Phase, discovery: Discovery) -> None:
    """Raise `CloseSpider` where the start page of a new source is not found, and the site names
    nothing below it.
    """
    start = discovery.start
    if (
        start.error != "not_found"
        or phase.known.states
        or phase.arguments.llms_txt
        or phase.arguments.urls_file
    ):
        return
    reports = (full_text.report for full_text in discovery.full_texts)
    named = chain(
        (seed.url for seed in discovery.seeds), *(report.urls for report in reports if report)
    )
    own = f"{identity(start.url).rstrip('/')}/"
    if not any(url.startswith(own) for url in chain(named, [discovery.discovered_file or ""])):
        phase.report.failed(start.url, "not_found", start.message or "", start.status)
        raise CloseSpider("start_failed")


async def _listed_pages(phase: Phase, discovery: Discovery) -> AsyncIterator[Request]:
    """Yield a request for each seed; a site may list millions, so that there are never too many in
    the queue.
    """
    all_at_once = phase.arguments.max_depth is not None  # depths are exact only in one go
    queued = 0
    for number, seed in enumerate(discovery.seeds):
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
        if queued >= SEEDS_AT_ONCE and not all_at_once:
            await phase.wait_until_idle(queue_only=True)
            queued = 0
        page = phase.addresses.page_of(seed.url)
        full = phase.limit.refusal
        if phase.limit.reached:
            is_new = not phase.addresses.requested(page)
            if is_new and phase.spider.requests.admits(page):
                phase.coverage.incomplete(phase.limit.why)
                phase.report.filtered(page, *full)
        elif (request := phase.spider.requests.seed(seed)) is not None:
            queued += 1
            yield request


async def _stored_pages(phase: Phase) -> AsyncIterator[Request]:
    """Yield requests for stored pages where the start page failed: a few, and the rest if the site
    answers.
    """
    phase.report.note(f"the start page failed: going over {len(phase.known.states)} stored pages")
    requests = phase.spider.requests.refresh()
    for request in islice(requests, SAMPLE):
        yield request
    await phase.wait_until_idle()
    if phase.run.obtained == 0:
        phase.report.note("the first stored pages failed too")
        return
    async for request in phase.in_portions(requests):
        yield request


def _first_pages(phase: Phase, discovery: Discovery) -> Iterator[Request]:
    """Yield one seed whose Markdown is named, which shows the form of the start page's host, and
    the start page.
    """
    start = discovery.start
    named = _named_beside(phase, discovery)
    if named is not None and (seeded := phase.spider.requests.seed(named)) is not None:
        yield seeded
    if start.error:
        key = page_key(start.final_url)
        phase.addresses.requested_pages.add(key)
        if start.error in OUTAGES:
            phase.coverage.outage = "the start page failed"
        phase.report.failed(start.url, start.error, start.message or "", start.status or None)
        # its stored links are followed with those of the other stored pages
        if start.error == "not_found":
            phase.known.record_outcome(key, "gone", "not-found")
        else:
            phase.known.record_outcome(key, "failed")
        return
    request = phase.spider.requests.start_page(start.final_url)
    if phase.fetch.start_response is not None:
        answered = phase.fetch.start_response.meta
        request.meta.update({name: answered[name] for name in REDIRECTED if name in answered})
        phase.prefetched[identity(start.final_url)] = phase.fetch.start_response
        phase.fetch.start_response = None
    yield request


def _named_beside(phase: Phase, discovery: Discovery) -> Seed | None:
    """Return the first seed in scope that is the Markdown of another page of the start page's host."""
    first = phase.addresses.page_of(discovery.start.final_url)
    for seed in filter(lambda seed: is_markdown_url(seed.url), discovery.seeds):
        page = phase.addresses.page_of(seed.url)
        is_beside = host(page) == host(first) and identity(page) != identity(first)
        if is_beside and phase.bounds.allowed(page):
            return seed
    return None


def start_in_language(start_url: str, language: str, translations: Mapping[str, str]) -> str | None:
    """Return where the documentation starts in a language: by hreflang, else the same path in its
    tree; or None.
    """
    for tag, url in translations.items():
        if same_language(language, tag):
            return url
    home = tree_of(start_url).get("language")
    if home is None or same_language(language, home):
        return None
    return replaced(start_url, home, language)


# --- a sample of the stored pages, before the first page: whether they are as the witnesses of the
# site say ---


async def leave_out_pages(phase: Phase) -> None:
    """Decide which stored pages are not requested, if the pages of a sample are as their witness
    says.
    """
    ledger = phase.ledger
    night = phase.run.nights.plan()
    if night is None or night.why_all is not None:
        return
    sample = [key for key, why in night.why.items() if why == "sampled"]
    states = phase.known.states
    found = await asyncio.gather(*(_is_as_stored(phase, states[key]) for key in sample))
    surprises = [
        states[key].url for key, is_same in zip(sample, found, strict=True) if is_same is False
    ]
    if surprises or 2 * found.count(None) > len(found):
        what = (
            f"{surprises[0]} changed, and {night.by} did not name it"
            if surprises
            else "they failed"
        )
        phase.report.note(f"stored pages were sampled: {what}; all pages are requested")
        ledger.give_up()
    else:
        for learner in (phase.learned.redirects, phase.learned.dead_links):
            learner.asked_again = phase.config.revisit
        phase.report.note(
            f"{len(ledger.unasked)} pages are as {night.by} says: they are not requested"
        )


async def _is_as_stored(phase: Phase, state: PageState) -> bool | None:
    """Request a stored page as a sample, without validators; say whether it is the stored one, None
    where it failed.
    """
    url = state.validators_url
    try:
        answer = await download_sample(phase.crawler, url, state.url, state.accept)
        kind = answer.error_kind
        if kind is not None or answer.fetched_url != url:
            return None if kind not in {None, "not_found"} else False
        is_same = await _says_the_same(phase, state, answer)
    except Exception as error:  # whatever kept it from being read
        logger.debug("No sample of %(url)s: %(error)r", {"url": url, "error": error})
        is_other = isinstance(error, RefusedRequest) or kind_of_exception(error) == "parse"
        return False if is_other else None
    if is_same:  # the answer stands for that to its own request
        phase.sampled[state.key] = {
            name: answer.headers[name]
            for name in ("etag", "last-modified")
            if name in answer.headers
        }
    return is_same


async def _says_the_same(phase: Phase, state: PageState, answer: PageResponse) -> bool:
    """Say whether the answer of a sample is the stored page; raises what reading it raises."""
    if phase.known.same_body(state.key, answer.fetched_url, answer.raw_hash):
        return True
    again = phase.spider.requests.stored(state)
    answer, page = await phase.spider.reader.read(again, answer, listed=True)
    if page is None or refused_by_page(page.page.meta, answer, phase.config) is not None:
        return page is None
    record = phase.records.of_response(answer, page, depth=state.depth, by="link")
    phase.spider.documents.retitle(record, is_start=False)
    return phase.known.has_text(record)
