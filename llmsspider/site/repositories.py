"""Repositories on GitHub and GitLab as documentation: addresses of files, what links mean, listing.

A page has the address at which its host shows the file; its text is the raw file.
"""

import contextlib
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, cast, get_args
from urllib.parse import quote, unquote, urljoin, urlsplit

from llmsspider.errors import DiscoveryError
from llmsspider.site.discovered import Discovery, Fetch, FetchResult, Seed
from llmsspider.site.witnesses import Witness, by_hashes
from llmsspider.web.outcomes import MISSING
from llmsspider.web.page_forms import MARKUP_TYPES
from llmsspider.web.urls import without_fragment

Kind = Literal["github", "gitlab", "off"]

HOSTS: Mapping[str, Kind] = {"github.com": "github", "gitlab.com": "gitlab"}
"""The hosts that are known without the setting `LLMS_REPOSITORY_HOSTS`."""

INDEXES = ("readme", "index")
"""Files that stand for their folder, without extension, in any case of letters."""
PICTURES = frozenset({"apng", "avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "svg", "webp"})
HOW_MORE = "with a token: GITHUB_TOKEN, GITLAB_TOKEN, or LLMS_HTTP_AUTH"
_PAGES_OF_HOST = (
    "about apps collections customer-stories enterprise events explore features groups help login"
    " marketplace notifications orgs pricing search settings site solutions sponsors topics"
    " trending users"
)
_NO_OWNERS = frozenset(_PAGES_OF_HOST.split())  # first parts of their paths


def parse_hosts(value: object) -> dict[str, Kind]:
    """Read the setting: a kind by host, as a dict or as JSON; added to `HOSTS`.

    `ValueError` is one line.
    """
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        raise ValueError(
            'a dict of kinds by host is accepted, such as {"git.example.com": "gitlab"}'
        )
    for name, kind in given.items():
        if kind not in get_args(Kind):
            raise ValueError(f"{name}={kind!r}: accepted are {', '.join(get_args(Kind))}")
    return {**HOSTS, **{str(name).lower(): cast("Kind", kind) for name, kind in given.items()}}


class Address(NamedTuple):
    """The address of a repository: `web` is its front page, `path` what follows `tree/`, a ref and
    maybe a folder.
    """

    kind: Kind
    web: str
    path: tuple[str, ...] = ()

    @property
    def project(self) -> str:
        """Where the API of the host has this repository."""
        parts = urlsplit(self.web)
        host = f"{parts.scheme}://{parts.netloc}"
        place = parts.path.strip("/")
        if self.kind == "gitlab":
            return f"{host}/api/v4/projects/{quote(place, safe='')}"
        api = "https://api.github.com" if parts.netloc == "github.com" else f"{host}/api/v3"
        return f"{api}/repos/{quote(place)}"


def repository_at(url: str, hosts: Mapping[str, Kind] = HOSTS) -> Address | None:
    """Return the repository that a URL is the address of, or a folder of it; None for any other
    page.

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
        place = segments[:end]
        rest = segments[end + 1 :]
    else:
        place = segments[:2]
        rest = segments[2:]
    if len(place) < 2 or (rest and (rest[0] != "tree" or len(rest) < 2)):
        return None
    place[-1] = place[-1].removesuffix(".git")
    return Address(kind, f"{parts.scheme}://{netloc}/{quote('/'.join(place))}", tuple(rest[1:]))


@dataclass(frozen=True)
class Repository:
    """A repository whose documentation is read: `web` is its front page, `ref` a branch, tag or
    commit.

    `files` are the paths of the pages, the start page's first; `by_api`: GitLab's API has them,
    which takes a token.
    """

    kind: Kind
    web: str
    ref: str
    files: tuple[str, ...]
    by_api: bool = False

    @cached_property
    def _names(self) -> dict[str, str]:
        names = {path: path for path in self.files}
        for path in self.files:
            stem = posixpath.splitext(path)[0]
            folder, _, name = stem.rpartition("/")
            names.setdefault(stem, path)
            if name.lower() in INDEXES:
                names.setdefault(folder, path)
        return names

    @classmethod
    def from_dict(cls, data: object) -> Self | None:
        """Return what `dataclasses.asdict` wrote, None for anything else."""
        with contextlib.suppress(TypeError, ValueError, KeyError):
            fields = cast("dict[str, Any]", data)
            return cls(**{**fields, "files": tuple(map(str, fields["files"]))})
        return None

    def at(
        self, view: Literal["blob", "tree", "raw"], path: str = "", ref: str | None = None
    ) -> str:
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
        path = self.path_of(url) or ""
        if self.by_api:
            file = f"/repository/files/{quote(path, safe='')}/raw?ref={quote(self.ref, safe='')}"
            return Address(self.kind, self.web).project + file
        return self.at("raw", path)

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
        ('https://github.com/o/r/blob/main/doc/guide/index.md#use',
        'https://github.com/o/r/blob/main/setup.py')
        """
        href = href.strip()
        parts = urlsplit(href)
        behind = f"#{parts.fragment}" if parts.fragment else ""
        if parts.scheme or href.startswith("//"):
            absolute = urljoin(page_url, href)
            page = self.page_of(without_fragment(absolute))
            return absolute if page is None else page + behind
        if not parts.path:
            return without_fragment(page_url) + behind
        here = self.path_of(page_url) or ""
        given = unquote(parts.path)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), given)).lstrip("/")
        if path.startswith(".."):
            return urljoin(page_url, href)
        path = "" if path == "." else path
        stem, ending = posixpath.splitext(path)
        named = self._names.get(path) or (
            self._names.get(stem) if ending in {".html", ".htm"} else None
        )
        if named is not None:
            return self.at("blob", named) + behind
        if ending[1:].lower() in PICTURES:
            return self.at("raw", path) + behind
        return self.at("tree" if given.endswith("/") or not ending else "blob", path) + behind


# The files of a repository that are documentation, listed by the API of its host.

MAX_FILES = 5_000  # files of one repository that are pages
MAX_LISTINGS = 100  # requests for listings: folders of a path, further pages of a long folder
# the largest listing that is read, in bytes; GitHub cuts at 7 MB
MAX_LISTING_BYTES = 16 * 1024 * 1024
# parts of a path behind `tree/` that may be the name of a branch, which may hold slashes
MAX_REF_PARTS = 4


class _Entry(NamedTuple):
    """A file or folder of a listing, by its path; `key` is the hash that Git has of what it holds,
    by which GitHub names the listing of a folder.
    """

    path: str
    is_folder: bool
    key: str


def _entry(row: Any, above: str) -> _Entry | None:
    """Return the file or folder of a row of a listing; None for links and submodules."""
    if not isinstance(row, dict) or row.get("mode") == "120000":
        return None
    name = row.get("path")
    kind = row.get("type")
    if not isinstance(name, str) or kind not in {"blob", "tree"}:
        return None
    return _Entry(above + name, kind == "tree", str(row.get("sha") or row.get("id") or ""))


class _Api:
    """Asks the API of a host, a bounded number of times; a `DiscoveryError` has what it says
    instead of an answer.
    """

    def __init__(self, fetch: Fetch, address: Address):
        self.address = address
        self.requests = 0
        self.was_cut = False
        self._fetch = fetch

    async def get(self, path: str = "") -> tuple[Any, Mapping[str, str]] | None:
        """Return what a path below the repository answers with, and the headers; None where there
        is nothing.
        """
        self.requests += 1
        answer = await self._fetch(self.address.project + path, max_bytes=MAX_LISTING_BYTES)
        if answer.status in {409, *MISSING}:  # 409: the repository is empty
            return None
        if not answer.ok:
            raise DiscoveryError(f"{self.address.web}: {_refusal(answer)}")
        try:
            return json.loads(answer.text), answer.headers
        except (ValueError, RecursionError):
            raise DiscoveryError(
                f"{self.address.web}: {answer.url} did not answer with JSON"
            ) from None

    async def default_branch(self) -> str:
        """Return the name of the default branch."""
        found = await self.get()
        if found is None:
            raise DiscoveryError(
                f"{self.address.web}: there is no such repository, or a private one, which is read"
                f" {HOW_MORE}"
            )
        name = found[0].get("default_branch") if isinstance(found[0], dict) else None
        if not isinstance(name, str) or not name:
            raise DiscoveryError(f"{self.address.web}: the repository is empty")
        return name

    async def entries(
        self, ref: str, folder: _Entry | None = None, *, deep: bool = False
    ) -> list[_Entry] | None:
        """Return what a folder holds, the root without one; `deep`: what its folders hold too.

        None: no such ref.
        """
        above = ""
        if self.address.kind == "github":
            above = f"{folder.path}/" if folder is not None else ""
            key = quote(ref if folder is None else folder.key, safe="")
            path = f"/git/trees/{key}" + "?recursive=1" * deep
        else:
            path = (
                f"/repository/tree?ref={quote(ref, safe='')}&per_page=100"
                + "&recursive=true" * deep
            )
            path += f"&path={quote(folder.path, safe='')}" if folder is not None else ""
        entries: list[_Entry] = []
        page = "1"
        while page:
            if page != "1" and self.requests >= MAX_LISTINGS:
                self.was_cut = True
                break
            found = await self.get(path + (f"&page={page}" if page != "1" else ""))
            if found is None:
                return None
            listed, headers = found
            if isinstance(listed, dict):
                self.was_cut = self.was_cut or bool(listed.get("truncated"))
                listed = listed.get("tree")
            rows = listed if isinstance(listed, list) else []
            entries += filter(None, (_entry(row, above) for row in rows))
            following = headers.get("x-next-page", "").strip()
            page = following if following.isdigit() else ""
        return entries


def _refusal(answer: FetchResult) -> str:
    left = answer.headers.get("x-ratelimit-remaining")
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.status == 429 or (
        answer.status == 403 and (left == "0" or "retry-after" in answer.headers)
    ):
        is_time = reset.isascii() and reset.isdigit() and len(reset) < 12
        at = datetime.fromtimestamp(int(reset), UTC).strftime(" until %H:%M UTC") if is_time else ""
        return (
            f"{urlsplit(answer.url).netloc} allows no more requests{at} (its rate limit); more"
            f" {HOW_MORE}"
        )
    return f"{answer.url} cannot be read: {answer.message or f'HTTP status {answer.status}'}"


async def discover_repository(
    fetch: Fetch,
    address: Address,
    extensions: Iterable[str],
    note: Callable[[str], None],
    by_api: bool = False,
) -> tuple[Repository, Discovery]:
    """List the documentation of a repository: the folder that is named, else its README and folder
    of documentation.

    `extensions`, without a dot, are those of pages besides Markdown; `note` gets one line for each
    thing found. Raises `DiscoveryError`: no such repository, ref or folder, an empty one, a rate
    limit.
    """
    api = _Api(fetch, address)
    ref, folder, listed = await _listing(api)
    endings = frozenset(extensions) | MARKUP_TYPES.keys() | {"md", "markdown", "mdx"}
    hashes = {
        entry.path: entry.key
        for entry in listed
        if not entry.is_folder and _is_page(entry.path, endings)
    }
    files = sorted(hashes, key=_order)
    where = f"{address.web} at {ref}" + (f", folder {folder.path}" if folder is not None else "")
    if not files:
        example = Repository(address.kind, address.web, ref, ()).at("tree", "FOLDER")
        hint = f"; name a folder: {example}" if folder is None else ""
        raise DiscoveryError(f"{where}: no README and no documentation that can be read{hint}")
    repository = Repository(address.kind, address.web, ref, tuple(files[:MAX_FILES]), by_api)
    note(f"{where}: {len(files)} file{'s' * (len(files) != 1)} of documentation")
    first, *pages = [repository.at("blob", path) for path in repository.files]
    given = Repository(address.kind, address.web, "/".join(address.path), ()).at("tree").rstrip("/")
    named = given if address.path else address.web
    start = FetchResult(named, first, 200, {"content-type": "text/markdown"})
    found = Discovery(start, repository.at("blob"), start_listed=True, requests=api.requests)
    found.discovered_file = repository.at("tree").rstrip("/")
    found.discovered_file_type = "repository"
    found.seeds = [Seed(page, "repository") for page in pages]
    found.witnesses = _witnesses(repository, hashes)
    if len(files) > MAX_FILES:
        why = f"{len(files)} files, the first {MAX_FILES} are read; name a folder"
        found.warnings.append(f"{address.web}: {why}")
    if api.was_cut:
        why = "its listing is cut, files may be missing; name a smaller folder"
        found.warnings.append(f"{address.web}: {why}")
    return repository, found


def _witnesses(repository: Repository, hashes: Mapping[str, str]) -> list[Witness]:
    """Return what the hashes of files, by path, say of their pages, where the listing has any."""
    said = {repository.at("blob", path): hashes[path] for path in repository.files if hashes[path]}
    return [by_hashes(said)] if said else []


async def _listing(api: _Api) -> tuple[str, _Entry | None, list[_Entry]]:
    """Return the ref and folder that an address names, and what the folder holds; for the root its
    documentation.
    """
    ref, path, entries = await _ref(api)
    folder = None
    for number in range(1, len(path) + 1):
        above = "/".join(path[:number])
        folder = next((one for one in entries if one.is_folder and one.path == above), None)
        if folder is None:
            raise DiscoveryError(f"{api.address.web}: there is no folder {above!r} at {ref}")
        entries = await api.entries(ref, folder, deep=number == len(path)) or []
    if folder is not None:
        return ref, folder, entries
    listed = [one for one in entries if not one.is_folder and _name(one.path) == "readme"]
    for one in entries:
        if one.is_folder and one.path.lower() in {"doc", "docs", "documentation"}:
            listed += await api.entries(ref, one, deep=True) or []
    return ref, None, listed


async def _ref(api: _Api) -> tuple[str, tuple[str, ...], list[_Entry]]:
    """Return the ref that an address names, or the default branch, the path below it, and what the
    root holds.
    """
    path = api.address.path
    for number in range(1, min(len(path), MAX_REF_PARTS) + 1):
        ref = "/".join(path[:number])
        root = await api.entries(ref)
        if root is not None:
            return ref, path[number:], root
    ref = await api.default_branch()  # says whether the repository is there
    if path:
        raise DiscoveryError(f"{api.address.web}: there is no branch, tag or commit {path[0]!r}")
    root = await api.entries(ref)
    if root is None:
        raise DiscoveryError(f"{api.address.web}: the repository is empty")
    return ref, (), root


def _name(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0].lower()


def _is_page(path: str, endings: frozenset[str]) -> bool:
    *folders, name = path.split("/")
    if any(folder.startswith(".") or folder == "node_modules" for folder in folders):
        return False
    ending = posixpath.splitext(name)[1][1:].lower()
    if ending in {"json", "yaml", "yml"} and not _name(path).startswith(("openapi", "swagger")):
        return False
    return ending in endings


def _order(path: str) -> tuple[int, bool, list[str]]:
    folders = path.lower().split("/")
    return len(folders) > 1, _name(path) not in INDEXES or len(folders) > 2, folders
