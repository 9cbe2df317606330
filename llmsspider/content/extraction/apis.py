"""The OpenAPI files that a page or its scripts name, and the API descriptions that they hold.

JavaScript object literals are parsed; no script is run.
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

MAX_DEPTH = 200
"""Maximum depth of nested objects and arrays."""
MAX_TOKENS = 2_000_000
"""Maximum number of tokens of one object."""

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    |(?P<string>"(?:[^"\\\n]|\\[\s\S])*+"|'(?:[^'\\\n]|\\[\s\S])*+'|`(?:[^`\\$]|\\[\s\S]|\$(?!\{))*+`)
    |(?P<number>0[xX][\da-fA-F]++|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+)n?(?![\w$])
    |(?P<name>[A-Za-z_$][\w$]*+)
    |(?P<sign>=>|[{}\[\](),:;.+!?=<>&|*/%~^-])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|[\s\S]))"
)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "",
    "\n": "",
    "\r\n": "",
}
_CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "NaN": None,
    "Infinity": None,
}
_OPENING = frozenset("{[(")
_CLOSING = frozenset("}])")
_ENDS = frozenset({",", "}", "]"})

Token = tuple[str, str]
"""Kind (a group of `_TOKEN`, `end`) and text."""


class EndlessError(ValueError):
    """An object does not end, or something in it cannot be distinguished from the end of the
    script.
    """


class _Reader:
    """Reads the object literal that begins at `position` of a script.

    Supported are strings of all three kinds, also joined by `+`, numbers, `true`, `!0`, names as
    keys, comments, trailing commas, and `JSON.parse` of a string. Computed values (a name, a call,
    a function) become None. `token` is the next one, `end` the end of the previous one. A literal
    that cannot be read is a `ValueError`.

    >>> _Reader("{a: 'b' + `c`, 'd': [1, .5, !0,], e: location.host, /* f */ g: {}}", 0).value(0)
    {'a': 'bc', 'd': [1, 0.5, True], 'e': None, 'g': {}}
    """

    def __init__(self, script: str, position: int):
        self._script = script
        self._position = position
        self._left = MAX_TOKENS
        self.end = position
        self.token: Token = ("end", "")
        self.next()

    def next(self) -> Token:
        """Return the current token and advance to the next."""
        before = self.token
        self.end = self._position
        while True:
            found = _TOKEN.match(self._script, self._position)
            self._left -= 1
            if found is None or self._left < 0:
                self.token = ("end", "")
                return before
            self._position = found.end()
            if found.lastgroup != "space":
                self.token = (found.lastgroup or "", found[0])
                return before

    def value(self, depth: int) -> Any:
        """Return the value that begins with the next token; None for a computed value."""
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        kind, text = self.token
        value: Any
        if text in {"{", "["}:
            value = self._container(depth)
        elif kind == "string":
            value = self._string()
        else:
            value = self._parsed() if text == "JSON" else self._plain()
        if depth and self.token[1] not in _ENDS:
            self._skip()
            return None
        return value

    def _container(self, depth: int) -> dict[str, Any] | list[Any]:
        found: list[Any] = []
        is_object = self.next()[1] == "{"
        end = "}" if is_object else "]"
        while self.token[1] != end:
            if not is_object:
                found.append(self.value(depth + 1))
            else:
                kind, text = self.next()
                if kind not in {"string", "name", "number"} or self.token[1] != ":":
                    self._skip()  # a method, `...other`, or a shorthand property
                else:
                    self.next()
                    found.append(
                        (_unquoted(text) if kind == "string" else text, self.value(depth + 1))
                    )
            if self.token[1] == ",":
                self.next()
            elif self.token[1] != end:
                raise ValueError(f"{self.token[1]!r} in place of a comma")
        self.next()
        return dict(found) if is_object else found

    def _string(self) -> str:
        parts = [_unquoted(self.next()[1])]
        while self.token[1] == "+":
            self.next()
            if self.token[0] != "string":
                break  # what follows is skipped, and with it the whole
            parts.append(_unquoted(self.next()[1]))
        return "".join(parts)

    def _parsed(self) -> Any:
        """Return the value of `JSON.parse("…")`."""
        is_parse = all(self.next()[1] == sign for sign in ("JSON", ".", "parse", "("))
        text = self._string() if is_parse and self.token[0] == "string" else ""
        if not text or self.token[1] != ")":
            return None
        self.next()
        return json.loads(text)

    def _plain(self) -> Any:
        match self.token:
            case (_, "-" | "+" as sign):
                self.next()
                number = self._plain()
                is_number = isinstance(number, int | float) and not isinstance(number, bool)
                return (-number if sign == "-" else number) if is_number else None
            case (_, "!"):
                self.next()
                is_number = self.token[0] == "number"
                return {"0": True, "1": False}.get(self.next()[1]) if is_number else None
            case ("number", text):
                self.next()
                digits = text.removesuffix("n")
                if digits[:2].lower() == "0x":
                    return int(digits, 16)
                return int(digits) if digits.isdigit() and len(digits) < 20 else float(digits)
            case ("name", text) if text in _CONSTANTS:
                return _CONSTANTS[self.next()[1]]
        return None

    def _skip(self) -> None:
        depth = 0
        while depth or self.token[1] not in _ENDS:
            kind, text = self.next()
            if kind == "end":
                raise EndlessError("it has no end")
            depth += (text in _OPENING) - (text in _CLOSING)


def _unquoted(text: str) -> str:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    read = _ESCAPE.sub(_unescaped, inner)
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    if (code := found[1] or found[2] or found[3]) is None:
        return _ESCAPED.get(found[4], found[4])
    return chr(number) if (number := int(code, 16)) <= 0x10FFFF else "\ufffd"


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
    r"\s*(?=\{|JSON\.parse)"
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
    """Yield the APIs that a script holds, `MAX_HELD` at most; what only a program could tell is
    None in them.
    """
    position = found = endless = 0
    for _ in range(MAX_TRIES if _IS_API.search(script) else 0):
        begin = _BEGIN.search(script, position)
        if begin is None or MAX_HELD in {found, endless}:
            return
        position = begin.end()
        try:
            read, end = _JSON.raw_decode(script, position)
        except (ValueError, RecursionError):
            try:
                reader = _Reader(script, position)
                read = reader.value(0)
                end = reader.end
            except (ValueError, RecursionError) as error:
                endless += isinstance(error, EndlessError)
                continue
        if (api := api_of(read)) is not None:
            found = found + 1
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
    if meta.is_shell and b"documentation-topic" in source.body:
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
