"""What a crawl shows to people of its log: a few lines.

The whole log then goes to a file beside the page store.
"""

import logging
import sys
from collections import Counter
from pathlib import Path

from scrapy.settings import BaseSettings

from llmsspider.store.database import resolve_data_dir, source_slug

LOGS = "logs"
LOG_ROOM = 65_536
"""Folder beside the page store for the logs of crawls; bytes that the disk has to take before one
is begun.
"""

IN_THE_SUMMARY = frozenset(
    {
        "llmsspider.extensions.run_summary",
        "llmsspider.downloadermiddlewares.address_guard",
        "llmsspider.downloadermiddlewares.robots",
        "llmsspider.downloadermiddlewares.backoff",
        "llmsspider.pipelines.hash",
        "llmsspider.pipelines.outcomes",
        "llmsspider.crawler.ending.faults",
        "llmsspider.store.writer",
    }
)
"""Loggers of what the closing lines say again, or count."""

MOST_ALIKE = 3
FREE = "%(line)s"
"""Lines of one form that are shown, and the form of the notes on a run, which are few and differ.
"""


class PeopleFilter(logging.Filter):
    """Keep what the project says of the crawl from a level on: no lines of libraries, no
    tracebacks, few alike.
    """

    def __init__(self, level: int = logging.INFO):
        super().__init__()
        self._level = level
        self._alike = Counter[object]()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        ours = record.name.startswith("llmsspider.") and record.name not in IN_THE_SUMMARY
        if not ours or record.levelno < self._level:
            return False
        self._alike[record.msg] += 1
        return record.msg == FREE or self._alike[record.msg] <= MOST_ALIKE


def begin(settings: BaseSettings, source: str, *, loglevel: str | None) -> Path | None:
    """Have the log of a crawl written to a file beside the page store, and show the lines for
    people on stderr.

    `loglevel` shows the log itself from this level on in place of the lines for people. Returns the
    file, which each crawl of a source begins anew; None where none can be written.
    """
    logging.raiseExceptions = False  # a line that a full disk does not take is no fault to report
    if loglevel is None:
        listen(logging.INFO)
    else:
        settings.set("LOG_LEVEL", loglevel, priority="cmdline")
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(loglevel.upper())
        handler.setFormatter(
            logging.Formatter(settings.get("LOG_FORMAT"), settings.get("LOG_DATEFORMAT"))
        )
        logging.root.addHandler(handler)
    path = resolve_data_dir(settings.get("LLMS_DATA_DIR")) / LOGS / f"{source_slug(source)}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Scrapy begins no crawl whose log a full disk does not take
        path.write_bytes(bytes(LOG_ROOM))
        path.write_bytes(b"")
    except OSError:
        settings.set("LOG_ENABLED", False, priority="cmdline")
        return None
    settings.setdict({"LOG_FILE": str(path), "LOG_FILE_APPEND": False}, priority="cmdline")
    return path


def listen(level: int) -> None:
    """Show the lines for people on stderr, beside whatever handler Scrapy installs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.format = lambda record: record.getMessage()  # type: ignore[method-assign]  # no traceback
    handler.addFilter(PeopleFilter(level))
    logging.root.addHandler(handler)
