"""URL rules of the crawl: when two URLs are the same page or one site, and what part of a site a URL stands in.

Two strengths of sameness (docs/reference/urls.md):

* `identity`: the same by definition (fragment, default port, tracking parameters, index files).
* `loose_key`: spellings that are usually one page (`page`, `page.html`, `page/`); joined only on evidence.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from w3lib.url import canonicalize_url, url_query_cleaner

from llmsspider.errors import InvalidUrlError
from llmsspider.web import url_gate
from llmsspider.web.addresses import DEFAULT_PORTS, hostname
from llmsspider.web.url_gate import split_route

if TYPE_CHECKING:
    from tldextract import TLDExtract

INDEX_FILES = ("index.html", "index.htm", "index.md", "index.html.md", "index.mdx")
"""Files a server shows for their directory."""

TRACKING = re.compile(
    r"^(?:utm_\w+|gclid|gclsrc|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi"
    r"|mkt_tok|vero_id|oly_anon_id|oly_enc_id|wickedid|__hstc|__hssc|hsCtaTracking|__s|srsltid)$"
)
"""Query parameters that say where a visitor came from and never select a page."""

_WITHOUT_SCHEME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?", re.IGNORECASE)
"""What people type for the URL of a site."""

_PLAIN = re.compile(r"https?://[a-z0-9.-]+(?::\d{2,5})?/(?!\.|.*/\.)[A-Za-z0-9_~/.-]*\Z")
"""URLs that are canonical as they stand (nothing to decode, sort or lower-case)."""

_PAGE_ENDING = re.compile(r"(?:/index)?(?:\.html?)?(?:\.(?:md|mdx|markdown))?$", re.IGNORECASE)


def require_http_url(text: str) -> str:
    """Return `text`, stripped, when it is an absolute http(s) URL with a host.

    Raises `InvalidUrlError` with one line that says what is wrong and what to do.

    >>> require_http_url(" https://docs.example.com/ ")
    'https://docs.example.com/'
    """
    url = text.strip()
    found = url_gate.parse(url)
    printed = url_gate.printable_url(found.url if isinstance(found, url_gate.InvalidUrl) else url)
    if url.lower().startswith("file:"):
        raise InvalidUrlError(
            f"invalid_url: {printed!r} is a file; serve its folder (`python -m http.server --bind 127.0.0.1`), crawl "
            "the http:// address it prints and allow it with `-s LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1`"
        )
    if _WITHOUT_SCHEME.fullmatch(url):
        raise InvalidUrlError(f"invalid_url: {printed!r} has no scheme; did you mean https://{printed}?")
    if isinstance(found, url_gate.InvalidUrl):
        raise InvalidUrlError(f"invalid_url: {printed!r} cannot be used: {found.why}")
    if found is None or re.search(r"\s", url):
        raise InvalidUrlError(
            f"invalid_url: {printed!r} is not an absolute http:// or https:// URL, e.g. https://docs.example.com/"
        )
    return url


@lru_cache(maxsize=65536)
def identity(url: str) -> str:
    """Return the canonical spelling of the page `url` names: two URLs with one identity are one page.

    The steps: w3lib's canonical form (case of scheme and host, percent-encoding, dot segments, query order,
    no fragment but a route), no default port, no tracking parameters, a directory instead of its index file. What
    the gate (`url_gate`) refuses has no page, and stays as it is written.

    >>> identity("HTTPS://Docs.Example.com:443/guide/index.html?utm_source=x#top")
    'https://docs.example.com/guide/'
    >>> identity("https://docs.example.com/a?b=2&a=1")
    'https://docs.example.com/a?a=1&b=2'
    >>> identity("https://docs.example.com/index.html#/guide?id=use")
    'https://docs.example.com/#/guide'
    >>> identity("https://docs.example.com/page") == identity("https://docs.example.com/page.html")
    False
    """
    url, route = split_route(url)
    if not _PLAIN.match(url):
        if url_gate.fault(url) is not None:
            return url + route
        url = _canonical(url)
    elif ":80/" in url or ":443/" in url:
        url = _without_default_port(url)
    path, mark, query = url.partition("?")
    directory, slash, name = path.rpartition("/")
    if name in INDEX_FILES:
        path = directory + slash
    return path + mark + query + route


def _canonical(url: str) -> str:
    names = {pair.partition("=")[0] for pair in url.partition("?")[2].split("&")}
    tracking = [name for name in names if TRACKING.match(name)]
    if tracking:
        url = url_query_cleaner(url, tracking, remove=True, unique=False)
    return _without_default_port(canonicalize_url(url))


def _without_default_port(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port
    if port is None or DEFAULT_PORTS.get(parts.scheme) != port:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition(":")[0]))


@lru_cache(maxsize=8192)
def page_key(url: str) -> bytes:
    """Return the 16-byte key of a page: the start of the SHA-256 of its `identity`."""
    return identity_key(identity(url))


@lru_cache(maxsize=8192)
def identity_key(identity: str) -> bytes:
    """Return the 16 bytes that stand for an identity in the store: the start of its SHA-256.

    >>> identity_key("https://example.com/").hex()
    '0f115db062b7c0dd030b16878c99dea5'
    """
    return hashlib.sha256(identity.encode("utf-8", "replace")).digest()[:16]


def document_id(source: str, url: str) -> str:
    """Return the stable hex id (32 digits) of a page of a source."""
    return hashlib.sha256(f"{source}\n{identity(url)}".encode()).hexdigest()[:32]


def loose_key(url: str) -> str:
    """Return what the spellings `page`, `page/`, `page.html`, `page.md`, `page/index` and the like have in common.

    >>> loose_key("https://e.com/a/b.html") == loose_key("https://e.com/a/b/") == loose_key("https://e.com/a/b")
    True
    """
    path, mark, query = identity(url).partition("?")
    return _PAGE_ENDING.sub("", path, count=1).rstrip("/") + mark + query


@lru_cache(maxsize=8192)
def host(url: str) -> str:
    """Return host and explicit non-default port, lower-case: the unit of scope and of learned rules.

    >>> host("https://Docs.Example.com:443/a"), host("http://127.0.0.1:8000/")
    ('docs.example.com', '127.0.0.1:8000')
    """
    return _host(_origin(url))


@lru_cache(maxsize=4096)
def _host(url: str) -> str:
    if url_gate.fault(url) is not None:
        return ""
    parts = urlsplit(url)
    name, port = (parts.hostname or "").rstrip("."), parts.port
    return name if port is None or DEFAULT_PORTS.get(parts.scheme) == port else f"{name}:{port}"


def directory(url: str) -> str:
    """Return the directory path of `url`, with its slashes: the path up to and including the last `/`.

    >>> directory("https://e.com/docs/intro?x=/y"), directory("https://e.com")
    ('/docs/', '/')
    """
    path = urlsplit(url).path
    return path[: path.rfind("/") + 1] or "/"


# Which hosts belong to one site: those of one registrable domain.

_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*")
"""A host whose last label looks so is an IPv4 address (https://url.spec.whatwg.org/#ends-in-a-number-checker)."""


@cache
def _suffix_list() -> TLDExtract:  # many crawls never need it
    from tldextract import TLDExtract  # noqa: PLC0415

    return TLDExtract(include_psl_private_domains=True, suffix_list_urls=(), cache_dir=None)


def registrable_domain(url: str) -> str | None:
    """Return the registrable domain of a URL, None for IP addresses, single labels and public suffixes.

    A name under a suffix the list does not know follows its last rule, `*`
    (https://github.com/publicsuffix/list/wiki/Format#formal-algorithm).

    >>> registrable_domain("https://docs.example.co.uk/a")
    'example.co.uk'
    >>> registrable_domain("https://alice.github.io/")
    'alice.github.io'
    >>> registrable_domain("http://127.0.0.1/") is None
    True
    """
    name = hostname(url)
    return _registrable(name) if name else None


def same_site(a: str, b: str) -> bool:
    """Return whether two URLs lie on the same registrable domain; scheme and port do not count.

    What cannot be parsed belongs to no site.

    >>> same_site("https://docs.site.com/", "http://site.com:8080/x")
    True
    >>> same_site("https://docs.site.com/", "https://docs.site.org/")
    False
    """
    return _same_site(_origin(a), _origin(b))


def _origin(url: str) -> str:
    """Return an http(s) URL without its path, any other as it is."""
    end = url.find("/", len("https://")) if url.startswith(url_gate.HTTP) else -1
    return url if end < 0 else url[:end]


@lru_cache(maxsize=4096)
def _same_site(a: str, b: str) -> bool:
    host_a, host_b = hostname(a), hostname(b)
    if host_a is None or host_a == host_b:
        return host_a is not None
    if host_b is None or host_a.split(".")[-2:] != host_b.split(".")[-2:]:
        return False  # a registrable domain has two labels or more
    domain = _registrable(host_a)
    return domain is not None and domain == _registrable(host_b)


@lru_cache(maxsize=4096)
def _registrable(name: str) -> str | None:
    labels = name.split(".")
    if ":" in name or len(labels) < 2 or not all(labels) or _NUMERIC_LABEL.fullmatch(labels[-1]):
        return None
    found = _suffix_list().extract_str(name)
    if found.suffix:
        return found.top_domain_under_public_suffix or None
    return ".".join(labels[-2:])
