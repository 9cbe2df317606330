"""Language and version trees of a site: the copies of its documentation, and which one is wanted.

A site that keeps `/fr/` beside `/en/`, or `/dev/` beside its release, holds the same pages several times. The start
page's copy is crawled; the others are filtered (`Trees`). A segment of the path is taken for a language or version only
on evidence: it lies beside that of the start page, or the same page is without it or with another in its place. A link
is no such page while nothing was read there: it may be dead. Where a directory redirects to a tree below it, the site
itself chose that tree. What holds for one page of a tree holds for the whole tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from llmsspider.web.urls import host, identity

Axis = Literal["language", "version"]

_CODES = (
    "aa ab af am ar as ay az ba be bg bn bo br bs ca cs cy da de dz el en eo es et eu fa fi fj fo fr fy ga gd "
    "gl gn gu ha he hi hr hu hy ia id ie ik is it ja jv ka kk kl km kn ko ks ku ky la ln lo lt lv mg mi mk ml "
    "mn mr ms mt my na nb ne nl nn no oc om or pa pl ps pt qu rm rn ro ru rw sa sd sg sh si sk sl sm sn so sq "
    "sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw uk ur uz vi vo wo xh yi yo za zh zu"
)
"""Two-letter language codes of ISO 639-1 that sites use as a path segment."""
_NAMES = (
    "latest stable dev devel develop main master next nightly canary edge current unreleased unstable preview"
)
VERSION_NAMES = frozenset(_NAMES.split())
"""Names that stand for a version."""

DEFAULT_VERSIONS = ("latest", "stable", "current")
"""Names of the version that a site shows first, the most usual one first."""

_LANGUAGE = re.compile(
    rf"(?:{_CODES.replace(' ', '|')})(?:[-_](?:[a-z]{{2}}|[a-z]{{4}}|[0-9]{{3}}))?\Z", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"(?:v|version-|release-)?\d+(?:\.\d+){0,3}(?:\.x)?(?:-?(?:alpha|beta|rc|preview)[\d.]*)?\Z",
    re.IGNORECASE,
)


def axis_of(segment: str) -> Axis | None:
    """Return what a path segment looks like: a language, a version, or neither.

    >>> [axis_of(segment) for segment in ("en", "pt-BR", "3.12", "v2", "latest", "go", "guide", "c")]
    ['language', 'language', 'version', 'version', 'version', None, None, None]
    """
    if _LANGUAGE.match(segment):
        return "language"
    if _NUMBERED.match(segment) or segment.lower() in VERSION_NAMES:
        return "version"
    return None


def tree_of(url: str) -> dict[Axis, str]:
    """Return the language and version segments among the first four of a URL's path; the first of each counts.

    >>> tree_of("https://e.com/docs/en/3.12/library/os.html")
    {'language': 'en', 'version': '3.12'}
    """
    found: dict[Axis, str] = {}
    for segment in urlsplit(url).path.split("/")[1:-1][:4]:
        axis = axis_of(segment)
        if axis is not None:
            found.setdefault(axis, segment)
    return found


def same_language(wanted: str, tag: str) -> bool:
    """Return whether a language tag is the wanted language or a variety of it (RFC 4647, basic filtering).

    >>> same_language("pt", "pt-BR"), same_language("pt-BR", "pt"), same_language("en", "eo")
    (True, False, False)
    """
    wanted, tag = wanted.lower().replace("_", "-"), tag.lower().replace("_", "-")
    return tag == wanted or tag.startswith(f"{wanted}-")


def replaced(url: str, segment: str, other: str | None) -> str:
    """Return `url` with the first path segment `segment` replaced by `other`, or removed when that is None."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    place = segments.index(segment)
    segments[place : place + 1] = [] if other is None else [other]
    return urlunsplit(parts._replace(path="/".join(segments) or "/"))


def directory_of(url: str, segment: str) -> str:
    """Return the path up to and with its first segment `segment`, as a directory."""
    segments = urlsplit(url).path.split("/")
    return "/".join(segments[: segments.index(segment) + 1]) + "/"


@dataclass(slots=True)
class Trees:
    """The copies of the documentation, and which of them this crawl wants.

    The language and version of `start_url` are kept, unless `language` is a tag to keep or `all`, and `all_versions` is
    True. `is_known` says whether a URL was seen: as a link, listed, or requested; `is_read` whether a page was read
    there, so that it is sure to exist. `language_trees` are segments of translations that the site names (hreflang).
    """

    start_url: str
    language: str | None
    all_versions: bool
    is_known: Callable[[str], bool]
    is_read: Callable[[str], bool]
    language_trees: frozenset[str] = frozenset()
    found: set[str] = field(default_factory=set)
    """Directories of copies that are not wanted, such as `/docs/1.x/`: each is filtered as a whole."""
    no_copies: set[str] = field(default_factory=set)
    """Directories that look like copies and are none: each is in scope as a whole."""
    host: str = field(init=False)
    """The host that has these trees."""
    _home: dict[Axis, tuple[str, str]] = field(init=False)
    """The tree that is wanted, for each axis: its segment and its directory."""
    _no_pages: set[str] = field(default_factory=set)
    """Addresses, by identity, where there is no page: they are not found, or lead elsewhere."""

    def __post_init__(self) -> None:
        """Read the start page's address."""
        url, self.host = self.start_url, host(self.start_url)
        self._home = {axis: (segment, directory_of(url, segment)) for axis, segment in tree_of(url).items()}

    def no_page(self, url: str) -> None:
        """Take in that an address is not found: that it was linked says nothing of copies."""
        self._no_pages.add(identity(url))

    def redirected(self, url: str, target: str) -> None:
        """Take in that an address leads elsewhere; a directory that leads to a tree below it chooses that tree."""
        self.no_page(url)
        if host(url) != self.host or host(target) != self.host:
            return
        above = urlsplit(identity(url)).path.rstrip("/") + "/"
        for axis, segment in tree_of(target).items():
            tree = directory_of(target, segment)
            if axis not in self._home and tree.startswith(above) and tree != above:
                self._home[axis] = segment, tree

    def landed(self, urls: Iterable[str]) -> None:
        """Choose the default version below a start page that lies in none, by the pages that are known.

        It has two pages at least, and a page with the same address but for the version is known of none of them: where
        one is, the start page's own documentation is the current one.
        """
        if "version" in self._home or self.all_versions:
            return
        known = {identity(url): url for url in urls if host(url) == self.host}
        for name in DEFAULT_VERSIONS:
            pages = [url for url in known.values() if tree_of(url).get("version") == name]
            inner = [url for url in pages if not urlsplit(url).path.endswith(f"/{name}/")]
            trees = {directory_of(url, name) for url in pages}
            if len(pages) > 1 and inner and len(trees) == 1:
                if not any(identity(replaced(url, name, None)) in known for url in inner):
                    self._home["version"] = name, trees.pop()
                return

    def foreign(self, url: str, *, is_final: bool = False) -> tuple[Axis, str] | None:
        """Return (axis, segment) when the URL belongs to a copy that is not wanted, else None.

        `is_final` says that every page of the site that is not doubtful was requested: what was not read by now, as
        its host is down, counts as a page.
        """
        for axis, segment, tree in self._unwanted(url):
            if tree in self.found or (
                tree not in self.no_copies and self._is_copy(url, axis, segment, tree, is_final=is_final)
            ):
                self.found.add(tree)
                return axis, segment
        return None

    def is_undecided(self, url: str) -> bool:
        """Return whether the URL may belong to an unwanted copy: the same page may be found elsewhere later."""
        return any(tree not in self.found | self.no_copies for _, _, tree in self._unwanted(url))

    def accept_undecided(self, urls: Iterable[str]) -> None:
        """Accept the trees of these URLs that did not turn out as copies, now that the rest of the site is known."""
        urls = list(urls)
        for url in urls:
            self.foreign(url, is_final=True)
        self.no_copies |= {tree for url in urls for _, _, tree in self._unwanted(url)} - self.found

    def _unwanted(self, url: str) -> Iterator[tuple[Axis, str, str]]:
        """Yield axis, segment and directory of each tree the URL may be in, but for those that are wanted."""
        if host(url) != self.host:
            return
        is_bare = axis_of(urlsplit(url).path.rpartition("/")[2]) is not None  # `/docs/fr`
        for axis, segment in tree_of(url + "/" if is_bare else url).items():
            is_wanted = segment == self._home.get(axis, (None,))[0] or (
                axis == "version" and self.all_versions
            )
            if axis == "language" and self.language is not None:
                is_wanted = self.language == "all" or same_language(self.language, segment)
            if not is_wanted:
                yield axis, segment, directory_of(url, segment)

    def _is_copy(self, url: str, axis: Axis, segment: str, tree: str, *, is_final: bool) -> bool:
        """Return whether a tree lies beside the start page's own, or the same page is in that."""
        home, directory = self._home.get(axis, (None, ""))
        if home and not segment.isdecimal() and tree == replaced(directory, home, segment):
            return True  # numbers alone may be chapters or years
        path = urlsplit(url).path
        if path.rstrip("/").endswith(f"/{segment}"):  # the index of the tree
            is_alias = segment.lower() in VERSION_NAMES and path.endswith("/")  # /next may be a page
            is_named = is_alias or segment in self.language_trees
            if is_named or home is None:
                return is_named
        same = replaced(url, segment, home)
        is_dead = identity(same) in self._no_pages
        return self.is_read(same) or (is_final and not is_dead and self.is_known(same))


def language_segments(translations: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the path segments of translations, from (language tag, URL) pairs of hreflang."""
    trees = (tree_of(f"{url.rstrip('/')}/") for tag, url in translations if tag != "x-default")
    return frozenset(tree["language"] for tree in trees if "language" in tree)


def directory_above(url: str, axes: Iterable[str]) -> str | None:
    """Return the directory that holds every tree of the given axes, None where the URL stands in none of them.

    >>> directory_above("https://e.com/en/3.12/library/os.html", ["version"])
    '/en/'
    """
    trees = [directory_of(url, segment) for axis, segment in tree_of(url).items() if axis in set(axes)]
    return min(trees).rpartition("/")[0].rpartition("/")[0] + "/" if trees else None
