"""Credentials for their hosts alone, and out of the logs."""

from __future__ import annotations

import logging
import os
import re

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from llmsspider.web.credentials import Credentials, origin_of

logger = logging.getLogger(__name__)


REDACTED = "[redacted]"
"""What stands in a log where a secret was."""


class SecretsFilter(logging.Filter):
    """Put `REDACTED` in place of every secret in the log records of a handler."""

    def __init__(self, credentials: Credentials):
        super().__init__()
        longest_first = sorted(credentials.secrets(), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the message, and the traceback; keep every record."""
        message = record.getMessage()
        if self._pattern.search(message):
            record.msg = self._pattern.sub(REDACTED, message)
            record.args = None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._pattern.sub(REDACTED, record.exc_text)
        return True


class HostAuthMiddleware:
    """Add the headers of `LLMS_HTTP_AUTH` to requests for exactly the scheme, host and port they
    are for.

    So are tokens of repository hosts in the environment (`addresses.TOKENS`). It stands after the
    cookies middleware, which rebuilds the `Cookie` header; what a redirect carries to another
    origin is taken off again. While the crawl runs, the secrets are redacted in every log handler.
    """

    def __init__(self, credentials: Credentials):
        if not credentials:
            # without a reason, which Scrapy would log as a warning in every crawl
            raise NotConfigured
        self.credentials = credentials
        self._filter = SecretsFilter(credentials)
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HostAuthMiddleware:
        """Read `LLMS_HTTP_AUTH` and `LLMS_COOKIES_FILE`, and filter every handler of the root
        logger.
        """
        given = Credentials.from_settings(crawler.settings)
        middleware = cls(given.with_tokens(os.environ))
        for handler in logging.getLogger().handlers:
            handler.addFilter(middleware._filter)
        crawler.signals.connect(middleware.spider_closed, signal=signals.engine_stopped)
        return middleware

    def spider_closed(self) -> None:
        """Remove the filters."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self._filter)

    def process_request(self, request: Request) -> None:
        """Set the headers of this origin, remove those of the others."""
        origin = origin_of(request.url)
        if origin is not None and origin[0] == "http":
            self._warn_of_http(origin[1])
        for other, headers in self.credentials.by_origin.items():
            for name, value in headers.items() if other != origin else ():
                if request.headers.get(name) == value.encode("latin-1"):
                    del request.headers[name]
        for name, value in self.credentials.headers_for(request.url).items():
            present = (request.headers.get(name) or b"").decode("latin-1")
            is_beside = name.lower() == "cookie" and bool(present)  # cookies of the site's session
            if is_beside and value in present:
                continue  # the request is sent again
            request.headers[name] = f"{present}; {value}" if is_beside else value

    def _warn_of_http(self, name: str) -> None:
        """Warn once of a host whose credentials are for https alone."""
        origins = {one[:2] for one in self.credentials.by_origin}
        is_known = ("http", name) in origins or name in self._warned
        if ("https", name) in origins and not is_known:
            self._warned.add(name)
            logger.warning(
                "LLMS_HTTP_AUTH: nothing is sent to http://%(host)s, which is not encrypted; the"
                " entry for %(host)s is for https. To send it all the same, name it"
                " http://%(host)s",
                {"host": name},
            )
