"""URLs: as pages write them, parsed or refused with a reason; and when two are the same page or one
site.

Two strengths of sameness (docs/reference/urls.md):

* `identity`: the same by definition (fragment, default port, tracking parameters, index files).
* `loose_key`: spellings that are usually one page (`page`, `page.html`, `page/`); joined only on
  evidence.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from w3lib.url import canonicalize_url, url_query_cleaner

from llmsspider.errors import InvalidUrlError
from llmsspider.web.addresses import (
    DEFAULT_PORTS,
    FILE,
    hostname,
    is_resolvable,
    parse_host,
    without_path,
)

INVALID_URL: Final = "invalid-url"  # the reason an `InvalidUrl` is counted under
MAX_URL_CHARS = 4096  # characters of the longest URL that passes
MAX_PRINTED_CHARS = 200  # maximum number of characters of an invalid URL in messages

_CLEAN = re.compile(r"https?://[!-[\]-~]*\Z")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\[\]]+\](?::\d*)?\Z")
_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\r\n")
_PATH = re.compile(r"https?://[^/?#]*([^?#]*)")
_SLASHES = re.compile(r"(?<!:)/{2,}")
_ESCAPED = re.compile("[\x00-\x20\x7f-\x9f]")
_HOST = re.compile(
    r"\A(?:(https://[^/?#:]+?)\.?(?::443)?|(http://[^/?#:]+?)\.?(?::80)?)(?=[:/?#]|\Z)"
)
"""The host of a URL up to its final dot, with the port of its scheme."""
_HAS_MORE = re.compile(r"https?://[^/?#:]*+(?:(?<=\.)|:(?:80|443)\b)")
"""What may have a final dot or such a port; few addresses do, and this costs a tenth."""
_USER = re.compile(r"(?<=//)[^/?#]*@")
_USER_WITH_SLASHES = re.compile(r"(?<=//)[^?#]*@")
_BAD_PORT = "its port is not a number from 0 to 65535"


@dataclass(frozen=True, slots=True)
class InvalidUrl:
    """A URL that cannot be used: as it was written, without user name and password, and why in
    words.
    """

    url: str
    why: str

    @property
    def display(self) -> str:
        """The URL for logs and reports, shortened."""
        return printable_url(self.url)


ANCHOR_ROUTE = ":~:"
"""End of a route that a site writes like a place on a page (`#guide`). Browsers take it off before
a program sees the address (https://wicg.github.io/scroll-to-text-fragment/#the-fragment-directive).
"""


def split_route(url: str) -> tuple[str, str]:
    """Return a URL without fragment, and its fragment where that is a route (`#/guide`,
    `#!/guide`, `#guide:~:`), else empty.

    A program in the page renders such a route as if it were a path: another page, not a place on
    this one. What follows a `?` in it is not kept, but for a route that is written as an anchor.

    >>> split_route("https://e.com/#/guide?id=use"), split_route("https://e.com/a#b")
    (('https://e.com/', '#/guide'), ('https://e.com/a', ''))
    >>> split_route("https://e.com/#/")
    ('https://e.com/', '')
    """
    page, _, fragment = url.partition("#")
    if fragment.endswith(ANCHOR_ROUTE):
        return page, f"#{fragment}"
    if not fragment.startswith(("/", "!")):
        return page, ""
    path = fragment.partition("?")[0].partition("#")[0]
    return page, f"#{path}" if path.strip("!/") else ""


def without_fragment(url: str) -> str:
    """Return `url` up to its fragment; a route stays.

    >>> without_fragment("https://e.com/a#b"), without_fragment("https://e.com/#/guide")
    ('https://e.com/a', 'https://e.com/#/guide')
    """
    return "".join(split_route(url)) if "#" in url else url


def shown_url(url: str) -> str:
    """Return a page's URL as readers open it: `#guide:~:` is written `#guide`.

    >>> shown_url("https://e.com/a#guide:~:")
    'https://e.com/a#guide'
    """
    return url.removesuffix(ANCHOR_ROUTE)


def parse(href: str, base: str = "") -> str | InvalidUrl | None:
    """Return the absolute http(s) URL that a link written as `href` leads to from `base`, without
    fragment but a route.

    A file of a local folder may link to another (`FILE`); whether that is read is for the crawl's
    folder to say.

    The result is an `InvalidUrl` where the link cannot be used, None where it names no web page at
    all: it is empty or has another scheme. White space and control characters are treated as
    browsers do (https://url.spec.whatwg.org/#concept-basic-url-parser).

    >>> parse("../guide#top", "https://example.com/docs/llms.txt")
    'https://example.com/guide'
    >>> parse("https://example.com.:443/"), parse("http://example.com:443/")
    ('https://example.com/', 'http://example.com:443/')
    >>> parse("http://localhost:PORT/")
    InvalidUrl(url='http://localhost:PORT/', why='its port is not a number from 0 to 65535')
    >>> parse("mailto:me@example.com") is None
    True
    """
    if len(href) <= MAX_URL_CHARS and "/." not in href and _CLEAN.match(href):
        url = without_fragment(href)
    else:
        href = forward_slashes(href.strip(_EDGES).translate(_DROPPED))
        found = _SCHEME.match(href)
        scheme = found[1].lower() if found else "https"
        is_file = scheme == "file" and (base or href).startswith(FILE)
        if not href or not (is_file or scheme in DEFAULT_PORTS):
            return None
        if len(href) > MAX_URL_CHARS:
            return _invalid(href, f"longer than {MAX_URL_CHARS} characters")
        try:
            url = without_fragment(urljoin(base, href))
        except ValueError:
            return _invalid(href, "its host cannot be read")
        url = _ESCAPED.sub(lambda found: quote(found[0], safe=""), url)
    if _HAS_MORE.match(url):
        url = _HOST.sub(r"\1\2", url)
    why = fault(url)
    return url if why is None else _invalid(url, why)


def forward_slashes(href: str) -> str:
    r"""Return a link with slashes where its path has backslashes, as browsers read it.

    >>> forward_slashes(r"\guide\a.md?x=\1")
    '/guide/a.md?x=\\1'
    """
    if "\\" not in href:
        return href
    path = href.partition("#")[0].partition("?")[0]
    return path.replace("\\", "/") + href[len(path) :]


def single_slashes(url: str) -> str:
    """Return a URL without the empty segments of its path, which come of a base joined carelessly.

    >>> single_slashes("https://e.com//guide///a?next=//b")
    'https://e.com/guide/a?next=//b'
    """
    path = _PATH.match(url)
    if path is None or "//" not in path[1]:
        return url
    return url[: path.start(1)] + _SLASHES.sub("/", path[1]) + url[path.end(1) :]


def fault(url: str) -> str | None:
    """Return why an absolute http(s) URL cannot be used, in words; None for one that can.

    >>> fault("https://example.com/a"), fault("https://me:secret@example.com/")
    (None, 'it has a user name or password, which belong in LLMS_HTTP_AUTH')
    """
    if len(url) > MAX_URL_CHARS:
        return f"longer than {MAX_URL_CHARS} characters"
    if url.endswith(("`", "%60")):
        return "it ends in code: a reference that the generator did not resolve"
    try:
        url.encode()
    except UnicodeEncodeError:
        return "it holds half a character (a lone surrogate)"
    if url.startswith(FILE):
        return None
    found = _AUTHORITY.match(url)
    return _host_fault(found[1]) if found else "not an absolute http(s) URL with a host"


def usable(urls: Iterable[str]) -> list[str]:
    """Return the absolute URLs among `urls` that pass the gate, in order."""
    return [url for url in map(parse, urls) if isinstance(url, str)]


def redacted(text: str) -> str:
    """Return a text with the user name and password of each URL in it replaced by `***`.

    >>> redacted("https://me:secret@example.com/a@b")
    'https://***@example.com/a@b'
    """
    return _USER.sub("***@", text) if "@" in text else text


def without_user(url: str) -> str:
    """Return a URL without user name and password, for one that the user gave and that may have
    them.

    >>> without_user("http://me:s@cret@node:6800/")
    'http://node:6800/'
    """
    return _USER.sub("", url)


def printable_url(url: str) -> str:
    """Return a URL for logs and reports: no user name and password, no control characters,
    shortened.
    """
    url = redacted(url[:MAX_URL_CHARS]).encode("utf-8", "backslashreplace").decode()
    url = "".join(sign if sign.isprintable() else quote(sign) for sign in url)
    return url if len(url) <= MAX_PRINTED_CHARS else f"{url[:MAX_PRINTED_CHARS]}…"


def _invalid(url: str, why: str) -> InvalidUrl:
    # `http://me:se/cret@host/` has the port "se"
    user = _USER_WITH_SLASHES if why == _BAD_PORT else _USER
    return InvalidUrl(user.sub("***@", url[: MAX_URL_CHARS + 1]), why)


@lru_cache(maxsize=4096)
def _host_fault(authority: str) -> str | None:
    """Return why `host:port` cannot be used, or None; the exceptions of the parsers may hold a
    password.
    """
    if "@" in authority:
        return "it has a user name or password, which belong in LLMS_HTTP_AUTH"
    try:
        parts = urlsplit(f"http://{authority}/")
        name = parts.hostname or ""
    except ValueError:
        name = "["
    if "[" in name or (set("[]") & set(authority) and not _BRACKETED.match(authority)):
        return "its host cannot be read"
    try:
        _ = parts.port
    except ValueError:
        return _BAD_PORT
    with suppress(ValueError):
        parse_host(name)
        if hostname(f"http://{authority}/") and (
            ":" in name or is_resolvable(name.removesuffix("."))
        ):
            return None
    return "its host is neither a host name nor an address"


# When two URLs are the same page.

INDEX_FILES = (
    "index.html",
    "index.htm",
    "index.md",
    "index.html.md",
    "index.mdx",
)  # files shown for their directory
TRACKING = re.compile(
    r"^(?:utm_\w+|gclid|gclsrc|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi"
    r"|mkt_tok|vero_id|oly_anon_id|oly_enc_id|wickedid|__hstc|__hssc|hsCtaTracking|__s|srsltid)$"
)
"""Query parameters that say where a visitor came from and never select a page."""


def without_tracking(url: str) -> str:
    """Return a URL without the parameters of `TRACKING`.

    >>> without_tracking("https://e.com/a?b=1&utm_source=x"), without_tracking("https://e.com/a?b")
    ('https://e.com/a?b=1', 'https://e.com/a?b')
    """
    names = {pair.partition("=")[0] for pair in url.partition("?")[2].split("&")}
    tracking = [name for name in names if TRACKING.match(name)]
    if not tracking:
        return url
    return url_query_cleaner(url, tracking, remove=True, unique=False, keep_fragments=True)


# What people type for the URL of a site; URLs that are canonical as they stand (nothing to decode,
# sort, lower-case).
_WITHOUT_SCHEME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?", re.IGNORECASE)
_PLAIN = re.compile(r"https?://[a-z0-9.-]+(?::\d{2,5})?/(?!\.|.*/\.)[A-Za-z0-9_~/.-]*\Z")
_PAGE_ENDING = re.compile(r"(?:/index)?(?:\.html?)?(?:\.(?:md|mdx|markdown))?$", re.IGNORECASE)


def require_http_url(text: str) -> str:
    """Return `text`, stripped, when it is an absolute http(s) URL with a host.

    Raises `InvalidUrlError` with one line that says what is wrong and what to do.

    >>> require_http_url(" https://docs.example.com/ ")
    'https://docs.example.com/'
    """
    url = text.strip()
    found = parse(url)
    printed = printable_url(found.url if isinstance(found, InvalidUrl) else url)
    if url.lower().startswith("file:"):
        raise InvalidUrlError(
            f"invalid_url: {printed!r} is a file, which only the argument url may name"
        )
    if _WITHOUT_SCHEME.fullmatch(url):
        raise InvalidUrlError(
            f"invalid_url: {printed!r} has no scheme; did you mean https://{printed}?"
        )
    if isinstance(found, InvalidUrl):
        raise InvalidUrlError(f"invalid_url: {printed!r} cannot be used: {found.why}")
    if found is None or re.search(r"\s", url):
        raise InvalidUrlError(
            f"invalid_url: {printed!r} is not an absolute http:// or https:// URL, e.g."
            " https://docs.example.com/"
        )
    return url


def start_url(text: str) -> str:
    """Return where a crawl starts: a URL as `require_http_url` takes it, or the `file:///` URL of a
    local path.

    A path is written as one (`./docs`, `../docs`, `/srv/docs`, `~/docs`), or as a `file:` URL.

    >>> start_url("https://docs.example.com/"), start_url("/etc/../usr")
    ('https://docs.example.com/', 'file:///usr/')
    """
    given = text.strip()
    if not given.lower().startswith("file:"):
        if not re.match(r"[/~.]", given):
            return require_http_url(given)
        path = Path(given).expanduser()
    elif (parts := urlsplit(given)).netloc not in {"", "localhost"} or not parts.path.startswith(
        "/"
    ):
        raise InvalidUrlError(
            f"invalid_url: {given!r} names no file of this machine: write file:///path/"
        )
    else:
        path = Path(unquote(parts.path))
    path = Path(os.path.normpath(path.absolute()))
    try:
        next(path.iterdir() if path.is_dir() else iter(path.open("rb")), None)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidUrlError(f"invalid_url: {given!r} cannot be read: {why}") from None
    return path.as_uri() + "/" * path.is_dir()


@lru_cache(maxsize=65536)
def identity(url: str) -> str:
    """Return the canonical spelling of the page `url` names: two URLs with one identity are one
    page.

    The steps: w3lib's canonical form (case of scheme and host, percent-encoding, dot segments,
    query order, no fragment but a route), no default port, no tracking parameters, a directory
    instead of its index file. What `fault` refuses has no page, and stays as it is written.

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
        if fault(url) is not None:
            return url + route
        url = _without_default_port(canonicalize_url(without_tracking(url)))
    elif ":80/" in url or ":443/" in url:
        url = _without_default_port(url)
    path, mark, query = url.partition("?")
    directory, slash, name = path.rpartition("/")
    if name in INDEX_FILES:
        path = directory + slash
    return path + mark + query + route


def _without_default_port(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port
    if port is None or DEFAULT_PORTS.get(parts.scheme) != port:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition(":")[0]))


@lru_cache(maxsize=8192)
def page_key(url: str) -> bytes:
    """Return the 16-byte key of a page: `identity_key` of its `identity`."""
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
    """Return what the spellings `page`, `page/`, `page.html`, `page.md`, `page/index` and the like
    have in common.

    >>> loose_key("https://e.com/a/b.html") == loose_key("https://e.com/a/b/") == loose_key("https://e.com/a/b")
    True
    """
    path, mark, query = identity(url).partition("?")
    return _PAGE_ENDING.sub("", path, count=1).rstrip("/") + mark + query


NO_SEGMENTS = frozenset({"", "index.php"})
"""Parts of paths that servers add or leave out as they are set up."""


def alike_key(url: str) -> str:
    """Return what the spellings of `loose_key` have in common with others of one page, where its
    text shows that they are: in other case, with slashes or segments repeated, behind `index.php`.

    >>> alike_key("https://e.com//Docs/a.html") == alike_key("https://e.com/docs/docs/A")
    True
    """
    scheme, _, rest = loose_key(url).lower().partition("://")
    path, mark, query = rest.partition("?")
    named = (name for name in path.split("/") if name not in NO_SEGMENTS)
    segments = [segment for segment, _ in groupby(named)]
    return f"{scheme}://{'/'.join(segments)}{mark}{query}"


@lru_cache(maxsize=8192)
def host(url: str) -> str:
    """Return host and explicit non-default port, lower-case: the unit of scope and of learned
    rules.

    >>> host("https://Docs.Example.com:443/a"), host("http://127.0.0.1:8000/")
    ('docs.example.com', '127.0.0.1:8000')
    """
    return _host(without_path(url))


@lru_cache(maxsize=4096)
def _host(url: str) -> str:
    if fault(url) is not None:
        return ""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return "file:"
    name = (parts.hostname or "").rstrip(".")
    port = parts.port
    return name if port is None or DEFAULT_PORTS.get(parts.scheme) == port else f"{name}:{port}"


def last_segment(url: str) -> str:
    """Return the last segment of a URL's path, without a slash.

    >>> last_segment("https://e.com/docs/setup/"), last_segment("https://e.com/")
    ('setup', '')
    """
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def directory(url: str) -> str:
    """Return the directory path of `url`, with its slashes: the path up to and including the last
    `/`.

    >>> directory("https://e.com/docs/intro?x=/y"), directory("https://e.com")
    ('/docs/', '/')
    """
    path = urlsplit(url).path
    return path[: path.rfind("/") + 1] or "/"
