"""Pages that a full-text file of the site holds, which are not fetched; llms files that are
documents themselves.
"""

import asyncio
import io
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from io import SEEK_END
from itertools import islice, pairwise
from typing import Any, NamedTuple

from scrapy import Request

from llmsspider.content.links import Joiner
from llmsspider.content.markdown import Draft
from llmsspider.crawler.callbacks.documents import Documents, kind_of_failure
from llmsspider.crawler.callbacks.reading import PageReader
from llmsspider.crawler.callbacks.requests import PageRequests
from llmsspider.crawler.callbacks.suspects import SuspectAnswers
from llmsspider.crawler.full_text import own_text
from llmsspider.crawler.pages import PageResponse, PageResult, utc_now, with_valid_urls
from llmsspider.crawler.parts import (
    Addresses,
    ConversionPool,
    DocsArguments,
    KnownPages,
    Records,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    Suspects,
    UsesRun,
    Waiting,
)
from llmsspider.errors import ConversionError, RenderingError, TooLargePageError
from llmsspider.items import raw_hash
from llmsspider.site import llmsfull
from llmsspider.site.discovered import FetchResult, FullText
from llmsspider.site.llmsfull import FullPage, Leftover
from llmsspider.store import PageRecord, PageState
from llmsspider.web.urls import identity, page_key

logger = logging.getLogger(__name__)


class FullTextRecord(NamedTuple):
    """The address of a page, what the store keeps of it or why it could not be read; it is as
    stored where it is `confirmed`.
    """

    url: str
    record: PageRecord | Exception
    confirmed: bool = False


FULL_TEXT_BATCH = 16  # pages of a full-text file that are read at a time
# pages of a full-text file that are looked at to learn what its links are relative to
SAMPLED_PAGES = 32


class FullTextPages(UsesRun):
    """Yields the documents of the pages that full-text files hold, and the requests for their
    links.
    """

    addresses: Addresses
    arguments: DocsArguments
    documents: Documents
    known: KnownPages
    memory: SourceMemory
    reader: PageReader
    records: Records
    report: Reporter
    requests: PageRequests
    site: SiteKnowledge
    suspect_answers: SuspectAnswers
    suspects: Suspects
    waiting: Waiting
    workers: ConversionPool

    async def pages(self, *, lagging: bool = False) -> AsyncIterator[Any]:
        """Yield the pages of full-text files that do not lag; of those that do the pages answered
        with 404.
        """
        only = None
        if lagging:
            only = {
                page_key(page.failure.url) for page in self.waiting.take("in-file") if page.failure
            }
        for full_text in self._found():
            if (
                full_text.is_usable
                and bool(self.site.judged.of("full text", full_text.url).is_html) is lagging
            ):
                async for result in self._pages(full_text, only=only):
                    yield result

    async def whole(self) -> AsyncIterator[Any]:
        """Yield each full-text file as one document where no page came; with `follow=llms` the llms
        files.
        """
        as_files = self.arguments.follow == "llms"
        found = self.site.discovery.files if self.site.discovery else ()
        lists = [
            file for file in found if file.kind == "index" and (as_files or file.is_called_full)
        ]
        records = [self.records.of_index(file) for file in lists]
        indexes = [self.records.item(record, "new") for record in records]
        for document in indexes if as_files else ():
            yield document
        for full_text in self._found():
            async for result in self._whole_file(full_text):
                yield result
        if not as_files:
            for file, document in zip(lists, indexes, strict=True):
                self._log_whole(file.url, "it lists pages")
                yield document

    async def refreshed(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the stored pages of a full-text file as it is now (`mode=refresh`), and requests
        for the others.
        """
        states = self._stored_of_file(request.url)
        url = answer.fetched_url
        body = answer.body
        titles = {state.url: self.known.title(state.key) for state in states}
        full_text = FullText(
            states[0].fetched_url, FetchResult(url, url, 200, answer.headers, body)
        )
        full_text.report = await asyncio.to_thread(
            llmsfull.inspect, io.BytesIO(body), full_text.url, titles
        )
        if any(state.url == state.fetched_url for state in states):
            async for result in self._whole_file(full_text):
                yield result
        elif full_text.report.rule is not None:
            async for result in self._pages(full_text):
                yield result
        for state in states:
            if not self.addresses.requested(state.url):
                yield self.requests.stored(state)

    def failed(self, request: Request, error: BaseException) -> Iterator[Any]:
        """Count a full-text file that failed; its stored pages stay, or are requested when it is
        gone.
        """
        kind = kind_of_failure(error)
        self.report.failed(request.url, kind, str(error))
        for state in self._stored_of_file(request.url):
            if kind == "not_found":
                yield self.requests.stored(state)
            else:
                yield from self.documents.in_place_of_failed(state.key)

    def _found(self) -> list[FullText]:
        return self.site.discovery.full_texts if self.site.discovery else []

    def _stored_of_file(self, url: str) -> list[PageState]:
        states = self.known.states.values()
        return [
            state for state in states if state.origin == "llms-full" and state.fetched_url == url
        ]

    async def _whole_file(self, full_text: FullText) -> AsyncIterator[Any]:
        """Yield a full-text file as one document; one that is too long for that is filtered."""
        if full_text.report is None:
            return
        with full_text.answer.open() as body:
            try:
                page = await asyncio.to_thread(
                    llmsfull.read_whole, body, full_text.url, full_text.report
                )
            except llmsfull.UnsplittableError as error:
                self.report.filtered(full_text.url, "full-text-too-long", str(error))
                return
        self.addresses.requested_pages.add(page_key(full_text.url))
        if self.site.discovery is not None and self.arguments.follow != "llms":
            self._log_whole(full_text.url, full_text.why_whole)
        records = await self._records([(page, full_text.url)], full_text)
        for result in self._results(records, full_text):
            yield result

    async def _pages(
        self, full_text: FullText, *, only: set[bytes] | None = None
    ) -> AsyncIterator[Any]:
        if full_text.report is None:
            return
        await self.sample(full_text)
        with full_text.answer.open() as body:
            pieces = llmsfull.cut(body, full_text.report)
            if full_text.url in self.memory.unread_files:  # truncated in its last page
                pieces = (piece for piece, _ in pairwise(pieces))
            pages = self._wanted(pieces, full_text.url, only)
            batches = iter(lambda: list(islice(pages, FULL_TEXT_BATCH)), [])
            ahead: deque[asyncio.Task[list[FullTextRecord]]] = deque()
            try:
                while True:
                    while len(ahead) <= max(self.workers.workers, 1) and (
                        batch := next(batches, None)
                    ):
                        ahead.append(asyncio.ensure_future(self._records(batch, full_text)))
                    if not ahead:
                        break
                    for result in self._results(await ahead.popleft(), full_text):
                        yield result
            finally:
                for task in ahead:
                    task.cancel()

    async def sample(self, full_text: FullText) -> None:
        """Learn from the first pages of a file what the links of them all are relative to."""
        if full_text.report is None or not full_text.report.urls:
            return
        with full_text.answer.open() as body:
            pieces = llmsfull.cut(body, full_text.report)
            pages = (
                piece for piece in pieces if isinstance(piece, FullPage) and piece.url is not None
            )
            sample = list(islice(pages, SAMPLED_PAGES))
        drafts = await self.workers.read_texts([page.text for page in sample])
        bases = self.memory.link_bases
        for page, draft in zip(sample, drafts, strict=True):
            if page.url is not None and not isinstance(draft, ConversionError):
                url = self.addresses.page_of(page.url)
                bases.look(url, url, "llms-full", draft.hrefs)

    def _results(self, records: list[FullTextRecord], full_text: FullText) -> Iterator[Any]:
        file = full_text.url
        of_file = Request(file)
        for url, record, confirmed in records:
            if isinstance(record, Exception):
                self.report.failed(url, "parse", str(record))
                continue
            suspect = None if confirmed else self.suspect_answers.of(record, b"")
            is_cut = suspect is not None and suspect.cut and self._may_be_cut(url, full_text)
            wall = (
                self.documents.questions.wall(suspect) if suspect is not None and is_cut else None
            )
            if wall is not None:  # the page breaks off, and did not in earlier runs
                self.memory.unread(file)
                self.report.failed(url, wall.kind, wall.message)
                self.known.record_outcome(page_key(url), "failed", wall.kind)
                yield from self.documents.in_place_of_failed(page_key(url), record.depth)
            elif suspect is not None and suspect.rewriting is not None:
                suspect.cut = False
                self.suspects.see(suspect)
                yield from self.documents.kept_as_suspect(record, of_file, suspect)
            else:
                yield from self.documents.with_links(record, of_file, confirmed=confirmed)

    def _may_be_cut(self, url: str, full_text: FullText) -> bool:
        """Say whether a page may break off: the last one of a file without a last line end."""
        urls = [mark.url for mark in full_text.report.marks if mark.url] if full_text.report else []
        if urls and self.addresses.page_of(urls[-1]) != url:
            return False
        with full_text.answer.open() as body:
            size = body.seek(0, SEEK_END)
            body.seek(max(0, size - 1))
            return body.read() != b"\n"

    def _wanted(
        self, pieces: Iterable[FullPage | Leftover], file: str, only: set[bytes] | None
    ) -> Iterator[tuple[FullPage, str]]:
        """Yield the pages of a full-text file that are in scope and not known yet, each with its
        address.

        All other text is filtered, with its reason. With `only` those of these keys are yielded,
        and nothing is filtered.
        """
        left = set(only or ())
        for piece in pieces:
            url = (
                self.addresses.page_of(piece.url)
                if isinstance(piece, FullPage) and piece.url is not None
                else ""
            )
            if only is not None:
                if isinstance(piece, FullPage) and url and page_key(url) in left:
                    left.discard(page_key(url))
                    yield piece, url
            elif isinstance(piece, Leftover):
                beginning = " ".join(piece.text[:200].split())[:80]
                self.report.filtered(file, piece.reason, f"{piece.chars:,} characters: {beginning}")
            elif not url:
                why = f"{piece.title or 'a page'} has no usable address"
                self.report.filtered(file, "full-text-unaddressed", why)
            elif self.addresses.requested(url):
                self.report.filtered(
                    url, "full-text-repeated", f"{file} holds a page that was taken before"
                )
            elif self.requests.admits(url, listed=True):
                self.addresses.requested_pages.add(page_key(url))
                yield piece, url

    async def _records(
        self, batch: list[tuple[FullPage, str]], file: FullText
    ) -> list[FullTextRecord]:
        """Return the records of pages: the stored one where the text is the same, else as it is
        read.
        """
        found: dict[str, FullTextRecord] = {}
        for page, url in batch:
            try:
                if (stored := self._same_as_stored(page, url, file)) is not None:
                    found[url] = FullTextRecord(url, stored, confirmed=True)
            except Exception as error:  # whatever the error, it affects one page only
                found[url] = FullTextRecord(url, error)
        if fresh := [(page, url) for page, url in batch if url not in found]:
            self.report.count("converted", len(fresh))
            read = await self.workers.read_texts([own_text(page.text) for page, _ in fresh])
            for (page, url), one in zip(fresh, read, strict=True):
                try:
                    found[url] = await self._record_of(page, one, url, file)
                except Exception as error:
                    found[url] = FullTextRecord(url, error)
        return [found[url] for _, url in batch]

    async def _record_of(
        self, page: FullPage, read: Draft | ConversionError, url: str, file: FullText
    ) -> FullTextRecord:
        """Return what the store keeps of a page; raises `ConversionError`."""
        is_whole = page.rule == "whole"
        if isinstance(read, ConversionError):
            raise read
        try:
            join = (
                Joiner(file.url).join
                if is_whole
                else self.reader.joined(read, url, url, "llms-full", can_wait=False)
            )
            found = with_valid_urls(read.page(join))
        except TooLargePageError:
            self.report.count("too-large")
            raise
        held = PageResponse(url, file.url, 200, {}, b"", utc_now())
        result = PageResult(found, "llms-full")
        is_same: bool | None = None
        try:
            if not is_whole and self.reader.may_be_stub(found.markdown, url):
                beside = await self.reader.beside(Request(url), held, result)
                if beside.html is not None and beside.found.is_stub:
                    return self._from_html(url, *beside.html)
            if not is_whole:
                is_same = await self.reader.is_as_stored(Request(url), held, result)
        except RenderingError as error:
            logger.info("%(url)s stays as it is stored: %(error)s", {"url": url, "error": error})
            return self._from_html(url, held, None)
        self.reader.count(url, found)
        title = page.title
        entry = self.site.entries.get(identity(url))
        of_text = raw_hash(page.text.encode("utf-8", "surrogatepass"))
        record = self.records.of_full_text(
            found, of_text, url=url, title=title, file=file, entry=entry
        )
        self.documents.keep_text(record, is_same=is_same)
        return FullTextRecord(url, record)

    def _from_html(self, url: str, answer: PageResponse, html: PageResult | None) -> FullTextRecord:
        """Return the record of a page's HTML, the stored one where there is no result."""
        if html is None:
            stored = self.known.load(page_key(url))
            if stored is None:
                raise ConversionError("its HTML is not stored any more")
            return FullTextRecord(url, stored, confirmed=True)
        self.reader.count(url, html.page)
        entry = self.site.entries.get(identity(url))
        record = self.records.of_response(answer, html, depth=0, by="llms-full.txt", entry=entry)
        self.documents.keep_text(record)
        return FullTextRecord(url, record)

    def _same_as_stored(self, page: FullPage, url: str, file: FullText) -> PageRecord | None:
        text = page.text.encode("utf-8", "surrogatepass")
        record = self.documents.unchanged(PageResponse(url, file.url, 200, {}, text, ""))
        if record is not None:
            record.fetched_at = utc_now()
            if not self.memory.keeps_findings:
                entry = self.site.entries.get(identity(url))
                record.depth = 0
                record.discovered_by = "llms-full.txt"
                record.llms = entry
        return record

    def _log_whole(self, url: str, why: str) -> None:
        logger.info(
            "no page came of the site: %(url)s is one document (%(why)s)", {"url": url, "why": why}
        )
