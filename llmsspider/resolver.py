"""Name resolution that hands out permitted addresses only.

Twisted connects to the addresses its resolver answers with. Filtering there means that the address checked
is the address connected to: a name that changes its answer between two look-ups is filtered at each.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver, HostResolution
from scrapy.utils.datatypes import LocalCache
from twisted.internet.base import ReactorBase
from twisted.internet.interfaces import IAddress, IHostnameResolver, IHostResolution, IResolutionReceiver
from zope.interface import implementer

from llmsspider.web.addresses import AllowedAddresses, is_resolvable

logger = logging.getLogger(__name__)


@implementer(IResolutionReceiver)
class _PermittedOnly:
    """Pass on the addresses of one look-up that `resolver` permits, and fail it when none was."""

    def __init__(self, receiver: Any, resolver: AddressGuardResolver, host: str, port: int):
        self._receiver = receiver
        self._resolver = resolver
        self._host = host
        self._port = port
        self._refused: list[str] = []
        self._passed = False

    def resolutionBegan(self, resolution: IHostResolution) -> None:  # noqa: N802
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        ip = str(getattr(address, "host", ""))
        if self._resolver.permits(ip, self._host, self._port):
            self._passed = True
            self._receiver.addressResolved(address)
        else:
            self._refused.append(ip)

    def resolutionComplete(self) -> None:  # noqa: N802
        self._resolver.record(self._host, self._port, [] if self._passed else self._refused)
        self._receiver.resolutionComplete()


@implementer(IHostnameResolver)
class AddressGuardResolver(CachingHostnameResolver):
    """Resolve to IPv4 and IPv6 addresses, cached for the run, without those that may not be reached.

    For `TWISTED_DNS_RESOLVER`. There is one resolver in a process; where several crawls with different
    settings share the process, an address has to be permitted by all of them (`allow`, `disallow`).
    A name that has only refused addresses resolves to nothing; `refusal` says why.
    """

    def __init__(self, reactor: ReactorBase, cache_size: int, allowed: AllowedAddresses):
        super().__init__(reactor, cache_size)
        if isinstance(self.original_resolver, AddressGuardResolver):
            self.original_resolver = self.original_resolver.original_resolver
        self._default = allowed
        self._crawls: dict[int, AllowedAddresses] = {}
        self._proxies: set[str] = set()
        self._refused: LocalCache[tuple[str, int], str] = LocalCache(10_000)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> AddressGuardResolver:
        """Build from the settings of the process (`CrawlerProcess`) or of a crawl."""
        settings = crawler.settings
        cache_size = settings.getint("DNSCACHE_SIZE") if settings.getbool("DNSCACHE_ENABLED") else 0
        return cls(
            reactor,
            cache_size,
            AllowedAddresses.from_setting(settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES", False)),
        )

    def allow(self, crawl: int, allowed: AllowedAddresses) -> None:
        """Take the rule of one crawl into account; `crawl` is any number that names it."""
        self._crawls[crawl] = allowed

    def disallow(self, crawl: int) -> None:
        """Forget the rule of a crawl that has ended."""
        self._crawls.pop(crawl, None)

    def trust_proxy(self, host: str) -> None:
        """Resolve `host` to any address: it is a proxy that the operator named."""
        self._proxies.add(host.lower())

    def permits(self, ip: str, host: str, port: int) -> bool:
        """Return whether a connection to the address `ip` may be made for the name `host`."""
        if host.lower() in self._proxies:
            return True
        rules = self._crawls.values() or (self._default,)
        return all(rule.permits(ip.partition("%")[0], host, port) for rule in rules)

    def record(self, host: str, port: int, refused: list[str]) -> None:
        """Remember that `host` has nothing but the addresses `refused`, or with none that it is fine."""
        if refused:
            self._refused[host.lower(), port] = (
                f"{host} resolves to {', '.join(dict.fromkeys(refused))}, which is not public "
                "(LLMS_ALLOW_PRIVATE_ADDRESSES lists the exceptions)"
            )
        else:
            self._refused.pop((host.lower(), port), None)

    def refusal(self, host: str, port: int) -> str | None:
        """Say why the last look-up of `host` came to nothing, None where it did not or there was none."""
        return self._refused.get((host.lower(), port))

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> IHostResolution:
        """See `IHostnameResolver.resolveHostName`."""
        receiver: Any = _PermittedOnly(resolutionReceiver, self, hostName, portNumber)
        if not is_resolvable(hostName):  # Twisted would wait for an answer that never comes
            resolution: IHostResolution = cast("Any", HostResolution(hostName))
            receiver.resolutionBegan(resolution)
            receiver.resolutionComplete()
            return resolution
        return super().resolveHostName(receiver, hostName, portNumber, addressTypes, transportSemantics)


def guarded_resolver(crawler: Crawler) -> AddressGuardResolver:
    """Return the resolver of the running reactor, installing it where another is in place.

    `CrawlerRunner` and settings that name another resolver would otherwise leave names unchecked.
    """
    from twisted.internet import reactor as installed  # noqa: PLC0415 - a reactor is chosen before it is imported

    reactor: Any = installed
    if not isinstance(reactor.nameResolver, AddressGuardResolver):
        AddressGuardResolver.from_crawler(crawler, reactor).install_on_reactor()
        logger.debug("Installed the address guard's resolver over %s", reactor.nameResolver)
    resolver: AddressGuardResolver = reactor.nameResolver
    return resolver
