"""What the last phases of a crawl (`crawler/ending.py`) request and yield: pages that waited, and
stored pages.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from scrapy import Request
from w3lib.url import url_query_cleaner

from llmsspider.crawler.callbacks.documents import Documents
from llmsspider.crawler.callbacks.requests import FILE_NAME, PageRequests, kept_meta, once_more
from llmsspider.crawler.pages import PageResponse, leads_on
from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Coverage,
    KnownPages,
    Learners,
    Reporter,
    SiteKnowledge,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.requests import info, is_permanent
from llmsspider.crawler.settle import WaitingPage, reasons_with
from llmsspider.errors import ConversionError, ErrorKind, RenderingError
from llmsspider.store import PageState
from llmsspider.web.urls import identity, page_key

logger = logging.getLogger(__name__)


class EndOfCrawl(UsesRun):
    """Requests and settles the pages that waited for others, and verifies the stored pages that
    nothing led to.
    """

    addresses: Addresses
    bounds: Bounds
    coverage: Coverage
    documents: Documents
    has_no_markdown: Callable[..., Any]
    known: KnownPages
    learned: Learners
    pages: Any
    parse: Callable[..., Any]
    parse_verification: Callable[..., Any]
    report: Reporter
    requests: PageRequests
    site: SiteKnowledge
    verification_failed: Callable[..., Any]
    waiting: Waiting

    # --- pages that were not requested ---

    def decided(self) -> list[Request]:
        """Return requests that waited, but for pages of copies; those of trees that are not decided
        yet wait on.
        """
        bounds = self.bounds
        waiting = self.waiting
        urls = [page.request.url for page in waiting.pages("copy")]
        if samples := bounds.trees.samples(urls):
            taken = waiting.take("copy", where=lambda page: page.request.url in samples)
            return [page.request for page in taken]
        bounds.trees.accept_undecided(urls)
        taken = waiting.take("copy", where=lambda page: not bounds.is_undecided(page.request.url))
        return [page.request for page in taken if self.requests.admits(page.request.url)]

    def of_shapes(self) -> list[Request]:
        """Return requests that waited as addresses like theirs were no pages: a few of each shape,
        then all or none.

        A page whose query brings nothing is requested without it, where nothing else led there.
        """
        learned = self.bounds.learned
        samples = learned.last_samples(page.request.url for page in self.waiting.pages("shape"))
        requests = []
        for request in [page.request for page in self.waiting.take("shape")]:
            why = learned.refusal(request.url)
            if why is not None and samples and request.url not in samples:
                self.waiting.keep(WaitingPage("shape", request))
                continue
            if why is None or samples:
                requests.append(
                    request.replace(meta=kept_meta(request, asked=True), dont_filter=True)
                )
                continue
            self.report.filtered(request.url, *why)
            plain = self.addresses.page_of(url_query_cleaner(request.url, keep_fragments=True))
            if not self.addresses.requested(plain) and self.requests.admits(plain):
                requests.append(self.requests.in_place_of(request, plain))
        return requests

    def named_like_files(self) -> Iterator[Request]:
        """Yield the requests that waited as their pages are named like files, but for files."""
        for page in self.waiting.take("file"):
            if self.learned.file_names.is_page(page.request.url):
                yield page.request
            else:
                self.report.filtered(page.request.url, "file-type", FILE_NAME)

    def itself(self, url: str, depth: int) -> Request:
        """Return the request for a page that counts as no other, whatever it says."""
        return self.requests.page(url, by="link", depth=depth, listed=True, canonical=url).replace(
            dont_filter=True
        )

    # --- pages that were read or failed, and waited ---

    def given_up(self) -> Iterator[Any]:
        """Count as errors the failed pages for whose retry there was no time."""
        for page in self.waiting.take("failed"):
            if page.failure is not None:
                yield from self.documents.failed(page.request, *page.failure[1:])

    def markdown_requests(self) -> Iterator[Request]:
        """Yield a request for the Markdown of each page whose document waits for it, where its URL
        is known.
        """
        for waiting in self.waiting.pages("markdown"):
            record = waiting.record
            site = self.site
            if record is None or site.samples_of(record.url, "files").is_html:
                continue
            if site.forms_of(record.url).to_retry(record.url):
                own = {name: value for name, value in info(waiting.request).items() if name != "md"}
                own["held"] = True
                yield once_more(record.url, self.parse, self.has_no_markdown, own, record.depth)

    async def waiting_pages(self) -> AsyncIterator[Any]:
        """Yield the documents of pages that waited: for Markdown that does not exist, or for what
        other pages show.

        Their links were followed. Markdown that says less than its HTML, by samples of its form, is
        replaced by it.
        """
        reasons = reasons_with(until="read")
        first = self.waiting.take(*reasons, where=lambda page: not page.is_spelled_otherwise)
        for page in chain(first, self.waiting.take(*reasons)):
            html = page.answer
            fuller = page.read
            if html is not None and fuller is not None:
                try:
                    html, fuller = await self.pages.reader.fuller(page.request, html, fuller)
                except (ConversionError, RenderingError) as error:
                    why = {"url": page.request.url, "error": error}
                    logger.info("%(url)s stays Markdown: %(error)s", why)
            results: Iterable[Any] = self.documents.settled(page)
            if html is not None and html is not page.answer:
                results = self.pages.results_of(fuller, html, page.request)
            for one in results:
                yield one

    def walls(self) -> Iterator[Any]:
        """Yield the results of possible bot walls: an error and the stored page, or the page as it
        is now.
        """
        documents = self.documents
        for page in self.waiting.take("wall"):
            suspect = page.suspect
            record = page.record
            if suspect is None or record is None:
                continue
            wall = documents.questions.wall(suspect)
            if wall is not None:
                self.report.count("walls")
                self.report.failed(record.url, wall.kind, wall.message, record.status)
                self.known.record_outcome(suspect.key, "failed", wall.kind)
                yield from documents.in_place_of_failed(suspect.key, record.depth)
                continue
            if suspect.false_304:
                self.learned.false_304s.note(record.fetched_url)
            by = record.discovered_by
            depth = record.depth
            request = self.requests.page(
                record.url, by=by, depth=depth, start=suspect.start, held=True
            )
            documents.retitle(record, is_start=suspect.start)
            yield from documents.with_links(record, request)

    # --- stored pages that nothing led to ---

    def verification(self, state: PageState) -> Request:
        """Return the one request for a stored page that nothing led to this time."""
        own = {"verify": state.key.hex()}
        return once_more(
            state.own_url, self.parse_verification, self.verification_failed, own, state.depth
        )

    def verified(self, request: Request, answer: PageResponse) -> None:
        """Record what became of a stored page: an error, another address, or a page that nothing
        links to.
        """
        known = self.known
        key = bytes.fromhex(info(request)["verify"])
        own_url = known.states[key].own_url
        redirects = request.meta.get("redirect_urls")
        kind = answer.error_kind
        if kind is not None:
            self.not_verified(request, kind)
        elif redirects and identity(request.url) != identity(own_url):
            known.moved(
                key, page_key(self.addresses.page_of(request.url)), for_good=is_permanent(request)
            )
        elif answer.kind == "html" and (
            target := leads_on(answer.body, answer.fetched_url, answer.encoding)
        ):
            known.moved(key, self.addresses.page_at(target))
        elif self.coverage.unseen:
            known.record_outcome(key, "kept", "not-seen")
        else:
            known.record_outcome(key, "unlinked")

    def not_verified(self, request: Request, kind: ErrorKind) -> None:
        """Record that a stored page is gone, or keep it where that is not certain."""
        is_gone = kind == "not_found"
        key = bytes.fromhex(info(request)["verify"])
        self.known.record_outcome(
            key, "gone" if is_gone else "kept", "not-found" if is_gone else kind
        )
