"""The server of a crawl's page, and `/status.json`, the state of a run. Imported when it is
enabled.

The server is read-only, on 127.0.0.1, for pages of its own origin.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import orjson
from aiohttp import web

from llmsspider.output.metrics import CONTENT_TYPE, metrics
from llmsspider.output.report import RunData
from llmsspider.ui.rendering import asset
from llmsspider.web.addresses import foreign_header

HOST = "127.0.0.1"

SEEN_SECS = 2.5
"""Time since which a page was loaded by someone who watches; so long they may load the last one."""

MAX_CONNECTIONS = 32
"""Connections at the same time; a page has two, further ones are closed at once."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self';"
        " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LiveServer:
    """Serves `/`, `/status.json`, `/metrics`, the assets of the page and, once there is one,
    `/report.html`.

    `run` gives the state of the run; `page` makes of it the HTML of `/`, in a thread, with
    `is_over` for the last one; `report` gives that of the report, which takes its place.
    """

    def __init__(
        self,
        run: Callable[[], RunData],
        page: Callable[..., str],
        report: Callable[[], str | None],
    ):
        self._run = run
        self._page = page
        self._report = report
        app = web.Application(middlewares=[self._guard])
        places = {
            "/": self._answer_page,
            "/report.html": self._answer_report,
            "/status.json": self._answer_status,
            "/metrics": self._answer_metrics,
            "/assets/{name}": self._answer_asset,
        }
        app.add_routes([web.get(path, handler) for path, handler in places.items()])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self._listener: asyncio.Server | None = None
        self._hosts: set[str] = set()
        self._seen_at = -SEEN_SECS
        self._is_over = False

    async def start(self, ports: Iterable[int]) -> str | None:
        """Listen on the first free port; returns the address, None when none is free."""
        await self._runner.setup()
        for port in ports:
            with suppress(OSError):
                self._listener = await asyncio.get_running_loop().create_server(
                    self._protocol, HOST, port
                )
                taken = self._listener.sockets[0].getsockname()[1]
                self._hosts = {f"{HOST}:{taken}", f"localhost:{taken}"}
                return f"http://{HOST}:{taken}/"
        await self._runner.cleanup()
        return None

    def _protocol(self) -> asyncio.BaseProtocol:
        """Return what answers a new connection: the server, or nobody when there are too many."""
        server = self._runner.server
        if server is None or len(server.connections) >= MAX_CONNECTIONS:
            return _Refusal()
        return server()

    async def stop(self) -> None:
        """Close, after a time in which those who watch load the page once more."""
        if self._listener is None:
            return
        self._is_over = True
        if time.monotonic() - self._seen_at < SEEN_SECS:
            await asyncio.sleep(SEEN_SECS)
        self._listener.close()
        await self._runner.cleanup()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse what did not come from a page of this server: other names for this address, other
        origins.
        """
        if foreign_header(request.headers, self._hosts) is not None:
            raise web.HTTPForbidden(text="This page is for this machine only.\n")
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise web.HTTPForbidden(text="This page is not to be used by others.\n")
        answer = await handler(request)
        answer.headers.update(HEADERS)
        return answer

    async def _answer_page(self, _request: web.Request) -> web.Response:
        self._seen_at = time.monotonic()
        text = self._report() or await asyncio.to_thread(
            self._page, self._run(), is_over=self._is_over
        )
        return web.Response(text=text, content_type="text/html")

    async def _answer_report(self, _request: web.Request) -> web.Response:
        text = self._report()
        if text is None:
            raise web.HTTPNotFound(text="There is no report yet.\n")
        return web.Response(text=text, content_type="text/html")

    async def _answer_asset(self, request: web.Request) -> web.Response:
        found = asset(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        body, media_type = found
        return web.Response(body=body, headers={"Content-Type": media_type})

    async def _answer_status(self, _request: web.Request) -> web.Response:
        body = orjson.dumps(self._run())
        return web.Response(body=body, content_type="application/json")

    async def _answer_metrics(self, _request: web.Request) -> web.Response:
        data = self._run()
        body = metrics(data.run, data.source).encode("utf-8", "replace")
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


class _Refusal(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
