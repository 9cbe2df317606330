"""What several workers count together in Redis: the pages requested, the documents, the requests. No Scrapy.

When Redis fails the crawl ends (`WorkerGroup.fault`); until then nothing new is requested or exported.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from llmsspider.crawl.bounds import PageLimit
from llmsspider.errors import WorkerGroupError

if TYPE_CHECKING:
    from llmsspider.crawl.distributed.worker_group import WorkerGroup
    from llmsspider.crawl.progress import Progress


class SharedPageKeys:
    """The pages that any worker has requested, see `crawl.workers.PageKeys`."""

    def __init__(self, group: WorkerGroup):
        self._group = group

    def __contains__(self, key: object) -> bool:
        """Return whether any worker has requested the page; True when Redis fails."""
        try:
            return isinstance(key, bytes) and self._group.seen(key)
        except WorkerGroupError:
            return True

    def add(self, key: bytes) -> None:
        """Count a page as requested."""
        with contextlib.suppress(WorkerGroupError):
            self._group.remember(key)


class SharedPageLimit(PageLimit):
    """`PageLimit` of a crawl by several workers: what all of them exported and sent counts."""

    def __init__(self, group: WorkerGroup, max_pages: int, progress: Progress, max_requests: int | None):
        super().__init__(max_pages, progress, max_requests)
        self._group = group
        self._crowded = False

    @property
    def _has_all_pages(self) -> bool:
        return self._crowded or super()._has_all_pages

    def take(self) -> bool:
        """Take a place for one more document; False when all workers have exported `max_pages`."""
        if self._has_all_pages:
            return False
        with contextlib.suppress(WorkerGroupError):
            number = self._group.count_document()
            self._crowded = 0 < self._max_pages < number
        return not self._crowded

    def count_request(self) -> None:
        """Count a request that is sent for a page; `requests` are those of all workers as far as this one knows."""
        super().count_request()
        if self.max_requests:
            with contextlib.suppress(WorkerGroupError):
                self.requests = self._group.count_request()

    @property
    def documents(self) -> int:
        """The documents that all workers exported."""
        number = super().documents
        if self._group.joined:
            with contextlib.suppress(WorkerGroupError):
                number = max(number, self._group.documents())
        return number
