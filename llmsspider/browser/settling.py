"""When a page has drawn itself: nothing more is loading and what it shows stands still."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page, Request

SETTLE_SECS = 15.0
"""Longest time a page is given after its answer began."""

QUIET_SECS = 0.5
"""Time without a change and without a request under way after which a page is done."""

STILL_SECS = 2.0
"""Time without a change after which a page that shows text is done, whatever still loads."""

ENOUGH_TEXT = 200
"""Characters of text that make a page more than a notice that it is loading."""

NEEDLESS = frozenset({"image", "media", "font"})
"""What a page may load and its text does not need."""

STAY_OPEN = frozenset({"eventsource", "websocket"})
"""Connections that a page keeps without waiting for them."""

_POLL_SECS = 0.1
_LOOK = """() => {
  const body = document.body;
  const shown = body ? body.innerText.trim().length : 0;
  return [location.href, document.getElementsByTagName('*').length, shown];
}"""


def is_needless(request: Request) -> bool:
    """Say whether a request of a page is not made (`PLAYWRIGHT_ABORT_REQUEST`)."""
    return request.resource_type in NEEDLESS


class Traffic:
    """The requests a page makes."""

    def __init__(self, page: Page):
        self._open: set[Request] = set()
        self.last_secs = time.monotonic()
        """When the last request began or ended (monotonic clock)."""
        page.on("request", self._begins)
        page.on("requestfinished", self._ends)
        page.on("requestfailed", self._ends)

    @property
    def quiet_secs(self) -> float:
        """Time without a request under way; connections that stay open do not count."""
        is_waiting = any(request.resource_type not in STAY_OPEN for request in self._open)
        return 0.0 if is_waiting else time.monotonic() - self.last_secs

    def _begins(self, request: Request) -> None:
        self._open.add(request)
        self.last_secs = time.monotonic()

    def _ends(self, request: Request) -> None:
        self._open.discard(request)
        self.last_secs = time.monotonic()


async def settle(page: Page, traffic: Traffic) -> None:
    """Wait until the page has drawn itself, `SETTLE_SECS` at most, then stop what it still loads."""
    ends = time.monotonic() + SETTLE_SECS
    seen: object = None
    since = time.monotonic()
    while time.monotonic() < ends:
        look = await _look(page)
        if look is None or look != seen:
            seen, since = look, time.monotonic()
        still = time.monotonic() - since
        shown = look[2] if look else 0
        quiet = QUIET_SECS if shown else STILL_SECS
        if min(still, traffic.quiet_secs) >= quiet or (still >= STILL_SECS and shown >= ENOUGH_TEXT):
            break
        await asyncio.sleep(_POLL_SECS)
    await page.evaluate("() => window.stop()")


async def _look(page: Page) -> tuple[str, int, int] | None:
    """Return address, number of elements and characters shown; None while the page is between two addresses."""
    from playwright.async_api import Error  # noqa: PLC0415  # only where a browser runs

    try:
        href, elements, shown = await page.evaluate(_LOOK)
    except Error:
        if page.is_closed():
            raise
        return None
    return str(href), int(elements), int(shown)
