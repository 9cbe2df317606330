"""What the answer for a page leads to: its document, its links, another page, or an error."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.callbacks.failures import SuspectCallbacks
from llmsspider.callbacks.html_forms import LinkSourceCallbacks
from llmsspider.callbacks.rendering import MIN_ROUTES
from llmsspider.callbacks.requests import request_of
from llmsspider.crawl.full_text_lag import keep_text_of_file
from llmsspider.crawl.page_comparison import compare_with_site
from llmsspider.crawl.pages import (
    PageResponse,
    PageResult,
    markdown_alternate,
    named_llms_txt,
    read_page,
    refused_by_page,
    same_page_elsewhere,
)
from llmsspider.crawl.records import answered_record, utc_now
from llmsspider.discovery import Options, read_described
from llmsspider.download_errors import kind_of_exception
from llmsspider.errors import ConversionError, ErrorKind, RenderingError, TooLargePageError
from llmsspider.items import Page, PageMeta, raw_hash
from llmsspider.reasons import Filtered, FilterReason
from llmsspider.requests import CARRIED, META, info
from llmsspider.scheduling.downloader import EngineFetch
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import document_id, identity, page_key, split_route, without_fragment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from llmsspider.callbacks.html_forms import FullerHtml
    from llmsspider.callbacks.markdown_links import MarkdownLinks
    from llmsspider.callbacks.rendering import ApiFiles
    from llmsspider.store import PageRecord


class PageCallbacks(SuspectCallbacks, LinkSourceCallbacks):
    """Callback of page requests."""

    markdown_links: MarkdownLinks
    fuller: FullerHtml
    api_files: ApiFiles

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield what the answer for a page leads to: answer, page, document, links.

        An answer may be an error, or say that the page is as it was stored. What it holds is read as a page, which may
        be none of the documentation or lie elsewhere. Else its record is made, which gives the document and the
        requests for its links.
        """
        request, answer = request_of(response), PageResponse.from_response(response, now=utc_now())
        page, results = None, await self._of_answer(request, answer)
        if results is None:
            try:
                answer, page = await self._read(request, answer)
            except (ConversionError, RenderingError) as error:
                results = self._unreadable(request, answer, error)
            else:
                results = self._of_page(page, answer, request) if page else self._as_before(request, answer)
        for result in results:
            yield result
        for seed in await self._described(page, answer) if page is not None else ():
            yield seed

    async def _read(self, request: Request, answer: PageResponse) -> tuple[PageResponse, PageResult | None]:
        """Return the page that an answer holds, and the answer it was read from in the end.

        That is its Markdown, its HTML where this says more, what a browser rendered, or what an API file describes;
        None in place of the page where that is the one that is stored.

        Raises:
            ConversionError: the body could not be converted.
            RenderingError: the browser could not render it.
        """
        run = self.run
        run.count("converted")
        listed = bool(info(request).get("listed"))
        read = await read_page(answer, run.workers, listed=listed, join=self.markdown_links.joiner)
        answer, page = await self.fuller.take(request, answer, read)
        if page is not None:
            answer, page = await self.api_files.render(request, answer, page)
        if page is not None:
            run.count_hidden(page.page)
            run.count_fallback(answer.page_url, page.page)
        return answer, page

    def _unreadable(self, request: Request, answer: PageResponse, error: Exception) -> Iterator[Any]:
        """Yield what is left of a page that could not be read: the stored one."""
        if isinstance(error, TooLargePageError):
            self.run.count("too-large")
        yield from self.fail_page(request, kind_of_exception(error), str(error), answer.status)

    def _docsify(self, request: Request, answered: PageResponse) -> Iterator[Any] | None:
        """Return what a Docsify site's page leads to, its Markdown file in its place; None for any other page."""
        if answered.kind() != "html":
            return None
        site = self.run.site.learn_docsify(answered.body, answered.page_url)
        if split_route(request.url)[1] and self.run.site.docsify_of(request.url) is not None:
            return self.fail_page(request, "not_found", "HTML in place of its Markdown file", answered.status)
        if site is None or self.run.arguments.render == "always" or info(request).get("alternate"):
            return None
        return self._alternate(
            site.file_of(site.page), PageResult(Page("", [], [], PageMeta()), "html"), request
        )

    async def _of_answer(self, request: Request, answered: PageResponse) -> Iterator[Any] | None:
        """Return what an answer leads to that need not be read: an error, or the page as it is stored; else None."""
        wrong = self._what_is_wrong(answered)
        if wrong is _HALF:
            await self._see_half(answered)
        if wrong is not None:
            return self.fail_page(request, *wrong, answered.status)
        self.note_redirect(request)
        docsify = self._docsify(request, answered)
        if docsify is not None:
            return docsify
        stored = self._as_stored(answered)
        if stored is None and answered.status != 304:
            return None
        return self._same(stored, request, answered)

    def _what_is_wrong(self, answered: PageResponse) -> tuple[ErrorKind, str] | None:
        """Return (error kind, message) of an answer that is no page, or half of one, or None."""
        kind = kind_of_response(answered.status, answered.headers, answered.body)
        if kind is not None:
            return kind, f"HTTP status {answered.status}"
        if answered.status == 304:
            return None
        if not answered.body.strip():
            return "http", "the answer is empty"
        state = self.run.known.state(page_key(answered.page_url))
        if (
            state is not None
            and state.has_end_tag
            and answered.is_form_of(state.origin)
            and self.run.missing_ends.breaks_off(state.key, answered.body, answered.kind())
        ):
            return _HALF
        return None

    async def _see_half(self, answered: PageResponse) -> None:
        """Take in an answer without its end tag: it may be a wall, which says what others with its text are."""
        state = self.run.known.state(page_key(answered.page_url))
        suspect = None
        if state is not None:
            with contextlib.suppress(ConversionError):
                suspect = await self.look_at(answered, state)
        wall = self.run.suspects.evidence(suspect) if suspect is not None else None
        if suspect is not None and wall is not None:
            self.run.believes(suspect, wall)  # it counts as seen in this run

    def _as_before(self, request: Request, answered: PageResponse) -> Iterator[Any]:
        """Yield what a page leads to that was fetched in another form, which is the stored one."""
        return self._same(self._as_stored(answered), request, answered)

    def _same(self, stored: PageRecord | None, request: Request, answered: PageResponse) -> Iterator[Any]:
        """Yield what an answer leads to that is the stored page, or says so in vain."""
        if stored is not None:
            yield from self._unchanged(stored, request, answered)
        else:
            yield from self.fail_page(request, "http", "HTTP status 304 for a page that is not stored", 304)

    async def _described(self, page: PageResult, answered: PageResponse) -> list[Request]:
        """Return requests for the seeds of an llms.txt that only this page names (rel=describedby)."""
        run = self.run
        url = named_llms_txt(page.page.meta, answered)
        if url is None or run.discovery is None or not run.follows_links:
            return []
        fetch, told = EngineFetch(self.crawler, run), len(run.discovery.cut)
        seeds = await read_described(
            fetch, url, run.discovery, Options(max_linked_files=run.config.max_linked_files)
        )
        for cut in run.discovery.cut[told:]:
            run.record_filtered(cut.url, cut.reason, cut.rule)
        for seed in seeds:
            run.site.enter(seed)
        return [request for seed in seeds if (request := self.seed_request(seed)) is not None]

    def _of_page(self, page: PageResult, answered: PageResponse, request: Request) -> Iterator[Any]:
        """Yield what a page leads to: nothing, another page, or its document and links."""
        self._learn_links(page, answered)
        other = self._no_document(page, answered, request)
        if other is not None:
            yield from other
            return
        run = self.run
        record = answered_record(
            run.source,
            answered,
            page,
            converter=run.config.converter_fingerprint,
            entry=run.site.entries.get(identity(request.url)),
            depth=int(request.meta.get("depth", 0)),
            by=info(request).get("by", "link"),
        )
        record.url = self._spelling(record.url, page.page.meta.canonical)
        doubted = self.doubt(record, answered, request)
        if doubted is not None:
            yield from doubted
            return
        is_false = run.known.is_false(record, answered.headers)
        self._compare(record, request)
        if is_false and run.known.is_false(record, answered.headers):  # as it came, and as it would be stored
            run.disbelieve(record.fetched_url)
        keep_text_of_file(run, record)
        yield from self.page_results(record, request)

    def _learn_links(self, page: PageResult, answered: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links too."""
        run, meta = self.run, page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            run.site.learn_routes(answered.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in {"html", "rendered"}:
            run.link_bases.learn(page.page.follow, answered.page_url)

    def _no_document(
        self, page: PageResult, answered: PageResponse, request: Request
    ) -> Iterator[Any] | None:
        """Return what a page leads to that is no document itself; None for one that is."""
        meta = page.page.meta
        refused = page.left_out or refused_by_page(meta, answered, self.run.config)
        if refused is not None:
            return self._refused(refused, request)
        elsewhere = self._elsewhere(meta, request)
        if elsewhere is not None:
            return self._moved(*elsewhere, request)
        listing = self._listing(meta, request)
        if listing is not None:
            return self._links_only(listing, page, request)
        is_asked = page.was_stub or info(request).get("alternate")
        alternate = None if is_asked else markdown_alternate(page, answered)
        return None if alternate is None else self._alternate(alternate, page, request)

    def _refused(self, refused: Filtered, request: Request) -> Iterator[Any]:
        """Count a page that is filtered once it was read; a browser may make it a document in the next run."""
        run, key = self.run, page_key(request.url)
        run.record_filtered(request.url, *refused)
        if refused.reason == "needs-browser":
            run.known.record_outcome(key, "failed", refused.reason)
            yield from self.failed_page(key, request.meta.get("depth"))
        else:
            run.known.record_outcome(key, "dropped", refused.reason)

    def _moved(self, target: str, reason: FilterReason, rule: str, request: Request) -> Iterator[Any]:
        """Yield the request for the page that this one says it is."""
        self.run.record_filtered(request.url, reason, rule)
        self.run.known.moved(page_key(request.url), page_key(target))
        yield from self._other_page(target, request)

    def _links_only(self, why: str, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the requests for the links of a page that only lists others."""
        self.run.record_filtered(request.url, "listing", why)
        self.run.known.record_outcome(page_key(request.url), "dropped", "listing")
        depth = int(request.meta.get("depth", 0)) + 1
        yield from self.link_requests(page.page.follow, depth, on=request.url)

    def _listing(self, meta: PageMeta, request: Request) -> str | None:
        """Return why a page that only lists others is left out, in words; None for one that is kept."""
        run, page = self.run, identity(request.url)
        run.site.tag_pages.update(map(identity, usable(meta.tags)))
        is_wanted = run.arguments.listings == "keep" or info(request).get("start") or page in run.site.entries
        if is_wanted:
            return None
        is_tag = meta.lists_only and page in run.site.tag_pages
        return meta.listing or ("other pages name it as their tag (rel=tag)" if is_tag else None)

    def _spelling(self, url: str, canonical: str | None) -> str:
        """Return how a page's address is spelled.

        As it is stored, or else as an llms.txt or sitemap, the page's canonical link, or the shortest link spells it.
        """
        run, page = self.run, identity(url)
        if run.known.state(page_key(url)) is not None or run.site.is_listed(url):
            return url
        if canonical and identity(canonical) == page:
            return without_fragment(canonical)
        return page if len(page) < len(url) and run.bounds.is_linked(page) else url

    def _alternate(self, url: str, page: PageResult, request: Request) -> Iterator[Request]:
        """Yield the request for the Markdown that an HTML page names (rel=alternate), and those for its links.

        The host's form is learned from it; the page is asked once more in this way, not again.
        """
        kept = {key: request.meta[key] for key in _KEPT_META if key in request.meta}
        again = {**kept, META: {**info(request), "md": url, "alternate": True}}
        yield request.replace(meta=again, dont_filter=True, priority=request.priority + 1)
        yield from self.link_requests(page.page.follow, int(request.meta.get("depth", 0)) + 1, on=request.url)

    def _elsewhere(self, meta: PageMeta, request: Request) -> tuple[str, FilterReason, str] | None:
        """Return (URL, reason, rule) when the page says that it lies elsewhere: meta refresh or canonical, one hop."""
        here = identity(request.url)
        if meta.refresh and identity(meta.refresh) != here:
            return meta.refresh, "redirect", f"meta refresh to {meta.refresh}"
        canonical = meta.canonical
        if not canonical or identity(canonical) == here or info(request).get("canonical"):
            return None
        if not same_page_elsewhere(request.url, canonical) or not self.run.bounds.allowed(canonical):
            return None
        return canonical, "canonical", f"names {canonical} as its address"

    def _other_page(self, target: str, request: Request) -> Iterator[Request]:
        """Yield the request for the page that another one stands for, at its depth."""
        url = self.run.page_of(without_fragment(target))
        if self.run.requested(url) or not self.admits(url, listed=self.run.bounds.is_listed(url)):
            return
        page = info(request)
        yield self.page_request(
            url,
            by=page.get("by", "link"),
            depth=int(request.meta.get("depth", 0)),
            listed=page.get("listed", False),
            start=page.get("start", False),
            canonical=True,
        )

    def _as_stored(self, answered: PageResponse) -> PageRecord | None:
        """Return the stored page when the answer says that it is the same, with the page's own address."""
        run, key = self.run, page_key(answered.page_url)
        if answered.status == 304:
            stored = run.known.validated(answered.fetched_url)
        else:
            stored = run.known.state(key)
            if stored and not run.known.same_body(key, answered.fetched_url, raw_hash(answered.body)):
                stored = None
        record = run.store.load_page(stored.key) if stored is not None else None
        if record is None:
            return None
        if answered.status == 304:
            run.count("not-modified")
        else:
            run.count("same-body")
        if stored is not run.known.state(key):  # its body was stored under another address
            record.id, record.url = document_id(run.source, answered.page_url), answered.page_url
            record.identity, record.content_hash = identity(answered.page_url), None
        return record

    def _unchanged(self, record: PageRecord, request: Request, answered: PageResponse) -> Iterator[Any]:
        """Yield a stored page as it is in this run: its content, this run's depth, origin of the find and entry."""
        headers = answered.headers
        record.etag = headers.get("etag") or (record.etag if answered.status == 304 else None)
        modified = record.last_modified if answered.status == 304 else None
        record.last_modified = headers.get("last-modified") or modified
        record.validators_url, record.accept = answered.fetched_url, answered.accept
        record.status, record.fetched_at = 200, answered.fetched_at
        if not self.run.keeps_findings:
            record.depth = int(request.meta.get("depth", 0))
            record.discovered_by = info(request).get("by", "link")
            record.llms = self.run.site.entries.get(identity(request.url))
        is_same = not self._compare(record, request)
        yield from self.page_results(
            record, request, confirmed=is_same and record.key in self.run.known.states
        )

    def _compare(self, record: PageRecord, request: Request) -> bool:
        """Compare a page with the site's others (`crawl.page_comparison`); return whether it is another now."""
        return compare_with_site(self.run, record, is_start=bool(info(request).get("start")))


_HALF: tuple[ErrorKind, str] = (
    "network",
    "the page breaks off: it had an end tag or a last line end, and has none",
)
"""Error kind and message of a page without its end."""

_KEPT_META = ("depth", "handle_httpstatus_list", *CARRIED)
"""What a page keeps when it is asked once more; how its first download went belongs to that one."""
