"""When a page has loaded, and what it holds then: scrapy-playwright's download handler. Imports
Playwright: lazily.

A page has loaded when no request that it needs is under way, and its elements and text no longer
change. If it does not reach this state in time, its scripts are stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections import Counter, defaultdict
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from playwright.async_api import BrowserContext, CDPSession, Error, Page, Request, Response, Route
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from llmsspider.browser.proxy import PRIMER
from llmsspider.errors import RenderingError
from llmsspider.items import raw_hash
from llmsspider.web.addresses import same_site
from llmsspider.web.urls import host

IDLE_TIMEOUT_SECS = 15.0
"""Longest time a page is given after its answer began."""

QUIET_SECS = 0.5
"""Time without a change and without a request under way after which a page is done."""

STILL_SECS = 2.0
"""Time without a change after which a page that shows text is done, whatever still loads besides
what its text is made from (`Traffic.awaited`).
"""

BUSY_SECS = 0.25
"""Time to answer above which a page is busy: it computes, and neither changes nor requests anything
meanwhile.
"""

ANSWER_SECS = 5.0
"""Time a page is given to answer a question besides those of `wait_until_loaded`, and to terminate
a script.
"""

ENOUGH_TEXT = 200
"""Least number of characters of text of a page that is more than a loading notice."""

NEEDLESS = frozenset({"image", "media", "font", "other"})
"""Types of resources that the text of a page does not need; `other` is what another page may need
(prefetch).
"""

STAY_OPEN = frozenset({"eventsource", "websocket"})
"""Connections that a page keeps without waiting for them."""

DATA = frozenset({"fetch", "xhr"})
"""Types of requests that scripts make for data."""

STREAMS = ("text/event-stream", "multipart/x-mixed-replace")
"""Media types of answers that stay open: nobody waits for their end."""

POLLS = 2
"""Answers of one address after which a further request to it is a poll, unless the text grew since.
"""

HUNG_PAGES = 2
"""Pages that one request kept from coming to rest, after which it is waited for no more."""

MAX_LOADS = 4
"""Maximum number of loads of a page, reloads and navigations by its scripts included; further ones
are refused.
"""

SHARED = frozenset({"script", "stylesheet"})
"""Types of resources that are kept for the other pages of a crawl: so many of them (`MAX_KEPT`),
and no larger ones.
"""
MAX_KEPT = 200
MAX_KEPT_BYTES = 4 * 1024 * 1024

MAX_NOTED = 20
"""Maximum number of requests recorded for a page: of failed ones, and of those for data."""

POLL_SECS = 0.1
"""Time between two questions to a page."""

_NUMBER = re.compile(r"\d{9,}|0\.\d+")

_ASSETS = files("llmsspider.browser").joinpath("assets")
LOOK, EXPAND, OPEN, FRAMES, MENUS, SPEC, WHOLE, LISTEN = (
    (_ASSETS / f"{name}.js").read_text("utf-8")
    for name in ("look", "expand", "open", "frames", "menus", "spec", "whole", "listen")
)
"""Functions that a page is asked to call: what it shows; expand the parts of an API reference; open
what is drawn when it is asked for; its frames; open its menus; the API that a script gave it; its
HTML with shadow roots. The last one is a script that runs before those of the page.
"""


def is_needless(request: Request) -> bool:
    """Return whether to abort a request of a page, which its text does not need
    (`PLAYWRIGHT_ABORT_REQUEST`).
    """
    return request.resource_type in NEEDLESS


def is_framed(request: Request) -> bool:
    """Return whether a request is for the document of a frame; frames are not read."""
    if request.resource_type != "document":
        return False
    try:
        return request.frame.parent_frame is not None
    except Error:  # the page itself: it has no frame yet
        return False


class Traffic:
    """The requests a page makes.

    `failed` maps the URL of each request for a script, data or a frame that failed to the reason;
    `pending` lists the URLs of those that were under way when the page was read; `data` lists the
    URLs of data that was loaded; `is_stopped` says whether the page was read before its scripts had
    finished, `is_broken` whether one of them threw an error that nobody caught.
    `hung` maps requests that kept pages of the crawl from coming to rest to these pages.
    While `is_held` is True, no navigation leaves the page. `left` counts tabs that were not opened,
    `spec` is the OpenAPI description that a script gave to an element, as text.
    """

    def __init__(self, page: Page, hung: defaultdict[tuple[str, ...], set[str]]):
        self._page = page
        self._hung = hung
        self._open: dict[Request, float] = {}
        self._loads = 0
        self.refused: WeakSet[Request] = WeakSet()
        """Requests that would load the page more than `MAX_LOADS` times."""
        self.failed: dict[str, str] = {}
        self.pending: list[str] = []
        self.data: list[str] = []
        self.files: dict[str, str | None] = {}
        """The hashes of the data and the scripts of its site that it asked for; None for what
        cannot be requested again.
        """
        self.is_stopped = False
        self.is_broken = False
        self.is_held = False
        self.reads_frames = False
        self._is_over = False
        self.left = 0
        self.spec = ""
        self._polled: Counter[tuple[str, ...]] = Counter()
        self._endless: WeakSet[Request] = WeakSet()
        self.last_secs = time.monotonic()
        """When the last request began or ended (monotonic clock)."""
        page.on("request", self._begins)
        page.on("websocket", lambda socket: self.files.update({socket.url: None}))
        page.on("pageerror", self._breaks)
        page.on("response", self._answered)
        page.on("requestfinished", self._ends)
        page.on("requestfailed", self._fails)

    @property
    def quiet_secs(self) -> float:
        """Seconds without a request under way; connections that stay open do not count."""
        is_waiting = any(
            request.resource_type not in STAY_OPEN
            and request not in self._endless
            and not self._has_hung(request)
            for request in self._open
        )
        return 0.0 if is_waiting else time.monotonic() - self.last_secs

    @property
    def is_awaiting(self) -> bool:
        """Whether requests are waited for that the text of the page may be made from."""
        return not all(map(self._has_hung, self.awaited))

    def _has_hung(self, request: Request) -> bool:
        return len(self._hung.get(_spelling(request), ())) >= HUNG_PAGES

    def stops(self) -> None:
        """Note that the page did not come to rest, and the requests that it waits for."""
        self.is_stopped = True
        for request in self.awaited:
            self._hung[_spelling(request)].add(self._page.url)

    @property
    def awaited(self) -> list[Request]:
        """Requests under way that the text of the page may be made from: the page itself, data, and
        scripts of its own site (chunks, JSONP). Polls and streams do not count: they never end.
        """
        return [
            request
            for request in self._open
            if request not in self._endless
            and (
                request.resource_type in DATA | {"document"}
                or (request.resource_type == "script" and same_site(request.url, self._page.url))
            )
        ]

    @property
    def whole_files(self) -> dict[str, str] | None:
        """The files that the page was drawn from, None where not all can be requested again."""
        found = {url: hashed for url, hashed in self.files.items() if hashed is not None}
        return found if len(found) == len(self.files) <= MAX_NOTED else None

    def end(self) -> None:
        """Stop recording: requests that are still under way when the page was read end when it is
        closed. Frames are loaded no more.
        """
        self.reads_frames = False
        self._is_over = True
        self.pending = [request.url for request in self.awaited][:MAX_NOTED]
        self._page.remove_listener("response", self._answered)
        self._page.remove_listener("requestfailed", self._fails)

    def _begins(self, request: Request) -> None:
        if request.resource_type == "document" and not is_framed(request):
            self._loads += 1
            if self._loads > MAX_LOADS or self.is_held:
                self.refused.add(request)
                return
        is_own = same_site(request.url, self._page.url)
        kind = request.resource_type
        is_needed = kind in DATA | STAY_OPEN or (kind == "script" and is_own)
        if not self._is_over and (is_needed or self.is_read(request)):
            self.files[request.url] = None
        if self._polled[_address(request)] >= POLLS:
            self._endless.add(request)
        else:
            self.last_secs = time.monotonic()
        self._open[request] = time.monotonic()

    def _breaks(self, _error: Any) -> None:
        self.is_broken = True

    def text_grew(self) -> None:
        """Learn that the page shows more: what it asked for was no poll."""
        self._polled.clear()

    def learn_file(self, request: Request, body: bytes) -> None:
        """Learn what a request for data or a script of the page's site was answered with."""
        is_own = same_site(request.url, self._page.url)
        if request.method == "GET" and is_own and request.url in self.files:
            self.files[request.url] = raw_hash(body)

    def _answered(self, response: Response) -> None:
        self._polled[_address(response.request)] += 1
        if response.headers.get("content-type", "").startswith(STREAMS):
            self._endless.add(response.request)
        if response.status >= 400:
            self._note(response.request, f"HTTP status {response.status}")
        elif response.request.resource_type in DATA and len(self.data) < MAX_NOTED:
            self.data.append(response.url)

    def _ends(self, request: Request) -> None:
        if request not in self.refused:
            self._open.pop(request, None)
            if request not in self._endless:
                self.last_secs = time.monotonic()

    def _fails(self, request: Request) -> None:
        self._ends(request)
        self._note(request, request.failure or "it failed")

    def is_read(self, request: Request) -> bool:
        """Return whether a request is for the document of a frame that is read."""
        is_own = host(request.url) == host(self._page.url)
        return self.reads_frames and is_own and is_framed(request)

    def _note(self, request: Request, why: str) -> None:
        is_needed = request.resource_type in DATA | {"script"} or self.is_read(request)
        if is_needed and len(self.failed) < MAX_NOTED:
            self.failed[request.url] = why


def _spelling(request: Request) -> tuple[str, ...]:
    """Return what is the same of one request of several pages: times and random numbers are not."""
    return request.method, _NUMBER.sub("", request.url), request.post_data or ""


def _address(request: Request) -> tuple[str, ...]:
    """Return what is the same of each request of a poll: what it asks, without the query."""
    return request.method, request.url.partition("?")[0], request.post_data or ""


class Scripts:
    """The scripts of a page, over a connection to its browser that answers while they run."""

    def __init__(self, page: Page, session: CDPSession):
        self._page = page
        self._session = session

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._page.url

    async def evaluate(self, function: str, *arguments: object) -> Any:
        """Return what a function of ours returns on the page; None where it was terminated or the
        page navigates.

        Playwright's `evaluate` first loads a script of its own into the page, once; where `stop`
        terminates that one, every later call fails. Here nothing but the function is sent. Raises
        Playwright's `Error` where the page is closed.
        """
        given = ", ".join(map(json.dumps, arguments))
        try:
            answer = await self._session.send(
                "Runtime.evaluate", {"expression": f"({function})({given})", "returnByValue": True}
            )
        except Error:
            if self._page.is_closed():
                raise
            return None
        return answer["result"].get("value")

    async def answer(self, function: str, *arguments: object) -> Any:
        """Call `evaluate` until it returns something; raises `TimeoutError` after `ANSWER_SECS`."""
        async with asyncio.timeout(ANSWER_SECS):
            while (value := await self.evaluate(function, *arguments)) is None:  # noqa: ASYNC110  # there is no event
                await asyncio.sleep(POLL_SECS)
        return value

    async def stop(self) -> None:
        """Terminate the running script and disable scripts; the page can still be read. Takes
        `ANSWER_SECS` at most.

        Scripts that start before the browser has disabled them are terminated too, those of ours
        included (`evaluate`).
        """
        send = self._session.send
        endings: list[asyncio.Future[object]] = []
        with contextlib.suppress(TimeoutError, Error):
            async with asyncio.timeout(ANSWER_SECS):
                off = asyncio.ensure_future(
                    send("Emulation.setScriptExecutionDisabled", {"value": True})
                )
                try:
                    while not off.done():
                        endings.append(asyncio.ensure_future(send("Runtime.terminateExecution")))
                        await asyncio.wait([off], timeout=POLL_SECS)
                    await off
                finally:
                    off.cancel()
                    for ending in endings:
                        ending.cancel()
        await asyncio.gather(*endings, return_exceptions=True)


async def wait_until_loaded(scripts: Scripts, traffic: Traffic) -> bool:
    """Wait until the page has rendered itself, `IDLE_TIMEOUT_SECS` at most; return whether it has.

    Only time in which the page answers within `BUSY_SECS` counts: a page that is busy computing is
    not done, although it does not change meanwhile. Requests under way are not aborted, since
    scripts would render that as an error.
    """
    seen = None
    since = time.monotonic()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(IDLE_TIMEOUT_SECS):
            while True:
                began = time.monotonic()
                look = await scripts.evaluate(LOOK, ENOUGH_TEXT)
                now = time.monotonic()
                if look and seen and look[2] > seen[2]:
                    traffic.text_grew()
                if look is None or look[3] or look != seen or now - began > BUSY_SECS:
                    seen = look
                    since = now
                still = now - since
                shown = look[2] if look else 0
                quiet = QUIET_SECS if shown else STILL_SECS
                is_shown = shown >= ENOUGH_TEXT and not traffic.is_awaiting
                has_text = still >= STILL_SECS and is_shown
                if has_text or min(still, traffic.quiet_secs) >= quiet:
                    return True
                await asyncio.sleep(POLL_SECS)
    return False


API_REFERENCE = "redoc, rapi-doc, elements-api, .swagger-ui, .redoc-wrap, .sl-elements-api"
"""Elements in which the programs that render API references work."""

API_ELEMENTS = f"{API_REFERENCE}, #swagger-ui, #redoc, #app, #root, body > div"
"""Elements that may have been given an API."""

PLACE = "() => [location.pathname, document.querySelector('h1')?.textContent]"
"""What says which text a page shows."""

SEEN = "() => document.llmsspiderFrame > performance.now() ? null : true"
"""True when the observers of a page have been told what is seen of it since it was scrolled."""

SILENT = "() => [...(document.llmsspiderSilent?.keys() ?? [])]"
"""The sockets of a page that have had no message."""

MAX_OPENED = 500
"""Maximum number of collapsed parts that are expanded on a page."""

MAX_ROUNDS = 12
"""Maximum number of times that tabs, closed parts and longer lists are asked for on a page."""

MAX_ASKED = 20
"""Maximum number of them at a time."""

OPEN_SECS = 25.0
"""Time after which no more of them are asked for."""

MAX_FRAMES = 4
"""Maximum number of frames of a page that are read."""

VIEWPORT = {"width": 1280, "height": 8000}
"""Size of the window in pixels: what is drawn when it is scrolled to is drawn at once, mostly."""

DEEPEST = 200
"""Maximum depth of nested shadow roots that are read."""

MAX_READS = 4
"""Maximum number of times a page is asked for its content."""


Shell = tuple[dict[str, str], bytes]
"""Headers and body of a page that was downloaded before."""


async def open_parts(scripts: Scripts, traffic: Traffic) -> None:
    """Ask for what a page draws when it is asked for, in its place: no form is sent, nothing leads
    elsewhere.
    """
    ends = time.monotonic() + OPEN_SECS
    for _ in range(MAX_ROUNDS):
        began = traffic.last_secs
        opened, _left = await scripts.answer(OPEN, MAX_ASKED, False)
        await scripts.answer(SEEN)
        await asyncio.sleep(POLL_SECS)  # a request that it makes begins
        if not opened and traffic.last_secs == began:
            break
        await wait_until_loaded(scripts, traffic)
        if time.monotonic() > ends:
            break
    _opened, traffic.left = await scripts.answer(OPEN, 0, True)


async def read_frames(scripts: Scripts, traffic: Traffic) -> None:
    """Put the text of frames in their place, on a page that shows next to nothing besides."""
    traffic.reads_frames = True
    for step in ("enter", "open", "read"):
        count = await scripts.answer(FRAMES, step, MAX_FRAMES, ENOUGH_TEXT)
        if count:
            await wait_until_loaded(scripts, traffic)
        elif step == "enter":
            return


async def open_menus(scripts: Scripts, traffic: Traffic, known: set[str]) -> str:
    """Return the links that closed groups of menus draw when they are opened, as HTML. `known` are
    the names of groups that other pages have opened; those of this page are added.
    """
    links = ""
    for _ in range(MAX_ROUNDS):
        opened, links = await scripts.answer(MENUS, MAX_ASKED, sorted(known))
        if not opened:
            break
        known.update(opened)
        await asyncio.sleep(POLL_SECS)  # a request that it makes begins
        await wait_until_loaded(scripts, traffic)
    return str(links)


async def _end(scripts: Scripts, traffic: Traffic) -> None:
    """Stop recording; sockets that have had no message are pending, too."""
    traffic.end()
    silent = await scripts.evaluate(SILENT) or []
    traffic.pending += silent[:MAX_NOTED]


class RenderingHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # it is not typed
    """Starts the browser at `start`, and reads a page when it has loaded.

    The private names are in docs/explanation/architecture.md.
    """

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()
        self._scripts: WeakKeyDictionary[Page, Scripts] = WeakKeyDictionary()
        self._primed: WeakSet[BrowserContext] = WeakSet()
        self._kept: dict[str, tuple[dict[str, str], bytes]] = {}
        """Headers and body of what pages share, by URL."""
        self._hung: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        self._menus: defaultdict[str, set[str]] = defaultdict(set)
        """The names of the groups of menus that were opened, by host."""

    async def start(self) -> None:
        """Start Playwright and the browser; raises Playwright's errors."""
        await self._launch()
        await self._maybe_launch_browser()

    async def _apply_page_methods(self, page: Any, request: Any, spider: Any) -> None:
        await super()._apply_page_methods(page, request, spider)
        html = await self.page_content(page)

        async def content() -> str:
            return html

        page.content = content  # what it reads next

    async def watch(self, page: Page, shell: Shell | None = None) -> Traffic:
        """Record the requests of a page from now on.

        The page itself is `shell`, its headers and body, where that is given: it was downloaded
        before. Scripts and style sheets come from the page that loaded them first: with routes,
        Chromium caches nothing. Frames stay empty until they are asked for: they, and a page that
        keeps reloading itself, get status 204; an aborted frame shows an error page.
        """
        if page.context not in self._primed:
            with contextlib.suppress(Error):
                await page.goto(PRIMER)
                self._primed.add(page.context)
        # a page that is busy computing accepts none
        session = await page.context.new_cdp_session(page)
        self._scripts[page] = Scripts(page, session)
        self._traffic[page] = traffic = Traffic(page, self._hung)
        await page.add_init_script(LISTEN)
        unsent = [shell] if shell is not None else []

        async def answer(route: Route) -> None:
            of_frame = is_framed(route.request)
            is_unread = of_frame and not traffic.is_read(route.request)
            if is_unread or route.request in traffic.refused:
                await route.fulfill(status=204)
            elif unsent and route.request.resource_type == "document" and not of_frame:
                headers, body = unsent.pop()
                await route.fulfill(headers=headers, body=body)
            elif route.request.resource_type in SHARED and route.request.url in self._kept:
                headers, body = self._kept[route.request.url]
                await route.fulfill(headers=headers, body=body)
            else:
                await route.fallback()

        async def keep(response: Response) -> None:
            url = response.url
            kind = response.request.resource_type
            if response.status != 200 or kind not in SHARED | DATA:
                return
            if url in self._kept:
                traffic.learn_file(response.request, self._kept[url][1])
                return
            with contextlib.suppress(Error):  # the page was closed
                headers = await response.all_headers()
                body = await response.body()
                traffic.learn_file(response.request, body)
                if (
                    kind in SHARED
                    and len(self._kept) < MAX_KEPT
                    and "no-store" not in headers.get("cache-control", "")
                    and len(body) <= MAX_KEPT_BYTES
                ):
                    coded = {"content-encoding", "content-length", "transfer-encoding"}
                    self._kept[url] = {name: headers[name] for name in headers.keys() - coded}, body

        page.on("response", keep)
        await page.route("**", answer)
        return traffic

    async def page_content(self, page: Page) -> str:
        """Wait until the page has rendered itself; where that takes too long, stop its scripts.

        Return its HTML.
        """
        if page not in self._traffic:
            return str(await page.content())
        scripts = self._scripts[page]
        traffic = self._traffic[page]
        is_done = await wait_until_loaded(scripts, traffic)
        with contextlib.suppress(TimeoutError):
            if await scripts.answer(EXPAND, API_REFERENCE, MAX_OPENED, ENOUGH_TEXT):
                is_done = await wait_until_loaded(scripts, traffic)
            traffic.spec = await scripts.answer(SPEC, API_ELEMENTS)
        if not is_done:
            traffic.stops()
            await scripts.stop()
        elif not traffic.spec:
            return await self._read_opened(scripts, traffic)
        await _end(scripts, traffic)
        return await self._read(scripts, traffic)

    async def _read_opened(self, scripts: Scripts, traffic: Traffic) -> str:
        """Return the HTML of a page with what it draws when it is asked for; without it where that
        led to another text.
        """
        html = await self._read(scripts, traffic)
        place = await scripts.evaluate(PLACE)
        traffic.is_held = True
        with contextlib.suppress(TimeoutError):
            await open_parts(scripts, traffic)
            if await scripts.evaluate(PLACE) == place:
                await read_frames(scripts, traffic)
                html = await self._read(scripts, traffic)
        await _end(scripts, traffic)
        with contextlib.suppress(TimeoutError):
            html += await open_menus(scripts, traffic, self._menus[host(scripts.url)])
        return html

    async def _read(self, scripts: Scripts, traffic: Traffic) -> str:
        """Return the HTML of a page with its shadow roots, which Playwright's `content` omits.

        Where it does not answer within `ANSWER_SECS`, its scripts are stopped and it is asked
        again, `MAX_READS` times; `RenderingError` where it does not answer then either.
        """
        for _ in range(MAX_READS):
            with contextlib.suppress(TimeoutError):
                return str(await scripts.answer(WHOLE, DEEPEST))
            traffic.is_stopped = True
            await scripts.stop()
        raise RenderingError(
            "the page does not answer, though its scripts were stopped", kind="network"
        )
