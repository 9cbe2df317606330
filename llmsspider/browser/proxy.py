"""The filtering proxy, which all connections of the browser go through (RFC 9112): to permitted
addresses only.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from llmsspider.web.addresses import DEFAULT_PORTS, AllowedAddresses, parse_host

CONNECT_SECS = 20.0  # time one connection may take to be made
MAX_HEAD_BYTES = 64 * 1024  # longest head of a message that is read

MAX_CONNECTION_BYTES = 256 * 1024 * 1024
"""Maximum number of bytes of one connection in one direction; beyond it the connection is closed.
"""

IDLE_SECS = 120.0
"""Time a connection may stay silent."""

PRIMER = "http://llmsspider.invalid/"
"""What the proxy answers itself, with an empty page: a browser that has asked for it knows the
password. A WebSocket cannot answer the question for it.
"""

_BUFFER = 64 * 1024

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


# The outbound proxy that the operator's environment names (`http_proxy`, `https_proxy`,
# `no_proxy`).


@dataclass(frozen=True, slots=True)
class OutboundProxy:
    """An HTTP proxy. `authorization` is the value of `Proxy-Authorization`; `tls`: connect to the
    proxy by TLS.
    """

    host: str
    port: int
    tls: bool = False
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> OutboundProxy:
        """Read `http://user:password@host:port`; raises `ValueError` for any other proxy, such as
        SOCKS.
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise ValueError(
                f"{parts.scheme}: only http and https proxies can stand before the browser"
            )
        authorization = None
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(user.encode()).decode("ascii")
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        return cls(parts.hostname, port, parts.scheme == "https", authorization)


OutboundProxies = Mapping[str, OutboundProxy]
"""The proxies of the environment, by the scheme of what is requested."""


def proxies_of_environment() -> OutboundProxies:
    """Read the variables that Scrapy's `HttpProxyMiddleware` reads; raises `ValueError` for SOCKS."""
    proxies = getproxies()
    return {
        name: OutboundProxy.from_url(proxies[name]) for name in DEFAULT_PORTS if proxies.get(name)
    }


def proxy_for(proxies: OutboundProxies, scheme: str, host: str) -> OutboundProxy | None:
    """Return the proxy for a host, None where it is reached directly."""
    proxy = proxies.get(scheme)
    return None if proxy is None or proxy_bypass(host) else proxy


class DialRefusedError(Exception):
    """The address guard does not permit the connection; the text says why."""


# The heads of HTTP/1.1 messages, as far as a proxy has to understand them (RFC 9112). No network
# here.

Pairs = tuple[tuple[str, str], ...]

HOP_BY_HOP = frozenset(
    {
        "connection",
        "proxy-connection",
        "proxy-authorization",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
    }
)
"""Headers that belong to one connection and are not passed on (RFC 9110, section 7.6.1)."""


class Destination(NamedTuple):
    """Where a request to a proxy leads. `path` is empty for CONNECT."""

    scheme: str
    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of a message in its three parts, and its headers in order."""

    start: tuple[str, str, str]
    headers: Pairs = ()

    @classmethod
    def parse(cls, head: bytes) -> Head:
        r"""Read a head, blank line included; raises `ValueError` where it is not HTTP.

        >>> Head.parse(b"GET / HTTP/1.1\r\nHost: e.com\r\n\r\n").get("host")
        'e.com'
        """
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        parts = [*first.split(" ", 2), ""]
        if len(parts) < 3 or any(line[:1] in {" ", "\t", ":"} or ":" not in line for line in lines):
            raise ValueError("not HTTP")
        pairs = (map(str.strip, line.split(":", 1)) for line in lines)
        return cls((parts[0], parts[1], parts[2]), tuple((name, value) for name, value in pairs))

    def get(self, name: str) -> str | None:
        """Return the first value of a header, by its lower-case name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def passed_on(self, start: tuple[str, str, str] | None = None, more: Pairs = ()) -> bytes:
        """Return the head to forward, without hop-by-hop headers and with `Connection: close`."""
        kept = [pair for pair in self.headers if pair[0].lower() not in HOP_BY_HOP]
        fields = [f"{name}: {value}" for name, value in [*kept, *more, ("Connection", "close")]]
        return ("\r\n".join([" ".join(start or self.start).rstrip(), *fields]) + "\r\n\r\n").encode(
            "latin-1"
        )

    @property
    def destination(self) -> Destination:
        """Where a request to a proxy leads; raises `ValueError` for anything but a proxy request."""
        method, target, _ = self.start
        if method == "CONNECT":
            parts = urlsplit(f"//{target}")
            if not parts.hostname or not parts.port:
                raise ValueError("CONNECT names no host and port")
            return Destination("https", parts.hostname, parts.port, "")
        parts = urlsplit(target)
        if parts.scheme != "http" or not parts.hostname or parts.username is not None:
            raise ValueError("not a request to a proxy")
        path = "/" + target.partition("://")[2].partition("/")[2]
        return Destination("http", parts.hostname, parts.port or 80, path)

    @property
    def body_length(self) -> int:
        """The length of a request's body; raises `ValueError` for one of unknown length."""
        if self.get("transfer-encoding"):
            raise ValueError("a request body of unknown length")
        return int(self.get("content-length") or 0)


class Resolver(Protocol):
    """The part of `AddressGuardResolver` that is used: names resolve to permitted addresses only."""

    def resolveHostName(  # noqa: D102, N802
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
    ) -> Any: ...
    def refusal(self, host: str, port: int) -> str | None: ...  # noqa: D102


class FilteringProxy:
    """An HTTP proxy on a free port of 127.0.0.1, served between `start` and `close`.

    It wants a password made for this run, so that nobody else on the machine can use it and
    Chromium's own background requests, which do not know it, end here. https and WebSockets come as
    CONNECT and are passed on unread; plain http is passed on one request a connection.

    The crawl's `resolver` looks up a host name and returns permitted addresses only; the connection
    goes to one of these, without a second look-up that could return another address (DNS
    rebinding). An `outbound` proxy looks names up itself, so only the text of the host is checked
    there. `refused` is called with host and reason of each refused connection.
    """

    def __init__(
        self,
        resolver: Resolver,
        allowed: AllowedAddresses,
        outbound: OutboundProxies,
        refused: Callable[[str, str], None],
    ):
        self.username = "llmsspider"
        self.password = secrets.token_urlsafe(24)
        self._resolver = resolver
        self._allowed = allowed
        self._outbound = outbound
        self._refused = refused
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, limit=MAX_HEAD_BYTES
        )

    async def close(self) -> None:
        """Stop listening and cut every connection; idempotent."""
        server = self._server
        self._server = None
        if server is not None:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def address(self) -> dict[str, str]:
        """Playwright's `proxy` option."""
        if self._server is None:
            raise RuntimeError("the proxy is not started")
        port = self._server.sockets[0].getsockname()[1]
        return {
            "server": f"http://127.0.0.1:{port}",
            "username": self.username,
            "password": self.password,
        }

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            await self._serve((reader, writer))
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # either side closed the connection, it was not HTTP, or the crawl ends
        finally:
            writer.close()

    async def _serve(self, client: Connection) -> None:
        head = await _read_head(client[0])
        expected = b"Basic " + base64.b64encode(f"{self.username}:{self.password}".encode())
        if not hmac.compare_digest(
            (head.get("proxy-authorization") or "").encode("utf-8"), expected
        ):
            wanted = (("Proxy-Authenticate", "Basic realm=x"),)
            await _answer(client, "407 Proxy Authentication Required", wanted)
            return
        destination = head.destination
        if head.start[1] == PRIMER:
            await _answer(client, "200 OK")
            return
        try:
            server, outbound = await self._dial(destination)
        except DialRefusedError as refusal:
            self._refused(destination.host, str(refusal))
            await _answer(client, "403 Forbidden")
            return
        except OSError:
            await _answer(client, "502 Bad Gateway")
            return
        try:
            passing = _tunnel if head.start[0] == "CONNECT" else _forward
            await passing(head, client, server, outbound)
        finally:
            server[1].close()

    async def _dial(self, to: Destination) -> tuple[Connection, OutboundProxy | None]:
        """Connect to a host directly, or to the outbound proxy for it, which is then returned as
        well.

        Raises `DialRefusedError` where the guard does not permit it, `OSError` where the connection
        failed.
        """
        if refusal := self._allowed.host_refusal(to.host, to.port):
            raise DialRefusedError(refusal)
        hosts = {proxy.host for proxy in self._outbound.values()}
        if to.host.lower() in hosts and not self._allowed.everything:
            raise DialRefusedError("this host is the outbound proxy")
        proxy = proxy_for(self._outbound, to.scheme, to.host)
        if proxy is not None:
            return await _open(proxy.host, proxy.port, tls=proxy.tls), proxy
        problem = OSError("no address")
        for ip in await self._addresses(to.host, to.port):
            try:
                return await _open(ip, to.port), None
            except OSError as error:
                problem = error
        raise problem

    async def _addresses(self, host: str, port: int) -> list[str]:
        name = parse_host(host)
        if not isinstance(name, str):
            return [str(name)]
        found: list[str] = []
        complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        receiver: Any = SimpleNamespace(
            resolutionBegan=lambda _resolution: None,
            addressResolved=lambda address: found.append(address.host),
            resolutionComplete=lambda: complete.set_result(None),
        )
        self._resolver.resolveHostName(receiver, name, port)
        await complete
        addresses = [ip for ip in found if self._allowed.permits(ip.partition("%")[0], name, port)]
        if not addresses and (refusal := self._resolver.refusal(name, port)):
            raise DialRefusedError(refusal)
        return addresses


async def _open(host: str, port: int, *, tls: bool = False) -> Connection:
    async with asyncio.timeout(CONNECT_SECS):
        return await asyncio.open_connection(host, port, ssl=tls or None)


async def _tunnel(
    head: Head, client: Connection, server: Connection, outbound: OutboundProxy | None
) -> None:
    if outbound is not None:
        target = head.start[1]
        request = Head(("CONNECT", target, "HTTP/1.1"), (("Host", target),))
        await _write(server, request.passed_on(more=_authorization(outbound)))
        if (await _read_head(server[0])).start[1] != "200":
            await _answer(client, "502 Bad Gateway")
            return
    await _write(client, b"HTTP/1.1 200 Connection established\r\n\r\n")
    both = [asyncio.create_task(_pass(client, server)), asyncio.create_task(_pass(server, client))]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _forward(
    head: Head, client: Connection, server: Connection, outbound: OutboundProxy | None
) -> None:
    """Forward one request and its response, then close: the next request may be for another host."""
    method, target, version = head.start
    target = target if outbound else head.destination.path
    await _write(server, head.passed_on((method, target, version), _authorization(outbound)))
    left = head.body_length
    while left > 0:
        part = await client[0].read(min(left, _BUFFER))
        if not part:
            return
        left -= len(part)
        await _write(server, part)
    answer = await _read_head(server[0])
    while answer.start[1].startswith("1"):  # interim responses
        answer = await _read_head(server[0])
    await _write(client, answer.passed_on())
    await _pass(server, client)


def _authorization(outbound: OutboundProxy | None) -> Pairs:
    authorization = outbound and outbound.authorization
    return (("Proxy-Authorization", authorization),) if authorization else ()


async def _pass(source: Connection, target: Connection) -> None:
    size = 0
    while size < MAX_CONNECTION_BYTES:
        async with asyncio.timeout(IDLE_SECS):
            part = await source[0].read(_BUFFER)
        if not part:
            return
        size += len(part)
        await _write(target, part)


async def _read_head(reader: asyncio.StreamReader) -> Head:
    async with asyncio.timeout(IDLE_SECS):
        return Head.parse(await reader.readuntil(b"\r\n\r\n"))


async def _write(connection: Connection, data: bytes) -> None:
    connection[1].write(data)
    async with asyncio.timeout(IDLE_SECS):
        await connection[1].drain()


async def _answer(client: Connection, status: str, more: Pairs = ()) -> None:
    code, _, reason = status.partition(" ")
    head = Head(("HTTP/1.1", code, reason), (("Content-Length", "0"), *more))
    with contextlib.suppress(OSError):
        await _write(client, head.passed_on())
