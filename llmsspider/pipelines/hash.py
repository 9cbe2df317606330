"""Second stage: decide what changed and write the page to the store."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from llmsspider.errors import StoreError
from llmsspider.spiderrun import run_of
from llmsspider.store import PageItem

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.items import Document
    from llmsspider.store import PageRecord


logger = logging.getLogger(__name__)


class HashPipeline:
    """Compare each document with the stored page and record it: `change`, `seq`.

    What cannot be stored is not exported either. When the store does not take any more, the crawl ends
    (`store_failed`): the next one finds those pages again.
    """

    def __init__(self, crawler: Crawler, run: Run, *, chunks: bool = False):
        self.crawler = crawler
        self.run = run
        self.chunks = chunks
        self._ending: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HashPipeline:
        """Take the run of the spider; a feed of chunks needs to know which ones a page had."""
        feeds = crawler.settings.getdict("FEEDS").values()
        return cls(crawler, run_of(crawler), chunks=any(feed.get("format") == "chunks" for feed in feeds))

    def process_item(self, item: Document) -> Document:
        """Return the document with `change` and `seq` filled in; raises `DropItem` for one that is not stored."""
        if not isinstance(item, PageItem) or item.record is None:
            return item  # of a spider of yours
        if not self.run.is_first(item.record):
            self.run.count("twice")
            raise DropItem(f"{item.url}: it has a document in this run")
        try:
            return self._recorded(item, item.record)
        except StoreError as error:
            self._end(error)
            raise DropItem(f"{item.url}: not stored") from error

    def _end(self, error: StoreError) -> None:
        if self._ending is None and self.crawler.engine is not None:
            logger.error("The crawl ends: %(error)s", {"error": error}, extra={"spider": self.crawler.spider})
            closing = self.crawler.engine.close_spider_async(reason="store_failed")
            self._ending = asyncio.ensure_future(closing)

    def _recorded(self, item: PageItem, record: PageRecord) -> Document:
        before = self._content_before(record) if self.chunks and not item.confirmed else None
        if before is not None:
            self.run.chunks_before[item.id] = self.run.config.chunker.ids(item.id, before)
        if item.change == "deleted":
            item.seq = self.run.delete(record)
            return item
        record.content_hash = item.content_hash
        item.change, item.seq = self.run.record(record, confirmed=item.confirmed)
        return item

    def _content_before(self, record: PageRecord) -> str | None:
        if record.key not in self.run.known.states:
            return None
        stored = self.run.store.load_page(record.key)
        return None if stored is None else stored.content
