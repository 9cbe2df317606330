"""The HTML of Markdown pages, asked for its links only: Markdown has no navigation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.callbacks.requests import DocsRequests, request_of
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.pages import Answered, PageResult, utc_now
from llmsspider.rendering import Renderer
from llmsspider.requests import HTML_ACCEPT, META, info
from llmsspider.urls import without_fragment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.store import PageRecord


class LinkSourceCallbacks(DocsRequests):
    """Asks for link sources where the policy (`linksources.py`) wants them, and follows what they link to."""

    renderer: Renderer

    def link_source(self, record: PageRecord, *, start: bool, unchanged: bool) -> Iterator[Request]:
        """Yield the request for a Markdown page's HTML, where the policy wants its links."""
        run, depth = self.run, record.depth
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
