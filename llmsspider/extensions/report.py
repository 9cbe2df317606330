"""Write `run.json` and the HTML report when the crawl has ended, and name them in the last line of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from llmsspider.crawl.spiderrun import required_run
from llmsspider.errors import StoreError
from llmsspider.items import Document
from llmsspider.pipelines.export import NotAskedFor

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


class RunReport:
    """Write the report at `engine_stopped`, when the run is in the store; `LLMS_REPORT` says where."""

    def __init__(self, crawler: Crawler, run: Run, setting: str):
        self._crawler = crawler
        self._run = run
        self._setting = setting
        self._seen: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RunReport:
        """Take the run of the spider."""
        run = required_run(crawler)
        setting = crawler.settings.get("LLMS_REPORT")
        if not run.watched or not setting:
            raise NotConfigured  # the default: Scrapy would warn of a reason
        extension = cls(crawler, run, str(setting))
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def item_scraped(self, item: Any) -> None:
        """Note the pages that have a document in this run; a first crawl has no stored pages to compare."""
        if self._run.known.states and isinstance(item, Document):
            self._seen.add(item.id)

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """Note those that did not change and are not exported for it."""
        if isinstance(exception, NotAskedFor):
            self.item_scraped(item)

    def engine_stopped(self) -> None:
        """Write it; Jinja2 is imported here, since a crawl without a report does without."""
        from llmsspider.output.report import gather, write_report  # noqa: PLC0415

        extra = {"spider": self._crawler.spider}
        if not self._run.id:
            logger.warning("no report: the run did not begin", extra=extra)
            return
        try:
            path, html = write_report(gather(self._run, self._all_seen()), self._setting)
        except (OSError, StoreError) as error:
            logger.error("the report could not be written: %(error)s", {"error": error}, extra=extra)
            return
        self._run.outputs.report = path, html
        logger.info("report: %(path)s", {"path": path}, extra=extra)

    def _all_seen(self) -> set[str] | None:
        """Return the ids of the documents of this run; None where other processes yielded a part of them."""
        return None if self._run.resumes else self._seen
