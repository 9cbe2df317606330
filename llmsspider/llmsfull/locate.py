"""Find the URL of a page from what its file says of it: an address, a path, or only a title."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import unquote, urljoin, urlsplit

from llmsspider import domains, urlgate

_INDEX_NAMES = frozenset({"index", "readme", ""})
_SOURCE_ROOTS = frozenset(
    {"docs", "doc", "documentation", "content", "pages", "src", "main", "master", "site", "website"}
)
_EXTENSION = re.compile(r"\.(?:mdx?|markdown|rst|txt|html?|ipynb|adoc)$", re.IGNORECASE)
_SOURCE_PATH = re.compile(
    r"/(?:content|contents|src|source|_docs)/.*\.(?:mdx?|markdown|rst|ipynb|adoc)$", re.IGNORECASE
)
"""A path of a source tree, which no site publishes: the page is the listed one it ends like, or none."""

_ORDER_PREFIX = re.compile(r"^\d+[-_.]\s*(?=\D)")


def normal_title(text: str) -> str:
    """Return a title reduced to its letters and digits, for comparison.

    >>> normal_title("**What's new?**")
    'what s new'
    """
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


class Locator:
    """Knows the pages listed elsewhere (`titles` maps their URLs to titles) and where the file lies."""

    def __init__(self, url: str, titles: Mapping[str, str]):
        self._base = url
        self._here = _names(urlsplit(urljoin(url, ".")).path)
        self._urls: list[str] = []
        self._positions: dict[str, int] = {}
        self._by_title: dict[str, list[int]] = defaultdict(list)
        self._by_names: dict[tuple[str, ...], str] = {}
        for known, title in titles.items():
            if not self._is_own(known):
                continue
            self._by_names.setdefault(_names(urlsplit(known).path), known)
            if normal_title(title):
                self._by_title[normal_title(title)].append(len(self._urls))
                self._positions[known] = len(self._urls)
                self._urls.append(known)

    @property
    def listed(self) -> int:
        """How many pages have a title."""
        return len(self._urls)

    def positions(self, title: str) -> list[int]:
        """Return where in the list a title stands."""
        return self._by_title.get(normal_title(title), [])

    def position(self, url: str) -> int:
        """Return where in the list a URL with a title stands."""
        return self._positions[url]

    def url_at(self, position: int) -> str:
        """Return the URL at a position of the list."""
        return self._urls[position]

    def by_title(self, title: str | None) -> str | None:
        """Return the URL listed under a title, if exactly one is."""
        positions = self.positions(title) if title else []
        return self._urls[positions[0]] if len(positions) == 1 else None

    def locate(self, address: str | None, title: str | None) -> str | None:
        """Return the URL of a page, without fragment; None where nothing names it for certain.

        An address on the file's own site is taken as it is. An address elsewhere (a repository, a
        preview host) and a path relative to a source tree give way to the listed page they end like,
        or to the one with that title; a relative path nobody lists counts only where there is no list.
        """
        if not address:
            return self.by_title(title)
        url = urlgate.parse(address, self._base)
        if not isinstance(url, str):
            return self.by_title(title)
        if address.startswith(("http://", "https://")):
            return url if self._is_own(url) else self._listed_like(url) or self.by_title(title) or url
        if address.startswith("/"):
            likely = self._listed_like(url) or self.by_title(title) if _SOURCE_PATH.match(address) else url
            return self._listed_at(url, address) or likely
        listed = self._listed_at(url, address) or self._listed_like(url) or self.by_title(title)
        if listed or self._by_names or domains.host(url) is None:
            return listed
        return re.sub(r"(?:(?<=/)(?:README|readme|index)\.mdx?|\.mdx)$", "", url)

    def _is_own(self, url: str) -> bool:
        return not self._base or domains.same_site(url, self._base)

    def _listed_at(self, url: str, address: str) -> str | None:
        """Return the listed page at a path, counted from the root or from the file's directory."""
        names = _names(urlsplit(url).path)
        below = (*self._here, *_names(urlsplit(address).path))
        return self._by_names.get(names) or self._by_names.get(below)

    def _listed_like(self, url: str) -> str | None:
        """Return the listed page whose path, from the file's directory, ends the path of `url`.

        A path of one name is too little to go by, except right below the root of a source tree.
        """
        names = _names(urlsplit(url).path)
        for begin in range(len(names)):
            is_root = begin == 0 or names[begin - 1] in _SOURCE_ROOTS
            if len(names) - begin >= 2 or is_root:
                tail = names[begin:]
                found = self._by_names.get((*self._here, *tail)) or self._by_names.get(tail)
                if found:
                    return found
        return None


def _names(path: str) -> tuple[str, ...]:
    """Return the segments of a path as they name a page: no extension, index, order prefix or case."""
    segments = [unquote(segment) for segment in path.strip("/").split("/")]
    if segments:
        segments[-1] = _EXTENSION.sub("", segments[-1])
    names = [_ORDER_PREFIX.sub("", segment).lower() for segment in segments if segment not in {"", ".", ".."}]
    while names and names[-1] in _INDEX_NAMES:
        names.pop()
    return tuple(names)
