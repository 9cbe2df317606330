"""The engines that write Markdown, by the name that `LLMS_CONVERTER` gives.

`native` lets the walk write Markdown itself. Any other engine is given the plain HTML that the same walk writes:
`markdownify`, or a class of the user's. docs/extraction.md has the measurements behind the default.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, cast

from llmsspider.importing import find, path_of

DEFAULT = "native"
FALLBACK = "markdownify"
NAMES = (DEFAULT, FALLBACK)

_FALLBACK_CLASS = "llmsspider.extraction.markdownified.MarkdownifyConverter"


class Converter(Protocol):
    """Plain HTML in, Markdown out. An instance is made without arguments, once a process."""

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment; may raise anything: markdownify takes over for the page."""
        ...


def checked(given: object) -> str:
    """Return the name of an engine, or the path of the class that `given` is or names.

    Raises:
        ImportError: there is no such class. Importing a user's module can raise anything else.
        TypeError: it has no method `convert`.
    """
    if given in NAMES:
        return str(given)
    path = path_of(given)
    if not callable(getattr(find(path), "convert", None)):
        raise TypeError("it has no method convert(html)")
    return path


@lru_cache(maxsize=4)
def converter_named(name: str) -> Converter:
    """Return the engine of this name or class path; raises what importing it raises."""
    made: Any = find(_FALLBACK_CLASS if name == FALLBACK else name)
    return cast("Converter", made())
