"""The links of a page made absolute, and how much larger than its body a page may become."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import inf
from urllib.parse import quote, urljoin, urlsplit

from llmsspider.errors import TooLargePageError
from llmsspider.web.addresses import HTTP, begins
from llmsspider.web.urls import parse

MAX_GROWTH = 16
"""Characters that one byte of a page may become, beyond a million: real pages become one or two."""
SMALL_CHARS = 1_000_000
"""Characters that any page may have."""


class Growth:
    """Counts the characters that a page of `size` bytes becomes; too many are a
    `TooLargePageError`.
    """

    def __init__(self, size: int, growth: int = MAX_GROWTH, most: float = inf):
        self.size = size
        self.most = min(growth * size + SMALL_CHARS, most)
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
        """Return `join` with the length of each URL counted: a long base makes many short hrefs
        long.
        """

        def joined(href: str) -> str:
            url = join(href)
            self.count(len(url))
            return url

        return joined


_CONTROL = re.compile("[\x00-\x20\x7f-\x9f]")
"""What browsers drop (line ends, tabs) or escape in an address."""
_BACKSLASH = re.compile(r"\\(?=[A-Za-z0-9.]|\Z)")
"""A separator of a Windows path, and no escape of Markdown."""
_PLAIN = re.compile(r"(?!\.)[\w~-][^:?/\\]*(?:/(?!\.)[^:/\\]+)*/?\Z")
MAX_SHARED = 200
"""Characters of the longest href that is remembered for all pages of a directory."""


class Joiner:
    """Joins hrefs to the base URL of one page, or to `base_href`, remembering the answers for its
    directory. Without a base (an empty `url`) they stay as they are.
    """

    def __init__(self, url: str, base_href: str = "", growth: Growth | None = None):
        self.growth = growth
        self.page = url.partition("#")[0]
        base_url = parse(base_href, self.page) if base_href else None
        self.base = base_url if isinstance(base_url, str) else self.page
        parts = urlsplit(self.base)
        origin = f"{parts.scheme}://{parts.netloc}"
        above = [origin, *parts.path.split("/")[1:-1], ""] if self.base else []
        self._directory = "/".join(above)

    def join(self, href: str) -> str:
        """Return `href` as an absolute URL, fragment kept."""
        is_plain = href[:1].isalnum() or href.startswith(("/", "."))
        is_shared = (
            is_plain and len(href) <= MAX_SHARED and (":" not in href or href.startswith(HTTP))
        )
        url = _in_directory(self._directory, href) if is_shared else _joined(self.base, href)
        if self.growth is not None:
            self.growth.count(len(url))
        return url

    def on_web(self, hrefs: Iterable[str]) -> list[str]:
        """Return the http(s) URLs among `hrefs`, absolute, each once."""
        urls = dict.fromkeys([self.join(href) for href in dict.fromkeys(hrefs) if href.strip()])
        own = begins(self.page)
        return [url for url in urls if url.startswith(own) or url[:8].lower().startswith(own)]


@lru_cache(maxsize=16_384)
def _in_directory(directory: str, href: str) -> str:
    """Do what `_joined` does: pages of a directory share their navigation."""
    return _joined(directory, href)


def _joined(base: str, href: str) -> str:
    href = href.strip()
    if not base:
        return href
    if not href.isprintable():
        href = _CONTROL.sub(lambda found: quote(found[0].strip("\t\n\r")), href)
    path, hash_sign, fragment = href.partition("#")
    if "\\" in path:
        path = _BACKSLASH.sub("/", path)
    if not path:
        return base + hash_sign + fragment
    scheme = base.partition(":")[0]
    origin = base[: base.find("/", len("file://" if scheme == "file" else "https://"))]
    if path.startswith(HTTP) and "/." not in path:
        url = path
    elif path[0] == "/" and "/." not in path and "/" in base[len("https://") :]:
        url = f"{scheme}:{path}" if path[1:2] == "/" else origin + path
    else:
        url = _below(base, len(origin), path)
    return url.replace(" ", "%20") + hash_sign + fragment


def _below(base: str, origin: int, path: str) -> str:
    """Return a path joined to a base; a plain relative one to a directory without parsing either."""
    relative = path.removeprefix("./")
    up = 0
    while relative.startswith("../", up * 3):
        up += 1
    rest = relative[up * 3 :]
    if base.endswith("/") and "?" not in base and (not rest or _PLAIN.match(rest)):
        folders = base[origin + 1 : -1].split("/") if up and len(base) > origin + 1 else []
        return (
            "/".join([base[:origin], *folders[: max(len(folders) - up, 0)], rest])
            if up
            else base + rest
        )
    try:
        return urljoin(base, path)
    except ValueError:
        return path


# Names of built files: a build may give every picture a new one, though nothing else on the page
# differs.

_DESTINATION = re.compile(
    r"(!?)\[([^\[\]\n]{0,500})\]\(<?([^\s()<>]{1,2000})|\b(?:src|href|poster)=[\"']([^\"'\s<>]{1,2000})"
)
_HASH = re.compile(
    r"(?<![0-9A-Za-z])(?:(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}"
    r"|(?<=[-._])(?=\w{0,7}\d)(?=\w{0,7}[a-z])(?=\w{0,7}[A-Z])\w{8}(?:_\w{1,9})?(?=\.\w{2,5}\Z))(?![0-9A-Za-z])",
    re.ASCII,
)
"""A hash in the address of a file: hex digits, or eight letters of both cases and digits at the end
of its name.
"""
_FILE = re.compile(
    r"\.(?!(?:x?html?|php|aspx?|mdx?|markdown|txt)\Z)[a-z][a-z0-9]{1,4}\Z", re.IGNORECASE
)


_VERSION = re.compile(
    r"(?<=/)(?:v|release-|version-)?\d++(?:\.\d++)++(?:\.x)?(?:[-.]?(?:dev|rc|alpha|beta)\d*+)?"
    r"(?=/|\Z)"
)


def without_built_names(markdown: str | None) -> str:
    """Return Markdown without what a build makes new in the addresses of pictures and files: hashes
    and queries.

    A picture's text goes too where it is the name of the file.

    >>> without_built_names("![a](/_images/30f8c1d2.png) [A commit](/commit/30f8c1d2) ![](x.png?v=2)")
    '![a](/_images/….png) [A commit](/commit/30f8c1d2) ![](x.png)'
    """
    return _DESTINATION.sub(_built_name, markdown or "")


def without_own_versions(markdown: str, host: str) -> str:
    """Return Markdown without the versions in the addresses of links to a host: an alias such as
    `/stable/` may lead to the next one.

    >>> without_own_versions("[a](https://e.com/kit/0.32/a) [b](https://f.org/0.32/b)", "e.com")
    '[a](https://e.com/kit/…/a) [b](https://f.org/0.32/b)'
    """
    own = rf"(?:\]\(<?|<|\]: ?<?)https?://{re.escape(host)}/[^\s()<>]{{0,2000}}"
    return re.sub(own, lambda found: _VERSION.sub("…", found[0]), markdown)


def _built_name(found: re.Match[str]) -> str:
    sign = found[1] or ""
    text = found[2] or ""
    url = found[3] or found[4]
    path = re.split("[?#]", url, maxsplit=1)[0]
    if not (sign or _FILE.search(path)):
        return found[0]
    masked = _HASH.sub("…", path)
    whole = url if masked == path and not _FILE.search(path) else masked
    if not found[3]:
        return found[0].removesuffix(url) + whole
    is_name = sign and " " not in text and _FILE.search(text)
    return f"{sign}[{_HASH.sub('…', text) if is_name else text}]({whole}"
