"""Headers of requests: the User-Agent, the operator's credentials for their hosts alone, cookies where wanted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import useragent
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from llmsspider.errors import ArgumentsError
from llmsspider.web.credentials import Credentials, SecretsFilter, origin_of
from llmsspider.web.politeness import product_token, with_contact

if TYPE_CHECKING:
    from scrapy.downloadermiddlewares import cookies

logger = logging.getLogger(__name__)


class UserAgentMiddleware(useragent.UserAgentMiddleware):
    """Scrapy's, with the contact of `LLMS_CONTACT` (an e-mail address or URL) added to `USER_AGENT`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UserAgentMiddleware:
        """Read `USER_AGENT` and `LLMS_CONTACT`."""
        middleware = super().from_crawler(crawler)
        middleware.user_agent = user_agent(crawler.settings)
        return middleware


def user_agent(settings: BaseSettings) -> str:
    """Return the User-Agent header of a crawl.

    Raises:
        ArgumentsError: `LLMS_CONTACT` cannot be part of it.
    """
    try:
        return with_contact(settings["USER_AGENT"], settings.get("LLMS_CONTACT"))
    except ValueError as error:
        raise ArgumentsError([str(error)]) from None


def robots_user_agent(settings: BaseSettings) -> str:
    """Return the name robots.txt may use for the crawl: `ROBOTSTXT_USER_AGENT`, else the product token."""
    configured: str | None = settings["ROBOTSTXT_USER_AGENT"]
    return configured or product_token(settings["USER_AGENT"])


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
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HostAuthMiddleware:
        """Read `LLMS_HTTP_AUTH`."""
        middleware = cls(Credentials.from_setting(crawler.settings.get("LLMS_HTTP_AUTH")))
        middleware.redact_logs()
        crawler.signals.connect(middleware.spider_closed, signal=signals.engine_stopped)
        return middleware

    def redact_logs(self) -> None:
        """Filter every handler of the root logger."""
        for handler in logging.getLogger().handlers:
            handler.addFilter(self._filter)

    def spider_closed(self) -> None:
        """Remove the filters."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self._filter)

    def process_request(self, request: Request) -> None:
        """Set the headers of this origin, remove those of the others."""
        origin = origin_of(request.url)
        if origin is not None and origin[0] == "http":
            self._say_withheld(origin[1])
        for other, headers in self.credentials.by_origin.items():
            for name, value in headers.items() if other != origin else ():
                if request.headers.get(name) == value.encode("latin-1"):
                    del request.headers[name]
        for name, value in self.credentials.headers_for(request.url).items():
            present = (request.headers.get(name) or b"").decode("latin-1") if name.lower() == "cookie" else ""
            is_new = present and value not in present  # beside the cookies of the site's own session
            request.headers[name] = f"{present}; {value}" if is_new else value

    def _say_withheld(self, name: str) -> None:
        """Say once for a host that its headers are for https and are not sent over plain http."""
        origins = {(scheme, host) for scheme, host, _ in self.credentials.by_origin}
        if ("https", name) in origins and ("http", name) not in origins and name not in self._warned:
            self._warned.add(name)
            logger.warning(
                "LLMS_HTTP_AUTH: nothing is sent to http://%(host)s, which is not encrypted; the entry for %(host)s is "
                "for https. To send it all the same, name it http://%(host)s",
                {"host": name},
            )


class CookiesMiddleware:
    """Scrapy's, loaded where `COOKIES_ENABLED` is on: a list of public suffixes and an HTTP library come with it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> cookies.CookiesMiddleware:
        """Return Scrapy's middleware."""
        if not crawler.settings.getbool("COOKIES_ENABLED"):
            raise NotConfigured
        from scrapy.downloadermiddlewares import cookies  # noqa: PLC0415

        return cookies.CookiesMiddleware.from_crawler(crawler)
