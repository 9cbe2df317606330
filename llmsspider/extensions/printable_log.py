"""Control characters of a site reach no terminal through the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals

from llmsspider.output import PrintableFilter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class PrintableLog:
    """Filter every handler of the root logger for the length of the crawl."""

    def __init__(self) -> None:
        self._filter = PrintableFilter()
        self._handlers = list(logging.getLogger().handlers)
        for handler in self._handlers:
            handler.addFilter(self._filter)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PrintableLog:
        """Begin."""
        extension = cls()
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def engine_stopped(self) -> None:
        """Remove the filters."""
        for handler in self._handlers:
            handler.removeFilter(self._filter)
