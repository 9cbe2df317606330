"""The chunks of a source in a vector store, kept in step: what changed since the last delivery,
after each crawl.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from filelock import FileLock

from llmsspider.answers.embedding import BATCH, Embedder, embedded, embedder_of, model_of
from llmsspider.answers.library import store_id
from llmsspider.content.markdown.chunks import Chunker, ChunkRow
from llmsspider.crawler.requests import RunComponent
from llmsspider.errors import ArgumentsError
from llmsspider.output.exports import documents
from llmsspider.store.database import batches
from llmsspider.web.loading import Extra, SettingsLike, missing_extra

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawler.parts import Config, KnownPages, Outputs
    from llmsspider.crawler.run import Run
    from llmsspider.items import Document
    from llmsspider.store import Store, Stores

logger = logging.getLogger(__name__)

FOLDER_WAIT_SECS = 1800.0
"""How long a delivery to a folder waits for those of other crawls."""

PAGES = 20
"""Pages that are delivered, and noted as delivered, at a time."""

Vector = Sequence[float]


class VectorStorePipeline(RunComponent):
    """An item pipeline that brings a vector store in step with the page store when a crawl ends.

    A subclass implements what raises `NotImplementedError` here, for one store; `LLMS_VECTOR_STORE`
    says where that is, `LLMS_EMBEDDER` makes the vectors. A chunk is a row under its source and id.
    Pages that did not change cost nothing, chunks that did not change are not embedded again. The
    sequence number of the last change that was delivered stands in the vector store itself: what a
    delivery that was killed or failed left is made good by the next. After another embedder, chunk
    size or page store the rows of the source are made anew.
    """

    config: Config
    known: KnownPages
    outputs: Outputs

    extra: ClassVar[Extra | None] = None
    """The extra of this package that a subclass needs."""

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        self.check_settings(crawler.settings)
        self.embedder = cast("Embedder", embedder_of(crawler.settings.get("LLMS_EMBEDDER")))
        self.chunker: Chunker = self.config.chunker

    @classmethod
    def check_settings(cls, settings: SettingsLike) -> None:
        """Raise `ArgumentsError` where the extra or a setting is missing."""
        needed = {
            "LLMS_VECTOR_STORE": "it says where the vector store is",
            "LLMS_EMBEDDER": "it makes the vectors",
        }
        lacks = [
            f"{name} is not set: {what}" for name, what in needed.items() if not settings.get(name)
        ]
        if cls.extra and (lack := missing_extra(cls.extra)):
            lacks = [lack]
        if lacks:
            raise ArgumentsError([f"{cls.__name__}: {one}" for one in lacks])

    # --- what a subclass implements; all are called in one thread, between `connect` and `close`
    # ---

    @abstractmethod
    def connect(self, target: str) -> None:
        """Open the store at `LLMS_VECTOR_STORE`."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def state(self, source: str) -> Mapping[str, Any]:
        """Return what `keep_state` kept of a source; empty where there is nothing."""

    @abstractmethod
    def keep_state(self, source: str, state: Mapping[str, Any]) -> None:
        """Keep a few JSON values of a source, beside the rows."""

    @abstractmethod
    def vectors(self, source: str, pages: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors of all rows of these pages (`ChunkRow.page`) by chunk id."""

    @abstractmethod
    def write(self, rows: Sequence[tuple[ChunkRow, Vector]]) -> None:
        """Insert rows, in place of those of the same source and chunk id."""

    @abstractmethod
    def remove(self, source: str, ids: Sequence[str] | None) -> None:
        """Remove the rows with these chunk ids, all of the source for None."""

    # --- the delivery ---

    def process_item(self, item: Any) -> Any:
        """Return the item: rows are made from the store, when all pages are in it."""
        return item

    async def close_spider(self) -> None:
        """Deliver what changed; a failure is one line, and what it left is delivered the next time."""
        if self.config.plan_only or not self.records.run_id:
            return
        try:
            self.known.flush()
            written, removed = await asyncio.to_thread(
                self.bring, self.config.stores, self.records.source
            )
        except Exception as error:  # whatever the client of a vector store raises
            text = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            logger.error(
                "vector store: not delivered, the next crawl does it: %(error)s", {"error": text}
            )
            self.outputs.undelivered.append(f"vector store: {text}")
            self.report.count("vectors/failed")
            return
        self.report.count("vectors/written", written)
        self.report.count("vectors/removed", removed)
        self.report.note(f"vector store: {written} chunks written, {removed} removed")

    def bring(self, stores: Stores, source: str) -> tuple[int, int]:
        """Open the vector store and deliver a source to it; returns how many rows were written and
        removed.
        """
        target = str(self.config.vector_store)
        with stores.open(source, create=False) as store, _turn(target):
            self.connect(target)
            try:
                return self.deliver(store, source)
            finally:
                self.close()

    def deliver(self, store: Store, source: str) -> tuple[int, int]:
        """Bring the rows of a source in step with its pages; returns how many were written and
        removed.
        """
        state = self._begun_state(store, source)
        written = removed = 0
        for pages in batches(documents(store, source, state["seq"]), PAGES):
            rows = self._rows(pages)
            known = self.vectors(source, [page.id for page in pages])
            vectors = {
                **known,
                **self._embed([row for name, row in rows.items() if name not in known]),
            }
            gone = [name for name in known if name not in rows]
            if rows:
                self.write([(row, vectors[name]) for name, row in rows.items()])
            if gone:
                self.remove(source, gone)
            written = written + len(rows)
            removed = removed + len(gone)
            state["seq"] = pages[-1].seq
            self.keep_state(source, state)
        return written, removed

    def _begun_state(self, store: Store, source: str) -> dict[str, Any]:
        """What is kept of a source; its rows are removed where they were made otherwise."""
        counts = getattr(self.chunker.count, "__qualname__", "")
        made_of = {
            "store": store_id(store.source_record()),
            "model": model_of(self.embedder),
            "chunks": f"{self.chunker.size} {counts}",
        }
        state = dict(self.state(source))
        if {**state, **made_of} != state or state["seq"] > store.last_seq():
            if state:
                self.remove(source, None)
            state = {**made_of, "seq": 0}
            self.keep_state(source, state)
        return state

    def _rows(self, pages: Iterable[Document]) -> dict[str, ChunkRow]:
        """The chunks of pages by id; a deleted page has none."""
        living = (page for page in pages if page.change != "deleted")
        chunks = chain.from_iterable(map(self.chunker.replay, living))
        return {row.id: row for row in chunks if row.id}

    def _embed(self, rows: Sequence[ChunkRow]) -> dict[str, Vector]:
        """The vectors of chunks by id, of title, headings and text."""
        made: dict[str, Vector] = {}
        for part in batches(rows, BATCH):
            texts = [
                "\n".join((row.title or "", *row.heading_path, row.text or "")) for row in part
            ]
            for row, vector in zip(part, embedded(self.embedder, texts), strict=True):
                made[str(row.id)] = vector.tolist()
        return made


def _turn(target: str) -> AbstractContextManager[object]:
    """Return what waits until no other crawl delivers to a folder: an embedded engine is for one
    process. A server is for many.
    """
    address, _ = place(target)
    if "://" in address:
        return nullcontext()
    folder = Path(address)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f"{folder.name}.lock")
    lock.touch()  # raises where no file can be made; `FileLock` would try until its timeout
    return FileLock(lock, timeout=FOLDER_WAIT_SECS)


def payload(row: ChunkRow) -> dict[str, Any]:
    """What is kept of a chunk beside its vector."""
    names = "id page url source title heading_path section language text size code_languages"
    values = {name: getattr(row, name) for name in names.split()}
    return {**values, "heading_path": list(row.heading_path)}


def place(target: str, default: str = "llmsspider") -> tuple[str, str]:
    """Cut `LLMS_VECTOR_STORE` into the address or folder, and the collection or table after a `#`.

    >>> place("http://localhost:6333#docs"), place("vectors")
    (('http://localhost:6333', 'docs'), ('vectors', 'llmsspider'))
    """
    address, _, name = target.partition("#")
    return address, name or default
