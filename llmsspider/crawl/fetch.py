"""The `fetch` of discovery, by Scrapy's engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from llmsspider.crawl.pages import text_headers
from llmsspider.crawl.requests import kind_of_exception, nested_request
from llmsspider.errors import UNREAD_KINDS
from llmsspider.site.discovered import FetchResult
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web.outcomes import explained, kind_of_response
from llmsspider.web.page_forms import HTML_TYPES

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run


DISCOVERY_TIMEOUT_SECS = 20
"""Time that one request of discovery may take: it holds up the first page."""


class EngineFetch:
    """Download through every downloader middleware; failures are in the answer, never raised.

    Keeps two responses for later: `start_response`, which the start page's request is answered with, and
    `false_answer`, an HTML page that came with status 200 in place of an llms file.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self.start_url = run.arguments.url
        self.start_response: Response | None = None
        self.false_answer: FetchResult | None = None
        self.api = ""
        """URL prefixes of APIs (interfaces for programs), which robots.txt rules for pages do not apply to."""

    async def __call__(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        """See `llmsspider.site.discovery.Fetch`."""
        robots = await self._robots(url)
        return await self._download(url, accept, max_bytes) if robots is None else robots

    async def _robots(self, url: str) -> FetchResult | None:
        """Return the robots.txt that the crawl obeys; None for other files, and where none is obeyed."""
        if self.run.robots_txt is None or urlsplit(url).path != "/robots.txt":
            return None
        text = await self.run.robots_txt(url)
        if text is None:
            return None  # it failed; the download logged the reason
        if not text:
            return FetchResult(url, url, 404, error="not_found", message="there is none")
        return FetchResult(url, url, 200, {"content-type": "text/plain; charset=utf-8"}, text.encode())

    async def _download(self, url: str, accept: str | None, max_bytes: int | None) -> FetchResult:
        meta: dict[str, Any] = {
            "download_timeout": DISCOVERY_TIMEOUT_SECS,
            "max_retry_times": 1,
        }
        if max_bytes is not None:
            meta["download_maxsize"] = max_bytes
        if self.api and url.startswith(self.api):
            meta["dont_obey_robotstxt"] = True
        headers = {"Accept": accept} if accept else None
        request = nested_request(url, headers=headers, callback=NO_CALLBACK, meta=meta, discovery=True)
        try:
            response = await self.crawler.engine.download_async(request)
        except Exception as error:  # every download error becomes the kind it is reported under
            kind = kind_of_exception(error)
            message = explained(error) if kind == "network" else str(error) or type(error).__name__
            answer = FetchResult(url, url, 0, {}, b"", error=kind, message=message)
        else:
            answer = self._answer(url, response)
        gone = answer.error == "not_found"
        self.run.memory.previous_discovery.answered(url, unread=answer.error in UNREAD_KINDS, gone=gone)
        return answer

    def _answer(self, url: str, response: Response) -> FetchResult:
        headers = text_headers(response)
        kind = kind_of_response(response.status, headers, response.body)
        message = f"HTTP status {response.status}" if kind else None
        answer = FetchResult(
            url, response.url, response.status, headers, response.body, error=kind, message=message
        )
        if url == self.start_url:
            reasons = response.request.meta.get("redirect_reasons", ()) if response.request else ()
            if self.run.memory.first_redirected_to(answer, reasons) is not None:
                message = (
                    f"it redirects to {answer.final_url}, which is believed when the next crawl meets it too"
                )
                return FetchResult(url, url, response.status, error="http", message=message)
            self.start_response = response
        if answer.ok and answer.content_type in HTML_TYPES and is_llms_url(url):
            self.false_answer = answer
        answer.spool = self.run.spool.put(answer.body)
        if answer.spool is not None:
            answer.body = b""
        return answer
