"""A scheduler as a user may write one: the last request first, and no length."""

from __future__ import annotations

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler


class LastFirst(BaseScheduler):
    """Keeps requests in a list."""

    def __init__(self) -> None:
        self.waiting: list[Request] = []
        self.seen: set[str] = set()

    def has_pending_requests(self) -> bool:
        return bool(self.waiting)

    def enqueue_request(self, request: Request) -> bool:
        if not request.dont_filter and request.url in self.seen:
            return False
        self.seen.add(request.url)
        self.waiting.append(request)
        return True

    def next_request(self) -> Request | None:
        return self.waiting.pop() if self.waiting else None
