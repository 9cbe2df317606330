"""The Markdown of an API: introduction, operations by tag, schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from llmsspider.content.markdown.commonmark import code_block
from llmsspider.content.openapi.description import (
    MAX_ROWS,
    Description,
    Row,
    as_dict,
    as_json,
    as_list,
    code,
    example_of,
    meaning_of,
    rows_of,
    type_of,
)
from llmsspider.errors import TooLargePageError

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

MAX_GROWTH = 32
"""Characters of Markdown that one byte of an OpenAPI file may become: operations that share schemas repeat them."""

SMALL_CHARS = 1_000_000
"""Number of characters that is allowed whatever the size of the file."""

MAX_CHARS = 32_000_000
"""Maximum number of characters whatever the size of the file."""

_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def render(api: Description, size: int) -> str:
    """Return the document of an API whose file has `size` bytes; raises `TooLargePageError`."""
    return Room(size).text(_document(api))


class Room:
    """The size limit of all documents of one file together, in characters."""

    def __init__(self, size: int):
        self._size, self._chars = size, 0
        self._most = min(MAX_GROWTH * size + SMALL_CHARS, MAX_CHARS)

    def text(self, blocks: Iterable[str]) -> str:
        """Return a document of Markdown blocks; raises `TooLargePageError`."""
        kept: list[str] = []
        for block in blocks:
            self._chars += len(block) + 2
            if self._chars > self._most:
                raise TooLargePageError(
                    f"too-large: {self._size:,} bytes of OpenAPI became more than {self._most:,} characters"
                )
            kept.append(block)
        return "\n\n".join(block for block in kept if block) + "\n"


def title_of(api: Description) -> str:
    """Return the title of an API."""
    return _line(as_dict(api.get("info")).get("title")) or "API"


def _document(api: Description) -> Iterator[str]:
    yield from introduction(api)
    for group in groups_of(api):
        yield f"## {group.name}"
        yield markdown_of(group.description, 3)
        for one in group.operations:
            yield from operation_blocks(api, one, 3)
    if schemas_of(api):
        yield "## Schemas"
    yield from schema_blocks(api, 3)


def introduction(api: Description) -> Iterator[str]:
    """Yield the description of an API, its servers, and its authentication methods."""
    info = as_dict(api.get("info"))
    yield f"# {title_of(api)}"
    if info.get("version"):
        yield f"Version {_line(info['version'])}"
    yield _line(info.get("summary"))
    yield markdown_of(info.get("description"), 2)
    yield from _servers(api)
    yield from _security(api)


def schemas_of(api: Description) -> dict[str, Any]:
    """Return the named schemas of an API, by name."""
    return as_dict(as_dict(api.get("components")).get("schemas") or api.get("definitions"))


def schema_blocks(api: Description, level: int) -> Iterator[str]:
    """Yield the schemas of an API, each below a heading of the given level."""
    for name, schema in schemas_of(api).items():
        found = api.resolved(schema)
        yield f"{'#' * level} {_line(name)}"
        yield markdown_of(found.get("description"), level + 1)
        yield from _schema(api, schema, named=True)
        yield from _examples(api, {"schema": schema})


def _servers(api: Description) -> Iterator[str]:
    servers = [as_dict(server) for server in as_list(api.get("servers"))]
    lines = [
        f"- {code(server['url'])}{_after(': ', _line(server.get('description')))}"
        for server in servers
        if isinstance(server.get("url"), str)
    ]
    if not lines and isinstance(api.get("host"), str):
        schemes = [scheme for scheme in as_list(api.get("schemes")) if isinstance(scheme, str)] or ["https"]
        base = api.get("basePath") if isinstance(api.get("basePath"), str) else ""
        lines = [f"- {code(scheme + '://' + api['host'] + base)}" for scheme in schemes]
    if lines:
        yield "## Servers"
        yield "\n".join(lines)


def _security(api: Description) -> Iterator[str]:
    schemes = as_dict(as_dict(api.get("components")).get("securitySchemes") or api.get("securityDefinitions"))
    rows = []
    for name, given in schemes.items():
        scheme = api.resolved(given)
        how = [scheme.get(key) for key in ("type", "scheme", "in", "name")]
        shown = " ".join(part for part in how if isinstance(part, str))
        rows.append((_line(name), shown, _line(scheme.get("description"))))
    if rows:
        yield "## Authentication"
        yield _table(("Name", "Type", "Description"), rows)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its endpoint (`GET /ships`), its object in the file, and that of its path."""

    endpoint: str
    operation: dict[str, Any]
    shared: dict[str, Any]

    @property
    def id(self) -> str:
        """The `operationId`; may be empty, and is not always unique."""
        return _line(self.operation.get("operationId"))

    @property
    def title(self) -> str:
        """The text of its heading."""
        return _line(self.operation.get("summary")) or self.endpoint


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of one tag, or those without one."""

    name: str
    description: object
    operations: list[Operation]


def groups_of(api: Description) -> list[Group]:
    """Return the operations by their first tag, in the order of the tags."""
    by_tag: dict[str | None, list[Operation]] = {}
    said = {tag.get("name"): tag.get("description") for tag in map(as_dict, as_list(api.get("tags")))}
    for tag in said:
        if isinstance(tag, str):
            by_tag[tag] = []
    for path, item in (*as_dict(api.get("paths")).items(), *as_dict(api.get("webhooks")).items()):
        shared = api.resolved(item)
        for method in METHODS:
            operation = shared.get(method)
            if isinstance(operation, dict):
                tags = [tag for tag in as_list(operation.get("tags")) if isinstance(tag, str)]
                one = Operation(_line(f"{method.upper()} {path}"), operation, shared)
                by_tag.setdefault(tags[0] if tags else None, []).append(one)
    has_tags = any(tag is not None and found for tag, found in by_tag.items())
    others = "Other operations" if has_tags else "Operations"
    return [
        Group(_line(tag) or others, said.get(tag) if tag is not None else None, found)
        for tag, found in by_tag.items()
        if found
    ]


def operation_blocks(api: Description, one: Operation, level: int, *, of: str = "") -> Iterator[str]:
    """Yield an operation below a heading of a level that names what it is `of`: parameters, request body, responses."""
    operation, below = one.operation, "#" * (level + 1)
    yield f"{'#' * level} {of}{one.title}"
    yield code(one.endpoint)
    if operation.get("deprecated") is True:
        yield "**Deprecated**"
    yield markdown_of(operation.get("description") or one.shared.get("description"), level + 1)
    parameters = _parameters(api, one.shared, operation)
    shown = [parameter for parameter in parameters if parameter.get("in") not in {"body", "formData"}]
    if shown:
        yield f"{below} Parameters"
        yield _table(
            ("Name", "In", "Type", "Required", "Description"),
            [_parameter(api, parameter) for parameter in shown],
        )
    yield from _request_body(api, operation, parameters, level + 1)
    responses = as_dict(operation.get("responses"))
    if responses:
        yield f"{below} Responses"
    for status, given in responses.items():
        response = api.resolved(given)
        yield f"**{_line(status)}**{_after(' ', _line(response.get('description')))}"
        yield from _contents(api, response)


def _parameters(api: Description, *places: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of an operation; its own take the place of those of its path."""
    found: dict[tuple[object, object], dict[str, Any]] = {}
    for place in places:
        for given in as_list(place.get("parameters")):
            parameter = api.resolved(given)
            if isinstance(parameter.get("name"), str):
                found[parameter["name"], str(parameter.get("in"))] = parameter
    return list(found.values())


def _parameter(api: Description, parameter: dict[str, Any]) -> tuple[str, ...]:
    schema = parameter.get("schema", parameter)  # 2.0 has the type in the parameter itself
    meaning = meaning_of(api.resolved(schema), parameter.get("description"))
    required = "yes" if parameter.get("required") is True else "no"
    return code(parameter["name"]), _line(parameter.get("in")), type_of(api, schema), required, meaning


def _request_body(
    api: Description, operation: dict[str, Any], parameters: list[dict[str, Any]], level: int
) -> Iterator[str]:
    body = api.resolved(operation.get("requestBody"))
    fields = [parameter for parameter in parameters if parameter.get("in") == "formData"]
    for parameter in parameters:
        if parameter.get("in") == "body":
            body = {**parameter, "content": {"": {"schema": parameter.get("schema")}}}
    if body or fields:
        yield f"{'#' * level} Request body"
    yield markdown_of(body.get("description"), level + 1)
    yield from _contents(api, body)
    if fields:
        yield _table(
            ("Name", "In", "Type", "Required", "Description"), [_parameter(api, one) for one in fields]
        )


def _contents(api: Description, holder: dict[str, Any]) -> Iterator[str]:
    """Yield the content of a request body or response; media types with equal content are rendered once."""
    contents = as_dict(holder.get("content"))
    if "schema" in holder and not contents:  # 2.0
        examples = list(as_dict(holder.get("examples")).items())
        media: dict[str, Any] = {"schema": holder["schema"]}
        contents = {examples[0][0]: {**media, "example": examples[0][1]}} if examples else {"": media}
    before: list[object] = []
    for mime_type, given in contents.items():
        media = api.resolved(given)
        name = code(mime_type) if mime_type else "Type"
        schema = media.get("schema")
        yield f"{name}: {type_of(api, schema)}" if schema else name
        if schema and schema not in before:
            yield from _schema(api, schema)
            before.append(schema)
        yield from _examples(api, media)


def _schema(api: Description, schema: object, *, named: bool = False) -> Iterator[str]:
    rows = rows_of(api, schema)
    if rows:
        yield _table(("Property", "Type", "Required", "Description"), map(_property, rows[:MAX_ROWS]))
        if len(rows) > MAX_ROWS:
            yield "…"
    elif named:
        found = api.resolved(schema)
        yield f"{type_of(api, found)}{_after('. ', meaning_of({**found, 'description': None}))}"


def _property(row: Row) -> tuple[str, ...]:
    return code(row.name), row.type, "yes" if row.required else "no", row.meaning


def _examples(api: Description, media: dict[str, Any]) -> Iterator[str]:
    for name, value in example_of(api, media):
        if name:
            yield f"Example {code(name)}:"
        text = as_json(value)
        yield code_block(text, "" if isinstance(value, str) else "json")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def markdown_of(value: object, level: int) -> str:
    """Return a Markdown description with its headings shifted, so that the highest has level `level`."""
    if not isinstance(value, str) or not value.strip():
        return ""
    lines, fence, headings = value.strip().splitlines(), "", []
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence and _HEADING.match(line):
            headings.append(at)
    if headings:
        highest = min(len(_HEADING.match(lines[at])[1]) for at in headings)  # type: ignore[index]  # they matched
        by = max(level - highest, 0)
        for at in headings:
            marks, text = lines[at].split(maxsplit=1) if " " in lines[at].strip() else (lines[at].strip(), "")
            lines[at] = f"{'#' * min(len(marks) + by, 6)} {text}".rstrip()
    return "\n".join(lines)


def _line(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _after(mark: str, text: str) -> str:
    return mark + text if text else ""
