"""Pages that failed: another address of theirs, a retry at the end of the crawl, or the stored page in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from llmsspider.crawl.deferred import DeferredRetry
from llmsspider.crawl.download_errors import FilteredRequest, RefusedRequest, kind_of_exception
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.requests import info, is_permanent
from llmsspider.errors import TooLargePageError
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from llmsspider.crawl.callbacks.documents import Documents
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.run import Run
    from llmsspider.errors import ErrorKind
    from llmsspider.site.discovery import FetchResult


class Failures:
    """Counts pages that failed, and yields other requests for them or their stored documents.

    Args:
        run: the run.
        requests: makes the requests that try once more.
        documents: yields the stored pages.
    """

    def __init__(self, run: Run, requests: PageRequests, documents: Documents):
        self._run = run
        self._requests = requests
        self._documents = documents

    def of_download(self, request: Request, error: BaseException) -> Iterator[Any]:
        """Yield the results of a page whose download ended in an exception.

        A request that a middleware filtered is counted as filtered; every other exception is an error of the page.
        """
        run = self._run
        if isinstance(error, FilteredRequest):
            self.note_redirect(request)
            run.record_filtered(request.url, error.verdict.reason, error.verdict.rule)
        elif isinstance(error, RefusedRequest) and error.reason == "ai-opt-out":
            self.note_redirect(request)
            run.record_filtered(request.url, "ai-opt-out", str(error))
            run.known.record_outcome(page_key(request.url), "dropped", "ai-opt-out")
        elif isinstance(error, RefusedRequest) and error.reason == "login" and not self._is_stored(request):
            run.record_filtered(request.url, "login", str(error))
        elif isinstance(error, HttpError):
            status = error.response.status
            yield from self.of_page(request, kind_of_failure(error), f"HTTP status {status}", status)
        else:
            yield from self.of_page(request, kind_of_failure(error), str(error) or type(error).__name__)

    def of_page(
        self, request: Request, kind: ErrorKind, message: str, status: int | None = None
    ) -> Iterator[Any]:
        """Yield the results of a page that failed: another address, or, unless it is gone, the stored page.

        A redirect that ends in an error has moved nothing: the error holds for all its addresses, and is reported
        with the first one. A transient error is not counted yet; the page is retried at the end of the crawl.

        Args:
            request: the page's request.
            kind: of the error.
            message: one line.
            status: of the response, where there is one.
        """
        run = self._run
        other = self._requests.other_address(request) if kind == "not_found" else None
        if other is not None:
            yield other
            return
        urls = [*request.meta.get("redirect_urls", ()), request.url]
        retry = DeferredRetry(self._requests.retry(request, urls[0]), urls[0], kind, message, status)
        if not info(request).get("late") and run.retries.keep(retry):
            return
        if kind == "not_found" and self._is_in_file_only(page_key(urls[0])):
            return
        run.fail(urls[0], kind, message if len(urls) == 1 else f"{message} at {request.url}", status)
        if kind == "not_found":
            self._remember_dead(request, urls[0])
            self._run.bounds.no_page(urls[0])
        for key in dict.fromkeys(page_key(url) for url in urls):
            if kind == "not_found":
                run.known.record_outcome(key, "gone", "not-found")
            else:
                run.known.record_outcome(key, "failed", kind)
                yield from self._documents.in_place_of_failed(key, request.meta.get("depth"))

    def given_up(self) -> Iterator[Any]:
        """Count as errors the failed pages for whose retry there was no time."""
        for retry in self._run.retries.take(len(self._run.retries.waiting)):
            yield from self.of_page(retry.request, retry.kind, retry.message, retry.status)

    def unreadable(self, request: Request, answer: PageResponse, error: Exception) -> Iterator[Any]:
        """Yield the results of a page whose body could not be read."""
        if isinstance(error, TooLargePageError):
            self._run.count("too-large")
        yield from self.of_page(request, kind_of_exception(error), str(error), answer.status)

    def of_start_page(self, start: FetchResult) -> None:
        """Count the error of the start page. Its stored links are followed with those of the other stored pages."""
        self._run.fail(start.url, start.error or "network", start.message or "", start.status or None)
        gone = start.error == "not_found"
        self._run.known.record_outcome(
            page_key(start.final_url), "gone" if gone else "failed", "not-found" if gone else ""
        )

    def note_redirect(self, request: Request) -> None:
        """Record the addresses that redirect to another page: stored ones moved."""
        for url in request.meta.get("redirect_urls", ()):
            if identity(url) != identity(request.url):
                self._run.bounds.redirected(url, request.url)
                self._run.known.moved(page_key(url), page_key(request.url), for_good=is_permanent(request))

    def _remember_dead(self, request: Request, url: str) -> None:
        """Record a dead link by its own URL and by those of the page that it was resolved to."""
        page = info(request)
        if (
            page.get("by") == "link"
            and not page.get("listed")
            and self._run.known.state(page_key(url)) is None
        ):
            self._run.memory.dead_links.died(url, *filter(None, (page.get("md"), page.get("dead"))))

    def _is_in_file_only(self, key: bytes) -> bool:
        """Say whether a page that is not found is in a full-text file that lags; it is taken from there then."""
        run = self._run
        state = run.known.state(key)
        if key not in run.memory.lagging.pages or (state is not None and state.origin != "llms-full"):
            return False
        run.memory.lagging.missing.add(key)
        return True

    def _is_stored(self, request: Request) -> bool:
        """Say whether a page was a document before, so that it may be one again in a later run."""
        return (
            self._run.known.state(page_key(request.meta.get("redirect_urls", [request.url])[0])) is not None
        )


def kind_of_failure(error: BaseException) -> ErrorKind:
    """Return the error kind of the exception that an errback was called with."""
    if not isinstance(error, HttpError):
        return kind_of_exception(error)
    answer = PageResponse.from_response(error.response, now="")
    return kind_of_response(answer.status, answer.headers, answer.body) or "http"
