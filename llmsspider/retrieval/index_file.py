"""Where the index of a source is, and whether there is one; most crawls need nothing else of this room."""

from __future__ import annotations

from pathlib import Path

from llmsspider.store import Stores
from llmsspider.store.database import resolve_data_dir, source_slug

WORDS = ".search"
VECTORS = ".vectors"


def index_file(stores: Stores, source: str, suffix: str = WORDS) -> Path:
    """The file of an index; it need not exist yet."""
    return resolve_data_dir(stores.data_dir) / (source_slug(source) + suffix)


def has_index(stores: Stores, source: str) -> bool:
    """Whether the source was searched before, or indexed."""
    return index_file(stores, source).exists()
