"""scrapy-playwright's download handler, and what a rendered page holds. Imports Playwright: load it lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from llmsspider.browser.idle import Traffic, is_framed, wait_until_idle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Page, Route
    from playwright.async_api import Request as PageRequest
    from scrapy import Request, Spider
    from scrapy.http import Response


# What a rendered page holds: its closed parts opened, its shadow roots as part of the page.

API_REFERENCE = "redoc, rapi-doc, elements-api, .swagger-ui, .redoc-wrap, .sl-elements-api"
"""Elements in which the programs that render API references work."""

MAX_OPENED = 500
"""Closed parts that are opened on a page."""

DEEPEST = 200
"""Shadow roots inside each other that are read."""

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

# Copies into a document that runs nothing: a custom element stays what it is there. No recursion, whatever the depth.
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
    """Open the closed parts of a rendered API reference; return how many."""
    return int(await page.evaluate(_EXPAND, [API_REFERENCE, MAX_OPENED]))


async def whole_content(page: Page) -> str | None:
    """Return the HTML of a page with its open shadow roots in place; None where it has none."""
    html = await page.evaluate(_WHOLE, [DEEPEST])
    return None if html is None else str(html)


# scrapy-playwright's download handler, with our idea of when a page is done. Imports Playwright: load it lazily.
# The one place that relies on what scrapy-playwright keeps to itself (0.0.48): it starts at `engine_started` only,
# and waits for the `load` event, which a page with one hanging script never fires. Shadow roots, which Playwright's
# `content` leaves out, are read here.


class RenderingHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # scrapy-playwright is not typed
    """Starts when told to, and reads a page when it has settled."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()
        self._whole: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def start(self) -> None:
        """Start Playwright and the browser."""
        await self._launch()
        await self._maybe_launch_browser()

    def watch(self, page: Page) -> Traffic:
        """Return the requests of a page from now on."""
        self._traffic[page] = traffic = Traffic(page)
        return traffic

    async def _apply_page_methods(self, page: Page, request: Request, spider: Spider) -> None:
        await super()._apply_page_methods(page, request, spider)
        if page in self._traffic:
            await wait_until_idle(page, self._traffic[page])
            if await expand(page):
                await wait_until_idle(page, self._traffic[page])
            whole = await whole_content(page)
            if whole is not None:
                self._whole[page] = whole

    async def _download_request_with_page(self, request: Request, page: Page, spider: Spider) -> Response:
        response: Response = await super()._download_request_with_page(request, page, spider)
        whole = self._whole.pop(page, None)
        if whole is None:
            return response
        encoding = getattr(response, "encoding", "utf-8")
        return response.replace(body=whole.encode(encoding, "xmlcharrefreplace"))

    def _make_request_handler(self, **options: Any) -> Callable[[Route, PageRequest], Awaitable[None]]:
        """Return what answers the requests of a page: frames stay empty, since an aborted one renders an error page."""
        handle = super()._make_request_handler(**options)

        async def answer(route: Route, request: PageRequest) -> None:
            if is_framed(request):
                await route.fulfill(status=204)
            else:
                await handle(route, request)

        return answer
