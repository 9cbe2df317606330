"""What is stored of a folder or source, `documents`, `changes`, `search`; and what the process of a
crawl is given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from llmsspider.content.formats import ContentHandler
from llmsspider.errors import ArgumentsError, MirrorError
from llmsspider.items import Document
from llmsspider.output import exports
from llmsspider.output.mirror import read_manifest
from llmsspider.store import Store, Stores
from llmsspider.store.database import DATA_DIR_VARIABLE, STORE_FOLDER, SUFFIX, project_dir
from llmsspider.store.store import DEFAULT_CLASS
from llmsspider.web.loading import path_of

if TYPE_CHECKING:
    from llmsspider.answers.embedding import Embedder
    from llmsspider.answers.ranking import SearchResult


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
        section: a section of llms.txt, or a part of its name.
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


def stores_for(
    store: str | os.PathLike[str] | type[Store] | None,
    settings: Mapping[str, object] | None,
    temporary: str,
    handlers: Mapping[str, str | type[ContentHandler]] | None = None,
) -> dict[str, Any]:
    """Return the settings of a crawl whose pages are kept in `store`, or in the temporary folder.

    Raises:
        ArgumentsError: a class cannot be imported by its path.
    """
    # what the environment says of stores is not for calls that name theirs, or keep nothing
    here = {"LLMS_STORE_URL": "", "LLMS_STORE_CLASS": DEFAULT_CLASS, "LLMS_DATA_DIR": temporary}
    chosen: dict[str, Any] = {**here, **(settings or {})}
    try:
        if store is not None:
            name = "LLMS_STORE_CLASS" if isinstance(store, type) else "LLMS_DATA_DIR"
            chosen[name] = path_of(store) if isinstance(store, type) else inside(Path(store))
        if handlers:
            chosen["LLMS_CONTENT_HANDLERS"] = {kind: path_of(one) for kind, one in handlers.items()}
    except ImportError as error:
        raise ArgumentsError([str(error)]) from None
    chosen["LLMS_DATA_DIR"] = Path(str(chosen["LLMS_DATA_DIR"])).absolute()
    return chosen


def child() -> dict[str, str]:
    """Return the environment of a crawl's process: our settings, and the modules that this process
    finds.
    """
    paths = [
        str(Path(__file__).resolve().parents[2]),
        *(str(Path(path).absolute()) for path in sys.path),
    ]
    own = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": os.pathsep.join(paths)}
    return {**os.environ, **own}


CRAWL = [
    sys.executable,
    "-c",
    "from llmsspider.launch.api import crawl_from_pipe; crawl_from_pipe()",
]
"""The command of a crawl in a process of its own; `options_for_pipe` is what its stdin is given."""


def options_for_pipe(
    arguments: Mapping[str, str], settings: Mapping[str, object], spider: str = "docs"
) -> bytes:
    """Return spider, arguments and settings of a crawl, for the stdin of its process.

    >>> options_for_pipe({"max_pages": "3"}, {"HOSTS": ["a", "b"]})
    b'["docs","-a","max_pages=3","-s","HOSTS=a,b"]'
    """
    given = [
        spider,
        *(part for pair in arguments.items() for part in ("-a", "=".join(map(str, pair)))),
    ]
    for name, setting in settings.items():
        text = orjson.dumps(setting).decode() if isinstance(setting, dict) else setting
        text = ",".join(map(str, text)) if isinstance(text, list | tuple) else text
        given += ["-s", f"{name}={text}"]
    return orjson.dumps(given)


def crawl_from_pipe() -> None:
    """Run `scrapy crawl` with the options that stand on stdin as JSON: everybody can read those of
    a process.
    """
    from scrapy.cmdline import execute  # noqa: PLC0415  # in the process of the crawl only

    execute(["scrapy", "crawl", *orjson.loads(sys.stdin.read())])
