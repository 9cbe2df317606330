"""What an index is given of a page.

Its passages with the words beside them, and what is said of the page as a whole.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from llmsspider.retrieval.passages import passages
from llmsspider.retrieval.words import beside, words
from llmsspider.store.records import PageRecord

MOST_PASSAGES = 2000
"""Passages of one page that are indexed: about 3 MB of text."""

MOST_LINKS = 500
"""Links of one page whose texts are kept."""

MOST_HINTS = 8
"""Different texts of links to a page that are indexed, the most frequent ones."""

LONGEST_LINK_TEXT = 120
"""Characters; what is longer is a teaser, not the name of a page."""

_EMPTY = (
    "here this link more read next previous back home edit source top see details learn docs documentation"
)
_EMPTY_LINKS = frozenset(_EMPTY.split())


@dataclass(slots=True, frozen=True)
class IndexedPassage:
    """A passage as the index is given it; `digest` is equal for passages of equal text."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    beside: str
    digest: bytes


@dataclass(slots=True, frozen=True)
class IndexedPage:
    """A page as the index is given it.

    `hints` is what llms.txt and the page's description say of it; links are (target, fragment, text).
    """

    key: bytes
    content_hash: bytes
    url: str
    title: str
    hints: str
    url_words: str
    headings: str
    passages: list[IndexedPassage]
    links: list[tuple[int, str, str]]
    optional: bool
    id: str


def indexed_page(record: PageRecord) -> IndexedPage:
    """Cut a stored page (with content and links) into what an index holds."""
    content = record.content or ""
    found = []
    for place, passage in enumerate(passages(content)):
        if place >= MOST_PASSAGES:
            break
        text = content[passage.start : passage.end]
        found.append(
            IndexedPassage(
                passage.start, passage.end, passage.heading_path, text, beside(text), digest_of(text)
            )
        )
    headings = dict.fromkeys(heading for passage in found for heading in passage.heading_path)
    return IndexedPage(
        record.key,
        bytes.fromhex(record.content_hash or ""),
        record.url,
        record.title or "",
        own_hints(record),
        url_words(record.url),
        "\n".join(headings),
        found,
        list(_links(record)),
        is_optional(record),
        record.id,
    )


def own_hints(record: PageRecord) -> str:
    """What the site's llms.txt and the page itself say of it."""
    entry = record.llms
    said = (entry.title, entry.description, entry.section) if entry else ()
    return "\n".join(dict.fromkeys(text for text in (*said, record.description) if text))


def is_optional(record: PageRecord) -> bool:
    """Whether llms.txt lists the page as one that can be left out."""
    return record.llms is not None and record.llms.optional


def url_words(url: str) -> str:
    """The words of a URL's path, without the ending of a file.

    >>> url_words("https://e.com/docs/getting-started/first_steps.html")
    'docs getting started first steps'
    """
    path = unquote(urlsplit(url).path)
    return " ".join(words(re.sub(r"(?:/index)?\.\w{1,5}$", "", path)))


def link_hints(texts: Iterable[str]) -> str:
    """The most frequent texts of links to a page; those that name no page (`here`, `next`) are left out."""
    counted = Counter(
        plain for text in texts if len(text) <= LONGEST_LINK_TEXT and (plain := " ".join(text.split()))
    )
    useful = [text for text, _ in counted.most_common(50) if not _EMPTY_LINKS.issuperset(words(text))]
    return "\n".join(useful[:MOST_HINTS])


def target_of(url: str) -> int:
    """The number that stands for a URL in the index: the first 8 bytes of its SHA-256, signed."""
    digest = hashlib.sha256(url.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _links(record: PageRecord) -> Iterable[tuple[int, str, str]]:
    seen = set()
    for link in record.links:
        url, _, fragment = link.url.partition("#")
        if url == record.url and not fragment:
            continue
        row = (target_of(url), fragment, link.text[: LONGEST_LINK_TEXT + 1])
        if row not in seen:
            seen.add(row)
            yield row
        if len(seen) >= MOST_LINKS:
            return


def digest_of(text: str) -> bytes:
    """The 16 bytes that are equal for texts that differ in white space and case only."""
    plain = " ".join(text.split()).casefold()
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()[:16]
