"""Documents as items of a job of Scrapy Cloud, none above its limit."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from llmsspider.crawler.parts import Outputs
from llmsspider.crawler.requests import part_of
from llmsspider.crawler.spiderrun import on_scrapy_cloud
from llmsspider.extensions.dot_scrapy import enabled
from llmsspider.extensions.item_parts import ItemTooLargeError, split_document
from llmsspider.items import Document
from llmsspider.store import PageItem
from llmsspider.web import stats

logger = logging.getLogger(__name__)


PLATFORM_EXTENSION = "sh_scrapy.extension.HubstorageExtension"  # writes the items of a job

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
            parts = split_document(fields, MAX_ITEM_BYTES)
        except ItemTooLargeError as error:
            logger.error(
                "no item for %(url)s: %(why)s, and Scrapy Cloud takes 1 MiB at most; it is in the"
                " page store",
                {"url": fields["url"], "why": error},
                extra={"spider": spider},
            )
            stats.count(self.crawler.stats, "cloud/refused")
            if (outputs := part_of(self.crawler, Outputs)) is not None:
                outputs.undelivered.append(f"item of {fields['url']}: {error}")
            return
        for part in parts:
            self.platform.item_scraped(part, spider)
        if len(parts) > 1:
            stats.count(self.crawler.stats, "cloud/split")
