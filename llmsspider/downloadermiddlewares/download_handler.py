"""The handler of http and https: signed where there is a key, rendered where a page needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response

from llmsspider.downloadermiddlewares.resolver import guarded_resolver
from llmsspider.web.credentials import Signer

if TYPE_CHECKING:
    from llmsspider.browser.session import BrowserSession


class DownloadHandler(HTTP11DownloadHandler):
    """Scrapy's HTTP/1.1 handler; requests are signed where there is a key, those with
    `meta["playwright"]` rendered.

    The browser is made for the first such request. Until then Playwright is not imported and no
    process is started. One browser serves both schemes.
    """

    lazy = True
    _sessions: ClassVar[dict[Crawler, BrowserSession]] = {}

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        self._crawler = crawler
        has_key = bool(crawler.settings.get("LLMS_SIGN_KEY"))
        self._signer = Signer.from_settings(crawler.settings) if has_key else None

    async def download_request(self, request: Request) -> Response:
        """Download by HTTP or by the browser."""
        if request.meta.get("playwright"):
            return await self._browser().download(request)
        if self._signer is None:
            return await super().download_request(request)
        return await self._signed(request, self._signer)

    def _browser(self) -> BrowserSession:
        if self._crawler not in self._sessions:
            # most crawls need none
            from llmsspider.browser.session import BrowserSession  # noqa: PLC0415

            resolver = guarded_resolver(self._crawler)
            self._sessions[self._crawler] = BrowserSession(self._crawler, resolver, self._signer)
        return self._sessions[self._crawler]

    async def _signed(self, request: Request, signer: Signer) -> Response:
        """Sign a request and send it; one that its site wants more of is sent once more."""
        headers = request.headers.copy()
        headers.update(signer.headers(request.method, request.url))
        response = await super().download_request(request.replace(headers=headers))
        asked = (response.headers.get("Accept-Signature") or b"").decode("latin-1")
        if not asked or response.status < 400 or not signer.is_asked_for_more(request.url, asked):
            return response
        headers.update(signer.headers(request.method, request.url))
        return await super().download_request(request.replace(headers=headers))

    async def close(self) -> None:
        """Close the browser and the connections; a process that crawls on forgets both."""
        if (session := self._sessions.pop(self._crawler, None)) is not None:
            await session.close()
        await super().close()
