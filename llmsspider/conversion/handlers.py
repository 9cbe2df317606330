"""Content handlers: classes of users that make Markdown of answers, by media type (`LLMS_CONTENT_HANDLERS`).

A handler works in a conversion process: what it raises, and the time it takes, costs its page only.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from mimetypes import MimeTypes
from typing import Protocol

from llmsspider import markdown
from llmsspider.errors import ArgumentsError, ConversionError
from llmsspider.items import Link, Page, PageMeta
from llmsspider.loading import OURS, find, path_of, source_of
from llmsspider.markdown.commonmark import with_line_feeds

_UNKNOWN_TO_PYTHON = (
    ("application/yaml", ".yaml"),
    ("application/yaml", ".yml"),
    ("application/xml", ".xml"),
    ("application/toml", ".toml"),
    ("application/x-ipynb+json", ".ipynb"),
    ("text/x-rst", ".rst"),
    ("text/asciidoc", ".adoc"),
)


class ContentHandler(Protocol):
    """Reads answers of one media type. An instance is made without arguments, once a process."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the Markdown of an answer, or a `Page`; raise anything where that cannot be done.

        Args:
            body: as it was sent, decompressed.
            url: where it came from; relative links of the Markdown are taken from here.
            mime_type: without parameters, lower-case.
            encoding: the one the Content-Type header declares, or None.
        """
        ...


@dataclass(slots=True, frozen=True)
class Handlers:
    """The paths of the handler classes, by media type."""

    paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def extensions(self) -> frozenset[str]:
        """The extensions, without dot, of files that are pages because a handler reads them.

        >>> Handlers({"application/pdf": "mine.Pdf"}).extensions
        frozenset({'pdf'})
        """
        known = MimeTypes()  # Python's own table, the same on every machine
        for mime_type, ending in _UNKNOWN_TO_PYTHON:
            known.add_type(mime_type, ending)
        return frozenset(
            ending.removeprefix(".")
            for mime_type in self.paths
            for ending in known.guess_all_extensions(mime_type)
        )

    @property
    def fingerprint(self) -> str:
        """What tells content made with these handlers, and the source of their modules, from other content.

        Empty without handlers. Those of this project change with the version of the extraction.
        """
        if not self.paths:
            return ""
        known = [(mime_type, path, _source(path)) for mime_type, path in sorted(self.paths.items())]
        return "+" + hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]


def _source(path: str) -> str:
    with suppress(
        ImportError, AttributeError, ValueError
    ):  # `check_handlers` has said what is wrong with a path
        return "" if path.startswith(OURS) else source_of(find(path))
    return ""


def check_handlers(given: Mapping[str, object]) -> Handlers:
    """Return the handlers that `LLMS_CONTENT_HANDLERS` names; None in place of a path takes one out.

    Raises:
        ArgumentsError: one line for each that cannot be used.
    """
    paths: dict[str, str] = {}
    problems: list[str] = []
    for mime_type, value in given.items():
        if value is None:
            continue
        try:
            if mime_type != mime_type.lower() or mime_type.count("/") != 1:
                raise ValueError("a media type such as application/json is needed")
            paths[mime_type] = path_of(value)
            _check(find(paths[mime_type]))
        except Exception as error:  # whatever the user's module raises
            said = f"the path of a handler class is accepted ({type(error).__name__}: {error})"
            problems.append(f"setting LLMS_CONTENT_HANDLERS[{mime_type!r}]={value!r}: {said}")
    if problems:
        raise ArgumentsError(problems)
    return Handlers(paths)


def _check(found: object) -> None:
    if not isinstance(found, type) or not callable(getattr(found, "read", None)):
        raise TypeError("it is no class with a method `read`")
    inspect.signature(found).bind()


@cache
def _handler(path: str) -> ContentHandler:
    return find(path)()  # type: ignore[operator, no-any-return]


def handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    """Return the page that the handler at `path` makes of an answer; raises `ConversionError`."""
    try:
        made = _handler(path).read(body, url, mime_type, encoding)
        return markdown.read(made, url) if isinstance(made, str) else _whole(made)
    except Exception as error:  # whatever the user's class raises
        raise ConversionError(f"handler {path}: {type(error).__name__}: {error}") from None


def _whole(page: Page) -> Page:
    """Return a handler's page, with what the crawl relies on made sure."""
    if not isinstance(page, Page) or not isinstance(page.meta, PageMeta):
        raise TypeError(f"it returned {type(page).__name__}, not Markdown or a Page")
    text = with_line_feeds(page.markdown).strip("\n")
    return Page(
        markdown=f"{text}\n" if text.strip() else "",
        links=[Link(str(link.text), str(link.url)) for link in page.links],
        follow=[str(url) for url in page.follow],
        meta=page.meta,
        converter=page.converter,
        parts=[(str(after), _whole(part)) for after, part in page.parts],
    )
