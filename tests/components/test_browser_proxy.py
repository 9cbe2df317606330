"""The filtering proxy, as a client on the machine meets it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable

import pytest
from loopback import Answer, Arrived, Loopback, loopback, page

from llmsspider.browser.proxy import FilteringProxy, OutboundProxies, OutboundProxy
from llmsspider.web.addresses import AllowedAddresses

Client = Callable[..., Awaitable[bytes]]


def talk(
    conversation: Callable[[FilteringProxy, Client], Awaitable[None]],
    allowed: str = "127.0.0.1",
    outbound: OutboundProxies | None = None,
) -> list[str]:
    """Run the proxy and a conversation with it; return the hosts it refused. Literals only: nothing is looked up."""
    refused: list[str] = []

    async def run() -> None:
        rules = AllowedAddresses.from_setting(allowed)
        proxy = FilteringProxy(
            None, rules, outbound or {}, lambda host, _reason: refused.append(host)
        )
        await proxy.start()

        async def ask(*parts: bytes, password: str | None = None) -> bytes:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", int(proxy.address["server"].rpartition(":")[2])
            )
            secret = base64.b64encode(f"{proxy.username}:{password or proxy.password}".encode())
            for number, part in enumerate(parts):
                writer.write(part if number else part.replace(b"{auth}", b"Basic " + secret))
                await writer.drain()
            answer = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            return answer

        try:
            await conversation(proxy, ask)
        finally:
            await proxy.close()

    asyncio.run(run())
    return refused


def request(url: str, *headers: str, method: str = "GET", authorized: bool = True) -> bytes:
    lines = [
        f"{method} {url} HTTP/1.1",
        *(["Proxy-Authorization: {auth}"] if authorized else []),
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_nobody_without_the_password_gets_through():
    with loopback(page) as site:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            for answer in (
                await ask(request(site.url("/"), authorized=False)),
                await ask(request(site.url("/")), password="guessed"),
                await ask(request(f"127.0.0.1:{site.port}", method="CONNECT", authorized=False)),
            ):
                assert answer.startswith(b"HTTP/1.1 407 ")

        talk(conversation)
        assert site.connections == 0


def test_a_request_is_passed_on_without_what_belongs_to_the_proxy():
    with loopback(page) as site:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            answer = await ask(
                request(
                    site.url("/a?b=c"),
                    f"Host: 127.0.0.1:{site.port}",
                    "Connection: keep-alive",
                    "X-Own: 1",
                )
            )
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"\r\n\r\n<h1>Reached</h1>")
            assert b"connection: close" in answer.lower()

        assert talk(conversation) == []
        (arrived,) = site.requests
        assert (arrived.target, arrived.headers["x-own"]) == ("/a?b=c", "1")
        assert "proxy-authorization" not in arrived.headers


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.2",
        "2130706434",
        "0x7f.2",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.2]",
        "169.254.169.254",
        "10.0.0.1",
    ],
)
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_private_addresses_are_refused(host, method):
    with loopback(page, "127.0.0.2") as victim:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            place = f"{host}:{victim.port}"
            answer = await ask(
                request(place if method == "CONNECT" else f"http://{place}/", method=method)
            )
            assert answer.startswith(b"HTTP/1.1 403 ")

        assert talk(conversation, allowed="") == [host.strip("[]")]
        assert victim.connections == 0


def test_a_second_request_on_the_connection_goes_nowhere():
    """It could be meant for another host, and would reach the first."""
    with loopback(page) as site:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            second = request(site.url("/second"))
            answer = await ask(request(site.url("/first"), f"Host: 127.0.0.1:{site.port}"), second)
            assert answer.count(b"HTTP/1.1 200") == 1

        talk(conversation)
        assert site.paths == ["/first"]


def test_a_tunnel_passes_bytes_both_ways():
    async def conversation(proxy: FilteringProxy, ask: Client) -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readexactly(5)).upper())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        answer = await ask(request(f"127.0.0.1:{port}", method="CONNECT"), b"hello")
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nHELLO"
        server.close()

    assert talk(conversation) == []


@pytest.mark.parametrize(
    "text",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nx\r\n\r\n",
        b"GET " + b"a" * 100_000,
    ],
    ids=["no HTTP", "TLS", "bad header", "endless line"],
)
def test_garbage_is_hung_up_on(text):
    async def conversation(proxy: FilteringProxy, ask: Client) -> None:
        assert await ask(text) in {b"", b"HTTP/1.1 407 Proxy Authentication Required"}

    talk(conversation)


def test_a_host_that_does_not_answer():
    with loopback(page) as gone:
        port = gone.port

    async def conversation(proxy: FilteringProxy, ask: Client) -> None:
        assert (await ask(request(f"http://127.0.0.1:{port}/"))).startswith(b"HTTP/1.1 502 ")

    talk(conversation)


# --- behind an outbound proxy ---


def behind(outer: Loopback) -> OutboundProxies:
    proxy = OutboundProxy("127.0.0.1", outer.port, authorization="Basic eDp5")
    return {"http": proxy, "https": proxy}


def test_an_outbound_proxy_gets_the_whole_address_and_its_own_password():
    def answer(arrived: Arrived) -> Answer:
        return 200, {}, arrived.target.encode()

    with loopback(answer) as outer:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            answer = await ask(request("http://docs.example.com/a", "Host: docs.example.com"))
            assert answer.endswith(b"\r\n\r\nhttp://docs.example.com/a")
            tunnel = await ask(request("docs.example.com:443", method="CONNECT"))
            assert tunnel.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")

        assert talk(conversation, "", behind(outer)) == []
        assert [(arrived.method, arrived.target) for arrived in outer.requests] == [
            ("GET", "http://docs.example.com/a"),
            ("CONNECT", "docs.example.com:443"),
        ]
        assert {arrived.headers["proxy-authorization"] for arrived in outer.requests} == {
            "Basic eDp5"
        }


def test_what_the_text_shows_is_refused_behind_an_outbound_proxy_too():
    with loopback(page) as outer:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            for url in ("http://10.0.0.1/", "http://localhost/", f"http://127.0.0.1:{outer.port}/"):
                assert (await ask(request(url))).startswith(b"HTTP/1.1 403 ")

        assert len(talk(conversation, "", behind(outer))) == 3
        assert outer.connections == 0


def test_an_outbound_proxy_that_says_no():
    with loopback(lambda _arrived: (403, {}, b"")) as outer:

        async def conversation(proxy: FilteringProxy, ask: Client) -> None:
            assert (await ask(request("docs.example.com:443", method="CONNECT"))).startswith(
                b"HTTP/1.1 502 "
            )

        talk(conversation, "", behind(outer))
