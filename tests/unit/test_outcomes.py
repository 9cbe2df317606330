from __future__ import annotations

import ssl

import pytest
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
from twisted.internet.error import ConnectionLost, DNSLookupError
from twisted.internet.error import TimeoutError as TwistedTimeoutError

from llmsspider.crawler.requests import RefusedRequest, kind_of_exception
from llmsspider.errors import InvalidUrlError
from llmsspider.web.outcomes import kind_of_response

WALL = b"<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script></html>"
RESPONSES = [
    ("page", 200, {}, b"<p>Hello</p>", None),
    ("a proxy's page", 203, {}, b"<p>Hello</p>", None),
    ("accepted", 202, {}, b"", "http"),
    ("no content", 204, {}, b"", "http"),
    ("part", 206, {}, b"<p>Hel", "http"),
    ("not modified", 304, {}, b"", None),
    ("redirect that led nowhere", 302, {}, b"", "http"),
    ("bad request", 400, {}, b"", "http"),
    ("unauthorised", 401, {}, b"", "auth"),
    ("forbidden", 403, {}, b"", "auth"),
    ("not found", 404, {}, b"", "not_found"),
    ("not acceptable", 406, {}, b"", "http"),
    ("gone", 410, {}, b"", "not_found"),
    ("teapot", 418, {}, b"", "http"),
    ("too many requests", 429, {}, b"", "rate_limited"),
    ("legal reasons", 451, {}, b"", "http"),
    ("server error", 500, {}, b"", "network"),
    ("unavailable", 503, {}, b"", "network"),
    ("Cloudflare's own", 522, {}, b"", "network"),
    ("no HTTP status", 999, {}, b"", "http"),
    ("wall that says 200", 200, {}, WALL, "challenge"),
    ("wall that says 403", 403, {"cf-mitigated": "challenge"}, b"", "challenge"),
    ("wall that says 404", 404, {"cf-mitigated": "challenge"}, b"", "challenge"),
    ("wall that says 429", 429, {"x-vercel-mitigated": "challenge"}, b"", "challenge"),
    ("wall that says 503", 503, {}, WALL, "challenge"),
]


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind"), [c[1:] for c in RESPONSES], ids=[c[0] for c in RESPONSES]
)
def test_kind_of_response(status, headers, body, kind):
    assert kind_of_response(status, headers, body) == kind


def test_only_the_start_of_a_body_is_looked_at():
    assert kind_of_response(200, {}, b"<html>" + b"<br>" * 40_000 + WALL) is None


EXCEPTIONS = [
    ("address guard", RefusedRequest("no", reason="address"), "blocked"),
    (
        "refused with its own kind",
        RefusedRequest("no", reason="robots-unreachable", kind="network"),
        "network",
    ),
    ("robots.txt of stock Scrapy", IgnoreRequest("Forbidden by robots.txt"), "blocked"),
    (
        "decompression bomb",
        IgnoreRequest("exceeded DOWNLOAD_MAXSIZE during decompression"),
        "blocked",
    ),
    ("redirect loop", IgnoreRequest("max redirections reached"), "http"),
    ("too large", DownloadCancelledError("Expected to receive 9 bytes which is larger"), "blocked"),
    ("scheme", NotSupported("Unsupported URL scheme 'file'"), "blocked"),
    ("scheme, from the handler", UnsupportedURLSchemeError("gopher"), "blocked"),
    ("DNS", CannotResolveHostError("x"), "network"),
    ("DNS, from Twisted", DNSLookupError("x"), "network"),
    ("timeout", DownloadTimeoutError("x"), "network"),
    ("timeout, from Twisted", TwistedTimeoutError(), "network"),
    ("refused connection", DownloadConnectionRefusedError("x"), "network"),
    ("failed, TLS among it", DownloadFailedError("x"), "network"),
    ("half a body", ResponseDataLossError("x"), "network"),
    ("lost connection", ConnectionLost(), "network"),
    ("proxy tunnel", TunnelError("x"), "network"),
    ("TLS, from Python", ssl.SSLError("x"), "network"),
    ("TimeoutError of asyncio", TimeoutError(), "network"),
    ("invalid URL", InvalidUrlError("x"), "invalid_url"),
    ("no scheme", ValueError("Missing scheme in request url: x"), "invalid_url"),
    ("no host", ValueError("invalid hostname: a b"), "invalid_url"),
    (
        "port that is none",
        ValueError("Port could not be cast to integer value as 'x'"),
        "invalid_url",
    ),
    ("another ValueError", ValueError("could not convert"), "parse"),
    ("anything while parsing", KeyError("x"), "parse"),
    ("recursion while parsing", RecursionError(), "parse"),
]


@pytest.mark.parametrize(
    ("exception", "kind"), [c[1:] for c in EXCEPTIONS], ids=[c[0] for c in EXCEPTIONS]
)
def test_kind_of_exception(exception, kind):
    assert kind_of_exception(exception) == kind
