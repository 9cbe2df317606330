"""The feeds of a crawl: their formats, and files or S3 objects that are swapped in when the crawl
ended by itself.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, Self
from xml.sax.saxutils import XMLGenerator  # it writes

import orjson
from itemadapter import ItemAdapter
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.exporters import BaseItemExporter, CsvItemExporter, XmlItemExporter
from scrapy.extensions.feedexport import FileFeedStorage, S3FeedStorage
from scrapy.settings import BaseSettings
from scrapy.utils.defer import ensure_awaitable

from llmsspider.crawler.requests import run_of
from llmsspider.errors import ArgumentsError, StoreError
from llmsspider.items import FIELDS, Document, row_of
from llmsspider.output import without_formula
from llmsspider.output.exports import EXTRA, flat_row, write_flat
from llmsspider.output.graph import write_json
from llmsspider.store import Store
from llmsspider.web import stats
from llmsspider.web.loading import Extra, missing_extra, own_code
from llmsspider.web.text import xml_text

logger = logging.getLogger(__name__)


LINE_FORMATS = {"jsonlines", "jsonl", "jl", "chunks"}
"""Formats of which two files make one: the feed of a continued crawl goes on where the first part
ended.
"""

BUFFER_BYTES = 256 * 1024
"""Of a feed: with less than a row each row is a system call, and a switch between threads."""


class FeedFile(io.BufferedWriter):
    """A file whose first failed write is logged; nothing is written after it, and `check` raises
    what it was.

    Scrapy goes on after what an exporter raises for one item: a feed would lack the rows for which
    the disk was full.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write, or discard what comes after a failure."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self._note(error)
        return len(data)

    def check(self) -> None:
        """Raise `OSError` when something that was written is not in the file."""
        if self.failure is None:
            try:
                self.flush()
            except OSError as error:
                self._note(error)
        if self.failure is not None:
            self.raw.close()
            raise self.failure

    def _note(self, error: OSError) -> None:
        self.failure = error
        values = {"name": self.name, "why": error.strerror}
        logger.error("%(name)s: %(why)s; nothing more is written to it", values)


class StagedFileFeedStorage(FileFeedStorage):
    """Scrapy's local file storage; a feed that overwrites (`-O`, `overwrite`) is staged as
    `<name>.part`.

    It replaces the target in one step when the crawl ended by itself or by one of its limits. A
    crawl that failed or was interrupted leaves an existing target alone and its own part as
    `<name>.partial`; one that can be continued (JOBDIR) always does, and the run that continues it
    adds to that part. Appending feeds (`-o`) are written as Scrapy does. A target that cannot be
    written is an error when the crawl starts. A batch that is full while the crawl goes replaces
    nothing before the crawl has ended; a new one is there once its documents are stored.
    """

    run: Any = None
    resumable = False

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None):
        super().__init__(uri, feed_options=feed_options)
        self.is_lines = (feed_options or {}).get("format") in LINE_FORMATS
        self.target = Path(self.path)
        self.staged = self.target.with_name(self.target.name + ".part")
        self.partial = self.target.with_name(self.target.name + ".partial")

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> StagedFileFeedStorage:
        """Take the run of the spider, which knows how the crawl ended.

        Raises `NotConfigured` for a target that cannot be written: Scrapy logs it and goes on
        without feeds.
        """
        storage = cls(uri, feed_options=feed_options)
        storage.run = run_of(crawler)
        storage.resumable = bool(crawler.settings.get("JOBDIR"))
        if problem := unwritable(storage.target):
            raise NotConfigured(problem)
        return storage

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the staged file; append mode opens the target itself."""
        with self._noted():
            if self.write_mode != "wb":
                return super().open(spider)
            self.target.parent.mkdir(parents=True, exist_ok=True)
            resumes = self.run is not None and self.run.job.resumes is not None
            if continues := resumes and self.is_lines and self.partial.is_file():
                self.partial.replace(self.staged)
            return FeedFile(io.FileIO(self.staged, "a" if continues else "w"), BUFFER_BYTES)

    def store(self, file: IO[bytes]) -> Awaitable[None] | None:  # type: ignore[override]
        """Swap the staged file in, or leave it as `.partial`."""
        if self.write_mode != "wb":
            super().store(file)
            return None
        with self._noted():
            if isinstance(file, FeedFile):
                file.check()
            os.fsync(file.fileno())
            file.close()
            if is_running(self.run):
                if self.resumable or self.target.exists():
                    return at_the_end(self.run, self._swap_in)
                # the documents of a batch are stored before it is there for others
                self.run.known.flush()
        self._swap_in()
        return None

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Have the run know of an output that could not be written."""
        try:
            yield
        except (OSError, StoreError) as error:
            if self.run is not None:
                why = getattr(error, "strerror", None) or error
                self.run.outputs.undelivered.append(f"{self.target}: {why}")
            raise

    def _swap_in(self) -> None:
        if self.run is None or self.run.succeeded or not (self.resumable or self.target.exists()):
            self.staged.replace(self.target)
            return
        self.staged.replace(self.partial)
        self.run.outputs.undelivered.append(f"{self.target}: put aside as {self.partial}")
        logger.warning(
            "%(target)s is left as it was, since the crawl did not end by itself; what it got is in"
            " %(partial)s",
            {"target": self.target, "partial": self.partial},
        )


def is_running(run: Any) -> bool:
    """Return whether a run, where there is one, has not ended yet."""
    return run is not None and not run.ended.is_set()


async def at_the_end(run: Any, work: Callable[[], Awaitable[None] | None]) -> None:
    """Do the work when the run has ended."""
    await run.ended.wait()
    await ensure_awaitable(work())


def feed_problems(settings: BaseSettings) -> list[str]:
    """Return one line for each feed that cannot be written."""
    problems = []
    exporters = settings.getwithbase("FEED_EXPORTERS")
    formats = sorted(name for name, kind in exporters.items() if kind is not None)
    for place, options in settings.getdict("FEEDS").items():
        extras: list[Extra] = ["s3"] if str(place).startswith("s3:") else []
        extras += ["parquet"] if options.get("format") == "parquet" else []
        chosen = options.get("format")
        if chosen not in formats:
            wrong = f"the format {chosen!r} does not exist" if chosen else "no format is named"
            problems.append(f"feed {place}: {wrong}; accepted are {', '.join(formats)}")
        problems += [f"feed {place}: {lack}" for lack in map(missing_extra, extras) if lack]
        target = Path(str(place).removeprefix("file://"))
        is_added_to = not options.get("overwrite") and target.is_file() and target.stat().st_size
        if "parquet" in extras and is_added_to:
            problems.append(
                f"feed {place}: nothing can be added to a Parquet file; replace it with -O"
            )
    return problems


def unwritable(target: Path) -> str | None:
    """Return why a file cannot be written, None when it can; nothing is created."""
    if target.is_dir():
        return f"{target} is a folder"
    parent = target.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        return f"{target} cannot be written: {parent} is no folder"
    if not os.access(parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        return f"{target} cannot be written: permission denied"
    return None


class StagedS3FeedStorage(S3FeedStorage):
    """Scrapy's S3 storage, which puts a feed in one request at the end, whole or not at all.

    After a crawl that failed or was interrupted nothing is uploaded; that is logged, and counts as
    not delivered.
    """

    run: Any = None

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> StagedS3FeedStorage:
        """Take the run of the spider, which knows how the crawl ended."""
        storage = super().from_crawler(crawler, uri, feed_options=feed_options)
        storage.run = run_of(crawler)
        return storage

    def store(self, file: IO[bytes]) -> Awaitable[None] | None:  # type: ignore[override]
        """Upload, or leave the object as it is; a batch that is full while the crawl goes waits for
        its end.
        """
        if is_running(self.run):
            return at_the_end(self.run, lambda: self.store(file))
        if self.run is None or self.run.succeeded:
            return super().store(file)
        file.close()
        target = f"s3://{self.bucketname}/{self.keyname}"
        self.run.outputs.undelivered.append(f"{target}: not uploaded")
        left = "%(target)s is left as it was, since the crawl did not end by itself"
        logger.warning(left, {"target": target})
        return None


# Feed formats: JSON Lines by orjson (20 times less work a document than by Scrapy's exporter), and
# those of ours.


class FileExporter(BaseItemExporter):
    """Writes to the file of a feed; a format that needs more than the items has the run of the
    spider.
    """

    def __init__(self, file: IO[bytes], *, run: Any = None, **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.file = file
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> Self:
        """Take the run of the spider."""
        return cls(file, run=run_of(crawler), **kwargs)

    def export_store(self, write: Callable[[Store, IO[bytes]], object]) -> None:
        """Write what the store has of the source."""
        self.run.known.flush()
        with self.run.config.stores.open(self.run.source, create=False) as store:
            write(store, self.file)


class JsonLinesExporter(FileExporter):
    """One document a line, keys in the order of `Document`, UTF-8, never escaped.

    With feed options that choose or rename fields (`fields`), and for items of other spiders,
    Scrapy's rules hold. A document that an earlier run of the JOBDIR wrote to the same file is not
    written again.
    """

    def __init__(self, file: IO[bytes], **options: Any):
        super().__init__(file, **options)
        earlier = self.run.job.earlier if self.run is not None else ()
        self._written = written_rows(file, earlier) if earlier else {}

    def export_item(self, item: Any) -> None:
        """Write one line."""
        if isinstance(item, Document) and self.fields_to_export is None:
            if not item.moved_from and self._written.get(item.id, "") == item.content_hash:
                return
            row = row_of(item)
        else:
            row = dict(self.get_serialized_fields(item, default_value=None, include_empty=True))
        self.file.write(orjson.dumps(row, default=_plain, option=orjson.OPT_APPEND_NEWLINE))


def written_rows(file: IO[bytes], runs: Collection[str]) -> dict[str, str | None]:
    """Return the content hash of each document, by id, that runs wrote to the file of a feed; a
    last row that a kill cut off is removed.
    """
    found: dict[str, str | None] = {}
    name = getattr(file, "name", None)
    if not isinstance(name, str | Path) or not Path(name).is_file():
        return found
    whole = 0
    with Path(name).open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                file.truncate(whole)
                break
            whole += len(line)
            with contextlib.suppress(ValueError, TypeError, KeyError):  # a line of somebody else
                row = orjson.loads(line)
                if row["run"] in runs:
                    found[row["id"]] = row["content_hash"]
    return found


class XmlExporter(XmlItemExporter):
    """Scrapy's, without the characters that XML has no form for."""

    def __init__(self, file: io.BytesIO, **options: Any):
        super().__init__(file, **options)
        self.xg = _XmlTextWriter(self.stream, encoding=self.encoding or "utf-8")


class _XmlTextWriter(XMLGenerator):
    def characters(self, content: str) -> None:
        super().characters(xml_text(content))


class CsvExporter(CsvItemExporter):
    """Scrapy's; cells that a spreadsheet would calculate begin with an apostrophe."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return the value of a cell."""
        return without_formula(super().serialize_field(field, name, value))


class ChunksExporter(FileExporter):
    """The format `chunks`: one chunk a line, as many as a document has, and tombstones for those
    that are gone.
    """

    def export_item(self, item: Any) -> None:
        """Write the rows of a document; an item of yours has none."""
        if not isinstance(item, Document):
            return
        before = self.run.outputs.chunks_before.get(item.id, frozenset())
        changes = self.run.arguments.emit == "changes"
        for row in self.run.config.chunker.rows(item, before, changes=changes):
            self.run.progress.chunks[row.change] += 1
            self.run.report.count(stats.chunks(row.change))
            self.file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


ROW_GROUP = 500
ROW_GROUP_CHARACTERS = 16 * 1024 * 1024
"""Rows of a Parquet file held in memory at a time, and their characters of content and links at
most.
"""

NUMBERS = {one.name for one in fields(Document) if str(one.type).startswith("int")}


class ParquetExporter(BaseItemExporter):
    """The format `parquet`: grows by row groups, which are all that is held in memory; the file
    stays open.

    Raises `ArgumentsError` when the extra is not installed.
    """

    def __init__(self, file: Any, *, with_extra: bool = False, **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        try:
            import pyarrow  # noqa: PLC0415  # an extra
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError:
            raise ArgumentsError([f"Parquet: {missing_extra('parquet')}"]) from None
        self._table: Any = pyarrow.Table
        self._with_extra = with_extra
        text = pyarrow.string()
        number = pyarrow.int64()
        names = [*FIELDS, *[EXTRA] * with_extra]
        self._schema = pyarrow.schema(
            [(name, number if name in NUMBERS else text) for name in names]
        )
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._held = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> ParquetExporter:
        """Look for pipelines of the user, which may add fields."""
        return cls(
            file, with_extra=bool(own_code(crawler.settings, type(crawler.spider))), **kwargs
        )

    def export_item(self, item: Any) -> None:
        """Add a row; an item of yours has other columns, and none here."""
        if not isinstance(item, Document):
            return
        row = flat_row(item, with_extra=self._with_extra)
        self._rows.append(row)
        self._held += len(row["content"] or "") + len(row["links"] or "")
        if len(self._rows) >= ROW_GROUP or self._held >= ROW_GROUP_CHARACTERS:
            self._write()

    def finish_exporting(self) -> None:
        """Write the last rows and the index of the file."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(self._table.from_pylist(self._rows, self._schema))
        self._rows = []
        self._held = 0


def write_parquet(rows: Iterable[Document], out: Any, *, with_extra: bool = False) -> None:
    """One document a row, compressed by zstd; `llms` and `links` as JSON text.

    Raises as `ParquetExporter` does.
    """
    exporter = ParquetExporter(out, with_extra=with_extra)
    for document in rows:
        exporter.export_item(document)
    exporter.finish_exporting()


class GraphExporter(FileExporter):
    """The format `graph`: pages, failed pages and links as `scrapy export --format graph` writes
    them, at the end.
    """

    def export_item(self, item: Any) -> None:
        """Do nothing: the store has it."""

    def finish_exporting(self) -> None:
        """Write the graph from the store."""
        self.export_store(write_json)


class MarkdownExporter(FileExporter):
    """The format `md`: all pages in one file, as `scrapy export --format flat` writes them, at the
    end.
    """

    def export_item(self, item: Any) -> None:
        """Write the page of the spider `page`; for others the store has it."""
        if isinstance(item, Document) and not self.run.remembers:
            self.file.write((item.content or "").encode("utf-8", "replace"))

    def finish_exporting(self) -> None:
        """Write the pages from the store."""
        if self.run.remembers:
            self.export_store(write_flat)


def _plain(value: Any) -> Any:
    return ItemAdapter(value).asdict() if ItemAdapter.is_item(value) else str(value)
