"""Connections for the browser: to permitted addresses only, directly or by the proxy of the operator's environment."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from twisted.internet.interfaces import IAddress, IHostResolution, IResolutionReceiver
from zope.interface import implementer

from llmsspider.downloadermiddlewares.address_guard import AddressGuardResolver
from llmsspider.web.addresses import DEFAULT_PORTS, AllowedAddresses, parse_host

# The outbound proxy that the operator's environment names (`http_proxy`, `https_proxy`, `no_proxy`).


@dataclass(frozen=True, slots=True)
class OutboundProxy:
    """An HTTP proxy. `authorization` is the value of `Proxy-Authorization`; `tls`: connect to the proxy by TLS."""

    host: str
    port: int
    tls: bool = False
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> OutboundProxy:
        """Read `http://user:password@host:port`.

        Raises:
            ValueError: not an http(s) proxy, for example SOCKS.
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise ValueError(f"{parts.scheme}: only http and https proxies can stand before the browser")
        authorization = None
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(user.encode()).decode("ascii")
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        return cls(parts.hostname, port, parts.scheme == "https", authorization)


@dataclass(frozen=True, slots=True)
class OutboundProxies:
    """The proxy to use for each host. `bypass` returns whether a host is reached without one."""

    by_scheme: Mapping[str, OutboundProxy] = field(default_factory=dict)
    bypass: Callable[[str], object] = proxy_bypass

    @classmethod
    def from_environment(cls) -> OutboundProxies:
        """Read the variables that Scrapy's `HttpProxyMiddleware` reads; raises `ValueError` for SOCKS."""
        proxies = getproxies()
        return cls(
            {name: OutboundProxy.from_url(proxies[name]) for name in DEFAULT_PORTS if proxies.get(name)}
        )

    def to(self, scheme: str, host: str) -> OutboundProxy | None:
        """Return the proxy for a host, None where it is reached directly."""
        proxy = self.by_scheme.get(scheme)
        return None if proxy is None or self.bypass(host) else proxy

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts of the proxies."""
        return frozenset(proxy.host for proxy in self.by_scheme.values())


# Connections for the browser: only to addresses that the address guard permits, and to the address it checked.

CONNECT_SECS = 20.0
"""Time one connection may take to be made."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class DialRefusedError(Exception):
    """The address guard does not permit the connection; the text says why."""


class Dialer:
    """Makes the connections of the filtering proxy.

    The crawl's resolver looks up a host name and returns permitted addresses only; the connection goes to one of
    these, without a second look-up that could return another address (DNS rebinding). An outbound proxy looks
    names up itself, so only the text of the host is checked there.
    """

    def __init__(self, resolver: AddressGuardResolver, allowed: AllowedAddresses, outbound: OutboundProxies):
        self._resolver = resolver
        self._allowed = allowed
        self._outbound = outbound

    async def dial(self, scheme: str, host: str, port: int) -> tuple[Connection, OutboundProxy | None]:
        """Connect to a host directly, or to the outbound proxy for it, which is then returned as well.

        Raises:
            DialRefusedError: the guard does not permit it.
            OSError: the connection failed, or timed out.
        """
        refusal = self._allowed.host_refusal(host, port)
        if refusal:
            raise DialRefusedError(refusal)
        if host.lower() in self._outbound.hosts and not self._allowed.everything:
            raise DialRefusedError("this host is the outbound proxy")
        proxy = self._outbound.to(scheme, host)
        if proxy is not None:
            return await _open(proxy.host, proxy.port, tls=proxy.tls), proxy
        return await self._connect(await self._addresses(host, port), port), None

    async def _addresses(self, host: str, port: int) -> list[str]:
        parsed = parse_host(host)
        if not isinstance(parsed, str):
            return [str(parsed)]
        found = _Addresses()
        self._resolver.resolveHostName(found, parsed, port)  # type: ignore[arg-type]  # what the decorator adds is unseen
        addresses = [
            ip for ip in await found.complete if self._allowed.permits(ip.partition("%")[0], parsed, port)
        ]
        if not addresses:
            refusal = self._resolver.refusal(parsed, port)
            if refusal:
                raise DialRefusedError(refusal)
            raise OSError(f"{host} cannot be resolved")
        return addresses

    async def _connect(self, addresses: list[str], port: int) -> Connection:
        problem: OSError | None = None
        for ip in addresses:
            try:
                return await _open(ip, port)
            except OSError as error:
                problem = error
        raise problem or OSError("no address")


async def _open(host: str, port: int, *, tls: bool = False) -> Connection:
    async with asyncio.timeout(CONNECT_SECS):
        return await asyncio.open_connection(host, port, ssl=tls or None)


@implementer(IResolutionReceiver)
class _Addresses:
    """Collects the addresses of one look-up."""

    def __init__(self) -> None:
        self.complete: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._found: list[str] = []

    def resolutionBegan(self, resolution: IHostResolution) -> None:  # noqa: N802
        pass

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        self._found.append(str(getattr(address, "host", "")))

    def resolutionComplete(self) -> None:  # noqa: N802
        if not self.complete.done():
            self.complete.set_result(self._found)
