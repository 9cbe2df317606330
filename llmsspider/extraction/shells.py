"""Empty shells: pages that hold no text of their own until a browser has run their scripts."""

from __future__ import annotations

from lxml.etree import XPath, _Element

_SCRIPTS = XPath("boolean(//script[@src or @type='module' or string-length(.) > 100])", smart_strings=False)
_ROOTS = XPath(
    "boolean(//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='__docusaurus' or @id='svelte'"
    " or @id='main' or @id='application' or @id='react-root' or @id='redoc' or @id='swagger-ui' or @id='___gatsby']"
    "[not(normalize-space())] | //app-root | //redoc | //rapi-doc | //elements-api)",
    smart_strings=False,
)
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "title", "head"})
_SHELL_TEXT = 200
"""Characters of text below which a page with scripts can be a shell."""
_NO_CONTENT = 40
"""Characters of text below which a page with scripts is a shell whatever its elements are called."""


def is_shell(root: _Element) -> bool:
    """Return True if the page has scripts, next to no text, and a place for scripts to draw in."""
    size = _text_size(root)
    return size <= _SHELL_TEXT and bool(_SCRIPTS(root)) and (size <= _NO_CONTENT or bool(_ROOTS(root)))


def _text_size(root: _Element) -> int:
    """Return the number of characters of visible text, counting no further than needed."""
    body = root.find("body")
    size = 0
    for element in (root if body is None else body).iter():
        if element.tag not in _NO_TEXT and element.text:
            size += len(element.text.strip())
        if element.tail:
            size += len(element.tail.strip())
        if size > _SHELL_TEXT:
            break
    return size
