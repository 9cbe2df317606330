"""The page store: what is known of every page of a source, between runs and during one.

One SQLite file per source, or many sources in one PostgreSQL database. docs/explanation/store.md tells the rules.

    database    connections, faults as StoreError       records     the values that go in and out
    schema      tables         migrations  versions     rows        records <-> rows
    statements  SQL            batch       one commit   writer      the thread that commits
    encoding    values that a database can hold
    reader      reads of one page or number            runwriter   what a run writes
    sequence    change numbers runs        run rows     reading     streams
    store       Store          opening     by name      catalog     all sources      stores      by settings
    location    files          export      formats, staged files      history     earlier contents
"""

from llmsspider.store.database import resolve_data_dir
from llmsspider.store.history import PageHistory, Retention, Version
from llmsspider.store.records import (
    CONTENT,
    LINKS,
    OUTLINE,
    WHOLE,
    FilteredUrl,
    PageError,
    PageItem,
    PageRecord,
    PageState,
    Parts,
    Resource,
    RunKind,
    RunRecord,
    SourceRecord,
    StoredPage,
    Touch,
    Validators,
)
from llmsspider.store.store import Store
from llmsspider.store.stores import Stores

open_store = Store.open
"""Opens a store of the class of this project, by URL or folder and the name of the source."""

__all__ = [
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
    "Resource",
    "Retention",
    "RunKind",
    "RunRecord",
    "SourceRecord",
    "Store",
    "StoredPage",
    "Stores",
    "Touch",
    "Validators",
    "Version",
    "open_store",
    "resolve_data_dir",
]
