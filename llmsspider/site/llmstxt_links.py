"""The inline content of an llms.txt as text and links, their addresses absolute."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmsspider.web.addresses import same_site
from llmsspider.web.urls import InvalidUrl, parse

_SCHEME = re.compile(r"(?![\w.-]+:\d+(?:/|$))[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HOST_LIKE = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?(?=[/?#]|$)", re.IGNORECASE
)
_WEB_SUFFIXES = frozenset(
    {"com", "org", "net", "io", "dev", "ai", "app", "edu", "gov", "info", "co"}
)
"""Endings that are a host's, beside `www.` and the file's own site, and not a file's (`guide.md`).
"""


def absolute_url(href: str, base: str) -> str | InvalidUrl | None:
    """Return the absolute http(s) URL of a link without its fragment, see `parse`; None where it is
    no page.

    `base` is the URL of the file. Fragment-only links and other schemes are no pages. An address
    without a scheme whose first segment is a host is taken as one.

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
    if (found := _HOST_LIKE.match(href)) and not _SCHEME.match(href):
        name = found[0].partition(":")[0].lower()
        is_host = name.startswith("www.") or name.rpartition(".")[2] in _WEB_SUFFIXES
        if is_host or same_site(f"https://{name}/", base):
            href = "https://" + href
    return parse(href, base)


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

    def text(self, text: str) -> None:
        """Take text; addresses in it are links, unless it is that of a link."""
        self._text += text

    def verbatim(self, text: str) -> None:
        """Take what no address begins or ends in: code, a line break, emphasis (no text at all)."""
        if self._href is None:
            self._search()
            self._add(text)
        else:
            self._text += text

    def open_link(self, href: str) -> None:
        """Take the start of a link."""
        self._search()
        self._href = href

    def close_link(self) -> None:
        """Take the end of a link."""
        text = " ".join(self._text.split())
        self._text = ""
        is_address = "://" in text
        self._pieces.append(
            Reference(self._href or "", "" if is_address else text, bare=is_address)
        )
        self._href = None

    def take(self) -> list[Piece]:
        """Return the content so far, neighbouring texts as one piece, and begin anew."""
        self._search()
        pieces = self._pieces
        self._pieces = []
        return pieces

    def _search(self) -> None:
        text = self._text
        self._text = ""
        for piece in bare_urls(text):
            self._add(piece)

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
    done = 0
    for found in _BARE.finditer(text):
        url = found[0] if len(found[0]) <= MAX_URL_CHARS else "//"
        end = len(url)
        unopened = url.count(")") - url.count("(")
        while end and (url[end - 1] in _TRAILING or (url[end - 1] == ")" and unopened > 0)):
            unopened -= url[end - 1] == ")"  # as in autolinks of GFM
            end -= 1
        if not (url := url[:end]).endswith(("{", "}", "//")):
            yield text[done : found.start()]
            yield Reference(url, "", bare=True)
            done = found.start() + end
    yield text[done:]


# --- what the text beside a link says of it ---

_CONNECTIVE = re.compile(r"[ \t]{0,9}(?:[,/|&+·]|and|or)[ \t]{0,9}")
_SEPARATOR = re.compile(r"\s*(?:[:\-–—|•·→]|=>)+\s*")
_LABEL_ENDS = (":", "-", "–", "—", "|", "•", "·", "→", "=>")
_BULLETS = re.compile(r"(?<![\s*+\-•·|])[\s*+\-•·|]++\Z")


def has_link(pieces: Sequence[Piece]) -> bool:
    """Return whether a run of inline text has a link."""
    return any(isinstance(piece, Reference) for piece in pieces)


def described_links(pieces: list[Piece]) -> list[tuple[str | None, str, str | None]]:
    """Return title, href and description of each link in inline text; links with only commas
    between share theirs.
    """
    links = []
    described = None
    for index in reversed(range(len(pieces))):
        link = pieces[index]
        if isinstance(link, str):
            continue
        before = pieces[index - 1] if index else ""
        after, following = [*pieces[index + 1 : index + 3], "", ""][:2]
        if not isinstance(after, str):
            described = None
        elif not (isinstance(following, Reference) and _CONNECTIVE.fullmatch(after)):
            described = _description(after, is_last=index + 2 >= len(pieces), leads=index == 0)
        named = before if isinstance(before, str) else ""
        links.append((_label(named) if link.bare else link.text or None, link.href, described))
    return links[::-1]


def _label(before: str) -> str | None:
    """Return the name in `Name: https://…`, the text before a bare address on its line."""
    name = line = before.rpartition("\n")[2].rstrip()
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
