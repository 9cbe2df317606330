"""Markdown bodies, changed as little as possible: from a text and its URL to a `Page`; chunks; languages of code."""

from llmsspider.content.markdown.page import Draft, draft, read
from llmsspider.content.markdown.scan import looks_like_html, looks_like_markdown

__all__ = ["Draft", "draft", "looks_like_html", "looks_like_markdown", "read"]
