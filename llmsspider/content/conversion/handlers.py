"""Content handlers: user classes that convert responses to Markdown, by media type (`LLMS_CONTENT_HANDLERS`).

A handler runs in a conversion process: an exception or a timeout in it fails only the page it was converting.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from mimetypes import MimeTypes
from typing import Protocol

from llmsspider.content import markdown
from llmsspider.content.markdown.commonmark import with_line_feeds
from llmsspider.errors import ArgumentsError, ConversionError
from llmsspider.items import Link, Page, PageMeta
from llmsspider.web.loading import OURS, find, path_of, source_of

_UNKNOWN_TO_PYTHON = {
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".xml": "application/xml",
    ".toml": "application/toml",
    ".ipynb": "application/x-ipynb+json",
    ".rst": "text/x-rst",
    ".adoc": "text/asciidoc",
}


class ContentHandler(Protocol):
    """Converts responses of one media type. Instantiated without arguments, once per process."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the Markdown of a response, or a `Page`. Any exception fails the page.

        Args:
            body: the response body, decompressed.
            url: the URL of the response; the base of relative links in the Markdown.
            mime_type: the media type without parameters, in lower case.
            encoding: the charset of the Content-Type header, or None.
        """
        ...


@dataclass(slots=True, frozen=True)
class Handlers:
    """The import paths of the handler classes, by media type."""

    paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def extensions(self) -> frozenset[str]:
        """File extensions, without dot, of the media types that have a handler; such files are crawled as pages.

        >>> Handlers({"application/pdf": "mine.Pdf"}).extensions
        frozenset({'pdf'})
        """
        known = MimeTypes()  # Python's built-in table, not that of the operating system
        for ending, mime_type in _UNKNOWN_TO_PYTHON.items():
            known.add_type(mime_type, ending)
        endings = chain.from_iterable(map(known.guess_all_extensions, self.paths))
        return frozenset(ending.removeprefix(".") for ending in endings)

    @property
    def fingerprint(self) -> str:
        """A hash of the handlers' paths and of the source of their modules; empty without handlers.

        It differs for content that other handlers converted. The source of this project's own handlers is not hashed:
        the extractor version covers it.
        """
        if not self.paths:
            return ""
        known = []
        for mime_type, path in sorted(self.paths.items()):
            source = ""
            with suppress(ImportError, AttributeError, ValueError):  # `check_handlers` reports it
                source = "" if path.startswith(OURS) else source_of(find(path))
            known.append((mime_type, path, source))
        return "+" + hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]


def check_handlers(given: Mapping[str, object]) -> Handlers:
    """Return the handlers that `LLMS_CONTENT_HANDLERS` names; the value None removes the handler of a media type.

    Raises `ArgumentsError` with one line for each handler that cannot be used.
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
            found = find(paths[mime_type])
            if not isinstance(found, type) or not callable(getattr(found, "read", None)):
                raise TypeError("it is no class with a method `read`")
            inspect.signature(found).bind()
        except Exception as error:  # whatever the user's module raises
            said = f"the path of a handler class is accepted ({type(error).__name__}: {error})"
            problems.append(f"setting LLMS_CONTENT_HANDLERS[{mime_type!r}]={value!r}: {said}")
    if problems:
        raise ArgumentsError(problems)
    return Handlers(paths)


_handler = cache(lambda path: find(path)())  # type: ignore[operator]


def handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    """Return a response as converted by the handler at `path`; raises `ConversionError`."""
    try:
        made = _handler(path).read(body, url, mime_type, encoding)
        return markdown.read(made, url) if isinstance(made, str) else _whole(made)
    except Exception as error:  # whatever the user's class raises
        raise ConversionError(f"handler {path}: {type(error).__name__}: {error}") from None


def _whole(page: Page) -> Page:
    """Validate and normalize the page that a handler returned; raises `TypeError` for any other type."""
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
