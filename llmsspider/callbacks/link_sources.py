"""The HTML of Markdown pages, asked for its links only: Markdown has no navigation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.callbacks.requests import DocsRequests, request_of
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.pages import Answered, PageResult, utc_now
from llmsspider.rendering import Renderer
from llmsspider.requests import HTML_ACCEPT, META, info
from llmsspider.urls import identity, without_fragment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.docsify import Docsify
    from llmsspider.store import PageRecord


class LinkSourceCallbacks(DocsRequests):
    """Asks for link sources where the policy (`linksources.py`) wants them, and follows what they link to."""

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
        """Yield the requests for the sidebar and the like of a Docsify site, once a run: with its first page."""
        if identity(record.url) != identity(site.page) or not self.run.follows_links:
            return
        for url in site.lists:
            self.run.count("link-sources")
            yield Request(
                url,
                callback=self.parse_docsify_list,
                errback=self.docsify_list_failed,
                meta={
                    "depth": record.depth,
                    META: {"source": True, "unchanged": unchanged, "page": site.page},
                },
                priority=1 - record.depth,
                dont_filter=True,
            )

    async def parse_docsify_list(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the pages that a sidebar or the like of a Docsify site links to."""
        request = request_of(response)
        answered = Answered.from_response(response, now=utc_now())
        page_url = info(request)["page"]
        site = self.run.site.docsify_of(page_url)
        if site is None or answered.status != 200 or answered.kind() not in {"markdown", "text"}:
            self._unread_list(request.url, f"HTTP status {answered.status}, {answered.mime_type}")
            return
        draft = await self.run.workers.read_markdown(answered.text())
        page = draft.page(partial(site.join, page_url=page_url))
        depth = int(request.meta.get("depth", 0)) + 1
        for found in self.link_requests(page.follow, depth, on=page_url):
            yield found

    def docsify_list_failed(self, failure: Failure) -> None:
        """Count a sidebar or the like that could not be had: pages that only it names are not found."""
        self._unread_list(failure.request.url, str(failure.value).partition("\n")[0])  # type: ignore[attr-defined]

    def _unread_list(self, url: str, why: str) -> None:
        self.run.count("link-sources/failed")
        self.run.incomplete(f"{url}, which links to the site's pages, could not be read ({why})")

    async def parse_link_source(self, response: Response) -> AsyncIterator[Any]:
        """Yield the requests for the links of a page whose Markdown is a document already."""
        request = request_of(response)
        answered = Answered.from_response(response, now=utc_now())
        if answered.kind() != "html":
            return
        try:
            page = await self.run.workers.scan(answered.body, answered.fetched_url, answered.encoding)
            _, drawn = await self.renderer.draw(request, answered, PageResult(page, "html"))
        except (ConversionError, RenderingError):
            self.run.count("link-sources/failed")
            return
        self.run.link_bases.learn(drawn.page.follow, answered.page_url)
        requests = list(
            self.link_requests(
                drawn.page.follow,
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
