"""Output about a run, and work beside the crawl: heartbeat, progress, live page, summary, report, notices of changes.

In: Scrapy's signals and the `Run`. Out: log lines, a display, files, requests to a webhook; the run is opened by its
spider and closed here (`run_summary`). Scrapy loads them by the settings; the command line imports `console` and
`scrapy_cloud`.
"""

import logging
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import MemoryStatsCollector

from llmsspider.crawl.spiderrun import RunComponent


class RunExtension(RunComponent):
    """An extension of a spider that has a run; its methods with the name of a signal of Scrapy are connected."""

    log = logging.getLogger(__name__)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; raises `NotConfigured`, without a reason to warn of, where it is not wanted."""
        extension = super().from_crawler(crawler)
        if not extension.is_wanted():
            raise NotConfigured
        for name, signal in vars(signals).items():
            if not name.startswith("_") and hasattr(extension, name):
                crawler.signals.connect(getattr(extension, name), signal=signal)
        return extension

    def is_wanted(self) -> bool:
        """Return whether there is anything to do."""
        return True

    def log_line(self, level: int, line: str) -> None:
        """Log a line."""
        self.log.log(level, "%(line)s", {"line": line}, extra={"spider": self.crawler.spider})


class PlainStatsCollector(MemoryStatsCollector):
    """Scrapy's default collector (`STATS_CLASS`), without its check for the deprecated argument `spider`.

    In Scrapy 2.19 that is three Python calls for each of the about 18 stats that a page updates.
    """

    __getattribute__ = object.__getattribute__
