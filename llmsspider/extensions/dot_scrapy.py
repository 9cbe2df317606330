"""DotScrapy persistence of Scrapy Cloud, loaded before the stores are opened.

The extension loads `.scrapy` when it is made, after the spider: too late, since what a source is
comes from its store. So the `crawl` command lets it load once before. It uploads at
`engine_stopped`.
"""

import logging
import os
from types import SimpleNamespace

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import load_object

EXTENSION = "scrapy_dotpersistence.DotScrapyPersistence"


def enabled(settings: BaseSettings) -> bool:
    """Return whether the extension is configured and works in this process."""
    wanted = settings.getbool("DOTSCRAPY_ENABLED") or settings.get("DOTSCRAPYPERSISTENCE_ENABLED")
    if not wanted or "SCRAPY_JOB" not in os.environ:
        return False  # to look further loads every extension of Scrapy
    return settings.get_component_priority_dict_with_base("EXTENSIONS").get(EXTENSION) is not None


def load(settings: BaseSettings) -> str | None:
    """Fetch `.scrapy` as the last job left it; returns what went wrong, in one line, or None.

    A job that went on without would put an empty store in the place of the stored one when it ends.
    """
    if not enabled(settings):
        return None
    problems: list[str] = []

    def collect(record: logging.LogRecord) -> bool:  # its only report of a command that failed
        if record.levelno >= logging.ERROR:
            problems.append(" ".join(record.getMessage().split())[-500:])
        return record.levelno < logging.ERROR

    log = logging.getLogger(load_object(EXTENSION).__module__)
    log.addFilter(collect)
    try:
        load_object(EXTENSION).from_crawler(
            SimpleNamespace(settings=settings, signals=SignalManager())
        )
    except (NotConfigured, OSError) as error:
        problems.append(str(error) or "it is not configured")
    finally:
        log.removeFilter(collect)
    could_not = "DotScrapy persistence could not load the page stores of the last job"
    return f"{could_not}: {problems[0]}" if problems else None
