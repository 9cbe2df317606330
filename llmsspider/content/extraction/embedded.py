"""Markdown that a page embeds for a script to render."""

from __future__ import annotations

import re
import textwrap
from html import unescape
from itertools import islice

from lxml.etree import _Element

from llmsspider.content.extraction.metadata import HAS_SCRIPTS, SHELL_TEXT, text_size
from llmsspider.content.extraction.parsing import Source

_HOLDER = re.compile(
    r"<(?:(xmp)\b[^<>]{0,500}|(script)\b[^<>]{0,300}?\btype\s*=\s*[\"']?text/(?:x-)?markdown\b[^<>]{0,300}"
    r"|(textarea)\b[^<>]{0,300}?\btheme\s*=[^<>]{0,300})>",
    re.IGNORECASE,
)
"""The tag of an element with Markdown, such as Strapdown's (`<xmp>`, `<textarea theme>`)."""
MAX_HOLDERS = 200
"""Maximum number of elements of one page that are searched for Markdown."""


def held_markdown(root: _Element, source: Source) -> str | None:
    """Return the Markdown that a page embeds for a script to render; None if it has other text or
    no script.
    """
    if not source.may_hold(
        b"<xmp", b"text/markdown", b"text/x-markdown", b"<textarea"
    ) or not HAS_SCRIPTS(root):
        return None
    if text_size(root, "xmp", "textarea") > SHELL_TEXT:
        return None
    html = source.body.decode(source.encoding, "replace")
    lowered = html.lower()
    lowered = lowered if len(lowered) == len(html) else html
    held = []
    end = 0
    for begin in islice(_HOLDER.finditer(html), MAX_HOLDERS):
        name = next(filter(None, begin.groups())).lower()
        found = lowered.find(f"</{name}", begin.end()) if begin.start() >= end else -1
        if found >= 0:
            end = found
            text = html[begin.end() : end]
            held.append(textwrap.dedent(unescape(text) if name == "textarea" else text).strip())
    return "\n\n".join(filter(None, held)) or None
