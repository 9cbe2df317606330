"""What the crawl does with each response: the answers of pages; the callbacks that requests name,
in a JOBDIR too.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from llmsspider.crawler.bot_walls import Wall
from llmsspider.crawler.callbacks.at_end import EndOfCrawl
from llmsspider.crawler.callbacks.documents import Documents, kind_of_failure
from llmsspider.crawler.callbacks.full_text import FullTextPages
from llmsspider.crawler.callbacks.link_sources import LinkSourcePages
from llmsspider.crawler.callbacks.reading import PageReader
from llmsspider.crawler.callbacks.rendering import MIN_ROUTES, UnprovenError
from llmsspider.crawler.callbacks.requests import PageRequests
from llmsspider.crawler.callbacks.suspects import SuspectAnswers
from llmsspider.crawler.learn.varying_lines import Lines, differing
from llmsspider.crawler.link_bases import UnsettledError
from llmsspider.crawler.pages import (
    PageResponse,
    PageResult,
    drop_reason,
    has_end,
    markdown_alternate,
    named_llms_txt,
    refused_by_page,
    utc_now,
)
from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Config,
    KnownPages,
    Learners,
    Ledger,
    PageLimit,
    Readings,
    RecordedPages,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.requests import depth_of, info, is_plain, kind_of_exception
from llmsspider.crawler.run import Run
from llmsspider.crawler.settle import (
    Ask,
    Drop,
    ReadPage,
    Verdict,
    Wait,
    WaitingPage,
    beside_stored,
    settle,
)
from llmsspider.crawler.spiderrun import ProjectSpider
from llmsspider.errors import ConversionError, RenderingError, TooLargePageError
from llmsspider.items import HTML_ORIGINS, Page
from llmsspider.web import page_forms
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import identity, page_key, split_route

logger = logging.getLogger(__name__)

Step = Callable[[Request, PageResponse], Awaitable[Iterable[Any] | None]]
"""Returns the results of an answer, None where they are for the next step."""


class Pages(UsesRun):
    """Yields the results of the answers of pages; settles pages by what they say, and by what is
    stored of them.
    """

    addresses: Addresses
    bounds: Bounds
    config: Config
    documents: Documents
    known: KnownPages
    learned: Learners
    ledger: Ledger
    link_sources: LinkSourcePages
    limit: PageLimit
    memory: SourceMemory
    readings: Readings
    reader: PageReader
    recorded: RecordedPages
    report: Reporter
    requests: PageRequests
    site: SiteKnowledge
    suspect_answers: SuspectAnswers
    waiting: Waiting

    def __init__(self, run: object, spider: object):
        super().__init__(run, spider)
        self._varying = asyncio.Lock()

    async def results(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of a page's answer: an error, the page as it is stored, or the page
        that is read.
        """
        page = info(request)
        named_by = page.get("canonical")
        rule = page.get("uncounted")
        if rule and named_by and identity(named_by) != identity(request.url):
            # the page in whose place this one was requested
            self.report.filtered(named_by, "canonical", rule)
            self.addresses.named_answers(request.url, is_found=True)
        listed = bool(page.get("listed"))
        names = self.learned.file_names
        if names.is_file(answer.fetched_url, answer.mime_type, listed=listed):
            answer = replace(answer, body=b"", is_file=True)
        for step in self._steps:
            results = await step(request, answer)
            if results is not None:
                for result in results:
                    yield result
                return
        async for result in self.read(request, answer):
            yield result

    # --- answers whose bodies need not be read: each step yields the results, or leaves the answer
    # to the next one ---

    @property
    def _steps(self) -> tuple[Step, ...]:
        return (
            self._failed,
            self._of_docsify,
            self._as_stored,
            self._no_document_again,
            self._unknown,
        )

    async def _failed(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Take an error, and what is no whole page."""
        failed = partial(self.documents.failed, request, status=answer.status)
        kind = answer.error_kind
        if kind is not None:
            return failed(kind, f"HTTP status {answer.status}")
        if answer.status == 304:
            return None
        if not answer.body.strip() and not answer.is_file:
            return failed("http", "the answer is empty")
        if await self._breaks_off(answer):
            why = "the page breaks off: it had an end tag or a last line end, and has none"
            return failed("network", why)
        return None

    async def _of_docsify(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Take the page of a Docsify site: its Markdown file is requested."""
        self.documents.note_redirect(request)
        url = request.url
        if answer.kind != "html" or not ("#" in url or b"docsify" in answer.body):
            return None
        site = await self.link_sources.learn_docsify(request, answer)
        if split_route(url)[1] and self.site.file_sites.docsify_of(url) is not None:
            why = "HTML in place of its Markdown file"
            return self.documents.failed(request, "not_found", why, answer.status)
        if site is None or info(request).get("alternate"):
            return None
        return self.requests.markdown_of(site.file_of(answer.page_url), request, [])

    async def _as_stored(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Take an unchanged page: its document is the stored one."""
        stored = self.documents.unchanged(answer)
        return self.documents.as_stored(stored, request, answer) if stored is not None else None

    async def _unknown(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Take a 304 for what is not stored, which is an error."""
        return self.documents.as_stored(None, request, answer) if answer.status == 304 else None

    async def _breaks_off(self, answer: PageResponse) -> bool:
        """Say whether the response of a stored page lacks the end that it had; its text is evidence
        of a wall.
        """
        state = self.known.at(answer.page_url)
        if state is None or not (state.has_end_tag and answer.is_form_of(state.origin)):
            return False
        if has_end(answer.body, answer.kind) or self.memory.is_accepted(
            state.key + b"end", "no end"
        ):
            return False
        with suppress(ConversionError):
            suspect = await self.suspect_answers.seen_beside(answer, state)
            if suspect is not None:
                self.documents.questions.wall(suspect)  # it counts as seen in this run
        return True

    async def _no_document_again(
        self, request: Request, answer: PageResponse
    ) -> Iterable[Any] | None:
        """Return the results of an unchanged page that is filtered as before, or request its body;
        None for others.
        """
        page = info(request)
        is_304 = answer.status == 304
        if not is_plain(request) or (is_304 and page.get("whole")):  # it was sent no validators
            return None
        found = self.readings.restored(answer, listed=bool(page.get("listed")))
        if found is None:
            return None
        reading, headers = found
        refused = Filtered(*reading.why[:2]) if reading.why.reason == "unsupported-type" else None
        result = PageResult(Page("", [], reading.follow, reading.meta), "html", refused)
        answer = replace(answer, headers=headers)
        why = self._dropped_again(reading.why, self._verdict(result, answer, request), request.url)
        if why is None:
            return [self.requests.whole(request)] if is_304 else None
        self.report.count("not-modified" if is_304 else "same-body")
        if (key := page_key(request.url)) not in self.ledger.left_out:
            self.ledger.no_documents[key] = request.url
        self._learn_links(result, answer)
        url = named_llms_txt(reading.meta, answer)
        seeds = await self.link_sources.described_by(url) if url is not None else ()
        return chain(self._without_document(why, result, answer, request), seeds)

    def _dropped_again(self, before: Drop, verdict: Verdict, url: str) -> Drop | None:
        """Return why a page is no document as before, None where that changed."""
        why = before if before.reason == "empty" else None
        if isinstance(verdict, Drop):
            why = verdict
        if why is None or why._replace(rule="") != before._replace(rule=""):
            return None
        return None if why.reason == "empty" and self.site.forms_of(url).is_open(url) else why

    # --- pages that are read ---

    async def read(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of an answer whose body has to be read: its document, and requests for
        its links.
        """
        documents = self.documents
        state = self.known.at(request.url)
        with_listings = documents.keeps_listing(request)
        # what was a page becomes no file of data
        may_be_text = state is None or state.origin == "text"
        listed = may_be_text and bool(info(request).get("listed"))
        try:
            read = self.reader.read(request, answer, listed=listed, with_listings=with_listings)
            answer, page = await read
        except UnsettledError:
            waiting = WaitingPage("links", request, answer=answer)
            self.waiting.keep(waiting, room=self.limit.left)
            return
        except UnprovenError:
            yield self.requests.whole(request)
            return
        except (ConversionError, RenderingError) as error:
            self.report.count("converted")
            if isinstance(error, TooLargePageError):
                self.report.count("too-large")
            for result in documents.failed(
                request, kind_of_exception(error), str(error), answer.status
            ):
                yield result
            return
        self.report.count("converted")
        if page is not None and await self._says_the_same(page, answer, request):
            self.recorded.said_before.add(page_key(request.url))
        for result in self.results_of(page, answer, request):
            yield result
        if page is None:
            return
        if (url := named_llms_txt(page.page.meta, answer)) is not None:
            for seed in await self.link_sources.described_by(url):
                yield seed

    async def _says_the_same(
        self, page: PageResult, answer: PageResponse, request: Request
    ) -> bool:
        """Say whether a page differs from the stored one in nothing but lines that vary from answer
        to answer. Where that is not known it is downloaded again.
        """
        lines = self._changed_lines(page, answer, request.url)
        if not lines:
            return False
        varying = self.learned.varying_lines
        async with self._varying:  # one after the other: what one page shows, others need not
            if varying.are_known(lines):
                return True
            varying.changed(lines)
            if not varying.may_ask:
                return False
            drawn = request if page.origin == "rendered" else None
            _, again = await self.reader.anew(request.url, request.url, drawn=drawn) or (None, None)
            text = (again or page).page.markdown
            vary = differing(page.page.markdown, text)
            varying.downloaded_again(vary)
        return {line for _, line in lines} <= {line for line, _ in vary} or varying.are_known(lines)

    def _changed_lines(self, page: PageResult, answer: PageResponse, url: str) -> Lines:
        """Return the few lines in which HTML differs from the stored page; none for files of a
        server, which have a date, and are what they are.
        """
        state = self.known.at(url)
        is_html = page.origin in HTML_ORIGINS and "last-modified" not in answer.headers
        if (
            state is None
            or state.origin != page.origin
            or not is_html
            or not self.known.is_usable(state)
        ):
            return []
        stored = self.known.load(state.key)
        return differing(stored.text, page.page.markdown) if stored is not None else []

    async def with_settled_links(self) -> AsyncIterator[Any]:
        """Yield the pages that waited for what their links are relative to."""
        self.waiting.closed.add("links")
        for page in self.waiting.take("links"):
            if page.answer is not None:
                async for result in self.read(page.request, page.answer):
                    yield result

    def results_of(
        self, page: PageResult | None, answer: PageResponse, request: Request
    ) -> Iterator[Any]:
        """Yield the results of a page that was read; None where its other form, such as HTML, is as
        stored.
        """
        documents = self.documents
        if page is None:
            yield from documents.as_stored(documents.unchanged(answer), request, answer)
            return
        self.reader.count(answer.page_url, page.page)
        self._learn_links(page, answer)
        verdict = self._verdict(page, answer, request)
        if isinstance(verdict, Drop):
            self._remember(verdict, page, answer, request)
            yield from self._without_document(verdict, page, answer, request)
            return
        if isinstance(verdict, Ask):
            yield from self.requests.markdown_of(verdict.url, request, page.page.follow)
            return
        record = documents.record(page, answer, request)
        modified = answer.headers.get("last-modified", "")
        self.ledger.page_read(record.key, record.url, answer.body, modified)
        suspect = None if page.is_as_stored else self.suspect_answers.seen(record, answer, request)
        wall = beside_stored(suspect, documents.questions)
        if isinstance(wall, Wall):
            yield from documents.failed(request, wall.kind, wall.message, record.status)
        elif isinstance(wall, Wait):
            yield from documents.kept_as_suspect(record, request, suspect)
        else:
            empty = drop_reason(record.text, None)
            if empty is not None:
                self._remember(Drop(*empty), page, answer, request)
            is_false = self.known.is_false(record, answer.headers)
            documents.retitle(record, is_start=bool(info(request).get("start")))
            is_false = is_false and self.known.is_false(record, answer.headers)
            if is_false:  # as it came, and as it would be stored
                self.learned.false_304s.note(record.fetched_url)
            documents.keep_text(record, is_same=page.is_as_stored)
            # before the page that stands for them
            yield from documents.parts(record, page.page.parts)
            yield from documents.with_links(record, request, read=(answer, page))

    # --- pages that are no documents ---

    def _learn_links(self, page: PageResult, answer: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links
        too.
        """
        meta = page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            self.site.file_sites.learn_routes(answer.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in HTML_ORIGINS:
            self.memory.learn_links(page.page.follow, answer.page_url)

    def _verdict(self, page: PageResult, answer: PageResponse, request: Request) -> Verdict:
        """Settle a page by what it says of itself, and learn from it."""
        meta = page.page.meta
        asked = info(request)
        is_worse = page.was_stub or self.site.samples_of(request.url, "files").is_html
        is_asked = is_worse or asked.get("alternate")
        is_stored = self.known.at(request.url) is not None
        is_listed = asked.get("listed") or self.site.is_listed(request.url)
        self.bounds.trees.learn_translations(request.url, meta.language, meta.hreflang)
        facts = ReadPage(
            request.url,
            meta,
            refused=page.filtered
            or refused_by_page(meta, answer, self.config)
            or self.bounds.refusal_by_sample(request.url, page.page, self.documents.at)
            or self.bounds.refusal_by_page(request.url, page.page),
            with_slash=page_forms.with_slash(request.url, answer.fetched_url),
            is_only_linked=not (is_stored or asked.get("start") or is_listed),
            is_named=bool(asked.get("canonical")),
            markdown=None if is_asked else markdown_alternate(page, answer),
            is_wanted=self.documents.keeps_listing(request),
        )
        verdict = settle(facts, self.documents.questions, self.learned.by_itself)
        self.learned.page_read(facts, verdict)
        return verdict

    def _remember(
        self, why: Drop, page: PageResult, answer: PageResponse, request: Request
    ) -> None:
        """Keep what was read of a page that is no document, for a 304 in a later run."""
        if is_plain(request):
            self.readings.keep(why, page, answer, listed=bool(info(request).get("listed")))

    def _without_document(
        self, why: Drop, page: PageResult, answer: PageResponse, request: Request
    ) -> Iterator[Any]:
        """Yield the results of a page that is no document: other pages in its place, its links, or
        nothing.
        """
        key = page_key(request.url)
        target = why.target
        if target is not None:
            is_spelling = why.reason == "canonical"
            answers_there = identity(answer.fetched_url) != identity(target)  # no redirect
            self.addresses.replaced(
                request.url, target, depth_of(request), answers=is_spelling and answers_there
            )
            uncounted = why.rule if is_spelling else None
            requested = list(self.requests.instead(target, request, uncounted=uncounted))
            if not (is_spelling and requested):
                self.report.filtered(request.url, why.reason, why.rule)
            yield from requested
            return
        self.report.filtered(request.url, why.reason, why.rule)
        may_come = why.reason == "needs-browser"  # in the next run
        self.known.record_outcome(key, "failed" if may_come else "dropped", why.reason)
        if may_come:
            yield from self.documents.in_place_of_failed(key, request.meta.get("depth"))
        elif why.reason in {"listing", "empty"}:
            depth = depth_of(request) + 1
            links = list(self.requests.links(page.page.follow, depth, on=request.url))
            new = [link.url for link in links if self.known.at(link.url) is None]
            if not all(map(self.learned.dead_links.was_dead, new)):  # no earlier run knew them
                self.bounds.learned.leads_on(request.url)
            yield from links


class DocsCallbacks(ProjectSpider):
    """The callbacks and errbacks of every request of a crawl, and the objects that they call."""

    run: Run

    def connect(self, crawler: Crawler, run: Run) -> None:
        """Make the objects that the callbacks call; each gets the run and the other objects that it
        needs.
        """
        self.run = run
        self.settled: deque[Iterable[Any] | AsyncIterator[Any]] = deque()
        self.requests = PageRequests(run, self)
        if type(self).parse is not DocsCallbacks.parse:
            # it is to see each page's document with its response
            self.requests.waiting.closed |= {"links", "tag", "stub", "copy-of"}
        self.reader = PageReader(crawler, run, learns_bases=True)
        self.link_sources = LinkSourcePages(run, self)
        self.documents = Documents(run, self)
        self.suspect_answers = SuspectAnswers(run)
        self.pages = Pages(run, self)
        self.full_texts = FullTextPages(run, self)
        self.at_end = EndOfCrawl(run, self)

    # --- pages ---

    def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the results of a page's response: an error, the page as it is stored, or the page
        that is read.
        """
        return self.pages.results(*_answered(response))

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield the results of a page that failed: a request for another address, or the stored
        page.
        """
        yield from self.documents.download_failed(*_request_and_error(failure))

    async def parse_settled(self, response: Response) -> AsyncIterator[Any]:
        """Yield what the crawl knows without asking the site: full text, pages that waited,
        tombstones.
        """
        # none where a JOBDIR had the request
        results = self.settled.popleft() if self.settled else ()
        if isinstance(results, Iterable):
            for result in results:
                yield result
            return
        async for result in results:
            yield result

    def has_no_markdown(self, failure: Failure) -> None:
        """Do nothing for a waiting page without Markdown: it is settled with the others that wait."""

    # --- HTML that is fetched for its links ---

    async def parse_link_source(self, response: Response) -> Iterable[Request]:
        """Return the requests for the links of a page whose Markdown is a document already."""
        return await self.link_sources.links(*_answered(response))

    def link_source_failed(self, failure: Failure) -> None:
        """Count a link source that failed; its page is a document already."""
        self.link_sources.failed()

    async def parse_docsify_list(self, response: Response) -> Iterable[Request]:
        """Return the requests for the pages that a sidebar or the like of a Docsify site links to."""
        return await self.link_sources.docsify_links(*_answered(response))

    def docsify_list_failed(self, failure: Failure) -> None:
        """Count a sidebar or the like that failed."""
        self.link_sources.list_failed(*_request_and_error(failure))

    # --- full-text and llms files ---

    def parse_full_text_again(self, response: Response) -> AsyncIterator[Any]:
        """Yield the stored pages of a full-text file as it is now (`mode=refresh`)."""
        return self.full_texts.refreshed(*_answered(response))

    def full_text_failed(self, failure: Failure) -> Iterator[Any]:
        """Count a full-text file that failed, and yield its stored pages or requests for them
        (`mode=refresh`).
        """
        yield from self.full_texts.failed(*_request_and_error(failure))

    # --- stored pages that nothing led to, at the end of the crawl ---

    def parse_verification(self, response: Response) -> None:
        """Record what became of a stored page."""
        self.at_end.verified(*_answered(response))

    def verification_failed(self, failure: Failure) -> None:
        """Record that a stored page is gone, or keep it where that is not certain."""
        request, error = _request_and_error(failure)
        self.at_end.not_verified(request, kind_of_failure(error))


def _answered(response: Response) -> tuple[Request, PageResponse]:
    request = response.request if response.request is not None else Request(response.url)
    return request, PageResponse.from_response(response, now=utc_now())


def _request_and_error(failure: Failure) -> tuple[Request, BaseException]:
    """Return the request and the exception of the failure that an errback is called with."""
    return failure.request, failure.value  # type: ignore[attr-defined,return-value]
