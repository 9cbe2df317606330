"""The address guard: URLs, names and connections that lead off the public Internet are refused.

Twisted connects to the addresses its resolver answers with. Filtering there means that the address
checked
is the address connected to: a name that changes its answer between two look-ups is filtered at
each.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.resolver import CachingHostnameResolver, HostResolution, dnscache
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object
from scrapy.utils.url import add_http_if_no_scheme
from twisted.internet.base import ReactorBase
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IResolutionReceiver,
)
from zope.interface import implementer

from llmsspider.crawl.requests import RefusedRequest, run_of
from llmsspider.errors import ArgumentsError, ErrorKind
from llmsspider.web import stats
from llmsspider.web.addresses import DEFAULT_PORTS, FILE, AllowedAddresses, is_resolvable
from llmsspider.web.stats import BlockReason
from llmsspider.web.urls import without_user

logger = logging.getLogger(__name__)


@implementer(IHostnameResolver)
class AddressGuardResolver(CachingHostnameResolver):
    """Resolve to IPv4 and IPv6 addresses, cached for the run, without those that may not be
    reached.

    For `TWISTED_DNS_RESOLVER`. An address has to be permitted by all crawls that share the process
    (`crawls`).
    """

    def __init__(self, reactor: ReactorBase, cache_size: int, allowed: AllowedAddresses):
        super().__init__(reactor, cache_size)
        if isinstance(self.original_resolver, AddressGuardResolver):
            self.original_resolver = self.original_resolver.original_resolver
        self._default = allowed
        self.crawls: dict[int, AllowedAddresses] = {}
        """The rules of the crawls in this process, by any number that names each."""
        self.proxies: set[str] = set()
        """Hosts, in lower case, that resolve to any address: they are proxies that the operator
        named.
        """
        self._refused: LocalCache[tuple[str, int], str] = LocalCache(10_000)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> Self:
        """Build from the settings of the process (`CrawlerProcess`) or of a crawl."""
        settings = crawler.settings
        cache_size = settings.getint("DNSCACHE_SIZE") if settings.getbool("DNSCACHE_ENABLED") else 0
        return cls(reactor, cache_size, _allowed(crawler))

    def permits(self, ip: str, host: str, port: int) -> bool:
        """Return whether a connection to the address `ip` may be made for the name `host`."""
        if host.lower() in self.proxies:
            return True
        rules = self.crawls.values() or (self._default,)
        return all(rule.permits(ip.partition("%")[0], host, port) for rule in rules)

    def refusal(self, host: str, port: int) -> str | None:
        """Say why the last look-up of `host` came to nothing, None where it did not or there was
        none.
        """
        return self._refused.get((host.lower(), port))

    def forget(self) -> None:
        """Forget what was looked up: the next crawl asks again, and may have other rules."""
        for known in (self._refused, self.proxies, dnscache):
            known.clear()

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> IHostResolution:
        """Look a name up, and pass on the addresses that are permitted."""
        wanted: Any = resolutionReceiver
        passed: list[IAddress] = []
        refused: list[str] = []

        def resolved(address: IAddress) -> None:
            ip = str(getattr(address, "host", ""))
            if self.permits(ip, hostName, portNumber):
                passed.append(address)
                wanted.addressResolved(address)
            else:
                refused.append(ip)

        def complete() -> None:
            if refused and not passed:
                self._refused[hostName.lower(), portNumber] = (
                    f"{hostName} resolves to {', '.join(dict.fromkeys(refused))}, which is not"
                    " public (LLMS_ALLOW_PRIVATE_ADDRESSES lists the exceptions)"
                )
            else:
                self._refused.pop((hostName.lower(), portNumber), None)
            wanted.resolutionComplete()

        began = wanted.resolutionBegan
        receiver: Any = SimpleNamespace(
            resolutionBegan=began, addressResolved=resolved, resolutionComplete=complete
        )
        if not is_resolvable(hostName):  # Twisted would wait for an answer that never comes
            resolution: IHostResolution = cast("Any", HostResolution(hostName))
            began(resolution)
            complete()
            return resolution
        return super().resolveHostName(
            receiver, hostName, portNumber, addressTypes, transportSemantics
        )


def _allowed(crawler: Crawler) -> AllowedAddresses:
    return AllowedAddresses.from_setting(crawler.settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES"))


def guarded_resolver(crawler: Crawler) -> AddressGuardResolver:
    """Return the resolver of the running reactor, installing it where another is in place.

    `CrawlerRunner` and settings that name another resolver would otherwise leave names unchecked.
    """
    from twisted.internet import reactor as installed  # noqa: PLC0415

    reactor: Any = installed
    if not isinstance(reactor.nameResolver, AddressGuardResolver):
        AddressGuardResolver.from_crawler(crawler, reactor).install_on_reactor()
        logger.debug("Installed the address guard's resolver over %s", reactor.nameResolver)
    resolver: AddressGuardResolver = reactor.nameResolver
    return resolver


ASK_THE_REACTOR = {"HTTP11DownloadHandler", "H2DownloadHandler"}
"""Download handlers of Scrapy that connect to what the resolver of the reactor answers."""


class AddressGuardMiddleware:
    """First on the engine side: every request passes here, redirects, robots.txt and nested
    downloads too.

    Refuses what the text of the URL shows, and hosts whose last look-up gave no permitted address;
    the others are
    filtered by `AddressGuardResolver` when the connection is made. Raises `RefusedRequest`, counts
    `llms/blocked/address` or `llms/blocked/scheme`, logs one WARNING for each host.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        self.crawler = crawler
        self.allowed = allowed
        self._warned: set[str] = set()
        self._refusal = lru_cache(1024)(allowed.refusal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read `LLMS_ALLOW_PRIVATE_ADDRESSES`."""
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            why = "names cannot be checked without the reactor"
            raise ArgumentsError([f"TWISTED_REACTOR_ENABLED=False: {why}"])
        middleware = cls(crawler, _allowed(crawler))
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        """Make the resolver of the process follow the rule of this crawl, and log where it cannot
        hold.
        """
        guarded_resolver(self.crawler).crawls[id(self.crawler)] = self.allowed
        handlers = self.crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        for path in sorted(
            {str(handlers[scheme]) for scheme in DEFAULT_PORTS if handlers.get(scheme)}
        ):
            if not ASK_THE_REACTOR & {kind.__name__ for kind in load_object(path).__mro__}:
                logger.warning(
                    "%(path)s resolves names by itself: private addresses are refused only where"
                    " URLs spell them out",
                    {"path": path},
                    extra={"spider": self.crawler.spider},
                )

    def spider_closed(self) -> None:
        """Reset the resolver of the process, which may go on to other crawls."""
        resolver = guarded_resolver(self.crawler)
        resolver.crawls.pop(id(self.crawler), None)
        if not resolver.crawls:
            resolver.forget()

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched; in a local folder its handler
        says what is read.
        """
        if request.url.startswith(FILE) and (run := run_of(self.crawler)) and run.reads_folder:
            return
        parts = urlparse_cached(request)
        is_web = parts.scheme in DEFAULT_PORTS
        refusal = self._refusal(f"{parts.scheme}://{parts.netloc}" if is_web else request.url)
        if refusal:
            raise self.refused(request, refusal)
        refusal = self.refusal_of_resolver(request)
        if refusal:
            raise self.refused(request, refusal, logging.DEBUG)

    def refusal_of_resolver(self, request: Request) -> str | None:
        """Return why the last look-up of a request's host came to nothing, None where it did not."""
        parts = urlparse_cached(request)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
        return guarded_resolver(self.crawler).refusal(parts.hostname or "", port)

    def refused(
        self, request: Request, message: str, level: int = logging.WARNING
    ) -> RefusedRequest:
        """Count and log a refusal and return the exception to raise."""
        parts = urlparse_cached(request)
        reason: BlockReason = "address" if parts.scheme in DEFAULT_PORTS else "scheme"
        kind: ErrorKind = "invalid_url" if message.startswith("not a usable URL") else "blocked"
        stats.count(self.crawler.stats, stats.blocked(reason))
        host = parts.hostname or parts.scheme
        logger.log(
            logging.DEBUG if host in self._warned else level,
            "Refused %(url)s: %(message)s",
            {"url": without_user(request.url), "message": message},
            extra={"spider": self.crawler.spider},
        )
        self._warned.add(host)
        return RefusedRequest(message, reason=reason, kind=kind)


class ConnectionGuardMiddleware(AddressGuardMiddleware):
    """Last before the download handler: other middlewares may have replaced the URL.

    Turns a name that resolves to refused addresses only into `RefusedRequest`, before
    `RetryMiddleware` would try it
    again. The operator's proxy is let through; it resolves names, so that only the text of the URL
    is checked then.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        super().__init__(crawler, allowed)
        named = getproxies()  # also holds "no", the hosts that are no proxies
        self._proxies = {_proxy_host(named[scheme]) for scheme in DEFAULT_PORTS if scheme in named}

    def spider_opened(self) -> None:
        """Leave the resolver to `AddressGuardMiddleware`."""

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched, the proxy itself among them."""
        super().process_request(request)
        proxy = request.meta.get("proxy")
        if proxy:
            host = _proxy_host(proxy)
            self._proxies.add(host)
            guarded_resolver(self.crawler).proxies.add(host)
        elif urlparse_cached(request).hostname in self._proxies and not self.allowed.everything:
            raise self.refused(request, "this host is the outbound proxy")

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise `RefusedRequest` in place of the failed look-up of a refused name."""
        if isinstance(exception, CannotResolveHostError) and (
            refusal := self.refusal_of_resolver(request)
        ):
            raise self.refused(request, refusal) from exception


def _proxy_host(url: str) -> str:
    return (urlsplit(add_http_if_no_scheme(url)).hostname or "").lower()
