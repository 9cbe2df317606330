"""The Markdown tree: a folder that holds one file for each stored page and is kept in step with the store."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import orjson

from llmsspider.errors import MirrorError
from llmsspider.output.mirror_files import (
    CONTENTS,
    ContentsLine,
    LinkMap,
    MirrorNames,
    contents,
    front_matter,
    page_text,
)
from llmsspider.store import OUTLINE, PageRecord, SourceRecord, Store
from llmsspider.store.database import STORE_FOLDER, readable_name, source_slug
from llmsspider.web.urls import host, identity

# The manifest of a tree: which files are ours, so that no other file is ever replaced or removed.

MANIFEST = ".llmsspider.json"
"""No page gets this name: a leading dot is encoded (`mirrornames`)."""

PART = ".llmsspider.part"
"""A file that is being written."""

VERSION = 1
Kind = Literal["tree", "skill"]
SKILL_HOST = "(skill)"
"""What stands for the main host in the manifest of a skill (`output.skill`)."""

SOURCE_PLACEHOLDER = "%(source)s"


@dataclass(slots=True)
class FileEntry:
    """One file: its name, the digest of what decides its text, and of the text itself (`fetched_at` aside)."""

    file: str
    key: str = ""
    digest: str = ""
    size: int = -1


@dataclass(slots=True)
class Manifest:
    """The files of a tree by page identity, of a skill by their names."""

    source: str
    main_host: str
    entries: dict[str, FileEntry] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Replace the manifest in `folder`; raises `OSError`."""
        pages = {
            identity: [entry.file, entry.key, entry.digest, entry.size]
            for identity, entry in self.entries.items()
        }
        body = {"version": VERSION, "source": self.source, "main_host": self.main_host, "pages": pages}
        replace_file(folder / MANIFEST, orjson.dumps(body))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of `folder`, None where there is none.

    Raises:
        MirrorError: it cannot be read, is of a newer version, or names files outside the folder.
    """
    path = folder / MANIFEST
    try:
        body = orjson.loads(path.read_bytes())
        entries = {identity: FileEntry(*values) for identity, values in body["pages"].items()}
        manifest = Manifest(str(body["source"]), str(body["main_host"]), entries)
        usable = body["version"] == VERSION
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MirrorError(f"{path} cannot be read ({error}); choose another folder") from None
    if not usable or not all(_inside(entry.file) for entry in entries.values()):
        raise MirrorError(f"{path} is not of this version of llmsspider; choose another folder")
    return manifest


def _inside(name: object) -> bool:
    if not isinstance(name, str) or not name.endswith(".md"):
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and not any(part.startswith(".") for part in path.parts)


def path_for(setting: str, source: str) -> Path:
    """The path that a setting means for a source: `%(source)s` in it becomes a safe name that no other source has."""
    return Path(setting.replace(SOURCE_PLACEHOLDER, source_slug(source))).expanduser()


def folder_for(setting: str, source: str) -> Path:
    """The folder that `LLMS_MIRROR_DIR` or `LLMS_SKILL_DIR` means for a source: `%(source)s` is a readable name of it.

    With the hash that keeps names apart where there is a folder of that name, or another source has the readable one.
    """
    unique = path_for(setting, source)
    if SOURCE_PLACEHOLDER not in setting or unique.exists():
        return unique
    readable = Path(setting.replace(SOURCE_PLACEHOLDER, readable_name(source))).expanduser()
    try:
        manifest = read_manifest(readable)
        is_free = manifest is not None or not readable.exists() or not _holds_other_files(readable)
    except (MirrorError, OSError):
        return unique
    return readable if is_free and (manifest is None or manifest.source == source) else unique


def folder_problem(folder: Path, source: str, kind: Kind = "tree") -> str | None:
    """Return in one line why the tree, or the skill, of `source` cannot be kept in `folder`, or None."""
    try:
        if folder.exists() and not folder.is_dir():
            return f"{folder} is a file; a folder is needed"
        manifest = read_manifest(folder)
        if manifest is None and folder.exists() and _holds_other_files(folder):
            return f"{folder} holds files that are not from llmsspider; choose an empty or a new folder"
    except (MirrorError, OSError) as error:
        return f"{folder}: {error.strerror}" if isinstance(error, OSError) else str(error)
    if manifest is None:
        return None
    if manifest.source != source:
        setting = "LLMS_MIRROR_DIR" if kind == "tree" else "LLMS_SKILL_DIR"
        return (
            f"{folder} holds the source {manifest.source!r}; choose another folder for {source!r}, or put "
            f"{SOURCE_PLACEHOLDER} into {setting}"
        )
    held = "tree" if manifest.main_host != SKILL_HOST else "skill"
    what = {"tree": "a tree of Markdown", "skill": "a skill"}[held]
    return f"{folder} holds {what} of this source; choose another folder" if held != kind else None


def _holds_other_files(folder: Path) -> bool:
    return any(path.name not in {STORE_FOLDER, PART} for path in folder.iterdir())


def replace_file(path: Path, body: bytes) -> None:
    """Write `body` beside `path` and put it in its place in one step; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(PART)
    part.unlink(missing_ok=True)
    with part.open("xb") as file:  # a new file: a link that somebody laid there is not followed
        file.write(body)
    part.replace(path)


# Bringing a tree in step with the store: what differs is replaced, what is gone removed, the rest not touched.


@dataclass(slots=True)
class MirrorReport:
    """What was done: names of files relative to `folder`, and how many were left as they were."""

    folder: Path
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    untouched: int = 0

    def describe(self) -> str:
        """One line for a log or a terminal."""
        return (
            f"{self.folder}: {len(self.written)} files written, {self.untouched} untouched, "
            f"{len(self.removed)} removed"
        )


def sync(store: Store, folder: Path) -> MirrorReport:
    """Make `folder` hold one file for each living page of the store; index.md counts in no list.

    The store is what decides: a page that a failed or partial crawl did not reach is in it, and so stays here.
    A source without pages leaves the folder alone. Memory: the names of all pages, one page's text.

    Raises:
        MirrorError: the folder belongs to something else, or cannot be written; one line.
    """
    return sync_folder(store, folder, "tree", lambda source: _Tree(store, source, folder).run())


def sync_folder(
    store: Store, folder: Path, kind: Kind, run: Callable[[SourceRecord], MirrorReport]
) -> MirrorReport:
    """Update a folder from a store by `run`; for a source without pages the folder stays as it is.

    Raises:
        MirrorError: the folder belongs to something else, or cannot be written; one line.
    """
    source = store.source_record()
    if source is None or store.count_pages() == 0:
        return MirrorReport(folder)
    problem = folder_problem(folder, source.name, kind)
    if problem is not None:
        raise MirrorError(problem)
    try:
        return run(source)
    except OSError as error:
        raise MirrorError(f"{error.filename or folder}: {error.strerror or error}") from error


class KeptFolder:
    """One pass over a folder that is kept in step: its manifest, and what was done."""

    def __init__(self, store: Store, source: SourceRecord, folder: Path, main_host: str):
        self.store, self.source, self.folder = store, source, folder
        self.report = MirrorReport(folder)
        self.manifest = read_manifest(folder) or Manifest(source.name, main_host)
        self.entries = self.manifest.entries

    def begin(self) -> None:
        """Write the manifest before the first file, so that a killed run leaves no unknown ones."""
        self.manifest.write(self.folder)

    def is_there(self, entry: FileEntry) -> bool:
        """Return whether a file is as it was written, by its size."""
        try:
            return (self.folder / entry.file).stat().st_size == entry.size
        except OSError:
            return False

    def put(self, entry: FileEntry, digest: str, text: Callable[[], str]) -> None:
        """Write a file, unless it has the digest."""
        if entry.digest == digest and self.is_there(entry):
            self.report.untouched += 1
            return
        body = text().encode("utf-8", "replace")
        replace_file(self.folder / entry.file, body)
        entry.digest, entry.size = digest, len(body)
        self.report.written.append(entry.file)

    def end(self, living: Container[str]) -> MirrorReport:
        """Remove the files of entries that are not among the living, and folders that are empty then."""
        for key in [key for key in self.entries if key not in living]:
            file = self.entries.pop(key).file
            path = self.folder / file
            path.unlink(missing_ok=True)
            self.report.removed.append(file)
            for parent in path.parents:
                if parent == self.folder:
                    break
                with contextlib.suppress(OSError):  # it holds other files
                    parent.rmdir()
        self.manifest.write(self.folder)
        return self.report


class _Tree(KeptFolder):
    """One pass over a tree."""

    def __init__(self, store: Store, source: SourceRecord, folder: Path):
        super().__init__(store, source, folder, _main_host(store, source.url))
        self.links = LinkMap(store.aliases())
        self.lines: list[ContentsLine] = []

    def run(self) -> MirrorReport:
        """Name every page, write what differs, remove what is gone."""
        living = self._name_pages()
        self.begin()
        # what links can lead to: while it stays, unchanged pages need no second look
        shape = digest("\n".join(sorted(line.file for line in self.lines)))
        for page in self.store.iter_pages(parts=OUTLINE):
            self._write(page.record, shape)
        table = contents(self.lines, self.source.url, self.source.introduction).encode("utf-8", "replace")
        path = self.folder / CONTENTS
        if not path.exists() or path.read_bytes() != table:
            replace_file(path, table)
        return self.end(living)

    def _name_pages(self) -> set[str]:
        """Give every page its file; returns the identities of the pages."""
        names = MirrorNames(
            self.manifest.main_host,
            {key: entry.file for key, entry in self.entries.items()},
            occupied=lambda name: (self.folder / name).exists(),
        )
        living = set()
        for page in self.store.iter_pages(parts=OUTLINE):
            record = page.record
            key, file, entry = identity(record.url), names.name(record.url), record.llms
            living.add(key)
            self.entries.setdefault(key, FileEntry(file))
            self.links.add(record.url, record.fetched_url, file)
            title = (entry.title if entry else None) or record.title or file.removesuffix(".md")
            description = (entry.description if entry else None) or record.description
            section, order = (entry.section, entry.order) if entry else (None, None)
            self.lines.append(ContentsLine(file, title, description, section, order))
        return living

    def _write(self, outline: PageRecord, shape: str) -> None:
        """Bring the file of a page in step; its text is read only where the file may have to change."""
        entry = self.entries.setdefault(identity(outline.url), FileEntry(""))
        undated = front_matter(outline, self.source.name, fetched_at="")
        key = digest(f"{undated}{shape}")
        if entry.key == key and self.is_there(entry):
            self.report.untouched += 1
            return
        record = self.store.load_page(outline.key)
        if record is None:  # deleted since
            return
        text = page_text(record, entry.file, self.links.file)
        head = front_matter(record, self.source.name, fetched_at=record.fetched_at)
        self.put(entry, digest(undated + text), lambda: head + text)
        entry.key = key


def _main_host(store: Store, url: str) -> str:
    """The host whose pages lie at the top: that of the source, unless all its pages lie elsewhere."""
    hosts = Counter(host(page.record.url) for page in store.iter_pages(parts=OUTLINE))
    return host(url) if host(url) in hosts else hosts.most_common(1)[0][0]


def digest(text: str) -> str:
    """The digest of a text, as the manifest has it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
