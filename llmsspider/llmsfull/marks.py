"""What scanners of full-text files have in common: a mark, headings, separators."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_MARKS = 200_000
"""So many marks of one kind are remembered."""

MAX_HEADING_CHARS = 1000
"""A longer line that begins like a heading is none."""

HEADING = re.compile(r"(#{1,6})(?:[ \t]++((?:[#\s]*+[^#\s]++)*+))?+[#\s]*+$")
SEPARATOR = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_TAG = re.compile(
    r"</?(?:a|abbr|b|badge|br|code|del|div|em|font|i|img|kbd|mark|p|s|small|span|strong|sub|sup|svg|u)(?:\s[^<>]*+|/)?>",
    re.IGNORECASE,
)
"""HTML in a heading; `List<String>` is none."""

FILES = r"(?:mdx?|markdown|rst|txt|html?|ipynb|adoc)"
"""Extensions of documentation sources."""


@dataclass(slots=True)
class Mark:
    """One boundary: the line where a page begins, what the mark says of it.

    `skip` holds the lines that belong to the mark and not to the page, `lead` a heading that stands for
    one of them, `end` the line after the page where the mark closes it. `sections` holds the leads of later marks of
    the same page, by their lines.
    """

    start: int
    url: str | None = None
    title: str | None = None
    skip: list[int] = field(default_factory=list)
    lead: str = ""
    end: int | None = None
    level: int = 0
    headed: bool = False
    sections: dict[int, str] = field(default_factory=dict)


def clean_title(text: str) -> str:
    """Return the words of a heading without links, emphasis and anchors."""
    text = re.sub(r"!?\[([^\[\]]*+)\]\([^()\[]*+\)", r"\1", text)
    text = _TAG.sub("", re.sub(r"\{#[^{}]*+\}\s*$", "", text))
    return " ".join(text.replace("`", "").replace("**", "").split())
