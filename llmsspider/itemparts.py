"""A document too large for one item, as several items that are each small enough. No Scrapy here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class TooLargeError(ValueError):
    """What is not content or links is too large by itself."""


def encoded_size(value: object) -> int:
    """Return the bytes of a value as JSON in ASCII: a character outside of it takes 6 or 12."""
    return len(json.dumps(value, default=str))


def in_parts(document: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the document as it is where it is small enough, else as parts with `part` (from 1) and `parts`.

    Every part repeats the other fields; `content` is cut at line ends and `links` between two links, so that the
    parts joined in order give what the document had. `content_hash` stays that of the whole.

    Args:
        document: a document as a plain dictionary.
        limit: bytes of JSON that one item may have.

    Raises:
        TooLargeError: the fields that are repeated leave no room.
    """
    if encoded_size(document) <= limit:
        return [document]
    frame = {**document, "content": "", "links": [], "part": 10**6, "parts": 10**6}
    room = limit - encoded_size(frame)
    if room < limit // 10:
        raise TooLargeError(f"its fields other than content and links have {encoded_size(frame)} bytes")
    parts: list[dict[str, Any]] = []
    left = 0
    for name, value in _pieces(document, room):
        size = _size(name, value)
        if size > left:
            parts.append({**document, "content": "", "links": []})
            left = room
        left -= size
        if name == "content":
            parts[-1]["content"] += value
        else:
            parts[-1]["links"].append(value)
    return [{**part, "part": number, "parts": len(parts)} for number, part in enumerate(parts, 1)]


def _pieces(document: dict[str, Any], room: int) -> Iterator[tuple[str, Any]]:
    """Yield what may be separated: lines of the content (longer ones in pieces), then links."""
    longest = room // 12  # characters, each of which may take 12 bytes
    for line in (document["content"] or "").splitlines(keepends=True):
        for start in range(0, len(line), longest):
            yield "content", line[start : start + longest]
    for link in document["links"]:
        if _size("links", link) > room:
            raise TooLargeError(f"one of its links has {encoded_size(link)} bytes")
        yield "links", link


def _size(name: str, value: object) -> int:
    """Return what a piece adds: a string without its quotes, or a list's element with its separator."""
    return encoded_size(value) + (-2 if name == "content" else 2)
