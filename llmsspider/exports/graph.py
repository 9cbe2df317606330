"""The knowledge graph of a source: its pages, the pages that failed, and the links between them."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, BinaryIO

import orjson

from llmsspider.exports.sitetree import SiteTree
from llmsspider.items import Link
from llmsspider.store import LINKS, OUTLINE, PageError, PageRecord, Store
from llmsspider.urls import document_id, page_key

PICTURE_NODES = 2000
"""Nodes a picture shows; more cannot be told apart."""

_ROW, _COLUMN = 18, 260


def nodes(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the nodes breadth-first, then those of pages that could not be had in the last run.

    `links` are those of the main content; `to` is the id of the node a link leads to, null where it is none.
    """
    tree, source = SiteTree(store), _source(store)
    failed = {page_key(error.url): error for error in failures(store, tree)}
    names = {key: document_id(source, error.url) for key, error in failed.items()}
    for _, _, record in tree.pages("breadth", LINKS):
        yield _page_node(record, [_link(link, tree, names) for link in record.links])
    for key, error in failed.items():
        yield _error_node(names[key], error)


def failures(store: Store, tree: SiteTree) -> list[PageError]:
    """The page errors of the last run whose pages are not stored, each page once."""
    runs = store.runs()
    found = store.errors(runs[-1]) if runs else []
    unique = {error.url: error for error in found if tree.index(error.url) is None}
    return list(unique.values())


def _link(link: Link, tree: SiteTree, failed: dict[bytes, str]) -> dict[str, Any]:
    key = tree.index(link.url)
    target = tree.ids[key] if key is not None else _failed(link.url, failed)
    return {"text": link.text, "url": link.url, "to": target}


def _failed(url: str, failed: dict[bytes, str]) -> str | None:
    try:
        return failed.get(page_key(url)) if failed else None
    except ValueError:
        return None


def _page_node(record: PageRecord, links: list[dict[str, Any]]) -> dict[str, Any]:
    return {
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
        "links": links,
    }


def _error_node(node_id: str, error: PageError) -> dict[str, Any]:
    problem = {"kind": error.kind, "status": error.status, "message": error.message}
    empty = dict.fromkeys(("title", "depth", "mime_type", "etag", "last_modified", "hash"))
    return {"id": node_id, "url": error.url, "status": "error", "error": problem, **empty, "links": []}


def write_json(store: Store, out: IO[bytes]) -> None:
    """An object with `source`, `url` and `nodes`, written node by node."""
    record = store.source_record()
    head = {"source": _source(store), "url": record.url if record else None}
    out.write(orjson.dumps(head)[:-1] + b',"nodes":[')
    out.writelines(
        (b",\n" if place else b"\n") + orjson.dumps(node) for place, node in enumerate(nodes(store))
    )
    out.write(b"\n]}\n")


def write_ascii(store: Store, out: BinaryIO) -> None:
    """A line for each page, indented below the page that links to it; then the pages that failed."""
    tree = SiteTree(store)
    pages = (f"{'    ' * level}{_label(record)}\n" for _, level, record in tree.pages("depth", OUTLINE))
    out.writelines(line.encode("utf-8", "replace") for line in pages)
    failed = (f"! {error.url} ({error.kind}{_status(error)})\n" for error in failures(store, tree))
    out.writelines(line.encode("utf-8", "replace") for line in failed)


def write_svg(store: Store, out: BinaryIO) -> None:
    """A picture of the tree: a column for each level, a line to the page that links to it."""
    out.write(_svg(store).encode("utf-8", "replace"))


def write_html(store: Store, out: BinaryIO) -> None:
    """A page that needs nothing else: the picture, whose nodes are links."""
    name = html.escape(_source(store))
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><h1>{name}</h1>\n'
    out.write((head + _svg(store) + "</html>\n").encode("utf-8", "replace"))


def _svg(store: Store) -> str:
    tree = SiteTree(store)
    rows: dict[int, tuple[int, int]] = {}
    parts: list[str] = []
    for place, level, record in islice(tree.pages("depth", OUTLINE), PICTURE_NODES):
        x, y = 10 + level * _COLUMN // 8, 20 + len(rows) * _ROW
        rows[place] = x, y
        if tree.parents[place] in rows:
            above = rows[tree.parents[place]]
            parts.append(f'<path d="M{above[0]} {above[1]}V{y}H{x}" fill="none" stroke="#bbb"/>')
        parts.append(_text(x + 8, y, record.title or record.url, record.url, "#036"))
        parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="#036"/>')
    failed = failures(store, tree)
    errors = failed[: PICTURE_NODES - len(rows)]
    for number, error in enumerate(errors, len(rows)):
        parts.append(_text(18, 20 + number * _ROW, f"{error.url} ({error.kind})", error.url, "#b00"))
    height = 40 + (len(rows) + len(errors)) * _ROW
    if left_out := len(tree) + len(failed) - len(rows) - len(errors):
        parts.append(f'<text x="18" y="{height}">and {left_out} more: --as json has them all</text>')
        height += _ROW
    width = 700 + max((x for x, _ in rows.values()), default=0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _text(x: int, y: int, text: str, url: str, colour: str) -> str:
    shown = html.escape(_printable(" ".join(text.split())[:100]))
    target = html.escape(_printable(url))
    return f'<a href="{target}"><text x="{x}" y="{y + 4}" fill="{colour}">{shown}</text></a>'


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _label(record: PageRecord) -> str:
    return f"{_printable(' '.join((record.title or '').split()))} <{record.url}>".strip()


def _status(error: PageError) -> str:
    return f" {error.status}" if error.status else ""


def _source(store: Store) -> str:
    record = store.source_record()
    return record.name if record else ""
