"""Refuse URLs and connections that lead off the public Internet."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy import Request, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object
from scrapy.utils.url import add_http_if_no_scheme

from llmsspider import stats
from llmsspider.download_errors import RefusedRequest
from llmsspider.errors import ArgumentsError, ErrorKind
from llmsspider.resolver import guarded_resolver
from llmsspider.stats import BlockReason
from llmsspider.web.addresses import DEFAULT_PORTS, AllowedAddresses

logger = logging.getLogger(__name__)


# Refuse URLs that lead off the public Internet before anything is done for them.

_ORIGIN = re.compile(r"https?://[\w.:-]+(?=[/?#]|\Z)", re.ASCII)
"""Scheme and host of a plain URL; nothing behind them matters to `AllowedAddresses.refusal`."""


class AddressGuardMiddleware:
    """First on the engine side: every request passes here, redirects, robots.txt and nested downloads too.

    Refuses what the text of the URL shows, and hosts whose last look-up gave no permitted address. The
    others are filtered by `AddressGuardResolver` when the connection is made (`ConnectionGuardMiddleware`
    turns its answer into the same error). Raises `RefusedRequest`, counts `llms/blocked/address` or
    `llms/blocked/scheme`, logs one WARNING for each host. `LLMS_ALLOW_PRIVATE_ADDRESSES` lists exceptions.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        self.crawler = crawler
        self.allowed = allowed
        self._warned: set[str] = set()
        self._refusal = lru_cache(1024)(allowed.refusal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AddressGuardMiddleware:
        """Read `LLMS_ALLOW_PRIVATE_ADDRESSES`."""
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            raise ArgumentsError(
                ["TWISTED_REACTOR_ENABLED=False: names cannot be checked without the reactor"]
            )
        middleware = cls(
            crawler,
            AllowedAddresses.from_setting(crawler.settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES", False)),
        )
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        """Make the resolver of the process follow the rule of this crawl, and log where it cannot hold."""
        guarded_resolver(self.crawler).allow(id(self.crawler), self.allowed)
        for path in sorted(_handlers_with_own_resolver(self.crawler)):
            logger.warning(
                "%(path)s resolves names by itself: private addresses are refused only where URLs spell them out",
                {"path": path},
                extra={"spider": self.crawler.spider},
            )

    def spider_closed(self) -> None:
        """Reset the resolver of the process."""
        guarded_resolver(self.crawler).disallow(id(self.crawler))

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched."""
        origin = _ORIGIN.match(request.url)
        refusal = self._refusal(origin[0]) if origin else self.allowed.refusal(request.url)
        if refusal:
            raise self.refused(request, refusal)
        refusal = guarded_resolver(self.crawler).refusal(*host_and_port(request))
        if refusal:
            raise self.refused(request, refusal, logging.DEBUG)

    def refused(self, request: Request, message: str, level: int = logging.WARNING) -> RefusedRequest:
        """Count and log a refusal and return the exception to raise."""
        parts = urlparse_cached(request)
        reason: BlockReason = "address" if parts.scheme in {"http", "https"} else "scheme"
        kind: ErrorKind = "invalid_url" if message.startswith("not a usable URL") else "blocked"
        stats.count(self.crawler.stats, stats.blocked(reason))
        host = parts.hostname or parts.scheme
        logger.log(
            logging.DEBUG if host in self._warned else level,
            "Refused %(url)s: %(message)s",
            {"url": _without_user(request.url), "message": message},
            extra={"spider": self.crawler.spider},
        )
        self._warned.add(host)
        return RefusedRequest(message, reason=reason, kind=kind)


def host_and_port(request: Request) -> tuple[str, int]:
    """Return what a request connects to."""
    parts = urlparse_cached(request)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)


def _handlers_with_own_resolver(crawler: Crawler) -> set[str]:
    handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
    paths = {handlers[scheme] for scheme in ("http", "https") if handlers.get(scheme)}
    return {str(path) for path in paths if not _asks_the_reactor(load_object(path))}


def _asks_the_reactor(handler: type) -> bool:
    """Return whether a download handler connects to what the resolver of the reactor answers."""
    if issubclass(handler, HTTP11DownloadHandler):
        return True
    try:
        from scrapy.core.downloader.handlers.http2 import H2DownloadHandler  # noqa: PLC0415  # needs h2
    except ImportError:
        return False
    return issubclass(handler, H2DownloadHandler)


def _without_user(url: str) -> str:
    """Return a URL without user name and password, for the log."""
    return re.sub(r"//[^/?#]*@", "//", url)


# The downloader-side half of the address guard: what only shows when the connection is made.


class ConnectionGuardMiddleware(AddressGuardMiddleware):
    """Last before the download handler.

    Looks at the URL once more, since other middlewares may have replaced it; lets the resolver through to
    the proxy the operator named (`HttpProxyMiddleware`, `meta["proxy"]`); and turns a name that resolves
    to nothing but refused addresses into `RefusedRequest`, before `RetryMiddleware` would try it again.
    Behind a proxy the proxy resolves names, so only the text of the URL is checked here.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        super().__init__(crawler, allowed)
        environment = getproxies()  # also holds "no", the hosts that are no proxies
        self._proxies = {
            _proxy_host(environment[scheme]) for scheme in ("http", "https") if scheme in environment
        }

    def spider_opened(self) -> None:
        """Leave the resolver to `AddressGuardMiddleware`."""

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched, the proxy itself among them."""
        super().process_request(request)
        proxy = request.meta.get("proxy")
        if proxy:
            host = _proxy_host(proxy)
            self._proxies.add(host)
            guarded_resolver(self.crawler).trust_proxy(host)
        elif urlparse_cached(request).hostname in self._proxies and not self.allowed.everything:
            raise self.refused(request, "this host is the outbound proxy")

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise `RefusedRequest` in place of the failed look-up of a refused name."""
        if not isinstance(exception, CannotResolveHostError):
            return
        refusal = guarded_resolver(self.crawler).refusal(*host_and_port(request))
        if refusal:
            raise self.refused(request, refusal) from exception


def _proxy_host(url: str) -> str:
    return (urlsplit(add_http_if_no_scheme(url)).hostname or "").lower()
