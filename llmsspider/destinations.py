"""Destinations of Markdown links, percent-encoded as CommonMark renders them."""

from __future__ import annotations

import re

_PLAIN = re.compile(
    r"(?:https?://[\w.-]+(?::\d+)?(?=[/?#]|\Z))?(?!//)"
    r"[\w./?=&~+,;!$*'()-]*(?:#[\w./?=&:~+,;!$*'()-]*)?\Z",
    re.ASCII,
)
"""What encoding leaves as it is; nearly every link of documentation."""


def encoded(destination: str) -> str:
    """Return a destination percent-encoded, its host in ASCII (markdown-it's `normalizeLink`).

    >>> encoded("guide/install.md#linux"), encoded("guide/größe.md")
    ('guide/install.md#linux', 'guide/gr%C3%B6%C3%9Fe.md')
    """
    if _PLAIN.match(destination):
        return destination
    from markdown_it.common.normalize_url import normalizeLink  # noqa: PLC0415  # most pages have plain ones only

    return normalizeLink(destination)
