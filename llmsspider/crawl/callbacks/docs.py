"""The callbacks of the spider `docs`: what the crawl does with each response. Requests name them, in a JOBDIR too."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.crawl.callbacks.answers import Answers
from llmsspider.crawl.callbacks.documents import Documents, Failures, kind_of_failure
from llmsspider.crawl.callbacks.full_text import FullTextPages
from llmsspider.crawl.callbacks.link_sources import DocsifyPages, LinkSourcePages
from llmsspider.crawl.callbacks.pages import Pages
from llmsspider.crawl.callbacks.reading import MarkdownLinks, PageReader
from llmsspider.crawl.callbacks.requests import PageRequests
from llmsspider.crawl.callbacks.suspects import SuspectAnswers, Verification
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.records import utc_now
from llmsspider.crawl.spiderrun import ProjectSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

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
        if (
            type(self).parse is not DocsCallbacks.parse
        ):  # it is to see the document of each page with its response
            run.waiting.closed |= {"links", "tag", "stub"}
        self.requests = PageRequests(self, run)
        self.markdown_links = MarkdownLinks(run)
        self.reader = PageReader(crawler, run, self.markdown_links.joiner)
        docsify = DocsifyPages(crawler, run)
        self.link_sources = LinkSourcePages(self, run, self.requests, self.reader, docsify)
        self.documents = Documents(run, self.requests, self.link_sources)
        self.failures = Failures(run, self.requests, self.documents)
        self.suspects = SuspectAnswers(run, self.documents.site)
        self.pages = Pages(
            crawler, run, self.requests, self.documents, self.failures, self.suspects, self.reader
        )
        self.answers = Answers(
            run, self.requests, self.documents, self.failures, self.suspects, self.pages, docsify
        )
        self.full_texts = FullTextPages(
            run, self.requests, self.documents, self.suspects, self.markdown_links, reader=self.reader
        )
        self.verification = Verification(run, self.suspects)

    # --- pages ---

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the results of a page's response: an error, the page as it is stored, or the page that is read."""
        request, answer = request_of(response), PageResponse.from_response(response, now=utc_now())
        self.pages.count_named(request)
        ended = await self.answers.results(request, answer)
        if ended is None:
            async for result in self.pages.read(request, answer, self.answers.as_stored):
                yield result
            return
        for result in ended:
            yield result

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

    def has_no_markdown(self, failure: Failure) -> None:
        """Do nothing for a waiting page without Markdown: it is settled with the others that wait."""

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
