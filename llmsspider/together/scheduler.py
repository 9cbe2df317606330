"""The scheduler of a worker: its own requests here, pages in the queue that all workers share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from llmsspider.errors import TogetherError
from llmsspider.requests import info
from llmsspider.scheduler import BreadthFirstScheduler
from llmsspider.together.frontier import SharedQueue

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from twisted.internet.defer import Deferred

    from llmsspider.together.crew import Crew

logger = logging.getLogger(__name__)

STAYS = ("start", "synthetic")
"""Marks of requests that only the worker that made them can answer."""


class SharedScheduler(BreadthFirstScheduler):
    """Puts pages where any worker can take them.

    What belongs to a page that this worker has already (retries, link sources; all with `dont_filter`) stays here and
    goes first. Redis is never waited for: an empty queue gives None at once, and `process_start` looks again.
    """

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Take the crew of the run."""
        self._crew: Crew = spider.run.crew  # type: ignore[attr-defined]
        self._shared = SharedQueue(self._crew, spider)
        return super().open(spider)

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request, unless any worker has asked for its page."""
        if request.dont_filter or any(info(request).get(mark) for mark in STAYS):
            return super().enqueue_request(request)
        try:
            if self.df.request_seen(request):
                self.df.log(request, self.spider)
                return False
            self._shared.push(request)
        except TypeError:
            return super().enqueue_request(request.replace(dont_filter=True))
        except TogetherError:
            return False
        return True

    def next_request(self) -> Request | None:
        """Return a request of this worker's own, else take one of the shared queue; None while there is none."""
        request = super().next_request()
        if request is not None or not self._crew.joined or self._crew.fault is not None or self._has_enough():
            return request
        try:
            return self._shared.pop(busy=self._is_busy(), exact=self._bounded())
        except TogetherError:
            return None

    def __len__(self) -> int:
        if self._crew.fault is not None:
            return super().__len__()
        return super().__len__() + len(self._shared)

    def _has_enough(self) -> bool:
        """Whether as many answers wait to be read as may be asked for: what is taken is lost if this worker dies."""
        engine = self.crawler.engine if self.crawler else None
        slot = engine.scraper.slot if engine is not None else None
        return slot is not None and len(slot.queue) + len(slot.active) >= engine.downloader.total_concurrency  # type: ignore[union-attr]

    def _is_busy(self) -> bool:
        engine = self.crawler.engine if self.crawler else None
        slot = engine.scraper.slot if engine is not None else None
        waiting = super().__len__() > 0
        return (
            waiting
            or (engine is not None and bool(engine.downloader.active))
            or not (slot and slot.is_idle())
        )
