"""Pages that were read: each is a document, or none; what takes its place; and those that waited for evidence."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmsspider.crawl.callbacks.reading import count_page
from llmsspider.crawl.callbacks.rendering import MIN_ROUTES
from llmsspider.crawl.fetch import EngineFetch
from llmsspider.crawl.full_text import keep_text_of_file
from llmsspider.crawl.link_bases import UnsettledError
from llmsspider.crawl.pages import markdown_alternate, named_llms_txt, refused_by_page
from llmsspider.crawl.requests import info, is_plain
from llmsspider.crawl.settle import (
    BESIDE_STORED,
    BY_ITSELF,
    Ask,
    Drop,
    Fail,
    ReadPage,
    Wait,
    drop_reason,
    settle,
)
from llmsspider.crawl.waiting import WaitingPage
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.items import HTML_ORIGINS
from llmsspider.site.discovered import Options
from llmsspider.site.discovery import read_described
from llmsspider.web import page_forms
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import identity, page_key, without_fragment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.documents import Documents, Failures
    from llmsspider.crawl.callbacks.reading import PageReader
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.callbacks.suspects import SuspectAnswers
    from llmsspider.crawl.pages import PageResponse, PageResult
    from llmsspider.crawl.run import Run
    from llmsspider.crawl.settle import Verdict
    from llmsspider.items import PageMeta
    from llmsspider.store import PageRecord

    AsStored = Callable[[Request, PageResponse], Iterable[Any]]
    """Yields the results of a page that is as it was stored."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Pages:
    """Settles pages that were read, by what they say of themselves and by what is stored of them."""

    _crawler: Crawler
    _run: Run
    _requests: PageRequests
    _documents: Documents
    _failures: Failures
    _suspects: SuspectAnswers
    _reader: PageReader

    async def read(self, request: Request, answer: PageResponse, as_stored: AsStored) -> AsyncIterator[Any]:
        """Yield the results of an answer whose body has to be read: its document, and requests for its links.

        `as_stored` yields those of a page whose other form is the one that is stored.
        """
        listed, keeps_listing = bool(info(request).get("listed")), self._documents.keeps_listing(request)
        try:
            answer, page = await self._reader.read(
                request, answer, listed=listed, with_listings=keeps_listing
            )
        except UnsettledError as error:
            waiting = WaitingPage("links", request, answer=answer, group=str(error))
            self._run.waiting.keep(waiting, room=self._run.limit.left)
            return
        except (ConversionError, RenderingError) as error:
            self._run.count("converted")
            for result in self._failures.unreadable(request, answer, error):
                yield result
            return
        self._run.count("converted")
        if page is None:
            for result in as_stored(request, answer):
                yield result
            return
        for result in self.settled(page, answer, request):
            yield result
        for seed in await self.described_by(page.page.meta, answer):
            yield seed
        if self._run.waiting.number("links"):
            async for result in self.with_settled_links(as_stored):
                yield result

    async def with_settled_links(self, as_stored: AsStored, *, all_pages: bool = False) -> AsyncIterator[Any]:
        """Yield the results of pages that waited until it is known what their links are relative to.

        With `all_pages` no further evidence comes: what the pages so far show decides.
        """
        run, bases = self._run, self._run.memory.link_bases
        if all_pages:
            for group in {page.group for page in run.waiting.pages("links")}:
                bases.conclude(group)
        for page in run.waiting.take("links", where=lambda page: page.group in bases.decided):
            if page.answer is not None:
                async for result in self.read(page.request, page.answer, as_stored):
                    yield result

    def settled(self, page: PageResult, answer: PageResponse, request: Request) -> Iterator[Any]:
        """Yield the document of a page that was read, and the requests for its links; or what takes its place."""
        count_page(self._run, answer.page_url, page.page)
        self.learn_links(page, answer)
        verdict = self.verdict(page, answer, request)
        if isinstance(verdict, Drop):
            self.remember(verdict, page, answer, request)
            yield from self.without_document(verdict, page, request)
        elif isinstance(verdict, Ask):
            yield from self._requests.markdown_of(verdict.url, request, page.page.follow)
        else:
            record = self.record(page, answer, request)
            suspect = self._suspects.seen(record, answer, request)
            verdict = settle(ReadPage(record.url, suspect=suspect), self._documents.site, BESIDE_STORED)
            if isinstance(verdict, Fail):
                wall = verdict.wall
                yield from self._failures.of_page(request, wall.kind, wall.message, record.status)
            elif isinstance(verdict, Wait):
                self._run.waiting.keep(WaitingPage(verdict.reason, request, record, suspect=suspect))
                yield from self._stored_links(record)
            else:
                empty = drop_reason(record.content or "", None)
                if empty is not None:
                    self.remember(Drop(*empty), page, answer, request)
                self._compare(record, answer, request)
                yield from self._documents.parts(
                    record, page.page.parts
                )  # before the page that stands for them
                yield from self._documents.with_links(record, request, read=(answer, page))

    # --- pages that waited ---

    def settled_walls(self) -> Iterator[Any]:
        """Yield the results of possible bot walls: an error and the stored page, or the page as it is now."""
        run = self._run
        for page in run.waiting.take("wall"):
            suspect, record = page.suspect, page.record
            if suspect is None or record is None:
                continue
            wall = self._documents.site.wall(suspect)
            if wall is not None:
                run.count("walls")
                run.fail(record.url, wall.kind, wall.message, record.status)
                run.known.record_outcome(suspect.key, "failed", wall.kind)
                yield from self._documents.in_place_of_failed(suspect.key, record.depth)
                continue
            if suspect.false_304:
                run.memory.note_false_304(record.fetched_url)
            by, depth = record.discovered_by, record.depth
            request = self._requests.page(record.url, by=by, depth=depth, start=suspect.start, held=True)
            self._documents.retitle(record, is_start=suspect.start)
            yield from self._documents.with_links(record, request)

    async def settled_pages(self, as_stored: AsStored) -> AsyncIterator[Any]:
        """Yield the documents of pages that waited: for Markdown that does not exist, or for what other pages show.

        Their links were followed. Markdown that is a stub, judged by all sizes of the host, is replaced by its HTML.
        """
        for page in self._run.waiting.take("markdown", "tag", "stub"):
            results: Iterable[Any] = self._documents.settled(page)
            fuller = await self._fuller(page)
            if fuller is not None:
                html, result = fuller
                if result is not None:
                    results = self.settled(result, html, page.request)
                else:
                    results = as_stored(page.request, html)
            for one in results:
                yield one

    async def _fuller(self, page: WaitingPage) -> tuple[PageResponse, PageResult | None] | None:
        """Return the HTML of a stub in its place; without a result it is the stored one. None for any other page."""
        if page.answer is None or page.read is None:
            return None
        try:
            html, fuller = await self._reader.fuller.of_page(page.request, page.answer, page.read)
        except (ConversionError, RenderingError) as error:
            logger.info("%(url)s stays Markdown: %(error)s", {"url": page.request.url, "error": error})
            return None
        return None if html is page.answer else (html, fuller)

    def _stored_links(self, record: PageRecord) -> Iterator[Request]:
        """Yield requests for the links that a page has as it is stored; those of a new page as it is.

        So an outage of one page does not hide those behind it.
        """
        state = self._run.known.state(record.key)
        known = record if state is None else self._run.store.load_page(state.key)
        if known is not None:
            yield from self._requests.links(known.follow, record.depth + 1, on=record.url)

    # --- pages that are no documents ---

    def learn_links(self, page: PageResult, answer: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links too."""
        run, meta = self._run, page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            run.site.learn_routes(answer.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in HTML_ORIGINS:
            run.memory.link_bases.learn(page.page.follow, answer.page_url)

    def verdict(self, page: PageResult, answer: PageResponse, request: Request) -> Verdict:
        """Settle a page by what it says of itself, and learn the tags that it names."""
        run, meta, asked = self._run, page.page.meta, info(request)
        is_asked = page.was_stub or asked.get("alternate")
        is_stored = run.known.state(page_key(request.url)) is not None
        is_listed = asked.get("listed") or run.site.is_listed(request.url)
        facts = ReadPage(
            request.url,
            meta,
            refused=page.filtered or refused_by_page(meta, answer, run.config),
            with_slash=page_forms.with_slash(request.url, answer.fetched_url),
            is_only_linked=not (is_stored or asked.get("start") or is_listed),
            is_named=bool(asked.get("canonical")),
            markdown=None if is_asked else markdown_alternate(page, answer),
            is_wanted=self._documents.keeps_listing(request),
        )
        verdict = settle(facts, self._documents.site, BY_ITSELF)
        if not isinstance(verdict, Drop) or verdict.reason == "listing":
            run.site.learn_tags(usable(meta.tags))
        return verdict

    def remember(self, why: Drop, page: PageResult, answer: PageResponse, request: Request) -> None:
        """Keep what was read of a page that is no document, for a 304 in a later run."""
        if is_plain(request):
            self._run.readings.keep(why, page, answer, listed=bool(info(request).get("listed")))

    def without_document(self, why: Drop, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the results of a page that is no document: other pages in its place, its links, or nothing."""
        if why.target is not None:
            yield from self._moved(why.target, why, request)
            return
        run, key, depth = self._run, page_key(request.url), int(request.meta.get("depth", 0))
        run.record_filtered(request.url, why.reason, why.rule)
        may_come = why.reason == "needs-browser"  # in the next run
        run.known.record_outcome(key, "failed" if may_come else "dropped", why.reason)
        if may_come:
            yield from self._documents.in_place_of_failed(key, request.meta.get("depth"))
        elif why.reason in {"listing", "empty"}:
            yield from self._requests.links(page.page.follow, depth + 1, on=request.url)

    def _moved(self, target: str, why: Drop, request: Request) -> Iterator[Any]:
        """Yield the request for the page that takes the place of this one."""
        run = self._run
        run.known.moved(page_key(request.url), page_key(target))
        run.bounds.trees.redirected(request.url, target)
        is_spelling = why.reason == "canonical"
        if is_spelling:
            run.site.learn_canonical(request.url, target)
        requested = list(self._requests.instead(target, request, uncounted=why.rule if is_spelling else None))
        if not (is_spelling and requested):
            run.record_filtered(request.url, why.reason, why.rule)
        yield from requested

    def count_named(self, request: Request) -> None:
        """Count the page that named the requested one as its address as filtered, now that this one is answered.

        An address that is not found, or redirects back, leaves its page a document.
        """
        page = info(request)
        named_by, rule = page.get("canonical"), page.get("uncounted")
        if rule and named_by and identity(named_by) != identity(request.url):
            self._run.record_filtered(named_by, "canonical", rule)

    # --- pages that are documents ---

    def record(self, page: PageResult, answer: PageResponse, request: Request) -> PageRecord:
        """Return the record of a page: its own text, with this run's depth, `discovered_by` and entry."""
        record = self._run.records.of_response(
            answer,
            page,
            depth=int(request.meta.get("depth", 0)),
            by=info(request).get("by", "link"),
            entry=self._run.site.entries.get(identity(request.url)),
        )
        record.url = self._spelling(record.url, page.page.meta.canonical)
        return record

    def _spelling(self, url: str, canonical: str | None) -> str:
        """Return how a page's address is spelled.

        As it is stored, or else as an llms.txt or sitemap, the page's canonical link, or the shortest link spells it.
        """
        run, page = self._run, identity(url)
        if run.known.state(page_key(url)) is not None or run.site.is_listed(url):
            return url
        if canonical and identity(canonical) == page:
            return without_fragment(canonical)
        return page if len(page) < len(url) and page in run.bounds.links else url

    def _compare(self, record: PageRecord, answer: PageResponse, request: Request) -> None:
        """Compare a page with the site's other pages and with what is stored of it, and complete its record."""
        run = self._run
        is_false = run.known.is_false(record, answer.headers)
        self._documents.retitle(record, is_start=bool(info(request).get("start")))
        if is_false and run.known.is_false(record, answer.headers):  # as it came, and as it would be stored
            run.memory.note_false_304(record.fetched_url)
        keep_text_of_file(run, record, run.memory.lagging, run.memory.previous_discovery.unread)

    # --- an llms.txt that a page names ---

    async def described_by(self, meta: PageMeta, answer: PageResponse) -> list[Request]:
        """Return requests for the seeds of an llms.txt that only this page names (`rel=describedby`)."""
        run = self._run
        url = named_llms_txt(meta, answer)
        if url is None or run.discovery is None or not run.follows_links:
            return []
        known = len(run.discovery.cut)
        seeds = await read_described(
            EngineFetch(self._crawler, run),
            url,
            run.discovery,
            Options(),
        )
        for cut in run.discovery.cut[known:]:
            run.record_filtered(cut.url, cut.reason, cut.rule)
        for seed in seeds:
            run.site.enter(seed)
        return [request for seed in seeds if (request := self._requests.seed(seed)) is not None]
