"""Turn the address of a link in an llms.txt into an absolute URL."""

from __future__ import annotations

import re

from llmsspider import domains, urlgate

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HOST_LIKE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?(?=[/?#]|$)", re.IGNORECASE)
_WEB_SUFFIXES = frozenset({"com", "org", "net", "io", "dev", "ai", "app", "edu", "gov", "info", "co"})
"""Endings that are a host's and not a file's (`docs.example.com/guide` against `guide.md`)."""


def resolve(href: str, base: str) -> str | urlgate.InvalidUrl | None:
    """Return the absolute http(s) URL of a link without its fragment, see `urlgate.parse`; None where it is no page.

    `base` is the URL of the file. Fragment-only links and other schemes are no pages. An address without a
    scheme whose first segment is a host is taken as one.

    >>> resolve("../guide.md#top", "https://example.com/docs/llms.txt")
    'https://example.com/guide.md'
    >>> resolve("docs.example.com/guide", "https://example.com/llms.txt")
    'https://docs.example.com/guide'
    >>> resolve("/guide.md:", "https://example.com/llms.txt")
    'https://example.com/guide.md'
    >>> resolve("#usage", "https://example.com/llms.txt") is None
    True
    """
    href = re.sub(r"[\t\r\n]", "", href.strip())
    if re.search(r"[\w/)]:\Z", href) and "://" not in href[-3:]:
        href = href[:-1]  # `/guide.md: Title`, the colon inside
    if not href or href.startswith(("#", "?#")):
        return None
    if _is_schemeless(href, base):
        href = "https://" + href
    return urlgate.parse(href, base)


def _is_schemeless(href: str, base: str) -> bool:
    """Tell whether the href begins with a host: `www.`, a host of the file's own site, a web suffix."""
    if _SCHEME.match(href) and not re.match(r"[\w.-]+:\d+(?:/|$)", href):
        return False
    found = _HOST_LIKE.match(href)
    if not found:
        return False
    name = found[0].partition(":")[0].lower()
    return (
        name.startswith("www.")
        or domains.same_site(f"https://{name}/", base)
        or name.rpartition(".")[2] in _WEB_SUFFIXES
    )
