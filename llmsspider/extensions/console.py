"""What a crawl prints: its log, where lines name a document by its URL without control characters; lines for people.

The lines for people are a short selection; the whole log then goes to a file beside the page store.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.logformatter import LogFormatter, LogFormatterResult

from llmsspider.output.summary import PrintableFilter
from llmsspider.store.database import resolve_data_dir, source_slug

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


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
        """Remove the filters."""
        for handler in self._handlers:
            handler.removeFilter(self._filter)


LOGS = "logs"
"""Folder beside the page store for the logs of crawls."""

SAID_AT_THE_END = frozenset(
    {
        "llmsspider.extensions.run_summary",
        "llmsspider.downloadermiddlewares.address_guard",
        "llmsspider.downloadermiddlewares.robots",
        "llmsspider.downloadermiddlewares.backoff",
    }
)
"""Loggers of what the closing lines say again, or count."""

MOST_ALIKE = 3
"""Lines of one form that are shown."""

FREE = "%(line)s"
"""The form of the notes on a run, which are few and differ."""


class ForPeople(logging.Filter):
    """Keep what the project says of the crawl: no log lines of libraries, no tracebacks, few lines of one form.

    Args:
        level: of the records that are shown at least.
    """

    def __init__(self, level: int = logging.INFO):
        super().__init__()
        self._level = level
        self._alike: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        ours = record.name.startswith("llmsspider.") and record.name not in SAID_AT_THE_END
        if not ours or record.levelno < self._level:
            return False
        self._alike[str(record.msg)] += 1
        return record.msg == FREE or self._alike[str(record.msg)] <= MOST_ALIKE


def begin(settings: BaseSettings, source: str, *, loglevel: str | None) -> Path | None:
    """Have the log of a crawl written to a file beside the page store, and show the lines for people on stderr.

    Args:
        settings: of the crawl; those of the log are set.
        source: name of the source.
        loglevel: show the log itself from this level on in place of the lines for people.

    Returns:
        The file, which each crawl of a source begins anew; None where none can be written.
    """
    listen(logging.INFO) if loglevel is None else _show_log(settings, loglevel)
    path = resolve_data_dir(settings.get("LLMS_DATA_DIR")) / LOGS / f"{source_slug(source)}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        settings.set("LOG_ENABLED", False, priority="cmdline")
        return None
    settings.setdict({"LOG_FILE": str(path), "LOG_FILE_APPEND": False}, priority="cmdline")
    return path


def listen(level: int) -> None:
    """Show the lines for people on stderr, beside whatever handler Scrapy installs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    handler.addFilter(ForPeople(level))
    logging.root.addHandler(handler)


def _show_log(settings: BaseSettings, level: str) -> None:
    settings.set("LOG_LEVEL", level, priority="cmdline")
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level.upper())
    handler.setFormatter(logging.Formatter(settings.get("LOG_FORMAT"), settings.get("LOG_DATEFORMAT")))
    logging.root.addHandler(handler)


class _OneLine(logging.Formatter):
    """The message alone; a traceback is for the log file."""

    def format(self, record: logging.LogRecord) -> str:
        return record.getMessage()


def relative_path(path: Path) -> str:
    """Return a path as a person in the working directory would write it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
