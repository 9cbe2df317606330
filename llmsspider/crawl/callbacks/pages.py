"""The answers of pages: errors, pages as they are stored, pages that are read; and pages that waited for evidence."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from scrapy import Request

from llmsspider.crawl.callbacks.documents import Documents
from llmsspider.crawl.callbacks.link_sources import LinkSourcePages
from llmsspider.crawl.callbacks.reading import PageReader, count_page, seen_beside, seen_suspect
from llmsspider.crawl.callbacks.rendering import MIN_ROUTES
from llmsspider.crawl.callbacks.requests import PageRequests
from llmsspider.crawl.link_bases import UnsettledError
from llmsspider.crawl.pages import (
    PageResponse,
    PageResult,
    markdown_alternate,
    named_llms_txt,
    refused_by_page,
)
from llmsspider.crawl.requests import EngineFetch, info, is_plain, kind_of_exception
from llmsspider.crawl.run import Run
from llmsspider.crawl.settle import (
    BESIDE_STORED,
    BY_ITSELF,
    Ask,
    Drop,
    Fail,
    ReadPage,
    Verdict,
    Wait,
    drop_reason,
    settle,
)
from llmsspider.crawl.waiting import WaitingPage
from llmsspider.errors import ConversionError, RenderingError, TooLargePageError
from llmsspider.items import HTML_ORIGINS, PageMeta
from llmsspider.site.discovered import Options
from llmsspider.site.discovery import read_described
from llmsspider.store import PageRecord
from llmsspider.web import page_forms
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key, split_route, usable, without_fragment

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Pages:
    """Yields the results of the answers of pages; settles pages by what they say, and by what is stored of them."""

    _run: Run
    _requests: PageRequests
    _documents: Documents
    _reader: PageReader
    _link_sources: LinkSourcePages

    async def results(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of a page's answer: an error, the page as it is stored, or the page that is read."""
        page = info(request)
        named_by, rule = page.get("canonical"), page.get("uncounted")
        if rule and named_by and identity(named_by) != identity(request.url):
            # the page in whose place this one was requested
            self._run.record_filtered(named_by, "canonical", rule)
            self._run.site.named_answers(request.url, is_found=True)
        unread = await self._unread(request, answer)
        if unread is None:
            async for result in self.read(request, answer):
                yield result
            return
        for result in unread:
            yield result

    # --- answers whose bodies need not be read ---

    async def _unread(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Return the results of an answer that is an error or the stored page; None where its body has to be read."""
        documents, is_304 = self._documents, answer.status == 304
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        if kind is not None:
            return documents.failed(request, kind, f"HTTP status {answer.status}", answer.status)
        if not is_304 and not answer.body.strip():
            return documents.failed(request, "http", "the answer is empty", answer.status)
        if not is_304 and await self._breaks_off(answer):
            why = "the page breaks off: it had an end tag or a last line end, and has none"
            return documents.failed(request, "network", why, answer.status)
        documents.note_redirect(request)
        if "#" in request.url or (answer.kind == "html" and b"docsify" in answer.body):
            docsify = await self._docsify(request, answer)
            if docsify is not None:
                return docsify
        stored = documents.unchanged(answer)
        again = await self._no_document_again(request, answer) if stored is None else None
        if stored is not None or (again is None and is_304):
            return documents.as_stored(stored, request, answer)
        return again

    async def _breaks_off(self, answer: PageResponse) -> bool:
        """Say whether the response of a stored page lacks the end that it had; its text is evidence of a wall."""
        run = self._run
        state = run.known.state(page_key(answer.page_url))
        if state is None or not (state.has_end_tag and answer.is_form_of(state.origin)):
            return False
        if not run.memory.breaks_off(state.key, answer.body, answer.kind):
            return False
        with suppress(ConversionError):
            suspect = await seen_beside(run, answer, state)
            if suspect is not None:
                self._documents.site.wall(suspect)  # it counts as seen in this run
        return True

    async def _docsify(self, request: Request, answer: PageResponse) -> Iterator[Any] | None:
        """Return the request for the Markdown file of a Docsify site's page; None for any other page."""
        if answer.kind != "html":
            return None
        site = await self._link_sources.learn_docsify(request, answer)
        is_alternate = info(request).get("alternate")
        is_route = bool(split_route(request.url)[1]) and self._run.site.docsify_of(request.url) is not None
        if is_route or (site is not None and site.is_history and is_alternate):
            message = "HTML in place of its Markdown file"
            return self._documents.failed(request, "not_found", message, answer.status)
        if site is None or self._run.arguments.render == "always" or is_alternate:
            return None
        return self._requests.markdown_of(site.file_of(answer.page_url), request, [])

    async def _no_document_again(self, request: Request, answer: PageResponse) -> Iterable[Any] | None:
        """Return the results of an unchanged page that is filtered as before, or request its body; None for others."""
        run, page, is_304 = self._run, info(request), answer.status == 304
        if not is_plain(request) or (is_304 and page.get("whole")):  # it was sent no validators
            return None
        found = run.readings.restored(answer, listed=bool(page.get("listed")))
        if found is None:
            return None
        reading, headers = found
        answer, result = replace(answer, headers=headers), reading.page()
        verdict = self._verdict(result, answer, request)
        why = verdict if isinstance(verdict, Drop) else reading.why if reading.why.reason == "empty" else None
        if why is not None and why.reason == "empty" and run.site.forms_of(request.url).is_open(request.url):
            why = None
        if why is None or (why.reason, why.target) != (reading.why.reason, reading.why.target):
            return [self._requests.whole(request)] if is_304 else None
        run.count("not-modified" if is_304 else "same-body")
        if (key := page_key(request.url)) not in run.ledger.left_out:
            run.ledger.no_documents[key] = request.url
        self._learn_links(result, answer)
        seeds = await self._described_by(reading.meta, answer)
        return chain(self._without_document(why, result, request), seeds)

    # --- pages that are read ---

    async def read(self, request: Request, answer: PageResponse) -> AsyncIterator[Any]:
        """Yield the results of an answer whose body has to be read: its document, and requests for its links."""
        run, documents = self._run, self._documents
        state, with_listings = run.known.state(page_key(request.url)), documents.keeps_listing(request)
        may_be_text = state is None or state.origin == "text"  # what was a page becomes no file of data
        listed = may_be_text and bool(info(request).get("listed"))
        try:
            read = self._reader.read(request, answer, listed=listed, with_listings=with_listings)
            answer, page = await read
        except UnsettledError as error:
            waiting = WaitingPage("links", request, answer=answer, group=str(error))
            run.waiting.keep(waiting, room=run.limit.left)
            return
        except (ConversionError, RenderingError) as error:
            run.count("converted")
            if isinstance(error, TooLargePageError):
                run.count("too-large")
            for result in documents.failed(request, kind_of_exception(error), str(error), answer.status):
                yield result
            return
        run.count("converted")
        for result in self._results_of(page, answer, request):
            yield result
        if page is None:
            return
        for seed in await self._described_by(page.page.meta, answer):
            yield seed
        if run.waiting.number("links"):
            async for result in self.with_settled_links():
                yield result

    async def with_settled_links(self, *, all_pages: bool = False) -> AsyncIterator[Any]:
        """Yield the pages that waited for what their links are relative to; with `all_pages` all evidence is in."""
        run, bases = self._run, self._run.memory.link_bases
        if all_pages:
            for group in {page.group for page in run.waiting.pages("links")}:
                bases.conclude(group)
        for page in run.waiting.take("links", where=lambda page: page.group in bases.decided):
            if page.answer is not None:
                async for result in self.read(page.request, page.answer):
                    yield result

    def _results_of(self, page: PageResult | None, answer: PageResponse, request: Request) -> Iterator[Any]:
        """Yield the results of a page that was read; None where its other form, such as HTML, is as stored."""
        run, documents = self._run, self._documents
        if page is None:
            yield from documents.as_stored(documents.unchanged(answer), request, answer)
            return
        count_page(run, answer.page_url, page.page)
        self._learn_links(page, answer)
        verdict = self._verdict(page, answer, request)
        if isinstance(verdict, Drop):
            self._remember(verdict, page, answer, request)
            yield from self._without_document(verdict, page, request)
            return
        if isinstance(verdict, Ask):
            yield from self._requests.markdown_of(verdict.url, request, page.page.follow)
            return
        record = self._record(page, answer, request)
        suspect = None if page.is_as_stored else seen_suspect(run, record, answer, request)
        verdict = settle(ReadPage(record.url, suspect=suspect), documents.site, BESIDE_STORED)
        if isinstance(verdict, Fail):
            yield from documents.failed(request, verdict.wall.kind, verdict.wall.message, record.status)
        elif isinstance(verdict, Wait):
            run.waiting.keep(WaitingPage(verdict.reason, request, record, suspect=suspect))
            # an outage of one page does not hide those behind it: links as they are stored, of a new page as it is
            state = run.known.state(record.key)
            known = record if state is None else run.store.load_page(state.key)
            if known is not None:
                yield from self._requests.links(known.follow, record.depth + 1, on=record.url)
        else:
            empty = drop_reason(record.content or "", None)
            if empty is not None:
                self._remember(Drop(*empty), page, answer, request)
            is_false = run.known.is_false(record, answer.headers)
            documents.retitle(record, is_start=bool(info(request).get("start")))
            is_false = is_false and run.known.is_false(record, answer.headers)
            if is_false:  # as it came, and as it would be stored
                run.memory.note_false_304(record.fetched_url)
            documents.keep_text(record, is_same=page.is_as_stored)
            yield from documents.parts(record, page.page.parts)  # before the page that stands for them
            yield from documents.with_links(record, request, read=(answer, page))

    # --- pages that waited ---

    def settled_walls(self) -> Iterator[Any]:
        """Yield the results of possible bot walls: an error and the stored page, or the page as it is now."""
        run, documents = self._run, self._documents
        for page in run.waiting.take("wall"):
            suspect, record = page.suspect, page.record
            if suspect is None or record is None:
                continue
            wall = documents.site.wall(suspect)
            if wall is not None:
                run.count("walls")
                run.fail(record.url, wall.kind, wall.message, record.status)
                run.known.record_outcome(suspect.key, "failed", wall.kind)
                yield from documents.in_place_of_failed(suspect.key, record.depth)
                continue
            if suspect.false_304:
                run.memory.note_false_304(record.fetched_url)
            by, depth = record.discovered_by, record.depth
            request = self._requests.page(record.url, by=by, depth=depth, start=suspect.start, held=True)
            documents.retitle(record, is_start=suspect.start)
            yield from documents.with_links(record, request)

    async def settled_pages(self) -> AsyncIterator[Any]:
        """Yield the documents of pages that waited: for Markdown that does not exist, or for what other pages show.

        Their links were followed. Markdown that says less than its HTML, by samples of its form, is replaced by it.
        """
        for page in self._run.waiting.take("markdown", "tag", "stub"):
            html, fuller = page.answer, page.read
            if html is not None and fuller is not None:
                try:
                    html, fuller = await self._reader.fuller(page.request, html, fuller)
                except (ConversionError, RenderingError) as error:
                    why = {"url": page.request.url, "error": error}
                    logger.info("%(url)s stays Markdown: %(error)s", why)
            results: Iterable[Any] = self._documents.settled(page)
            if html is not None and html is not page.answer:
                results = self._results_of(fuller, html, page.request)
            for one in results:
                yield one

    # --- pages that are no documents ---

    def _learn_links(self, page: PageResult, answer: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links too."""
        run, meta = self._run, page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            run.site.learn_routes(answer.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in HTML_ORIGINS:
            run.memory.link_bases.learn(page.page.follow, answer.page_url)

    def _verdict(self, page: PageResult, answer: PageResponse, request: Request) -> Verdict:
        """Settle a page by what it says of itself, and learn the tags that it names."""
        run, meta, asked = self._run, page.page.meta, info(request)
        is_worse = page.was_stub or run.site.samples_of(request.url, "files").is_html
        is_asked = is_worse or asked.get("alternate")
        is_stored = run.known.state(page_key(request.url)) is not None
        is_listed = asked.get("listed") or run.site.is_listed(request.url)
        facts = ReadPage(
            request.url,
            meta,
            refused=page.filtered
            or refused_by_page(meta, answer, run.config)
            or run.bounds.refusal_by_links(request.url, usable(page.page.follow)),
            with_slash=page_forms.with_slash(request.url, answer.fetched_url),
            is_only_linked=not (is_stored or asked.get("start") or is_listed),
            is_named=bool(asked.get("canonical")),
            markdown=None if is_asked else markdown_alternate(page, answer),
            is_wanted=self._documents.keeps_listing(request),
        )
        verdict = settle(facts, self._documents.site, BY_ITSELF)
        if not isinstance(verdict, Drop) or verdict.reason == "listing":
            run.site.learn_tags(usable(meta.tags))
        return verdict

    def _remember(self, why: Drop, page: PageResult, answer: PageResponse, request: Request) -> None:
        """Keep what was read of a page that is no document, for a 304 in a later run."""
        if is_plain(request):
            self._run.readings.keep(why, page, answer, listed=bool(info(request).get("listed")))

    def _without_document(self, why: Drop, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the results of a page that is no document: other pages in its place, its links, or nothing."""
        run, key, target = self._run, page_key(request.url), why.target
        if target is not None:
            is_spelling = why.reason == "canonical"
            run.known.moved(key, page_key(target))
            depth = int(request.meta.get("depth", 0))
            run.counts_as[key] = page_key(run.page_of(target)), request.url, depth
            run.bounds.trees.redirected(request.url, target)
            uncounted = why.rule if is_spelling else None
            requested = list(self._requests.instead(target, request, uncounted=uncounted))
            if not (is_spelling and requested):
                run.record_filtered(request.url, why.reason, why.rule)
            yield from requested
            return
        run.record_filtered(request.url, why.reason, why.rule)
        may_come = why.reason == "needs-browser"  # in the next run
        run.known.record_outcome(key, "failed" if may_come else "dropped", why.reason)
        if may_come:
            yield from self._documents.in_place_of_failed(key, request.meta.get("depth"))
        elif why.reason in {"listing", "empty"}:
            depth = int(request.meta.get("depth", 0)) + 1
            links = list(self._requests.links(page.page.follow, depth, on=request.url))
            new = [link.url for link in links if run.known.state(page_key(link.url)) is None]
            if not all(map(run.memory.dead_links.was_dead, new)):  # no earlier run knew them
                run.bounds.learned.leads_on(request.url)
            yield from links

    def _record(self, page: PageResult, answer: PageResponse, request: Request) -> PageRecord:
        """Return the record of a page, with this run's depth, `discovered_by` and entry.

        Its address is spelled as it is stored, or else as a list, its canonical link, or the shortest link spells it.
        """
        run = self._run
        by, depth = info(request).get("by", "link"), int(request.meta.get("depth", 0))
        entry = run.site.entries.get(identity(request.url))
        record = run.records.of_response(answer, page, depth=depth, by=by, entry=entry)
        url, canonical, plain = record.url, page.page.meta.canonical, identity(record.url)
        if run.known.state(page_key(url)) is None and not run.site.is_listed(url):
            if canonical and identity(canonical) == plain:
                record.url = without_fragment(canonical)
            elif len(plain) < len(url) and plain in run.bounds.links:
                record.url = plain
        return record

    # --- an llms.txt that a page names ---

    async def _described_by(self, meta: PageMeta, answer: PageResponse) -> list[Request]:
        """Return requests for the seeds of an llms.txt that only this page names (`rel=describedby`)."""
        run = self._run
        url = named_llms_txt(meta, answer)
        if url is None or run.discovery is None or not run.follows_links:
            return []
        known = len(run.discovery.cut)
        fetch = EngineFetch(self._reader.crawler, run)
        seeds = await read_described(fetch, url, run.discovery, Options())
        for cut in run.discovery.cut[known:]:
            run.record_filtered(cut.url, cut.reason, cut.rule)
        for seed in seeds:
            run.site.enter(seed)
        return [request for seed in seeds if (request := self._requests.seed(seed)) is not None]
