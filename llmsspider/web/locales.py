"""Language and version trees of a site: which copy of the documentation a URL belongs to.

A site that keeps `/fr/` beside `/en/`, or `/dev/` beside its release, holds the same pages several times. The start
page's copy is crawled; the others are filtered (docs/explanation/scope.md). A segment of the path is
taken for a language or version only on evidence: it lies beside that of the start page, or the same page is
without it or with another in its place. A link is no such page while nothing was read there: it may be dead. Where a
directory redirects to a tree below it, the site itself chose that tree. What holds for one page of a tree holds for
the whole tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

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
_NAMED = frozenset(_NAMES.split())
"""Names that stand for a version."""

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
    if _NUMBERED.match(segment) or segment.lower() in _NAMED:
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


def _directory_of(url: str, segment: str) -> str:
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
        self._home = {axis: (segment, _directory_of(url, segment)) for axis, segment in tree_of(url).items()}

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
            tree = _directory_of(target, segment)
            if axis not in self._home and tree.startswith(above) and tree != above:
                self._home[axis] = segment, tree

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
            if axis == "version":
                is_wanted = self.all_versions or segment == self._home.get(axis, (None,))[0]
            elif self.language is None:
                is_wanted = segment == self._home.get(axis, (None,))[0]
            else:
                is_wanted = self.language == "all" or same_language(self.language, segment)
            if not is_wanted:
                yield axis, segment, _directory_of(url, segment)

    def _is_copy(self, url: str, axis: Axis, segment: str, tree: str, *, is_final: bool) -> bool:
        """Return whether a tree lies beside the start page's own, or the same page is in that."""
        home, directory = self._home.get(axis, (None, ""))
        if home and not segment.isdecimal() and tree == replaced(directory, home, segment):
            return True  # numbers alone may be chapters or years
        path = urlsplit(url).path
        if path.rstrip("/").endswith(f"/{segment}"):  # the index of the tree
            is_alias = segment.lower() in _NAMED and path.endswith("/")  # /next may be a page
            is_named = is_alias or segment in self.language_trees
            if is_named or home is None:
                return is_named
        same = replaced(url, segment, home)
        is_dead = identity(same) in self._no_pages
        return self.is_read(same) or (is_final and not is_dead and self.is_known(same))


class Alias(NamedTuple):
    """A version under two addresses: a file in the directory `kept` lists its pages below `listed`, both URLs."""

    listed: str
    kept: str

    def of(self, url: str) -> str:
        """Return the address below `kept` of a page below `listed`, any other as it is."""
        return self.kept + url.removeprefix(self.listed) if url.startswith(self.listed) else url


def alias_of(place: str, urls: Iterable[str]) -> Alias | None:
    """Return the version that a file in the directory of another one lists in place of its own, or None.

    A site that is built as `/2.1/` and served as `/latest/`, too, lists `/2.1/` in both. So every version listed beside
    that of the file is the same one, and one of the two has a name that stands for a version.

    >>> alias_of("https://e.com/latest/llms.txt", ["https://e.com/2.1/", "https://e.com/2.1/a", "https://e.com/blog"])
    Alias(listed='https://e.com/2.1/', kept='https://e.com/latest/')
    >>> alias_of("https://e.com/latest/llms.txt", ["https://e.com/2.1/a", "https://e.com/latest/b"])
    """
    segment = tree_of(place).get("version")
    if segment is None:
        return None
    kept = urljoin(place, _directory_of(place, segment))
    above = urljoin(kept, "..")
    listed = {url[len(above) :].partition("/")[0] for url in urls if url.startswith(above)}
    others = [other for other in listed if axis_of(other) == "version"]
    if len(others) != 1 or others == [segment] or not {segment.lower(), others[0].lower()} & _NAMED:
        return None
    return Alias(f"{above}{others[0]}/", kept)


def language_segments(translations: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the path segments of translations, from (language tag, URL) pairs of hreflang."""
    segments = (
        tree_of(f"{url.rstrip('/')}/").get("language") for tag, url in translations if tag != "x-default"
    )
    return frozenset(segment for segment in segments if segment)


def directory_above(url: str, axes: Iterable[str]) -> str | None:
    """Return the directory that holds every tree of the given axes, None where the URL stands in none of them.

    >>> directory_above("https://e.com/en/3.12/library/os.html", ["version"])
    '/en/'
    """
    wanted = [segment for axis, segment in tree_of(url).items() if axis in set(axes)]
    if not wanted:
        return None
    segments = urlsplit(url).path.split("/")
    return "/".join(segments[: min(segments.index(segment) for segment in wanted)]) + "/"


def start_in_language(start_url: str, language: str, translations: Mapping[str, str]) -> str | None:
    """Return where the documentation starts in a language: what hreflang names, else the same path in its tree.

    None when the start page is in that language already, or nothing is known of another.
    """
    for tag, url in translations.items():
        if same_language(language, tag):
            return url
    home = tree_of(start_url).get("language")
    if home is None or same_language(language, home):
        return None
    return replaced(start_url, home, language)
