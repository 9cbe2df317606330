"""Language and version trees of a site: the copies of its documentation, and which one is wanted.

The start page's copy is crawled; the others are filtered (`Trees`). A segment of the path is taken
for a language or version only on evidence: it lies beside that of the start page, or the same page
is without it or with another in its place; trees that lie elsewhere share two pages. What holds for
one page of a tree holds for the whole tree.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Literal
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

from w3lib.url import url_query_cleaner, url_query_parameter

from llmsspider.web.addresses import FILE
from llmsspider.web.urls import host, identity, loose_key

Axis = Literal["language", "version"]
FoundTree = tuple[Axis, str, str]
"""A tree that an address may be in: axis, segment and directory."""

_CODES = (
    "aa ab af am ar as ay az ba be bg bn bo br bs ca cs cy da de dz el en eo es et eu fa fi fj fo"
    " fr fy ga gd gl gn gu ha he hi hr hu hy ia id ie ik is it ja jv ka kk kl km kn ko ks ku ky la"
    " ln lo lt lv mg mi mk ml mn mr ms mt my na nb ne nl nn no oc om or pa pl ps pt qu rm rn ro ru"
    " rw sa sd sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw"
    " uk ur uz vi vo wo xh yi yo za zh zu"
)
"""Two-letter language codes of ISO 639-1 that sites use as a path segment."""
_NAMES = (
    "latest stable dev devel develop main master next nightly canary edge current unreleased"
    " unstable preview"
)
VERSION_NAMES = frozenset(_NAMES.split())
"""Names that stand for a version."""

DEFAULT_VERSIONS = ("latest", "stable", "current")
"""Names of the version that a site shows first, the most usual one first."""

MAX_TRANSLATIONS = 100_000
"""Number of addresses of translations that are remembered."""

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
    """Return the language and version segments among the first four of a URL's path; the first of
    each counts.

    All segments of a local file are looked at: its folder may lie anywhere.

    >>> tree_of("https://e.com/docs/en/3.12/library/os.html")
    {'language': 'en', 'version': '3.12'}
    """
    most = None if url.startswith(FILE) else 5
    return dict(_tree_of(urlsplit(url).path.rpartition("/")[0], most))


@lru_cache(maxsize=1024)
def _tree_of(directory: str, most: int | None) -> dict[Axis, str]:
    found: dict[Axis, str] = {}
    for segment in directory.split("/")[1:most]:
        axis = axis_of(segment)
        if axis is not None:
            found.setdefault(axis, segment)
    return found


def same_language(wanted: str, tag: str) -> bool:
    """Return whether a language tag is the wanted language or a variety of it (RFC 4647, basic
    filtering).

    >>> same_language("pt", "pt-BR"), same_language("pt-BR", "pt"), same_language("en", "eo")
    (True, False, False)
    """
    wanted = wanted.lower().replace("_", "-")
    tag = tag.lower().replace("_", "-")
    return tag == wanted or tag.startswith(f"{wanted}-")


def replaced(url: str, segment: str, other: str | None) -> str:
    """Return `url` with the first path segment `segment` replaced by `other`, or removed when that
    is None.
    """
    parts = urlsplit(url)
    segments = parts.path.split("/")
    place = segments.index(segment)
    segments[place : place + 1] = [] if other is None else [other]
    return urlunsplit(parts._replace(path="/".join(segments) or "/"))


def directory_of(url: str, segment: str) -> str:
    """Return the path up to and with its first segment `segment`, as a directory."""
    segments = urlsplit(url).path.split("/")
    return "/".join(segments[: segments.index(segment) + 1]) + "/"


@dataclass(slots=True, frozen=True)
class Suspect:
    """A tree that looks like a copy by the names of its pages alone: a section may be called `dev`,
    `ts` or `guide`, too. The page at `url` shows it, held against the one at `same`.
    """

    axis: Axis
    segment: str
    tree: str
    url: str
    same: str


@dataclass(slots=True)
class Trees:
    """The copies of the documentation, and which of them this crawl wants.

    The language and version of `start_url` are kept, unless `language` is a tag to keep or `all`,
    and `all_versions` is True. `is_known` says whether a URL was seen: as a link, listed, or
    requested; `is_read` whether a page was read there, so that it is sure to exist.
    `language_trees` are segments of translations that the site names (hreflang),
    `language_parameter` is the parameter of the query by which it names them.
    """

    start_url: str
    language: str | None
    all_versions: bool
    is_known: Callable[[str], bool]
    is_read: Callable[[str], bool]
    language_trees: frozenset[str] = frozenset()
    language_parameter: str = ""
    home_language: str | None = None
    """The language that the start page declares."""
    found: set[str] = field(default_factory=set)
    """Directories of copies that are not wanted, such as `/docs/1.x/`: each is filtered as a whole.
    """
    no_copies: set[str] = field(default_factory=set)
    """Directories that look like copies and are none: each is in scope as a whole."""
    host: str = field(init=False)  # the host that has these trees
    _home: dict[Axis, tuple[str, str]] = field(init=False)
    """The tree that is wanted, for each axis: its segment and its directory."""
    # the directory of the version that a start page outside all versions leads to
    _chosen: str = ""
    _shared: dict[str, set[str]] = field(default_factory=dict)
    """What follows a tree's directory in the addresses of pages that the wanted one has, too; by
    directory.
    """
    _translations: dict[str, str] = field(default_factory=dict)
    """The languages of translations that pages of the wanted one name, by identity."""
    _no_pages: set[str] = field(default_factory=set)
    """Addresses, by identity, where there is no page: they are not found, or lead elsewhere."""
    _suspects: dict[str, Suspect] = field(default_factory=dict)
    """The trees that one of their pages is to show, by directory."""
    _sampled: set[str] = field(default_factory=set)
    """The directories of those whose page was given out by `samples`."""

    def __post_init__(self) -> None:
        """Read the start page's address."""
        url = self.start_url
        self.host = host(self.start_url)
        self._home = {
            axis: (segment, directory_of(url, segment)) for axis, segment in tree_of(url).items()
        }

    def no_page(self, url: str) -> None:
        """Take in that an address is not found: that it was linked says nothing of copies."""
        self._no_pages.add(identity(url))

    def redirected(self, url: str, target: str) -> None:
        """Take in that an address leads elsewhere; a directory that leads to a tree below it
        chooses that tree.
        """
        self.no_page(url)
        if host(url) != self.host or host(target) != self.host:
            return
        if identity(url) == identity(self.start_url):
            self.start_url = target  # the language that its query names is the wanted one
        above = urlsplit(identity(url)).path.rstrip("/") + "/"
        for axis, segment in tree_of(target).items():
            tree = directory_of(target, segment)
            if axis not in self._home and tree.startswith(above) and tree != above:
                self._home[axis] = segment, tree

    def foreign(self, url: str, *, is_final: bool = False) -> tuple[Axis, str] | None:
        """Return (axis, segment) when the URL belongs to a copy that is not wanted, else None.

        `is_final`: every other page was requested; what was not read by now, as its host is down,
        counts as a page.
        """
        if (by_name := self.foreign_by_name(url)) is not None:
            return by_name
        if self._on_start_host(url):
            return "language", host(url).partition(".")[0]
        for axis, segment, tree in self._unwanted(url):
            if tree in self.found or (
                tree not in self.no_copies
                and self._is_copy(url, axis, segment, tree, is_final=is_final)
            ):
                self.found.add(tree)
                return axis, segment
        return None

    def is_left(self, url: str) -> bool:
        """Return whether a page is of an unwanted version to which, as to the page, no link leads."""
        trees = [tree for axis, _, tree in self._unwanted(url) if axis == "version"]
        places = [url, *(urljoin(url, tree) for tree in trees)]
        return bool(trees) and not any(map(self.is_known, places))

    def samples(self, urls: Iterable[str]) -> frozenset[str]:
        """Return which of these pages, one of each suspected tree, show whether it is a copy; each
        is given out once.
        """
        for url in urls:
            self.foreign(url, is_final=True)
        asked = [one for tree, one in self._suspects.items() if tree not in self._sampled]
        self._sampled.update(one.tree for one in asked)
        return frozenset(one.url for one in asked)

    def suspect_of(self, url: str) -> Suspect | None:
        """Return the suspected tree that this page shows, None where it shows none."""
        return next((one for one in self._suspects.values() if one.url == url), None)

    def judge(self, suspect: Suspect, *, is_copy: bool) -> None:
        """Take in what the page of a suspected tree has shown."""
        self._suspects.pop(suspect.tree, None)
        (self.found if is_copy else self.no_copies).add(suspect.tree)

    def is_undecided(self, url: str) -> bool:
        """Return whether the URL may belong to an unwanted copy: the same page may be found
        elsewhere later.
        """
        return any(tree not in self.found | self.no_copies for _, _, tree in self._unwanted(url))

    def accept_undecided(self, urls: Iterable[str]) -> None:
        """Accept the trees of these URLs that did not turn out as copies, now that the rest of the
        site is known.

        Where no version is wanted yet only the default one is, or else the newest: the others may
        be copies of it.
        """
        urls = list(urls)
        for url in urls:
            self.foreign(url, is_final=True)
        for suspect in list(self._suspects.values()):  # its page was not to be had
            self.judge(suspect, is_copy=True)
        decided = self.found | self.no_copies
        trees = chain.from_iterable(map(self._unwanted, urls))
        pages = Counter(tree for tree in trees if tree[2] not in decided)
        versions = [tree for tree in pages if tree[0] == "version" and not tree[1].isdecimal()]
        taken = pages.keys() - {*versions} | {*self._wanted_of(versions, pages)}
        self.no_copies |= {tree for _, _, tree in taken}

    def _wanted_of(self, versions: list[FoundTree], pages: Counter[FoundTree]) -> list[FoundTree]:
        """Return the versions that are wanted among those of so many pages: all where one was
        chosen before, else the best.
        """
        if not versions or "version" in self._home or self._chosen:
            return versions
        best = max(versions, key=lambda tree: _rank(tree[1]))
        _, segment, self._chosen = best
        if segment in DEFAULT_VERSIONS and pages[best] > 1:
            self._home["version"] = segment, self._chosen
        return [best]

    def shown_as_copy(self, url: str, links: Iterable[str]) -> tuple[Axis, str] | None:
        """Return (axis, segment) where a page links to two pages of its tree that the wanted one
        has as well.
        """
        for axis, segment, tree in self._unwanted(url):
            if tree not in self.no_copies or tree in self._sampled:
                continue
            for link in links:
                if host(link) == self.host and urlsplit(link).path.startswith(tree):
                    self._has_same(link, axis, segment, tree, is_final=True)
            if len(self._shared.get(tree, ())) > 1:
                self.no_copies.discard(tree)
                self.found.add(tree)
                return axis, segment
        return None

    def in_wanted_language(self, url: str) -> list[str]:
        """Return the addresses that a page of an unwanted language may have in the wanted one."""
        if same := self._on_start_host(url):
            return [same]
        found = ((axis, segment) for axis, segment, _ in self._unwanted(url))
        segment = next((segment for axis, segment in found if axis == "language"), None)
        home, _ = self._home.get("language", (None, ""))
        homes = {home, self.language or home}
        return [replaced(url, segment, one) for one in homes] if segment is not None else []

    def learn_translations(
        self, url: str, language: str | None, translations: Mapping[str, str]
    ) -> None:
        """Take in what a page of the wanted `language` names as its translations; by which
        parameter it does, or a page has its own language by it that is known without.
        """
        wanted = self.language or self.home_language
        if wanted and language and same_language(wanted, language):
            self._learn_named(wanted, url, translations)
        if self.language_parameter:
            return
        named = language_parameter(url, translations.items())
        own = language_parameter(url, [(language or "", url)])
        if named and url_query_parameter(url, named) is None:
            self.language_parameter = named
        elif own and self.is_known(url_query_cleaner(url, [own], remove=True)):
            self.language_parameter = own

    def declared_foreign(
        self, url: str, language: str | None, translations: Mapping[str, str]
    ) -> tuple[Axis, str] | None:
        """Return ("language", tag) where a page declares another language than the start page, and
        that of the start page is asked for or the page names another address in it.
        """
        home = self.home_language or ""
        wanted = self.language or home
        if not language or not _LANGUAGE.match(language.partition("-")[0]):
            return None
        if same_language(wanted, language) or not same_language(wanted, home):
            return None
        others = (other for tag, other in translations.items() if same_language(wanted, tag))
        is_copy = self.language or any(identity(other) != identity(url) for other in others)
        return ("language", language) if is_copy else None

    def _learn_named(self, wanted: str, url: str, translations: Mapping[str, str]) -> None:
        """Remember the translations of a page whose addresses do not show that they are some."""
        pages = {tag: identity(other) for tag, other in translations.items()}
        tags = {page: tag for tag, page in pages.items() if "language" not in tree_of(page)}
        own = {
            page for tag, page in pages.items() if tag == "x-default" or same_language(wanted, tag)
        }
        for page in tags.keys() - own - {identity(url)}:
            if len(self._translations) < MAX_TRANSLATIONS:
                self._translations[page] = tags[page]

    def foreign_by_name(self, url: str) -> tuple[Axis, str] | None:
        """Return ("language", tag) where a page of the wanted language names a URL as a
        translation, or its query names another language.
        """
        if self._translations and (tag := self._translations.get(identity(url))):
            return "language", tag
        name = self.language_parameter
        value = url_query_parameter(url, name) if name else None
        if value is None:
            return None
        if self.language is None:
            is_wanted = value == url_query_parameter(self.start_url, name)
        else:
            is_wanted = self.language == "all" or same_language(self.language, value)
        return None if is_wanted else ("language", value)

    def _on_start_host(self, url: str) -> str | None:
        """Return the known address on the start page's host of a page of one that an unwanted
        language names (`de.docs.e.com`); else None.
        """
        tag, _, rest = host(url).partition(".")
        own, _, beside = self.host.partition(".")
        wanted = self.language or own
        is_beside = rest == self.host or (rest == beside and axis_of(own) == "language")
        is_wanted = wanted == "all" or same_language(wanted, tag)
        if is_wanted or not is_beside or axis_of(tag) != "language":
            return None
        same = urlsplit(url)._replace(netloc=self.host).geturl()
        return next(filter(self.is_known, (same, loose_key(same))), None)

    def _unwanted(self, url: str) -> Iterator[FoundTree]:
        """Yield each tree the URL may be in, but for those that are wanted."""
        if host(url) != self.host:
            return
        is_bare = axis_of(urlsplit(url).path.rpartition("/")[2]) is not None  # `/docs/fr`
        for axis, segment in tree_of(url + "/" if is_bare else url).items():
            is_wanted = segment == self._home.get(axis, (None,))[0]
            is_wanted = is_wanted or (axis == "version" and self.all_versions)
            if axis == "language" and self.language is not None:
                is_wanted = self.language == "all" or same_language(self.language, segment)
            if not is_wanted:
                yield axis, segment, directory_of(url, segment)

    def _is_copy(self, url: str, axis: Axis, segment: str, tree: str, *, is_final: bool) -> bool:
        """Return whether a tree lies beside the start page's own, or the same page is in that."""
        home, directory = self._home.get(axis, (None, ""))
        if home and not segment.isdecimal() and tree == replaced(directory, home, segment):
            return True  # numbers alone may be chapters or years
        is_index = urlsplit(identity(url)).path.rstrip("/").endswith(f"/{segment}")
        if is_index and (home is None or segment in self.language_trees):
            return segment in self.language_trees
        is_beside = self._has_same(url, axis, segment, tree, is_final=is_final)
        if not (is_beside or len(self._shared.get(tree, ())) > 1):
            return False
        is_sure = segment in self.language_trees or _NUMBERED.match(segment) is not None
        if not is_sure and tree not in self._suspects:
            same = replaced(url, segment, home)
            self._suspects[tree] = Suspect(axis, segment, tree, url, same)
        return is_sure

    def _has_same(
        self, url: str, axis: Axis, segment: str, tree: str, *, is_final: bool = False
    ) -> bool:
        """Return whether the same page is there with the wanted segment, or none; and count it for
        its tree.
        """

        def is_page(same: str) -> bool:
            is_dead = identity(same) in self._no_pages
            return self.is_read(same) or (is_final and not is_dead and self.is_known(same))

        home, directory = self._home.get(axis, (None, ""))
        parts = urlsplit(identity(url))
        if parts.path == tree:  # every directory has an index
            return False
        is_beside = is_page(replaced(url, segment, home))
        after = parts.path.removeprefix(tree)
        elsewhere = {directory, self._chosen if axis == "version" else ""} - {"", tree}
        same = (urlunsplit(parts._replace(path=wanted + after)) for wanted in elsewhere)
        if after and after != parts.path and (is_beside or any(map(is_page, same))):
            self._shared.setdefault(tree, set()).add(after)
        return is_beside


def _rank(segment: str) -> tuple[bool, int, bool, list[int]]:
    """Return how much speaks for a version as the one to read, to compare: default names, then the
    highest released.

    >>> max(["1.9", "1.10rc1", "v1.10", "2.0-beta", "dev"], key=_rank)
    'v1.10'
    """
    is_default = segment in DEFAULT_VERSIONS
    numbers = [int(number) for number in re.findall(r"\d+", segment)]
    order = -DEFAULT_VERSIONS.index(segment) if is_default else 0
    return (
        is_default,
        order,
        bool(numbers) and not re.search(r"\d-?[a-wyz]", segment, re.IGNORECASE),
        numbers,
    )


def language_segments(translations: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the path segments of translations, from (language tag, URL) pairs of hreflang."""
    trees = (tree_of(f"{url.rstrip('/')}/") for tag, url in translations if tag != "x-default")
    return frozenset(tree["language"] for tree in trees if "language" in tree)


def language_parameter(start_url: str, translations: Iterable[tuple[str, str]]) -> str:
    """Return the parameter by which translations of a page differ from it, from pairs as above;
    empty where they differ otherwise.

    >>> language_parameter("https://e.com/docs/", [("de", "https://e.com/docs/?hl=de")])
    'hl'
    """
    page = identity(start_url).partition("?")[0]
    for tag, url in translations:
        if identity(url).partition("?")[0] == page:
            for name, value in parse_qsl(urlsplit(url).query):
                if same_language(value, tag) or same_language(tag, value):
                    return name
    return ""


def directory_above(url: str, axes: Iterable[str]) -> str | None:
    """Return the directory that holds every tree of the given axes, None where the URL stands in
    none of them.

    >>> directory_above("https://e.com/en/3.12/library/os.html", ["version"])
    '/en/'
    """
    trees = [
        directory_of(url, segment) for axis, segment in tree_of(url).items() if axis in set(axes)
    ]
    return min(trees).rpartition("/")[0].rpartition("/")[0] + "/" if trees else None
