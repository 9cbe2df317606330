"""Scrapy Cloud: documents as its items, none above its limit, and a word where the next job would not know this one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from llmsspider import dotscrapy, stats
from llmsspider.itemparts import TooLargeError, in_parts
from llmsspider.items import Document
from llmsspider.jobs import on_scrapy_cloud
from llmsspider.store import PageItem

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from llmsspider.run import Run

logger = logging.getLogger(__name__)

PLATFORM_EXTENSION = "sh_scrapy.extension.HubstorageExtension"
"""What writes the items of a job; it is switched off in the settings and made here."""

MAX_ITEM_BYTES = 1024 * 1024 - 1024
"""JSON bytes of an item: the platform's 1 MiB, less what it adds itself."""


class ScrapyCloud:
    """Hand items to the platform; a document above its limit goes as several items (docs/scrapy-cloud.md).

    One that cannot be cut is refused with the reason, and the run counts as not delivered.
    """

    def __init__(self, crawler: Crawler, platform: Any):
        self.crawler = crawler
        self.platform = platform

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScrapyCloud:
        """Take the items over from the platform's own extension."""
        if not on_scrapy_cloud():
            raise NotConfigured
        platform = load_object(PLATFORM_EXTENSION).from_crawler(crawler)
        crawler.signals.disconnect(platform.item_scraped, signal=signals.item_scraped)
        extension = cls(crawler, platform)
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Say so where nothing keeps the store."""
        settings = self.crawler.settings
        if hasattr(spider, "run") and not settings.get("LLMS_STORE_URL") and not dotscrapy.enabled(settings):
            logger.warning(
                "the page store goes with this job, so every job is a first crawl: enable DotScrapy persistence, or "
                "set LLMS_STORE_URL (docs/scrapy-cloud.md)",
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
        except TooLargeError as error:
            self._refuse(fields["url"], str(error), spider)
            return
        for part in parts:
            self.platform.item_scraped(part, spider)
        if len(parts) > 1:
            stats.count(self.crawler.stats, "cloud/split")

    def _refuse(self, url: str, why: str, spider: Spider) -> None:
        logger.error(
            "no item for %(url)s: %(why)s, and Scrapy Cloud takes 1 MiB at most; it is in the page store",
            {"url": url, "why": why},
            extra={"spider": spider},
        )
        stats.count(self.crawler.stats, "cloud/refused")
        run: Run | None = getattr(spider, "run", None)
        if run is not None:
            run.undelivered.append(f"item of {url}: {why}")
