"""The body of an OpenAPI file as plain values: references, schemas, and the rows that describe their parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import unquote

import yaml

# --- the body of an OpenAPI file as plain values, and the references in it ---

MAX_DEPTH = 200
"""Maximum depth of nested lists and mappings in YAML."""

MAX_STEPS = 20
"""Maximum number of references that are followed from one place."""

_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})\Z")
_NUMBER = re.compile(r"[-+]?(?:\d{1,17}\.\d{0,17}|\.\d{1,17})(?:[eE][-+]?\d{1,3})?\Z")
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}


class NotOpenApiError(ValueError):
    """The body describes no API."""


class Description(dict[str, Any]):
    """An API as its file describes it."""

    def resolved(self, value: object) -> dict[str, Any]:
        """Return the object that `value` is or refers to inside the file; empty where there is none.

        >>> Description({"a": {"b": {"type": "string"}}}).resolved({"$ref": "#/a/b"})
        {'type': 'string'}
        """
        for _step in range(MAX_STEPS):
            if not isinstance(value, dict):
                return {}
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self._at(reference)
        return {}

    def _at(self, reference: str) -> object:
        place: object = self
        if not reference.startswith("#/"):
            return None
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if not isinstance(place, dict):
                return None
            place = place.get(name)
        return place


def read_description(body: bytes) -> Description:
    """Return the API that a JSON or YAML body describes; raises `NotOpenApiError`."""
    text = body.decode("utf-8-sig", "replace")
    try:
        read = json.loads(text) if text.lstrip()[:1] == "{" else _from_yaml(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        message = str(error).partition("\n")[0]
        raise NotOpenApiError(f"neither JSON nor YAML that can be read: {message}") from None
    if not is_description(read):
        raise NotOpenApiError("it says neither `openapi` nor `swagger`, or has no paths")
    return Description(read)


def is_description(read: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether what was read describes an API."""
    if not isinstance(read, Mapping) or not (read.get("openapi") or read.get("swagger")):
        return False
    return any(isinstance(read.get(part), Mapping) for part in ("paths", "webhooks", "components"))


def _from_yaml(text: str) -> object:
    """Return what a YAML text holds as dictionaries, lists and scalars, read by libyaml where that is installed.

    An alias is the same object as its anchor, so that a short file cannot expand in memory. Tags make no objects.

    Raises:
        NotOpenApiError: more than `MAX_DEPTH` levels.
        yaml.YAMLError: it is not YAML.
    """
    open_: list[list[object]] = []
    is_mapping: list[bool] = []
    anchors: dict[str, object] = {}
    names: list[str | None] = []
    root: object = None
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_) >= MAX_DEPTH:
                raise NotOpenApiError(f"more than {MAX_DEPTH} levels")
            open_.append([])
            is_mapping.append(isinstance(event, yaml.MappingStartEvent))
            names.append(event.anchor)
            continue
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            parts, anchor = open_.pop(), names.pop()
            value: object = _mapping(parts) if is_mapping.pop() else parts
        elif isinstance(event, yaml.ScalarEvent):
            value, anchor = _scalar(event), event.anchor
        elif isinstance(event, yaml.AliasEvent):
            value, anchor = anchors.get(event.anchor or ""), None
        else:
            continue
        if anchor:
            anchors[anchor] = value
        if open_:
            open_[-1].append(value)
        else:
            root = value
    return root


def _mapping(parts: list[object]) -> dict[str, object]:
    pairs = zip(parts[::2], parts[1::2], strict=False)
    return {_key(key): value for key, value in pairs}


def _key(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str)


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
"""Maximum levels of objects without a name, rendered as `a.b.c`; what has a name is rendered once, under it."""

MAX_EXAMPLE_NODES = 2_000
"""Maximum number of values of one example that are rendered."""

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
    """One property: its name (`a.b` if nested), type, whether it is required, and its description."""

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
    """Return the description of a schema with its allowed values and bounds."""
    schema = as_dict(schema)
    text = description if isinstance(description, str) and description else schema.get("description")
    parts = [text.strip()] if isinstance(text, str) and text.strip() else []
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
    """Return the properties of a schema, or of the items of an array: at most `MAX_ROWS` + 1, so that a cut is seen."""
    return list(islice(_rows(api, schema, "", 0), MAX_ROWS + 1))


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
    """Yield the properties of a schema and of those it is composed of; adds required names to `required`."""
    if id(schema) in seen or len(seen) > MAX_ROWS:
        return
    seen.append(id(schema))
    if isinstance(schema.get("required"), list):
        required.update(name for name in schema["required"] if isinstance(name, str))
    parts = [part for word in ("allOf", "oneOf", "anyOf") for part in as_list(schema.get(word))]
    for part in parts:
        yield from _properties(api, api.resolved(part), required, seen)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield from properties.items()


def as_list(value: object) -> list[Any]:
    """Return a list as it is, and an empty one for another value."""
    return value if isinstance(value, list) else []


def as_dict(value: object) -> dict[str, Any]:
    """Return an object as it is, and an empty one for another value."""
    return value if isinstance(value, dict) else {}


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
    examples = as_list(schema.get("examples"))
    return [("", examples[0])] if examples else []


def as_json(value: object) -> str:
    """Return an example as indented JSON, or unchanged if it is a string; truncated if long."""
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
