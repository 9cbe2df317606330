"""What a drawn page holds: its closed parts opened, its shadow roots as part of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page

API_REFERENCE = "redoc, rapi-doc, elements-api, .swagger-ui, .redoc-wrap, .sl-elements-api"
"""Elements in which the programs that draw API references work."""

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
    """Open the closed parts of a drawn API reference; return how many."""
    return int(await page.evaluate(_EXPAND, [API_REFERENCE, MAX_OPENED]))


async def whole_content(page: Page) -> str | None:
    """Return the HTML of a page with its open shadow roots in place; None where it has none."""
    html = await page.evaluate(_WHOLE, [DEEPEST])
    return None if html is None else str(html)
