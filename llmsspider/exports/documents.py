"""Documents and chunks as rows: JSON Lines, CSV, Parquet."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable
from typing import Any, BinaryIO

import orjson

from llmsspider.chunkrows import Chunker
from llmsspider.errors import ArgumentsError
from llmsspider.items import Document
from llmsspider.printable import without_formula

ROW_GROUP = 500
"""Rows of a Parquet file held in memory at a time."""

ROW_GROUP_CHARACTERS = 16 * 1024 * 1024
"""Characters of content and links at which a row group ends early."""

NO_PYARROW = "Parquet needs pyarrow: pip install 'llmsspider[parquet]'"

NUMBERS = {"seq", "depth", "status", "markdown_tokens"}
NESTED = {"llms", "links", "moved_from"}
COLUMNS = [field.name for field in dataclasses.fields(Document)]


def write_chunks(rows: Iterable[Document], out: BinaryIO, chunker: Chunker, *, replay: bool) -> None:
    """One chunk a line. With `replay` the rows are changes: a page that is not new loses all it had first."""
    for document in rows:
        made = chunker.replay(document) if replay else chunker.rows(document)
        out.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in made)


def write_csv(rows: Iterable[Document], out: BinaryIO, *, formulas: bool = False) -> None:
    """One document a row, after a header; `llms` and `links` as JSON, null as an empty cell.

    Cells that a spreadsheet would calculate begin with an apostrophe, unless `formulas`.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    for document in rows:
        row = flat_row(document)
        writer.writerow(row if formulas else {name: without_formula(cell) for name, cell in row.items()})
    text.detach()


def flat_row(document: Document) -> dict[str, Any]:
    """The fields of a document, nested ones as JSON text."""
    row = {name: getattr(document, name) for name in COLUMNS}
    for name in NESTED:
        row[name] = None if row[name] is None else orjson.dumps(row[name]).decode()
    return row


def write_parquet(rows: Iterable[Document], out: Any) -> None:
    """One document a row, compressed by zstd; `llms` and `links` as JSON text.

    Raises:
        ArgumentsError: the extra is not installed.
    """
    file = ParquetFile(out)
    for document in rows:
        file.add(document)
    file.close()


class ParquetFile:
    """A Parquet file that grows by row groups, which are all that is held in memory.

    Raises:
        ArgumentsError: the extra is not installed.
    """

    def __init__(self, out: Any):
        self._pyarrow, parquet = _pyarrow()
        text, number = self._pyarrow.string(), self._pyarrow.int64()
        self._schema = self._pyarrow.schema([(name, number if name in NUMBERS else text) for name in COLUMNS])
        self._writer = parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._held = 0

    def add(self, document: Document) -> None:
        """Add a row."""
        row = flat_row(document)
        self._rows.append(row)
        self._held += len(row["content"] or "") + len(row["links"] or "")
        if len(self._rows) >= ROW_GROUP or self._held >= ROW_GROUP_CHARACTERS:
            self._write()

    def close(self) -> None:
        """Write what is held, and the end; the file it goes to stays open."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(self._pyarrow.Table.from_pylist(self._rows, self._schema))
        self._rows, self._held = [], 0


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415  # an extra
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise ArgumentsError([NO_PYARROW]) from None
    return pyarrow, pyarrow.parquet
