"""Documents and chunks as files: JSON Lines, CSV, Parquet, one Markdown file; feed formats."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

import orjson
from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter, CsvItemExporter

from llmsspider.errors import ArgumentsError
from llmsspider.items import FIELDS, Document, added_fields, row_of
from llmsspider.output import without_formula
from llmsspider.output.graph import Order, SiteTree, write_json
from llmsspider.store import CONTENT, PageRecord, Store
from llmsspider.web import stats
from llmsspider.web.loading import missing_extra, own_code
from llmsspider.web.rights import SiteRights

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.content.markdown.chunks import Chunker


def documents(store: Store, source: str, since: int | None) -> Iterator[Document]:
    """What an export holds: every living page, or with `since` whatever changed after that number.

    `seq`, `run` and `change` are those of the page's last change; with `since`, `change` is what happened since then.
    """
    pages = store.iter_pages() if since is None else store.changes_since(since)
    record = store.source_record()
    rights = SiteRights(record.discovery.get("rights") if record is not None else None)
    for page in pages:
        made = page.record.document(source=source, run=page.run, seq=page.seq, change=page.change)
        made.rights = rights.of(made.url, page.record.declared) if made.change != "deleted" else None
        yield made


def write_jsonl(rows: Iterable[Document], out: BinaryIO) -> None:
    """Write one JSON object a line, its keys in the order of `Document`; rows are not held."""
    out.writelines(orjson.dumps(row_of(document), option=orjson.OPT_APPEND_NEWLINE) for document in rows)


@contextlib.contextmanager
def staged(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well; otherwise `path` stays as it was.

    Raises `OSError` when it cannot be written.
    """
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    stage = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        mask = os.umask(0)  # what a new file would get
        os.umask(mask)
        stage.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~mask)
        stage.replace(target)
    except BaseException:
        stage.unlink(missing_ok=True)
        raise


# --- documents and chunks as rows: JSON Lines, CSV, Parquet ---

ROW_GROUP, ROW_GROUP_CHARACTERS = 500, 16 * 1024 * 1024
"""Rows of a Parquet file held in memory at a time, and their characters of content and links at most."""

NUMBERS = {one.name for one in fields(Document) if str(one.type).startswith("int")}
NESTED = {one.name for one in fields(Document) if str(one.type).startswith(("list", "LlmsEntry"))} | {"extra"}
EXTRA = "extra"
"""The column of the fields that pipelines added, where there may be any: one JSON object."""


def write_chunks(rows: Iterable[Document], out: BinaryIO, chunker: Chunker, *, replay: bool) -> None:
    """One chunk a line. With `replay` the rows are changes: the chunks of a page that is not new are deleted first."""
    for made in map(chunker.replay if replay else chunker.rows, rows):
        out.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in made)


def write_csv(rows: Iterable[Document], out: BinaryIO, *, with_extra: bool = False) -> None:
    """One document a row, after a header; `llms` and `links` as JSON, null as an empty cell.

    Cells that a spreadsheet would calculate begin with an apostrophe. `with_extra` adds the column `extra`.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    writer = csv.DictWriter(text, [*FIELDS, EXTRA] if with_extra else FIELDS)
    writer.writeheader()
    for row in (flat_row(document, with_extra=with_extra) for document in rows):
        writer.writerow({name: without_formula(cell) for name, cell in row.items()})
    text.detach()


def flat_row(document: Document, *, with_extra: bool = False) -> dict[str, Any]:
    """The fields of a document, nested ones as JSON text; those that pipelines added as one object, where wanted."""
    row = {name: getattr(document, name) for name in FIELDS}
    if with_extra:
        row[EXTRA] = added_fields(document) or None
    for name in NESTED & set(row):
        row[name] = None if row[name] is None else orjson.dumps(row[name], default=str).decode()
    return row


def write_parquet(rows: Iterable[Document], out: Any, *, with_extra: bool = False) -> None:
    """One document a row, compressed by zstd; `llms` and `links` as JSON text. Raises as `ParquetExporter` does."""
    exporter = ParquetExporter(out, with_extra=with_extra)
    for document in rows:
        exporter.export_item(document)
    exporter.finish_exporting()


# --- all pages in one Markdown file ---


class Flattened(NamedTuple):
    """Numbers of pages written and omitted, and of tokens."""

    written: int
    omitted: int
    size: int


def write_flat(
    store: Store, out: IO[bytes], *, order: Order = "breadth", budget: int | None = None
) -> Flattened:
    """Write the introduction of the source, then page after page, each with a `Source:` line below its title.

    The page that would exceed `budget`, in tokens, and those after it are omitted.
    """
    from llmsspider.content.markdown.chunks import tokens  # noqa: PLC0415  # every crawl loads the feed formats

    source, tree = store.source_record(), SiteTree(store)
    introduction = source.introduction if source else ""
    written, size = 0, tokens(introduction) if introduction else 0
    if budget is not None and size > budget:
        introduction, size = "", 0
    out.write(introduction.encode("utf-8", "replace"))
    for _, _, record in tree.pages(order, CONTENT):
        text = page_text(record)
        needed = tokens(text)
        if budget is not None and size + needed > budget:
            break
        out.write(text.encode("utf-8", "replace"))
        written, size = written + 1, size + needed
    return Flattened(written, len(tree) - written, size)


def page_text(record: PageRecord) -> str:
    """A page in the file: its own title or, where the text has none, that of the document; then `Source:`."""
    content = (record.content or "").strip("\n")
    first, _, rest = content.partition("\n")
    if not first.startswith("# "):
        first, rest = f"# {' '.join((record.title or record.url).split())}", content
    return f"{first}\n\nSource: {record.url}\n\n{rest.strip(chr(10))}\n\n"


# Feed formats: JSON Lines by orjson (20 times less work a document than by Scrapy's exporter), and those of ours.


class FileExporter(BaseItemExporter):
    """Writes to the file of a feed; a format that needs more than the items has the run of the spider."""

    def __init__(self, file: IO[bytes], *, run: Any = None, **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.file, self.run = file, run

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> Self:
        """Take the run of the spider."""
        return cls(file, run=getattr(crawler.spider, "run", None), **kwargs)


class JsonLinesExporter(FileExporter):
    """One document a line, keys in the order of `Document`, UTF-8, never escaped.

    With feed options that choose or rename fields (`fields`), and for items of other spiders, Scrapy's rules hold.
    """

    def export_item(self, item: Any) -> None:
        """Write one line."""
        if isinstance(item, Document) and self.fields_to_export is None:
            row = row_of(item)
        else:
            row = dict(self.get_serialized_fields(item, default_value=None, include_empty=True))
        self.file.write(orjson.dumps(row, default=_plain, option=orjson.OPT_APPEND_NEWLINE))


class CsvExporter(CsvItemExporter):
    """Scrapy's; cells that a spreadsheet would calculate begin with an apostrophe."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return the value of a cell."""
        return without_formula(super().serialize_field(field, name, value))


class ChunksExporter(FileExporter):
    """The format `chunks`: one chunk a line, as many as a document has, and tombstones for those that are gone."""

    def export_item(self, item: Any) -> None:
        """Write the rows of a document; an item of yours has none."""
        if not isinstance(item, Document):
            return
        before = self.run.outputs.chunks_before.get(item.id, frozenset())
        changes = self.run.arguments.emit == "changes"
        for row in self.run.config.chunker.rows(item, before, changes=changes):
            self.run.progress.chunks[row.change] += 1
            self.run.count(stats.chunks(row.change))
            self.file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


class ParquetExporter(BaseItemExporter):
    """The format `parquet`: grows by row groups, which are all that is held in memory; the file stays open.

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
        text, number = pyarrow.string(), pyarrow.int64()
        names = [*FIELDS, *[EXTRA] * with_extra]
        self._schema = pyarrow.schema([(name, number if name in NUMBERS else text) for name in names])
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._held = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> ParquetExporter:
        """Look for pipelines of the user, which may add fields."""
        return cls(file, with_extra=bool(own_code(crawler.settings, type(crawler.spider))), **kwargs)

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
        self._rows, self._held = [], 0


class GraphExporter(FileExporter):
    """The format `graph`: pages, failed pages and links as `scrapy export --format graph` writes them, at the end."""

    def export_item(self, item: Any) -> None:
        """Do nothing: the store has it."""

    def finish_exporting(self) -> None:
        """Write the graph from the store."""
        self.run.flush()
        with self.run.config.stores.open(self.run.source, create=False) as store:
            write_json(store, self.file)


class MarkdownExporter(FileExporter):
    """The format `md`: all pages in one file, as `scrapy export --format flat` writes them, at the end."""

    def export_item(self, item: Any) -> None:
        """Write the page of the spider `page`; for others the store has it."""
        if isinstance(item, Document) and not self.run.remembers:
            self.file.write((item.content or "").encode("utf-8", "replace"))

    def finish_exporting(self) -> None:
        """Write the pages from the store."""
        if self.run.remembers:
            self.run.flush()
            with self.run.config.stores.open(self.run.source, create=False) as store:
                write_flat(store, self.file)


def _plain(value: Any) -> Any:
    return ItemAdapter(value).asdict() if ItemAdapter.is_item(value) else str(value)
