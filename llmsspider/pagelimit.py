"""The limit `max_pages`, counted over all workers of a crawl where it has several. No Scrapy here."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from llmsspider.errors import TogetherError
from llmsspider.scope import Verdict

if TYPE_CHECKING:
    from llmsspider.progress import Progress
    from llmsspider.together.crew import Crew


class PageLimit:
    """How many documents a crawl may export.

    Args:
        max_pages: documents; 0 is no limit.
        progress: where this worker's documents are counted.
        crew: the other workers, where there are any.
    """

    def __init__(self, max_pages: int, progress: Progress, crew: Crew | None = None):
        self._max_pages = max_pages
        self._progress = progress
        self._crew = crew
        self._crowded = False

    @property
    def reached(self) -> bool:
        """True when `max_pages` documents have been exported."""
        return self._crowded or self.left == 0

    @property
    def left(self) -> int | None:
        """How many more documents this worker may export before the limit is `reached`, None without a limit."""
        return max(self._max_pages - self._progress.documents, 0) if self._max_pages else None

    def take(self) -> bool:
        """Take a place for one more document; False when `max_pages` documents have been exported."""
        if self._crew is None or self.reached:
            return not self.reached
        with contextlib.suppress(TogetherError):  # the crawl ends for it
            number = self._crew.count_document()
            self._crowded = 0 < self._max_pages < number
        return not self._crowded

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
        """Why a page is left out once the limit is `reached`."""
        return Verdict(allowed=False, reason="max-pages", rule=f"max_pages={self._max_pages} is reached")
