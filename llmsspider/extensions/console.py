"""A crawl in the lines that a person wants. The whole log goes to a file beside the page store."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from llmsspider.output.summary import failure
from llmsspider.store.database import resolve_data_dir, source_slug

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from llmsspider.crawl.run import Run

LOGS = "logs"
"""Folder beside the page store for the logs of crawls."""

TOLD_AT_THE_END = frozenset(
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
        ours = record.name.startswith("llmsspider.") and record.name not in TOLD_AT_THE_END
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


def nothing(run: Run) -> str:
    """Return one line on a crawl without a document: why, and what to do."""
    if run.outcome == "shutdown":
        return "stopped before the first page"
    return failure(run, run.outcome) or f"nothing was obtained ({run.outcome or 'the crawl did not start'})"


def shown(path: Path) -> str:
    """Return a path as a person in the working directory would write it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
