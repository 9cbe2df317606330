"""scrapy-playwright's download handler, with our idea of when a page is done. Imports Playwright: load it lazily.

The one place that relies on what scrapy-playwright keeps to itself (0.0.48): it starts at `engine_started` only, and
waits for the `load` event, which a page with one hanging script never fires. Shadow roots, which Playwright's
`content` leaves out, are read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from llmsspider.browser.content import expand, whole_content
from llmsspider.browser.settling import Traffic, is_framed, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Page, Route
    from playwright.async_api import Request as PageRequest
    from scrapy import Request, Spider
    from scrapy.http import Response


class DrawingHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # scrapy-playwright is not typed
    """Starts when told to, and reads a page when it has settled."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()
        self._whole: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def start(self) -> None:
        """Start Playwright and the browser."""
        await self._launch()
        await self._maybe_launch_browser()

    def watch(self, page: Page) -> Traffic:
        """Return the requests of a page from now on."""
        self._traffic[page] = traffic = Traffic(page)
        return traffic

    async def _apply_page_methods(self, page: Page, request: Request, spider: Spider) -> None:
        await super()._apply_page_methods(page, request, spider)
        if page in self._traffic:
            await settle(page, self._traffic[page])
            if await expand(page):
                await settle(page, self._traffic[page])
            whole = await whole_content(page)
            if whole is not None:
                self._whole[page] = whole

    async def _download_request_with_page(self, request: Request, page: Page, spider: Spider) -> Response:
        response: Response = await super()._download_request_with_page(request, page, spider)
        whole = self._whole.pop(page, None)
        if whole is None:
            return response
        encoding = getattr(response, "encoding", "utf-8")
        return response.replace(body=whole.encode(encoding, "xmlcharrefreplace"))

    def _make_request_handler(self, **options: Any) -> Callable[[Route, PageRequest], Awaitable[None]]:
        """Return what answers the requests of a page: frames stay empty, since an aborted one draws an error page."""
        handle = super()._make_request_handler(**options)

        async def answer(route: Route, request: PageRequest) -> None:
            if is_framed(request):
                await route.fulfill(status=204)
            else:
                await handle(route, request)

        return answer
