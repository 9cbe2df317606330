"""What touches private names of Scrapy and of its plug-ins; docs/explanation/architecture.md gives the reason of each.

tests/components/test_compat.py holds the names to what is installed: one that upstream renames fails a test of that
name, and so does a private name that is touched elsewhere.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from scrapy.core import downloader

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class Downloader(downloader.Downloader):
    """Scrapy's; a request counts as in flight from the moment it leaves its host's queue, and may wait for its turn.

    Scrapy 2.19 counts it when the task that sends it runs for the first time, which on the asyncio reactor is after
    the loop that starts them: everything that waits in the queue of a host is sent at once. With a limit of 2, a
    server saw 10 requests at the same time.
    """

    async def before_sending(self, request: Request) -> None:
        """Wait for whatever a request has to wait for; a hook."""

    def _wait_for_download(
        self, slot: downloader.Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return self._in_turn(request, super()._wait_for_download(slot, request, queue_dfd))

    async def _in_turn(self, request: Request, sending: Coroutine[Any, Any, None]) -> None:
        await self.before_sending(request)
        await sending


def playwright_handler() -> Any:
    """Return scrapy-playwright's download handler class with public methods. It takes a second to import Playwright."""
    from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler  # noqa: PLC0415

    class Handler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # it is not typed
        async def start(self) -> None:
            """Start Playwright and the browser; raises Playwright's errors."""
            await self._launch()
            await self._maybe_launch_browser()

        async def page_content(self, page: Any) -> str:
            """Return the HTML of a page that has answered; a hook."""
            return str(await page.content())

        async def _apply_page_methods(self, page: Any, request: Request, spider: Any) -> None:
            await super()._apply_page_methods(page, request, spider)
            html = await self.page_content(page)

            async def content() -> str:
                return html

            page.content = content  # what it reads next

    return Handler
