"""The body of an OpenAPI file as plain values, and the references in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeGuard
from urllib.parse import unquote

import yaml

MAX_DEPTH = 200
"""Levels of lists and mappings of YAML that are read."""

MAX_STEPS = 20
"""References that are followed from one place."""

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
    """Say whether what was read describes an API."""
    if not isinstance(read, Mapping) or not (read.get("openapi") or read.get("swagger")):
        return False
    return any(isinstance(read.get(part), Mapping) for part in ("paths", "webhooks", "components"))


def _from_yaml(text: str) -> object:
    """Return what a YAML text holds, built from libyaml's events: no objects, no limit to its length but the time.

    An alias is the very value it names, so that a short file cannot grow.
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
