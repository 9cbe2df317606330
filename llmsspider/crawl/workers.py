"""The workers of one crawl: what differs where several share a site. Here is the only one; no Redis, no Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from llmsspider.crawl.bounds import PageLimit

if TYPE_CHECKING:
    from llmsspider.crawl.progress import Progress


class PageKeys(Protocol):
    """A set of page keys (`urls.page_key`) that only grows."""

    def __contains__(self, key: object, /) -> bool:
        """Say whether the key is in it."""
        ...

    def add(self, key: bytes, /) -> None:
        """Add a key."""
        ...


class Workers:
    """What a crawl asks of its workers, answered by the only one.

    `distributed.WorkerGroup` answers the same questions for several.
    """

    is_alone = True
    """Whether this worker sees the whole crawl: only then can pages wait for what others show."""

    leads = True
    """Whether this worker does what is done once: discovery, the seeds, the end, the Markdown tree."""

    size = 1
    """Workers that are in the crawl now."""

    def __init__(self) -> None:
        self.requested: PageKeys = set()
        """The pages that were requested in this crawl."""
        self._spellings: dict[str, str] = {}

    def page_limit(self, max_pages: int, progress: Progress, max_requests: int | None) -> PageLimit:
        """Return how many documents and requests the crawl may have."""
        return PageLimit(max_pages, progress, max_requests)

    def first_spelling(self, spelling: str, url: str) -> str:
        """Return the page that was first exported under a loose spelling; `url` where this is the first."""
        return self._spellings.setdefault(spelling, url)

    def end(self, outcome: str) -> None:
        """Note how the crawl of this worker ended: Scrapy's finish reason."""

    def counts(self) -> dict[str, Any]:
        """Return what the store keeps of the workers with the numbers of a run."""
        return {}
