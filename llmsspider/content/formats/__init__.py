"""Content handlers: the formats besides HTML and Markdown that are converted, and classes of users
by media type.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from mimetypes import MimeTypes
from typing import Literal, NamedTuple, Protocol, cast, get_args
from urllib.parse import unquote, urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.items import Page
from llmsspider.web.loading import OURS, Extra, find, missing_extra, path_of, source_of
from llmsspider.web.page_forms import MARKUP_TYPES

ApiDocuments = Literal["file", "tag", "operation"]
"""What of an OpenAPI file is one document: everything, what has one tag, or an operation."""

Mode = Literal["off", "listed", "linked"]
"""Which files of a format are pages: none, those that an llms.txt or sitemap lists, or linked ones
too.
"""

_HEAD = 64 * 1024
"""Number of bytes at the beginning of a file in which `sniff` must match."""


class LinkedFormat(NamedTuple):
    """How a format is recognised, and the class that converts it.

    `sniff` must match within the first `_HEAD` bytes.
    """

    reader: str
    types: tuple[str, ...]
    extensions: tuple[str, ...]
    default: Mode = "listed"
    sniff: re.Pattern[bytes] | None = None
    extra: Extra | None = None


_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_ZIP = re.compile(rb"\APK\x03\x04")


def _office(
    reader: str, mime_type: str, extension: str, sniff: re.Pattern[bytes] = _ZIP
) -> LinkedFormat:
    path = f"llmsspider.content.formats.office.{reader}"
    return LinkedFormat(path, (mime_type,), (extension,), sniff=sniff, extra="documents")


FORMATS: dict[str, LinkedFormat] = {
    "openapi": LinkedFormat(
        "llmsspider.content.openapi.OpenApiHandler",
        ("application/vnd.oai.openapi", "application/vnd.oai.openapi+json"),
        ("json", "yaml", "yml"),
        sniff=re.compile(rb'["\']?(?:openapi|swagger)["\']?\s{0,9}:\s{0,9}["\']?[23]\.'),
    ),
    "notebook": LinkedFormat(
        "llmsspider.content.formats.documents.NotebookHandler",
        ("application/x-ipynb+json",),
        ("ipynb",),
        sniff=re.compile(rb'"(?:cells|nbformat|worksheets)"\s{0,9}:'),
    ),
    "pdf": _office("PdfHandler", "application/pdf", "pdf", re.compile(rb"%PDF-")),
    "word": _office("WordHandler", f"{_OPEN_XML}.wordprocessingml.document", "docx"),
    "powerpoint": _office("OfficeHandler", f"{_OPEN_XML}.presentationml.presentation", "pptx"),
    "excel": _office("OfficeHandler", f"{_OPEN_XML}.spreadsheetml.sheet", "xlsx"),
    "epub": _office("OfficeHandler", "application/epub+zip", "epub"),
}
"""Every format by its name in `LLMS_FORMATS`."""


@dataclass(slots=True, frozen=True)
class Formats:
    """The mode of each format: which formats are converted, and for which files; and how OpenAPI
    files are split.
    """

    modes: Mapping[str, Mode] = field(
        default_factory=lambda: {name: one.default for name, one in FORMATS.items()}
    )
    openapi: ApiDocuments = "tag"

    @classmethod
    def parse(cls, value: object) -> Formats:
        """Read the setting: modes by format, as a dict, JSON or `pdf=linked, notebook=off`; others
        keep their default.

        The mode of `openapi` may be followed, or replaced, by what is one document: `openapi=listed
        operation`.

        Raises:
            ValueError: one line that says what is wrong.
        """
        modes = dict(cls().modes)
        openapi = cls().openapi
        for name, given in _pairs(value):
            mode = given
            if name not in FORMATS:
                raise ValueError(f"{name!r} is no format: accepted are {', '.join(FORMATS)}")
            *before, last = mode.split() or [""]
            if name == "openapi" and last in get_args(ApiDocuments):
                openapi = cast("ApiDocuments", last)
                mode = " ".join(before) or modes[name]
            if mode not in get_args(Mode):
                raise ValueError(f"{name}={mode!r}: accepted are {', '.join(get_args(Mode))}")
            extra = FORMATS[name].extra
            if mode != "off" and extra is not None and (lack := missing_extra(extra)) is not None:
                raise ValueError(f"{name}: {lack}")
            modes[name] = cast("Mode", mode)
        return cls(modes, openapi)

    def extensions(self, mode: Mode) -> frozenset[str]:
        """The extensions, without dot, of files that are pages if linked to (`linked`) or if listed
        (`listed`).
        """
        modes = {"linked"} if mode == "linked" else {"linked", "listed"}
        on = [one for name, one in FORMATS.items() if self.modes[name] in modes]
        return frozenset(ending for one in on for ending in one.extensions)

    @property
    def fingerprint(self) -> str:
        """The modes that are not the default, and that an extra is missing, as text for the
        fingerprint of the converter; empty for the defaults.
        """
        changed = [
            f"{name}={mode}" for name, mode in self.modes.items() if mode != FORMATS[name].default
        ]
        split = "" if self.openapi == "tag" else f"+openapi={self.openapi}"
        without = "" if all(map(_is_here, FORMATS.values())) else "+no-documents"
        return (f"+{','.join(changed)}" if changed else "") + split + without

    def reader(self, mime_type: str | None, url: str, body: bytes, *, listed: bool) -> str | None:
        """Return the path of the class that converts a response; None if it is of no enabled
        format.

        >>> Formats().reader("text/plain", "https://e.com/a.ipynb", b'{"cells": []}', listed=True)
        'llmsspider.content.formats.documents.NotebookHandler'
        """
        modes = {"linked", "listed"} if listed else {"linked"}
        enabled = [name for name in FORMATS if self.modes[name] in modes]
        name = format_of(mime_type, url, body, enabled)
        return FORMATS[name].reader if name and _is_here(FORMATS[name]) else None


def _is_here(one: LinkedFormat) -> bool:
    """Return True if what converts a format is installed."""
    return one.extra is None or missing_extra(one.extra) is None


def format_of(
    mime_type: str | None, url: str, body: bytes, among: Iterable[str] = FORMATS
) -> str | None:
    """Return the name of the format, `among` those given, that a body is of by its media type, or
    its name and first bytes; else None.
    """
    file = unquote(urlsplit(url).path).rpartition("/")[2].lower()
    for name in among:
        one = FORMATS[name]
        known = mime_type in one.types or (
            file.endswith(tuple(f".{ending}" for ending in one.extensions))
            and mime_type not in {"text/html", "application/xhtml+xml"}
        )
        if known and (one.sniff is None or one.sniff.search(body, 0, _HEAD)):
            return name
    return None


def _pairs(value: object) -> list[tuple[str, str]]:
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        parts = [part.partition("=") for part in value.split(",") if part.strip()]
        return [(name.strip(), mode.strip()) for name, _, mode in parts]
    given = value
    with contextlib.suppress(ValueError):
        given = json.loads(value) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ValueError("a mode by format is accepted, such as pdf=linked,notebook=off")
    return [(str(name), str(mode)) for name, mode in given.items()]


# Content handlers: user classes that convert responses to Markdown, by media type
# (`LLMS_CONTENT_HANDLERS`). An exception or a timeout in one fails only the page it was converting.

_UNKNOWN_TO_PYTHON = {
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".xml": "application/xml",
    ".toml": "application/toml",
    ".ipynb": "application/x-ipynb+json",
    **{f".{ending}": mime_type for ending, mime_type in MARKUP_TYPES.items()},
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
        """File extensions, without dot, of the media types that have a handler; such files are
        crawled as pages.

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
        """A hash of the handlers' paths and of the source of their modules, but for our own; empty
        without handlers.
        """
        if not self.paths:
            return ""
        known = []
        for mime_type, path in sorted(self.paths.items()):
            source = ""
            # `check_handlers` reports it
            with contextlib.suppress(ImportError, AttributeError, ValueError):
                source = "" if path.startswith(OURS) else source_of(find(path))
            known.append((mime_type, path, source))
        return "+" + hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]


def check_handlers(given: Mapping[str, object]) -> Handlers:
    """Return the handlers that `LLMS_CONTENT_HANDLERS` names, without those that are None; raises
    `ArgumentsError`.
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
            accepted = f"the path of a handler class is accepted ({type(error).__name__}: {error})"
            problems.append(f"setting LLMS_CONTENT_HANDLERS[{mime_type!r}]={value!r}: {accepted}")
    if problems:
        raise ArgumentsError(problems)
    return Handlers(paths)
