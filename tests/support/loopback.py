"""Servers on loopback addresses that write down every connection and request, with its time."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


@dataclass
class Arrived:
    """One request: when (monotonic seconds), what, and with which headers (lower-case names)."""

    at: float
    method: str
    target: str
    headers: dict[str, str]


@dataclass
class Loopback:
    """A running server. `connections` counts TCP connections, whether or not a request followed."""

    host: str
    port: int
    requests: list[Arrived] = field(default_factory=list)
    connections: int = 0

    @property
    def paths(self) -> list[str]:
        return [request.target for request in self.requests]

    @property
    def pages(self) -> list[str]:
        return [path for path in self.paths if path != "/robots.txt"]

    def url(self, path: str = "/", host: str | None = None, scheme: str = "http") -> str:
        return f"{scheme}://{host or self.host}:{self.port}{path}"


RIGHTS = "/.well-known/tdmrep.json"
"""Asked once after each robots.txt; it is not there, and not among the requests that are recorded."""


@contextlib.contextmanager
def loopback(
    answer: Callable[[Arrived], Answer], host: str = "127.0.0.1", certificate: Path | None = None
) -> Iterator[Loopback]:
    """Serve until the block ends; `certificate` is a PEM file with key for https."""
    server: ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            state.connections += 1
            super().setup()

        def do_GET(self) -> None:
            arrived = Arrived(
                time.monotonic(),
                self.command,
                self.path,
                {k.lower(): v for k, v in self.headers.items()},
            )
            if self.path == RIGHTS:
                status, headers, body = 404, {}, b""
            else:
                state.requests.append(arrived)
                status, headers, body = answer(arrived)
            self.send_response(status)
            for name, value in {
                "Content-Type": "text/html",
                **headers,
                "Content-Length": str(len(body)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_CONNECT = do_GET

        def log_message(self, *_args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *_args: object) -> None:
            pass  # clients that hang up, or do not like the certificate

    server = Server((host, 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    state = Loopback(host, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def page(_arrived: Arrived) -> Answer:
    """Answer everything with a page, robots.txt with none."""
    return (404, {}, b"") if _arrived.target == "/robots.txt" else (200, {}, b"<h1>Reached</h1>")
