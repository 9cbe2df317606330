"""OpenAPI files (2.0, called Swagger, to 3.1; JSON or YAML) as Markdown: one document or one for
each tag or operation.

In: the body of a file. Out: Markdown, or a page with parts. The classes are content handlers
(docs/how-to/handlers.md).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from llmsspider.content import markdown
from llmsspider.content.extraction.apis import apis_in
from llmsspider.content.links import Growth
from llmsspider.content.openapi.description import (
    Description,
    NotOpenApiError,
    after,
    as_dict,
    as_list,
    code,
    contents,
    examples,
    line,
    markdown_of,
    meaning_of,
    read_description,
    schema_table,
    table,
    type_of,
)
from llmsspider.items import Page

__all__ = ["NotOpenApiError", "OpenApiByOperation", "OpenApiByTag", "OpenApiHandler"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

MAX_PARTS = 2_000
"""Maximum number of documents of one file; with more operations it is split by tag, with more tags
not at all.
"""

MAX_GROWTH = 32
"""Characters of Markdown that one byte of an OpenAPI file may become: operations that share schemas
repeat them.
"""

MAX_CHARS = 32_000_000
"""Maximum number of characters whatever the size of the file."""


class OpenApiHandler:
    """Converts an OpenAPI file to one Markdown document."""

    by: Literal["file", "tag", "operation"] = "file"

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the Markdown, or an overview with parts; raises `NotOpenApiError`, or
        `TooLargePageError`.
        """
        if "javascript" in mime_type or url.partition("?")[0].endswith((".js", ".mjs")):
            api = next(apis_in(body.decode(encoding or "utf-8-sig", "replace")), None)
            if api is None:
                raise NotOpenApiError("a script that holds no API")
            body = json.dumps(api).encode()
        api = read_description(body)
        growth = Growth(len(body), MAX_GROWTH, MAX_CHARS)
        by = self.by
        groups = _groups_of(api)
        sign = "&" if "?" in url else "?"
        documents = _documents(groups, by, sign)
        if by == "operation" and len(documents) > MAX_PARTS:
            by = "tag"
            documents = _documents(groups, "tag", sign)
        if by == "file" or not 1 < len(documents) <= MAX_PARTS:
            return _text(growth, _document(api))
        parts = [
            (suffix, _text(growth, _part(api, group, some, by)))
            for suffix, group, some in documents
        ]
        if _schemas_of(api):
            schemas = (f"# {_title_of(api)}: Schemas", *_schema_blocks(api, 2))
            parts.append((f"{sign}part=schemas", _text(growth, schemas)))
        page = markdown.read(_text(growth, _overview(api, url, groups, documents)), url)
        page.parts = [(suffix, markdown.read(text, url + suffix)) for suffix, text in parts]
        own = {url + suffix for suffix, _ in parts}
        page.follow = [link for link in page.follow if link not in own]
        return page


class OpenApiByTag(OpenApiHandler):
    """Converts an OpenAPI file to an overview and one document per tag; without several tags, to
    one document.
    """

    by = "tag"


class OpenApiByOperation(OpenApiHandler):
    """Converts an OpenAPI file to an overview and one document per operation."""

    by = "operation"


def _text(growth: Growth, blocks: Iterable[str]) -> str:
    """Return a document of Markdown blocks; raises `TooLargePageError`."""
    kept: list[str] = []
    for block in blocks:
        growth.count(len(block) + 2)
        kept.append(block)
    return "\n\n".join(filter(None, kept)) + "\n"


class _Operation(NamedTuple):
    """One operation: endpoint (`GET /ships`), `operationId`, text of its heading, its object, that
    of its path.
    """

    endpoint: str
    id: str
    title: str
    operation: dict[str, Any]
    shared: dict[str, Any]


class _Group(NamedTuple):
    """The operations of one tag, or those without one."""

    name: str
    description: object
    operations: list[_Operation]


def _groups_of(api: Description) -> list[_Group]:
    descriptions = {
        tag.get("name"): tag.get("description") for tag in map(as_dict, as_list(api.get("tags")))
    }
    by_tag: dict[str | None, list[_Operation]] = {
        tag: [] for tag in descriptions if isinstance(tag, str)
    }
    for path, item in (*as_dict(api.get("paths")).items(), *as_dict(api.get("webhooks")).items()):
        shared = api.resolved(item)
        for method in METHODS:
            if isinstance(operation := shared.get(method), dict):
                tag = next(
                    (tag for tag in as_list(operation.get("tags")) if isinstance(tag, str)), None
                )
                endpoint = line(f"{method.upper()} {path}")
                name = line(operation.get("operationId"))
                title = line(operation.get("summary")) or endpoint
                by_tag.setdefault(tag, []).append(
                    _Operation(endpoint, name, title, operation, shared)
                )
    has_tags = any(tag is not None and found for tag, found in by_tag.items())
    others = "Other operations" if has_tags else "Operations"
    groups = ((tag, found) for tag, found in by_tag.items() if found)
    return [
        _Group(line(tag) or others, tag and descriptions.get(tag), found) for tag, found in groups
    ]


_Document = tuple[str, _Group, list[_Operation]]
"""One of several documents: the suffix to the URL of the file, the group, and the operations."""


def _documents(groups: list[_Group], by: str, sign: str) -> list[_Document]:
    if by == "tag":
        return [
            (f"{sign}tag={quote(group.name, safe='')}", group, group.operations) for group in groups
        ]
    ids = Counter(one.id for group in groups for one in group.operations)
    documents = []
    for group in groups:
        for one in group.operations:
            name = one.id if one.id and ids[one.id] == 1 else one.endpoint
            documents.append((f"{sign}operation={quote(name, safe='')}", group, [one]))
    return documents


def _document(api: Description) -> Iterator[str]:
    yield from _introduction(api)
    for group in _groups_of(api):
        yield f"## {group.name}"
        yield markdown_of(group.description, 3)
        for one in group.operations:
            yield from _operation_blocks(api, one, 3)
    if _schemas_of(api):
        yield "## Schemas"
    yield from _schema_blocks(api, 3)


def _overview(
    api: Description, url: str, groups: list[_Group], documents: list[_Document]
) -> Iterator[str]:
    yield from _introduction(api)
    suffixes = {
        (one.endpoint, group.name): suffix for suffix, group, some in documents for one in some
    }
    for group in groups:
        yield f"## {group.name}"
        yield markdown_of(group.description, 3)
        lines = []
        for one in group.operations:
            label = one.title.replace("[", "\\[").replace("]", "\\]")
            deprecated = " (deprecated)" if one.operation.get("deprecated") is True else ""
            target = f"{url}{suffixes[one.endpoint, group.name]}"
            lines.append(f"- [{label}]({target}): {code(one.endpoint)}{deprecated}")
        yield "\n".join(lines)


def _part(api: Description, group: _Group, operations: list[_Operation], by: str) -> Iterator[str]:
    if by == "tag":
        yield f"# {_title_of(api)}: {group.name}"
        yield markdown_of(group.description, 2)
    level, of = (2, "") if by == "tag" else (1, f"{_title_of(api)}: ")
    for one in operations:
        yield from _operation_blocks(api, one, level, of=of)


def _title_of(api: Description) -> str:
    return line(as_dict(api.get("info")).get("title")) or "API"


def _introduction(api: Description) -> Iterator[str]:
    info = as_dict(api.get("info"))
    yield f"# {_title_of(api)}"
    if info.get("version"):
        yield f"Version {line(info['version'])}"
    yield line(info.get("summary"))
    yield markdown_of(info.get("description"), 2)
    if servers := list(_servers(api)):
        yield "## Servers"
        yield "\n".join(servers)
    schemes = as_dict(
        as_dict(api.get("components")).get("securitySchemes") or api.get("securityDefinitions")
    )
    rows = []
    for name, scheme in ((name, api.resolved(given)) for name, given in schemes.items()):
        how = [scheme.get(key) for key in ("type", "scheme", "in", "name")]
        shown = " ".join(part for part in how if isinstance(part, str))
        rows.append((line(name), shown, line(scheme.get("description"))))
    if rows:
        yield "## Authentication"
        yield table(("Name", "Type", "Description"), rows)


def _servers(api: Description) -> Iterator[str]:
    servers = map(as_dict, as_list(api.get("servers")))
    if named := [server for server in servers if isinstance(server.get("url"), str)]:
        for server in named:
            yield f"- {code(server['url'])}{after(': ', line(server.get('description')))}"
    elif isinstance(api.get("host"), str):  # 2.0
        base = api.get("basePath") if isinstance(api.get("basePath"), str) else ""
        for scheme in [one for one in as_list(api.get("schemes")) if isinstance(one, str)] or [
            "https"
        ]:
            yield f"- {code(scheme + '://' + api['host'] + base)}"


def _schemas_of(api: Description) -> dict[str, Any]:
    return as_dict(as_dict(api.get("components")).get("schemas") or api.get("definitions"))


def _schema_blocks(api: Description, level: int) -> Iterator[str]:
    for name, schema in _schemas_of(api).items():
        found = api.resolved(schema)
        yield f"{'#' * level} {line(name)}"
        yield markdown_of(found.get("description"), level + 1)
        if blocks := schema_table(api, schema):
            yield from blocks
        else:
            yield f"{type_of(found)}{after('. ', meaning_of({**found, 'description': None}))}"
        yield from examples(api, {"schema": schema})


def _operation_blocks(
    api: Description, one: _Operation, level: int, *, of: str = ""
) -> Iterator[str]:
    """Yield an operation below a heading of a level that names what it is `of`: parameters, request
    body, responses.
    """
    operation = one.operation
    below = "#" * (level + 1)
    yield f"{'#' * level} {of}{one.title}"
    yield code(one.endpoint)
    if operation.get("deprecated") is True:
        yield "**Deprecated**"
    yield markdown_of(operation.get("description") or one.shared.get("description"), level + 1)
    parameters = {}
    for given in (*as_list(one.shared.get("parameters")), *as_list(operation.get("parameters"))):
        parameter = api.resolved(given)  # one of the operation takes the place of that of its path
        if isinstance(parameter.get("name"), str):
            parameters[parameter["name"], str(parameter.get("in"))] = parameter
    body = api.resolved(operation.get("requestBody"))
    shown = []
    fields = []
    for parameter in parameters.values():
        match parameter.get("in"):
            case "body":  # 2.0
                body = {**parameter, "content": {"": {"schema": parameter.get("schema")}}}
            case "formData":
                fields.append(parameter)
            case _:
                shown.append(parameter)
    if shown:
        yield f"{below} Parameters"
        yield _parameter_table(api, shown)
    if body or fields:
        yield f"{below} Request body"
    yield markdown_of(body.get("description"), level + 2)
    yield from contents(api, body)
    if fields:
        yield _parameter_table(api, fields)
    if responses := as_dict(operation.get("responses")):
        yield f"{below} Responses"
    for status, given in responses.items():
        response = api.resolved(given)
        yield f"**{line(status)}**{after(' ', line(response.get('description')))}"
        yield from contents(api, response)


def _parameter_table(api: Description, parameters: list[dict[str, Any]]) -> str:
    rows = []
    for one in parameters:
        schema = one.get("schema", one)  # 2.0 has the type in the parameter itself
        meaning = meaning_of(api.resolved(schema), one.get("description"))
        required = "yes" if one.get("required") is True else "no"
        rows.append((code(one["name"]), line(one.get("in")), type_of(schema), required, meaning))
    return table(("Name", "In", "Type", "Required", "Description"), rows)
