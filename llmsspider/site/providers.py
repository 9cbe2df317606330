"""Pages whose Markdown lies at another address by rule: those of repositories, and what a user's providers know.

A page of a repository on GitHub or GitLab has the address at which its host shows the file; its text is the raw file.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, cast, get_args
from urllib.parse import quote, unquote, urljoin, urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import find
from llmsspider.web.urls import without_fragment

# Providers: sites whose pages have a Markdown source at another address, known by the page's URL alone.
# Register your own with the setting `LLMS_PAGE_PROVIDERS` (docs/how-to/page-spider.md).

MARKDOWN_FILE = re.compile(r"\.(?:md|mdx|markdown)\Z", re.IGNORECASE)

READMES = ("README.md", "readme.md", *(f"{folder}/README.md" for folder in ("docs", ".github")))
"""Where a GitHub repository can keep the README that its front page shows."""


class Source(NamedTuple):
    """Where the Markdown of a page is, and the URL its relative links are taken from."""

    url: str
    base: str


class Provider(Protocol):
    """Knows one kind of site. An instance is made without arguments, once a crawl."""

    def sources(self, url: str) -> Sequence[Source]:
        """Return where the Markdown of the page may be, best first; nothing for a page of another site."""
        ...

    def markdown(self, text: str) -> str:
        """Return the Markdown of what a source answered with."""
        ...


def load_providers(paths: Iterable[str]) -> list[Provider]:
    """Return an instance of each class named in `LLMS_PAGE_PROVIDERS`.

    Raises:
        ArgumentsError: with one line for each path that is not that of a provider.
    """
    found: list[Provider] = []
    problems: list[str] = []
    for path in map(str.strip, paths):
        try:
            made: Any = find(path)
            provider = made()
            if not callable(provider.sources) or not callable(provider.markdown):
                raise TypeError("it lacks a method")
            found.append(provider)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            problems.append(
                f"setting LLMS_PAGE_PROVIDERS={path!r}: the path of a provider class is accepted ({error})"
            )
    if problems:
        raise ArgumentsError(problems)
    return found


class GitHub:
    """Front pages of repositories and folders (their README) and `blob` pages of Markdown files."""

    def sources(self, url: str) -> Sequence[Source]:
        """Return the raw files.

        >>> GitHub().sources("https://github.com/o/r/blob/main/guide/a.md")[0].url
        'https://raw.githubusercontent.com/o/r/main/guide/a.md'
        """
        parts = urlsplit(url)
        segments = [segment for segment in parts.path.split("/") if segment]
        if parts.hostname not in {"github.com", "www.github.com"} or len(segments) < 2:
            return ()
        owner, repository, *rest = segments
        place = f"{owner}/{repository.removesuffix('.git')}"
        if not rest:
            return tuple(self._source(place, "HEAD", name) for name in READMES)
        kind, *path = rest
        if kind == "tree" and path:
            names = READMES if len(path) == 1 else READMES[:2]
            return tuple(self._source(place, path[0], "/".join([*path[1:], name])) for name in names)
        if kind == "blob" and len(path) > 1 and MARKDOWN_FILE.search(unquote(path[-1])):
            return (self._source(place, path[0], "/".join(path[1:])),)
        return ()

    def markdown(self, text: str) -> str:
        """Return the file as it is."""
        return text

    def _source(self, place: str, ref: str, path: str) -> Source:
        return Source(
            f"https://raw.githubusercontent.com/{place}/{ref}/{path}",
            f"https://github.com/{place}/blob/{ref}/{path}",
        )


# Addresses of repositories: which page shows a file, where it is raw, what links mean.

Kind = Literal["github", "gitlab", "off"]

HOSTS: Mapping[str, Kind] = {"github.com": "github", "gitlab.com": "gitlab"}
"""The hosts that are known without the setting `LLMS_REPOSITORY_HOSTS`."""

INDEXES = ("readme", "index")
"""Files that stand for their folder, without extension, in any case of letters."""
PICTURES = frozenset({"apng", "avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "svg", "webp"})
_NO_OWNERS = frozenset(
    " ".join(
        [
            "about apps collections customer-stories enterprise events explore features groups help login marketplace",
            "notifications orgs pricing search settings site solutions sponsors topics trending users",
        ]
    ).split()
)
"""First parts of paths that are pages of the host itself."""


def parse_hosts(value: object) -> dict[str, Kind]:
    """Read the setting: a kind by host, as a dict or as JSON; added to `HOSTS`.

    Raises:
        ValueError: one line that says what is wrong.
    """
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        raise ValueError('a dict of kinds by host is accepted, such as {"git.example.com": "gitlab"}')
    for name, kind in given.items():
        if kind not in get_args(Kind):
            raise ValueError(f"{name}={kind!r}: accepted are {', '.join(get_args(Kind))}")
    return {**HOSTS, **{str(name).lower(): cast("Kind", kind) for name, kind in given.items()}}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a repository: `web` is its front page, `path` what follows `tree/`, a ref and maybe a folder."""

    kind: Kind
    web: str
    path: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Owner and name, for GitLab with its groups."""
        return urlsplit(self.web).path.strip("/")

    @property
    def api(self) -> str:
        """Where the API of the host begins."""
        parts = urlsplit(self.web)
        if parts.netloc == "github.com":
            return "https://api.github.com/"
        return f"{parts.scheme}://{parts.netloc}/api/{'v3' if self.kind == 'github' else 'v4'}/"

    @property
    def project(self) -> str:
        """Where the API has this repository."""
        if self.kind == "github":
            return f"{self.api}repos/{quote(self.place)}"
        return f"{self.api}projects/{quote(self.place, safe='')}"


def repository_at(url: str, hosts: Mapping[str, Kind] = HOSTS) -> Address | None:
    """Return the repository that a URL is the address of, or a folder of it; None for any other page.

    >>> repository_at("https://github.com/o/r/tree/main/docs")
    Address(kind='github', web='https://github.com/o/r', path=('main', 'docs'))
    >>> repository_at("https://gitlab.com/group/sub/r/-/tree/v1").web, repository_at("https://github.com/o/r/issues")
    ('https://gitlab.com/group/sub/r', None)
    """
    parts = urlsplit(url)
    netloc = parts.netloc.lower().rpartition("@")[2].removeprefix("www.")
    kind = hosts.get(netloc, "off")
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    if kind == "off" or len(segments) < 2 or segments[0].lower() in _NO_OWNERS:
        return None
    if kind == "gitlab":
        end = segments.index("-") if "-" in segments else len(segments)
        place, rest = segments[:end], segments[end + 1 :]
    else:
        place, rest = segments[:2], segments[2:]
    if len(place) < 2 or (rest and (rest[0] != "tree" or len(rest) < 2)):
        return None
    place[-1] = place[-1].removesuffix(".git")
    return Address(kind, f"{parts.scheme}://{netloc}/{quote('/'.join(place))}", tuple(rest[1:]))


@dataclass(frozen=True)
class Repository:
    """A repository whose documentation is read: `web` is its front page, `ref` a branch, tag or commit.

    `files` are the paths of the pages, the first one is that of the start page.
    """

    kind: Kind
    web: str
    ref: str
    files: tuple[str, ...]
    _names: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Know the pages by what links may call them."""
        for path in self.files:
            self._names[path] = path
        for path in self.files:
            stem = posixpath.splitext(path)[0]
            folder, _, name = stem.rpartition("/")
            self._names.setdefault(stem, path)
            if name.lower() in INDEXES:
                self._names.setdefault(folder, path)

    @classmethod
    def from_dict(cls, data: object) -> Repository | None:
        """Return what `as_dict` wrote, None for anything else."""
        with contextlib.suppress(TypeError, ValueError, KeyError):
            fields = cast("dict[str, Any]", data)
            return cls(fields["kind"], fields["web"], fields["ref"], tuple(map(str, fields["files"])))
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return what the store keeps."""
        return {"kind": self.kind, "web": self.web, "ref": self.ref, "files": list(self.files)}

    def at(self, view: Literal["blob", "tree", "raw"], path: str = "", ref: str | None = None) -> str:
        """Return the address of a file or folder: as the host shows it, or as it is."""
        ref = quote(self.ref if ref is None else ref)
        if view == "raw" and urlsplit(self.web).netloc == "github.com":
            return f"https://raw.githubusercontent.com{urlsplit(self.web).path}/{ref}/{quote(path)}"
        return f"{self.web}/{'-/' if self.kind == 'gitlab' else ''}{view}/{ref}/{quote(path)}"

    def path_of(self, url: str) -> str | None:
        """Return the path of the file that a URL shows or holds, None for any other URL."""
        url = without_fragment(url).partition("?")[0]
        for ref in (self.ref, "HEAD"):
            for root in (self.at("blob", ref=ref), self.at("raw", ref=ref)):
                if url.startswith(root):
                    return unquote(url[len(root) :])
        return None

    def has_page(self, url: str) -> bool:
        """Return whether a URL is the address of a file of the repository."""
        return url.startswith(self.at("blob"))

    def file_of(self, url: str) -> str:
        """Return where the text of a page is."""
        return self.at("raw", self.path_of(url) or "")

    def page_of(self, url: str) -> str | None:
        """Return the page of a file by any of its addresses, None for another URL."""
        if url.rstrip("/") == self.web and (readme := self._names.get("")) is not None:
            return self.at("blob", readme)
        path = self.path_of(url)
        return None if path is None else self.at("blob", path)

    def join(self, href: str, page_url: str) -> str:
        """Return what an href of a file means: a page, or what the host shows in its place.

        >>> at = Repository("github", "https://github.com/o/r", "main", ("doc/a.md", "doc/guide/index.md"))
        >>> at.join("guide/#use", at.at("blob", "doc/a.md")), at.join("/setup.py", at.at("blob", "doc/a.md"))
        ('https://github.com/o/r/blob/main/doc/guide/index.md#use', 'https://github.com/o/r/blob/main/setup.py')
        """
        href = href.strip()
        parts = urlsplit(href)
        if parts.scheme or href.startswith("//"):
            absolute = urljoin(page_url, href)
            page = self.page_of(without_fragment(absolute))
            return absolute if page is None else page + (f"#{parts.fragment}" if parts.fragment else "")
        behind = f"#{parts.fragment}" if parts.fragment else ""
        if not parts.path:
            return without_fragment(page_url) + behind
        here = self.path_of(page_url) or ""
        given = unquote(parts.path)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), given)).lstrip("/")
        if path.startswith(".."):
            return urljoin(page_url, href)
        return self._target("" if path == "." else path, is_folder=given.endswith("/")) + behind

    def _target(self, path: str, *, is_folder: bool) -> str:
        stem, ending = posixpath.splitext(path)
        named = self._names.get(path) or (self._names.get(stem) if ending in {".html", ".htm"} else None)
        if named is not None:
            return self.at("blob", named)
        if ending[1:].lower() in PICTURES:
            return self.at("raw", path)
        return self.at("tree" if is_folder or not ending else "blob", path)
