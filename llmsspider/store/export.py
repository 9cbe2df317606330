"""Writing the documents of a store to a file: the formats, and the file that is complete or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

from llmsspider.items import Document
from llmsspider.store.store import Store

Format = Callable[[Iterable[Document], BinaryIO], int]
"""Writes documents and returns how many; must not hold them all."""


def documents(store: Store, source: str, since: int | None) -> Iterator[Document]:
    """What an export holds: every living page, or with `since` whatever changed after that number.

    `seq` and `run` are those of the page's last change. `change` is that change; with `since`, it is what
    happened to the page since then, deletions included.
    """
    pages = store.iter_pages() if since is None else store.changes_since(since)
    for page in pages:
        yield page.record.document(source=source, run=page.run, seq=page.seq, change=page.change)


def write_jsonl(rows: Iterable[Document], out: BinaryIO) -> int:
    """One JSON object a line, its keys in the order of `Document`."""
    count = 0
    for document in rows:
        out.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


FORMATS: dict[str, Format] = {"jsonl": write_jsonl}
"""The formats of `scrapy export`, by name."""


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
        stage.chmod(_mode(target))
        stage.replace(target)
    except BaseException:
        stage.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file to be replaced, else those a new file would get."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
