"""Ask for a page as HTML where its host refuses `Accept: text/markdown`."""

import asyncio
import logging
from collections import defaultdict

from scrapy import Request
from scrapy.http import Response

from llmsspider.crawler.pages import text_headers
from llmsspider.crawler.parts import DocsArguments, KnownPages, Learners
from llmsspider.crawler.requests import (
    HTML_ACCEPT,
    NestedDownloadError,
    RunComponent,
    download_nested,
    info,
)
from llmsspider.web.page_forms import HTML_TYPES, bare_type, shape
from llmsspider.web.urls import host, identity

logger = logging.getLogger(__name__)


class AcceptRefusalMiddleware(RunComponent):
    """Request a page once more, as HTML, where the answer may be one to its Accept header.

    It stands next to the downloader: it sees redirects and bodies as they came. A host where that
    helps is remembered (`AcceptRefusals`). Counts `llms/markdown/accept-refused`.
    """

    arguments: DocsArguments
    known: KnownPages
    learned: Learners

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the HTML of the page where there is some, else the answer.

        One page of a host at a time tries; the others wait for what comes of it.
        """
        if "download_stopped" in response.flags:  # it is a file
            return response
        if not self._asks_for_markdown(request) or not self._may_be_refusal(request, response):
            return response
        async with self._locks[host(request.url)]:
            if not self._may_be_refusal(request, response):
                return response
            page = await self._as_html(request)
            self.learned.accept_refusals.learn(request.url, has_html=page is not None)
        if page is None:
            return response
        self.report.count("markdown/accept-refused")
        logger.debug(
            "%(url)s: HTTP status %(status)d for Accept: text/markdown, requested as HTML",
            {"url": request.url, "status": response.status},
        )
        request.headers["Accept"] = HTML_ACCEPT
        return page.replace(request=request)

    def _may_be_refusal(self, request: Request, response: Response) -> bool:
        return self.learned.accept_refusals.may_be_refusal(
            request.url,
            response.status,
            text_headers(response),
            response.body,
            is_stored=lambda: self.known.at(request.url) is not None,
        )

    async def _as_html(self, request: Request) -> Response | None:
        """Return the page as HTML, or the redirect that leads on to it."""
        is_discovery = bool(info(request).get("discovery"))
        try:
            response = await download_nested(
                self.crawler,
                request.url,
                request,
                headers={"Accept": HTML_ACCEPT},
                meta={"dont_redirect": True, "dont_retry": True},
                discovery=is_discovery,
            )
        except NestedDownloadError:
            return None
        is_page = response.status == 200 and _is_html(text_headers(response))
        leads_on = 300 <= response.status < 400 and "Location" in response.headers
        if self._may_be_refusal(request, response):  # so it is not the Accept header
            return None
        return response if is_page or leads_on else None

    def _asks_for_markdown(self, request: Request) -> bool:
        """Return whether it is the request of a page, by the Accept header that asks for Markdown."""
        if b"text/markdown" not in (request.headers.get("Accept") or b""):
            return False
        page = info(request)
        if shape(request.url) is None or page.get("source"):
            return False
        if "by" in page or page.get("verify"):
            return True
        first = next(iter(request.meta.get("redirect_urls", ())), request.url)
        return bool(page) and identity(first) == identity(self.arguments.url or "")


def _is_html(headers: dict[str, str]) -> bool:
    return bare_type(headers.get("content-type")) in HTML_TYPES
