"""The knowledge graph of a source, and its pages in the order of their links."""

import contextlib
from array import array
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import tee
from typing import IO, Any, BinaryIO, Literal

import orjson

from llmsspider.store import LINKS, OUTLINE, WHOLE, PageError, PageRecord, Parts, Store
from llmsspider.web.urls import document_id, page_key, without_fragment

# The pages of a source in the order of their links: breadth-first, or depth-first in the tree that
# makes.

Order = Literal["breadth", "depth"]

AT_ONCE = 200
URLS_KNOWN = 1 << 14
"""Pages of the walk whose links are read at a time; addresses for which the page they lead to is
remembered.
"""


class SiteTree:
    """Each page below the first that links to it, from the page the source starts at, then the
    listed ones in order.

    `keys` holds the pages breadth-first, `parents` the index of each one's parent, -1 for what
    nothing links to. Some hundred bytes a page.
    """

    def __init__(self, store: Store):
        self._store = store
        self.keys: list[bytes] = []
        self.parents = array("l")
        self._aliases = store.aliases()
        self._index = lru_cache(URLS_KNOWN)(self._key)
        self.ids: dict[bytes, str] = {}  # the id of each page's document, by key
        depths: dict[bytes, int] = {}
        orders: dict[bytes, int] = {}
        for one in (page.record for page in store.iter_pages(parts=OUTLINE)):
            self.ids[one.key] = one.id
            depths[one.key] = one.depth
            if one.llms is not None:
                orders[one.key] = one.llms.order
        source = store.source_record()
        start = page_key(source.url) if source else b""
        tops = sorted(
            (key for key, depth in depths.items() if depth == 0),
            key=lambda key: (key != start, orders.get(key, len(orders) + 1)),
        )
        seen: set[bytes] = set()
        for top in [*tops, *sorted(depths, key=depths.__getitem__)]:
            if top not in seen:
                self._walk(top, seen)

    def __len__(self) -> int:
        return len(self.keys)

    def index(self, url: str) -> bytes | None:
        """The key of the stored page a URL leads to, or None."""
        return self._index(without_fragment(url))

    def _key(self, url: str) -> bytes | None:
        with contextlib.suppress(ValueError):
            key = page_key(url)
            key = self._aliases.get(key, key)
            return key if key in self.ids else None
        return None

    def pages(self, order: Order, parts: Parts = WHOLE) -> Iterator[tuple[int, int, PageRecord]]:
        """Yield (index into `keys`, level, page with the given parts); the level is 0 at the top."""
        places, wanted = tee(self._places(order))
        records = self._store.load_pages((self.keys[place] for place, _ in wanted), parts)
        for (place, level), record in zip(places, records, strict=True):
            if record is not None:  # else deleted since
                yield place, level, record

    def _places(self, order: Order) -> Iterator[tuple[int, int]]:
        levels = array("l")
        for parent in self.parents:
            levels.append(levels[parent] + 1 if parent >= 0 else 0)
        if order == "breadth":
            yield from enumerate(levels)
            return
        children: defaultdict[int, array[int]] = defaultdict(lambda: array("l"))
        for place, parent in enumerate(self.parents):
            children[parent].append(place)
        waiting = [*reversed(children[-1])]
        while waiting:
            place = waiting.pop()
            yield place, levels[place]
            waiting += reversed(children[place])

    def _walk(self, top: bytes, seen: set[bytes]) -> None:
        """Number what can be reached from `top` and is not numbered yet, breadth-first."""
        place = len(self)
        found = [(top, -1)]
        while found or place < len(self):
            for key, parent in found:
                if key not in seen:
                    seen.add(key)
                    self.keys.append(key)
                    self.parents.append(parent)
            batch = self.keys[place : place + AT_ONCE]
            found = [
                (target, parent)
                for parent, record in enumerate(self._store.load_pages(batch, LINKS), place)
                for url in (
                    [*(link.url for link in record.links), *record.follow] if record else ()
                )
                if (target := self.index(url)) is not None
            ]
            place += len(batch)


# The knowledge graph of a source: its pages, the pages that failed, and the links between them.


def nodes(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the nodes breadth-first, then those of pages that failed in the last run.

    `links` are those of the main content; `to` is the id of the node a link leads to, null where it
    is none.
    """
    tree = SiteTree(store)
    source = store.source_record()
    failed = {page_key(error.url): error for error in failures(store, tree)}
    names = {
        key: document_id(source.name if source else "", error.url) for key, error in failed.items()
    }
    for _, _, record in tree.pages("breadth", LINKS):
        yield {
            "id": record.id,
            "url": record.url,
            "title": record.title,
            "status": "completed",
            "depth": record.depth,
            "mime_type": record.mime_type,
            "error": None,
            "etag": record.etag,
            "last_modified": record.last_modified,
            "hash": record.content_hash,
            "links": [
                {"text": link.text, "url": link.url, "to": _target(link.url, tree, names)}
                for link in record.links
            ],
        }
    empty = dict.fromkeys(("title", "depth", "mime_type", "etag", "last_modified", "hash"))
    for key, error in failed.items():
        problem = {"kind": error.kind, "status": error.status, "message": error.reason}
        yield {
            "id": names[key],
            "url": error.url,
            "status": "error",
            "error": problem,
            **empty,
            "links": [],
        }


def failures(store: Store, tree: SiteTree) -> list[PageError]:
    """The page errors of the last run whose pages are not stored, each page once."""
    found = (error for run in store.runs()[-1:] for error in store.errors(run))
    return list({error.url: error for error in found if tree.index(error.url) is None}.values())


def _target(url: str, tree: SiteTree, failed: dict[bytes, str]) -> str | None:
    if (key := tree.index(url)) is not None:
        return tree.ids[key]
    with contextlib.suppress(ValueError):  # no URL
        return failed.get(page_key(url)) if failed else None
    return None


def write_json(store: Store, out: IO[bytes]) -> None:
    """An object with `source`, `url` and `nodes`, written node by node."""
    record = store.source_record()
    head = {"source": record.name if record else "", "url": record.url if record else None}
    out.write(orjson.dumps(head)[:-1] + b',"nodes":[')
    rows = enumerate(nodes(store))
    out.writelines((b",\n" if place else b"\n") + orjson.dumps(node) for place, node in rows)
    out.write(b"\n]}\n")


def write_ascii(store: Store, out: BinaryIO) -> None:
    """A line for each page, indented below the page that links to it; then the pages that failed."""
    tree = SiteTree(store)
    pages = (
        f"{'    ' * level}{_label(record)}\n" for _, level, record in tree.pages("depth", OUTLINE)
    )
    out.writelines(line.encode("utf-8", "replace") for line in pages)
    for error in failures(store, tree):
        status = f" {error.status}" if error.status else ""
        out.write(f"! {error.url} ({error.kind}{status})\n".encode("utf-8", "replace"))


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _label(record: PageRecord) -> str:
    return f"{_printable(' '.join((record.title or '').split()))} <{record.url}>".strip()
