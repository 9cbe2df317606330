"""The crawled documentation of a project, searched and read: one more reader of the page stores.

`Library` opens the store and the index of a source at the first query, updates the index first, and
reads every text that it
gives from the store: what a crawl has changed is what the next answer says.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from llmsspider.errors import SearchError, StoreError
from llmsspider.loading import own_mark
from llmsspider.retrieval.embedding import Embedder, VectorIndex
from llmsspider.retrieval.index import SourceIndex
from llmsspider.retrieval.index_file import VECTORS, WORDS, index_file
from llmsspider.retrieval.open_source import OpenSource
from llmsspider.retrieval.passages import url_words
from llmsspider.retrieval.ranking import (
    SearchResult,
    SearchResults,
    choose_source,
)
from llmsspider.store import PageRecord, Store, Stores
from llmsspider.store.database import resolve_data_dir, source_file

DEFAULT_LIMIT = 8
"""Results of a search."""

MOST_RESULTS = 50


SYNC_SECS = 30.0
"""How long a search may bring an index in step before it answers from what is there."""


class Library:
    """All sources of a project. Use from one thread at a time; close it, or use it in a `with` statement.

    Args:
        stores: where the page stores are.
        embedder: makes vectors for a search by meaning, or None.
        sync_secs: how long one search may bring an index in step.
    """

    def __init__(self, stores: Stores, embedder: Embedder | None = None, sync_secs: float = SYNC_SECS):
        self.stores = stores
        self._embedder = embedder
        self._sync_secs = sync_secs
        self._opened: dict[str, OpenSource] = {}

    def search(
        self, text: str, source: str | None = None, *, section: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> SearchResults:
        """Search one source, or all.

        Args:
            text: words, "quoted phrases", identifiers, or a question.
            source: a name, with `@version` where versions are sources of their own; None searches every source.
            section: a section of llms.txt, or a part of its name.
            limit: the number of pages at most (1 to 50).

        Raises:
            UnknownSourceError: there is no such source or version; the message says what there is.
            SearchError: an index cannot be made or read.
            StoreError: a page store cannot be opened.
        """
        limit = max(1, min(limit, MOST_RESULTS))
        if source is not None:
            return self._one(self.open(source), text, limit, section)
        found = [self._one(self.open(name), text, limit, section) for name in self.names()]
        results = sorted((one for each in found for one in each.results), key=lambda one: -one.score)[:limit]
        if results:
            return SearchResults(found[0].query, results)
        nothing = (
            found[0].note
            if len(found) == 1
            else f"nothing found in {len(found)} sources; try fewer or other words"
        )
        return SearchResults(
            " ".join(text.split())[:200], [], nothing if found else "nothing has been crawled yet"
        )

    def page(self, page: str) -> tuple[str, PageRecord]:
        """Return the source and the record, with content and links, of a page named by its id or its URL.

        Raises:
            SearchError: no source has it; the message names the nearest addresses.
        """
        page = page.strip()
        names = self.names()
        for name in names:
            opened = self.open(name)
            opened.sync(self._sync_secs)
            url = opened.index.url_of(page) or (page if "://" in page else None)
            record = opened.store.page_by_url(url) if url else None
            if record is not None:
                return name, record
        near = self._nearest_pages(page, names)
        there = f"the nearest are {', '.join(near)}" if near else "search for it first"
        raise SearchError(f"no source has the page {page[:200]!r}; {there}")

    def _nearest_pages(self, page: str, names: Sequence[str]) -> list[str]:
        text = url_words(page) if "://" in page else page
        found = [one for name in names for one in self.open(name).search(text, 3, None).results]
        return [one.url for one in sorted(found, key=lambda one: -one.score)[:3]]

    def _one(self, opened: OpenSource, text: str, limit: int, section: str | None) -> SearchResults:
        in_step = opened.sync(self._sync_secs)
        found = opened.search(text, limit, section)
        if in_step:
            return found
        behind = "the search index is still being made; results are from the part that is ready"
        return replace(found, note="; ".join(filter(None, (found.note, behind))))

    def names(self) -> list[str]:
        """The names of all sources that can be read."""
        return [record.name for record in self.stores.list()]

    def open(self, source: str) -> OpenSource:
        """The open source of a name (`choose_source`); opened again where its store was deleted or replaced since."""
        name = source
        known = self._opened.get(name)
        if known is not None and self._is_there(known):
            return known
        self._drop(name)
        try:
            store = self.stores.open(name, create=False)
        except StoreError:
            chosen = choose_source(name, self.names())
            if chosen == name:
                raise
            return self.open(chosen)
        try:
            index = self._index(store, name)
        except BaseException:
            store.close()
            raise
        vectors = None if self._embedder is None else VectorIndex(self._file(name, VECTORS), self._embedder)
        return self._opened.setdefault(name, OpenSource(name, store, index, vectors, self._inode(name)))

    def _is_there(self, opened: OpenSource) -> bool:
        """Whether the store that is open is still the source's."""
        if self.stores.url is None:
            return opened.inode is not None and self._inode(opened.name) == opened.inode
        try:
            with self.stores.open(opened.name, create=False) as now:
                return store_id(now) == store_id(opened.store)
        except StoreError:
            return False

    def _inode(self, name: str) -> tuple[int, int] | None:
        """Which file the store of a source is; None where there is none."""
        try:
            found = source_file(resolve_data_dir(self.stores.data_dir), name).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _index(self, store: Store, name: str) -> SourceIndex:
        return SourceIndex.open(self.stores.url, self._file(name, WORDS), name, store_id(store))

    def _file(self, name: str, suffix: str) -> Path:
        file = index_file(self.stores, name, suffix)
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _drop(self, name: str) -> None:
        opened = self._opened.pop(name, None)
        if opened is not None:
            with suppress(StoreError):
                opened.close()

    def close(self) -> None:
        """Close every source that is open."""
        for name in list(self._opened):
            self._drop(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def search(
    source: str,
    query: str,
    *,
    limit: int = DEFAULT_LIMIT,
    section: str | None = None,
    store: str | os.PathLike[str] | None = None,
    embedder: Embedder | None = None,
) -> list[SearchResult]:
    """Search the stored documents of a source, as `scrapy search` does.

    Args:
        source: its name, with `@version` where versions are sources of their own.
        query: words, "quoted phrases", identifiers, or a question.
        limit: the number of pages at most (1 to 50).
        section: a section of llms.txt, or a part of its name.
        store: the directory of the page stores, or the URL of a PostgreSQL database; None is the project's directory.
        embedder: adds a search by meaning, see docs/how-to/search.md.

    Raises:
        UnknownSourceError: there is no such source or version; the message says what there is.
        SearchError: the index cannot be made or read.
        StoreError: the page store cannot be opened.
    """
    text = None if store is None else os.fspath(store)
    url = text if text and text.startswith("postgres") and "://" in text else None
    stores = Stores(url, Path(text) if text and not url else None)
    with Library(stores, embedder) as library:
        return library.search(query, source, section=section, limit=limit).results


def store_id(store: Store) -> str:
    """A value that differs for another store of the same name: when its source was first crawled."""
    record = store.source_record()
    if record is None or record.created_at is None:
        return ""
    return record.created_at.isoformat() + own_mark(record.extractor_version)
