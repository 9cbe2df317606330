"""Versions of what is stored."""

from __future__ import annotations

EXTRACTOR_VERSION = 8
"""Grows with each change of the Markdown made from the same page: stored pages of another version are made again."""
