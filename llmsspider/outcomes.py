"""What became of a request: the one classification of responses into error kinds.

    not_found     404, 410
    auth          401, 403
    challenge     a bot wall, whatever its status (`llmsspider.challenges`)
    rate_limited  429, after the retries
    http          other 4xx, redirects that lead nowhere or never end, and 2xx that bring no whole page (202, 204, 206)
    network       5xx, timeout, DNS, TLS, connection
    invalid_url   text that is not an absolute http(s) URL
    blocked       refused on our side: robots.txt, address guard, opt-out, size limit
    parse         anything that failed while the answer was read

Only `not_found` says that a page is gone. No Scrapy here: `llmsspider.download_errors` classifies exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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

OUTAGES: frozenset[ErrorKind] = frozenset({"auth", "challenge", "rate_limited", "http", "network", "parse"})
"""Kinds that say nothing of the page: it may be back tomorrow. A run that meets many of them saw half of the site."""

PAGE_STATUSES = frozenset({200, 203})
"""Statuses of a whole page. No range is asked for, so 206 is half of one (RFC 9110, section 15.3.7)."""

FAULTS: tuple[tuple[str, str, str], ...] = (
    (
        "wrong version number|packet length too long|record layer failure|unknown protocol",
        "the server does not speak TLS there",
        "try http:// in place of https://",
    ),
    (
        "certificate verify failed|VerificationError",
        "its certificate is not valid for this host",
        "check the address; a site that you trust is fetched all the same with -s DOWNLOAD_VERIFY_CERTIFICATES=False",
    ),
    (
        "CannotResolveHostError|DNSLookupError|DNS lookup failed",
        "no address is known for that host name (DNS)",
        "check the spelling, and that you are online",
    ),
    (
        "ConnectionRefused",
        "the connection was refused: nothing listens at that host and port",
        "check the port, and that the server is up",
    ),
    (
        "TimeoutError|Timeout|took longer than",
        "no answer in time",
        "try again later",
    ),
    (
        "ConnectionLost|ConnectionDone|ConnectionAborted|Connection to the other side was lost",
        "the server closed the connection without an answer",
        "try the other scheme, http:// or https://, or try again later",
    ),
)
"""Failures of the network: a pattern of the names and texts of their exceptions, what happened, what to do about it."""

REMEDIES: dict[ErrorKind, str] = {
    "not_found": "check the address in a browser",
    "auth": "give the credentials in LLMS_HTTP_AUTH",
    "challenge": "the site keeps programs out: ask its operator for access",
    "rate_limited": "try again later, with -s LLMS_MAX_RATE=1",
    "http": "check the address in a browser",
    "network": "try again later",
}
"""What to do about a start page that failed, by error kind; the message of a refused one (`blocked`) says it."""

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


def explained(exception: BaseException) -> str:
    """Return what an exception of a download means and what to do about it, in one line; its own text where unknown.

    >>> explained(ConnectionRefusedError(111, "Connection refused")).partition(":")[0]
    'the connection was refused'
    """
    text = f"{' '.join(cls.__name__ for cls in type(exception).__mro__)} {exception}"
    for pattern, what, remedy in FAULTS:
        if re.search(pattern, text):
            return f"{what}; {remedy}"
    return str(exception) or type(exception).__name__


def remedied(kind: ErrorKind, message: str) -> str:
    """Return why the start page failed and what to do about it, in one line.

    >>> remedied("not_found", "HTTP status 404")
    'HTTP status 404; check the address in a browser'
    """
    remedy = REMEDIES.get(kind)
    return f"{message}; {remedy}" if remedy and "; " not in message else message
