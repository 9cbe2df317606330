"""Flatten Markdown inline tokens into text and links, finding bare addresses on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
"""Characters nobody sees and no URL holds."""

_BARE = re.compile(
    r"(?<![A-Za-z0-9+.-])https?://[^\s<>\"`|\\^\[\]{}\u2018-\u201f\u2026\u2013\u2014\u00ab\u00bb\u3000-\u3003\u3008-\u3011"
    r"\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff5e\u00a0]+[{}]?",
    re.IGNORECASE,
)
_BROKEN_LINK = re.compile(
    r"\[([^\[\]]{0,500})\]\([ \t]{0,9}((?:https?://|/)[^()\n]{0,2000})\)", re.IGNORECASE
)
MAX_URL_CHARS = 4096
_TRAILING = ".,;:!?'*_~"


@dataclass(frozen=True, slots=True)
class Reference:
    """A link: its href as written, its text, and whether it is an address without text of its own."""

    href: str
    text: str
    bare: bool = False


Piece = str | Reference
"""Plain text (line breaks kept) or a link."""


def read_inline(tokens: Sequence[Token]) -> Iterator[Piece]:
    """Yield the text and links of an inline run; neighbouring texts come as one piece."""
    text = ""
    for piece in _pieces(tokens):
        if isinstance(piece, str):
            text += piece
            continue
        if text:
            yield text
            text = ""
        yield piece
    if text:
        yield text


def plain(pieces: Sequence[Piece]) -> str:
    """Return the text of pieces on one line.

    >>> plain(["See ", Reference("/a", "the guide"), " first"])
    'See the guide first'
    """
    return " ".join("".join(p if isinstance(p, str) else p.text or p.href for p in pieces).split())


def bare_urls(text: str) -> Iterator[Piece]:
    """Split text into plain text and the addresses written out in it.

    Punctuation glued to an address is not part of it; a template such as `https://host/{id}` is no
    address. A Markdown link whose address holds spaces is taken as it was meant.

    >>> list(bare_urls("(see https://a.org/b_(c).)"))
    ['(see ', Reference(href='https://a.org/b_(c)', text='', bare=True), '.)']
    """
    end = 0
    for found in _BROKEN_LINK.finditer(text):
        yield from _addresses(text[end : found.start()])
        yield Reference(found[2].strip().replace(" ", "%20"), " ".join(found[1].split()))
        end = found.end()
    yield from _addresses(text[end:])


def _addresses(text: str) -> Iterator[Piece]:
    end = 0
    for found in _BARE.finditer(text):
        url = _trim(found[0]) if len(found[0]) <= MAX_URL_CHARS else "//"
        if url.endswith(("{", "}", "//")):
            continue
        yield text[end : found.start()]
        yield Reference(url, "", bare=True)
        end = found.start() + len(url)
    yield text[end:]


def _trim(url: str) -> str:
    """Drop trailing punctuation and closing brackets that were not opened (GFM, extended autolinks)."""
    while url:
        if url[-1] in _TRAILING or (url[-1] == ")" and url.count(")") > url.count("(")):
            url = url[:-1]
        else:
            break
    return url


def _pieces(tokens: Sequence[Token]) -> Iterator[Piece]:
    """Walk inline tokens: links whole, text searched for addresses, code and images as text."""
    href: str | None = None
    inside = ""
    run = ""
    for token in tokens:
        if token.type == "text" and href is None:
            run += token.content
            continue
        yield from bare_urls(run)
        run = ""
        if token.type == "link_open":
            href, inside = str(token.attrGet("href") or ""), ""
        elif token.type == "link_close":
            text = " ".join(inside.split())
            yield Reference(href or "", "" if "://" in text else text, bare="://" in text)
            href = None
        elif href is not None:
            inside += _text_of(token)
        else:
            yield _text_of(token)
    yield from bare_urls(run)


def _text_of(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    if token.type == "image":
        return "".join(child.content for child in token.children or ())
    if token.type == "html_inline":
        return " " if token.content.lower().startswith("<br") else ""
    return token.content
