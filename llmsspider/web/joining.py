"""Cheap joining of the relative links of one page.

`urljoin` costs about 4 µs a call and a page repeats most of its hrefs, so hrefs are deduplicated first and
the plain shapes (absolute, root-relative, a name beside the page) are joined by concatenation.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from llmsspider.web import url_gate
from llmsspider.web.decompression import Growth

HTTP = ("http://", "https://")
"""How a URL begins that a crawl can follow."""

_CONTROL = re.compile(r"[\t\n\r]")
_PLAIN = re.compile(r"(?!\.)[\w~-][^:?/\\]*(?:/(?!\.)[^:/\\]+)*/?\Z")


class Joiner:
    """Joins hrefs to the base URL of one page, remembering the answers.

    `base_href` is that of `<base>`, if any; one that is no http(s) URL counts for nothing. `join(href)` gives
    an absolute URL (fragment kept), or the href unchanged where it cannot be parsed; each is counted by `growth`.
    """

    def __init__(self, url: str, base_href: str = "", growth: Growth | None = None):
        self.growth = growth
        self.page = url.partition("#")[0]
        named = url_gate.parse(base_href, self.page) if base_href else None
        self.base = named if isinstance(named, str) else self.page
        parts = urlsplit(self.base)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._scheme = parts.scheme
        self._folders = parts.path.split("/")[1:-1]
        self._directory = "/".join([self._origin, *self._folders, ""])
        self._seen: dict[str, str] = {}

    def join(self, href: str) -> str:
        """Return `href` as an absolute URL, fragment kept."""
        found = self._seen.get(href)
        if found is None:
            found = self._seen[href] = self._join(href)
        if self.growth is not None:
            self.growth.count(len(found))
        return found

    def _join(self, href: str) -> str:
        href = href.strip()
        if "\n" in href or "\t" in href or "\r" in href:
            href = _CONTROL.sub("", href)
        path, hash_sign, fragment = href.partition("#")
        if not path:
            return self.base + hash_sign + fragment
        url = self._absolute(path)
        if " " in url:
            url = url.replace(" ", "%20")
        return url + hash_sign + fragment if fragment else url + hash_sign

    def _absolute(self, path: str) -> str:
        if path.startswith(HTTP):
            return path if "/." not in path else self._safe_join(path, "")
        if path[0] == "/" and "/." not in path:
            return f"{self._scheme}:{path}" if path[1:2] == "/" else self._origin + path
        relative = path.removeprefix("./")
        up = 0
        while relative.startswith("../", up * 3):
            up += 1
        rest = relative[up * 3 :]
        if not _PLAIN.match(rest) and rest:
            return self._safe_join(self.base, path)
        if not up:
            return self._directory + rest if rest else self._directory
        return "/".join([self._origin, *self._folders[: max(len(self._folders) - up, 0)], rest])

    @staticmethod
    def _safe_join(base: str, href: str) -> str:
        try:
            return urljoin(base, href)
        except ValueError:
            return href
