"""What became of a request: the one classification of responses and exceptions into error kinds.

    not_found     404, 410
    auth          401, 403
    challenge     a bot wall, whatever its status (`llmsspider.challenges`)
    rate_limited  429, after the retries
    http          other 4xx, redirects that lead nowhere or never end, and 2xx that bring no whole page (202, 204, 206)
    network       5xx, timeout, DNS, TLS, connection
    invalid_url   text that is not an absolute http(s) URL
    blocked       refused on our side: robots.txt, address guard, opt-out, size limit
    parse         anything that failed while the answer was read

Only `not_found` says that a page is gone. No Scrapy here: exceptions are told apart by class name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from llmsspider.challenges import challenge_of
from llmsspider.errors import ErrorKind

KIND_OF_STATUS: dict[int, ErrorKind] = {
    404: "not_found",
    410: "not_found",
    401: "auth",
    403: "auth",
    429: "rate_limited",
}
"""Statuses with a kind of their own."""

KIND_OF_EXCEPTION: dict[str, ErrorKind] = {
    "InvalidUrlError": "invalid_url",
    "IgnoreRequest": "blocked",
    "NotSupported": "blocked",
    "UnsupportedURLSchemeError": "blocked",
    "DownloadCancelledError": "blocked",
    "CannotResolveHostError": "network",
    "DownloadConnectionRefusedError": "network",
    "DownloadFailedError": "network",
    "DownloadTimeoutError": "network",
    "ResponseDataLossError": "network",
    "ResponseFailed": "network",
    "DNSLookupError": "network",
    "ConnectError": "network",
    "ConnectionLost": "network",
    "ConnectionDone": "network",
    "TunnelError": "network",
    "SSL.Error": "network",
    "VerificationError": "network",
}
"""Class names of Scrapy and Twisted; `DownloadCancelledError` is how Scrapy reports `DOWNLOAD_MAXSIZE`."""

OUTAGES: frozenset[ErrorKind] = frozenset({"auth", "challenge", "rate_limited", "http", "network", "parse"})
"""Kinds that say nothing of the page: it may be back tomorrow. A run that meets many of them saw half of the site."""

PAGE_STATUSES = frozenset({200, 203})
"""Statuses of a whole page. No range is asked for, so 206 is half of one (RFC 9110, section 15.3.7)."""

URL_COMPLAINTS = (
    "missing scheme",
    "invalid hostname",
    "invalid url",
    "invalid ipv6 url",
    "port could not be cast",
    "port out of range",
)
"""How the `ValueError`s of Scrapy, Twisted and `urllib.parse` begin that are about a URL, in lower case."""

_BODY_PREFIX = 64 * 1024
"""Bytes of a body that are looked at for a bot wall."""


def kind_of_response(status: int, headers: Mapping[str, str], body_prefix: bytes = b"") -> ErrorKind | None:
    """Return the error kind of an answer, None where it is a page (200, 203) or says nothing changed (304).

    `headers` maps lower-case names to values. `body_prefix` is the start of the body; without it only
    bot walls that show in the headers are found.
    """
    if challenge_of(status, headers, body_prefix[:_BODY_PREFIX]):
        return "challenge"
    if status in PAGE_STATUSES or status == 304:
        return None
    if 500 <= status < 600:
        return "network"
    return KIND_OF_STATUS.get(status, "http")


def kind_of_exception(exception: BaseException) -> ErrorKind:
    """Return the error kind of an exception raised while a page was fetched or read.

    An exception that knows its kind has it as attribute `kind`.
    """
    kind: ErrorKind | None = getattr(exception, "kind", None)
    if kind is not None and kind in get_args(ErrorKind):
        return kind
    text = str(exception)
    if "max redirections reached" in text:
        return "http"
    if isinstance(exception, ValueError) and _is_url_complaint(text):
        return "invalid_url"
    if isinstance(exception, OSError) or type(exception).__module__.startswith(("playwright", "OpenSSL")):
        return "network"
    return _by_name(cls.__name__ for cls in type(exception).__mro__)


def _is_url_complaint(text: str) -> bool:
    return text.lower().startswith(URL_COMPLAINTS)


def _by_name(names: Iterable[str]) -> ErrorKind:
    return next((KIND_OF_EXCEPTION[name] for name in names if name in KIND_OF_EXCEPTION), "parse")
