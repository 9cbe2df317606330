"""The picture of a site: its pages as a tree of paths, laid out in a circle, with the links between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

MAX_NODES = 3000
MAX_LINKS = 9000
"""Nodes and links the picture shows; what is beyond is counted."""

RING = 100.0
"""Distance between two levels of the tree."""


@dataclass(slots=True)
class _Node:
    name: str
    parent: int
    level: int
    page: int | None = None
    children: dict[str, int] = field(default_factory=dict)
    leaves: int = 0


def site_tree(urls: Sequence[str], links: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """Lay out pages; returns JSON-ready columns.

    `nodes` holds [name, parent, index of the page or -1, x, y] with the root first; `links` pairs of nodes;
    `pages_left` and `links_left` say what is not in the picture.

    Args:
        urls: the address of each page.
        links: pairs of indexes into `urls`.
    """
    nodes = [_Node("", -1, 0)]
    of_page: dict[int, int] = {}
    hosts = {urlsplit(url).netloc for url in urls[:MAX_NODES]}
    for index, url in enumerate(urls):
        if len(nodes) >= MAX_NODES:
            break
        of_page[index] = _insert(nodes, _path(url, with_host=len(hosts) > 1), index)
    places = _places(nodes)
    drawn, left = _links(links, of_page)
    return {
        "nodes": [
            [node.name, node.parent, -1 if node.page is None else node.page, *place]
            for node, place in zip(nodes, places, strict=True)
        ],
        "links": drawn,
        "pages_left": len(urls) - len(of_page),
        "links_left": left,
    }


def _links(links: Iterable[tuple[int, int]], of_page: dict[int, int]) -> tuple[list[list[int]], int]:
    drawn: list[list[int]] = []
    left = 0
    for source, target in links:
        if source in of_page and target in of_page and len(drawn) < MAX_LINKS:
            drawn.append([of_page[source], of_page[target]])
        else:
            left += 1
    return drawn, left


def _path(url: str, *, with_host: bool) -> list[str]:
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    if parts.query:
        path.append(f"?{parts.query}")
    return [parts.netloc, *path] if with_host else path


def _insert(nodes: list[_Node], path: list[str], page: int) -> int:
    here = 0
    for name in path[:30]:
        below = nodes[here].children.get(name)
        if below is None:
            below = len(nodes)
            nodes.append(_Node(name[:80], here, nodes[here].level + 1))
            nodes[here].children[name] = below
        here = below
    if nodes[here].page is None:
        nodes[here].page = page
    return here


def _places(nodes: list[_Node]) -> list[tuple[float, float]]:
    """Give each node a share of the circle by its leaves; a parent stands in the middle of its children."""
    for node in reversed(nodes):  # children come after their parents
        node.leaves = node.leaves or 1
        if node.parent >= 0:
            nodes[node.parent].leaves += node.leaves
    deepest = max(node.level for node in nodes) or 1
    ring = max(RING, nodes[0].leaves * 14 / (2 * math.pi * deepest))
    begins = [0.0] * len(nodes)
    places: list[tuple[float, float]] = []
    used = [0.0] * len(nodes)
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            begins[index] = begins[node.parent] + used[node.parent]
            used[node.parent] += node.leaves / nodes[0].leaves
        angle = 2 * math.pi * (begins[index] + node.leaves / nodes[0].leaves / 2)
        radius = ring * node.level
        places.append((round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1)))
    return places
