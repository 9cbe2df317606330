"""Markdown bodies: what a page that is Markdown already gives, with the least possible change."""

from __future__ import annotations

from llmsspider.markdown.reading import Draft, draft, read
from llmsspider.markdown.scan import looks_like_html, looks_like_markdown

__all__ = ["Draft", "draft", "looks_like_html", "looks_like_markdown", "read"]
