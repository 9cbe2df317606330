"""URLs as pages write them: parsed, refused with a reason, joined to the URL of their page."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from llmsspider.web.addresses import hostname, is_resolvable, parse_host

INVALID_URL: Final = "invalid-url"  # the reason an `InvalidUrl` is counted under
HTTP = ("http://", "https://")  # how a URL begins that a crawl can follow
MAX_URL_CHARS = 4096  # characters of the longest URL that passes
MAX_PRINTED_CHARS = 200  # maximum number of characters of an invalid URL in messages

_CLEAN = re.compile(r"https?://[!-~]*\Z")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\[\]]+\](?::\d*)?\Z")
_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\r\n")
_ESCAPED = re.compile("[\x00-\x20\x7f-\x9f]")
_USER = re.compile(r"(?<=//)[^/?#]*@")
_USER_WITH_SLASHES = re.compile(r"(?<=//)[^?#]*@")
_BAD_PORT = "its port is not a number from 0 to 65535"


@dataclass(frozen=True, slots=True)
class InvalidUrl:
    """A URL that cannot be used: as it was written, without user name and password, and why in words."""

    url: str
    why: str

    @property
    def display(self) -> str:
        """The URL for logs and reports, shortened."""
        return printable_url(self.url)


def split_route(url: str) -> tuple[str, str]:
    """Return a URL without fragment, and its fragment where that is a route (`#/guide`, `#!/guide`), else empty.

    A program in the page renders such a route as if it were a path: another page, not a place on this one.
    What follows a `?` in it is not kept.

    >>> split_route("https://e.com/#/guide?id=use"), split_route("https://e.com/a#b")
    (('https://e.com/', '#/guide'), ('https://e.com/a', ''))
    >>> split_route("https://e.com/#/")
    ('https://e.com/', '')
    """
    page, _, fragment = url.partition("#")
    if not fragment.startswith(("/", "!/")):
        return page, ""
    path = fragment.partition("?")[0].partition("#")[0]
    return page, f"#{path}" if path.strip("!/") else ""


def without_fragment(url: str) -> str:
    """Return `url` up to its fragment; a route stays.

    >>> without_fragment("https://e.com/a#b"), without_fragment("https://e.com/#/guide")
    ('https://e.com/a', 'https://e.com/#/guide')
    """
    return "".join(split_route(url)) if "#" in url else url


def parse(href: str, base: str = "") -> str | InvalidUrl | None:
    """Return the absolute http(s) URL that a link written as `href` leads to from `base`, without fragment but a route.

    The result is an `InvalidUrl` where the link cannot be used, None where it names no web page at all: it is
    empty or has another scheme. White space and control characters are treated as browsers do
    (https://url.spec.whatwg.org/#concept-basic-url-parser).

    >>> parse("../guide#top", "https://example.com/docs/llms.txt")
    'https://example.com/guide'
    >>> parse("http://localhost:PORT/")
    InvalidUrl(url='http://localhost:PORT/', why='its port is not a number from 0 to 65535')
    >>> parse("mailto:me@example.com") is None
    True
    """
    if len(href) <= MAX_URL_CHARS and "/." not in href and _CLEAN.match(href):
        url = without_fragment(href)
        why = _authority_fault(url)
        return url if why is None else _invalid(url, why)
    href = href.strip(_EDGES).translate(_DROPPED)
    scheme = _SCHEME.match(href)
    if not href or (scheme and scheme[1].lower() not in {"http", "https"}):
        return None
    if len(href) > MAX_URL_CHARS:
        return _invalid(href, f"longer than {MAX_URL_CHARS} characters")
    try:
        url = without_fragment(urljoin(base, href))
    except ValueError:
        return _invalid(href, "its host cannot be read")
    url = _ESCAPED.sub(lambda found: quote(found[0], safe=""), url)
    why = fault(url)
    return url if why is None else _invalid(url, why)


def fault(url: str) -> str | None:
    """Return why an absolute http(s) URL cannot be used, in words; None for one that can.

    >>> fault("https://example.com/a"), fault("https://me:secret@example.com/")
    (None, 'it has a user name or password, which belong in LLMS_HTTP_AUTH')
    """
    if len(url) > MAX_URL_CHARS:
        return f"longer than {MAX_URL_CHARS} characters"
    try:
        url.encode()
    except UnicodeEncodeError:
        return "it holds half a character (a lone surrogate)"
    return _authority_fault(url)


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
    """Return a URL without user name and password, for one that the user gave and that may have them.

    >>> without_user("http://me:s@cret@node:6800/")
    'http://node:6800/'
    """
    return _USER.sub("", url)


def printable_url(url: str) -> str:
    """Return a URL for logs and reports: no user name and password, no control characters, shortened."""
    url = redacted(url[:MAX_URL_CHARS]).encode("utf-8", "backslashreplace").decode()
    url = "".join(sign if sign.isprintable() else quote(sign) for sign in url)
    return url if len(url) <= MAX_PRINTED_CHARS else f"{url[:MAX_PRINTED_CHARS]}…"


def _invalid(url: str, why: str) -> InvalidUrl:
    user = _USER_WITH_SLASHES if why == _BAD_PORT else _USER  # `http://me:se/cret@host/` has the port "se"
    return InvalidUrl(user.sub("***@", url[: MAX_URL_CHARS + 1]), why)


def _authority_fault(url: str) -> str | None:
    found = _AUTHORITY.match(url)
    return _host_fault(found[1]) if found else "not an absolute http(s) URL with a host"


@lru_cache(maxsize=4096)
def _host_fault(authority: str) -> str | None:
    """Return why `host:port` cannot be used, or None; the exceptions of the parsers may hold a password."""
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
        if hostname(f"http://{authority}/") and (":" in name or is_resolvable(name.removesuffix("."))):
            return None
    return "its host is neither a host name nor an address"
