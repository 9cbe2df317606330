"""Scrapy's downloader, with the number of requests in flight to one host held."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from scrapy import Request
from scrapy.core import downloader
from scrapy.http import Response
from twisted.internet.defer import Deferred


class Downloader(downloader.Downloader):
    """Keeps `CONCURRENT_REQUESTS_PER_DOMAIN`.

    Scrapy 2.19 counts a request as in flight when the task that sends it runs for the first time, which on
    the asyncio reactor is after the loop that starts them: everything that waits in the queue of a host is
    sent at once. With a limit of 2, a server saw 10 requests at the same time. Here the request counts from
    the moment it leaves the queue.
    """

    def _wait_for_download(
        self, slot: downloader.Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)
