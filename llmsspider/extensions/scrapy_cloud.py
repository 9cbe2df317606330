"""Scrapy Cloud: the stores of the last job, documents as items within its limits, the memory of all
processes.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.memusage import MemoryUsage
from scrapy.settings import BaseSettings
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import load_object

from llmsspider.crawl.requests import run_of
from llmsspider.crawl.spiderrun import on_scrapy_cloud
from llmsspider.items import Document
from llmsspider.store import PageItem
from llmsspider.web import stats

logger = logging.getLogger(__name__)


# DotScrapy persistence of Scrapy Cloud loads `.scrapy` when it is made, after the spider: too late,
# since what a source
# is comes from its store. So the `crawl` command lets it load once before. It uploads at
# `engine_stopped`.

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


# A document too large for one item, as several items that are each small enough. No Scrapy here.


class ItemTooLargeError(ValueError):
    """The fields other than content and links exceed the limit by themselves."""


def encoded_size(value: object) -> int:
    """Return the bytes of a value as JSON in ASCII: a character outside of it takes 6 or 12."""
    return len(json.dumps(value, default=str))


def in_parts(document: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the document as it is where it is small enough, else as parts with `part` (from 1) and
    `parts`.

    Every part repeats the other fields; `content` is cut at line ends and `links` between two
    links, so that the
    parts joined in order give what the document had. `content_hash` stays that of the whole.
    `limit` are the bytes of
    JSON that one item may have; raises `ItemTooLargeError` when what is repeated leaves no room.
    """
    if encoded_size(document) <= limit:
        return [document]
    empty = {**document, "content": "", "links": []}
    room = limit - encoded_size({**empty, "part": 10**6, "parts": 10**6})
    if room < limit // 10:
        raise ItemTooLargeError(
            f"its fields other than content and links have {limit - room} bytes"
        )
    longest = room // 12  # characters, each of which may take 12 bytes
    lines = (document["content"] or "").splitlines(keepends=True)
    pieces = [
        line[start : start + longest] for line in lines for start in range(0, len(line), longest)
    ]
    # what a piece adds: a string without its quotes, a list's element with its separator
    sized = [("content", piece, encoded_size(piece) - 2) for piece in pieces]
    sized += [("links", link, encoded_size(link) + 2) for link in document["links"]]
    parts: list[dict[str, Any]] = []
    left = 0
    for name, value, size in sized:
        if size > room:
            raise ItemTooLargeError(f"one of its links has {encoded_size(value)} bytes")
        if size > left:
            parts.append({**document, "content": "", "links": []})
            left = room
        left -= size
        parts[-1][name] += value if name == "content" else [value]
    return [{**part, "part": number, "parts": len(parts)} for number, part in enumerate(parts, 1)]


# Scrapy Cloud: documents as its items, none above its limit, and a warning where the next job has
# no store.

PLATFORM_EXTENSION = "sh_scrapy.extension.HubstorageExtension"  # writes the items of a job
PROCESSES = Path("/proc")

MAX_ITEM_BYTES = 1024 * 1024 - 1024
"""JSON bytes of an item: the platform's 1 MiB, less what it adds itself."""


class ScrapyCloud:
    """Hand items to the platform; a document above its limit goes as several items
    (docs/how-to/scrapy-cloud.md).

    One that cannot be cut is refused with the reason, and the run counts as not delivered.
    """

    platform: Any = None
    """The platform's extension, whose items these are; None until the spider opens, and where it
    was taken out.
    """

    def __init__(self, crawler: Crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScrapyCloud:
        """Wait for the spider: the platform's extension is there by then, whatever the order of the
        two.
        """
        if not on_scrapy_cloud():
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Take the items over from the platform's own extension; say so where nothing keeps the
        store.
        """
        self.platform = self.crawler.get_extension(load_object(PLATFORM_EXTENSION))
        if self.platform is not None:
            self.crawler.signals.disconnect(self.platform.item_scraped, signal=signals.item_scraped)
            self.crawler.signals.connect(self.item_scraped, signal=signals.item_scraped)
        settings = self.crawler.settings
        if hasattr(spider, "run") and not settings.get("LLMS_STORE_URL") and not enabled(settings):
            logger.warning(
                "the page store goes with this job, so every job is a first crawl: enable DotScrapy"
                " persistence, or set LLMS_STORE_URL (docs/how-to/scrapy-cloud.md)",
                extra={"spider": spider},
            )

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Write an item, in parts where it has to be."""
        kind = Document if isinstance(item, PageItem) else type(item)
        fields = {"_type": kind.__name__, **ItemAdapter(item).asdict()}
        if "content" not in fields or "links" not in fields:
            self.platform.item_scraped(item, spider)
            return
        try:
            parts = in_parts(fields, MAX_ITEM_BYTES)
        except ItemTooLargeError as error:
            logger.error(
                "no item for %(url)s: %(why)s, and Scrapy Cloud takes 1 MiB at most; it is in the"
                " page store",
                {"url": fields["url"], "why": error},
                extra={"spider": spider},
            )
            stats.count(self.crawler.stats, "cloud/refused")
            if (run := run_of(self.crawler)) is not None:
                run.outputs.undelivered.append(f"item of {fields['url']}: {error}")
            return
        for part in parts:
            self.platform.item_scraped(part, spider)
        if len(parts) > 1:
            stats.count(self.crawler.stats, "cloud/split")


class JobMemory(MemoryUsage):
    """`memusage/max`, the warning and the limit, above which Scrapy Cloud kills a job, count the
    crawl's processes.
    """

    def get_virtual_size(self) -> int:
        """Return the peak of this process and what its children have now, in bytes."""
        size = super().get_virtual_size()
        for child in descendants(os.getpid()):
            with suppress(OSError):  # it has ended
                rollup = (PROCESSES / str(child) / "smaps_rollup").read_text(encoding="ascii")
                found = re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)
                size += int(found[1]) * 1024 if found else 0
        return size


def descendants(pid: int) -> Iterator[int]:
    """Yield the ids of the processes below one, where the system lists them (Linux)."""
    for listing in (PROCESSES / str(pid) / "task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            for child in map(int, listing.read_text(encoding="ascii").split()):
                yield child
                yield from descendants(child)
