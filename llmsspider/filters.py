"""What is no documentation: the reasons a converted page is dropped. Pure."""

from __future__ import annotations

import re

from llmsspider.reasons import Filtered

MISSING_TITLE = re.compile(
    r"\A\W*(?:(?:error\W*)?404\b|(?:page|site|document|content|file) (?:was |could )?not (?:be )?found|not found\W*\Z"
    r"|(?:oops|sorry|whoops)\b.{0,40}\bnot? (?:be )?found|page (?:does not|doesn.t) exist|nothing (?:to see )?here)",
    re.IGNORECASE,
)
"""Titles of pages that a server shows, with status 200, for a page it does not have."""

MAX_MISSING_CHARACTERS = 1500
"""A page with more text than this is about missing pages rather than one."""


def drop_reason(content: str, title: str | None, *, min_characters: int) -> Filtered | None:
    """Return the reason for a document that is dropped, or None.

    Args:
        content: Markdown.
        title: the document's title.
        min_characters: least number of characters that are not white space.
    """
    characters = (
        len("".join(content.split())) if len(content) < 4 * min_characters + 64 else min_characters + 1
    )
    if characters < min_characters or not content.strip():
        return Filtered("empty", f"fewer than {min_characters} characters")
    if title and len(content) < MAX_MISSING_CHARACTERS and MISSING_TITLE.search(title):
        return Filtered("soft-404", f"status 200, but titled {title!r}")
    return None
