"""Schemas of an API: what a value is called, and the rows of the tables that tell its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from llmsspider.openapi.reading import Description

MAX_ROWS = 300
"""Properties of one schema that are told."""

INLINE_LEVELS = 3
"""Levels of objects without a name that are told as `a.b.c`; what has a name is told once, under it."""

MAX_EXAMPLE_NODES = 2_000
"""Values of one example that are told."""

_BOUNDS = (
    ("default", "Default"),
    ("minimum", "Minimum"),
    ("maximum", "Maximum"),
    ("minLength", "Minimum length"),
    ("maxLength", "Maximum length"),
    ("pattern", "Pattern"),
    ("example", "Example"),
)


class Row(NamedTuple):
    """One property: its name (`a.b` inside another), type, whether it has to be given, and what it means."""

    name: str
    type: str
    required: bool
    meaning: str


def type_of(api: Description, schema: object, depth: int = 0) -> str:
    """Return the type of a schema in words.

    >>> type_of(Description(), {"type": "array", "items": {"$ref": "#/components/schemas/Ship"}})
    'array of Ship'
    >>> type_of(Description(), {"type": ["string", "null"], "format": "date"})
    'string (date) or null'
    """
    if not isinstance(schema, dict) or depth > INLINE_LEVELS:
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.rpartition("/")[2]
    for word in ("oneOf", "anyOf"):
        if isinstance(schema.get(word), list):
            return " or ".join(dict.fromkeys(type_of(api, part, depth + 1) for part in schema[word]))
    if isinstance(schema.get("allOf"), list):
        parts = [type_of(api, part, depth + 1) for part in schema["allOf"]]
        return " and ".join(dict.fromkeys(parts)) or "object"
    kinds = schema.get("type")
    words = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind]
    if not words:
        words = ["object" if "properties" in schema else "any"]
    if words[0] == "array":
        words[0] = f"array of {type_of(api, schema.get('items'), depth + 1)}"
    elif isinstance(schema.get("format"), str):
        words[0] += f" ({schema['format']})"
    if schema.get("nullable") is True:
        words.append("null")
    return " or ".join(words)


def meaning_of(schema: object, description: object = None) -> str:
    """Return what a schema says besides its type: description, values, bounds."""
    schema = schema if isinstance(schema, dict) else {}
    said = description if isinstance(description, str) and description else schema.get("description")
    parts = [said.strip()] if isinstance(said, str) and said.strip() else []
    if schema.get("deprecated") is True:
        parts.insert(0, "Deprecated.")
    values = schema.get("enum")
    if isinstance(values, list) and values:
        more = ", …" if len(values) > MAX_ROWS else ""
        parts.append(f"One of {', '.join(code(value) for value in values[:MAX_ROWS])}{more}.")
    parts += [
        f"{word}: {code(schema[name])}."
        for name, word in _BOUNDS
        if name in schema and not isinstance(schema[name], dict | list)
    ]
    return (
        " ".join(part if part[-1] in ".!?:" else f"{part}." for part in parts)
        if parts[1:]
        else "".join(parts)
    )


def rows_of(api: Description, schema: object) -> list[Row]:
    """Return the properties of a schema, or of the items of an array; one more than `MAX_ROWS` where there are more."""
    rows: list[Row] = []
    for row in _rows(api, schema, "", 0):
        rows.append(row)
        if len(rows) > MAX_ROWS:
            break
    return rows


def _rows(api: Description, schema: object, prefix: str, depth: int) -> Iterator[Row]:
    found = api.resolved(schema)
    while found.get("type") == "array" and depth <= INLINE_LEVELS:
        found, depth = api.resolved(found.get("items")), depth + 1
    required: set[str] = set()
    for name, part in _properties(api, found, required, []):
        yield Row(prefix + name, type_of(api, part), name in required, meaning_of(part))
        is_inline = isinstance(part, dict) and "$ref" not in part and "$ref" not in (part.get("items") or {})
        if is_inline and depth < INLINE_LEVELS:
            yield from _rows(api, part, f"{prefix}{name}.", depth + 1)


def _properties(
    api: Description, schema: dict[str, Any], required: set[str], seen: list[int]
) -> Iterator[tuple[str, object]]:
    """Yield the properties of a schema and of those it is made of; `required` is filled on the way."""
    if id(schema) in seen or len(seen) > MAX_ROWS:
        return
    seen.append(id(schema))
    if isinstance(schema.get("required"), list):
        required.update(name for name in schema["required"] if isinstance(name, str))
    parts = [part for word in ("allOf", "oneOf", "anyOf") for part in _list(schema.get(word))]
    for part in parts:
        yield from _properties(api, api.resolved(part), required, seen)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield from properties.items()


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def example_of(api: Description, media: dict[str, Any]) -> list[tuple[str, object]]:
    """Return the examples of a media type (or of its schema), each with its name, empty where there is one without."""
    if "example" in media:
        return [("", media["example"])]
    named = media.get("examples")
    if isinstance(named, dict) and named:
        values = ((name, api.resolved(value)) for name, value in named.items())
        return [(name, value["value"]) for name, value in values if "value" in value]
    schema = api.resolved(media.get("schema"))
    if "example" in schema:
        return [("", schema["example"])]
    examples = _list(schema.get("examples"))
    return [("", examples[0])] if examples else []


def as_json(value: object) -> str:
    """Return an example as indented JSON, or as it is where it is text; what is long is cut."""
    if isinstance(value, str):
        return value
    return json.dumps(_cut(value, [MAX_EXAMPLE_NODES], 0), indent=2, ensure_ascii=False, default=str)


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
    text = (
        value if isinstance(value, str) else json.dumps(_cut(value, [50], 0), ensure_ascii=False, default=str)
    )
    text = " ".join(text.split()) or '""'
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}"
