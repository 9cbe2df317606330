"""Send the operator's headers to the hosts they belong to, and to no other."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from llmsspider.credentials import Credentials, SecretsFilter, origin_of
from llmsspider.safety import http_auth

logger = logging.getLogger(__name__)


class HostAuthMiddleware:
    """Add the headers of `LLMS_HTTP_AUTH` to requests for exactly the scheme, host and port they are for.

    Stands after the cookies middleware, which rebuilds the `Cookie` header. A redirect to another origin
    carries the headers of the request along; they are taken off again here, whatever their name. While the
    crawl runs, the secrets are redacted in every log handler. The setting may also come from the environment
    variable `LLMS_HTTP_AUTH`, and should never come from a command line, which job lists show.
    """

    def __init__(self, credentials: Credentials):
        if not credentials:
            raise NotConfigured  # without a reason, which Scrapy would log as a warning in every crawl
        self.credentials = credentials
        self._filter = SecretsFilter(credentials)
        self._told: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HostAuthMiddleware:
        """Read `LLMS_HTTP_AUTH`."""
        middleware = cls(http_auth(crawler.settings))
        middleware.redact_logs()
        crawler.signals.connect(middleware.spider_closed, signal=signals.engine_stopped)
        return middleware

    def redact_logs(self) -> None:
        """Filter every handler of the root logger."""
        for handler in logging.getLogger().handlers:
            handler.addFilter(self._filter)

    def spider_closed(self) -> None:
        """Take the filters off again."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self._filter)

    def process_request(self, request: Request) -> None:
        """Set the headers of this origin, remove those of the others."""
        origin = origin_of(request.url)
        if origin is not None and origin[0] == "http":
            self._say_withheld(origin[1])
        for other, headers in self.credentials.by_origin.items():
            if other != origin:
                _remove(request, headers)
        for name, value in self.credentials.headers_for(request.url).items():
            request.headers[name] = _with_cookie(request, value) if name.lower() == "cookie" else value

    def _say_withheld(self, name: str) -> None:
        """Say once for a host that its headers are for https and are not sent over plain http."""
        named = {(scheme, host) for scheme, host, _ in self.credentials.by_origin}
        if ("https", name) in named and ("http", name) not in named and name not in self._told:
            self._told.add(name)
            logger.warning(
                "LLMS_HTTP_AUTH: nothing is sent to http://%(host)s, which is not encrypted; the entry for %(host)s is "
                "for https. To send it all the same, name it http://%(host)s",
                {"host": name},
            )


def _remove(request: Request, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if request.headers.get(name) == value.encode("latin-1"):
            del request.headers[name]


def _with_cookie(request: Request, value: str) -> str:
    """Return the cookies of the site's own session and the operator's."""
    present = (request.headers.get("Cookie") or b"").decode("latin-1")
    return value if not present or value in present else f"{present}; {value}"
