"""The inline content of an llms.txt as text and links, their addresses absolute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmsspider.web import url_gate
from llmsspider.web.addresses import same_site

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HOST_LIKE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?(?=[/?#]|$)", re.IGNORECASE)
_WEB_SUFFIXES = frozenset({"com", "org", "net", "io", "dev", "ai", "app", "edu", "gov", "info", "co"})
"""Endings that are a host's and not a file's (`docs.example.com/guide` against `guide.md`)."""


def absolute_url(href: str, base: str) -> str | url_gate.InvalidUrl | None:
    """Return the absolute http(s) URL of a link without its fragment, see `url_gate.parse`; None where it is no page.

    `base` is the URL of the file. Fragment-only links and other schemes are no pages. An address without a
    scheme whose first segment is a host is taken as one.

    >>> absolute_url("../guide.md#top", "https://example.com/docs/llms.txt")
    'https://example.com/guide.md'
    >>> absolute_url("docs.example.com/guide", "https://example.com/llms.txt")
    'https://docs.example.com/guide'
    >>> absolute_url("/guide.md:", "https://example.com/llms.txt")
    'https://example.com/guide.md'
    >>> absolute_url("#usage", "https://example.com/llms.txt") is None
    True
    """
    href = re.sub(r"[\t\r\n]", "", href.strip())
    if re.search(r"[\w/)]:\Z", href) and "://" not in href[-3:]:
        href = href[:-1]  # `/guide.md: Title`, the colon inside
    if not href or href.startswith(("#", "?#")):
        return None
    if _is_schemeless(href, base):
        href = "https://" + href
    return url_gate.parse(href, base)


def _is_schemeless(href: str, base: str) -> bool:
    """Return whether the href begins with a host: `www.`, a host of the file's own site, a web suffix."""
    if _SCHEME.match(href) and not re.match(r"[\w.-]+:\d+(?:/|$)", href):
        return False
    found = _HOST_LIKE.match(href)
    if not found:
        return False
    name = found[0].partition(":")[0].lower()
    return (
        name.startswith("www.")
        or same_site(f"https://{name}/", base)
        or name.rpartition(".")[2] in _WEB_SUFFIXES
    )


# Flatten the inline content of Markdown into text and links, finding bare addresses on the way.

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


class InlineRun:
    """The inline content of one block, as it is read: text, searched for addresses, and links."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._text = ""
        self._href: str | None = None
        self._inside = ""

    def text(self, text: str) -> None:
        """Take text; addresses in it are links."""
        if self._href is None:
            self._text += text
        else:
            self._inside += text

    def verbatim(self, text: str) -> None:
        """Take what no address begins or ends in: code, a line break, emphasis (no text at all)."""
        if self._href is None:
            self._search()
            self._add(text)
        else:
            self._inside += text

    def tag(self, html: str) -> None:
        """Take an HTML tag or comment; `<br>` is a blank."""
        self.verbatim(" " if html.lower().startswith("<br") else "")

    def open_link(self, href: str) -> None:
        """Take the start of a link."""
        self._search()
        self._href, self._inside = href, ""

    def close_link(self) -> None:
        """Take the end of a link."""
        text = " ".join(self._inside.split())
        is_address = "://" in text
        self._pieces.append(Reference(self._href or "", "" if is_address else text, bare=is_address))
        self._href = None

    def take(self) -> list[Piece]:
        """Return the content so far, neighbouring texts as one piece, and begin anew."""
        self._search()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _search(self) -> None:
        if self._text:
            for piece in bare_urls(self._text):
                self._add(piece)
            self._text = ""

    def _add(self, piece: Piece) -> None:
        if isinstance(piece, str) and self._pieces and isinstance(self._pieces[-1], str):
            self._pieces[-1] += piece
        elif piece:
            self._pieces.append(piece)


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
    """Remove trailing punctuation and closing brackets that were not opened (GFM, extended autolinks)."""
    end, unopened = len(url), url.count(")") - url.count("(")
    while end and (url[end - 1] in _TRAILING or (url[end - 1] == ")" and unopened > 0)):
        unopened -= url[end - 1] == ")"
        end -= 1
    return url[:end]


# --- what the text beside a link says of it ---

_CONNECTIVE = re.compile(r"[ \t]{0,9}(?:[,/|&+·]|and|or)[ \t]{0,9}")
_SEPARATOR = re.compile(r"\s*(?:[:\-–—|•·→]|=>)+\s*")
_LABEL_ENDS = (":", "-", "–", "—", "|", "•", "·", "→", "=>")
_BULLETS = re.compile(r"(?<![\s*+\-•·|])[\s*+\-•·|]++\Z")


def plain_lines(pieces: list[Piece]) -> list[str]:
    """Return the lines of a run of text without links, none of them empty."""
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    return [line.strip() for line in text.split("\n") if line.strip()]


def has_link(pieces: Sequence[Piece]) -> bool:
    """Return whether a run of inline text has a link."""
    return any(isinstance(piece, Reference) for piece in pieces)


def described_links(pieces: list[Piece]) -> Iterator[tuple[str | None, str, str | None]]:
    """Yield title, href and description of each link in a run of inline text."""
    shared = _shared_descriptions(pieces)
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Reference):
            continue
        before = pieces[index - 1] if index else ""
        after = pieces[index + 1] if index + 1 < len(pieces) else ""
        title = piece.text or None
        if piece.bare:
            title = _label(before) if isinstance(before, str) else None
        is_last = index + 2 >= len(pieces)
        leads = index == 0
        described = _description(after, is_last=is_last, leads=leads) if isinstance(after, str) else None
        yield title, piece.href, described or shared[index]


def _shared_descriptions(pieces: list[Piece]) -> list[str | None]:
    """Return what follows the last of several links that stand on one line with nothing but commas between them.

    One for each piece, None where it is no such link.
    """
    shared: list[str | None] = [None] * len(pieces)
    end, described = len(pieces), None
    for index in range(len(pieces) - 3, -1, -1):
        between, link = pieces[index + 1], pieces[index + 2]
        if not (isinstance(link, Reference) and isinstance(between, str) and _CONNECTIVE.fullmatch(between)):
            continue
        if end != index + 2:  # the line ends with the link behind this one
            after = pieces[index + 3] if index + 3 < len(pieces) else ""
            is_text = isinstance(after, str) and _SEPARATOR.match(after) is not None
            described = (
                _description(str(after), is_last=index + 4 >= len(pieces), leads=False) if is_text else None
            )
        end, shared[index] = index, described
    return shared


def _label(before: str) -> str | None:
    """Return the name in `Name: https://…`, the text before a bare address on its line."""
    line = before.rpartition("\n")[2]
    line = line.rstrip()
    name = line
    while name.endswith(_LABEL_ENDS):
        name = name[: -2 if name.endswith("=>") else -1]
    name = " ".join(name.split()) if name != line else ""
    return name.strip("*_ ") or None if len(name) <= 120 else None


def _description(after: str, *, is_last: bool, leads: bool) -> str | None:
    """Return what the text after a link says of it, up to the line of the next link."""
    if not is_last and "\n" in after:
        after = after[: after.rindex("\n")]
    if (bullets := _BULLETS.search(after)) and "\n" in bullets[0]:
        after = after[: after.index("\n", bullets.start())]
    separator = _SEPARATOR.match(after)
    if separator:
        after = after[separator.end() :]
    elif not (leads and is_last):
        return None
    return " ".join(after.split()) or None
