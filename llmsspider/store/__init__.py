"""The page store: what is known of every page of a source, between runs and during one
(docs/explanation/store.md).

In: page records, errors and filtered URLs of a run. Out: the same of this run and earlier ones,
changes, history. One SQLite file per source, or many sources in one PostgreSQL database. Every room
above imports it; it imports `web` and `items`.

    store     `Store`: a source, its runs, writes; `Stores`: the stores of a project, by settings
    reader    reads of a source                            schema    tables, column types,
    migrations
    listing   the sources of a folder
    writer    the thread that writes in batches            runs      opening and listing sources;
    their runs
    database  connections, faults as `StoreError`          records   the values that go in and out
"""

from llmsspider.store.database import resolve_data_dir
from llmsspider.store.records import (
    ASSET,
    CONTENT,
    LINKS,
    OUTLINE,
    WHOLE,
    FilteredUrl,
    PageError,
    PageHistory,
    PageItem,
    PageRecord,
    PageState,
    Parts,
    Reading,
    RunRecord,
    SourceRecord,
    Version,
)
from llmsspider.store.runs import Retention
from llmsspider.store.store import Store, Stores

open_store = Store.open
"""Opens a store of the class of this project, by URL or folder and the name of the source."""

__all__ = [
    "ASSET",
    "CONTENT",
    "LINKS",
    "OUTLINE",
    "WHOLE",
    "FilteredUrl",
    "PageError",
    "PageHistory",
    "PageItem",
    "PageRecord",
    "PageState",
    "Parts",
    "Reading",
    "Retention",
    "RunRecord",
    "SourceRecord",
    "Store",
    "Stores",
    "Version",
    "open_store",
    "resolve_data_dir",
]
