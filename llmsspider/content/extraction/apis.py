"""The OpenAPI files that a page or its scripts name, and the API descriptions that they hold as
JSON; no script is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.tree import strings_of
from llmsspider.content.links import Joiner
from llmsspider.items import PageMeta

MAX_HELD = 3
"""Maximum number of APIs read from one script."""
MAX_TRIES = 20
"""Maximum number of positions in a script where a call or an API is looked for."""
_CALL_CHARS = 4_000

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
_BEGIN = re.compile(
    r"(?:(?<![\w$])[\"']?(?:spec|content|definition|swaggerDoc|data)[\"']?\s*:"
    r"|(?:(?<![\w$.=!<>])[\w$.]{1,100}|[\"']\])\s*=(?![=>])|(?:Redoc\.init|loadSpec|module\.exports)\s*[=(]|export\s+default)"
    r"\s*(?=\{)"
)
"""What stands before an API that a script holds."""
_JSON = json.JSONDecoder()


def files_in(script: str) -> list[str]:
    """Return the addresses of the OpenAPI files that a script names for the program that renders
    them, as written.

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
    """Return the addresses of the configurations that a script names (`configUrl` of Swagger UI),
    as written.
    """
    return [named[2] for named in _CONFIG.finditer(script)] if _CALL.search(script) else []


def named_in(text: str) -> list[str]:
    """Return the URLs of the OpenAPI files that a script or a separate configuration file names."""
    return files_in(text) or (urls_in(text) if text.lstrip()[:1] == "{" else [])


def urls_in(configuration: str) -> list[str]:
    """Return the addresses of the OpenAPI files that a configuration names: JSON, or an attribute.

    >>> urls_in('{"urls": [{"url": "/v3/api-docs", "name": "all"}], "oauth2RedirectUrl": "/x"}')
    ['/v3/api-docs']
    """
    return list(dict.fromkeys(named[2] for named in _URL.finditer(configuration)))


def apis_in(script: str) -> Iterator[dict[str, Any]]:
    """Yield the APIs that a script holds as JSON, `MAX_HELD` at most."""
    position = found = 0
    for _ in range(MAX_TRIES if _IS_API.search(script) else 0):
        begin = _BEGIN.search(script, position)
        if begin is None or found == MAX_HELD:
            return
        position = begin.end()
        try:
            read, end = _JSON.raw_decode(script, position)
        except (ValueError, RecursionError):
            continue
        if (api := api_of(read)) is not None:
            found += 1
            position = end
            yield api


def api_of(read: object) -> dict[str, Any] | None:
    """Return `read` if it is an API, or the API in the state of a prerendered page (Redoc); else
    None.
    """
    if not isinstance(read, dict):
        return None
    if isinstance(inner := read.get("spec"), dict) and isinstance(data := inner.get("data"), dict):
        return data
    return read if read.get("openapi") or read.get("swagger") else None


INLINE_SCRIPTS = strings_of("//script[not(@src)]/text()")
SCRIPTS_OF_FILES = strings_of("//script/@src")

# The OpenAPI files that a page names for the script that renders its API reference, or embeds in
# its

API_WORDS = (
    b"swagger", b"redoc", b"rapi-doc", b"rapidoc", b"openapi", b"elements-api", b"api-reference", b"createapireference",
)  # fmt: skip
_DOCC = re.compile(rb"var baseUrl ?= ?\"([^\"<>\s]*/)\"")
"""Where the site of DocC begins, whose pages are drawn from a file of data each."""
_SPEAKS = re.compile("swagger|redoc|rapidoc|openapi|apireference|loadspec", re.IGNORECASE)
"""Inline scripts with one of these words are searched for APIs."""
_CONFIGURED = strings_of("//*[@id='api-reference']/@data-configuration")
_NAMED = strings_of("//@spec-url | //@apidescriptionurl | //*[@id='api-reference']/@data-url")
"""The attributes that hold the URL of an OpenAPI file."""
_HOLDING = strings_of("//script[@id='api-reference'][not(@src)]/text() | //@apidescriptiondocument")
_INITIALIZER = re.compile(
    r"swagger|redoc|rapi-?doc|openapi|scalar|elements|api|spec|schema|docs?|init", re.IGNORECASE
)
"""Names of scripts that say what is drawn, rather than draw it: those are looked at first."""
_PROGRAM = re.compile(
    r"bundle|preset|standalone|web-components|[.-]min\.|swagger-ui(?:-es)?\.js|rapidoc\.js",
    re.IGNORECASE,
)
_PLACES = XPath(
    "boolean(//redoc | //rapi-doc | //elements-api | //*[@id='swagger-ui' or @id='redoc' or"
    " @id='redoc-container' or contains(concat(' ', @class, ' '), ' swagger-ui ') or"
    " contains(concat(' ', @class, ' '), ' redoc-wrap ') or contains(concat(' ', @class, ' '), '"
    " sl-elements-api ')])"
)
MAX_FILES = 10
"""Maximum number of API files read from one page."""
MAX_SCRIPTS = 3
"""Maximum number of scripts of one page that are searched for its API."""


def read_apis(meta: PageMeta, root: _Element, source: Source, joiner: Joiner) -> None:
    """Set `api_files`, `api_scripts` and `held_apis` of `meta` for a page that renders an API
    reference.
    """
    if meta.is_shell and b"data-color-scheme" in source.body:
        _read_docc(meta, source, joiner)
    if not meta.api_files and source.may_hold(*API_WORDS):
        _read_viewer(meta, root, source, joiner)


def _read_docc(meta: PageMeta, source: Source, joiner: Joiner) -> None:
    base = _DOCC.search(source.body)
    url = joiner.join(base[1].decode(source.encoding, "replace")) if base else ""
    if url and joiner.page.startswith(f"{url}documentation"):
        meta.api_files = [f"{url}data/{joiner.page[len(url) :].rstrip('/')}.json"]


def _read_viewer(meta: PageMeta, root: _Element, source: Source, joiner: Joiner) -> None:
    scripts = list(filter(_SPEAKS.search, INLINE_SCRIPTS(root)))
    named = list(map(str.strip, _NAMED(root)))
    held: list[dict[str, Any]] = []
    if source.may_hold(b"api-reference", b"elements-api"):
        named += [url for text in _CONFIGURED(root) for url in urls_in(text)]
        held += [api for text in _HOLDING(root) for api in apis_in(f"export default {text}")]
    for script in scripts:
        own = list(apis_in(script))
        held += own
        named += [] if own else files_in(script)
    meta.held_apis = list(dict.fromkeys(map(json.dumps, held)))[:MAX_HELD]
    files = joiner.on_web(named[:MAX_FILES])
    if files:
        meta.api_files = files
    elif source.may_hold(b"swagger", b"redoc", b"rapi-doc", b"elements-api") and _PLACES(root):
        meta.api_files = []
        meta.api_scripts = joiner.on_web(_settings_in(root, scripts))[:MAX_SCRIPTS]


def _settings_in(root: _Element, scripts: list[str]) -> list[str]:
    """Return the addresses of what may name the API of a viewer: configurations, then scripts."""
    found = [url for script in scripts for url in configurations_in(script)]
    names = {src: src.partition("?")[0].rpartition("/")[2] for src in SCRIPTS_OF_FILES(root)}
    files = [
        src
        for src, name in names.items()
        if name.endswith((".js", ".mjs")) and not _PROGRAM.search(name)
    ]
    return found + sorted(files, key=lambda src: not _INITIALIZER.search(names[src]))
