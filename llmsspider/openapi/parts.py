"""An API as several documents: what the file is, and one for each tag or operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import quote

from llmsspider.openapi.description import Description, code
from llmsspider.openapi.render import (
    Group,
    Operation,
    Room,
    groups_of,
    introduction,
    markdown_of,
    operation_blocks,
    schema_blocks,
    schemas_of,
    title_of,
)

_Key = tuple[str, Group, list[Operation]]
"""One document: what follows the address of the file, the group, and its operations."""


MAX_PARTS = 2_000
"""Documents that one file may become; one with more operations is cut by tag, one with more tags not at all."""


class Parts(NamedTuple):
    """An API as several documents: `overview` is that of the file, `parts` have what follows its address in theirs."""

    overview: str
    parts: list[tuple[str, str]]


def render_parts(api: Description, size: int, url: str, by: Literal["tag", "operation"]) -> Parts | None:
    """Return the documents of an API by tag or operation; None where there is no more than one.

    Args:
        api: the API.
        size: of its file, in bytes.
        url: of the file.
        by: what is one document.

    Raises:
        TooLargePageError: they are many times as long as the file.
    """
    groups = groups_of(api)
    sign = "&" if "?" in url else "?"
    keys = _keys(groups, by, sign)
    if by == "operation" and len(keys) > MAX_PARTS:
        return render_parts(api, size, url, "tag")
    if not 1 < len(keys) <= MAX_PARTS:
        return None
    room, parts = Room(size), []
    for key, group, operations in keys:
        parts.append((key, room.text(_part(api, group, operations, by))))
    if schemas_of(api):
        parts.append((f"{sign}part=schemas", room.text(_only_schemas(api))))
    return Parts(room.text(_overview(api, url, groups, keys)), parts)


def _keys(groups: list[Group], by: Literal["tag", "operation"], sign: str) -> list[_Key]:
    """Return what follows the address of the file for each document, and what stands in it."""
    if by == "tag":
        return [(f"{sign}tag={quote(group.name, safe='')}", group, group.operations) for group in groups]
    every = [(group, one) for group in groups for one in group.operations]
    ids = Counter(one.id for _, one in every)
    return [
        (
            f"{sign}operation={quote(one.id if one.id and ids[one.id] == 1 else one.endpoint, safe='')}",
            group,
            [one],
        )
        for group, one in every
    ]


def _overview(api: Description, url: str, groups: list[Group], keys: list[_Key]) -> Iterator[str]:
    """Yield what the API is, and its operations with links to their documents."""
    yield from introduction(api)
    documents = {(one.endpoint, group.name): key for key, group, found in keys for one in found}
    for group in groups:
        yield f"## {group.name}"
        yield markdown_of(group.description, 3)
        yield "\n".join(
            f"- [{_label(one.title)}]({url}{documents[one.endpoint, group.name]}): {code(one.endpoint)}"
            + (" (deprecated)" if one.operation.get("deprecated") is True else "")
            for one in group.operations
        )


def _label(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]")


def _part(api: Description, group: Group, operations: list[Operation], by: str) -> Iterator[str]:
    level = 1
    if by == "tag":
        level = 2
        yield f"# {title_of(api)}: {group.name}"
        yield markdown_of(group.description, 2)
    for one in operations:
        yield from operation_blocks(api, one, level, of="" if by == "tag" else f"{title_of(api)}: ")


def _only_schemas(api: Description) -> Iterator[str]:
    yield f"# {title_of(api)}: Schemas"
    yield from schema_blocks(api, 2)
