"""The parsers of CommonMark: pyromark, and markdown-it-py where blocks are asked for with their lines.

markdown-it-py is loaded where it is needed, since most crawls never do.
"""

from __future__ import annotations

import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any

from pyromark import Markdown, Options

from llmsspider.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt

_PARSER = Markdown(options=Options.ENABLE_TABLES)
_PLAIN = re.compile(
    r"(?:https?://[\w.-]+(?::\d+)?(?=[/?#]|\Z))?(?!//)"
    r"[\w./?=&~+,;!$*'()-]*(?:#[\w./?=&:~+,;!$*'()-]*)?\Z",
    re.ASCII,
)
"""What encoding leaves as it is; nearly every link of documentation."""


def encodable(text: str) -> str:
    """Return a text as `events`, `events_with_range` and `definitions` take it: without lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def events(text: str) -> Iterator[Any]:
    """Yield what stands in a text, in order: `{"Start": "Paragraph"}`, `{"Text": "a"}`, or a bare `"SoftBreak"`.

    Raises:
        ConversionError: the parser itself failed.
    """
    with _panics():
        yield from _PARSER.events(text, merge_text=True)


def events_with_range(text: str) -> Iterator[tuple[Any, Any]]:
    """Yield the events of a text, each with its place in the text in UTF-8; raises `ConversionError`."""
    with _panics():
        yield from _PARSER.events_with_range(text, merge_text=True)


def definitions(text: str) -> dict[str, Any]:
    """Return the definitions of references by label, each with `dest`, `title`, `span`, in the order of the text."""
    with _panics():
        found: dict[str, Any] = _PARSER.reference_definitions(text) if "]:" in text else {}
    return dict(sorted(found.items(), key=lambda item: item[1]["span"]["start"]))


@contextlib.contextmanager
def _panics() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # what Rust makes of a bug of its own; no Exception
            raise ConversionError(f"the Markdown parser failed: {error}") from None
        raise


def parser(options: dict[str, bool | int]) -> MarkdownIt:
    """Return a CommonMark parser that reads tables."""
    from markdown_it import MarkdownIt  # noqa: PLC0415

    logging.getLogger("markdown_it").setLevel(logging.INFO)  # its DEBUG records are half the work of a parse
    return MarkdownIt("commonmark", options).enable("table")


def encoded(destination: str) -> str:
    """Return a destination percent-encoded, its host in ASCII (markdown-it's `normalizeLink`).

    >>> encoded("guide/install.md#linux"), encoded("guide/größe.md")
    ('guide/install.md#linux', 'guide/gr%C3%B6%C3%9Fe.md')
    """
    if _PLAIN.match(destination):
        return destination
    from markdown_it.common.normalize_url import normalizeLink  # noqa: PLC0415

    return normalizeLink(destination)
