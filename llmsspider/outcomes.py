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
