"""The browser of one crawl, started by the first page that needs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmsspider.browser.proxy import (
    FilteringProxy,
    OutboundProxies,
    OutboundProxy,
    Resolver,
    proxies_of_environment,
    proxy_for,
)
from llmsspider.crawler.requests import META
from llmsspider.errors import BrowserUnavailableError, RenderingError
from llmsspider.web import stats
from llmsspider.web.addresses import AllowedAddresses
from llmsspider.web.credentials import Credentials, Signer, with_contact
from llmsspider.web.loading import missing_extra

if TYPE_CHECKING:
    from playwright.async_api import Page, Route
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from llmsspider.browser.page_load import RenderingHandler, Traffic

logger = logging.getLogger(__name__)


# How Chromium is started: which program, with which flags. Nothing here imports Playwright.

PROGRAMS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""Names of an installed browser, best first; without one Playwright's own download is used.

Debian's `chromium-headless-shell` takes three fifths of the CPU; on the PATH a script waits for it.
"""

QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--disable-features=OptimizationHints,MediaRouter,Translate,CertificateTransparencyComponentUpdater",
)
"""Flags that disable Chromium's own background requests."""

FENCED = (
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
"""Flags that prevent Chromium from bypassing the proxy: no QUIC, no WebRTC over UDP, no look-ups of
its own.
"""


def find_program(which: Callable[[str], str | None] = shutil.which) -> str | None:
    """Return the path of the installed browser, None where there is none."""
    return next((path for path in map(which, PROGRAMS) if path), None)


def launch_options(
    given: Mapping[str, Any],
    proxy: Mapping[str, str],
    program: str | None,
    *,
    sandbox: bool | None = None,
) -> dict[str, Any]:
    """Return the arguments of Playwright's `launch`.

    Args:
        given: `PLAYWRIGHT_LAUNCH_OPTIONS`; it may choose the program, the sandbox and add flags,
        never the proxy.
        proxy: the filtering proxy: `server`, `username`, `password`.
        program: path of the installed browser, None for Playwright's own.
        sandbox: use Chromium's sandbox; None: unless the process is root, for whom it does not
        start.
    """
    if sandbox is None:
        sandbox = not hasattr(os, "geteuid") or os.geteuid() != 0
    options: dict[str, Any] = {"headless": True, "chromium_sandbox": sandbox, **given}
    if program and "executable_path" not in options and "channel" not in options:
        options["executable_path"] = program
    options["args"] = [*given.get("args", ()), *QUIET, *FENCED]
    options["proxy"] = {**proxy, "bypass": "<-loopback>"}
    return options


SHELL = "llms_shell"
"""Key of `request.meta`: headers and body of the page, where they were downloaded before."""

CLOSE_SECS = 15.0
"""Time the browser is given to close; what is left then ends with the crawl's process."""

LEAVE_SECS = 2.0
"""Time a page is given to become empty before it is closed."""

MISSING = (
    "no browser can be started ({}): install one with `apt-get install chromium` or `playwright"
    " install chromium`"
)


class BrowserSession:
    """Downloads pages with scrapy-playwright, behind the filtering proxy.

    The browser starts with the first `download`. Where it cannot be started, no second attempt is
    made. A page that hangs is closed after `DOWNLOAD_TIMEOUT`.
    """

    def __init__(self, crawler: Crawler, resolver: Resolver, signer: Signer | None):
        self._crawler = crawler
        self._resolver = resolver
        self._signer = signer
        self._credentials = Credentials.from_settings(crawler.settings)
        self._lock = asyncio.Lock()
        self._handler: RenderingHandler | None = None
        self._proxy: FilteringProxy | None = None
        self._unavailable: BrowserUnavailableError | None = None
        self._outbound: OutboundProxies = {}
        self._warned: set[str] = set()

    async def download(self, request: Request) -> Response:
        """Return the page as the browser rendered it; `meta["llms"]` of the response says what the
        page loaded.

        Raises `BrowserUnavailableError` without a browser that may be used as it is configured,
        `RenderingError` where the page took too long.
        """
        handler = await self._open()
        self._check_proxy(request)
        opened: list[Page] = []
        traffic: list[Traffic] = []

        async def prepare(page: Page, _request: Request) -> None:
            opened.append(page)
            traffic.append(await handler.watch(page, request.meta.get(SHELL)))
            page.on("popup", lambda popup: popup.close())
            if self._credentials or self._signer:
                of_url = self._credentials.headers_for
                await page.route(lambda url: bool(self._signer or of_url(url)), self._with_headers)

        # it brings Playwright along
        from llmsspider.browser.page_load import VIEWPORT  # noqa: PLC0415

        settings = self._crawler.settings
        request.meta["playwright_context_kwargs"] = {
            "user_agent": with_contact(settings.get("USER_AGENT"), settings.get("LLMS_CONTACT")),
            "locale": "en-US",
            "viewport": VIEWPORT,
            "service_workers": "block",
            "accept_downloads": False,
            "ignore_https_errors": not settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
        }
        request.meta["playwright_page_init_callback"] = prepare
        request.meta["playwright_include_page"] = True  # it is closed here
        goto = {"wait_until": "commit"}  # `page_load` waits for the rest
        request.meta["playwright_page_goto_kwargs"] = goto
        seconds = float(request.meta.get("download_timeout") or 60)
        try:
            async with asyncio.timeout(seconds):
                response: Response = await handler.download_request(request)
        except TimeoutError:
            raise RenderingError(
                f"the page was not rendered within {seconds:g} s", kind="network"
            ) from None
        finally:
            request.meta.pop("playwright_page", None)
            await self._close_pages(opened)
        for loaded in traffic[-1:]:
            noted = {
                "failed": dict(loaded.failed),
                "pending": list(loaded.pending),
                "data": list(loaded.data),
                "files": loaded.whole_files,
                "stopped": loaded.is_stopped,
                "broken": loaded.is_broken,
                "left": loaded.left,
                "spec": loaded.spec,
            }
            request.meta[META] = request.meta.get(META, {}) | noted
        return response

    async def close(self) -> None:
        """End the browser; idempotent."""
        async with self._lock:
            handler = self._handler
            self._handler = None
            proxy = self._proxy
            self._proxy = None
            if self._unavailable is None:
                self._unavailable = BrowserUnavailableError("the crawl has ended")
        if handler is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECS):
                    await handler.close()
        if proxy is not None:
            await proxy.close()

    async def _open(self) -> RenderingHandler:
        async with self._lock:
            if self._unavailable is not None:
                raise self._unavailable
            try:
                self._handler = self._handler or await self._start()
            except BrowserUnavailableError as error:
                self._unavailable = error
                raise
            return self._handler

    async def _start(self) -> RenderingHandler:
        settings = self._crawler.settings
        for name in ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL"):
            if settings.get(name):  # requests would bypass the filtering proxy
                raise BrowserUnavailableError(
                    f"{name}: a browser elsewhere cannot be kept off private addresses"
                )
        if (settings.get("PLAYWRIGHT_BROWSER_TYPE") or "chromium") != "chromium":
            raise BrowserUnavailableError(
                "PLAYWRIGHT_BROWSER_TYPE: only chromium is known to use the proxy for all"
            )
        try:
            self._outbound = (
                proxies_of_environment() if settings.getbool("HTTPPROXY_ENABLED", True) else {}
            )
        except ValueError as error:
            raise BrowserUnavailableError(f"outbound proxy: {error}") from error
        try:
            # takes a second; most crawls need none
            from llmsspider.browser.page_load import RenderingHandler  # noqa: PLC0415
        except ImportError as error:
            raise BrowserUnavailableError(
                missing_extra("browser") or MISSING.format(error)
            ) from error
        if settings.get("LOG_LEVEL") != "DEBUG":
            logging.getLogger("scrapy-playwright").setLevel(logging.ERROR)  # errbacks report these
        self._proxy = FilteringProxy(
            self._resolver,
            AllowedAddresses.from_setting(settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES")),
            self._outbound,
            self._refused,
        )
        await self._proxy.start()
        handler = RenderingHandler(self._crawler)
        given = handler.config.launch_options
        handler.config.launch_options = launch_options(given, self._proxy.address, find_program())
        try:
            await handler.start()
        except Exception as error:
            await self._proxy.close()
            await handler.close()
            first_line = str(error).strip().partition("\n")[0]
            raise BrowserUnavailableError(MISSING.format(first_line)) from error
        return handler

    async def _with_headers(self, route: Route) -> None:
        """Answer a request by a download that sends the credentials of its origin, and is signed.

        If the request were continued with these headers, Playwright would send them to redirect
        targets too. This download follows no redirect; the browser follows it, by a request of its
        own.
        """
        # it brings Playwright along
        from llmsspider.browser.page_load import is_needless  # noqa: PLC0415

        request = route.request
        if is_needless(request):
            await route.abort()
            return
        headers = {
            name: value for name, value in (await request.all_headers()).items() if name[:1] != ":"
        }
        for name, value in self._credentials.headers_for(request.url).items():
            key = name.lower()
            headers[key] = (
                f"{headers[key]}; {value}" if key == "cookie" and key in headers else value
            )
        if self._signer:
            headers |= self._signer.headers(request.method, request.url)
        response = await route.fetch(headers=headers, max_redirects=0)
        await route.fulfill(response=response)

    async def _close_pages(self, opened: list[Page]) -> None:
        """Close the pages of a download; where that hangs, close the browser, which restarts for
        the next page.

        When a page is closed, Chromium sends the requests that no route has answered yet, those for
        images too: on an empty page there are none.
        """
        try:
            for page in opened:
                with contextlib.suppress(Exception):
                    await page.goto("about:blank", timeout=LEAVE_SECS * 1000)
                async with asyncio.timeout(CLOSE_SECS / 3):
                    await page.close()
        except Exception:  # any error of Playwright: the browser is closed then
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_SECS):
                    if self._handler is not None:
                        await self._handler.browser.close()

    def _check_proxy(self, request: Request) -> None:
        if not (wanted := request.meta.get("proxy")):
            return
        parts = urlsplit(request.url)
        known = proxy_for(self._outbound, parts.scheme, parts.hostname or "")
        try:
            proxy = OutboundProxy.from_url(wanted)
        except ValueError as error:
            raise RenderingError(f"outbound proxy: {error}", kind="blocked") from error
        if known is None or (known.host, known.port) != (proxy.host, proxy.port):
            why = (
                "the browser uses the proxies of the environment, not those of"
                " request.meta['proxy']"
            )
            raise RenderingError(why, kind="blocked")

    def _refused(self, host: str, reason: str) -> None:
        stats.count(self._crawler.stats, stats.blocked("address"))
        logger.log(
            logging.DEBUG if host in self._warned else logging.WARNING,
            "Refused the browser %(host)s: %(reason)s",
            {"host": host, "reason": reason},
            extra={"spider": self._crawler.spider},
        )
        self._warned.add(host)
