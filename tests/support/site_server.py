"""A documentation site on 127.0.0.1 for the tests: pages from a dictionary, every request recorded."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TYPES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "xml": "application/xml",
    "json": "application/json",
}


@dataclass
class Seen:
    """One request as the server saw it."""

    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: bytes = b""
    raw: bytes = b""
    """Request line and headers, byte for byte."""


@dataclass
class Reply:
    """One answer. `body` may be text; `{base}` in text bodies and in Location becomes the server's address."""

    body: str | bytes = ""
    status: int = 200
    content_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


Page = str | bytes | Reply | Callable[["Seen"], "Reply | str"]


class Site:
    """Pages by path (with query where it matters). An unknown path is a 404, or `missing` when that is set.

    `etags` sends an ETag with every 200 and answers 304 to `If-None-Match`.
    """

    def __init__(self, pages: dict[str, Page]):
        self.pages = dict(pages)
        self.requests: list[Seen] = []
        self.missing: Page = Reply(
            "<html><body><h1>Not found</h1></body></html>", 404, TYPES["html"]
        )
        self.etags = False
        self.type_of_304: str | None = None
        """The Content-Type that a 304 has, as some servers send one."""
        self.url = ""
        self._lock = threading.Lock()

    def as_now(self) -> Callable[[], None]:
        """Return a function that makes the site what it is now, with no request recorded."""
        kept = {**vars(self), "requests": []}

        def again() -> None:
            vars(self).clear()
            vars(self).update(kept, pages=dict(kept["pages"]), requests=[])

        return again

    def paths(self) -> list[str]:
        """The paths asked, in order."""
        with self._lock:
            return [seen.path for seen in self.requests]

    def reply_status(self, path: str) -> int:
        """The status the first request for a path got."""
        with self._lock:
            return next(seen.status for seen in self.requests if seen.path == path)

    def clear(self) -> None:
        """Forget the requests."""
        with self._lock:
            self.requests.clear()

    def reply(self, seen: Seen) -> Reply:
        page = self.pages.get(seen.path, self.pages.get(seen.path.partition("?")[0], self.missing))
        if callable(page):
            page = page(seen)
        reply = page if isinstance(page, Reply) else Reply(page)
        if isinstance(reply.body, str):
            reply = Reply(
                reply.body.replace("{base}", self.url).encode(),
                reply.status,
                reply.content_type,
                reply.headers,
            )
        return reply

    def record(self, seen: Seen) -> None:
        with self._lock:
            self.requests.append(seen)


def content_type_of(path: str, reply: Reply) -> str:
    """The media type of an answer: its own, or by the extension of the path."""
    if reply.content_type is not None:
        return reply.content_type
    return TYPES.get(urlsplit(path).path.rpartition(".")[2], TYPES["html"])


@contextlib.contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve `site` on a free port of 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: 40 ms else

        def log_message(self, *_args: object) -> None:
            pass

        def do_GET(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = re.sub(r"^http://[^/]*", "", self.path)  # as a proxy is asked
            headers = {key.lower(): value for key, value in self.headers.items()}
            raw = self.raw_requestline + self.headers.as_bytes()
            seen = Seen(self.command, path, 0, headers, sent, raw)
            reply = site.reply(seen)
            body = reply.body if isinstance(reply.body, bytes) else reply.body.encode()
            headers = {
                name: value.replace("{base}", site.url) for name, value in reply.headers.items()
            }
            status = reply.status
            if site.etags and status == 200:
                headers.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:16]}"')
                if self.headers.get("If-None-Match") == headers["ETag"]:
                    status, body = 304, b""
            seen.status = status
            site.record(seen)
            self.send_response(status)
            content_type = content_type_of(path, reply) if status != 304 else site.type_of_304
            if content_type:
                self.send_header("Content-Type", content_type)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

        do_HEAD = do_POST = do_GET

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that hung up

    server = Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
