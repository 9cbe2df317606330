"""What pipelines of the user did to documents besides changing them in time."""

import logging
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from twisted.python.failure import Failure

from llmsspider.crawler.parts import KnownPages, Progress, RecordedPages
from llmsspider.crawler.requests import RunComponent
from llmsspider.items import content_hash
from llmsspider.pipelines import CountedDrop
from llmsspider.store import PageItem, PageRecord
from llmsspider.web import stats
from llmsspider.web.loading import OURS

logger = logging.getLogger(__name__)


class PipelineOutcomes(RunComponent):
    """Count a page that a pipeline dropped, keep it as it is stored where one failed; tombstones
    are recorded anyway.

    Changes by pipelines after the store come too late; that is logged once.
    """

    known: KnownPages
    progress: Progress
    recorded: RecordedPages

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider."""
        extension = super().from_crawler(crawler)
        settings = crawler.settings
        crawler.signals.connect(extension.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(extension.item_error, signal=signals.item_error)
        named = {**settings.getdict("ITEM_PIPELINES_BASE"), **settings.getdict("ITEM_PIPELINES")}
        theirs = any(not str(one).startswith(OURS) for one in named)
        if theirs or settings.getpriority("ITEM_PROCESSOR") != SETTINGS_PRIORITIES["default"]:
            crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        return extension

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """Count a page that a pipeline of the user dropped."""
        if isinstance(exception, CountedDrop) or not isinstance(item, PageItem):
            return
        if not self.recorded.is_first(item.record):
            self._warn_once(item, "dropped it")
        elif item.change == "deleted":
            self._delete(item.record)
        else:
            self.report.dropped(item.record, str(exception))

    def item_error(self, item: Any, failure: Failure) -> None:
        """Count a page for which a pipeline failed; it stays as it is stored."""
        if not isinstance(item, PageItem) or not self.recorded.is_first(item.record):
            return
        if item.change == "deleted":
            self._delete(item.record)
        elif (
            self.known.outcomes.get(item.record.key) != "kept"
        ):  # else it failed as it is stored, too
            why = f"a pipeline failed: {type(failure.value).__name__}: {failure.value}"
            self.report.failed(item.record.url, "parse", why, item.record.status)
            self.known.record_outcome(item.record.key, "kept", "parse")

    def item_scraped(self, item: Any) -> None:
        """Give content that was changed after it was stored its own hash."""
        if (
            isinstance(item, PageItem)
            and item.change != "deleted"
            and item.content != item.record.content
        ):
            item.content_hash = None if item.content is None else content_hash(item.content)
            self.report.count("altered-after-store")
            self._warn_once(item, "changed its content")

    def _delete(self, record: PageRecord) -> None:
        self.recorded.delete(record)
        self.report.count(stats.change("deleted"))
        self.progress.changes["deleted"] += 1
        logger.warning(
            "%(url)s is deleted; a pipeline dropped its tombstone, so that no feed has it",
            {"url": record.url},
            extra={"spider": self.crawler.spider},
        )

    def _warn_once(self, item: PageItem, what: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            logger.warning(
                "%(url)s: a pipeline %(what)s after it was stored: the store, and what is made of"
                " it, has it as it was; an order below 800 comes before the store",
                {"url": item.url, "what": what},
                extra={"spider": self.crawler.spider},
            )
