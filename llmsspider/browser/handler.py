"""The download handler of http and https: Scrapy's own, and for requests that ask for it the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

from llmsspider.browser.session import BrowserSession

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_sessions: WeakKeyDictionary[Crawler, BrowserSession] = WeakKeyDictionary()


class BrowserDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's HTTP/1.1 handler, which every request takes that does not say `meta["playwright"]`.

    scrapy-playwright's handler is made when the first request says so. Until then nothing of Playwright is
    imported and no process started. One browser serves both schemes.
    """

    lazy = True

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        self._session = _sessions.setdefault(crawler, BrowserSession(crawler))

    async def download_request(self, request: Request) -> Response:
        """Download by HTTP or by the browser."""
        if request.meta.get("playwright"):
            return await self._session.download(request)
        return await super().download_request(request)

    async def close(self) -> None:
        """Close the browser and the connections."""
        await self._session.close()
        await super().close()
