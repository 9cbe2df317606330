"""What the crawl does with each response: the answers of pages; the callbacks that requests name,
in a JOBDIR too.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from llmsspider.config.settings import Config
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.callbacks.at_end import EndOfCrawl
from llmsspider.crawler.callbacks.documents import Documents, kind_of_failure
from llmsspider.crawler.callbacks.full_text import FullTextPages
from llmsspider.crawler.callbacks.link_sources import LinkSourcePages
from llmsspider.crawler.callbacks.reading import PageReader
from llmsspider.crawler.callbacks.rendering import MIN_ROUTES
from llmsspider.crawler.callbacks.requests import PageRequests
from llmsspider.crawler.callbacks.suspects import SuspectAnswers
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.learn import Learners
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
from llmsspider.crawler.parts import UsesRun
from llmsspider.crawler.progress import PageLimit
from llmsspider.crawler.readings import Readings
from llmsspider.crawler.requests import info, is_plain, kind_of_exception
from llmsspider.crawler.revisit import Ledger
from llmsspider.crawler.run import Run
from llmsspider.crawler.settle import (
    BESIDE_STORED,
    Ask,
    Drop,
    Fail,
    ReadPage,
    Verdict,
    Wait,
    Waiting,
    WaitingPage,
    settle,
)
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.source_memory import SourceMemory
from llmsspider.crawler.spiderrun import ProjectSpider
from llmsspider.errors import ConversionError, RenderingError, TooLargePageError
from llmsspider.items import HTML_ORIGINS, Page
from llmsspider.web import page_forms
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import identity, page_key, usable

logger = logging.getLogger(__name__)


class Pages(UsesRun):
    """Yields the results of the answers of pages; settles pages by what they say, and by what is
    stored of them.
    """

    bounds: Bounds
    config: Config
    known: KnownPages
    learned: Learners
    ledger: Ledger
    limit: PageLimit
    memory: SourceMemory
    readings: Readings
    site: SiteKnowledge
    waiting: Waiting

    def __init__(
        self,
        run: Run,
        requests: PageRequests,
        documents: Documents,
        reader: PageReader,
        link_sources: LinkSourcePages,
    ):
        super().__init__(run)
        self._suspects = SuspectAnswers(run)
        self._run = run
        self._requests = requests
        self._documents = documents
        self.reader = reader
        self._link_sources = link_sources

    async def results(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of a page's answer: an error, the page as it is stored, or the page
        that is read.
        """
        page = info(request)
        named_by = page.get("canonical")
        rule = page.get("uncounted")
        if rule and named_by and identity(named_by) != identity(request.url):
            # the page in whose place this one was requested
            self._run.record_filtered(named_by, "canonical", rule)
            self.site.named_answers(request.url, is_found=True)
        listed = bool(page.get("listed"))
        names = self.learned.file_names
        if names.is_file(answer.fetched_url, answer.mime_type, listed=listed):
            answer = replace(answer, body=b"", is_file=True)
        unread = await self._unread(request, answer)
        if unread is None:
            async for result in self.read(request, answer):
                yield result
            return
        for result in unread:
            yield result

    # --- answers whose bodies need not be read ---

    async def _unread(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Return the results of an answer that is an error or the stored page; None where its body
        has to be read.
        """
        documents = self._documents
        is_304 = answer.status == 304
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        if kind is not None:
            return documents.failed(request, kind, f"HTTP status {answer.status}", answer.status)
        if not is_304 and not answer.body.strip() and not answer.is_file:
            return documents.failed(request, "http", "the answer is empty", answer.status)
        if not is_304 and await self._breaks_off(answer):
            why = "the page breaks off: it had an end tag or a last line end, and has none"
            return documents.failed(request, "network", why, answer.status)
        documents.note_redirect(request)
        if "#" in request.url or (answer.kind == "html" and b"docsify" in answer.body):
            docsify = await documents.of_docsify(request, answer)
            if docsify is not None:
                return docsify
        stored = documents.unchanged(answer)
        again = await self._no_document_again(request, answer) if stored is None else None
        if stored is not None or (again is None and is_304):
            return documents.as_stored(stored, request, answer)
        return again

    async def _breaks_off(self, answer: PageResponse) -> bool:
        """Say whether the response of a stored page lacks the end that it had; its text is evidence
        of a wall.
        """
        state = self.known.state(page_key(answer.page_url))
        if state is None or not (state.has_end_tag and answer.is_form_of(state.origin)):
            return False
        if has_end(answer.body, answer.kind) or self.memory.is_accepted(
            state.key + b"end", "no end"
        ):
            return False
        with suppress(ConversionError):
            suspect = await self._suspects.seen_beside(answer, state)
            if suspect is not None:
                self._documents.questions.wall(suspect)  # it counts as seen in this run
        return True

    async def _no_document_again(
        self, request: Request, answer: PageResponse
    ) -> Iterable[Any] | None:
        """Return the results of an unchanged page that is filtered as before, or request its body;
        None for others.
        """
        run = self._run
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
        verdict = self._verdict(result, answer, request)
        why = (
            verdict
            if isinstance(verdict, Drop)
            else reading.why
            if reading.why.reason == "empty"
            else None
        )
        if (
            why is not None
            and why.reason == "empty"
            and self.site.forms_of(request.url).is_open(request.url)
        ):
            why = None
        if why is None or (why.reason, why.target) != (reading.why.reason, reading.why.target):
            return [self._requests.whole(request)] if is_304 else None
        run.count("not-modified" if is_304 else "same-body")
        if (key := page_key(request.url)) not in self.ledger.left_out:
            self.ledger.no_documents[key] = request.url
        self._learn_links(result, answer)
        url = named_llms_txt(reading.meta, answer)
        seeds = await self._link_sources.described_by(url) if url is not None else ()
        return chain(self._without_document(why, result, request), seeds)

    # --- pages that are read ---

    async def read(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of an answer whose body has to be read: its document, and requests for
        its links.
        """
        run = self._run
        documents = self._documents
        state = self.known.state(page_key(request.url))
        with_listings = documents.keeps_listing(request)
        may_be_text = (
            state is None or state.origin == "text"
        )  # what was a page becomes no file of data
        listed = may_be_text and bool(info(request).get("listed"))
        try:
            read = self.reader.read(request, answer, listed=listed, with_listings=with_listings)
            answer, page = await read
        except UnsettledError:
            waiting = WaitingPage("links", request, answer=answer)
            self.waiting.keep(waiting, room=self.limit.left)
            return
        except (ConversionError, RenderingError) as error:
            run.count("converted")
            if isinstance(error, TooLargePageError):
                run.count("too-large")
            for result in documents.failed(
                request, kind_of_exception(error), str(error), answer.status
            ):
                yield result
            return
        run.count("converted")
        for result in self.results_of(page, answer, request):
            yield result
        if page is None:
            return
        if (url := named_llms_txt(page.page.meta, answer)) is not None:
            for seed in await self._link_sources.described_by(url):
                yield seed

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
        documents = self._documents
        if page is None:
            yield from documents.as_stored(documents.unchanged(answer), request, answer)
            return
        self.reader.count(answer.page_url, page.page)
        self._learn_links(page, answer)
        verdict = self._verdict(page, answer, request)
        if isinstance(verdict, Drop):
            self._remember(verdict, page, answer, request)
            yield from self._without_document(verdict, page, request)
            return
        if isinstance(verdict, Ask):
            yield from self._requests.markdown_of(verdict.url, request, page.page.follow)
            return
        record = documents.record(page, answer, request)
        suspect = None if page.is_as_stored else self._suspects.seen(record, answer, request)
        verdict = settle(ReadPage(record.url, suspect=suspect), documents.questions, BESIDE_STORED)
        if isinstance(verdict, Fail):
            yield from documents.failed(
                request, verdict.wall.kind, verdict.wall.message, record.status
            )
        elif isinstance(verdict, Wait):
            yield from documents.kept_as_suspect(record, request, suspect)
        else:
            empty = drop_reason(record.content or "", None)
            if empty is not None:
                self._remember(Drop(*empty), page, answer, request)
            is_false = self.known.is_false(record, answer.headers)
            documents.retitle(record, is_start=bool(info(request).get("start")))
            is_false = is_false and self.known.is_false(record, answer.headers)
            if is_false:  # as it came, and as it would be stored
                self.learned.false_304s.note(record.fetched_url)
            documents.keep_text(record, is_same=page.is_as_stored)
            yield from documents.parts(
                record, page.page.parts
            )  # before the page that stands for them
            yield from documents.with_links(record, request, read=(answer, page))

    # --- pages that are no documents ---

    def _learn_links(self, page: PageResult, answer: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links
        too.
        """
        meta = page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            self.site.learn_routes(answer.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in HTML_ORIGINS:
            self.memory.learn_links(page.page.follow, answer.page_url)

    def _verdict(self, page: PageResult, answer: PageResponse, request: Request) -> Verdict:
        """Settle a page by what it says of itself, and learn from it."""
        meta = page.page.meta
        asked = info(request)
        is_worse = page.was_stub or self.site.samples_of(request.url, "files").is_html
        is_asked = is_worse or asked.get("alternate")
        is_stored = self.known.state(page_key(request.url)) is not None
        is_listed = asked.get("listed") or self.site.is_listed(request.url)
        facts = ReadPage(
            request.url,
            meta,
            refused=page.filtered
            or refused_by_page(meta, answer, self.config)
            or self.bounds.refusal_by_sample(request.url, page.page, self._documents.at)
            or self.bounds.refusal_by_links(request.url, usable(page.page.follow)),
            with_slash=page_forms.with_slash(request.url, answer.fetched_url),
            is_only_linked=not (is_stored or asked.get("start") or is_listed),
            is_named=bool(asked.get("canonical")),
            markdown=None if is_asked else markdown_alternate(page, answer),
            is_wanted=self._documents.keeps_listing(request),
        )
        verdict = settle(facts, self._documents.questions, self.learned.by_itself)
        self.learned.page_read(facts, verdict)
        return verdict

    def _remember(
        self, why: Drop, page: PageResult, answer: PageResponse, request: Request
    ) -> None:
        """Keep what was read of a page that is no document, for a 304 in a later run."""
        if is_plain(request):
            self.readings.keep(why, page, answer, listed=bool(info(request).get("listed")))

    def _without_document(self, why: Drop, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the results of a page that is no document: other pages in its place, its links, or
        nothing.
        """
        run = self._run
        key = page_key(request.url)
        target = why.target
        if target is not None:
            is_spelling = why.reason == "canonical"
            self.known.moved(key, page_key(target))
            if is_spelling and self.known.state(key) is not None:
                self.known.canonical_elsewhere.add(key)
            depth = int(request.meta.get("depth", 0))
            run.counts_as[key] = page_key(run.page_of(target)), request.url, depth
            self.bounds.trees.redirected(request.url, target)
            uncounted = why.rule if is_spelling else None
            requested = list(self._requests.instead(target, request, uncounted=uncounted))
            if not (is_spelling and requested):
                run.record_filtered(request.url, why.reason, why.rule)
            yield from requested
            return
        run.record_filtered(request.url, why.reason, why.rule)
        may_come = why.reason == "needs-browser"  # in the next run
        self.known.record_outcome(key, "failed" if may_come else "dropped", why.reason)
        if may_come:
            yield from self._documents.in_place_of_failed(key, request.meta.get("depth"))
        elif why.reason in {"listing", "empty"}:
            depth = int(request.meta.get("depth", 0)) + 1
            links = list(self._requests.links(page.page.follow, depth, on=request.url))
            new = [link.url for link in links if self.known.state(page_key(link.url)) is None]
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
        if (
            type(self).parse is not DocsCallbacks.parse
        ):  # it is to see each page's document with its response
            run.waiting.closed |= {"links", "tag", "stub"}
        self.requests = PageRequests(self, run)
        self.reader = PageReader(crawler, run, learns_bases=True)
        self.link_sources = LinkSourcePages(self, run, self.requests, self.reader)
        self.documents = Documents(run, self.requests, self.link_sources)
        self.pages = Pages(run, self.requests, self.documents, self.reader, self.link_sources)
        self.full_texts = FullTextPages(run, self.requests, self.documents, self.reader)
        self.at_end = EndOfCrawl(self, run, self.requests, self.documents, self.pages)

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
        results = (
            self.settled.popleft() if self.settled else ()
        )  # none where a JOBDIR had the request
        if isinstance(results, Iterable):
            for result in results:
                yield result
            return
        async for result in results:
            yield result

    def has_no_markdown(self, failure: Failure) -> None:
        """Do nothing for a waiting page without Markdown: it is settled with the others that wait."""

    # --- HTML that is fetched for its links ---

    async def parse_link_source(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the links of a page whose Markdown is a document already."""
        for request in await self.link_sources.links(*_answered(response)):
            yield request

    def link_source_failed(self, failure: Failure) -> None:
        """Count a link source that failed; its page is a document already."""
        self.run.learned.link_sources.report(0)
        self.run.count("link-sources/failed")

    async def parse_docsify_list(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the pages that a sidebar or the like of a Docsify site links to."""
        for request in await self.link_sources.docsify_links(*_answered(response)):
            yield request

    def docsify_list_failed(self, failure: Failure) -> None:
        """Count a sidebar or the like that failed."""
        self.link_sources.docsify_list_failed(*_request_and_error(failure))

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
