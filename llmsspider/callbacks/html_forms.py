"""The HTML of Markdown pages, fetched for its links, or for its content where the Markdown is a stub."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.callbacks.rendering import Renderer
from llmsspider.callbacks.requests import DocsRequests, request_of
from llmsspider.crawl.page_checks import is_fuller, stub
from llmsspider.crawl.pages import PageResponse, PageResult, read_page, refused_by_page
from llmsspider.crawl.records import utc_now
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.requests import HTML_ACCEPT, META, info, nested_request
from llmsspider.web.markdown_forms import is_markdown_url, page_candidates
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import host, identity, without_fragment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.crawl.run import Run
    from llmsspider.discovery.providers import Docsify
    from llmsspider.store import PageRecord

logger = logging.getLogger(__name__)


# The HTML of Markdown pages, asked for its links only: Markdown has no navigation.


class LinkSourceCallbacks(DocsRequests):
    """Asks for link sources where the policy (`crawl/deferred.py`) wants them, and follows what they link to."""

    renderer: Renderer

    def link_source(self, record: PageRecord, *, start: bool, unchanged: bool) -> Iterator[Request]:
        """Yield the request for a Markdown page's HTML, where the policy wants its links."""
        run, depth = self.run, record.depth
        site = run.site.docsify_of(record.url)
        if site is not None:
            yield from self._docsify_lists(record, site, unchanged=unchanged)
            return
        deepest = run.arguments.max_depth is not None and depth >= run.arguments.max_depth
        same_url = record.fetched_url == record.url and record.origin != "negotiated"
        if deepest or same_url or not run.follows_links:
            return
        root, new = run.site.is_section_root(record.url), record.key not in run.known.states
        if run.links.wanted(record.url, start=start, section_root=root, new=new):
            run.count("link-sources")
            yield Request(
                record.url,
                headers={"Accept": HTML_ACCEPT},
                callback=self.parse_link_source,
                errback=self.link_source_failed,
                meta={"depth": depth, META: {"source": True, "unchanged": unchanged}},
                priority=1 - depth,
                dont_filter=True,
            )

    def _docsify_lists(self, record: PageRecord, site: Docsify, *, unchanged: bool) -> Iterator[Request]:
        """Yield the requests for the sidebar and the like of a Docsify site, each once a run.

        Those of its root come with its first page, those of a folder, which need not be there, with the folder's first.
        """
        if not self.run.follows_links:
            return
        is_root = identity(record.url) == identity(site.page)
        for url in self.run.site.new_lists(site.lists if is_root else site.lists_beside(record.url)):
            self.run.count("link-sources")
            yield Request(
                url,
                callback=self.parse_docsify_list,
                errback=self.docsify_list_failed,
                meta={
                    "depth": record.depth,
                    META: {
                        "source": True,
                        "unchanged": unchanged,
                        "page": site.page if is_root else record.url,
                        "optional": not is_root,
                    },
                },
                priority=1 - record.depth,
                dont_filter=True,
            )

    async def parse_docsify_list(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the pages that a sidebar or the like of a Docsify site links to."""
        request = request_of(response)
        answered = PageResponse.from_response(response, now=utc_now())
        page_url = info(request)["page"]
        site = self.run.site.docsify_of(page_url)
        if site is None or answered.status != 200 or answered.kind() not in {"markdown", "text"}:
            if not info(request).get("optional"):
                self._unread_list(request.url, f"HTTP status {answered.status}, {answered.mime_type}")
            return
        draft = await self.run.workers.read_markdown(answered.text())
        page = draft.page(partial(site.join, page_url=page_url))
        depth = int(request.meta.get("depth", 0)) + 1
        for found in self.link_requests(page.follow, depth, on=page_url):
            yield found

    def docsify_list_failed(self, failure: Failure) -> None:
        """Count a sidebar or the like that could not be had: pages that only it names are not found."""
        request: Request = failure.request  # type: ignore[attr-defined]
        is_missing = getattr(getattr(failure.value, "response", None), "status", 0) in {404, 410}
        if not (is_missing and info(request).get("optional")):
            self._unread_list(request.url, str(failure.value).partition("\n")[0])

    def _unread_list(self, url: str, why: str) -> None:
        self.run.count("link-sources/failed")
        self.run.incomplete(f"{url}, which links to the site's pages, could not be read ({why})")

    async def parse_link_source(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the links of a page whose Markdown is a document already."""
        request = request_of(response)
        answered = PageResponse.from_response(response, now=utc_now())
        if answered.kind() != "html":
            return
        try:
            page = await self.run.workers.scan(answered.body, answered.fetched_url, answered.encoding)
            _, rendered = await self.renderer.render(request, answered, PageResult(page, "html"))
        except (ConversionError, RenderingError):
            self.run.count("link-sources/failed")
            return
        self.run.link_bases.learn(rendered.page.follow, answered.page_url)
        requests = list(
            self.link_requests(
                rendered.page.follow,
                int(request.meta.get("depth", 0)) + 1,
                on=without_fragment(request.url),
                unchanged=info(request).get("unchanged", False),
            )
        )
        self.run.links.report(len(requests))
        for request in requests:
            yield request

    def link_source_failed(self, failure: Failure) -> None:
        """Count a link source that could not be had; its page is a document already."""
        self.run.links.report(0)
        self.run.count("link-sources/failed")


# The HTML of pages whose Markdown is a stub: fetched, and taken where it says more.


class FullerHtml:
    """Takes the HTML of a page in place of Markdown that is a stub.

    One nested download a stub, as long as that pays for the host (`page_checks.HostStubs`). Counts
    `llms/markdown/stub` and `llms/markdown/stub/html`. The document's `origin` is then `html`.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run

    async def take(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> tuple[PageResponse, PageResult | None]:
        """Return the fuller of a page's Markdown and its HTML.

        The result is None where the HTML is the one that is stored.

        Raises:
            ConversionError: the HTML could not be converted.
        """
        stubs = self.run.site.stubs_of(request.url)
        if not self._is_stub(result) or not stubs.pays():
            return answered, result
        self.run.count("markdown/stub")
        html = await self._html(request, answered)
        if html is None:
            stubs.report(fuller=False)
            return answered, result
        if html.status == 304:
            stubs.report(fuller=True)
            return html, None
        read = await read_page(html, self.run.workers, listed=False)
        is_taken = self._is_page(html, read) and is_fuller(read.page.markdown, result.page.markdown)
        stubs.report(fuller=is_taken)
        if not is_taken:
            return answered, result
        self.run.count("markdown/stub/html")
        return html, replace(read, was_stub=True)

    def _is_stub(self, result: PageResult) -> bool:
        is_authors = result.origin in {"markdown", "negotiated"} and result.left_out is None
        return is_authors and stub(result.page.markdown) is not None

    def _is_page(self, html: PageResponse, read: PageResult) -> bool:
        meta = read.page.meta
        return (
            read.left_out is None
            and not meta.is_shell
            and not meta.refresh
            and refused_by_page(meta, html, self.run.config) is None
        )

    async def _html(self, request: Request, answered: PageResponse) -> PageResponse | None:
        """Return the HTML of the page, or the 304 that says it is the one stored; None where there is none.

        Where only the Markdown file is known, the pages that it may belong to are asked.
        """
        is_file = is_markdown_url(request.url)
        for url in page_candidates(request.url).values() if is_file else (request.url,):
            html = await self._download(url, request, answered)
            if html is not None:
                return html
        return None

    async def _download(self, url: str, request: Request, answered: PageResponse) -> PageResponse | None:
        engine = self.crawler.engine
        if engine is None:
            return None
        try:
            response = await engine.download_async(
                nested_request(url, request, headers={"Accept": HTML_ACCEPT})
            )
        except Exception as error:  # whatever it was, the page has its Markdown
            logger.debug("No HTML at %(url)s: %(error)r", {"url": url, "error": error})
            return None
        html = replace(
            PageResponse.from_response(response, now=answered.fetched_at), page_url=answered.page_url
        )
        if html.status == 304:
            return html if self.run.known.validated(html.fetched_url) is not None else None
        is_whole = html.status == 200 and kind_of_response(html.status, html.headers, html.body) is None
        return html if is_whole and host(html.fetched_url) == host(url) and html.kind() == "html" else None
