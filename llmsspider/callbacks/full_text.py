"""Pages that files of the site hold already: full text, and the llms files themselves."""

from __future__ import annotations

import asyncio
import io
import logging
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from llmsspider import llmsfull
from llmsspider.callbacks.pages import PageCallbacks
from llmsspider.callbacks.requests import request_of
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.records import full_text_hash, full_text_record, llms_file_record, utc_now
from llmsspider.discovery import FetchResult, FullText
from llmsspider.download_errors import kind_of_exception
from llmsspider.errors import ConversionError, TooLargePageError
from llmsspider.llmsfull import FullPage, Leftover
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.discovery import LlmsFile
    from llmsspider.items import Document
    from llmsspider.markdown import Draft
    from llmsspider.store import PageRecord, PageState


logger = logging.getLogger(__name__)

FullTextRecord = tuple[str, "PageRecord | Exception", bool]
"""The address of a page, what the store keeps of it or why it could not be read, and whether it is as stored."""

FULL_TEXT_BATCH = 16
"""Pages of a full-text file that are read at a time."""


SAMPLED_PAGES = 32
"""Pages of a full-text file that are looked at to learn what its links are relative to."""


class FullTextCallbacks(PageCallbacks):
    """Callbacks that yield the pages of full-text files, which are not fetched again."""

    async def parse_full_texts(self, response: Response) -> AsyncIterator[Any]:
        """Yield the pages of the full-text files that discovery found; they are not fetched again."""
        discovery = self.run.discovery
        for full_text in discovery.full_texts if discovery else ():
            if full_text.is_usable and not self.run.lags(full_text.url):
                async for result in self._full_text_pages(full_text):
                    yield result

    async def parse_lagging_full_texts(self, response: Response) -> AsyncIterator[Any]:
        """Yield the pages of full-text files that lag which are not there themselves."""
        run = self.run
        discovery = run.discovery
        for full_text in discovery.full_texts if discovery else ():
            if full_text.is_usable and run.lags(full_text.url):
                async for result in self._full_text_pages(full_text, only=run.lagging.missing):
                    yield result

    async def parse_whole_full_texts(self, response: Response) -> AsyncIterator[Any]:
        """Yield each full-text file as one document: no page of the site could be had."""
        discovery = self.run.discovery
        for full_text in discovery.full_texts if discovery else ():
            async for result in self._whole_file(full_text):
                yield result
        if self.run.arguments.follow != "llms":
            for file in discovery.files if discovery else ():
                if file.kind == "index" and file.is_called_full:
                    self._say_whole(file.url, "it lists pages")
                    yield self._llms_file(file)

    async def parse_full_text_again(self, response: Response) -> AsyncIterator[Any]:
        """Yield the stored pages of a full-text file, as it is now (`mode=refresh`); the rest is asked for itself."""
        run = self.run
        states = self._pages_of_file(request_of(response).url)
        titles = {state.url: run.store.title(state.key) or "" for state in states}
        is_whole = any(state.url == state.fetched_url for state in states)
        answer = FetchResult(
            response.url, response.url, 200, PageResponse.from_response(response, now="").headers
        )
        answer.body = response.body
        full_text = FullText(states[0].fetched_url, answer)
        full_text.report = await asyncio.to_thread(
            llmsfull.inspect, io.BytesIO(response.body), full_text.url, titles
        )
        if is_whole:
            async for result in self._whole_file(full_text):
                yield result
        elif full_text.report.rule is not None:
            async for result in self._full_text_pages(full_text):
                yield result
        for state in states:
            if not run.requested(state.url):
                yield self.stored_request(state)

    def full_text_failed(self, failure: Failure) -> Iterator[Any]:
        """Count a full-text file that could not be had; its stored pages stay, or are asked for when it is gone."""
        request: Request = failure.request  # type: ignore[attr-defined]
        kind = kind_of_exception(failure.value)  # type: ignore[arg-type]
        if isinstance(failure.value, HttpError):
            answered = PageResponse.from_response(failure.value.response, now="")
            kind = kind_of_response(answered.status, answered.headers, answered.body) or "http"
        self.run.fail(request.url, kind, str(failure.value))
        for state in self._pages_of_file(request.url):
            if kind == "not_found":
                yield self.stored_request(state)
            else:
                yield from self.failed_page(state.key)

    def _pages_of_file(self, url: str) -> list[PageState]:
        states = self.run.known.states.values()
        return [state for state in states if state.origin == "llms-full" and state.fetched_url == url]

    async def _whole_file(self, full_text: FullText) -> AsyncIterator[Any]:
        """Yield a full-text file as one document; one that is too long for that is left out."""
        if full_text.report is None:
            return
        with full_text.answer.open() as body:
            try:
                page = await asyncio.to_thread(llmsfull.read_whole, body, full_text.url, full_text.report)
            except llmsfull.UnsplittableError as error:
                self.run.record_filtered(full_text.url, "full-text-too-long", str(error))
                return
        self.run.remember(page_key(full_text.url))
        if self.run.discovery is not None and self.run.arguments.follow != "llms":
            self._say_whole(full_text.url, full_text.why_whole)
        for result in self._results(await self._records([(page, full_text.url)], full_text), full_text.url):
            yield result

    async def _full_text_pages(
        self, full_text: FullText, *, only: set[bytes] | None = None
    ) -> AsyncIterator[Any]:
        if full_text.report is None:
            return
        await self.sample_full_text(full_text)
        with full_text.answer.open() as body:
            pieces = llmsfull.cut(body, full_text.report)
            if full_text.url in self.run.previous_discovery.lost:  # it breaks off, in its last page
                pieces = _all_but_last(pieces)
            pages = self._wanted(pieces, full_text.url) if only is None else self._among(pieces, only)
            batches = iter(lambda: list(islice(pages, FULL_TEXT_BATCH)), [])
            ahead: deque[asyncio.Task[list[FullTextRecord]]] = deque()
            try:
                while True:
                    while len(ahead) <= max(self.run.workers.workers, 1) and (batch := next(batches, None)):
                        ahead.append(asyncio.ensure_future(self._records(batch, full_text)))
                    if not ahead:
                        break
                    for result in self._results(await ahead.popleft(), full_text.url):
                        yield result
            finally:
                for task in ahead:
                    task.cancel()

    async def sample_full_text(self, full_text: FullText) -> None:
        """Look at the first pages of a file, and decide what the links of them all are relative to."""
        if full_text.report is None or not full_text.report.urls:
            return
        with full_text.answer.open() as body:
            pieces = llmsfull.cut(body, full_text.report)
            pages = (piece for piece in pieces if isinstance(piece, FullPage) and piece.url is not None)
            sample = list(islice(pages, SAMPLED_PAGES))
        drafts = await self.run.workers.read_texts([page.text for page in sample])
        self.markdown_links.sample(
            (
                (self.run.page_of(page.url), draft)
                for page, draft in zip(sample, drafts, strict=True)
                if page.url is not None and not isinstance(draft, ConversionError)
            ),
            "llms-full",
        )

    def _results(self, records: list[FullTextRecord], file: str) -> Iterator[Any]:
        for url, record, confirmed in records:
            half = (
                None if confirmed or isinstance(record, Exception) else self.half(self.suspect(record, b""))
            )
            if isinstance(record, Exception):
                self.run.fail(url, "parse", str(record))
            elif half is not None:
                self.run.previous_discovery.broke_off(file)
                self.run.fail(url, half.kind, half.message)
                self.run.known.record_outcome(page_key(url), "failed", half.kind)
                yield from self.failed_page(page_key(url), record.depth)
            else:
                yield from self.page_results(record, Request(url), confirmed=confirmed)

    def _wanted(self, pieces: Iterable[FullPage | Leftover], file: str) -> Iterator[tuple[FullPage, str]]:
        """Yield the pages of a full-text file that are in scope and not known yet, each with its address.

        All other text of the file is left out under its reason.
        """
        run = self.run
        for piece in pieces:
            if isinstance(piece, Leftover):
                run.record_filtered(
                    file, piece.reason, f"{piece.chars:,} characters: {_beginning(piece.text)}"
                )
                continue
            if piece.url is None:
                run.record_filtered(
                    file, "full-text-unaddressed", f"{piece.title or 'a page'} has no usable address"
                )
                continue
            url = run.page_of(piece.url)
            if run.requested(url):
                run.record_filtered(url, "full-text-repeated", f"{file} holds a page that was taken before")
            elif self.admits(url, listed=True):
                run.remember(page_key(url))
                yield piece, url

    def _among(
        self, pieces: Iterable[FullPage | Leftover], keys: set[bytes]
    ) -> Iterator[tuple[FullPage, str]]:
        """Yield the pages of a full-text file that have one of the keys, each with its address, once."""
        left = set(keys)
        for piece in pieces:
            if isinstance(piece, FullPage) and piece.url is not None:
                url = self.run.page_of(piece.url)
                if page_key(url) in left:
                    left.discard(page_key(url))
                    yield piece, url

    async def _records(self, batch: list[tuple[FullPage, str]], file: FullText) -> list[FullTextRecord]:
        """Return the records of pages: the stored one where the text is the same, else as it is read."""
        run = self.run
        found: dict[str, FullTextRecord] = {}
        for page, url in batch:
            try:
                if (stored := self._same_as_stored(page, url, file)) is not None:
                    found[url] = url, stored, True
            except Exception as error:  # whatever it is, it is told of one page
                found[url] = url, error, False
        fresh = [(page, url) for page, url in batch if url not in found]
        if fresh:
            run.count("converted", len(fresh))
            drafts = await run.workers.read_texts([page.text for page, _url in fresh])
            for (page, url), draft in zip(fresh, drafts, strict=True):
                found[url] = url, await self._record_of(page, draft, url, file), False
        return [found[url] for _, url in batch]

    async def _record_of(
        self, page: FullPage, draft: Draft | ConversionError, url: str, file: FullText
    ) -> PageRecord | Exception:
        run = self.run
        if isinstance(draft, ConversionError):
            return draft
        is_page = page.rule != "whole"
        join = (
            await self.markdown_links.joiner(draft, url, url, "llms-full")
            if is_page
            else Joiner(file.url).join
        )
        try:
            read = draft.page(join, keep_hidden=run.workers.keep_hidden, max_growth=run.workers.max_growth)
        except TooLargePageError as error:
            run.count("too-large")
            return error
        run.count_hidden(read)
        entry, converter = run.site.entries.get(identity(url)), run.config.converter_fingerprint
        try:
            return full_text_record(
                run.source, page, read, url=url, file=file, converter=converter, entry=entry, now=utc_now()
            )
        except Exception as error:
            return error

    def _same_as_stored(self, page: FullPage, url: str, file: FullText) -> PageRecord | None:
        run, key = self.run, page_key(url)
        state = run.known.state(key)
        if state is None or not run.known.same_body(key, file.url, full_text_hash(page)):
            return None
        record = run.store.load_page(state.key)
        if record is not None:
            run.count("same-body")
            record.fetched_at = utc_now()
            if not run.keeps_findings:
                entry = run.site.entries.get(identity(url))
                record.depth, record.discovered_by, record.llms = 0, "llms-full.txt", entry
        return record

    async def parse_llms_files(self, response: Response) -> AsyncIterator[Any]:
        """Yield the llms files themselves as documents (`follow=llms`): indexes, then full-text files, each whole."""
        run = self.run
        for file in run.discovery.files if run.discovery else ():
            if file.kind == "index":
                yield self._llms_file(file)
        async for result in self.parse_whole_full_texts(response):
            yield result

    def _say_whole(self, url: str, why: str) -> None:
        logger.info(
            "no page could be had: %(url)s is one document (%(why)s)",
            {"url": url, "why": why},
            extra={"spider": self},
        )

    def _llms_file(self, file: LlmsFile) -> Document:
        run = self.run
        record = llms_file_record(run.source, file, converter=run.config.converter_fingerprint, now=utc_now())
        return record.item(source=run.source, run=run.id, change="new")


def _beginning(text: str) -> str:
    return " ".join(text[:200].split())[:80]


def _all_but_last(pieces: Iterable[FullPage | Leftover]) -> Iterator[FullPage | Leftover]:
    """Yield the pieces of a file without the last one."""
    before: FullPage | Leftover | None = None
    for piece in pieces:
        if before is not None:
            yield before
        before = piece
