"""Feed formats: JSON Lines by orjson (20 times less work a document than by Scrapy's exporter), and those of ours."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import orjson
from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter, CsvItemExporter

from llmsspider import stats
from llmsspider.exports.documents import ParquetFile
from llmsspider.exports.graph import write_json
from llmsspider.items import Document
from llmsspider.printable import without_formula

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.run import Run


class JsonLinesExporter(BaseItemExporter):
    """One document a line, keys in the order of `Document`, UTF-8, never escaped.

    Feed options that choose or rename fields (`fields`) work as Scrapy documents them; then, and for items of
    other spiders, the row is built by Scrapy's rules.
    """

    def __init__(self, file: IO[bytes], **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.file = file

    def export_item(self, item: Any) -> None:
        """Write one line."""
        if not isinstance(item, Document) or self.fields_to_export is not None:
            item = dict(self.get_serialized_fields(item, default_value=None, include_empty=True))
        self.file.write(orjson.dumps(item, default=_plain, option=orjson.OPT_APPEND_NEWLINE))


class CsvExporter(CsvItemExporter):
    """Scrapy's; cells that a spreadsheet would calculate begin with an apostrophe (`LLMS_CSV_FORMULAS`)."""

    def __init__(self, file: Any, *, formulas: bool = False, **kwargs: Any):
        super().__init__(file, **kwargs)
        self.formulas = formulas

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: Any, **kwargs: Any) -> CsvExporter:
        """Read `LLMS_CSV_FORMULAS`."""
        return cls(file, formulas=crawler.settings.get("LLMS_CSV_FORMULAS") == "keep", **kwargs)

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return the value of a cell."""
        cell = super().serialize_field(field, name, value)
        return cell if self.formulas else without_formula(cell)


class ChunksExporter(BaseItemExporter):
    """The format `chunks`: one chunk a line, as many as a document has, and tombstones for those that are gone."""

    def __init__(self, file: IO[bytes], *, run: Run, **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.file = file
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> ChunksExporter:
        """Take the run of the spider."""
        return cls(file, run=crawler.spider.run, **kwargs)  # type: ignore[union-attr]

    def export_item(self, item: Any) -> None:
        """Write the rows of a document."""
        before = self.run.chunks_before.get(item.id, frozenset())
        changes = self.run.arguments.emit == "changes"
        for row in self.run.config.chunker.rows(item, before, changes=changes):
            self.run.progress.chunks[row.change] += 1
            self.run.count(stats.chunks(row.change))
            self.file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


class ParquetExporter(BaseItemExporter):
    """The format `parquet`: the columns of `scrapy export --format parquet`, written while the crawl goes."""

    def __init__(self, file: IO[bytes], **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.parquet = ParquetFile(file)

    def export_item(self, item: Any) -> None:
        """Add a row."""
        self.parquet.add(item)

    def finish_exporting(self) -> None:
        """Write the last rows and the index of the file."""
        self.parquet.close()


class GraphExporter(BaseItemExporter):
    """The format `graph`: pages, failed pages and links as `scrapy export --format graph` writes them, at the end."""

    def __init__(self, file: IO[bytes], *, run: Run, **kwargs: Any):
        super().__init__(dont_fail=True, **kwargs)
        self.file = file
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> GraphExporter:
        """Take the run of the spider."""
        return cls(file, run=crawler.spider.run, **kwargs)  # type: ignore[union-attr]

    def export_item(self, item: Any) -> None:
        """Do nothing: the store has it."""

    def finish_exporting(self) -> None:
        """Write the graph from the store."""
        self.run.flush()
        with self.run.config.stores.open(self.run.source, create=False) as store:
            write_json(store, self.file)


def _plain(value: Any) -> Any:
    return ItemAdapter(value).asdict() if ItemAdapter.is_item(value) else str(value)
