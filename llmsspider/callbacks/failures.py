"""Pages that failed or cannot be believed yet: another address, a deferred retry, the stored page in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from llmsspider.callbacks.documents import DocumentCallbacks
from llmsspider.crawl.bot_walls import (
    MAX_NEW_TEXT,
    Suspect,
    fingerprint,
    has_lost_links,
    is_rewritten,
    is_shrunk,
    own_evidence,
)
from llmsspider.crawl.deferred import DeferredRetry
from llmsspider.crawl.page_checks import breaks_off, drop_reason
from llmsspider.crawl.page_comparison import compare_with_site
from llmsspider.crawl.pages import PageResponse, read_page
from llmsspider.crawl.records import answered_record
from llmsspider.discovery import FetchResult
from llmsspider.download_errors import FilteredRequest, RefusedRequest, kind_of_exception
from llmsspider.errors import ErrorKind
from llmsspider.items import content_hash
from llmsspider.requests import META, info, is_permanent
from llmsspider.web.markdown_forms import is_markdown_url, page_candidates
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.crawl.bot_walls import Wall
    from llmsspider.store import PageRecord, PageState


# What becomes of a page that could not be had: another address, a second chance, the stored page in its place.


class FailureCallbacks(DocumentCallbacks):
    """Errback of page requests, and the end of those that were lost for good."""

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Count a page that could not be had; yield the stored one in its place when it may be back tomorrow."""
        request: Request = failure.request  # type: ignore[attr-defined]
        error: BaseException = failure.value  # type: ignore[assignment]
        if isinstance(error, FilteredRequest):
            self.note_redirect(request)
            self.run.record_filtered(request.url, error.verdict.reason, error.verdict.rule)
        elif isinstance(error, RefusedRequest) and error.reason == "ai-opt-out":
            self.note_redirect(request)
            self.run.record_filtered(request.url, "ai-opt-out", str(error))
            self.run.known.record_outcome(page_key(request.url), "dropped", "ai-opt-out")
        elif isinstance(error, RefusedRequest) and error.reason == "login" and not self._is_known(request):
            self.run.record_filtered(request.url, "login", str(error))
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
        lost = DeferredRetry(self.again(request, urls[0]), urls[0], kind, message, status)
        if not info(request).get("late") and run.retries.keep(lost):
            return
        if kind == "not_found" and self._is_in_file_only(page_key(urls[0])):
            return
        run.fail(urls[0], kind, message if len(urls) == 1 else f"{message} at {request.url}", status)
        if kind == "not_found":
            self._remember_dead(request, urls[0])
        for key in dict.fromkeys(page_key(url) for url in urls):
            if kind == "not_found":
                run.known.record_outcome(key, "gone", "not-found")
            else:
                run.known.record_outcome(key, "failed", kind)
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

    def start_failed(self, start: FetchResult) -> Iterator[Any]:
        """Count the start page's error. Its stored links, if any, still lead on when the seeds are drained."""
        self.run.fail(start.url, start.error or "network", start.message or "", start.status or None)
        gone = start.error == "not_found"
        self.run.known.record_outcome(
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
        second_chance = self.run.retries
        for lost in second_chance.take(len(second_chance.waiting)):
            yield from self.fail_page(lost.request, lost.kind, lost.message, lost.status)


def kind_of_failure(error: BaseException) -> ErrorKind:
    """Return the error kind of what an errback was given."""
    if not isinstance(error, HttpError):
        return kind_of_exception(error)
    answered = PageResponse.from_response(error.response, now="")
    return kind_of_response(answered.status, answered.headers, answered.body) or "http"


# Answers that may stand in place of their page: they wait for the end of the crawl, see `crawl/bot_walls.py`.


class SuspectCallbacks(FailureCallbacks):
    """Holds back suspicious answers, and decides about them when all evidence is in."""

    def doubt(self, record: PageRecord, answered: PageResponse, request: Request) -> Iterator[Any] | None:
        """Return what a page leads to whose answer may be a wall, None for one that is taken as it is.

        Its stored links are followed at once, so that an outage of one page does not hide those behind it. The page
        itself waits; where nothing can wait, what is known by now counts.
        """
        run = self.run
        suspect = self.suspect(record, answered.body)
        if suspect is None:
            return None
        if suspect.cut:
            wall = run.suspects.evidence(suspect)
            is_half = wall is not None and not run.believes(suspect, wall)
            return (
                self.fail_page(request, wall.kind, wall.message, record.status) if wall and is_half else None
            )
        suspect.start = bool(info(request).get("start"))
        start = run.discovery.start if run.discovery is not None else None
        led = suspect.start and start is not None and start.url != start.final_url
        suspect.redirected = (led or "redirect_urls" in request.meta) and not run.bounds.is_linked(record.url)
        suspect.false_304 = run.known.is_false(record, answered.headers)
        run.suspects.see(suspect)
        if run.suspects.enabled:
            run.suspects.keep(suspect, record)
            return self._known_links(record)
        return self._judge(suspect, record)

    def half(self, suspect: Suspect | None) -> Wall | None:
        """Return what is to be said of a page that breaks off, None for one that did so in the last run too."""
        if suspect is None or not suspect.cut:
            return None
        wall = self.run.suspects.evidence(suspect)
        return None if wall is None or self.run.believes(suspect, wall) else wall

    def suspect(self, record: PageRecord, body: bytes) -> Suspect | None:
        """Return the suspect of an answer that is another text than stored, or new and short; else None."""
        run, text = self.run, record.content or ""
        state = run.known.state(record.key)
        if (
            state is None or state.source_hash is not None
        ):  # new, or stored as pipelines of the user altered it
            if not run.known.states or len(text) > MAX_NEW_TEXT or run.bounds.is_alike(record.url):
                return None
            if state is None or not self._is_same(record, state):
                return Suspect(
                    record.key, fingerprint(text), None, own_evidence("", text, record.title, body)
                )
            return None
        if state.markdown_hash is None or self._is_same(record, state):
            return None
        stored = run.store.load_page(state.key)
        return self._other_text(record, state, stored, body) if stored is not None else None

    @staticmethod
    def _is_same(record: PageRecord, state: PageState) -> bool:
        """Say whether a page is as it was, in its Markdown, or in the body that another rule made Markdown of."""
        in_markdown = state.markdown_hash == bytes.fromhex(content_hash(record.content or ""))
        return in_markdown or (
            state.raw_hash is not None and state.raw_hash == bytes.fromhex(record.raw_hash or "")
        )

    def _other_text(
        self, record: PageRecord, state: PageState, stored: PageRecord, body: bytes
    ) -> Suspect | None:
        """Return the suspect of an answer that is hardly an edition of the stored text, or ends too soon; else None."""
        run, text, before = self.run, record.content or "", stored.content or ""
        suspect = Suspect(state.key, fingerprint(text), state.content_hash)
        suspect.cut = not record.has_end_tag and breaks_off(before, text)
        if suspect.cut:
            return suspect
        if not is_rewritten(before, text) or self._is_missing(record):
            return None
        suspect.kind = own_evidence(before, text, record.title, body)
        is_empty = drop_reason(text, None, min_characters=run.config.min_characters)  # seen twice anyway
        shrunk = is_empty is None and is_shrunk(before, text)
        suspect.bare = shrunk or (is_empty is None and has_lost_links(stored.follow, record.follow))
        suspect.blank = shrunk and not record.follow
        return suspect

    def _is_missing(self, record: PageRecord) -> bool:
        """Say whether an answer is what the site shows for pages that it does not have."""
        reason = drop_reason(record.content or "", record.title, min_characters=0)
        is_shown = content_hash(record.content or "") in self.run.site.soft404_hashes
        return bool((reason and reason.reason == "soft-404") or is_shown)

    def _known_links(self, record: PageRecord) -> Iterator[Request]:
        """Yield requests for the links that a page has as it is stored, or else as it is."""
        state = self.run.known.state(record.key)
        known = record if state is None else self.run.store.load_page(state.key)
        if known is not None:
            yield from self.link_requests(known.follow, record.depth + 1, on=record.url)

    def parse_suspects(self, response: Response) -> Iterator[Any]:
        """Yield what the answers that waited lead to: an error and the stored page, or the page as it is now."""
        for suspect, record in self.run.suspects.take():
            yield from self._judge(suspect, record)

    def _judge(self, suspect: Suspect, record: PageRecord) -> Iterator[Any]:
        run = self.run
        wall = run.suspects.evidence(suspect)
        if wall is not None and not run.believes(suspect, wall):
            run.count("walls")
            run.fail(record.url, wall.kind, wall.message, record.status)
            run.known.record_outcome(suspect.key, "failed", wall.kind)
            yield from self.failed_page(suspect.key, record.depth)
            return
        if suspect.false_304:
            run.disbelieve(record.fetched_url)
        by, depth = record.discovered_by, record.depth
        request = self.page_request(record.url, by=by, depth=depth, start=suspect.start, held=True)
        compare_with_site(run, record, is_start=suspect.start)
        yield from self.page_results(record, request)

    async def look_at(self, answered: PageResponse, state: PageState) -> Suspect | None:
        """Take in as evidence what a stored page answers that is no document of this run; raises `ConversionError`."""
        run = self.run
        page = await read_page(answered, run.workers, listed=True)
        record = answered_record(
            run.source,
            answered,
            page,
            converter=run.config.converter_fingerprint,
            entry=None,
            depth=state.depth,
            by="link",
        )
        record.identity = identity(state.url)
        suspect = self.suspect(record, answered.body)
        if suspect is not None and suspect.before is not None:
            run.suspects.see(suspect)
            return suspect
        return None
