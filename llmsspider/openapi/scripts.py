"""What the scripts of an API reference say of the API: the files that they name, the descriptions that they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from llmsspider.openapi.literals import EndlessError, read_object

MAX_HELD = 3
"""APIs that one script may hold."""
MAX_TRIES = 20
"""Places of a script where an API may begin."""
_CALL_CHARS = 4_000
"""Characters of a call in which its file is looked for."""

_CALL = re.compile(
    r"\b(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference|RapiDoc|loadSpec)\s*\("
)
_FIRST = re.compile(r"\s*([\"'`])([^\"'`\s]{1,2000})\1")
_URL = re.compile(
    r"(?<![\w$])[\"']?(?:spec|openapi|definition|apiDescription)?-?url[\"']?\s*[:=]\s*([\"'`])([^\"'`\s]{1,2000})\1",
    re.IGNORECASE,
)
_CONFIG = re.compile(r"(?<![\w$])[\"']?configUrl[\"']?\s*:\s*([\"'`])([^\"'`\s]{1,2000})\1")
_IS_API = re.compile(r"(?<![\w$])[\"'`]?(?:openapi|swagger)\\?[\"'`]?\s*:\s*\\?[\"'`][123]\b")
"""What stands in every API, and in little else."""
_BEGIN = re.compile(
    r"(?:(?<![\w$])[\"']?(?:spec|content|definition|swaggerDoc|data)[\"']?\s*:"
    r"|(?<![\w$.=!<>])[\w$.]{1,100}\s*=(?![=>])|(?:Redoc\.init|loadSpec|module\.exports)\s*[=(]|export\s+default)"
    r"\s*(?=\{|JSON\.parse)"
)
"""What stands before an API that a script holds."""
_JSON = json.JSONDecoder()


def files_in(script: str) -> list[str]:
    """Return the addresses of the OpenAPI files that a script names for the program that renders them, as written.

    >>> files_in("ui = SwaggerUIBundle({url: 'a.json', dom_id: '#ui'}); createApiReference('#app', {url: `b.json`})")
    ['a.json', 'b.json']
    """
    found: list[str] = []
    for call in islice(_CALL.finditer(script), MAX_TRIES):
        end = call.end() + _CALL_CHARS
        first = _FIRST.match(script, call.end(), end)
        if first is not None and first[2][0] not in "#.":
            found.append(first[2])
        else:
            found += [named[2] for named in _URL.finditer(script, call.end(), end)]
    return list(dict.fromkeys(found))


def configurations_in(script: str) -> list[str]:
    """Return the addresses of the configurations that a script names (`configUrl` of Swagger UI), as written."""
    return [named[2] for named in _CONFIG.finditer(script)] if _CALL.search(script) else []


def named_in(text: str) -> list[str]:
    """Return the addresses of the OpenAPI files that a script or a configuration, a file of its own, names."""
    return files_in(text) or (urls_in(text) if text.lstrip()[:1] == "{" else [])


def holds_api(script: str) -> bool:
    """Say whether a script may hold an API."""
    return _IS_API.search(script) is not None


def urls_in(configuration: str) -> list[str]:
    """Return the addresses of the OpenAPI files that a configuration names: JSON, or an attribute.

    >>> urls_in('{"urls": [{"url": "/v3/api-docs", "name": "all"}], "oauth2RedirectUrl": "/x"}')
    ['/v3/api-docs']
    """
    return list(dict.fromkeys(named[2] for named in _URL.finditer(configuration)))


def apis_in(script: str) -> Iterator[dict[str, Any]]:
    """Yield the APIs that a script holds, as JSON or as JavaScript writes objects, `MAX_HELD` at most.

    The state of a page that was rendered before (Redoc) is one, too. What only a program could compute is None in them.
    """
    position = found = 0
    for _ in range(MAX_TRIES if holds_api(script) else 0):
        begin = _BEGIN.search(script, position)
        if begin is None or found == MAX_HELD:
            return
        position = begin.end()
        try:
            read, end = _object(script, position)
        except EndlessError:
            return
        except (ValueError, RecursionError):
            continue
        api = api_of(read)
        if api is not None:
            found, position = found + 1, end
            yield api


def api_of(read: object) -> dict[str, Any] | None:
    """Return an API, out of the state of a page that was rendered before (Redoc); None for any other value."""
    if not isinstance(read, dict):
        return None
    inner = read.get("spec")
    data = inner.get("data") if isinstance(inner, dict) else None
    if isinstance(data, dict):
        return data
    return read if read.get("openapi") or read.get("swagger") else None


def _object(script: str, position: int) -> tuple[object, int]:
    try:
        return _JSON.raw_decode(script, position)
    except (ValueError, RecursionError):
        return read_object(script, position)
