"""The OpenAPI files that a page names for the program that draws its API reference."""

from __future__ import annotations

import re

from lxml.etree import XPath, _Element

from llmsspider.extraction.parsing import Source
from llmsspider.joiner import HTTP, Joiner

_WORDS = (
    re.compile(rb"swagger"),
    re.compile(rb"redoc"),
    re.compile(rb"api(?:doc|-doc|-reference|(?<=openapi)|(?<=elements-api))"),
)
"""What is in the bytes of a page that names such a file, in lower case; each begins with letters to look for."""
_NAMED = XPath("//@spec-url | //@apidescriptionurl | //*[@id='api-reference']/@data-url", smart_strings=False)
_SCRIPTS = XPath("//script[not(@src)]/text()", smart_strings=False)
_CALL = re.compile(r"\b(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference)\s*\(")
_FIRST = re.compile(r"\s*([\"'])([^\"'\s]{1,2000})\1")
_URL = re.compile(
    r"(?<![\w$])[\"']?(?:spec|openapi|definition)?url[\"']?\s*:\s*([\"'])([^\"'\s]{1,2000})\1", re.IGNORECASE
)
_PLACES = XPath(
    "boolean(//redoc | //rapi-doc | //elements-api | //*[@id='swagger-ui' or @id='redoc' or @id='redoc-container'"
    " or contains(concat(' ', @class, ' '), ' swagger-ui ') or contains(concat(' ', @class, ' '), ' redoc-wrap ')"
    " or contains(concat(' ', @class, ' '), ' sl-elements-api ')])",
    smart_strings=False,
)

MAX_FILES = 10
"""Files that one page may name."""

_CALL_CHARS = 4_000
"""Characters of a call in which its file is looked for."""


def api_files(root: _Element, source: Source, joiner: Joiner) -> list[str] | None:
    """Return the URLs of the OpenAPI files that a page names.

    Empty where it is an API reference and says in its scripts alone which file it draws; None for any other page.
    """
    if not any(map(source.may_match, _WORDS)):
        return None
    found = [str(named).strip() for named in _NAMED(root)]
    for script in _SCRIPTS(root):
        for call in _CALL.finditer(script):
            end = call.end() + _CALL_CHARS
            first = _FIRST.match(script, call.end(), end)
            found += [first[2]] if first else [named[2] for named in _URL.finditer(script, call.end(), end)]
    urls = dict.fromkeys(joiner.join(href) for href in found[:MAX_FILES] if href)
    urls_of_web = [url for url in urls if url.lower().startswith(HTTP)]
    return urls_of_web if urls_of_web or _PLACES(root) else None
