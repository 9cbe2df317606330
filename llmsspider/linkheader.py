"""Links that an HTTP answer carries in its `Link:` header (RFC 8288)."""

from __future__ import annotations

from dataclasses import dataclass

import weblinking

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
    for link in weblinking.parse(header[:MAX_HEADER_CHARS]):
        if link.anchor:
            continue
        url = urlgate.parse(link.uri, base)
        if url is None:
            continue
        media_type = (link.type or "").partition(";")[0].strip().lower()
        found.append(HeaderLink(url, frozenset((link.rel or "").lower().split()), media_type or None))
    return found
