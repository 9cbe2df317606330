"""Exceptions of refused requests and of nested downloads, and the error kind of any exception, by its class."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, get_args

from OpenSSL.SSL import Error as TlsError
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError
from twisted.web.client import ResponseFailed

from llmsspider.errors import ErrorKind, InvalidUrlError
from llmsspider.web.stats import BlockReason, FilterReason

if TYPE_CHECKING:
    from llmsspider.web.scope import Verdict


# The exceptions of components that refuse a request or a response on purpose, or filter a page by the scope.


class RefusedRequest(IgnoreRequest):
    """Refused by a rule of this project, and never retried.

    `kind` is the page's error kind, which `llmsspider.crawl.download_errors.kind_of_exception` reads. `reason` is the
    last part of the stat that was counted. The text is one
    line for the user.
    """

    def __init__(self, message: str, *, reason: BlockReason | FilterReason, kind: ErrorKind = "blocked"):
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.reason: BlockReason | FilterReason = reason


class FilteredRequest(IgnoreRequest):
    """A page is filtered by a rule of the scope; `verdict` says which."""

    def __init__(self, verdict: Verdict):
        super().__init__(f"{verdict.reason}: {verdict.rule}")
        self.verdict = verdict


class NestedDownloadError(Exception):
    """The download of a file that belongs to another page failed (`llmsspider.crawl.requests.download_nested`).

    `kind` is the error kind of the exception that the download raised. The text is the first line of its message, its
    class name if it has none.
    """

    def __init__(self, error: Exception):
        super().__init__(str(error).partition("\n")[0] or type(error).__name__)
        self.kind: ErrorKind = kind_of_exception(error)


# The error kind of an exception that was raised while a page was fetched or read, by its class.

KIND_OF_EXCEPTION: dict[type[BaseException], ErrorKind] = {
    InvalidUrlError: "invalid_url",
    IgnoreRequest: "blocked",
    NotSupported: "blocked",
    UnsupportedURLSchemeError: "blocked",
    DownloadCancelledError: "blocked",  # how Scrapy reports `DOWNLOAD_MAXSIZE`
    CannotResolveHostError: "network",
    DownloadConnectionRefusedError: "network",
    DownloadFailedError: "network",
    DownloadTimeoutError: "network",
    ResponseDataLossError: "network",
    ResponseFailed: "network",
    DNSLookupError: "network",
    ConnectError: "network",
    ConnectionClosed: "network",
    TunnelError: "network",
    TlsError: "network",
    OSError: "network",
}

URL_COMPLAINTS = (
    "missing scheme",
    "invalid hostname",
    "invalid url",
    "invalid ipv6 url",
    "port could not be cast",
    "port out of range",
)
"""How the `ValueError`s of Scrapy, Twisted and `urllib.parse` begin that are about a URL, in lower case."""


def kind_of_exception(exception: BaseException) -> ErrorKind:
    """Return the error kind of an exception; an exception that knows its kind has it as attribute `kind`."""
    kind: ErrorKind | None = getattr(exception, "kind", None)
    if kind is not None and kind in get_args(ErrorKind):
        return kind
    text = str(exception).lower()
    if isinstance(exception, IgnoreRequest) and "max redirections reached" in text:
        return "http"
    if isinstance(exception, ValueError) and text.startswith(URL_COMPLAINTS):
        return "invalid_url"
    if isinstance(exception, _browser_errors()):
        return "network"
    return next(
        (KIND_OF_EXCEPTION[cls] for cls in type(exception).__mro__ if cls in KIND_OF_EXCEPTION), "parse"
    )


def _browser_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of Playwright, which is imported with the first page that a browser renders."""
    playwright = sys.modules.get("playwright.async_api")
    return () if playwright is None else (playwright.Error,)
