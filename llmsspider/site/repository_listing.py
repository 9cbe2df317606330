"""The files of a repository on GitHub or GitLab that are documentation, listed by its host's API without a token."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from llmsspider.errors import DiscoveryError
from llmsspider.site.discovered import Discovery, Fetch, FetchResult, Seed
from llmsspider.site.providers import INDEXES, Address, Repository

MAX_FILES = 5_000
"""Files of one repository that are pages."""
MAX_LISTINGS = 100
"""Requests for listings: folders of a path, further pages of a long folder."""
MAX_LISTING_BYTES = 16 * 1024 * 1024
"""The largest listing that is read, in bytes; GitHub cuts at 7 MB."""
MAX_REF_PARTS = 4
"""Parts of a path behind `tree/` that may be the name of a branch, which may hold slashes."""

FOLDERS = frozenset({"doc", "docs", "documentation"})
"""Folders of documentation, in any case of letters."""
MARKDOWN = ("md", "markdown", "mdx")
_NO_DOCUMENTATION = frozenset({"node_modules"})
_API_FILES = ("openapi", "swagger")
"""How the names of JSON and YAML files begin that are pages."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder of a listing, by its path; `key` names its own listing on GitHub."""

    path: str
    is_folder: bool
    key: str


class _Api:
    """Asks the API of a host, a bounded number of times; what it says instead of an answer is one line."""

    def __init__(self, fetch: Fetch, address: Address):
        self.address = address
        self.requests = 0
        self.was_cut = False
        self._fetch = fetch

    async def get(self, path: str = "") -> tuple[Any, Mapping[str, str]] | None:
        """Return what a path below the repository answers with, and the headers; None where there is nothing.

        Raises:
            DiscoveryError: it cannot be read.
        """
        self.requests += 1
        answer = await self._fetch(self.address.project + path, max_bytes=MAX_LISTING_BYTES)
        if answer.status in {404, 409, 410}:  # 409: the repository is empty
            return None
        if not answer.ok:
            raise DiscoveryError(f"{self.address.web}: {_refusal(answer)}")
        try:
            return json.loads(answer.text), answer.headers
        except (ValueError, RecursionError):
            raise DiscoveryError(f"{self.address.web}: {answer.url} did not answer with JSON") from None

    async def default_branch(self) -> str:
        """Return the name of the default branch.

        Raises:
            DiscoveryError: there is no such repository, or it is empty.
        """
        found = await self.get()
        if found is None:
            raise DiscoveryError(
                f"{self.address.web}: there is no such repository, or it is private: only public ones are read"
            )
        name = found[0].get("default_branch") if isinstance(found[0], dict) else None
        if not isinstance(name, str) or not name:
            raise DiscoveryError(f"{self.address.web}: the repository is empty")
        return name

    async def entries(
        self, ref: str, folder: _Entry | None = None, *, deep: bool = False
    ) -> list[_Entry] | None:
        """Return what a folder holds, the root without one; `deep`: what its folders hold too. None: no such ref."""
        above = ""
        if self.address.kind == "github":
            path = (
                f"/git/trees/{quote(ref if folder is None else folder.key, safe='')}" + "?recursive=1" * deep
            )
            above = f"{folder.path}/" if folder is not None else ""
        else:
            path = f"/repository/tree?ref={quote(ref, safe='')}&per_page=100" + "&recursive=true" * deep
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
            entries += _entries(listed, above)
            page = headers.get("x-next-page", "").strip()
            page = page if page.isdigit() else ""
        return entries


def _entries(listed: object, above: str) -> Iterator[_Entry]:
    for one in listed if isinstance(listed, list) else []:
        path, kind = (one.get("path"), one.get("type")) if isinstance(one, dict) else (None, None)
        is_link = kind == "blob" and one.get("mode") == "120000"
        if isinstance(path, str) and kind in {"blob", "tree"} and not is_link:
            yield _Entry(above + path, kind == "tree", str(one.get("sha", "")))


def _refusal(answer: FetchResult) -> str:
    """Say why a host did not answer."""
    left, reset = answer.headers.get("x-ratelimit-remaining"), answer.headers.get("x-ratelimit-reset", "")
    if answer.status == 429 or (answer.status == 403 and (left == "0" or "retry-after" in answer.headers)):
        is_time = reset.isascii() and reset.isdigit() and len(reset) < 12
        at = datetime.fromtimestamp(int(reset), UTC).strftime(" until %H:%M UTC") if is_time else ""
        return f"{urlsplit(answer.url).netloc} allows no more requests{at} (its rate limit); try again then"
    return f"{answer.url} cannot be read: {answer.message or f'HTTP status {answer.status}'}"


async def discover_repository(
    fetch: Fetch, address: Address, extensions: Iterable[str], *, note: Callable[[str], None]
) -> tuple[Repository, Discovery]:
    """List the documentation of a repository: the folder that is named, else its README and folder of documentation.

    Args:
        fetch: sends the requests to the API.
        address: what the user gave.
        extensions: of files that are pages besides Markdown, without a dot.
        note: gets one line for each thing found.

    Raises:
        DiscoveryError: one line: no such repository, ref or folder, an empty one, a rate limit.
    """
    api = _Api(fetch, address)
    ref, folder, root = await _resolve(api)
    endings = frozenset(extensions) | frozenset(MARKDOWN)
    listed = await _listing(api, ref, folder, root)
    paths = (entry.path for entry in listed if not entry.is_folder and _is_page(entry.path, endings))
    files = sorted(paths, key=_order)
    where = f"{address.web} at {ref}" + (f", folder {folder.path}" if folder is not None else "")
    if not files:
        example = Repository(address.kind, address.web, ref, ()).at("tree", "FOLDER")
        hint = f"; name a folder: {example}" if folder is None else ""
        raise DiscoveryError(f"{where}: no README and no documentation that can be read{hint}")
    repository = Repository(address.kind, address.web, ref, tuple(files[:MAX_FILES]))
    note(f"{where}: {len(files)} file{'s' * (len(files) != 1)} of documentation")
    return repository, _discovery(repository, api, address, len(files))


async def _resolve(api: _Api) -> tuple[str, _Entry | None, list[_Entry]]:
    """Return the ref that an address names, or the default branch, the folder, and what the root holds."""
    address, path = api.address, api.address.path
    if not path:
        ref = await api.default_branch()
        root = await api.entries(ref)
        if root is None:
            raise DiscoveryError(f"{address.web}: the repository is empty")
        return ref, None, root
    for number in range(1, min(len(path), MAX_REF_PARTS) + 1):
        ref = "/".join(path[:number])
        root = await api.entries(ref)
        if root is not None:
            return ref, await _folder(api, ref, path[number:], root), root
    await api.default_branch()  # says whether the repository is there
    raise DiscoveryError(f"{address.web}: there is no branch, tag or commit {path[0]!r}")


async def _folder(api: _Api, ref: str, path: tuple[str, ...], root: list[_Entry]) -> _Entry | None:
    """Go down to the folder that an address names; None for the root."""
    found, entries, above = None, root, ""
    for name in path:
        above = f"{above}/{name}" if above else name
        found = next((one for one in entries if one.is_folder and one.path == above), None)
        if found is None:
            raise DiscoveryError(f"{api.address.web}: there is no folder {above!r} at {ref}")
        if above != "/".join(path):
            entries = await api.entries(ref, found) or []
    return found


async def _listing(api: _Api, ref: str, folder: _Entry | None, root: list[_Entry]) -> list[_Entry]:
    if folder is not None:
        return await api.entries(ref, folder, deep=True) or []
    listed = [one for one in root if not one.is_folder and _name(one.path) == "readme"]
    for one in root:
        if one.is_folder and one.path.lower() in FOLDERS:
            listed += await api.entries(ref, one, deep=True) or []
    return listed


def _name(path: str) -> str:
    """The name of a file without folder and extension, in small letters."""
    return posixpath.splitext(posixpath.basename(path))[0].lower()


def _is_page(path: str, endings: frozenset[str]) -> bool:
    *folders, name = path.split("/")
    if any(folder.startswith(".") or folder in _NO_DOCUMENTATION for folder in folders):
        return False
    ending = posixpath.splitext(name)[1][1:].lower()
    if ending in {"json", "yaml", "yml"} and not _name(path).startswith(_API_FILES):
        return False
    return ending in endings


def _order(path: str) -> tuple[int, bool, list[str]]:
    """What stands for a folder comes before what it holds."""
    folders = path.lower().split("/")
    return len(folders) > 1, _name(path) not in INDEXES or len(folders) > 2, folders


def _discovery(repository: Repository, api: _Api, address: Address, found: int) -> Discovery:
    pages = [repository.at("blob", path) for path in repository.files]
    given = Repository(address.kind, address.web, "/".join(address.path), ()).at("tree").rstrip("/")
    start = FetchResult(
        given if address.path else address.web, pages[0], 200, {"content-type": "text/markdown"}
    )
    discovery = Discovery(start, repository.at("blob"), start_listed=True)
    discovery.discovered_file = repository.at("tree").rstrip("/")
    discovery.discovered_file_type = "repository"
    discovery.seeds = [Seed(page, "repository") for page in pages[1:]]
    discovery.requests = api.requests
    if found > len(pages):
        discovery.warnings.append(
            f"{address.web}: {found} files, the first {len(pages)} are read; name a folder"
        )
    if api.was_cut:
        discovery.warnings.append(
            f"{address.web}: its listing is cut, files may be missing; name a smaller folder"
        )
    return discovery
