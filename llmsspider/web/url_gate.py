"""URLs as pages write them: parsed, refused with a reason, joined to the URL of their page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from llmsspider.errors import TooLargePageError
from llmsspider.web.addresses import hostname, is_resolvable, parse_host

INVALID_URL: Final = "invalid-url"
"""The reason an `InvalidUrl` is counted under."""

MAX_URL_CHARS = 4096
"""Characters of the longest URL that passes."""

MAX_PRINTED_CHARS = 200
"""Maximum number of characters of an invalid URL in messages."""

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


# How much larger than what was received a page may become: a small page cannot fill the machine.

MAX_GROWTH = 16
"""Characters that one byte of a page may become, beyond a million: real pages become one or two."""
SMALL_CHARS = 1_000_000
"""Characters that any page may have."""


class Growth:
    """Counts the characters that a page of `size` bytes becomes.

    `check` and `count` raise `TooLargePageError` beyond `MAX_GROWTH` for each byte and `SMALL_CHARS` more.
    """

    def __init__(self, size: int):
        self.size = size
        self.most = MAX_GROWTH * size + SMALL_CHARS
        self._counted = 0

    def check(self, chars: int) -> None:
        """Raise for a part of the page that is as long as that."""
        if chars > self.most:
            why = f"too-large: {self.size:,} bytes became more than {self.most:,} characters"
            raise TooLargePageError(why)

    def count(self, chars: int) -> None:
        """Add to what was counted before."""
        self._counted += chars
        self.check(self._counted)

    def counted(self, join: Callable[[str], str]) -> Callable[[str], str]:
        """Return `join` with the length of each URL counted: a long base makes many short hrefs long."""

        def joined(href: str) -> str:
            url = join(href)
            self.count(len(url))
            return url

        return joined


HTTP = ("http://", "https://")
"""How a URL begins that a crawl can follow."""

_CONTROL = re.compile(r"[\t\n\r]")
_PLAIN = re.compile(r"(?!\.)[\w~-][^:?/\\]*(?:/(?!\.)[^:/\\]+)*/?\Z")
MAX_SHARED = 200
"""Characters of the longest href that is remembered for all pages of a directory."""


class Joiner:
    """Joins hrefs to the base URL of one page, remembering the answers for all pages of its directory.

    `base_href` is that of `<base>`, if any; one that is no http(s) URL counts for nothing. `join(href)` gives
    an absolute URL (fragment kept), or the href unchanged where it cannot be parsed; each is counted by `growth`.
    """

    def __init__(self, url: str, base_href: str = "", growth: Growth | None = None):
        self.growth = growth
        self.page = url.partition("#")[0]
        base_url = parse(base_href, self.page) if base_href else None
        self.base = base_url if isinstance(base_url, str) else self.page
        parts = urlsplit(self.base)
        self._directory = "/".join([f"{parts.scheme}://{parts.netloc}", *parts.path.split("/")[1:-1], ""])

    def join(self, href: str) -> str:
        """Return `href` as an absolute URL, fragment kept."""
        is_plain = href[:1].isalnum() or href.startswith(("/", "."))
        is_shared = is_plain and len(href) <= MAX_SHARED and (":" not in href or href.startswith(HTTP))
        url = _in_directory(self._directory, href) if is_shared else _joined(self.base, href)
        if self.growth is not None:
            self.growth.count(len(url))
        return url


@lru_cache(maxsize=16_384)
def _in_directory(directory: str, href: str) -> str:
    """Do what `_joined` does: pages of a directory share their navigation."""
    return _joined(directory, href)


def _joined(base: str, href: str) -> str:
    path, hash_sign, fragment = _CONTROL.sub("", href.strip()).partition("#")
    if not path:
        return base + hash_sign + fragment
    scheme, origin = base.partition(":")[0], base[: base.find("/", len("https://"))]
    if path.startswith(HTTP) and "/." not in path:
        url = path
    elif path[0] == "/" and "/." not in path and "/" in base[len("https://") :]:
        url = f"{scheme}:{path}" if path[1:2] == "/" else origin + path
    else:
        url = _below(base, len(origin), path)
    return url.replace(" ", "%20") + hash_sign + fragment


def _below(base: str, origin: int, path: str) -> str:
    """Return a path joined to a base; a plain relative one to a directory without parsing either."""
    relative, up = path.removeprefix("./"), 0
    while relative.startswith("../", up * 3):
        up += 1
    rest = relative[up * 3 :]
    if base.endswith("/") and "?" not in base and (not rest or _PLAIN.match(rest)):
        folders = base[origin + 1 : -1].split("/") if up and len(base) > origin + 1 else []
        return "/".join([base[:origin], *folders[: max(len(folders) - up, 0)], rest]) if up else base + rest
    try:
        return urljoin(base, path)
    except ValueError:
        return path
