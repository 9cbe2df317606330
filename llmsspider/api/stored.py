"""What is stored of a folder or source: `documents`, `changes`, `search`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from llmsspider.api.folders import find_source
from llmsspider.items import Document
from llmsspider.output import exports

if TYPE_CHECKING:
    from llmsspider.answers.embedding import Embedder
    from llmsspider.answers.ranking import SearchResult


def documents(
    source: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None
) -> Iterator[Document]:
    """Yield the stored documents of a source, one at a time, as `llmsspider export` writes them.

    Args:
        source: a folder that `llmsspider URL -o DIR` wrote, a `store` of `crawl`, or the name of a
        source.
        store: where sources of that name are: a directory of page stores, or the URL of a
        PostgreSQL database.

    Raises:
        UnknownSourceError: there is no such source.
        StoreError: the page store cannot be opened.
    """
    stores, name = find_source(source, store)
    with stores.open(name, create=False) as opened:
        yield from exports.documents(opened, name, None)


def changes(
    source: str | os.PathLike[str], *, since: int, store: str | os.PathLike[str] | None = None
) -> Iterator[Document]:
    """Yield what changed after sequence number `since` (0 is the beginning), tombstones too; see
    `documents`.

    `change` is what happened since then, `seq` the number to go on from: the largest one of all.
    """
    stores, name = find_source(source, store)
    with stores.open(name, create=False) as opened:
        yield from exports.documents(opened, name, since)
        opened.note_replayed(since)


def search(
    source: str | os.PathLike[str],
    query: str,
    *,
    limit: int = 8,
    section: str | None = None,
    store: str | os.PathLike[str] | None = None,
    embedder: Embedder | None = None,
) -> list[SearchResult]:
    """Search the stored documents of a source, as `llmsspider search` does; see `documents`.

    Args:
        source: as there, with `@version` where versions are sources of their own.
        query: words, "quoted phrases", identifiers, or a question.
        limit: the number of pages at most (1 to 50).
        section: a section of llms.txt, else a directory, or a part of its name.
        store: as there.
        embedder: adds semantic search, see docs/how-to/search.md.

    Raises:
        UnknownSourceError: there is no such source or version; the message says what there is.
        SearchError: the index cannot be made or read.
        StoreError: the page store cannot be opened.
    """
    from llmsspider.answers.library import Library  # noqa: PLC0415  # commands come by here

    stores, name = find_source(source, store)
    with Library(stores, embedder) as library:
        return library.search(query, name, section=section, limit=limit).results
