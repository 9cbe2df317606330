"""The outbound proxy that the operator's environment names (`http_proxy`, `https_proxy`, `no_proxy`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class OutboundProxy:
    """An HTTP proxy. `authorization` is the value of `Proxy-Authorization`; `tls` is spoken to the proxy itself."""

    host: str
    port: int
    tls: bool = False
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> OutboundProxy:
        """Read `http://user:password@host:port`.

        Raises:
            ValueError: not an http(s) proxy (SOCKS, for one).
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
    """Which proxy leads to which host. `bypass` says whether a host is reached without one."""

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
        """The proxies' own hosts, which are no pages."""
        return frozenset(proxy.host for proxy in self.by_scheme.values())
