"""Bytes to an lxml tree: the one parse a page gets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lxml.etree import HTMLParser, ParserError, XMLSyntaxError, XPath, _Element, fromstring, iterwalk

from llmsspider.extraction.charsets import CHARSETS, east_asian_charset
from llmsspider.extraction.names import settable

MAX_DEPTH = 160
"""Levels of elements; deeper ones are put beside each other, as browsers do from level 512 on."""
_DEEPEST = XPath("/*" * MAX_DEPTH, smart_strings=False)


_WORD_BREAK = re.compile(rb"<wbr\s*/?>", re.IGNORECASE)
_CLOSED_BREAK = re.compile(rb"</br\s*+/?>", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^<>]+charset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_EMPTY = b"<html><body></body></html>"
_WINDOWS = {"iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii", "iso8859-1", "windows-1252", "cp1252"}
_UTF_8 = {"utf-8", "utf8"}
_ASCII_BASED = re.compile(
    r"utf-?8|windows-(?:125\d|874)|cp125\d|iso-?8859-\d{1,2}|latin-?1|(?:us-)?ascii|koi8-[ru]|shift[_-]jis"
    r"|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5"
)
"""Encodings in which ASCII is ASCII, and no escape sequence or shift parts the letters of a name."""
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True)
class Source:
    """A page: its bytes as received and as they are parsed, and the encoding that they are parsed in."""

    received: bytes
    body: bytes
    encoding: str

    @cached_property
    def lowered(self) -> bytes:
        """The bytes in lower case."""
        return self.body.lower()

    @cached_property
    def _shows_names(self) -> bool:
        return bool(_ASCII_BASED.fullmatch(self.encoding))

    def may_hold(self, *names: bytes) -> bool:
        """Return False if no tag, attribute or class in the tree holds one of `names` (ASCII, lower case).

        A search of the bytes costs a hundredth of one of the tree. Values may be written with character references:
        ask for those names only where a value that is written so need not be found.
        """
        return not self._shows_names or any(name in self.lowered for name in names)

    def may_match(self, names: re.Pattern[bytes]) -> bool:
        """Return False if nothing in the bytes, in lower case, matches a pattern of names. See `may_hold`."""
        return not self._shows_names or names.search(self.lowered) is not None

    def may_repeat(self, value: str) -> bool:
        """Return False if a value, an id for one, is written only once in the bytes."""
        return not self._shows_names or not value.isascii() or self.body.count(value.encode()) != 1


def read_source(body: bytes, encoding: str | None) -> Source:
    """Return `body` ready to be parsed.

    The encoding is chosen as browsers do (HTML standard, "determining the character encoding"): BOM,
    then `encoding` (the HTTP header's), then `<meta charset>` in the first 4 KiB, then UTF-8 where the
    body is valid UTF-8, then what `charsets` tells of East Asian text, else windows-1252. Where UTF-8 and
    windows-1252 are taken for each other, the bytes decide, as text of the one is hardly ever text of the
    other. NUL bytes are dropped.
    """
    received = body
    body, name = _decode_choice(body, encoding)
    if b"<wbr" in body:
        body = _WORD_BREAK.sub(b"", body)  # libxml2 puts all that follows into the element
    if b"</br" in body:
        body = _CLOSED_BREAK.sub(b"<br>", body)  # HTML standard, 13.2.6.4.7
    return Source(received, body, name)


def parse(body: bytes, encoding: str | None) -> _Element:
    """Parse `body` into a tree whose root is `<html>`; bad HTML never raises. See `read_source` for the encoding."""
    return parse_source(read_source(body, encoding))


def parse_source(source: Source) -> _Element:
    """Parse a page into a tree whose root is `<html>`; bad HTML never raises."""
    for candidate in (source.encoding, "utf-8"):
        try:
            parser = HTMLParser(encoding=candidate, remove_comments=True, remove_pis=True, huge_tree=True)
            root = fromstring(source.body or _EMPTY, parser)
        except (
            LookupError,
            ValueError,
            ParserError,
            XMLSyntaxError,
        ):  # ValueError: a name with control characters
            continue
        if root is not None:
            for element in _DEEPEST(root):
                if len(element):
                    _flatten(element)
            return root
    return fromstring(_EMPTY, HTMLParser())


def _flatten(element: _Element) -> None:
    """Put all elements that are inside each other below `element` beside each other; the text keeps its order."""
    last: _Element | None = None
    made: list[_Element] = []
    for event, inner in iterwalk(element, events=("start", "end")):
        if inner is element:
            continue
        if event == "start":
            last = element.makeelement(inner.tag, dict(inner.attrib))
            last.text = settable(inner.text)
            made.append(last)
        elif last is not None and inner.tail:
            last.tail = settable((last.tail or "") + inner.tail)
    text = element.text
    element[:] = made
    element.text = text


def _decode_choice(body: bytes, encoding: str | None) -> tuple[bytes, str]:
    for bom, name in _BOMS:
        if body.startswith(bom):
            text = body[len(bom) :]
            return (text, name) if name == "utf-8" else (_as_utf8(text, name), "utf-8")
    if encoding is None and (found := _META_CHARSET.search(body, 0, 4096)):
        encoding = found.group(1).decode("ascii").lower()
    if encoding is None:
        encoding = "utf-8" if _is_utf8(body) else east_asian_charset(body) or "windows-1252"
        if encoding in CHARSETS:
            return _as_utf8(body.replace(b"\0", b""), encoding), "utf-8"
    encoding = encoding.lower()
    if encoding.startswith("utf-16"):
        return _as_utf8(body, encoding), "utf-8"
    body = body.replace(b"\0", b"")
    if encoding in _WINDOWS:
        return body, "utf-8" if not body.isascii() and _is_utf8(body) else "windows-1252"
    if encoding in _UTF_8 and not _is_utf8(body) and not _MULTIBYTE.search(body):
        return body, "windows-1252"
    return body, encoding


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_utf8(body: bytes, encoding: str) -> bytes:
    try:
        return body.decode(encoding, "replace").encode()
    except (LookupError, ValueError):
        return body
