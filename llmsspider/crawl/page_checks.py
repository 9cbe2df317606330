"""Whether HTML breaks off, and whether a page is documentation. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from llmsspider.web.media_types import Kind
from llmsspider.web.stats import Filtered

# Pages that break off without a sign. No Scrapy here.
# A body with the Content-Length of its half looks whole. `</html>` may be left out (HTML, section 13.1.2.4), so its
# absence says nothing of a page by itself: it does where the page had one. The same holds for the line end that
# closes a file of Markdown; and a text breaks off where the stored one went on in the middle of a line.

END_TAG = b"</html"
_LAST_BYTES = 1024
"""Where an end tag stands, nearly always: a page of 96 KB in lower case takes 0.1 ms."""


def has_end(body: bytes, kind: Kind) -> bool | None:
    r"""Say whether HTML has its end tag, Markdown its last line end; None for what has no end.

    >>> has_end(b"<html><p>Text</HTML>", "html"), has_end(b"<html><p>Te", "html"), has_end(b"# Text\n", "markdown")
    (True, False, True)
    """
    if kind == "html":
        return END_TAG in body[-_LAST_BYTES:].lower() or END_TAG in body.lower()
    return body.endswith(b"\n") if kind == "markdown" else None


TAIL_WORDS = 8
"""Words at the end of a text that are looked for in the stored one."""


def breaks_off(before: str, now: str) -> bool:
    r"""Say whether a text ends in the middle of a line of the stored one.

    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n\nRun i\n")
    True
    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n")
    False
    """
    before, now = before.rstrip(), now.rstrip()
    if not now or len(now) >= len(before):
        return False
    if before.startswith(now):
        return before[len(now)] != "\n"
    begin, *words = now.rsplit(None, TAIL_WORDS)
    tail = now[len(begin) :].lstrip()
    at = before.find(tail) if len(words) == TAIL_WORDS else -1
    while at >= 0:
        end = at + len(tail)
        if end < len(before) and before[end] != "\n":
            return True
        at = before.find(tail, end)
    return False


class MissingEnds:
    """The stored pages that came without their end, see `has_end`, each with its number of such runs in a row.

    Args:
        before: `counts` of the run before this one.
        runs: runs in a row after which a page is believed, as a site may stop to write it; 0 for never.
    """

    def __init__(self, before: Mapping[bytes, int], runs: int):
        self._before = before
        self._runs = runs
        self.counts = dict(before)

    def breaks_off(self, key: bytes, body: bytes, kind: Kind) -> bool:
        """Say whether a body is only the beginning of a stored page, which had its end."""
        times = 0 if has_end(body, kind) else self._before.get(key, 0) + 1
        if times == 0 or (self._runs and times >= self._runs):
            self.counts.pop(key, None)
            return False
        self.counts[key] = times
        return True


# What is no documentation: the reasons a converted page is dropped. Pure.

MISSING_TITLE = re.compile(
    r"\A\W*(?:(?:error\W*)?404\b|(?:page|site|document|content|file) (?:was |could )?not (?:be )?found|not found\W*\Z"
    r"|(?:oops|sorry|whoops)\b.{0,40}\bnot? (?:be )?found|page (?:does not|doesn.t) exist|nothing (?:to see )?here)",
    re.IGNORECASE,
)
"""Titles of pages that a server shows, with status 200, for a page it does not have."""

MAX_MISSING_CHARACTERS = 1500
"""Maximum length in characters of a page that says that it is missing; longer ones are about missing pages."""


def drop_reason(content: str, title: str | None, *, min_characters: int) -> Filtered | None:
    """Return the reason for a document that is dropped, or None.

    Args:
        content: Markdown.
        title: the document's title.
        min_characters: minimum number of characters that are not white space.
    """
    characters = (
        len("".join(content.split())) if len(content) < 4 * min_characters + 64 else min_characters + 1
    )
    if characters < min_characters or not content or content.isspace():
        return Filtered("empty", f"fewer than {min_characters} characters")
    if title and len(content) < MAX_MISSING_CHARACTERS and MISSING_TITLE.search(title):
        return Filtered("soft-404", f"status 200, but titled {title!r}")
    return None
