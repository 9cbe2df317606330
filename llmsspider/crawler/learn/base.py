"""What every learner has: memory, events, and the end of the crawl. No Scrapy."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from llmsspider.crawler.settle import ReadPage, Verdict
from llmsspider.errors import ErrorKind
from llmsspider.web.stats import FilterReason


class Dropped(NamedTuple):
    """A URL that is filtered, as `Run.record_filtered` takes it."""

    url: str
    reason: FilterReason
    rule: str


class End(NamedTuple):
    """What a run has seen when its memory is stored; neither before it has ended."""

    followed_links: bool = False
    is_complete: bool = False
    saw_all: bool = False
    """Whether it is complete, and continued no other run."""
    has_decided: bool = False
    """Whether it decided which stored pages are gone."""


@dataclass(frozen=True, slots=True)
class PageFailed:
    """A page failed: reported, and not retried."""

    url: str  # as it was first requested
    kind: ErrorKind
    by: str = "link"
    listed: bool = False
    is_stored: bool = False
    resolved_to: tuple[str, ...] = ()  # other addresses that were tried for it


class Learner:
    """A fact that a crawl learns; all about it is in one file. Override what it takes part in.

    A learner is synchronous, knows no Scrapy and holds no request. The same event may come twice.
    `name` is its key in the store.
    """

    name: str = ""

    def remember(self, kept: Any) -> None:
        """Take over what an earlier run kept; whatever cannot be read counts as nothing."""

    def keep(self, end: End) -> Any:
        """Return what the next run needs, as JSON; None leaves what is stored."""

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Learn from a page that was read, and what became of it by itself."""

    def page_failed(self, failed: PageFailed) -> None:
        """Learn from a page that failed."""

    def drained(self) -> Iterable[Dropped]:
        """Yield what is to be counted when no page is left to request."""
        return ()
