"""Log lines that name a document by its URL, and no control characters that a site sends."""

from __future__ import annotations

import logging
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.logformatter import LogFormatter, LogFormatterResult

from llmsspider.output.status import PrintableFilter

# --- log lines of documents ---


class ShortLogFormatter(LogFormatter):
    """Scrapy's log lines, with `Document <url>` where stock Scrapy prints the whole item.

    Lines at DEBUG are None where `LOG_LEVEL` leaves them out: two for each page, made for nobody.
    """

    def __init__(self, *, debug: bool = True):
        self._debug = debug

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ShortLogFormatter:
        """Read `LOG_LEVEL`."""
        level: Any = crawler.settings.get("LOG_LEVEL")
        number = logging.getLevelName(str(level).upper()) if not str(level).isdigit() else int(level)
        return cls(debug=not isinstance(number, int) or number <= logging.DEBUG)

    def crawled(self, request: Any, response: Any, spider: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """Return Scrapy's line of an answer, at DEBUG."""
        return super().crawled(request, response, spider) if self._debug else None

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """Return the line of an exported document, at DEBUG."""
        if not self._debug:
            return None
        return {"level": logging.DEBUG, "msg": "Document %(url)s", "args": {"url": _url(item)}}

    def dropped(  # type: ignore[override]
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult | None:
        """Return the line of a dropped document, at DEBUG: the reasons are counted and summed up."""
        if not self._debug:
            return None
        return {"level": logging.DEBUG, "msg": "Left out %(reason)s", "args": {"reason": exception}}

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a failed pipeline, at ERROR."""
        return {"level": logging.ERROR, "msg": "Error processing %(url)s", "args": {"url": _url(item)}}


def _url(item: Any) -> str:
    return getattr(item, "url", None) or type(item).__name__


# --- control characters in log lines ---


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
        """Take the filters off again."""
        for handler in self._handlers:
            handler.removeFilter(self._filter)
