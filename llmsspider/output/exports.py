"""Documents and chunks as files: JSON Lines, CSV, one Markdown file; the formats of feeds are in
`feeds`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple

import orjson

from llmsspider.crawler.assets import assets_of
from llmsspider.items import FIELDS, Document, added_fields, row_of
from llmsspider.output import without_formula
from llmsspider.output.graph import Order, SiteTree
from llmsspider.store import CONTENT, PageRecord, Store
from llmsspider.web.rights import SiteRights

if TYPE_CHECKING:
    from llmsspider.content.markdown.chunks import Chunker


def documents(store: Store, source: str, since: int | None) -> Iterator[Document]:
    """What an export holds: every living page, or with `since` whatever changed after that number.

    `seq`, `run` and `change` are those of the page's last change; with `since`, `change` is what
    happened since then.
    """
    pages = store.iter_pages() if since is None else store.changes_since(since)
    record = store.source_record()
    paths = {asset.url: asset.path for asset in store.assets()}
    rights = SiteRights(record.rights if record is not None else None)
    for page in pages:
        if paths and page.record.content is not None:
            page.record.extra["assets"] = assets_of(page.record.content, paths)
        made = page.record.document(source=source, run=page.run, seq=page.seq, change=page.change)
        made.rights = (
            rights.of(made.url, page.record.declared) if made.change != "deleted" else None
        )
        yield made


def write_jsonl(rows: Iterable[Document], out: BinaryIO) -> None:
    """Write one JSON object a line, its keys in the order of `Document`; rows are not held."""
    out.writelines(
        orjson.dumps(row_of(document), option=orjson.OPT_APPEND_NEWLINE) for document in rows
    )


@contextlib.contextmanager
def staged(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well; otherwise `path` stays as it
    was.

    Raises `OSError` when it cannot be written.
    """
    target = path.resolve()
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent
    )
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

NESTED = {
    one.name for one in fields(Document) if str(one.type).startswith(("list", "LlmsEntry"))
} | {"extra"}
EXTRA = "extra"
"""The column of the fields that pipelines added, where there may be any: one JSON object."""


def write_chunks(
    rows: Iterable[Document], out: BinaryIO, chunker: Chunker, *, replay: bool
) -> None:
    """One chunk a line. With `replay` the rows are changes: the chunks of a page that is not new
    are deleted first.
    """
    for made in map(chunker.replay if replay else chunker.rows, rows):
        out.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in made)


def write_csv(rows: Iterable[Document], out: BinaryIO, *, with_extra: bool = False) -> None:
    """One document a row, after a header; `llms` and `links` as JSON, null as an empty cell.

    Cells that a spreadsheet would calculate begin with an apostrophe. `with_extra` adds the column
    `extra`.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    writer = csv.DictWriter(text, [*FIELDS, EXTRA] if with_extra else FIELDS)
    writer.writeheader()
    for row in (flat_row(document, with_extra=with_extra) for document in rows):
        writer.writerow({name: without_formula(cell) for name, cell in row.items()})
    text.detach()


def flat_row(document: Document, *, with_extra: bool = False) -> dict[str, Any]:
    """The fields of a document, nested ones as JSON text; those that pipelines added as one object,
    where wanted.
    """
    row = {name: getattr(document, name) for name in FIELDS}
    if with_extra:
        row[EXTRA] = added_fields(document) or None
    for name in NESTED & set(row):
        row[name] = None if row[name] is None else orjson.dumps(row[name], default=str).decode()
    return row


# --- all pages in one Markdown file ---


class Flattened(NamedTuple):
    """Numbers of pages written and omitted, and of tokens."""

    written: int
    omitted: int
    size: int


def write_flat(
    store: Store, out: IO[bytes], *, order: Order = "breadth", budget: int | None = None
) -> Flattened:
    """Write the introduction of the source, then page after page, each with a `Source:` line below
    its title.

    The page that would exceed `budget`, in tokens, and those after it are omitted.
    """
    # every crawl loads the feed formats
    from llmsspider.content.markdown.chunks import tokens  # noqa: PLC0415

    source = store.source_record()
    tree = SiteTree(store)
    introduction = source.introduction if source else ""
    written = 0
    size = tokens(introduction) if introduction else 0
    if budget is not None and size > budget:
        introduction = ""
        size = 0
    out.write(introduction.encode("utf-8", "replace"))
    for _, _, record in tree.pages(order, CONTENT):
        text = page_text(record)
        needed = tokens(text)
        if budget is not None and size + needed > budget:
            break
        out.write(text.encode("utf-8", "replace"))
        written = written + 1
        size = size + needed
    return Flattened(written, len(tree) - written, size)


def page_text(record: PageRecord) -> str:
    """A page in the file: its own title or, where the text has none, that of the document; then
    `Source:`.
    """
    content = record.text.strip("\n")
    first, _, rest = content.partition("\n")
    if not first.startswith("# "):
        first = f"# {' '.join((record.title or record.url).split())}"
        rest = content
    return f"{first}\n\nSource: {record.url}\n\n{rest.strip(chr(10))}\n\n"
