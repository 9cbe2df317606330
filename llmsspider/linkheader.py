"""Links that an HTTP answer carries in its `Link:` header (RFC 8288).

The parser is that of its appendix B.2, in one pass from left to right; what is no link is passed over to the next `<`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmsspider import urlgate
from llmsspider.urlgate import InvalidUrl

MAX_HEADER_CHARS = 16_384
"""What is longer is cut: an answer needs a handful of links."""


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link: absolute URL or why it is none, lower-case relation types, lower-case media type or None."""

    url: str | InvalidUrl
    rel: frozenset[str]
    type: str | None


def parse(header: str, base: str) -> list[HeaderLink]:
    """Return the links of a `Link:` header, in order; what cannot be read is left out.

    `base` is the URL of the answer. Links with an `anchor` speak of another page (RFC 8288, 3.2) and
    are left out too.

    >>> parse('</llms.txt>; rel=describedby; type="text/markdown"', "https://example.com/docs/")
    [HeaderLink(url='https://example.com/llms.txt', rel=frozenset({'describedby'}), type='text/markdown')]
    """
    found = []
    for target, parameters in _links(header[:MAX_HEADER_CHARS]):
        if parameters.get("anchor"):
            continue
        url = urlgate.parse(target, base)
        if url is None:
            continue
        media_type = parameters.get("type", "").partition(";")[0].strip().lower()
        rel = frozenset(parameters.get("rel", "").lower().split())
        found.append(HeaderLink(url, rel, media_type or None))
    return found


def _links(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield target and parameters of each link; of a parameter that comes twice the first counts (B.2, 12 to 15)."""
    start = header.find("<")
    while start >= 0:
        end = header.find(">", start)
        if end < 0:
            return
        target = header[start + 1 : end].strip()
        parameters: dict[str, str] = {}
        position = _after_space(header, end + 1)
        while header.startswith(";", position):
            name, value, position = _parameter(header, _after_space(header, position + 1))
            if name:
                parameters.setdefault(name, value)
        yield target, parameters
        start = header.find("<", position)


def _parameter(header: str, position: int) -> tuple[str, str, int]:
    """Return name, value and end of a parameter (B.3), white space behind it included."""
    start = position
    while position < len(header) and header[position] not in "=;, \t":
        position += 1
    name = header[start:position].lower()
    position = _after_space(header, position)
    if not header.startswith("=", position):
        return name, "", position
    position = _after_space(header, position + 1)
    if header.startswith('"', position):
        value, position = _quoted(header, position + 1)
    else:
        start = position
        while position < len(header) and header[position] not in ";,":
            position += 1
        value = header[start:position].strip()
    return name, value, _after_space(header, position)


def _quoted(header: str, position: int) -> tuple[str, int]:
    """Return a quoted string and where it ends (B.4); one without end goes on to that of the header."""
    letters = []
    while position < len(header) and header[position] != '"':
        if header[position] == "\\":
            position += 1
        letters.append(header[position : position + 1])
        position += 1
    return "".join(letters), position + 1


def _after_space(header: str, position: int) -> int:
    while position < len(header) and header[position] in " \t":
        position += 1
    return position
