"""The OpenAPI files that a page names for the script that renders its API reference, or embeds in its scripts."""

from __future__ import annotations

import json
import re
from types import ModuleType

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import Source
from llmsspider.items import PageMeta
from llmsspider.web.url_gate import HTTP, Joiner

_WORDS = (
    b"swagger",
    b"redoc",
    b"rapi-doc",
    b"rapidoc",
    b"openapi",
    b"elements-api",
    b"api-reference",
    b"createapireference",
)
_DRAWING = (b"swagger", b"redoc", b"rapi-doc", b"elements-api")
"""Those of them that are in pages with an element for a script to render an API reference in."""
_HOLDERS = (b"api-reference", b"elements-api")
"""Those of them that name elements with an API, or the URL of one, inside."""
_SPEAKS = re.compile(r"swagger|redoc|rapidoc|openapi|apireference|loadspec", re.IGNORECASE)
"""Matches the inline scripts that are searched for APIs."""
_CONFIGURED = XPath("//*[@id='api-reference']/@data-configuration", smart_strings=False)
_NAMED = (
    (b"spec-url", XPath("//@spec-url", smart_strings=False)),
    (b"apidescriptionurl", XPath("//@apidescriptionurl", smart_strings=False)),
    (b"api-reference", XPath("//*[@id='api-reference']/@data-url", smart_strings=False)),
)
"""The attributes that hold the URL of an OpenAPI file, each with the byte string by which pages have it."""
_INLINE_SCRIPTS = XPath("//script[not(@src)]/text()", smart_strings=False)
_SCRIPTS_OF_FILES = XPath("//script/@src", smart_strings=False)
_HOLDING = XPath(
    "//script[@id='api-reference'][not(@src)]/text() | //@apidescriptiondocument", smart_strings=False
)
_INITIALIZER = re.compile(
    r"swagger|redoc|rapi-?doc|openapi|scalar|elements|api|spec|schema|docs?|init", re.IGNORECASE
)
"""Names of scripts that say what is drawn, rather than draw it."""
_PROGRAM = re.compile(
    r"bundle|preset|standalone|web-components|[.-]min\.|swagger-ui(?:-es)?\.js|rapidoc\.js", re.IGNORECASE
)
_PLACES = XPath(
    "boolean(//redoc | //rapi-doc | //elements-api | //*[@id='swagger-ui' or @id='redoc' or @id='redoc-container'"
    " or contains(concat(' ', @class, ' '), ' swagger-ui ') or contains(concat(' ', @class, ' '), ' redoc-wrap ')"
    " or contains(concat(' ', @class, ' '), ' sl-elements-api ')])",
    smart_strings=False,
)

MAX_HELD = 3
"""Maximum number of APIs read from the scripts of one page."""
MAX_FILES = 10
"""Maximum number of API files read from one page."""
MAX_SCRIPTS = 3
"""Maximum number of scripts of one page that are searched for its API."""


def read_apis(meta: PageMeta, root: _Element, source: Source, joiner: Joiner) -> None:
    """Set `api_files`, `api_scripts` and `held_apis` of `meta` for a page that renders an API reference."""
    if not source.may_hold(*_WORDS):
        return
    inline = [script for script in _INLINE_SCRIPTS(root) if _SPEAKS.search(script)]
    named = [url.strip() for mark, path in _NAMED if source.may_hold(mark) for url in path(root)]
    is_drawn = source.may_hold(*_DRAWING) and _PLACES(root)
    may_hold = source.may_hold(*_HOLDERS)
    if not (inline or named or is_drawn or may_hold):
        return
    from llmsspider.content.openapi import scripts  # noqa: PLC0415  # few pages are API references

    named += [url for text in _CONFIGURED(root) for url in scripts.urls_in(text)] if may_hold else []
    named += [url for script in inline for url in scripts.files_in(script)]
    holding = _HOLDING(root) if may_hold else []
    held = [api for text in holding if (api := _description(text, scripts)) is not None]
    held += [api for script in inline for api in scripts.apis_in(script)]
    meta.held_apis = list(dict.fromkeys(map(json.dumps, held)))[:MAX_HELD]
    files = _of_web(named[:MAX_FILES], joiner)
    meta.api_files = files if files or is_drawn else None
    if meta.api_files == []:
        others = [url for script in inline for url in scripts.configurations_in(script)]
        others += [src for src in map(str, _SCRIPTS_OF_FILES(root)) if _says_what_is_drawn(src)]
        meta.api_scripts = _of_web(others, joiner)[:MAX_SCRIPTS]


def _says_what_is_drawn(src: str) -> bool:
    name = src.partition("?")[0].rpartition("/")[2]
    is_script = name.endswith((".js", ".mjs"))
    return is_script and bool(_INITIALIZER.search(name)) and not _PROGRAM.search(name)


def _of_web(hrefs: list[str], joiner: Joiner) -> list[str]:
    urls = dict.fromkeys(joiner.join(href) for href in hrefs if href)
    return [url for url in urls if url.lower().startswith(HTTP)]


def _description(text: str, scripts: ModuleType) -> object:
    try:
        return scripts.api_of(json.loads(text))
    except (ValueError, RecursionError):
        return None
