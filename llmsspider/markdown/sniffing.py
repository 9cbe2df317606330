"""Is a text HTML, is it Markdown: told from its first kilobytes."""

from __future__ import annotations

import re

_SPACE = re.compile(r"\s*+")
_HTML_START = re.compile(r"<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])", re.IGNORECASE)
_HTML_PARTS = re.compile(r"<(?:head|title|meta|link|script|body|html)[\s>]", re.IGNORECASE)
_TAG_FIRST = re.compile(
    r"\s*<(?:head|title|meta|link|script|style|div|header|nav|main|table|center)[\s>]", re.IGNORECASE
)
_MARKS = (
    re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE),
    re.compile(r"^(?:```|~~~)", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]++\]\([^)\s]"),
    re.compile(r"^\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+", re.MULTILINE),
    re.compile(r"^[^\s#>*+-].*\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE),
    re.compile(r"^[ \t]{0,3}[-*+][ \t]+\S.*\n[ \t]{0,3}[-*+][ \t]+\S", re.MULTILINE),
    re.compile(r"(?<!\w)(?:\*\*|__)\S[^*_\n]*\S(?:\*\*|__)(?!\w)"),
)
_REST = re.compile(
    r"^\.\. [\w-]+::|^:\w+:`|`[^`<\n]+ <[^`>\n]+>`_|^[=~^*+#-]{3,}\n.+\n[=~^*+#-]{3,}$", re.MULTILINE
)
_FRONT_MATTER = re.compile(r"\s*---\n(?:[\w.][\w.-]*+:.*\n|[ \t-].*\n)+---\n")
_WINDOW = 16_384
"""Characters looked at."""


def looks_like_html(text: str | bytes) -> bool:
    """Return True if `text` is an HTML page (not Markdown that holds some HTML).

    >>> looks_like_html("<!DOCTYPE html><html>"), looks_like_html("# Title with <div>")
    (True, False)
    """
    if isinstance(text, bytes):
        text = text[:_WINDOW].decode("utf-8", "replace")
    text = text[:_WINDOW].lstrip("\ufeff")
    if _HTML_START.match(text, _after_comments(text)):
        return True
    return bool(_TAG_FIRST.match(text)) and len(set(map(str.lower, _HTML_PARTS.findall(text)))) >= 2


def _after_comments(text: str) -> int:
    """Return where a text begins behind an XML declaration, comments and white space."""
    position = _after(text, 0, "<?xml", "?>")
    while (end := _after(text, position, "<!--", "-->")) > position:
        position = end
    return position


def _after(text: str, position: int, opening: str, closing: str) -> int:
    """Return where what begins with `opening` has ended, and the white space around it."""
    position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
    end = text.find(closing, position + 4) if text.startswith(opening, position) else -1
    return position if end < 0 else _SPACE.match(text, end + len(closing)).end()  # type: ignore[union-attr]


def looks_like_markdown(text: str) -> bool:
    r"""Return True if a plain text is Markdown: it has headings, fences, links, tables or lists of Markdown.

    reStructuredText, robots.txt, JSON, XML and prose without any markup are not.

    >>> looks_like_markdown("# Title\n\ntext"), looks_like_markdown("User-agent: *")
    (True, False)
    """
    head = text[:_WINDOW].lstrip("\ufeff").replace("\r\n", "\n")
    start = head.lstrip()[:1]
    if not start or looks_like_html(head) or "\0" in head:
        return False
    if start == "{" or (start == "[" and not _MARKS[2].search(head)) or head.lstrip().startswith("<?xml"):
        return False
    if _FRONT_MATTER.match(head):
        return True
    found = sum(1 for mark in _MARKS if mark.search(head))
    rest = len(_REST.findall(head))
    return found > (1 if rest else 0)
