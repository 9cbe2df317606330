"""scrapy-playwright's download handler, and what a rendered page holds. Imports Playwright: load it lazily."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from llmsspider.browser.page_load import (
    ANSWER_SECS,
    POLL_SECS,
    Scripts,
    Traffic,
    is_framed,
    wait_until_loaded,
)
from llmsspider.compat import playwright_handler
from llmsspider.errors import RenderingError

if TYPE_CHECKING:
    from playwright.async_api import Page, Route
    from scrapy.http import Response


# The content of a rendered page, with collapsed parts expanded and shadow roots included.

API_REFERENCE = "redoc, rapi-doc, elements-api, .swagger-ui, .redoc-wrap, .sl-elements-api"
"""Elements in which the programs that render API references work."""

MAX_OPENED = 500
"""Maximum number of collapsed parts that are expanded on a page."""

DEEPEST = 200
"""Maximum depth of nested shadow roots that are read."""

MAX_READS = 4
"""Maximum number of times a page is asked for its content."""

_EXPAND = """([where, most]) => {
  let opened = 0;
  const roots = [...document.querySelectorAll(where)];
  for (let root; (root = roots.pop()); ) {
    if (root.shadowRoot) roots.push(root.shadowRoot);
    for (const part of root.querySelectorAll('button[aria-expanded="false"]')) {
      if (opened < most && !part.closest('form, [role="dialog"]')) { part.click(); opened++; }
    }
  }
  return opened;
}"""

# Copies into an inert document, where custom elements are not upgraded. Iterative: no depth overflows the stack.
_WHOLE = """([deepest]) => {
  const hasShadow = [...document.querySelectorAll('*')].some(element => element.shadowRoot);
  if (!hasShadow) return null;
  const inert = document.implementation.createHTMLDocument('');
  const root = inert.importNode(document.documentElement, false);
  const waiting = [[document.documentElement, root, 0]];
  for (let entry; (entry = waiting.pop()); ) {
    let [from, to, depth] = entry;
    let children = from.childNodes;
    if (from.shadowRoot && depth < deepest) { children = from.shadowRoot.childNodes; depth++; }
    else if (from.localName === 'slot' && from.assignedNodes().length) children = from.assignedNodes();
    for (const child of children) {
      if (depth && (child.localName === 'style' || child.localName === 'script')) continue;
      if (child.localName === 'slot' && depth) {
        const place = inert.createElement('span');
        to.append(place);
        waiting.push([child, place, depth]);
        continue;
      }
      const copy = inert.importNode(child, child.localName === 'template');
      to.append(copy);
      if (child.nodeType === 1 && child.localName !== 'template') waiting.push([child, copy, depth]);
    }
  }
  return '<!DOCTYPE html>' + root.outerHTML;
}"""


async def expand(page: Page) -> int:
    """Expand the collapsed parts of a rendered API reference; return how many, 0 where the page does not answer."""
    try:
        async with asyncio.timeout(ANSWER_SECS):
            return int(await _answer(page, _EXPAND, [API_REFERENCE, MAX_OPENED]))
    except TimeoutError:
        return 0


async def whole_content(page: Page) -> str | None:
    """Return the HTML of a page with its open shadow roots in place; None where it has none."""
    html = await _answer(page, _WHOLE, [DEEPEST])
    return None if html is None else str(html)


async def _answer(page: Page, script: str, argument: list[Any]) -> Any:
    """Return what a script of ours returns; it is run again where it was ended from outside.

    Pages of one site share a process, and stopping the scripts of one (`Scripts.stop`) may end what runs in another.
    """
    from playwright.async_api import Error  # noqa: PLC0415  # only where a browser runs

    while True:
        try:
            return await page.evaluate(script, argument)
        except Error:
            if page.is_closed():
                raise
        await asyncio.sleep(POLL_SECS)


# scrapy-playwright's download handler, which waits by the rules of `page_load`. Imports Playwright: load it lazily.
# Shadow roots, which Playwright's `content` omits, are read here.

Handler: Any = playwright_handler()


class RenderingHandler(Handler):  # type: ignore[misc]
    """Starts the browser at `start`, and reads a page when it has loaded (`page_load`)."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()
        self._scripts: WeakKeyDictionary[Page, Scripts] = WeakKeyDictionary()
        self._whole: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def watch(self, page: Page) -> Traffic:
        """Record the requests of a page from now on. Frames get an empty answer; an aborted one shows an error page."""
        self._scripts[page] = await Scripts.of(page)
        self._traffic[page] = traffic = Traffic(page)
        await page.route("**", partial(_answer_document, traffic))
        return traffic

    async def page_answered(self, page: Page) -> None:
        """Wait until the page has rendered itself; where that takes too long, stop its scripts."""
        if page in self._traffic:
            traffic = self._traffic[page]
            is_done = await wait_until_loaded(page, traffic)
            if await expand(page):
                is_done = await wait_until_loaded(page, traffic)
            if not is_done:
                traffic.is_stopped = True
                await self._scripts[page].stop()
            traffic.end()
            whole = await self._whole_content(page, traffic)
            if whole is not None:
                self._whole[page] = whole

    async def _whole_content(self, page: Page, traffic: Traffic) -> str | None:
        """Return the HTML of a page with its shadow roots, None where it has none.

        Where it does not answer within `ANSWER_SECS`, its scripts are stopped and it is asked again, `MAX_READS` times.

        Raises:
            RenderingError: it does not answer then either.
        """
        for _ in range(MAX_READS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECS):
                    return await whole_content(page)
            traffic.is_stopped = True
            await self._scripts[page].stop()
        raise RenderingError("the page does not answer, though its scripts were stopped", kind="network")

    def whole(self, page: Page, response: Response) -> Response:
        """Return the response of a page with its shadow roots in place."""
        whole = self._whole.pop(page, None)
        if whole is None:
            return response
        encoding = getattr(response, "encoding", "utf-8")
        return response.replace(body=whole.encode(encoding, "xmlcharrefreplace"))


async def _answer_document(traffic: Traffic, route: Route) -> None:
    """Answer 204 to requests for frames, which stay empty, and to those of a page that keeps reloading itself."""
    if is_framed(route.request) or traffic.is_refused(route.request):
        await route.fulfill(status=204)
    else:
        await route.fallback()
