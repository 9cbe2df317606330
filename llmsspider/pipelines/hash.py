"""Second stage: decide what changed and write the page to the store."""

import asyncio
import logging
from types import NoneType
from typing import Any

import orjson
from itemadapter import ItemAdapter

from llmsspider.crawler.parts import (
    Config,
    Coverage,
    KnownPages,
    Outputs,
    RecordedPages,
    SiteRights,
    SourceMemory,
)
from llmsspider.crawler.requests import RunComponent
from llmsspider.errors import StoreError
from llmsspider.items import Link, LlmsEntry, added_fields, content_hash
from llmsspider.pipelines import CountedDrop
from llmsspider.store import PageItem, PageRecord
from llmsspider.store.records import clear_content, derive_fields

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
    stored is not exported; when the store fails, the crawl ends (`store_failed`), and the next one
    finds those pages again.
    """

    config: Config
    coverage: Coverage
    known: KnownPages
    memory: SourceMemory
    outputs: Outputs
    recorded: RecordedPages
    rights: SiteRights

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        formats = {feed.get("format") for feed in self.crawler.settings.getdict("FEEDS").values()}
        self._chunks = "chunks" in formats  # they need those that a page had
        self._ending: asyncio.Future[None] | None = None

    def process_item(self, item: Any) -> Any:
        """Return the document as it is stored; raises `DropItem` for one that is not."""
        record: PageRecord | None = (
            getattr(item, "record", None) if isinstance(item, PageItem) else None
        )
        if record is None:
            found = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
            # the store would not know its page
            if self.records.run_id and found.get("run") == self.records.run_id:
                what = (
                    f"a pipeline before order 800 returned {type(item).__name__} in place of the"
                    " item"
                )
                change = "change the fields of the item that it is given and return that"
                raise TypeError(
                    f"{what}: {change}, or make items of your own in a pipeline above 900"
                )
            return item  # of a spider of yours
        if not self.recorded.is_first(record):
            self.report.count("twice")
            raise CountedDrop(f"{item.url}: it has a document in this run")
        try:
            return self._recorded(item, record)
        except StoreError as error:
            if self._ending is None and self.crawler.engine is not None:
                self.coverage.fault = str(error)
                spider = {"spider": self.crawler.spider}
                logger.error("The crawl ends: %(error)s", {"error": error}, extra=spider)
                closing = self.crawler.engine.close_spider_async(reason="store_failed")
                self._ending = asyncio.ensure_future(closing)
            raise CountedDrop(f"{item.url}: not stored") from error

    def _recorded(self, item: PageItem, record: PageRecord) -> PageItem:
        if self._chunks and not item.confirmed and record.key in self.known.states:
            before = self.known.load(record.key)
            if before is not None and before.content is not None:
                self.outputs.chunks_before[item.id] = self.config.chunker.ids(
                    item.id, before.content
                )
        if item.change == "deleted":
            item.seq = self.recorded.delete(record)
            clear_content(item)
            vars(item).clear()
            return item
        self._update(item, record)
        if not (item.content or "").strip():
            self.report.dropped(record, "its pipelines left no text")
            raise CountedDrop(f"{item.url}: its pipelines left no text")
        item.change, item.seq = self.recorded.write(record, confirmed=item.confirmed)
        item.change_kinds = record.change_kinds
        item.rights = self.rights.of(record.url, record.declared)
        return item

    def _update(self, item: PageItem, record: PageRecord) -> None:
        """Make the record what pipelines made of the item, and the item what is stored of the same
        source.
        """
        record.llms = item.llms
        if record.llms is not None:
            self.memory.llms_entries[record.llms.file] = record.llms
        is_reverted = item.stored
        if not item.stored:
            _update_record(item, record)
            if (delivered := self.recorded.delivered_before(record)) is not None:
                is_reverted = True
                for name in (*FOLLOWED, "content_hash", "extra"):
                    setattr(record, name, getattr(delivered, name))
        elif record.content_hash is None:  # changed since it was read from the store
            record.content_hash = record.hash_of_content
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
