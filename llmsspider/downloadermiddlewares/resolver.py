"""The resolver of names, without the addresses that may not be reached.

Twisted connects to the addresses its resolver answers with. Filtering there means that the address
checked is the address connected to: a name that changes its answer between two look-ups is filtered
at each.
"""

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self, cast

from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver, HostResolution, dnscache
from scrapy.utils.datatypes import LocalCache
from twisted.internet.base import ReactorBase
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IResolutionReceiver,
)
from zope.interface import implementer

from llmsspider.web.addresses import AllowedAddresses, is_resolvable

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
        return cls(reactor, cache_size, allowed_addresses(crawler))

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


def allowed_addresses(crawler: Crawler) -> AllowedAddresses:
    """Return what `LLMS_ALLOW_PRIVATE_ADDRESSES` permits."""
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
