"""scrapy-playwright's download handler, with our idea of when a page is done. Imports Playwright: load it lazily.

The one place that relies on what scrapy-playwright keeps to itself (0.0.48): it starts at `engine_started` only, and
waits for the `load` event, which a page with one hanging script never fires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from llmsspider.browser.settling import Traffic, settle

if TYPE_CHECKING:
    from playwright.async_api import Page
    from scrapy import Request, Spider


class DrawingHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # scrapy-playwright is not typed
    """Starts when told to, and reads a page when it has settled."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()

    async def start(self) -> None:
        """Start Playwright and the browser."""
        await self._launch()
        await self._maybe_launch_browser()

    def watch(self, page: Page) -> None:
        """Count the requests of a page from now on."""
        self._traffic[page] = Traffic(page)

    async def _apply_page_methods(self, page: Page, request: Request, spider: Spider) -> None:
        await super()._apply_page_methods(page, request, spider)
        if page in self._traffic:
            await settle(page, self._traffic[page])
