r"""The file a page becomes in the Markdown tree: names that are safe on Linux, macOS and Windows.

Rules, in the order they are applied:

* The path of the URL is the path of the file; pages of other hosts than the main one lie below `@host/`.
* A page ends in `.md` in place of `.html`, `.htm` or a Markdown ending; a directory is its `index.md`, the root
  of the site `home.md` (`index.md` at the top is the table of contents); a query follows after `@`.
* Percent-encoded UTF-8 is decoded. What a file system does not take, or a reader does not see (separators, control
  and format characters, `<>:"|?*\`, a leading dot, a trailing dot or space), stays percent-encoded.
* Names Windows keeps for devices get a `_`. No folder ends in `.md`.
* A name beyond `MAX_SEGMENT` bytes or a path beyond `MAX_PATH` bytes is cut and gets a `~` and a hash.
* Two URLs whose names differ only in case or Unicode form, or not at all: the later one gets a `~` and a hash.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote_to_bytes, urlsplit

from llmsspider.urls import host, identity

CONTENTS = "index.md"
"""The table of contents at the top of the tree; never a page."""

MAX_SEGMENT = 200
"""Bytes of one file or folder name; file systems take 255, and a hash has to fit."""

MAX_PATH = 400
"""Bytes of the whole relative name; macOS takes 1,024 for the absolute one."""

_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\Z")
_ENDING = re.compile(r"(?i)(?:\.html?)?(?:\.(?:md|mdx|markdown))?\Z")
_FORBIDDEN = frozenset('<>:"|?*\\/')
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_INDEX = frozenset({"index", ""})


class MirrorNames:
    """The names of one tree: the same URL has the same name for as long as the tree lives.

    Args:
        main_host: `urls.host` of the site; its pages lie at the top.
        known: the names an earlier run gave, by identity; they stay.
        occupied: says whether a file that is not of this tree has the name already.
    """

    def __init__(
        self,
        main_host: str,
        known: Mapping[str, str] | None = None,
        occupied: Callable[[str], bool] = lambda _name: False,
    ):
        self.main_host = main_host
        self._occupied = occupied
        self._names = dict(known or {})
        self._taken = {CONTENTS, *map(_folded, self._names.values())}

    def name(self, url: str) -> str:
        """Return the file of a page, relative, with `/`; no two identities share one on any file system."""
        key = identity(url)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._free(key)
            self._taken.add(_folded(name))
        return name

    def _free(self, key: str) -> str:
        wanted = safe_name(key, self.main_host)
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        name, length = wanted, 8
        while _folded(name) in self._taken or self._occupied(name):
            name = f"{wanted.removesuffix('.md')}~{digest[:length]}.md"
            length += 8
        return name


def safe_name(url: str, main_host: str) -> str:
    """Return the name a URL asks for, before it is compared with others.

    >>> safe_name("https://e.com/guide/", "e.com"), safe_name("https://e.com/a/B.html?v=2", "e.com")
    ('guide/index.md', 'a/B@v=2.md')
    >>> safe_name("https://e.com/..%2f..%2fetc/.ssh/con", "e.com")
    '%2E.%2F..%2Fetc/%2Essh/con_.md'
    >>> safe_name("https://e.com/", "e.com"), safe_name("https://other.com/x", "e.com")
    ('home.md', '@other.com/x.md')
    """
    parts = urlsplit(url)
    *folders, last = parts.path.removeprefix("/").split("/")
    stem = _ENDING.sub("", last)
    page = "index" if stem in _INDEX and not (stem == "" and last) else stem or last
    at_home = host(url) == main_host
    if at_home and not folders and page == "index" and not parts.query:
        page = "home"
    if parts.query:
        page += f"@{parts.query}"
    segments = [_folder(part) for part in folders] + [_file(page)]
    if not at_home:
        segments.insert(0, _folder(f"@{host(url)}"))
    elif segments[0].startswith("@") and len(segments) > 1:
        segments[0] = "%40" + segments[0][1:]
    return _within(segments, url)


def _folder(text: str) -> str:
    name = _device_safe(_segment(text) or "_")
    return _cut(name + "_" if name.lower().endswith(".md") else name, text)


def _file(text: str) -> str:
    return _cut(_device_safe(_segment(text) or "_"), text) + ".md"


def _segment(text: str) -> str:
    """Decode one path segment and encode again what is not safe in a name."""
    decoded = unicodedata.normalize("NFC", unquote_to_bytes(text).decode("utf-8", "surrogateescape"))
    safe = "".join(map(_character, decoded))
    if safe.startswith((".", " ")):
        safe = quote_all(safe[0]) + safe[1:]
    if safe.endswith((".", " ")):
        safe = safe[:-1] + quote_all(safe[-1])
    return safe


def _character(character: str) -> str:
    if character in _FORBIDDEN or character == "%" or unicodedata.category(character) in _UNSEEN:
        return quote_all(character)
    return character


def quote_all(text: str) -> str:
    """Percent-encode every byte of `text`.

    >>> quote_all("./")
    '%2E%2F'
    """
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def _device_safe(name: str) -> str:
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if _DEVICES.match(stem.rstrip()) else name


def _cut(name: str, whole: str) -> str:
    if len(name.encode()) <= MAX_SEGMENT:
        return name
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept = name.encode()[: MAX_SEGMENT - 17].decode("utf-8", "ignore")
    return f"{re.sub(r'%.?$', '', kept)}~{digest}"


def _within(segments: list[str], url: str) -> str:
    """Join, or keep the folders that fit into half of `MAX_PATH` and cut the rest to one name."""
    name = "/".join(segments)
    if len(name.encode()) <= MAX_PATH:
        return name
    kept: list[str] = []
    for segment in segments[:-1]:
        if len("/".join([*kept, segment]).encode()) > MAX_PATH // 2:
            break
        kept.append(segment)
    digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    last = segments[-1].removesuffix(".md").encode()[:100].decode("utf-8", "ignore")
    return "/".join([*kept, f"{last}~{digest}.md"])


def _folded(name: str) -> str:
    """What case-insensitive and normalising file systems see of a name (folders count as part of it)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def link_path(from_name: str, to_name: str) -> str:
    """Return the relative link from one file of the tree to another, percent-encoded.

    >>> link_path("guide/a.md", "guide/b.md"), link_path("guide/a.md", "x y/%2E.md")
    ('b.md', '../x%20y/%252E.md')
    """
    here, there = from_name.split("/")[:-1], to_name.split("/")
    common = 0
    while common < min(len(here), len(there) - 1) and here[common] == there[common]:
        common += 1
    return quote("/".join([".."] * (len(here) - common) + there[common:]), safe="/~@=&,;+!$'.-_")
