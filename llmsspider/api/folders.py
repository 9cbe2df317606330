"""Which folder stands for a source, and which store it holds."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from llmsspider.errors import ArgumentsError, MirrorError
from llmsspider.output.mirror import read_manifest
from llmsspider.store import Store, Stores
from llmsspider.store.database import DATA_DIR_VARIABLE, STORE_FOLDER, SUFFIX, project_dir

PLACES = (DATA_DIR_VARIABLE, "LLMS_STORE_URL")
"""The settings that say where the stores are, also read from the environment."""


class Tree(NamedTuple):
    """A folder that `llmsspider URL -o DIR` wrote, or a directory of the page store of one source."""

    folder: Path
    source: str
    store: Path


def trees(folders: Iterable[Path]) -> Iterator[Tree]:
    """Yield the folders that hold a source; while its first crawl goes, its store alone says which."""
    for folder in folders:
        store = folder / STORE_FOLDER
        try:
            manifest = read_manifest(folder) if store.is_dir() else None
        except (MirrorError, OSError):
            continue
        if manifest is not None:
            yield Tree(folder, manifest.source, store)
        elif store.is_dir() and len(stored := Store.list_sources(None, store)[0]) == 1:
            yield Tree(folder, stored[0].name, store)


def tree_of(folder: Path) -> Tree | None:
    """Return the source that a folder holds; raises `ArgumentsError` for a directory of several
    stores.
    """
    found = next(trees([folder]), None)
    names = []
    with suppress(OSError):  # a name that no file may have
        if found is None and any(folder.glob(f"*{SUFFIX}")):
            names = [record.name for record in Store.list_sources(None, folder)[0]]
    if len(names) > 1:
        raise ArgumentsError(
            [f"{folder} is the store of several sources: name one of {', '.join(names)}"]
        )
    return Tree(folder, names[0], folder) if names else found


def trees_here() -> list[Tree]:
    """Return what holds a source in the working directory; nothing where that is a project's, or
    stores are named.
    """
    if any(map(os.environ.get, PLACES)) or project_dir(Path.cwd()):
        return []
    return list(trees([Path(), *sorted(path for path in Path().iterdir() if path.is_dir())]))


def find_source(
    named: str | os.PathLike[str], store: str | os.PathLike[str] | None = None
) -> tuple[Stores, str]:
    """Return the store and the name of a source as commands take it: a folder that holds it, or its
    name.

    `store` is the directory of page stores in which a name is looked for, or the URL of a
    PostgreSQL database.
    """
    name = os.fspath(named)
    place = os.fspath(store) if store else os.environ.get("LLMS_STORE_URL")
    if store is None:
        tree = tree_of(Path(name)) or next(
            (one for one in trees_here() if one.source == name), None
        )
        if tree is not None:
            return Stores(None, tree.store), tree.source
    if place and place.startswith("postgres") and "://" in place:
        return Stores(place), name
    return Stores(None, inside(Path(place)) if place and store else None), name


def inside(folder: Path) -> Path:
    """Return the directory of the page store: that within, for a folder that `llmsspider URL -o
    DIR` wrote.
    """
    return folder / STORE_FOLDER if (folder / STORE_FOLDER).is_dir() else folder
