"""The pages of a source in the order of their links: breadth-first, or depth-first in the tree that makes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import tee
from typing import Literal

from llmsspider.store import LINKS, OUTLINE, WHOLE, PageRecord, Parts, Store
from llmsspider.urls import page_key, without_fragment

Order = Literal["breadth", "depth"]

AT_ONCE = 200
"""Pages of the walk whose links are read at a time."""

URLS_KNOWN = 1 << 14
"""Addresses for which the page they lead to is remembered."""


class SiteTree:
    """Each page below the first that links to it, in page order; what nothing links to stands at the top.

    The walk begins with the page the source starts at, then the listed pages in their order.
    `keys` holds the pages breadth-first, `parents` the index of each one's parent, -1 at the top. Some
    hundred bytes a page.
    """

    def __init__(self, store: Store):
        self._store = store
        self.keys: list[bytes] = []
        self.parents = array("l")
        self._seen: set[bytes] = set()
        self._aliases = store.aliases()
        self._index = lru_cache(URLS_KNOWN)(self._key)
        self.ids: dict[bytes, str] = {}
        """The id of each page's document, by key."""
        depths: dict[bytes, int] = {}
        orders: dict[bytes, int] = {}
        for page in store.iter_pages(parts=OUTLINE):
            key = page.record.key
            self.ids[key], depths[key] = page.record.id, page.record.depth
            if page.record.llms is not None:
                orders[key] = page.record.llms.order
        source = store.source_record()
        start = page_key(source.url) if source else b""
        tops = sorted(
            (key for key, depth in depths.items() if depth == 0),
            key=lambda key: (key != start, orders.get(key, len(orders) + 1)),
        )
        rest = sorted(depths, key=depths.__getitem__)
        for key in [*tops, *rest]:
            self._walk(key)

    def __len__(self) -> int:
        return len(self.keys)

    def index(self, url: str) -> bytes | None:
        """The key of the stored page a URL leads to, or None."""
        return self._index(without_fragment(url))

    def _key(self, url: str) -> bytes | None:
        try:
            key = page_key(url)
        except ValueError:
            return None
        key = self._aliases.get(key, key)
        return key if key in self.ids else None

    def pages(self, order: Order, parts: Parts = WHOLE) -> Iterator[tuple[int, int, PageRecord]]:
        """Yield (index into `keys`, level, page with the parts asked for); the level is 0 at the top."""
        places, asked = tee(self.places(order))
        records = self._store.load_pages((self.keys[place] for place, _ in asked), parts)
        for (place, level), record in zip(places, records, strict=True):
            if record is not None:  # else deleted since
                yield place, level, record

    def places(self, order: Order) -> Iterator[tuple[int, int]]:
        """Yield (index into `keys`, level)."""
        levels = array("l")
        for parent in self.parents:
            levels.append(levels[parent] + 1 if parent >= 0 else 0)
        if order == "breadth":
            yield from enumerate(levels)
            return
        children = self._children()
        waiting = [place for place in reversed(range(len(self))) if self.parents[place] < 0]
        while waiting:
            place = waiting.pop()
            yield place, levels[place]
            waiting += reversed(children.get(place, ()))

    def _children(self) -> dict[int, array[int]]:
        children: dict[int, array[int]] = {}
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                children.setdefault(parent, array("l")).append(place)
        return children

    def _walk(self, top: bytes) -> None:
        """Number what can be reached from `top` and is not numbered yet, breadth-first."""
        if top in self._seen:
            return
        place = len(self)
        self._add(top, -1)
        while place < len(self):
            batch = self.keys[place : place + AT_ONCE]
            for parent, record in enumerate(self._store.load_pages(batch, LINKS), place):
                for url in _urls(record):
                    key = self.index(url)
                    if key is not None and key not in self._seen:
                        self._add(key, parent)
            place += len(batch)

    def _add(self, key: bytes, parent: int) -> None:
        self._seen.add(key)
        self.keys.append(key)
        self.parents.append(parent)


def _urls(record: PageRecord | None) -> list[str]:
    return [] if record is None else [*(link.url for link in record.links), *record.follow]
