"""The callbacks of the spider `docs`: what the crawl does with each response. Requests name them, in a JOBDIR too."""

from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from llmsspider.crawl.callbacks.documents import Documents, kind_of_failure
from llmsspider.crawl.callbacks.full_text import FullTextPages
from llmsspider.crawl.callbacks.link_sources import LinkSourcePages
from llmsspider.crawl.callbacks.pages import Pages
from llmsspider.crawl.callbacks.reading import PageReader, joiner
from llmsspider.crawl.callbacks.requests import PageRequests
from llmsspider.crawl.pages import PageResponse, leads_on
from llmsspider.crawl.records import utc_now
from llmsspider.crawl.requests import info, is_permanent
from llmsspider.crawl.run import Run
from llmsspider.crawl.spiderrun import ProjectSpider
from llmsspider.errors import ErrorKind
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key


class DocsCallbacks(ProjectSpider):
    """The callbacks and errbacks of every request of a crawl, and the objects that they call."""

    run: Run

    def connect(self, crawler: Crawler, run: Run) -> None:
        """Make the objects that the callbacks call; each gets the run and the other objects that it needs."""
        self.run = run
        self.settled: deque[Iterable[Any] | AsyncIterator[Any]] = deque()
        if type(self).parse is not DocsCallbacks.parse:  # it is to see each page's document with its response
            run.waiting.closed |= {"links", "tag", "stub"}
        self.requests = PageRequests(self, run)
        self.reader = PageReader(crawler, run, partial(joiner, run))
        self.link_sources = LinkSourcePages(self, run, self.requests, self.reader)
        self.documents = Documents(run, self.requests, self.link_sources)
        self.pages = Pages(run, self.requests, self.documents, self.reader, self.link_sources)
        self.full_texts = FullTextPages(run, self.requests, self.documents, self.reader)

    # --- pages ---

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the results of a page's response: an error, the page as it is stored, or the page that is read."""
        async for result in self.pages.results(*_answered(response)):
            yield result

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield the results of a page that failed: a request for another address, or the stored page."""
        yield from self.documents.download_failed(*_request_and_error(failure))

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
        for request in await self.link_sources.links(*_answered(response)):
            yield request

    def link_source_failed(self, failure: Failure) -> None:
        """Count a link source that failed; its page is a document already."""
        self.run.memory.link_sources.report(0)
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
        """Count a full-text file that failed, and yield its stored pages or requests for them (`mode=refresh`)."""
        yield from self.full_texts.failed(*_request_and_error(failure))

    # --- stored pages that nothing led to, at the end of the crawl ---

    def parse_verification(self, response: Response) -> None:
        """Record what became of a stored page: an error, another address, or a page that nothing links to."""
        run, (request, answer) = self.run, _answered(response)
        key = bytes.fromhex(info(request)["verify"])
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        if kind is not None:
            self._not_verified(request, kind)
        elif request.meta.get("redirect_urls") and identity(request.url) != identity(
            run.known.states[key].own_url
        ):
            run.known.moved(key, page_key(run.page_of(request.url)), for_good=is_permanent(request))
        elif answer.kind == "html" and (target := leads_on(answer.body, answer.fetched_url, answer.encoding)):
            run.known.moved(key, page_key(run.page_of(target)))
        elif run.coverage.unseen:
            run.known.record_outcome(key, "kept", "not-seen")
        else:
            run.known.record_outcome(key, "unlinked")

    def verification_failed(self, failure: Failure) -> None:
        """Record that a stored page is gone, or keep it where that is not certain."""
        request, error = _request_and_error(failure)
        self._not_verified(request, kind_of_failure(error))

    def _not_verified(self, request: Request, kind: ErrorKind) -> None:
        is_gone, key = kind == "not_found", bytes.fromhex(info(request)["verify"])
        self.run.known.record_outcome(key, "gone" if is_gone else "kept", "not-found" if is_gone else kind)


def _answered(response: Response) -> tuple[Request, PageResponse]:
    request = response.request if response.request is not None else Request(response.url)
    return request, PageResponse.from_response(response, now=utc_now())


def _request_and_error(failure: Failure) -> tuple[Request, BaseException]:
    """Return the request and the exception of the failure that an errback is called with."""
    return failure.request, failure.value  # type: ignore[attr-defined,return-value]
