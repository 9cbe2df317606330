"""scrapy-playwright's download handler, and what a rendered page holds. Imports Playwright: load it lazily."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from llmsspider.browser.page_load import (
    Scripts,
    Traffic,
    is_framed,
    wait_until_loaded,
)
from llmsspider.crawl.compat import playwright_handler
from llmsspider.errors import RenderingError

if TYPE_CHECKING:
    from playwright.async_api import Page, Route


# The content of a rendered page, with collapsed parts expanded and shadow roots included.

API_REFERENCE = "redoc, rapi-doc, elements-api, .swagger-ui, .redoc-wrap, .sl-elements-api"
"""Elements in which the programs that render API references work."""

MAX_OPENED = 500
"""Maximum number of collapsed parts that are expanded on a page."""

DEEPEST = 200
"""Maximum depth of nested shadow roots that are read."""

MAX_READS = 4
"""Maximum number of times a page is asked for its content."""

_EXPAND = """(where, most) => {
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
_WHOLE = """deepest => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '';
  const hasShadow = [...document.querySelectorAll('*')].some(element => element.shadowRoot);
  if (!hasShadow) return type + (document.documentElement?.outerHTML ?? '');
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
  return type + root.outerHTML;
}"""


# scrapy-playwright's download handler, which waits by the rules of `page_load`. Imports Playwright: load it lazily.

Handler: Any = playwright_handler()


class RenderingHandler(Handler):  # type: ignore[misc]
    """Starts the browser at `start`, and reads a page when it has loaded (`page_load`)."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._traffic: WeakKeyDictionary[Page, Traffic] = WeakKeyDictionary()
        self._scripts: WeakKeyDictionary[Page, Scripts] = WeakKeyDictionary()

    async def watch(self, page: Page) -> Traffic:
        """Record the requests of a page from now on. Frames get an empty answer; an aborted one shows an error page."""
        self._scripts[page] = await Scripts.of(page)
        self._traffic[page] = traffic = Traffic(page)
        await page.route("**", partial(_answer_document, traffic))
        return traffic

    async def page_content(self, page: Page) -> str:
        """Wait until the page has rendered itself; where that takes too long, stop its scripts. Return its HTML."""
        if page not in self._traffic:
            return str(await super().page_content(page))
        scripts, traffic = self._scripts[page], self._traffic[page]
        is_done = await wait_until_loaded(scripts, traffic)
        if await self._expand(scripts):
            is_done = await wait_until_loaded(scripts, traffic)
        if not is_done:
            traffic.is_stopped = True
            await scripts.stop()
        traffic.end()
        return await self._read(scripts, traffic)

    async def _expand(self, scripts: Scripts) -> int:
        """Expand the collapsed parts of an API reference; return how many, 0 where the page does not answer in time."""
        with contextlib.suppress(TimeoutError):
            return int(await scripts.answer(_EXPAND, API_REFERENCE, MAX_OPENED))
        return 0

    async def _read(self, scripts: Scripts, traffic: Traffic) -> str:
        """Return the HTML of a page with its shadow roots, which Playwright's `content` omits.

        Where it does not answer within `ANSWER_SECS`, its scripts are stopped and it is asked again, `MAX_READS` times.

        Raises:
            RenderingError: it does not answer then either.
        """
        for _ in range(MAX_READS):
            with contextlib.suppress(TimeoutError):
                return str(await scripts.answer(_WHOLE, DEEPEST))
            traffic.is_stopped = True
            await scripts.stop()
        raise RenderingError("the page does not answer, though its scripts were stopped", kind="network")


async def _answer_document(traffic: Traffic, route: Route) -> None:
    """Answer 204 to requests for frames, which stay empty, and to those of a page that keeps reloading itself."""
    if is_framed(route.request) or traffic.is_refused(route.request):
        await route.fulfill(status=204)
    else:
        await route.fallback()
