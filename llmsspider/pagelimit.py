"""The limits `max_pages` and `max_requests`, counted over all workers where there are several. No Scrapy here."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from llmsspider.errors import TogetherError
from llmsspider.scope import Verdict

if TYPE_CHECKING:
    from llmsspider.progress import Progress
    from llmsspider.together.crew import Crew

REQUESTS_PER_PAGE = 10
MIN_REQUESTS = 100
"""Without `max_requests`, a crawl sends 10 requests for each page of `max_pages`, and 100 more, at most.

A page takes one to four: its Markdown form, its HTML, a redirect, retries. The rest is for pages that give no document.
"""

MIN_QUEUE = 1000
"""Pages that may wait in the queue however few requests are left: not every page that waits is asked for."""


class PageLimit:
    """How many documents a crawl may export, and how many requests it may send for them.

    Args:
        max_pages: documents; 0 is no limit.
        progress: where this worker's documents are counted.
        crew: the other workers, where there are any.
        max_requests: requests; 0 is no limit, None that which follows from `max_pages`.
    """

    def __init__(
        self,
        max_pages: int,
        progress: Progress,
        crew: Crew | None = None,
        max_requests: int | None = None,
    ):
        by_pages = REQUESTS_PER_PAGE * max_pages + MIN_REQUESTS if max_pages else 0
        self.max_requests = by_pages if max_requests is None else max_requests
        self.requests = 0
        """Requests sent for pages, by all workers as far as this one knows; discovery and robots.txt do not count."""
        self.cut = False
        """True once links were left out because more pages wait than `max_requests` leaves requests."""
        self._max_pages = max_pages
        self._progress = progress
        self._crew = crew
        self._crowded = False

    @property
    def reached(self) -> bool:
        """True when `max_pages` documents have been exported, or `max_requests` requests sent."""
        return self._has_all_pages or (0 < self.max_requests <= self.requests)

    @property
    def _has_all_pages(self) -> bool:
        return self._crowded or self.left == 0

    @property
    def left(self) -> int | None:
        """How many more documents this worker may export before the limit is `reached`, None without a limit."""
        return max(self._max_pages - self._progress.documents, 0) if self._max_pages else None

    def take(self) -> bool:
        """Take a place for one more document; False when `max_pages` documents have been exported."""
        if self._crew is None or self._has_all_pages:
            return not self._has_all_pages
        with contextlib.suppress(TogetherError):  # the crawl ends for it
            number = self._crew.count_document()
            self._crowded = 0 < self._max_pages < number
        return not self._crowded

    def count_request(self) -> None:
        """Count a request that is sent for a page."""
        self.requests += 1
        if self._crew is not None and self.max_requests:
            with contextlib.suppress(TogetherError):  # the crawl ends for it
                self.requests = self._crew.count_request()

    def room(self, queued: int) -> int | None:
        """Return how many more pages may be queued where `queued` wait already, None without a limit."""
        if not self.max_requests:
            return None
        return max(max(self.max_requests - self.requests, MIN_QUEUE) - queued, 0)

    @property
    def documents(self) -> int:
        """The documents exported, by all workers where there are several."""
        number = self._progress.documents
        if self._crew is not None and self._crew.joined:
            with contextlib.suppress(TogetherError):
                number = max(number, self._crew.documents())
        return number

    @property
    def verdict(self) -> Verdict:
        """Why a page is left out once the limit is `reached`, or its queue is full."""
        if self._has_all_pages:
            return Verdict(allowed=False, reason="max-pages", rule=f"max_pages={self._max_pages} is reached")
        rule = f"max_requests={self.max_requests} is reached"
        return Verdict(allowed=False, reason="max-requests", rule=rule)

    @property
    def why(self) -> str:
        """What a run that was cut by the limit calls it: `max_pages` or `max_requests`."""
        return self.verdict.reason.replace("-", "_")
