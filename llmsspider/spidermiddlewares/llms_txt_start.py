"""The start of the crawl: discovery first, then its seeds, then what only the end of the crawl can tell."""

from __future__ import annotations

import asyncio
import logging
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, NotConfigured

from llmsspider.arguments import NO_URL, NO_URL_GIVEN
from llmsspider.crawl import jobs
from llmsspider.crawl.deferred import AT_ONCE, MAX_SECS
from llmsspider.crawl.deletions import (
    exports_unreached,
    note_outage,
    reason_not_to_delete,
    settle_doubts,
    unreached,
)
from llmsspider.crawl.full_text_lag import FullTextSamples
from llmsspider.crawl.pages import checked
from llmsspider.crawl.plan import make_plan
from llmsspider.crawl.progress import replay_command
from llmsspider.discovery import Options, Seed, discover
from llmsspider.distributed.outcomes import SharedDiscovery, ended_together
from llmsspider.errors import ConversionError, LlmsspiderError, StoreError
from llmsspider.items import Page, PageMeta, Section, content_hash
from llmsspider.scheduling.downloader import EngineFetch
from llmsspider.spiderrun import run_of
from llmsspider.web.hosts import same_site
from llmsspider.web.locales import start_in_language
from llmsspider.web.markdown_forms import is_markdown_url
from llmsspider.web.media_types import HTML_TYPES, MARKDOWN_TYPES
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.urls import host, identity, page_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.discovery import Discovery, FetchResult
    from llmsspider.distributed.worker_group import WorkerGroup
    from llmsspider.spiders.docs import DocsSpider

logger = logging.getLogger(__name__)

SAMPLE = 8
"""Stored pages that are asked for first where the start page failed."""

PORTION = 1000
"""How many requests for stored pages are made at a time."""

SEEDS_AT_ONCE = 20_000
"""How many listed pages are queued at a time."""


PLANNED_PAGES = 5
"""Listed Markdown pages that a plan looks at."""


class LlmsTxtStart:
    """Probe llms.txt before the first page and make its entries the seeds of the crawl.

    `process_start` stays open for the whole run and works in phases: discovery; seeds, all after the scope is
    fixed; when those are drained the pages that the network lost, once more, and those that came as HTML before the
    URL of their Markdown was known; then the verification of stored pages that were not reached; when drained again
    their tombstones. The requests of discovery pass every downloader middleware, but neither scheduler nor
    dupefilter. `LLMS_DISCOVERY_ENABLED=False` fetches the start page and nothing else first.
    """

    def __init__(self, crawler: Crawler):
        self.crawler = crawler
        self.spider: DocsSpider = crawler.spider  # type: ignore[assignment]
        self.run: Run = self.spider.run
        self.fetch = EngineFetch(crawler, self.run)
        self.samples = FullTextSamples(self.run, self.fetch)
        self._page = Page("", [], [], PageMeta())

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LlmsTxtStart:
        """Take the run of the spider; a spider without phases starts as it does anywhere."""
        if not run_of(crawler).discovers:
            raise NotConfigured
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the requests of every phase; raises `CloseSpider` when the run came to nothing, or the store failed.

        Where the spider's own `start` yields any, those are all.
        """
        own = await anext(start, None)
        if own is not None:
            self.run.begin_without_store(getattr(own, "url", ""))
            yield own
            async for request in start:
                yield request
            return
        if self.run.arguments.url == NO_URL:
            logger.error(NO_URL_GIVEN, extra={"spider": self.spider})
            raise CloseSpider("start_failed")
        try:
            async for request in self._phases():
                yield request
        except StoreError as error:
            logger.error("The crawl ends: %(error)s", {"error": error}, extra={"spider": self.spider})
            raise CloseSpider("store_failed") from error

    async def _phases(self) -> AsyncIterator[Any]:
        try:
            self.run.open()
            jobs.mark(self.crawler.settings.get("JOBDIR"), self.run.id, None)
            if self.run.worker_group is not None:
                await self.run.worker_group.join()
            self.run.retries.enabled = self._may_ask_again()
            alone = self.run.worker_group is None and not self.crawler.settings.get("JOBDIR")
            self.run.suspects.enabled = self.run.worker_group is None
            self.run.pending_pages.enabled = alone
            self.run.moved_pages.enabled = alone and bool(self.run.known.states)
            discovery = (
                await self._found(self.run.worker_group) if self.run.worker_group else await self._discover()
            )
        except LlmsspiderError as error:
            logger.error("%(error)s", {"error": error}, extra={"spider": self.spider})
            self.run.fault = str(error)
            raise CloseSpider("start_failed") from error
        if self.run.config.plan_only:
            raise CloseSpider("planned")
        self._say_undelivered()
        if self.run.worker_group is None or self.run.worker_group.leads:
            async for request in self._seeds(discovery):
                yield request
        elif discovery is None:
            self.run.without_discovery()
        if self.run.worker_group is not None:
            await ended_together(self.crawler, self.run, self.run.worker_group)
            if not self.run.worker_group.leads:
                return
        async for request in self._end(discovery):
            yield request
        self._conclude(discovery)

    async def _end(self, discovery: Discovery | None) -> AsyncIterator[Request]:
        """Yield what follows the crawl, each when the one before is done."""
        await self._drained()
        while self.run.pending_pages.undecided:
            for request in self.spider.decided_requests():
                yield request
            await self._drained()
        self.run.judge_limit()
        self.run.count_dead_links()
        async for request in self._asked_again():
            yield request
        while self.run.suspects.waiting:
            yield self.spider.synthetic_request(self.spider.parse_suspects)
            await self._drained()
        if self.run.lagging.missing:
            yield self.spider.synthetic_request(self.spider.parse_lagging_full_texts)
            await self._drained()
        for request in self._whole_full_texts(discovery):
            yield request
        await self._drained()
        note_outage(self.run)
        async for request in self._portions(self._verification()):
            yield request
        await self._drained()
        settle_doubts(self.run)
        note_outage(self.run)
        if self.run.moved_pages.waiting:
            yield self.spider.synthetic_request(self.spider.parse_moved)
            await self._drained()
        for request in self._tombstones():
            yield request
        await self._drained()

    async def _found(self, group: WorkerGroup) -> Discovery | None:
        """What the first of several workers found; it alone looks for it."""
        data = await group.found()
        if data is None:
            discovery = await self._discover()
            group.publish(self._as_found(discovery).to_json() if discovery else b"null")
            return discovery
        if data == b"null":
            return None
        found = SharedDiscovery.from_json(data)
        self.run.site.remember(found.forms)
        self.run.site.soft404_hashes.update(found.soft404_hashes)
        self.run.discovered(found.discovery, found.start_page)
        self.run.progress.enter("crawling")
        self._note(f"joined the crawl of {self.run.source} that another worker began")
        return found.discovery

    def _as_found(self, discovery: Discovery) -> SharedDiscovery:
        site, meta = self.run.site, self._page.meta
        return SharedDiscovery(
            discovery,
            self._page.follow,
            dict(meta.hreflang),
            site.learned(),
            sorted(site.soft404_hashes),
            meta.section,
        )

    def _say_undelivered(self) -> None:
        since = self.run.undelivered_since
        if since is not None:
            logger.warning(
                "an earlier run stored changes that it did not deliver; `%(command)s` gives them",
                {"command": replay_command(self.run.source, since)},
                extra={"spider": self.spider},
            )

    # --- phase 1: discovery ---

    async def _discover(self) -> Discovery | None:
        """Discover; None for a run that goes over stored pages only."""
        run, arguments = self.run, self.run.arguments
        if arguments.mode == "refresh" or arguments.retry:
            return None
        run.progress.enter("discovery")
        options = Options(
            llms_txt=arguments.llms_txt,
            link_depth=run.config.link_depth,
            max_linked_files=run.config.max_linked_files,
            full_text=run.config.full_text,
            optional=arguments.optional,
            use_sitemaps=arguments.follow != "llms",
            enabled=run.config.discovery_enabled,
        )
        discovery, start_page = await self._look(arguments.url or "", options)
        translated = self._translated(discovery.start.final_url, start_page)
        if translated is not None:
            self._note(f"language {arguments.language}: starting from {translated}")
            discovery, start_page = await self._look(translated, options)
        self._page = start_page
        discovery.start_url = run.start_history.section_of(discovery)
        told, known = start_page.meta.section, run.start_history.told
        if told is None and known is not None:  # a wall in its place tells of none
            start_page.meta.section = Section(*known)
        run.start_history = run.start_history.after(discovery, told, self.fetch.led_to)
        run.discovered(discovery, start_page)
        await self._learn_soft_404()
        for warning in discovery.warnings:
            logger.warning("%(warning)s", {"warning": warning}, extra={"spider": self.spider})
        for number, cut in enumerate(discovery.cut):
            if number % PORTION == 0:
                await asyncio.sleep(0)
            run.record_filtered(cut.url, cut.reason, cut.rule)
        for url in discovery.external:
            run.record_filtered(url, "offsite", "an llms file on another site")
        if run.bounds.scope is not None:
            if discovery.seeds or not discovery.start.error:
                self._note(run.bounds.scope.describe())
            if run.config.plan_only:
                await self._sample_markdown(discovery)
                run.plan = make_plan(run, discovery, run.bounds.scope, start_page)
        return discovery

    async def _look(self, url: str, options: Options) -> tuple[Discovery, Page]:
        self.fetch.start_url = url
        discovery = await discover(self.fetch, url, options, note=self._note)
        return discovery, await self._scan(discovery.start)

    def _translated(self, url: str, start_page: Page) -> str | None:
        language = self.run.arguments.language
        if language is None or language == "all":
            return None
        target = start_in_language(url, language, start_page.meta.hreflang)
        return target if target and same_site(target, url) and identity(target) != identity(url) else None

    async def _scan(self, answer: FetchResult) -> Page:
        if not answer.ok or answer.content_type not in HTML_TYPES:
            return Page("", [], [], PageMeta())
        try:
            return checked(await self.run.workers.scan(answer.body, answer.final_url, None))
        except ConversionError:
            return Page("", [], [], PageMeta())

    async def _sample_markdown(self, discovery: Discovery) -> None:
        """Learn, for a plan, what the links of Markdown are relative to; a crawl learns it on the way."""
        run = self.run
        for full_text in discovery.full_texts:
            if full_text.is_usable:
                await self.spider.sample_full_text(full_text)
        listed = (seed.url for seed in discovery.seeds if is_markdown_url(seed.url))
        for url in islice(listed, PLANNED_PAGES):
            answer = await self.fetch(url)
            if answer.ok and answer.content_type in MARKDOWN_TYPES:
                draft = await run.workers.read_markdown(answer.text)
                run.link_bases.look(run.page_of(url), answer.final_url, "markdown", draft.hrefs)
        run.link_bases.conclude()

    async def _learn_soft_404(self) -> None:
        """Remember what a site that answers 200 to everything shows for files it does not have."""
        answer = self.fetch.false_answer
        if answer is None:
            return
        try:
            page = await self.run.workers.convert(answer.body, answer.final_url, None)
        except ConversionError:
            return
        if page.markdown:
            self.run.site.soft404_hashes.add(content_hash(page.markdown))

    # --- phase 2: seeds ---

    async def _seeds(self, discovery: Discovery | None) -> AsyncIterator[Request]:
        run = self.run
        run.progress.enter("crawling")
        if discovery is None:
            run.without_discovery()
            retry = run.arguments.retry
            async for request in self._portions(
                self.spider.retry_requests() if retry else self.spider.refresh_requests()
            ):
                yield request
            return
        if run.arguments.follow == "llms":
            yield self.spider.synthetic_request(self.spider.parse_llms_files)
            return
        if any(full_text.is_usable for full_text in discovery.full_texts):
            await self.samples.look(discovery)
            yield self.spider.synthetic_request(self.spider.parse_full_texts)
            await self._drained()  # the pages it holds are not fetched
            self._list_lagging(discovery)
        for request in (*self._named_markdown(discovery), *self._start_page(discovery)):
            yield request
        async for request in self._listed_pages(discovery):
            yield request

    async def _listed_pages(self, discovery: Discovery) -> AsyncIterator[Request]:
        """Yield a request for each seed; a site may list millions, so that there are never too many in the queue."""
        run = self.run
        at_once = (
            None if run.arguments.max_depth is not None else SEEDS_AT_ONCE
        )  # depths are exact only in one go
        queued = 0
        for number, seed in enumerate(discovery.seeds):
            if number % PORTION == 0:
                await asyncio.sleep(0)
            if at_once is not None and queued >= at_once:
                await self._queue_emptied()
                queued = 0
            if run.limit.reached:
                self._beyond_limit(seed)
                continue
            wanted = self.spider.seed_request(seed)
            if wanted is not None:
                queued += 1
                yield wanted
        if discovery.start.error and run.known.states:
            async for request in self._stored_pages():
                yield request

    async def _stored_pages(self) -> AsyncIterator[Request]:
        """Yield the stored pages where the start page failed: a few, and the rest if the site answers at all."""
        run = self.run
        self._note(f"the start page failed: going over {len(run.known.states)} stored pages")
        requests = self.spider.refresh_requests()
        for request in islice(requests, SAMPLE):
            yield request
        await self._drained()
        if run.obtained == 0:
            self._note("the first stored pages failed too")
            return
        async for request in self._portions(requests):
            yield request

    def _list_lagging(self, discovery: Discovery) -> None:
        """Make the pages of full-text files that lag seeds."""
        run = self.run
        for full_text in discovery.full_texts:
            if full_text.is_usable and full_text.report and run.lags(full_text.url):
                for url in full_text.report.urls:
                    seed = Seed(url, "llms-full.txt")
                    run.lagging.pages.add(page_key(run.page_of(url)))
                    run.site.enter(seed)
                    discovery.seeds.append(seed)

    def _beyond_limit(self, seed: Seed) -> None:
        run, verdict = self.run, self.run.limit.verdict
        page = run.page_of(seed.url)
        if not run.requested(page) and self.spider.admits(page, listed=run.bounds.is_listed(page)):
            run.incomplete(run.limit.why)
            run.record_filtered(page, verdict.reason, verdict.rule)

    def _named_markdown(self, discovery: Discovery) -> Iterator[Request]:
        """Yield one seed whose Markdown is named: what comes of it says how to ask for that of the start page."""
        run, start = self.run, self.run.page_of(discovery.start.final_url)
        for seed in discovery.seeds:
            page = run.page_of(seed.url)
            beside = (
                is_markdown_url(seed.url) and host(page) == host(start) and identity(page) != identity(start)
            )
            if beside and run.bounds.verdict(page, listed=run.bounds.is_listed(page)).allowed:
                request = self.spider.seed_request(seed)
                yield from (request,) if request is not None else ()
                return

    def _start_page(self, discovery: Discovery) -> Iterator[Request]:
        run, start = self.run, discovery.start
        if start.error:
            run.remember(page_key(start.final_url))
            if start.error in OUTAGES:
                run.failed_in_part("the start page failed")
            yield from self.spider.start_failed(start)
            return
        if self.fetch.start_response is not None:
            run.prefetch(start.final_url, self.fetch.start_response)
            self.fetch.start_response = None
        yield self.spider.start_request(start.final_url)

    def _may_ask_again(self) -> bool:
        settings, group = self.crawler.settings, self.run.worker_group
        retries = settings.getbool("RETRY_ENABLED") and settings.getint("RETRY_TIMES") > 0
        return retries and (group is None or group.leads)

    async def _asked_again(self) -> AsyncIterator[Request]:
        async for request in self._lost_pages():
            yield request
        async for request in self._held_pages():
            yield request

    async def _lost_pages(self) -> AsyncIterator[Request]:
        """Yield the pages that the network lost once more, a few at a time."""
        second_chance, end = self.run.retries, monotonic() + MAX_SECS
        if second_chance.waiting:
            self._note(f"asking once more for {len(second_chance.waiting)} pages that failed")
        while second_chance.waiting and monotonic() < end:
            for lost in second_chance.take(AT_ONCE):
                self.run.count("second-chance")
                yield lost.request
            await self._drained()
        if second_chance.waiting:
            yield self.spider.synthetic_request(self.spider.parse_lost)
            await self._drained()

    async def _held_pages(self) -> AsyncIterator[Request]:
        """Ask the pages that came as HTML before their host's forms were known for their Markdown, and yield them."""
        held = self.run.pending_pages
        held.enabled = False
        if not held.waiting:
            return
        requests = list(self.spider.held_requests())
        if requests:
            self._note(
                f"asking {len(requests)} pages for their Markdown, whose URL was not known when they came"
            )
            self.run.count("markdown/asked-again", len(requests))
        for request in requests:
            yield request
        await self._drained()
        yield self.spider.synthetic_request(self.spider.parse_held)
        await self._drained()

    # --- phases 3 and 4: what the end can tell ---

    def _whole_full_texts(self, discovery: Discovery | None) -> Iterator[Request]:
        """Yield the request for full-text files as documents where no page could be had; else say what is left out."""
        run = self.run
        if discovery is None or run.arguments.follow == "llms":
            return
        lists = [file for file in discovery.files if file.kind == "index" and file.is_called_full]
        whole = {text.url: text.why_whole for text in discovery.full_texts}
        whole |= dict.fromkeys((file.url for file in lists), "it lists pages")
        if whole and not run.limit.documents:
            yield self.spider.synthetic_request(self.spider.parse_whole_full_texts)
            return
        split = {text.url for text in discovery.full_texts if text.is_usable}
        for url, why in whole.items():
            if url not in split:
                run.record_filtered(url, "full-text-unsplit", f"{why}; its pages are crawled")

    def _verification(self) -> Iterator[Request]:
        """Yield one request for each stored page that nothing led to this time."""
        run = self.run
        if not run.known.states:
            return
        run.progress.enter("verifying")
        reason = reason_not_to_delete(run)
        if reason is not None:
            self._note(f"nothing is deleted: {reason}")
            return
        if run.arguments.mode == "refresh":
            return
        for state in unreached(run):
            yield self.spider.verification_request(state)

    def _tombstones(self) -> Iterator[Request]:
        run = self.run
        run.progress.enter("finishing")
        if reason_not_to_delete(run) is not None:
            if run.known.states and exports_unreached(run):
                yield self.spider.synthetic_request(self.spider.parse_kept)
        elif run.known.fates:
            yield self.spider.synthetic_request(self.spider.parse_end)

    # --- the end ---

    async def _portions(self, requests: Iterator[Request]) -> AsyncIterator[Request]:
        """Yield requests, a portion whenever the last one has left the queue."""
        while portion := list(islice(requests, PORTION)):
            for request in portion:
                yield request
            await self._queue_emptied()

    async def _queue_emptied(self) -> None:
        """Wait until nothing is queued."""
        engine = self.crawler.engine
        while engine is not None and engine.scheduler is not None and engine.scheduler.has_pending_requests():
            await self.crawler.signals.wait_for(signals.scheduler_empty)

    async def _drained(self) -> None:
        """Wait until nothing is queued, downloading or being parsed."""
        engine = self.crawler.engine
        while engine is not None and (
            engine.downloader.active
            or not engine.scraper.slot.is_idle()  # type: ignore[union-attr]
            or (engine.scheduler is not None and engine.scheduler.has_pending_requests())
        ):
            self.spider.end_waits_if_alone()
            await self.crawler.signals.wait_for(signals.scheduler_empty)

    def _conclude(self, discovery: Discovery | None) -> None:
        run, start_failed = self.run, discovery is not None and bool(discovery.start.error)
        number = run.obtained if start_failed else run.limit.documents
        if number == 0 and not run.progress.changes["deleted"]:
            raise CloseSpider("start_failed" if start_failed else "no_documents")

    def _note(self, line: str) -> None:
        logger.info("%(line)s", {"line": line}, extra={"spider": self.spider})
