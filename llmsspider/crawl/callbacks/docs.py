"""The callbacks of the spider `docs`: what the crawl does with each response. Requests name them, in a JOBDIR too."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.crawl.callbacks.answers import Answers
from llmsspider.crawl.callbacks.docsify import DocsifyPages
from llmsspider.crawl.callbacks.documents import Documents
from llmsspider.crawl.callbacks.failures import Failures, kind_of_failure
from llmsspider.crawl.callbacks.full_text import FullTextPages
from llmsspider.crawl.callbacks.link_sources import LinkSourcePages, MarkdownLinks
from llmsspider.crawl.callbacks.pages import NAMED_AS_TAG, Pages
from llmsspider.crawl.callbacks.reading import PageReader, count_page
from llmsspider.crawl.callbacks.requests import PageRequests
from llmsspider.crawl.callbacks.suspects import SuspectAnswers, Verification
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.records import utc_now
from llmsspider.crawl.requests import info
from llmsspider.crawl.spiderrun import ProjectSpider
from llmsspider.errors import ConversionError, RenderingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.crawl.pages import PageResult
    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


class DocsCallbacks(ProjectSpider):
    """The callbacks and errbacks of every request of a crawl, and the objects that they call.

    `parse` is the callback of pages; the phases of the crawl (`llmsspider.crawl.phases`) send synthetic requests for
    the callbacks that have no page.
    """

    run: Run

    def connect(self, crawler: Crawler, run: Run) -> None:
        """Make the objects that the callbacks call; each gets the run and the other objects that it needs."""
        self.run = run
        self.settled: deque[Iterable[Any] | AsyncIterator[Any]] = deque()
        run.pending_pages.only_for_markdown = type(self).parse is not DocsCallbacks.parse
        self.requests = PageRequests(self, run)
        self.markdown_links = MarkdownLinks(crawler, run)
        self.reader = PageReader(crawler, run, self.markdown_links.joiner)
        docsify = DocsifyPages(crawler, run)
        self.link_sources = LinkSourcePages(self, run, self.requests, self.reader, docsify)
        self.documents = Documents(run, self.requests, self.link_sources)
        self.failures = Failures(run, self.requests, self.documents)
        self.suspects = SuspectAnswers(run, self.requests, self.documents, self.failures)
        self.pages = Pages(crawler, run, self.requests, self.documents)
        self.answers = Answers(
            run,
            self.requests,
            self.documents,
            self.failures,
            self.suspects,
            pages=self.pages,
            docsify=docsify,
        )
        self.full_texts = FullTextPages(
            run, self.requests, self.documents, self.suspects, self.markdown_links, reader=self.reader
        )
        self.verification = Verification(run, self.suspects)

    # --- pages ---

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the results of a page's response, step by step: answer → page → document → links."""
        request, answer = request_of(response), PageResponse.from_response(response, now=utc_now())
        self.pages.count_named(request)
        ended = await self.answers.results(request, answer)  # an error, or the page as it is stored
        if ended is not None:
            for result in ended:
                yield result
            return
        self.run.count("converted")
        listed, keeps_listing = bool(info(request).get("listed")), self.documents.keeps_listing(request)
        try:
            answer, page = await self.reader.read(request, answer, listed=listed, with_listings=keeps_listing)
        except (ConversionError, RenderingError) as error:
            for result in self.failures.unreadable(request, answer, error):
                yield result
            return
        for result in self._document(page, answer, request, keeps_listing):
            yield result
        for seed in await self.pages.described_by(page.page.meta, answer) if page is not None else ():
            yield seed

    def _document(
        self, page: PageResult | None, answer: PageResponse, request: Request, keeps_listing: bool
    ) -> Iterator[Any]:
        """Yield the document of a page that was read, and the requests for its links.

        Instead of these: the stored page, where nothing changed; another page, where this one is no document; its
        stored links, where the response may be a bot wall, which is decided at the end of the crawl.
        """
        if page is None:
            yield from self.answers.as_stored(request, answer)
            return
        count_page(self.run, answer.page_url, page.page)
        self.pages.learn_links(page, answer)
        why = self.pages.no_document(page, answer, request, keeps_listing=keeps_listing)
        if why is not None:
            self.pages.remember(why, page, answer, request)
            yield from self.pages.without_document(why, page, request)
            return
        other = self.pages.in_markdown(page, answer, request)
        if other is not None:
            yield from other
            return
        record = self.pages.record(page, answer, request)
        kept = self.suspects.keep(record, answer, request)
        if kept is not None:
            yield from kept
            return
        if (textless := self.pages.textless(record)) is not None:
            self.pages.remember(textless, page, answer, request)
        self.pages.compare(record, answer, request)
        yield from self.documents.parts(record, page.page.parts)  # before the page, which stands for them
        yield from self.documents.with_links(record, request, read=(answer, page))

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield the results of a page that failed: a request for another address, or the stored page."""
        yield from self.failures.of_download(*request_and_error(failure))

    async def parse_settled(self, response: Response) -> AsyncIterator[Any]:
        """Yield what the crawl knows without asking the site: full text, pages that waited, tombstones."""
        results = self.settled.popleft() if self.settled else ()  # none where a JOBDIR had the request
        if isinstance(results, Iterable):
            for result in results:
                yield result
            return
        async for result in results:
            yield result

    # --- pages that wait for their Markdown ---

    def has_no_markdown(self, failure: Failure) -> None:
        """Do nothing for a waiting page without Markdown: `held_pages` yields it."""

    async def held_pages(self) -> AsyncIterator[Any]:
        """Yield the documents of pages that waited: for Markdown that does not exist, or for evidence from other pages.

        Their links were followed. Markdown that is a stub, judged by all sizes of the host, is replaced by its HTML.
        """
        for page in self.run.pending_pages.take():
            url = page.record.url
            if page.lists_only and self.run.site.is_tag(url):
                self.pages.filter_listing(url, NAMED_AS_TAG)
                continue
            if page.read is not None and (fuller := await self._fuller(page.request, *page.read)) is not None:
                for result in self._document(
                    *fuller, page.request, self.documents.keeps_listing(page.request)
                ):
                    yield result
                continue
            start = bool(info(page.request).get("start"))
            for result in self.documents.of(page.record, start=start, confirmed=page.confirmed):
                yield result

    async def _fuller(
        self, request: Request, answer: PageResponse, page: PageResult
    ) -> tuple[PageResult | None, PageResponse] | None:
        """Return the HTML of a page in place of its Markdown, and the answer that it was read from, or None."""
        try:
            html, fuller = await self.reader.fuller.take(request, answer, page)
        except (ConversionError, RenderingError) as error:
            logger.info("%(url)s stays Markdown: %(error)s", {"url": request.url, "error": error})
            return None
        return None if html is answer else (fuller, html)

    # --- HTML that is fetched for its links ---

    async def parse_link_source(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the links of a page whose Markdown is a document already."""
        answer = PageResponse.from_response(response, now=utc_now())
        for request in await self.link_sources.links(request_of(response), answer):
            yield request

    def link_source_failed(self, failure: Failure) -> None:
        """Count a link source that failed."""
        self.link_sources.failed()

    async def parse_docsify_list(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the pages that a sidebar or the like of a Docsify site links to."""
        answer = PageResponse.from_response(response, now=utc_now())
        for request in await self.link_sources.docsify_links(request_of(response), answer):
            yield request

    def docsify_list_failed(self, failure: Failure) -> None:
        """Count a sidebar or the like that failed."""
        self.link_sources.docsify_list_failed(*request_and_error(failure))

    # --- full-text and llms files ---

    def parse_full_text_again(self, response: Response) -> AsyncIterator[Any]:
        """Yield the stored pages of a full-text file as it is now (`mode=refresh`)."""
        return self.full_texts.refreshed(request_of(response), response)

    def full_text_failed(self, failure: Failure) -> Iterator[Any]:
        """Count a full-text file that failed, and yield its stored pages or requests for them (`mode=refresh`)."""
        yield from self.full_texts.failed(*request_and_error(failure))

    # --- stored pages, at the end of the crawl ---

    async def parse_verification(self, response: Response) -> None:
        """Record the response of a stored page that nothing led to."""
        answer = PageResponse.from_response(response, now="")
        await self.verification.answered(request_of(response), answer)

    def verification_failed(self, failure: Failure) -> None:
        """Record that a stored page is gone, or keep it where that is not certain."""
        request, error = request_and_error(failure)
        self.verification.failed(request, kind_of_failure(error))


def request_of(response: Response) -> Request:
    """Return the request that a response answers."""
    return response.request if response.request is not None else Request(response.url)


def request_and_error(failure: Failure) -> tuple[Request, BaseException]:
    """Return the request and the exception of the failure that an errback is called with."""
    return failure.request, failure.value  # type: ignore[attr-defined,return-value]
