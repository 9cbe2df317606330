"""Responses that are handled without reading their bodies: errors, and pages that equal the stored ones."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from llmsspider.crawl.requests import info, is_plain
from llmsspider.crawl.settle import Drop
from llmsspider.errors import ConversionError, ErrorKind
from llmsspider.items import raw_hash
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import document_id, identity, page_key, split_route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from llmsspider.crawl.callbacks.documents import Documents, Failures
    from llmsspider.crawl.callbacks.link_sources import DocsifyPages
    from llmsspider.crawl.callbacks.pages import Pages
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.callbacks.suspects import SuspectAnswers
    from llmsspider.crawl.pages import PageResponse
    from llmsspider.crawl.run import Run
    from llmsspider.store import PageRecord

_BREAKS_OFF: tuple[ErrorKind, str] = (
    "network",
    "the page breaks off: it had an end tag or a last line end, and has none",
)
"""Error kind and message of a truncated page."""


@dataclass(slots=True)
class Answers:
    """Yields the results of answers whose bodies need not be read."""

    _run: Run
    _requests: PageRequests
    _documents: Documents
    _failures: Failures
    _suspects: SuspectAnswers
    _pages: Pages
    _docsify_pages: DocsifyPages

    async def results(self, request: Request, answer: PageResponse) -> Iterator[Any] | None:
        """Return the results of an answer that is an error or the stored page; None where its body has to be read."""
        error = self._error(answer)
        if error is _BREAKS_OFF:
            await self._see_broken_off(answer)
        if error is not None:
            return self._failures.of_page(request, *error, answer.status)
        self._failures.note_redirect(request)
        docsify = await self._docsify(request, answer)
        if docsify is not None:
            return docsify
        stored = self._stored(answer)
        if stored is not None:
            return self._same(stored, request, answer)
        again = await self._no_document_again(request, answer)
        return self._same(None, request, answer) if again is None and answer.status == 304 else again

    def as_stored(self, request: Request, answer: PageResponse) -> Iterator[Any]:
        """Yield the results of a page whose other form, such as the HTML of stub Markdown, equals the stored one."""
        return self._same(self._stored(answer), request, answer)

    def _error(self, answer: PageResponse) -> tuple[ErrorKind, str] | None:
        """Return (error kind, message) of a response that is no page or a truncated one, else None."""
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        if kind is not None:
            return kind, f"HTTP status {answer.status}"
        if answer.status == 304:
            return None
        if not answer.body.strip():
            return "http", "the answer is empty"
        state = self._run.known.state(page_key(answer.page_url))
        if (
            state is not None
            and state.has_end_tag
            and answer.is_form_of(state.origin)
            and self._run.memory.breaks_off(state.key, answer.body, answer.kind())
        ):
            return _BREAKS_OFF
        return None

    async def _see_broken_off(self, answer: PageResponse) -> None:
        """Record a response without its end tag as evidence: if it is a bot wall, so are others with the same text."""
        state = self._run.known.state(page_key(answer.page_url))
        suspect = None
        if state is not None:
            with contextlib.suppress(ConversionError):
                suspect = await self._suspects.see(answer, state)
        if suspect is not None:
            self._documents.site.wall(suspect)  # it counts as seen in this run

    async def _docsify(self, request: Request, answer: PageResponse) -> Iterator[Any] | None:
        """Return the request for the Markdown file of a Docsify site's page; None for any other page."""
        if answer.kind() != "html":
            return None
        site = await self._docsify_pages.learn(request, answer)
        is_route = bool(split_route(request.url)[1]) and self._run.site.docsify_of(request.url) is not None
        if is_route or (site is not None and site.is_history and info(request).get("alternate")):
            message = "HTML in place of its Markdown file"
            return self._failures.of_page(request, "not_found", message, answer.status)
        if site is None or self._run.arguments.render == "always" or info(request).get("alternate"):
            return None
        return self._requests.markdown_of(site.file_of(answer.page_url), request, [])

    def _same(self, stored: PageRecord | None, request: Request, answer: PageResponse) -> Iterator[Any]:
        """Yield the results of a response that equals the stored page; an error for a 304 without a stored page."""
        if stored is None:
            message = "HTTP status 304 for a page that is not stored"
            yield from self._failures.of_page(request, "http", message, 304)
            return
        self._renew(stored, request, answer)
        is_same = not self._documents.retitle(stored, is_start=bool(info(request).get("start")))
        confirmed = is_same and stored.key in self._run.known.states
        yield from self._documents.stored_parts(stored.url)
        yield from self._documents.with_links(stored, request, confirmed=confirmed)

    async def _no_document_again(self, request: Request, answer: PageResponse) -> Iterator[Any] | None:
        """Return the results of an unchanged page that was filtered before and is filtered again; None for any other.

        Where it may be a document now and this response has no body, the result is a request for the body.
        """
        run, listed = self._run, bool(info(request).get("listed"))
        is_whole = answer.status == 304 and info(request).get("whole")  # it was sent no validators
        found = run.readings.restored(answer, listed=listed) if is_plain(request) and not is_whole else None
        if found is None:
            return None
        reading, headers = found
        answer = replace(answer, headers=headers)
        page = reading.page()
        verdict = self._pages.verdict(page, answer, request)
        why = verdict if isinstance(verdict, Drop) else reading.textless
        waits = (
            why is not None and why.reason == "empty" and run.site.forms_of(request.url).is_open(request.url)
        )
        if why is None or waits or (why.reason, why.target) != (reading.why.reason, reading.why.target):
            return iter([self._requests.whole(request)]) if answer.status == 304 else None
        run.count("not-modified" if answer.status == 304 else "same-body")
        self._pages.learn_links(page, answer)
        seeds = await self._pages.described_by(reading.meta, answer)
        return chain(self._pages.without_document(why, page, request), seeds)

    def _stored(self, answer: PageResponse) -> PageRecord | None:
        """Return the stored page, under the requested address, if the response says it has not changed, else None."""
        run, key = self._run, page_key(answer.page_url)
        if answer.status == 304:
            stored = run.known.validated(answer.fetched_url)
        else:
            stored = run.known.state(key)
            if stored and not run.known.same_body(key, answer.fetched_url, raw_hash(answer.body)):
                stored = None
        if stored is None:
            run.recorded.forget(key)
            return None
        record = run.recorded.load(stored.key)
        if record is None:
            return None
        if answer.status == 304:
            run.count("not-modified")
        else:
            run.count("same-body")
        if stored is not run.known.state(key):  # its body was stored under another address
            record.id, record.url = document_id(run.source, answer.page_url), answer.page_url
            record.identity, record.content_hash = identity(answer.page_url), None
        return record

    def _renew(self, record: PageRecord, request: Request, answer: PageResponse) -> None:
        """Give a stored page the validators of this answer, and this run's depth, `discovered_by` and entry."""
        headers = answer.headers
        record.etag = headers.get("etag") or (record.etag if answer.status == 304 else None)
        modified = record.last_modified if answer.status == 304 else None
        record.last_modified = headers.get("last-modified") or modified
        record.validators_url, record.accept = answer.fetched_url, answer.accept
        record.status, record.fetched_at = 200, answer.fetched_at
        if not self._run.memory.keeps_findings:
            record.depth = int(request.meta.get("depth", 0))
            record.discovered_by = info(request).get("by", "link")
            record.llms = self._run.site.entries.get(identity(request.url))
