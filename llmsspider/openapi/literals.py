"""Objects as JavaScript writes them, read as values: no program is run."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 200
"""Levels of objects and arrays that are read."""
MAX_TOKENS = 2_000_000
"""Signs, names and strings of one object."""

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)
    |(?P<string>"(?:[^"\\\n]|\\[\s\S])*+"|'(?:[^'\\\n]|\\[\s\S])*+'|`(?:[^`\\$]|\\[\s\S]|\$(?!\{))*+`)
    |(?P<number>0[xX][\da-fA-F]++|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+)n?(?![\w$])
    |(?P<name>[A-Za-z_$][\w$]*+)
    |(?P<sign>=>|[{}\[\](),:;.+!?=<>&|*/%~^-])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|[\s\S]))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": "", "\r\n": ""}
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None, "Infinity": None}
_OPENING, _CLOSING = frozenset("{[("), frozenset("}])")
_ENDS = frozenset({",", "}", "]"})

Token = tuple[str, str]
"""Kind (a group of `_TOKEN`, `end`) and text."""


def read_object(script: str, position: int = 0) -> tuple[dict[str, Any], int]:
    """Return the object that begins at a position of a script, and where it ends.

    Read are strings of all three kinds, joined by `+` too, numbers, `true`, `!0`, names as keys, comments, commas
    before a bracket, `JSON.parse` of a string. What a program would compute (a name, a call, a function) is None.

    Raises:
        ValueError: no object begins there, or it cannot be read; `EndlessError` where its end is not found.

    >>> read_object("{a: 'b' + `c`, 'd': [1, .5, !0,], e: location.host, /* f */ g: {}}")[0]
    {'a': 'bc', 'd': [1, 0.5, True], 'e': None, 'g': {}}
    """
    reader = _Reader(script, position)
    value = reader.value(0)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value, reader.end


class EndlessError(ValueError):
    """An object does not end, or something in it cannot be distinguished from the end of the script."""


class _Reader:
    """Reads token after token; `token` is the next one, `end` where the one before it ended."""

    def __init__(self, script: str, position: int):
        self._script = script
        self._position = position
        self._left = MAX_TOKENS
        self.end = position
        self.token: Token = ("end", "")
        self.next()

    def next(self) -> Token:
        """Return the token and go on to the one behind it."""
        before, self.end = self.token, self._position
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
        """Return the value that begins with the next token; None for one that a program would compute."""
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        kind, text = self.token
        value: Any
        if text == "{":
            value = self._object(depth)
        elif text == "[":
            value = self._array(depth)
        elif kind == "string":
            value = self._string()
        elif text == "JSON":
            value = self._parsed()
        else:
            value = self._plain()
        if depth and self.token[1] not in _ENDS:
            self._skip()
            return None
        return value

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.next()
        while self.token[1] != "}":
            kind, text = self.next()
            if kind not in {"string", "name", "number"} or self.token[1] != ":":
                self._skip()  # a method, `...other`, a name that stands for itself
            else:
                self.next()
                found[_unquoted(text) if kind == "string" else text] = self.value(depth + 1)
            self._take_comma("}")
        self.next()
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.next()
        while self.token[1] != "]":
            found.append(self.value(depth + 1))
            self._take_comma("]")
        self.next()
        return found

    def _take_comma(self, end: str) -> None:
        if self.token[1] == ",":
            self.next()
        elif self.token[1] != end:
            raise ValueError(f"{self.token[1]!r} in place of a comma")

    def _string(self) -> str:
        parts = [_unquoted(self.next()[1])]
        while self.token[1] == "+":
            self.next()
            if self.token[0] != "string":
                break  # what follows is skipped, and with it the whole
            parts.append(_unquoted(self.next()[1]))
        return "".join(parts)

    def _parsed(self) -> Any:
        """Return what `JSON.parse("…")` gives."""
        self.next()
        for sign in (".", "parse", "("):
            if self.next()[1] != sign:
                return None
        if self.token[0] != "string":
            return None
        text = self._string()
        if self.token[1] == ")":
            self.next()
            return json.loads(text)
        return None

    def _plain(self) -> Any:
        kind, text = self.token
        if text in {"-", "+"}:
            self.next()
            number = self._plain()
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            return (-number if text == "-" else number) if is_number else None
        if text == "!":
            self.next()
            return {"0": True, "1": False}.get(self.next()[1]) if self.token[0] == "number" else None
        if kind == "number":
            return _number(self.next()[1])
        if kind == "name" and text in _CONSTANTS:
            return _CONSTANTS[self.next()[1]]
        return None

    def _skip(self) -> None:
        """Go on to the comma or bracket that ends a value."""
        depth = 0
        while depth or self.token[1] not in _ENDS:
            kind, text = self.next()
            if kind == "end":
                raise EndlessError("it has no end")
            depth += (text in _OPENING) - (text in _CLOSING)


def _number(text: str) -> int | float:
    text = text.rstrip("n") if text[:2].lower() != "0x" else text.removesuffix("n")
    if text[:2].lower() == "0x":
        return int(text, 16)
    return int(text) if text.isdigit() and len(text) < 20 else float(text)


def _unquoted(text: str) -> str:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    read = _ESCAPE.sub(_unescaped, inner)
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is not None:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    return _ESCAPED.get(found[4], found[4])
