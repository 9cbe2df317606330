"""OpenAPI files (2.0, called Swagger, to 3.1; JSON or YAML) as Markdown: one document or one for each tag or operation.

In: the body of a file. Out: Markdown, or a page with parts. The classes are content handlers (docs/how-to/handlers.md).

    scripts        references to APIs, and API descriptions, in the scripts of a page
    description    a file as plain values, and its references
    render         its Markdown
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from llmsspider.content import markdown
from llmsspider.content.openapi.description import Description, NotOpenApiError, code, read_description
from llmsspider.content.openapi.render import (
    Group,
    Operation,
    Room,
    groups_of,
    introduction,
    markdown_of,
    operation_blocks,
    render,
    schema_blocks,
    schemas_of,
    title_of,
)
from llmsspider.content.openapi.scripts import apis_in

if TYPE_CHECKING:
    from llmsspider.items import Page


__all__ = [
    "NotOpenApiError",
    "OpenApiByOperation",
    "OpenApiByTag",
    "OpenApiHandler",
    "read_description",
    "render",
]


class OpenApiHandler:
    """Converts an OpenAPI file to one Markdown document."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; if the body is a script, that of the API description in it.

        Raises:
            NotOpenApiError: the body describes no API.
            TooLargePageError: the Markdown is many times as long as the body.
        """
        if "javascript" in mime_type or url.partition("?")[0].endswith((".js", ".mjs")):
            api = next(apis_in(body.decode(encoding or "utf-8-sig", "replace")), None)
            if api is None:
                raise NotOpenApiError("a script that holds no API")
            body = json.dumps(api).encode()
        return render(read_description(body), len(body))


class OpenApiByTag:
    """Converts an OpenAPI file to an overview and one document per tag; without several tags, to one document."""

    by: Literal["tag", "operation"] = "tag"

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the overview with its parts, or the Markdown of the whole file. Raises as `OpenApiHandler.read`."""
        api = read_description(body)
        documents = render_parts(api, len(body), url, self.by)
        if documents is None:
            return render(api, len(body))
        page = markdown.read(documents.overview, url)
        page.parts = [(after, markdown.read(text, url + after)) for after, text in documents.parts]
        own = {url + after for after, _ in page.parts}
        page.follow = [link for link in page.follow if link not in own]
        return page


class OpenApiByOperation(OpenApiByTag):
    """Converts an OpenAPI file to an overview and one document per operation."""

    by = "operation"


_Key = tuple[str, Group, list[Operation]]
"""One document: the suffix to the URL of the file, the group, and the operations."""


MAX_PARTS = 2_000
"""Maximum number of documents of one file; with more operations it is split by tag, with more tags not at all."""


class Parts(NamedTuple):
    """An API as several documents: the `overview`, at the URL of the file, and `parts`, each with its URL suffix."""

    overview: str
    parts: list[tuple[str, str]]


def render_parts(api: Description, size: int, url: str, by: Literal["tag", "operation"]) -> Parts | None:
    """Return the documents of an API by tag or operation; None where there is no more than one.

    Args:
        api: the API.
        size: size of its file, in bytes.
        url: URL of the file.
        by: what is one document.

    Raises:
        TooLargePageError: the documents are many times as long as the file.
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
    """Return the documents to write: suffix to the URL of the file, group, and operations of each."""
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
    """Yield the blocks of the overview: the introduction, and the operations with links to their documents."""
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
