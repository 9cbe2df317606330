"""The downloader: a request counts as in flight once it leaves the queue of its host."""

from collections.abc import Coroutine
from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.core import downloader
from scrapy.http import Response
from twisted.internet.defer import Deferred

from llmsspider.downloadermiddlewares.backoff import BackoffMiddleware


class Downloader(downloader.Downloader):
    """Scrapy's; a request counts as in flight from the moment it leaves its host's queue, and waits
    for its turn there.

    Scrapy 2.19 counts it when its task first runs: with a limit of 2, a server saw 10 requests at
    the same time. (A private name: docs/explanation/architecture.md.)
    """

    @cached_property
    def _backoff(self) -> BackoffMiddleware | None:
        return self.crawler.get_downloader_middleware(BackoffMiddleware)

    def _wait_for_download(
        self, slot: downloader.Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return self._in_turn(request, super()._wait_for_download(slot, request, queue_dfd))

    async def _in_turn(self, request: Request, sending: Coroutine[Any, Any, None]) -> None:
        if self._backoff is not None:
            await self._backoff.turn(request)
        await sending
