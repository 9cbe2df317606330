"""The HTML of pages whose Markdown is a stub: fetched, and taken where it says more."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llmsspider.negotiation import is_markdown_url, page_candidates
from llmsspider.outcomes import kind_of_response
from llmsspider.pages import Answered, PageResult, read_page, refused_by_page
from llmsspider.requests import HTML_ACCEPT, nested_request
from llmsspider.stubs import is_fuller, stub
from llmsspider.urls import host

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.run import Run

logger = logging.getLogger(__name__)


class FullerHtml:
    """Takes the HTML of a page in place of Markdown that is a stub.

    One nested download a stub, as long as that pays for the host (`stubs.HostStubs`). Counts `llms/markdown/stub` and
    `llms/markdown/stub/html`. The document's `origin` is then `html`.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run

    async def take(
        self, request: Request, answered: Answered, result: PageResult
    ) -> tuple[Answered, PageResult | None]:
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

    def _is_page(self, html: Answered, read: PageResult) -> bool:
        meta = read.page.meta
        return (
            read.left_out is None
            and not meta.is_shell
            and not meta.refresh
            and refused_by_page(meta, html, self.run.config) is None
        )

    async def _html(self, request: Request, answered: Answered) -> Answered | None:
        """Return the HTML of the page, or the 304 that says it is the one stored; None where there is none.

        Where only the Markdown file is known, the pages that it may belong to are asked.
        """
        is_file = is_markdown_url(request.url)
        for url in page_candidates(request.url).values() if is_file else (request.url,):
            html = await self._download(url, request, answered)
            if html is not None:
                return html
        return None

    async def _download(self, url: str, request: Request, answered: Answered) -> Answered | None:
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
        html = replace(Answered.from_response(response, now=answered.fetched_at), page_url=answered.page_url)
        if html.status == 304:
            return html if self.run.known.validated(html.fetched_url) is not None else None
        is_whole = html.status == 200 and kind_of_response(html.status, html.headers, html.body) is None
        return html if is_whole and host(html.fetched_url) == host(url) and html.kind() == "html" else None
