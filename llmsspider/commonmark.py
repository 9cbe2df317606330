"""What markdown-it-py is used for; it is loaded where it is needed, since most crawls never do."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_PLAIN = re.compile(
    r"(?:https?://[\w.-]+(?::\d+)?(?=[/?#]|\Z))?(?!//)"
    r"[\w./?=&~+,;!$*'()-]*(?:#[\w./?=&:~+,;!$*'()-]*)?\Z",
    re.ASCII,
)
"""What encoding leaves as it is; nearly every link of documentation."""


def parser(options: dict[str, bool | int]) -> MarkdownIt:
    """Return a CommonMark parser that reads tables."""
    from markdown_it import MarkdownIt  # noqa: PLC0415

    logging.getLogger("markdown_it").setLevel(logging.INFO)  # its DEBUG records are half the work of a parse
    return MarkdownIt("commonmark", options).enable("table")


def encoded(destination: str) -> str:
    """Return a destination percent-encoded, its host in ASCII (markdown-it's `normalizeLink`).

    >>> encoded("guide/install.md#linux"), encoded("guide/größe.md")
    ('guide/install.md#linux', 'guide/gr%C3%B6%C3%9Fe.md')
    """
    if _PLAIN.match(destination):
        return destination
    from markdown_it.common.normalize_url import normalizeLink  # noqa: PLC0415

    return normalizeLink(destination)
