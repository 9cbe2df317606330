"""Second stage: decide what changed and write the page to the store; what pipelines of the user did
to documents.
"""

import asyncio
import logging
from types import NoneType
from typing import Any, Self

import orjson
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from twisted.python.failure import Failure

from llmsspider.crawl.requests import RunComponent
from llmsspider.crawl.run import Run
from llmsspider.errors import StoreError
from llmsspider.items import Link, LlmsEntry, added_fields, content_hash
from llmsspider.pipelines import CountedDrop
from llmsspider.store import PageItem, PageRecord
from llmsspider.store.records import clear_content, derive_fields
from llmsspider.web import stats
from llmsspider.web.loading import OURS

logger = logging.getLogger(__name__)

FOLLOWED = ("title", "description", "language", "content", "links")
"""The fields that are stored as pipelines left them, beside `llms` and the fields that they added.
"""

KINDS: dict[str, tuple[type, ...]] = {
    "content": (str,),
    "title": (str, NoneType),
    "description": (str, NoneType),
    "language": (str, NoneType),
    "links": (list,),
    "llms": (LlmsEntry, NoneType),
}
"""What a pipeline may make of a field."""

FIXED = ("id", "url", "fetched_url")  # they belong to the crawl


class HashPipeline(RunComponent):
    """Compare each document with the stored page and record it as it is here: `change`, `seq`,
    `content_hash`.

    What pipelines do to content that comes from the store is reverted. A document that cannot be
    stored is not
    exported; when the store fails, the crawl ends (`store_failed`), and the next one finds those
    pages again.
    """

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        formats = {feed.get("format") for feed in crawler.settings.getdict("FEEDS").values()}
        self._chunks = "chunks" in formats  # they need those that a page had
        self._ending: asyncio.Future[None] | None = None

    def process_item(self, item: Any) -> Any:
        """Return the document as it is stored; raises `DropItem` for one that is not."""
        record: PageRecord | None = (
            getattr(item, "record", None) if isinstance(item, PageItem) else None
        )
        if record is None:
            found = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
            if self.run.id and found.get("run") == self.run.id:  # the store would not know its page
                what = (
                    f"a pipeline before order 800 returned {type(item).__name__} in place of the"
                    " item"
                )
                change = "change the fields of the item that it is given and return that"
                raise TypeError(
                    f"{what}: {change}, or make items of your own in a pipeline above 900"
                )
            return item  # of a spider of yours
        if not self.run.recorded.is_first(record):
            self.run.count("twice")
            raise CountedDrop(f"{item.url}: it has a document in this run")
        try:
            return self._recorded(item, record)
        except StoreError as error:
            if self._ending is None and self.crawler.engine is not None:
                self.run.fault = str(error)
                spider = {"spider": self.crawler.spider}
                logger.error("The crawl ends: %(error)s", {"error": error}, extra=spider)
                closing = self.crawler.engine.close_spider_async(reason="store_failed")
                self._ending = asyncio.ensure_future(closing)
            raise CountedDrop(f"{item.url}: not stored") from error

    def _recorded(self, item: PageItem, record: PageRecord) -> PageItem:
        if self._chunks and not item.confirmed and record.key in self.run.known.states:
            before = self.run.store.load_page(record.key)
            if before is not None and before.content is not None:
                self.run.outputs.chunks_before[item.id] = self.run.config.chunker.ids(
                    item.id, before.content
                )
        if item.change == "deleted":
            item.seq = self.run.recorded.delete(record)
            clear_content(item)
            vars(item).clear()
            return item
        self._update(item, record)
        if not (item.content or "").strip():
            self.run.drop(record, "its pipelines left no text")
            raise CountedDrop(f"{item.url}: its pipelines left no text")
        item.change, item.seq = self.run.recorded.write(record, confirmed=item.confirmed)
        item.change_kinds = record.change_kinds
        item.rights = self.run.rights.of(record.url, record.declared)
        return item

    def _update(self, item: PageItem, record: PageRecord) -> None:
        """Make the record what pipelines made of the item, and the item what is stored of the same
        source.
        """
        record.llms = item.llms
        if record.llms is not None:
            self.run.memory.llms_entries[record.llms.file] = record.llms
        is_reverted = item.stored
        if not item.stored:
            _update_record(item, record)
            if (delivered := self.run.recorded.delivered_before(record)) is not None:
                is_reverted = True
                for name in (*FOLLOWED, "content_hash", "extra"):
                    setattr(record, name, getattr(delivered, name))
        elif record.content_hash is None:  # changed since it was read from the store
            record.content_hash = content_hash(record.content or "")
        for name in (*FIXED, *FOLLOWED, "content_hash"):
            setattr(item, name, getattr(record, name))
        derive_fields(item, record)
        if is_reverted:
            vars(item).clear()
            vars(item).update(record.extra)


def _update_record(item: PageItem, record: PageRecord) -> None:
    """Copy into the record what pipelines made of the item; raises `TypeError` for a field of
    another type.
    """
    for name, kinds in KINDS.items():
        value = getattr(item, name)
        if not isinstance(value, kinds):
            raise TypeError(
                f"a pipeline made {name} a {type(value).__name__}; raise DropItem to drop a page"
            )
    if not all(isinstance(link, Link) for link in item.links):
        raise TypeError("a pipeline made links of something else than llmsspider.items.Link")
    altered = item.content is not record.content
    for name in FOLLOWED:
        setattr(record, name, getattr(item, name))
    record.extra = orjson.loads(
        orjson.dumps(added_fields(item), default=str, option=orjson.OPT_NON_STR_KEYS)
    )
    record.content_hash = content_hash(item.content or "") if altered else record.source_hash


# What pipelines of the user do to documents besides changing them in time.


class PipelineOutcomes(RunComponent):
    """Count a page that a pipeline dropped, keep it as it is stored where one failed; tombstones
    are recorded anyway.

    Changes by pipelines after the store come too late; that is logged once.
    """

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider."""
        extension = super().from_crawler(crawler)
        settings = crawler.settings
        crawler.signals.connect(extension.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(extension.item_error, signal=signals.item_error)
        named = {**settings.getdict("ITEM_PIPELINES_BASE"), **settings.getdict("ITEM_PIPELINES")}
        theirs = any(not str(one).startswith(OURS) for one in named)
        if theirs or settings.getpriority("ITEM_PROCESSOR") != SETTINGS_PRIORITIES["default"]:
            crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        return extension

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """Count a page that a pipeline of the user dropped."""
        if isinstance(exception, CountedDrop) or not isinstance(item, PageItem):
            return
        if not self.run.recorded.is_first(item.record):
            self._warn_once(item, "dropped it")
        elif item.change == "deleted":
            self._delete(item.record)
        else:
            self.run.drop(item.record, str(exception))

    def item_error(self, item: Any, failure: Failure) -> None:
        """Count a page for which a pipeline failed; it stays as it is stored."""
        if not isinstance(item, PageItem) or not self.run.recorded.is_first(item.record):
            return
        if item.change == "deleted":
            self._delete(item.record)
        elif (
            self.run.known.outcomes.get(item.record.key) != "kept"
        ):  # else it failed as it is stored, too
            why = f"a pipeline failed: {type(failure.value).__name__}: {failure.value}"
            self.run.fail(item.record.url, "parse", why, item.record.status)
            self.run.known.record_outcome(item.record.key, "kept", "parse")

    def item_scraped(self, item: Any) -> None:
        """Give content that was changed after it was stored its own hash."""
        if (
            isinstance(item, PageItem)
            and item.change != "deleted"
            and item.content != item.record.content
        ):
            item.content_hash = None if item.content is None else content_hash(item.content)
            self.run.count("altered-after-store")
            self._warn_once(item, "changed its content")

    def _delete(self, record: PageRecord) -> None:
        self.run.recorded.delete(record)
        self.run.count(stats.change("deleted"))
        self.run.progress.changes["deleted"] += 1
        logger.warning(
            "%(url)s is deleted; a pipeline dropped its tombstone, so that no feed has it",
            {"url": record.url},
            extra={"spider": self.crawler.spider},
        )

    def _warn_once(self, item: PageItem, what: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            logger.warning(
                "%(url)s: a pipeline %(what)s after it was stored: the store, and what is made of"
                " it, has it as it was; an order below 800 comes before the store",
                {"url": item.url, "what": what},
                extra={"spider": self.crawler.spider},
            )
