"""The live page: the state of a run, `/status.json` and its events, and the server. Imported when
it is enabled.

The server is read-only, on 127.0.0.1, for pages of its own origin.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
from aiohttp import web

from llmsspider.crawler.progress import Phase, RecentPage
from llmsspider.output.metrics import CONTENT_TYPE, metrics
from llmsspider.output.status import RunReport


@dataclass(slots=True, frozen=True)
class ReadFile:
    """A file that discovery read: llms.txt, or one that it links to."""

    url: str
    kind: str
    title: str | None
    entries: int


@dataclass(slots=True, frozen=True)
class LiveStatus:
    """All of the state: `/status.json`, and the events `state` and `end`
    (docs/reference/live.schema.json).
    """

    phase: Phase
    discovered_file: str | None
    discovered_file_type: str
    linked_files: int
    crawl_type: str
    documents: int
    done: int
    queued: int
    origins: dict[str, int]
    changes: dict[str, int]
    errors: dict[str, int]
    filtered: dict[str, int]
    chunks: dict[str, int]
    elapsed_secs: float
    total: int
    percent: int
    unchanged: int
    failed: int
    left_out: int
    pages_per_min: float
    source: str
    url: str | None
    run: str
    recent: list[RecentPage]
    timeline: list[tuple[float, int, int]]
    ended: bool
    outcome: str | None
    complete: bool
    why: str | None
    report: str | None
    scope: str | None
    files: list[ReadFile]
    sitemaps: list[str]
    error_examples: list[tuple[str, str, str]]
    filtered_examples: list[tuple[str, str, str]]
    """Of each an error kind or filter reason, the URL, and the detail in words."""


def live_numbers(run: RunReport) -> dict[str, Any]:
    """Return what changes all the time: the event `numbers` of the live page."""
    return {
        **{
            one.name: getattr(run, one.name) for one in fields(LiveStatus) if hasattr(run, one.name)
        },
        "errors": run.errors.by_kind,
        "filtered": run.filtered.by_reason,
        "failed": run.errors.count,
        "left_out": run.filtered.count,
        "run": run.id,
        "ended": run.outcome is not None,
        "report": str(run.report) if run.report else None,
    }


def live_status(run: RunReport) -> LiveStatus:
    """Return all of the state."""
    files, sitemaps = (
        (run.discovery.files, run.discovery.sitemaps) if run.discovery is not None else ([], [])
    )
    return LiveStatus(
        **live_numbers(run),
        files=[ReadFile(file.url, file.kind, file.title, len(file.entries)) for file in files],
        sitemaps=list(sitemaps),
        error_examples=[(one.kind, one.url, one.reason) for one in run.errors.urls],
        filtered_examples=[(one.reason, one.url, one.rule or "") for one in run.filtered.urls],
    )


HOST = "127.0.0.1"

EVENT_SECS = 1.0
SHUTDOWN_GRACE_SECS = 3.0
"""Time between two events; time that pages have to fetch the report after the last one."""

MAX_CONNECTIONS = 32
"""Connections at the same time; a page has two, further ones are closed at once."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LiveServer:
    """Serves `/`, `/status.json`, `/metrics`, `/events` (server-sent events) and, once there is
    one, `/report.html`.

    `run` gives the state of the run, `report` the HTML of the report.
    """

    def __init__(self, run: Callable[[], RunReport], report: Callable[[], str | None]):
        self._run = run
        self._report = report
        app = web.Application(middlewares=[self._guard])
        places = {
            "/": self._page,
            "/report.html": self._page,
            "/status.json": self._status,
            "/events": self._events,
            "/metrics": self._metrics,
        }
        app.add_routes([web.get(path, handler) for path, handler in places.items()])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self._listener: asyncio.Server | None = None
        self._hosts: set[str] = set()
        self._ended = asyncio.Event()
        self._streams: set[asyncio.Transport] = set()

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
        """Send the last event, give open pages time to fetch the report, and close."""
        if self._listener is None:
            return
        self._ended.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_GRACE_SECS):
                while not all(stream.is_closing() for stream in self._streams):  # noqa: ASYNC110  # no event
                    await asyncio.sleep(0.05)
        self._listener.close()
        await self._runner.cleanup()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse what did not come from a page of this server: other names for this address, other
        origins.
        """
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in self._hosts}
        if foreign or request.headers.get("Host", "").lower() not in self._hosts:
            raise web.HTTPForbidden(text="This page is for this machine only.\n")
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise web.HTTPForbidden(text="This page is not to be used by others.\n")
        return await handler(request)

    async def _page(self, request: web.Request) -> web.Response:
        text = page() if request.path == "/" else self._report()
        if text is None:
            raise web.HTTPNotFound(text="There is no report yet.\n")
        headers = HEADERS | {"Content-Security-Policy": policy()}
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def _status(self, _request: web.Request) -> web.Response:
        body = orjson.dumps(live_status(self._run()))
        return web.Response(body=body, content_type="application/json", headers=HEADERS)

    async def _metrics(self, _request: web.Request) -> web.Response:
        run = self._run()
        body = metrics(run, run.source).encode("utf-8", "replace")
        return web.Response(body=body, headers=HEADERS | {"Content-Type": CONTENT_TYPE})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send the state, then numbers every second, and the whole state again as the last event,
        `end`.
        """
        response = web.StreamResponse(headers=HEADERS | {"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if (transport := request.transport) is None:
            return response
        self._streams.add(transport)
        try:
            await response.write(_event("state", live_status(self._run())))
            while not self._ended.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), EVENT_SECS)
                    break
                await response.write(_event("numbers", live_numbers(self._run())))
            await response.write(_event("end", live_status(self._run())))
            while not transport.is_closing():  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.05)  # the page closes the stream when it has what it wants
        except ConnectionResetError:
            pass
        finally:
            self._streams.discard(transport)
        return response


class _Refusal(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _event(name: str, value: LiveStatus | dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(value))


@cache
def page() -> str:
    """Return the page, with its style and script inside."""
    text = _asset("page.html")
    return text.replace("/*style*/", _asset("page.css")).replace("/*script*/", _asset("page.js"))


@cache
def policy() -> str:
    """Return the Content-Security-Policy: two scripts (a blob, the report, inherits it), no
    connection but to here.
    """
    # Jinja2 takes time to import
    from llmsspider.output.report import csp_hash, report_script  # noqa: PLC0415

    scripts = f"{csp_hash(_asset('page.js'))} {csp_hash(report_script())}"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _asset(name: str) -> str:
    return files("llmsspider.extensions").joinpath("assets", name).read_text(encoding="utf-8")
