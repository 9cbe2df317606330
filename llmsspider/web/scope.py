"""Which URLs belong to a crawl: its scope, and the copy of the documentation that is wanted.

One `Scope` decides over seeds, links, redirect ends, sitemap entries and page URLs claimed by full-text files. It is
built once, when discovery is done (docs/explanation/scope.md).

A site that keeps `/fr/` beside `/en/`, or `/dev/` beside its release, holds the same pages several times. The start
page's copy is crawled; the others are filtered (`Trees`). A segment of the path is taken for a language or version only
on evidence: it lies beside that of the start page, or the same page is without it or with another in its place. A link
is no such page while nothing was read there: it may be dead. Where a directory redirects to a tree below it, the site
itself chose that tree. What holds for one page of a tree holds for the whole tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from wcmatch import glob

from llmsspider.items import Section
from llmsspider.web.addresses import DEFAULT_PORTS
from llmsspider.web.page_forms import skipped_extension
from llmsspider.web.stats import Filtered
from llmsspider.web.url_gate import HTTP
from llmsspider.web.urls import directory, host, identity, same_site

ScopeKind = Literal["auto", "section", "host", "domain", "listed"]

_GLOB_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.BRACE | glob.FORCEUNIX


def split_globs(text: str) -> list[str]:
    r"""Split a comma- or newline-separated list of globs; commas inside braces belong to the glob.

    >>> split_globs("/docs/**, /{api,ref}/**\n!/docs/old/**")
    ['/docs/**', '/{api,ref}/**', '!/docs/old/**']
    """
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "\n" or (character == "," and depth <= 0):
            parts.append(text[start:position])
            start, depth = position + 1, 0
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    positive, _negative = glob.translate(pattern, flags=_GLOB_FLAGS)
    return tuple(re.compile(expression) for expression in positive)


def glob_matches(pattern: str, path: str) -> bool:
    """Return whether a glob matches a URL path; both are compared with percent-encoding decoded.

    A trailing slash of the path does not count, so `/docs/**` matches `/docs`, `/docs/` and all below.

    >>> [glob_matches("/docs/**", path) for path in ("/docs", "/docs/", "/docs/.a/b", "/docsearch")]
    [True, True, True, False]
    """
    pattern, path = unquote(pattern), unquote(path)
    without_slash = path.rstrip("/")
    candidates = {path, without_slash or "/", without_slash + "/"}
    return any(expression.match(candidate) for expression in _compiled(pattern) for candidate in candidates)


@dataclass(slots=True, frozen=True)
class Scope:
    """The bounds of one crawl.

    `start_url` is the start page after redirects, `section` a directory path such as `/docs/`, `why` how it was
    chosen. `listed_directories` maps another host of the same site to the directories of the pages that llms.txt
    lists there. `allow` and `block` are globs on the URL path; `allow` replaces the section, `block` wins. `handled`
    are extensions of files that a content handler reads.
    """

    kind: ScopeKind
    start_url: str
    section: str
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    listed_directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    handled: frozenset[str] = frozenset()
    handled_if_listed: frozenset[str] = frozenset()
    why: str = ""

    def refusal(self, url: str, *, listed: bool = False) -> Filtered | None:
        """Return why an absolute URL is out of scope, None for one in scope.

        `listed`: an llms.txt, full-text file or sitemap lists it.
        """
        if not url.startswith(HTTP) and (scheme := urlsplit(url).scheme) not in DEFAULT_PORTS:
            return Filtered("scheme", f"{scheme}: is not http(s)")
        if host(url) != host(self.start_url) and not same_site(url, self.start_url):
            return Filtered("offsite", "another site")
        ending = skipped_extension(url, listed=listed)
        if ending and ending not in self.handled and not (listed and ending in self.handled_if_listed):
            return Filtered("file-type", f".{ending} files are not pages")
        path = urlsplit(url).path or "/"
        if outside := self._outside(url, path, listed=listed):
            return Filtered("out-of-scope", outside)
        for pattern in self.block:
            if glob_matches(pattern, path):
                return Filtered("block", f"block={pattern}")
        is_allowed = not self.allow or any(glob_matches(pattern, path) for pattern in self.allow)
        return None if is_allowed else Filtered("allow", f"matches none of allow={','.join(self.allow)}")

    def _outside(self, url: str, path: str, *, listed: bool) -> str:
        """Return the rule by which host or section leave a URL of the site out; empty where none does."""
        home = host(self.start_url)
        if host(url) != home:
            if self.kind in {"section", "host"}:
                return f"another host than {home}"
            is_below = self.kind == "auto" and path.startswith(self.listed_directories.get(host(url), ()))
            is_taken = self.kind == "domain" or listed or is_below
            return "" if is_taken else "another host, and below no directory that llms.txt lists there"
        if self.kind in {"host", "domain"} or (listed and self.kind != "section"):
            return ""
        if self.kind == "listed":
            return "not listed by llms.txt, a sitemap or a repository"
        is_inside = self.allow or path.startswith(self.section) or path == self.section.rstrip("/")
        return "" if is_inside else f"outside the section {self.section}"

    def describe(self) -> str:
        """Return the scope in one line, with the argument that widens it."""
        name = host(self.start_url)
        why = f" ({self.why})" if self.why else ""
        where = {
            "auto": f"pages below {name}{self.section}{why}, and pages that llms.txt lists on the same domain",
            "section": f"pages below {name}{self.section}",
            "host": f"all pages of {name}",
            "domain": f"all pages of the domain of {name}",
            "listed": "pages listed by llms.txt, a sitemap or a repository",
        }[self.kind]
        if self.allow and self.kind in {"auto", "section"}:
            where = f"pages of {name} that match allow={','.join(self.allow)}"
        if self.block:
            where += f", without block={','.join(self.block)}"
        return f"scope {self.kind}: {where}" + (f" (wider: {self.wider})" if self.wider else "")

    @property
    def wider(self) -> str:
        """The argument that widens the scope; empty where there is none."""
        if self.kind == "domain":
            return ""
        whole_host = self.kind == "host" or (self.kind in {"auto", "section"} and self.section == "/")
        wider = "domain" if whole_host else "auto" if self.kind == "listed" else "host"
        return f"-a scope={wider}"


def build_scope(
    kind: ScopeKind,
    start_url: str,
    covering_file: str | None,
    listed: Iterable[str],
    *,
    allow: Sequence[str] = (),
    block: Sequence[str] = (),
    above: str | None = None,
    evidence: Iterable[Section] = (),
    handled: frozenset[str] = frozenset(),
    handled_if_listed: frozenset[str] = frozenset(),
) -> Scope:
    """Fix the scope after discovery.

    `start_url` is the start page after redirects; a directory page ends in `/`. `covering_file` is the URL of the
    llms.txt found, `listed` are those of the pages that llms.txt lists. Globs of `allow` that begin with `!` are moved
    to `block`. `above` is the directory that holds every language or version, where every one is wanted. `evidence` is
    what start page and sitemaps say of the section; it counts for `auto` without a covering llms.txt. `handled` are
    extensions of files that a content handler reads, `handled_if_listed` those that are read where they are listed.
    """
    section = Section(directory(start_url), "")
    if covering_file and host(covering_file) == host(start_url):
        covered = directory(covering_file)
        if covered != "/" and not covered.startswith("/.well-known/") and section.path.startswith(covered):
            section = Section(covered, "the directory of its llms.txt")
    if kind == "auto" and covering_file is None:
        above_start = [named for named in evidence if section.path.startswith(named.path)]
        section = max(above_start, key=lambda named: len(named.path), default=section)
    if above is not None and section.path.startswith(above):
        section = Section(above, "")
    elsewhere: dict[str, set[str]] = {}
    for url in listed:
        name = host(url)
        if name != host(start_url) and same_site(url, start_url):
            elsewhere.setdefault(name, set()).add(directory(url))
    return Scope(
        kind=kind,
        start_url=start_url,
        section=section.path,
        why=section.why,
        allow=tuple(pattern for pattern in allow if not pattern.startswith("!")),
        block=(*block, *(pattern[1:] for pattern in allow if pattern.startswith("!"))),
        listed_directories={name: tuple(sorted(paths)) for name, paths in elsewhere.items()},
        handled=handled,
        handled_if_listed=handled_if_listed,
    )


# Language and version trees of a site.

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
