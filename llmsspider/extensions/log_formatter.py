"""Log lines that name a document by its URL and never print it whole."""

from __future__ import annotations

import logging
from typing import Any

from scrapy.logformatter import LogFormatter, LogFormatterResult


class ShortLogFormatter(LogFormatter):
    """Scrapy's log lines, with `Document <url>` where stock Scrapy prints the whole item."""

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult:
        """Return the line of an exported document, at DEBUG."""
        return {"level": logging.DEBUG, "msg": "Document %(url)s", "args": {"url": _url(item)}}

    def dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> LogFormatterResult:
        """Return the line of a dropped document, at DEBUG: the reasons are counted and summed up."""
        return {"level": logging.DEBUG, "msg": "Left out %(reason)s", "args": {"reason": exception}}

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a failed pipeline, at ERROR."""
        return {"level": logging.ERROR, "msg": "Error processing %(url)s", "args": {"url": _url(item)}}


def _url(item: Any) -> str:
    return getattr(item, "url", None) or type(item).__name__
