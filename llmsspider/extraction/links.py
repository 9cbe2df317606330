"""Links of a page: every address for the crawl."""

from __future__ import annotations

from lxml.etree import XPath, _Element

from llmsspider.growth import Growth
from llmsspider.joiner import HTTP, Joiner

_HREFS = XPath("//a/@href | //area/@href | //frame/@src", smart_strings=False)
_BASE = XPath("string(/html/head/base/@href | /html/body/base/@href)", smart_strings=False)


def joiner_for(root: _Element, url: str, growth: Growth | None = None) -> Joiner:
    """Return the `Joiner` of a parsed page fetched from `url`."""
    return Joiner(url, _BASE(root), growth)


def follow_links(root: _Element, joiner: Joiner) -> list[str]:
    """Return every http(s) URL in `a[href]`, `area[href]` and `frame[src]`: absolute, no fragment, each once."""
    paths = dict.fromkeys(href.partition("#")[0] for href in _HREFS(root))
    urls = dict.fromkeys(joiner.join(path) for path in paths if path.strip())
    return [url for url in urls if url[:8].lower().startswith(HTTP)]
