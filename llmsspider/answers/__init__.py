"""Search over the crawled documentation (docs/how-to/search.md).

In: the page store of a source and a query. Out: passages with their addresses, read from the store.
Imports the store and the pure packages below it; commands, the extension that updates indexes and
`llmsspider mcp` import it.

This module itself says how the files of an index are called (`Stores.index_file`): most crawls need
nothing else.
"""

from __future__ import annotations

from llmsspider.store import Stores
from llmsspider.store.database import delete_sqlite

WORDS = ".search"
VECTORS = ".vectors"


def delete_index(stores: Stores, source: str) -> list[str]:
    """Delete the search index and the vectors of a source; returns what there was.

    Raises `StoreError`.
    """
    kinds = ((WORDS, "search index"), (VECTORS, "vectors"))
    return [what for suffix, what in kinds if delete_sqlite(stores.index_file(source, suffix))]
