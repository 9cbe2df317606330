"""Scrapy's downloader: requests in flight to one host are held, and a page's Markdown may come first."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.core import downloader
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from llmsspider.downloadermiddlewares.backoff import BackoffMiddleware
from llmsspider.downloadermiddlewares.markdown_negotiation import MarkdownNegotiationMiddleware


class Downloader(downloader.Downloader):
    """Keeps `CONCURRENT_REQUESTS_PER_DOMAIN` and turns; asks for a page's Markdown first where that is settled.

    Scrapy 2.19 counts a request as in flight when the task that sends it runs for the first time, which on
    the asyncio reactor is after the loop that starts them: everything that waits in the queue of a host is
    sent at once. With a limit of 2, a server saw 10 requests at the same time. Here the request counts from
    the moment it leaves the queue.
    """

    @cached_property
    def _negotiation(self) -> MarkdownNegotiationMiddleware | None:
        return self.crawler.get_downloader_middleware(MarkdownNegotiationMiddleware)

    @cached_property
    def _backoff(self) -> BackoffMiddleware | None:
        return self.crawler.get_downloader_middleware(BackoffMiddleware)

    def fetch(self, request: Request) -> Deferred[Response | Request]:  # type: ignore[override]
        """Download a request through the middlewares, or only the Markdown file that answers it."""
        negotiation = self._negotiation
        url = negotiation.settled(request) if negotiation is not None else None
        if negotiation is None or url is None:
            return super().fetch(request)
        self.active.add(request)  # now: the coroutine begins after the engine's loop that starts requests
        return deferred_from_coro(self._markdown_first(request, url, negotiation))

    async def _markdown_first(
        self, request: Request, url: str, negotiation: MarkdownNegotiationMiddleware
    ) -> Response | Request:
        try:
            response = await negotiation.ahead(request, url, self._through_middlewares)
        finally:
            self.active.discard(request)
        return response or await self._through_middlewares(request)

    async def _through_middlewares(self, request: Request) -> Response | Request:
        return await maybe_deferred_to_future(super().fetch(request))

    def _wait_for_download(
        self, slot: downloader.Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        sending = super()._wait_for_download(slot, request, queue_dfd)
        return sending if self._backoff is None else self._in_turn(request, sending)

    async def _in_turn(self, request: Request, sending: Coroutine[Any, Any, None]) -> None:
        if self._backoff is not None:
            await self._backoff.turn(request)
        await sending
