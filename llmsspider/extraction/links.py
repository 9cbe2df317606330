"""Links of a page: every address for the crawl."""

from __future__ import annotations

from lxml.etree import XPath, _Element

from llmsspider.growth import Growth
from llmsspider.joiner import HTTP, Joiner
from llmsspider.urlgate import split_route, without_fragment

MAX_ROUTES = 5_000
"""Routes of one page that are followed."""

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


def routes(root: _Element, joiner: Joiner) -> list[str]:
    """Return the links of a page to its own routes (`#/guide`), absolute, each once, `MAX_ROUTES` at most."""
    found: dict[str, None] = {}
    for href in dict.fromkeys(_HREFS(root)):
        if "#/" in href or "#!/" in href:
            url = without_fragment(joiner.join(href))
            page, route = split_route(url)
            if route and page == joiner.page and len(found) < MAX_ROUTES:
                found[url] = None
    return list(found)
