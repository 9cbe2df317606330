"""The live page's server under more connections than any page opens."""

from __future__ import annotations

import asyncio

from llmsspider.extensions.live_server import HOST, MAX_CONNECTIONS, LiveServer


async def _ask(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n".encode())
    return reader, writer


async def _answers(reader: asyncio.StreamReader) -> bool:
    try:
        return (await reader.readline()).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False


async def _crowd() -> tuple[list[bool], bool, bool]:
    server = LiveServer(lambda: None, lambda _data, *, is_over: "", lambda: None)
    address = await server.start([0])
    port = int(address.rstrip("/").rpartition(":")[2])
    taken = [await _ask(port) for _ in range(MAX_CONNECTIONS)]
    first = [await _answers(reader) for reader, _ in taken]
    reader, writer = await _ask(port)
    beyond = await _answers(reader)
    writer.close()
    for _, writer in taken:
        writer.close()
    after = False
    while not after:  # the server notices the closed ones in its own time
        reader, writer = await _ask(port)
        after = await _answers(reader)
        writer.close()
    await server.stop()
    return first, beyond, after


def test_connections_beyond_the_limit_are_closed_and_room_is_given_back():
    first, beyond, after = asyncio.run(_crowd())
    assert first == [True] * MAX_CONNECTIONS
    assert not beyond
    assert after
