"""What becomes of a page that could not be had: another address, a second chance, the stored page in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from llmsspider.callbacks.documents import DocumentCallbacks
from llmsspider.discovery import Answer
from llmsspider.download_errors import kind_of_exception
from llmsspider.errors import ErrorKind
from llmsspider.negotiation import is_markdown_url, page_candidates
from llmsspider.outcomes import kind_of_response
from llmsspider.pages import Answered
from llmsspider.refusal import FilteredRequest, RefusedRequest
from llmsspider.requests import META, info
from llmsspider.secondchance import Lost
from llmsspider.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class FailureCallbacks(DocumentCallbacks):
    """Errback of page requests, and the end of those that were lost for good."""

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Count a page that could not be had; yield the stored one in its place when it may be back tomorrow."""
        request: Request = failure.request  # type: ignore[attr-defined]
        error: BaseException = failure.value  # type: ignore[assignment]
        if isinstance(error, FilteredRequest):
            self.note_redirect(request)
            self.run.leave_out(request.url, error.verdict.reason, error.verdict.rule)
        elif isinstance(error, RefusedRequest) and error.reason == "ai-opt-out":
            self.note_redirect(request)
            self.run.leave_out(request.url, "ai-opt-out", str(error))
            self.run.known.fated(page_key(request.url), "dropped", "ai-opt-out")
        elif isinstance(error, RefusedRequest) and error.reason == "login" and not self._is_known(request):
            self.run.leave_out(request.url, "login", str(error))
        elif isinstance(error, HttpError):
            status = error.response.status
            yield from self.fail_page(request, kind_of_failure(error), f"HTTP status {status}", status)
        else:
            yield from self.fail_page(request, kind_of_failure(error), str(error) or type(error).__name__)

    def fail_page(
        self, request: Request, kind: ErrorKind, message: str, status: int | None = None
    ) -> Iterator[Any]:
        """Count the error of a page; a stored page that is not gone stays, and its stored links still lead on.

        A redirect that ends in an error has moved nothing: what is said of its end holds for all of its addresses,
        and it is the one asked for that is reported.
        """
        run = self.run
        other = self._other_address(request) if kind == "not_found" else None
        if other is not None:
            yield other
            return
        urls = [*request.meta.get("redirect_urls", ()), request.url]
        lost = Lost(self.again(request, urls[0]), urls[0], kind, message, status)
        if not info(request).get("late") and run.second_chance.keep(lost):
            return
        if kind == "not_found" and self._is_in_file_only(page_key(urls[0])):
            return
        run.fail(urls[0], kind, message if len(urls) == 1 else f"{message} at {request.url}", status)
        if kind == "not_found":
            self._remember_dead(request, urls[0])
        for key in dict.fromkeys(page_key(url) for url in urls):
            if kind == "not_found":
                run.known.fated(key, "gone", "not-found")
            else:
                run.known.fated(key, "failed", kind)
                yield from self.failed_page(key, request.meta.get("depth"))

    def _remember_dead(self, request: Request, url: str) -> None:
        """Remember a link that is not there, by its own address and by that of the page it was taken for."""
        page = info(request)
        if (
            page.get("by") == "link"
            and not page.get("listed")
            and self.run.known.state(page_key(url)) is None
        ):
            self.run.dead_links.died(url, *filter(None, (page.get("md"), page.get("dead"))))

    def _is_in_file_only(self, key: bytes) -> bool:
        """Say whether a page that is not there is one that only a full-text file ever held; it is taken from there."""
        run = self.run
        state = run.known.state(key)
        if key not in run.lagging.pages or (state is not None and state.origin != "llms-full"):
            return False
        run.lagging.missing.add(key)
        return True

    def _is_known(self, request: Request) -> bool:
        """Say whether a page was a document before, so that it may be one again tomorrow."""
        return self.run.known.state(page_key(request.meta.get("redirect_urls", [request.url])[0])) is not None

    def _other_address(self, request: Request) -> Request | None:
        """Return the request for another address of a page that is not there.

        That is the spelling that this run saw, or another page that a listed Markdown URL may belong to.
        """
        run, page = self.run, info(request)
        spelled = page.get("spelled")
        if spelled and not is_markdown_url(spelled):
            run.site.respelled.add(identity(spelled))
            meta = {**request.meta, META: {name: value for name, value in page.items() if name != "spelled"}}
            return request.replace(url=spelled, meta=meta, dont_filter=True)
        markdown = page.get("md") or page.get("dead")
        for url in page_candidates(markdown).values() if markdown else ():
            if run.requested(url) or not run.bounds.verdict(url, listed=page.get("listed", False)).allowed:
                continue
            entry = run.site.entries.get(identity(run.page_of(markdown or "")))
            if entry is not None:
                run.site.entries[identity(url)] = entry
            depth = int(request.meta.get("depth", 0))
            by, listed = page.get("by", "link"), page.get("listed", False)
            other = self.page_request(url, by=by, depth=depth, listed=listed, dead=markdown)
            info(other)["canonical"] = True  # the address it names may be the one that is not there
            return other
        return None

    def start_failed(self, start: Answer) -> Iterator[Any]:
        """Count the start page's error. Its stored links, if any, still lead on when the seeds are drained."""
        self.run.fail(start.url, start.error or "network", start.message or "", start.status or None)
        gone = start.error == "not_found"
        self.run.known.fated(
            page_key(start.final_url), "gone" if gone else "failed", "not-found" if gone else ""
        )
        return iter(())

    def note_redirect(self, request: Request) -> None:
        """Note stored pages that redirect to another page now."""
        for url in request.meta.get("redirect_urls", ()):
            if identity(url) != identity(request.url):
                self.run.known.moved(page_key(url), page_key(request.url), for_good=is_permanent(request))

    def parse_lost(self, response: Response) -> Iterator[Any]:
        """Give up the lost pages for which there was no time."""
        second_chance = self.run.second_chance
        for lost in second_chance.take(len(second_chance.waiting)):
            yield from self.fail_page(lost.request, lost.kind, lost.message, lost.status)


def is_permanent(request: Request) -> bool:
    """Say whether every redirect of a request is one for good (301, 308)."""
    return all(reason in {301, 308} for reason in request.meta.get("redirect_reasons", ()))


def kind_of_failure(error: BaseException) -> ErrorKind:
    """Return the error kind of what an errback was given."""
    if not isinstance(error, HttpError):
        return kind_of_exception(error)
    answered = Answered.from_response(error.response, now="")
    return kind_of_response(answered.status, answered.headers, answered.body) or "http"
