"""The sources of a folder of SQLite files, read again only where their files changed."""

import time
from dataclasses import replace
from pathlib import Path

from llmsspider.store import runs
from llmsspider.store.database import open_sqlite
from llmsspider.store.records import SourceRecord
from llmsspider.store.schema import migrate

CLOCK_TICK_NS = 50_000_000
"""Age of a change, in nanoseconds, below which a file's time may not tell it from the next one."""

_RUNNING = {"CRAWLING", "UPDATING"}
"""States that end without a write where the process is killed."""

_read: dict[Path, tuple[object, list[SourceRecord]]] = {}


def sources_of(path: Path) -> list[SourceRecord]:
    """Return the sources of a file, with status and number of pages.

    Raises `StoreError`.
    """
    mark = _mark(path)
    if mark is None or path not in _read or _read[path][0] != mark:
        found = runs.all_sources(migrate(open_sqlite(path)))
        if any(record.status in _RUNNING for record in found):
            mark = None
        _read[path] = mark, found
    return [replace(record) for record in _read[path][1]]


def _mark(path: Path) -> object:
    """What differs once the file or its log was written; None where it was written just now."""
    files = [path, path.with_name(f"{path.name}-wal")]
    found = [one.stat() for one in files if one.exists()]
    written = [one for one in found if one.st_size]
    if any(abs(time.time_ns() - one.st_mtime_ns) < CLOCK_TICK_NS for one in written):
        return None
    return [(one.st_ino, one.st_size, one.st_mtime_ns) for one in written]
