"""What a run says of its URLs: stats, progress, the log, and what the store keeps. No Scrapy."""

import logging
from collections.abc import Callable

from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.progress import Coverage, Progress
from llmsspider.crawler.shapes import LEARNED
from llmsspider.crawler.uses import UsesRun
from llmsspider.errors import ErrorKind
from llmsspider.store import PageRecord
from llmsspider.web import stats
from llmsspider.web.stats import FILTERED_AFTER_FETCH, LIMITS, FilterReason, Stat
from llmsspider.web.urls import page_key

logger = logging.getLogger(__name__)


class Reporter(UsesRun):
    """Counts, logs and stores what becomes of the URLs of one run; `add` adds to a stat."""

    addresses: Addresses
    bounds: Bounds
    coverage: Coverage
    known: KnownPages
    progress: Progress

    def __init__(self, run: object, add: Callable[[Stat, int], None]):
        super().__init__(run)
        self._add = add

    def count(self, stat: Stat, number: int = 1) -> None:
        """Add to a stat."""
        self._add(stat, number)

    def note(self, line: str) -> None:
        """Log a line at INFO."""
        logger.info("%(line)s", {"line": line})

    def filtered(self, url: str, reason: FilterReason, rule: str = "") -> None:
        """Count a URL that is filtered, once, with its reason, in stats, progress and store."""
        key = page_key(url)
        if reason in LIMITS:
            self.coverage.unseen.add(reason)
        elif rule.startswith(LEARNED):
            pass  # it was not asked
        elif reason in FILTERED_AFTER_FETCH and self.known.state(key) is None:
            self.bounds.wasted(url, reason)
        if reason not in {"canonical", "redirect"} and key in self.addresses.requested_pages:
            self.addresses.accounted.add(key)
        if not self.bounds.links.add(f"filtered {reason} {rule} {url}"):
            return  # another link to it, or another way it was found
        self.progress.record_filtered(reason, url, rule)
        self.count(stats.filtered(reason))
        if self.known.store is not None:
            self.known.store.record_filtered(url, reason, rule or None)

    def dropped(self, record: PageRecord, why: str) -> None:
        """Count a page that a pipeline of the user dropped; what is stored of it is deleted at the
        end.
        """
        if self.known.reasons.get(record.key) != "pipeline":
            self.filtered(record.url, "pipeline", why)
            self.known.record_outcome(record.key, "dropped", "pipeline")

    def failed(self, url: str, kind: ErrorKind, message: str, status: int | None = None) -> None:
        """Count a page that failed, in stats, progress and store."""
        key = page_key(url)
        if kind == "not_found" and self.known.state(key) is None:
            self.bounds.wasted(url)
        self.addresses.accounted.add(key)
        self.progress.error(kind, url, message, status)
        self.count(stats.errors(kind))
        if self.known.store is not None:
            self.known.store.record_error(url, kind, message, status)
