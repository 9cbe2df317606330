"""Markdown bodies, changed as little as possible.

In: text and the URL it came from. Out: a `Page` or its parts, chunks. Rooms above import it;
it imports `web` and `items`.

    page          front matter, banners, links of a body        chunks        pieces of a bounded size
    scan          the links and HTML of a text                  commonmark    the parsers
    code_languages    names of the languages of code
"""

from __future__ import annotations

from llmsspider.content.markdown.page import Draft, draft, read
from llmsspider.content.markdown.scan import looks_like_html, looks_like_markdown

__all__ = ["Draft", "draft", "looks_like_html", "looks_like_markdown", "read"]
