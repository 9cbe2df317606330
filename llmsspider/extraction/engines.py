"""The engines that write Markdown, behind one interface, `Engine.write(walk, main)`.

`native` lets the walk write Markdown itself. A library engine is given the plain HTML that the same walk
writes. docs/extraction.md has the measurements behind the default.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Protocol

DEFAULT = "native"
FALLBACK = "markdownify"
NAMES = ("native", "html-to-markdown", "markdownify")


class Converter(Protocol):
    """A library engine: plain HTML in, Markdown out."""

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment; may raise anything."""
        ...


@lru_cache(maxsize=4)
def converter_named(name: str) -> Converter:
    """Return the library engine called `name`.

    Raises:
        ImportError: the engine is not installed.
        ValueError: no engine has this name.
    """
    if name == "html-to-markdown":
        return _load("llmsspider.extraction.compiled", "CompiledConverter")
    if name == "markdownify":
        return _load("llmsspider.extraction.markdownified", "MarkdownifyConverter")
    raise ValueError(f"unknown converter {name!r}: use one of {', '.join(NAMES)}")


def _load(module: str, name: str) -> Converter:
    """Import an engine only where it is asked for: the others may not be installed."""
    converter: Converter = getattr(import_module(module), name)()
    return converter
