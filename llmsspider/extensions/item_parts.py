"""A document too large for one item, as several items that are each small enough."""

import json
from typing import Any


class ItemTooLargeError(ValueError):
    """The fields other than content and links exceed the limit by themselves."""


def encoded_size(value: object) -> int:
    """Return the bytes of a value as JSON in ASCII: a character outside of it takes 6 or 12."""
    return len(json.dumps(value, default=str))


def split_document(document: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the document as it is where it is small enough, else as parts with `part` (from 1) and
    `parts`.

    Every part repeats the other fields; `content` is cut at line ends and `links` between two
    links, so that the parts joined in order give what the document had. `content_hash` stays that
    of the whole. `limit` are the bytes of JSON that one item may have; raises `ItemTooLargeError`
    when what is repeated leaves no room.
    """
    if encoded_size(document) <= limit:
        return [document]
    empty = {**document, "content": "", "links": []}
    room = limit - encoded_size({**empty, "part": 10**6, "parts": 10**6})
    if room < limit // 10:
        raise ItemTooLargeError(
            f"its fields other than content and links have {limit - room} bytes"
        )
    longest = room // 12  # characters, each of which may take 12 bytes
    lines = (document["content"] or "").splitlines(keepends=True)
    pieces = [
        line[start : start + longest] for line in lines for start in range(0, len(line), longest)
    ]
    # what a piece adds: a string without its quotes, a list's element with its separator
    sized = [("content", piece, encoded_size(piece) - 2) for piece in pieces]
    sized += [("links", link, encoded_size(link) + 2) for link in document["links"]]
    parts: list[dict[str, Any]] = []
    left = 0
    for name, value, size in sized:
        if size > room:
            raise ItemTooLargeError(f"one of its links has {encoded_size(value)} bytes")
        if size > left:
            parts.append({**document, "content": "", "links": []})
            left = room
        left -= size
        parts[-1][name] += value if name == "content" else [value]
    return [{**part, "part": number, "parts": len(parts)} for number, part in enumerate(parts, 1)]
