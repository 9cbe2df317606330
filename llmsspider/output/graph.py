"""The knowledge graph of a source, and its pages in the order of their links."""

import contextlib
import html
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, tee
from typing import IO, Any, BinaryIO, Literal
from urllib.parse import urlsplit

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
    nothing links to. Some
    hundred bytes a page.
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

PICTURE_NODES = 2000
"""Maximum number of nodes in a picture; more could not be distinguished."""

_ROW = 18
_COLUMN = 260


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


def write_svg(store: Store, out: BinaryIO) -> None:
    """A picture of the tree: a column for each level, a line to the page that links to it."""
    tree = SiteTree(store)
    rows: dict[int, tuple[int, int]] = {}
    parts: list[str] = []
    for place, level, record in islice(tree.pages("depth", OUTLINE), PICTURE_NODES):
        x = 10 + level * _COLUMN // 8
        y = 20 + len(rows) * _ROW
        rows[place] = x, y
        if tree.parents[place] in rows:
            above = rows[tree.parents[place]]
            parts.append(f'<path d="M{above[0]} {above[1]}V{y}H{x}" fill="none" stroke="#bbb"/>')
        parts.append(_text(x + 8, y, record.title or record.url, record.url, "#036"))
        parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="#036"/>')
    failed = failures(store, tree)
    errors = failed[: PICTURE_NODES - len(rows)]
    for number, error in enumerate(errors, len(rows)):
        parts.append(
            _text(18, 20 + number * _ROW, f"{error.url} ({error.kind})", error.url, "#b00")
        )
    height = 40 + (len(rows) + len(errors)) * _ROW
    if omitted := len(tree) + len(failed) - len(rows) - len(errors):
        parts.append(f'<text x="18" y="{height}">and {omitted} more: --as json has them all</text>')
        height += _ROW
    width = 700 + max((x for x, _ in rows.values()), default=0)
    size = f'width="{width}" height="{height}" font-family="sans-serif" font-size="12"'
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *parts, "</svg>\n"]
    out.write("\n".join(svg).encode("utf-8", "replace"))


def _text(x: int, y: int, text: str, url: str, colour: str) -> str:
    target, shown = (html.escape(_printable(one)) for one in (url, " ".join(text.split())[:100]))
    return f'<a href="{target}"><text x="{x}" y="{y + 4}" fill="{colour}">{shown}</text></a>'


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _label(record: PageRecord) -> str:
    return f"{_printable(' '.join((record.title or '').split()))} <{record.url}>".strip()


# The picture of a site in its report: pages as a tree of paths in a circle, with the links between
# them.

MAX_NODES, MAX_LINKS = 3000, 9000  # nodes and links the picture shows; what is beyond is counted
RING = 100.0  # distance between two levels of the tree


@dataclass(slots=True)
class _Node:
    name: str
    parent: int
    level: int
    page: int = -1
    children: dict[str, int] = field(default_factory=dict)
    leaves: int = 0


def site_tree(urls: Sequence[str], links: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """Lay out the pages with these addresses, and links as pairs of indexes into them; returns
    JSON-ready columns.

    `nodes` holds [name, parent, index of the page or -1, x, y] with the root first; `links` pairs
    of nodes; what is not
    in the picture is counted.
    """
    nodes = [_Node("", -1, 0)]
    of_page: dict[int, int] = {}
    with_host = len({urlsplit(url).netloc for url in urls[:MAX_NODES]}) > 1
    for index, url in enumerate(urls):
        if len(nodes) >= MAX_NODES:
            break
        parts = urlsplit(url)
        path = [
            parts.netloc * with_host,
            *parts.path.split("/"),
            f"?{parts.query}" * bool(parts.query),
        ]
        here = 0
        for name in [name for name in path if name][:30]:
            if name not in nodes[here].children:
                nodes[here].children[name] = len(nodes)
                nodes.append(_Node(name[:80], here, nodes[here].level + 1))
            here = nodes[here].children[name]
        nodes[here].page = index if nodes[here].page < 0 else nodes[here].page
        of_page[index] = here
    shown: list[list[int]] = []
    left = 0
    for source, target in links:
        if source in of_page and target in of_page and len(shown) < MAX_LINKS:
            shown.append([of_page[source], of_page[target]])
        else:
            left += 1
    return {
        "nodes": [
            [one.name, one.parent, one.page, *place]
            for one, place in zip(nodes, _places(nodes), strict=True)
        ],
        "links": shown,
        "pages_left": len(urls) - len(of_page),
        "links_left": left,
    }


def _places(nodes: list[_Node]) -> list[tuple[float, float]]:
    """Give each node a share of the circle by its leaves; a parent stands in the middle of its
    children.
    """
    for node in reversed(nodes):  # children come after their parents
        node.leaves = node.leaves or 1
        if node.parent >= 0:
            nodes[node.parent].leaves += node.leaves
    deepest = max(node.level for node in nodes) or 1
    ring = max(RING, nodes[0].leaves * 14 / (2 * math.pi * deepest))
    begins = [0.0] * len(nodes)
    used = [0.0] * len(nodes)
    places: list[tuple[float, float]] = []
    for index, node in enumerate(nodes):
        share = node.leaves / nodes[0].leaves
        if node.parent >= 0:
            begins[index] = begins[node.parent] + used[node.parent]
            used[node.parent] += share
        angle = 2 * math.pi * (begins[index] + share / 2)
        radius = ring * node.level
        places.append((round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1)))
    return places
