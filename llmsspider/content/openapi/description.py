"""The body of an OpenAPI file as plain values, its references, and the Markdown of its schemas and
examples.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote

import yaml

from llmsspider.content.markdown.commonmark import code_block

MAX_DEPTH = 200  # maximum depth of nested lists and mappings in YAML
MAX_STEPS = 20  # maximum number of references that are followed from one place

_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})\Z")
_NUMBER = re.compile(r"[-+]?(?:\d{1,17}\.\d{0,17}|\.\d{1,17})(?:[eE][-+]?\d{1,3})?\Z")
_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}


class NotOpenApiError(ValueError):
    """The body describes no API."""


class Description(dict[str, Any]):
    """An API as its file describes it."""

    def resolved(self, value: object) -> dict[str, Any]:
        """Return the object that `value` is or refers to inside the file; empty where there is
        none.

        >>> Description({"a": {"b": {"type": "string"}}}).resolved({"$ref": "#/a/b"})
        {'type': 'string'}
        """
        for _ in range(MAX_STEPS):
            if not isinstance(value, dict):
                return {}
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self if reference.startswith("#/") else None
            for part in reference[2:].split("/"):
                name = unquote(part).replace("~1", "/").replace("~0", "~")
                value = value.get(name) if isinstance(value, dict) else None
        return {}


def read_description(body: bytes) -> Description:
    """Return the API that a JSON or YAML body describes; raises `NotOpenApiError`."""
    text = body.decode("utf-8-sig", "replace")
    try:
        read = json.loads(text) if text.lstrip()[:1] == "{" else _from_yaml(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        message = str(error).partition("\n")[0]
        raise NotOpenApiError(f"neither JSON nor YAML that can be read: {message}") from None
    api = Description(as_dict(read))
    has_parts = any(isinstance(api.get(part), dict) for part in ("paths", "webhooks", "components"))
    if not has_parts or not (api.get("openapi") or api.get("swagger")):
        raise NotOpenApiError("it says neither `openapi` nor `swagger`, or has no paths")
    return api


def _from_yaml(text: str) -> object:
    """Return what a YAML text holds as plain values; an alias is the object of its anchor: nothing
    can expand.
    """
    opened: list[tuple[yaml.CollectionStartEvent, list[object]]] = []
    anchors: dict[str, object] = {}
    root: object = None
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.CollectionStartEvent):
            if len(opened) >= MAX_DEPTH:
                raise NotOpenApiError(f"more than {MAX_DEPTH} levels")
            opened.append((event, []))
            continue
        anchor = getattr(event, "anchor", None)
        value: object
        match event:
            case yaml.CollectionEndEvent():
                start, parts = opened.pop()
                anchor = start.anchor
                value = _mapping(parts) if isinstance(start, yaml.MappingStartEvent) else parts
            case yaml.ScalarEvent():
                value = _scalar(event)
            case yaml.AliasEvent():
                value = anchors.get(anchor or "")
            case _:
                continue
        if anchor:
            anchors[anchor] = value
        if opened:
            opened[-1][1].append(value)
        else:
            root = value
    return root


def _mapping(parts: list[object]) -> dict[str, object]:
    """Return a mapping of keys and values in turn, a key that is no text as JSON."""
    keys = (key if isinstance(key, str) else json.dumps(key, default=str) for key in parts[::2])
    return dict(zip(keys, parts[1::2], strict=False))


def _scalar(event: yaml.ScalarEvent) -> object:
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _NUMBER.match(text) else text


# Schemas of an API: what a value is called, and the rows of the tables that describe its parts.

MAX_ROWS = 300
"""Maximum number of properties of one schema that are rendered."""

INLINE_LEVELS = 3
"""Maximum levels of objects without a name, rendered as `a.b.c`; what has a name is rendered once,
under it.
"""

MAX_EXAMPLE_NODES = 2_000
"""Maximum number of values of one example that are rendered."""

_BOUNDS = {"default": "Default", "minimum": "Minimum", "maximum": "Maximum", "minLength": "Minimum length",
           "maxLength": "Maximum length", "pattern": "Pattern", "example": "Example"}  # fmt: skip


def type_of(schema: object, depth: int = 0) -> str:
    """Return the type of a schema in words.

    >>> type_of({"type": "array", "items": {"$ref": "#/components/schemas/Ship"}})
    'array of Ship'
    >>> type_of({"type": ["string", "null"], "format": "date"})
    'string (date) or null'
    """
    if not isinstance(schema, dict) or depth > INLINE_LEVELS:
        return "any"
    if isinstance(reference := schema.get("$ref"), str):
        return reference.rpartition("/")[2]
    for word, join in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        if isinstance(parts := schema.get(word), list):
            types = join.join(dict.fromkeys(type_of(part, depth + 1) for part in parts))
            return types or ("object" if word == "allOf" else "")
    kinds = schema.get("type") or ("object" if "properties" in schema else "any")
    words = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind] or [
        "any"
    ]
    if words[0] == "array":
        words[0] = f"array of {type_of(schema.get('items'), depth + 1)}"
    elif isinstance(schema.get("format"), str):
        words[0] += f" ({schema['format']})"
    return " or ".join([*words, "null"] if schema.get("nullable") is True else words)


def meaning_of(schema: object, description: object = None) -> str:
    """Return the description of a schema with its allowed values and bounds."""
    schema = as_dict(schema)
    text = (
        description if isinstance(description, str) and description else schema.get("description")
    )
    parts = [text.strip()] if isinstance(text, str) and text.strip() else []
    if schema.get("deprecated") is True:
        parts.insert(0, "Deprecated.")
    if values := as_list(schema.get("enum")):
        more = ", …" if len(values) > MAX_ROWS else ""
        parts.append(f"One of {', '.join(map(code, values[:MAX_ROWS]))}{more}.")
    bounds = ((word, schema[name]) for name, word in _BOUNDS.items() if name in schema)
    parts += [
        f"{word}: {code(value)}." for word, value in bounds if not isinstance(value, dict | list)
    ]
    if len(parts) < 2:
        return "".join(parts)
    return " ".join(part if part[-1] in ".!?:" else f"{part}." for part in parts)


def schema_table(api: Description, schema: object) -> list[str]:
    """Return the blocks of the properties of a schema, or of the items of an array; none where it
    has none.
    """
    rows = list(islice(_rows(api, schema, "", 0), MAX_ROWS + 1))
    blocks = [table(("Property", "Type", "Required", "Description"), rows[:MAX_ROWS]), "…"]
    return blocks if len(rows) > MAX_ROWS else blocks[: bool(rows)]


def _rows(api: Description, schema: object, prefix: str, depth: int) -> Iterator[tuple[str, ...]]:
    found = api.resolved(schema)
    while found.get("type") == "array" and depth <= INLINE_LEVELS:
        found = api.resolved(found.get("items"))
        depth = depth + 1
    required: set[str] = set()
    for name, part in _properties(api, found, required, []):
        yield (
            code(prefix + name),
            type_of(part),
            "yes" if name in required else "no",
            meaning_of(part),
        )
        is_inline = (
            isinstance(part, dict)
            and "$ref" not in part
            and "$ref" not in (part.get("items") or {})
        )
        if is_inline and depth < INLINE_LEVELS:
            yield from _rows(api, part, f"{prefix}{name}.", depth + 1)


def _properties(
    api: Description, schema: dict[str, Any], required: set[str], seen: list[int]
) -> Iterator[tuple[str, object]]:
    """Yield the properties of a schema and of those it is composed of; adds required names to
    `required`.
    """
    if id(schema) in seen or len(seen) > MAX_ROWS:
        return
    seen.append(id(schema))
    required.update(name for name in as_list(schema.get("required")) if isinstance(name, str))
    for word in ("allOf", "oneOf", "anyOf"):
        for part in as_list(schema.get(word)):
            yield from _properties(api, api.resolved(part), required, seen)
    yield from as_dict(schema.get("properties")).items()


def as_list(value: object) -> list[Any]:
    """Return a list as it is, and an empty one for another value."""
    return value if isinstance(value, list) else []


def as_dict(value: object) -> dict[str, Any]:
    """Return an object as it is, and an empty one for another value."""
    return value if isinstance(value, dict) else {}


def contents(api: Description, holder: dict[str, Any]) -> Iterator[str]:
    """Yield the content of a request body or response; media types with equal content are rendered
    once.
    """
    by_type = as_dict(holder.get("content"))
    if "schema" in holder and not by_type:  # 2.0
        named = list(as_dict(holder.get("examples")).items())
        media: dict[str, Any] = {"schema": holder["schema"]}
        by_type = {named[0][0]: {**media, "example": named[0][1]}} if named else {"": media}
    before: list[object] = []
    for mime_type, given in by_type.items():
        media = api.resolved(given)
        name = code(mime_type) if mime_type else "Type"
        schema = media.get("schema")
        yield f"{name}: {type_of(schema)}" if schema else name
        if schema and schema not in before:
            yield from schema_table(api, schema)
            before.append(schema)
        yield from examples(api, media)


def examples(api: Description, media: dict[str, Any]) -> Iterator[str]:
    """Yield the examples of a media type, or else the one of its schema, each below its name if it
    has one.
    """
    for name, value in _examples_of(api, media):
        if name:
            yield f"Example {code(name)}:"
        if isinstance(value, str):
            yield code_block(value)
        else:
            yield code_block(_json(value, MAX_EXAMPLE_NODES, indent=2), "json")


def _examples_of(api: Description, media: dict[str, Any]) -> list[tuple[str, object]]:
    if "example" in media:
        return [("", media["example"])]
    if named := as_dict(media.get("examples")):
        values = ((name, api.resolved(value)) for name, value in named.items())
        return [(name, value["value"]) for name, value in values if "value" in value]
    schema = api.resolved(media.get("schema"))
    if "example" in schema:
        return [("", schema["example"])]
    return [("", value) for value in as_list(schema.get("examples"))[:1]]


def _json(value: object, most_nodes: int, indent: int | None = None) -> str:
    return json.dumps(_cut(value, [most_nodes], 0), indent=indent, ensure_ascii=False, default=str)


def _cut(value: object, left: list[int], depth: int) -> object:
    left[0] -= 1
    if left[0] < 0 or depth > 30:
        return "…"
    if isinstance(value, dict):
        return {name: _cut(part, left, depth + 1) for name, part in value.items() if left[0] > 0}
    if isinstance(value, list):
        return [_cut(part, left, depth + 1) for part in value if left[0] > 0]
    return value


def code(value: object) -> str:
    """Return a value as a code span.

    >>> code(True), code("a`b")
    ('`true`', '``a`b``')
    """
    text = " ".join((value if isinstance(value, str) else _json(value, 50)).split()) or '""'
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table, each cell on one line."""
    lines = [head, ("---",) * len(head), *rows]
    cells = ((" ".join(text.split()).replace("|", "\\|") for text in row) for row in lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def markdown_of(value: object, level: int) -> str:
    """Return a Markdown description with its headings shifted, so that the highest has level
    `level`.
    """
    lines = value.strip().splitlines() if isinstance(value, str) else []
    fence = ""
    headings = {}
    for at, text in enumerate(lines):
        mark = _FENCE.match(text)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(text)):
            headings[at] = len(heading[1])
    by = max(level - min(headings.values(), default=level), 0)
    for at, marks in headings.items():
        lines[at] = f"{'#' * min(marks + by, 6)} {lines[at][marks:].strip()}".rstrip()
    return "\n".join(lines)


def line(value: object) -> str:
    """Return a text or number on one line; empty for any other value."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def after(mark: str, text: str) -> str:
    """Return a text with a mark before it; empty where the text is."""
    return mark + text if text else ""
