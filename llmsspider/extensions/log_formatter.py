"""Scrapy's log lines of items, short."""

import logging
from typing import Any

from scrapy.logformatter import LogFormatter, LogFormatterResult


class ShortLogFormatter(LogFormatter):
    """Scrapy's log lines, with `Document <url>` where stock Scrapy prints the whole item."""

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult:
        """Return the line of an exported document, at DEBUG."""
        return _line("Document %(url)s", url=_url(item))

    def dropped(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a dropped document, at DEBUG: the reasons are counted and summed up."""
        return _line("Left out %(reason)s", reason=exception)

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a failed pipeline, at ERROR."""
        return _line("Error processing %(url)s", logging.ERROR, url=_url(item))


def _line(message: str, level: int = logging.DEBUG, **args: Any) -> LogFormatterResult:
    return {"level": level, "msg": message, "args": args}


def _url(item: Any) -> str:
    return getattr(item, "url", None) or type(item).__name__
