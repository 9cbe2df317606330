"""Folders that are kept in step with the store: a Markdown tree of one file for each page, or a
skill for agents.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import astuple, dataclass, field
from errno import ELOOP
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

import orjson

from llmsspider.errors import MirrorError
from llmsspider.items import content_hash as sha256
from llmsspider.output import mirror_files
from llmsspider.output.exports import page_text
from llmsspider.store import OUTLINE, PageRecord, Reading, SourceRecord, Store
from llmsspider.store.database import STORE_FOLDER, readable_name, source_slug
from llmsspider.web.addresses import FILE
from llmsspider.web.urls import directory, host

# The manifest of a tree: which files are ours, so that no other file is ever replaced or removed.

MANIFEST = ".llmsspider.json"
PART = ".llmsspider.part"
"""The manifest, and a file that is being written. No page gets such a name: a leading dot is
encoded.
"""

VERSION = 1
Kind = Literal["tree", "skill"]
SKILL_HOST = "(skill)"
"""What stands for the main host in the manifest of a skill."""

SOURCE_PLACEHOLDER = "%(source)s"
SKILL = "SKILL.md"

MAX_REFERENCE_TOKENS = 10_000
"""A reference of more is parted; a page of more has one of its own."""


@dataclass(slots=True)
class FileEntry:
    """One file: its name, the digest of what decides its text, and of the text itself (`fetched_at`
    aside).
    """

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
        pages = {identity: astuple(entry) for identity, entry in self.entries.items()}
        body = {
            "version": VERSION,
            "source": self.source,
            "main_host": self.main_host,
            "pages": pages,
        }
        replace_file(folder, MANIFEST, orjson.dumps(body))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of `folder`, None where there is none.

    Raises `MirrorError` for one that cannot be read, is of a newer version, or names files outside
    the folder.
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
    if not usable or not all(_is_ours(str(entry.file)) for entry in entries.values()):
        raise MirrorError(f"{path} is not of this version of llmsspider; choose another folder")
    return manifest


def _is_ours(file: str) -> bool:
    """Say whether a name may be that of a file of a tree or a skill: below its folder, no hidden
    one.
    """
    path = PurePosixPath(file)
    is_page = path.suffix == ".md" or path.parts[:1] == ("assets",)
    return is_page and not path.root and not any(part[0] == "." for part in path.parts)


def path_for(setting: str, source: str, is_of_another: Callable[[Path], object]) -> Path:
    """The path that a setting means for a source: `%(source)s` in it is a readable name of it.

    With the hash that keeps names apart where that path is of another source, or one with the hash
    is there.
    """
    unique = Path(setting.replace(SOURCE_PLACEHOLDER, source_slug(source))).expanduser()
    if SOURCE_PLACEHOLDER not in setting or unique.exists():
        return unique
    readable = Path(setting.replace(SOURCE_PLACEHOLDER, readable_name(source))).expanduser()
    return unique if is_of_another(readable) else readable


def folder_for(setting: str, source: str) -> Path:
    """The folder that `LLMS_MIRROR_DIR` or `LLMS_SKILL_DIR` means for a source; see `path_for`."""
    return path_for(setting, source, lambda folder: folder_problem(folder, source, None))


def folder_problem(folder: Path, source: str, kind: Kind | None = "tree") -> str | None:
    """Return in one line why the tree, or the skill, of `source` cannot be kept in `folder`, or
    None.
    """
    try:
        if folder.exists() and not folder.is_dir():
            return f"{folder} is a file; a folder is needed"
        manifest = read_manifest(folder)
        if manifest is None:
            others = folder.iterdir() if folder.exists() else ()
            if all(path.name in {STORE_FOLDER, PART} for path in others):
                return None
            return (
                f"{folder} holds files that are not from llmsspider; choose an empty or a new"
                " folder"
            )
    except (MirrorError, OSError) as error:
        return f"{folder}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return _other_use(manifest, folder, source, kind)


def _other_use(manifest: Manifest, folder: Path, source: str, kind: Kind | None) -> str | None:
    """Return in one line what else a folder holds, None where it is the one that is wanted."""
    if manifest.source != source:
        setting = "LLMS_SKILL_DIR" if kind == "skill" else "LLMS_MIRROR_DIR"
        other = f"choose another folder for {source!r}, or put {SOURCE_PLACEHOLDER} into {setting}"
        return f"{folder} holds the source {manifest.source!r}; {other}"
    held: Kind = "skill" if manifest.main_host == SKILL_HOST else "tree"
    if kind in {None, held}:
        return None
    what = "a skill" if held == "skill" else "a tree of Markdown"
    return f"{folder} holds {what} of this source; choose another folder"


def replace_file(folder: Path, name: str, body: bytes) -> None:
    """Write a file below `folder` beside its place and put it there in one step; folders are made.

    Raises `OSError`, also where one of the folders between is a symbolic link.
    """
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not is_below(folder, path):
        raise OSError(ELOOP, "a symbolic link leads elsewhere; remove it", str(path.parent))
    part = path.with_name(PART)
    part.unlink(missing_ok=True)
    with part.open("xb") as file:  # a new file: a link that somebody laid there is not followed
        file.write(body)
    part.replace(path)


def is_below(folder: Path, path: Path) -> bool:
    """Return whether a file lies where its path says, with no symbolic link on the way from
    `folder`.
    """
    way = path.parent.relative_to(folder)
    return path.parent.resolve() == folder.resolve() / way


# Bringing a tree in step with the store: what differs is replaced, what is gone removed, the rest
# not touched.


@dataclass(slots=True)
class MirrorReport:
    """What was done: names of files relative to `folder`, and how many were left as they were."""

    folder: Path
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    untouched: int = 0

    def describe(self) -> str:
        """One line for a log or a terminal."""
        written = len(self.written)
        removed = len(self.removed)
        return (
            f"{self.folder}: {written} files written, {self.untouched} untouched, {removed} removed"
        )


def sync(store: Store, folder: Path) -> MirrorReport:
    """Make `folder` hold one file for each living page of the store; index.md counts in no list.

    A source without pages leaves the folder alone. Raises `MirrorError`, one line, when the folder
    belongs to something else or cannot be written.
    """
    return _synced(store, folder, "tree", _update_tree)


def sync_skill(store: Store, folder: Path, *, budget: int | None = None) -> MirrorReport:
    """Make `folder` the skill of the source, as `sync` does; unchanged files are not touched.

    `budget` are the tokens of all references; for the pages beyond only the address is written.
    """
    return _synced(store, folder, "skill", lambda kept: _update_skill(kept, budget))


def _synced(
    store: Store, folder: Path, kind: Kind, update: Callable[[_Folder], None]
) -> MirrorReport:
    source = store.source_record()
    if source is None or store.count_pages() == 0:
        return MirrorReport(folder)
    if problem := folder_problem(folder, source.name, kind):
        raise MirrorError(problem)
    try:
        kept = _Folder(store, source, folder, kind)
        update(kept)
        kept.manifest.write(folder)
    except OSError as error:
        raise MirrorError(f"{error.filename or folder}: {error.strerror or error}") from error
    return kept.report


class _Folder:
    """One pass over a folder that is kept in step: its manifest, and what was done."""

    def __init__(self, store: Store, source: SourceRecord, folder: Path, kind: Kind):
        self.store = store
        self.source = source
        self.folder = folder
        self.report = MirrorReport(folder)
        main_host = SKILL_HOST
        # the host of the source lies at the top, unless all its pages lie elsewhere
        if kind == "tree":
            hosts = Counter(host(page.record.url) for page in store.iter_pages(parts=OUTLINE))
            main_host = (
                host(source.url) if host(source.url) in hosts else hosts.most_common(1)[0][0]
            )
            main_host += directory(source.url) if source.url.startswith(FILE) else ""
        self.manifest = read_manifest(folder) or Manifest(source.name, main_host)
        self.entries = self.manifest.entries

    def is_there(self, entry: FileEntry) -> bool:
        """Return whether a file is as it was written, by its size."""
        with contextlib.suppress(OSError):
            return (self.folder / entry.file).stat().st_size == entry.size
        return False

    def put(self, entry: FileEntry, digest: str, text: str) -> None:
        """Write a file, unless it has the digest."""
        if entry.digest == digest and self.is_there(entry):
            self.report.untouched += 1
            return
        self.write(entry, digest, text.encode("utf-8", "replace"))

    def write(self, entry: FileEntry, digest: str, body: bytes) -> None:
        """Write a file, whatever is there."""
        replace_file(self.folder, entry.file, body)
        entry.digest = digest
        entry.size = len(body)
        self.report.written.append(entry.file)

    def remove_others(self, living: Container[str]) -> None:
        """Remove the files of entries that are not among the living, and folders that are empty
        then.
        """
        for key in [key for key in self.entries if key not in living]:
            file = self.entries.pop(key).file
            if is_below(self.folder, self.folder / file):
                (self.folder / file).unlink(missing_ok=True)
            self.report.removed.append(file)
            for parent in PurePosixPath(file).parents[:-1]:
                with contextlib.suppress(OSError):  # it holds other files
                    (self.folder / parent).rmdir()


def _update_tree(kept: _Folder) -> None:
    """Name every page, write what differs, remove what is gone."""
    store = kept.store
    source = kept.source
    entries = kept.entries
    names = mirror_files.MirrorNames(
        kept.manifest.main_host,
        {key: entry.file for key, entry in entries.items()},
        occupied=lambda name: (kept.folder / name).exists(),
    )
    assets = store.assets()
    links = mirror_files.LinkMap(store.aliases(), {one.url: one.path for one in assets})
    living = set[str]()
    lines: list[mirror_files.ContentsLine] = []
    for page in store.iter_pages(parts=OUTLINE):
        record = page.record
        key = record.identity
        file = names.name(key)
        listed = record.llms
        living.add(key)
        entries.setdefault(key, FileEntry(file))
        links.add(key, record.fetched_url, file)
        title = (listed and listed.title) or record.title or file.removesuffix(".md")
        description = (listed and listed.description) or record.description
        section, order = (listed.section, listed.order) if listed else (None, None)
        lines.append(mirror_files.ContentsLine(file, title, description, section, order))
    kept.manifest.write(kept.folder)  # before the first file: a killed run leaves no unknown ones
    # what links can lead to: while it stays, unchanged pages need no second look
    targets = [*(line.file for line in lines), *(f"{one.url} {one.path}" for one in assets)]
    shape = sha256("\n".join(sorted(targets)))[:32]
    for asset in assets:
        living.add(asset.path)
        _update_asset(kept, asset)
    for page in store.iter_pages(parts=OUTLINE):
        _update_page(kept, page.record, shape, links)
    table = mirror_files.contents(lines, source.url, source.introduction).encode("utf-8", "replace")
    path = kept.folder / mirror_files.CONTENTS
    if not path.exists() or path.read_bytes() != table:
        replace_file(kept.folder, mirror_files.CONTENTS, table)
    kept.remove_others(living)


def _update_asset(kept: _Folder, asset: Reading) -> None:
    """Write the file of an asset, where it is not there: its name is made of its content."""
    entry = kept.entries.setdefault(asset.path, FileEntry(asset.path))
    found = None if kept.is_there(entry) else kept.store.reading(asset.key)
    if found is not None:
        kept.write(entry, asset.path, found.body)


def _update_page(
    kept: _Folder, outline: PageRecord, shape: str, links: mirror_files.LinkMap
) -> None:
    """Bring the file of a page in step; its text is read only where the file may have to change."""
    entry = kept.entries.setdefault(outline.identity, FileEntry(""))
    undated = mirror_files.front_matter(outline, kept.source.name, fetched_at="")
    key = sha256(f"{undated}{shape}")[:32]
    if entry.key == key and kept.is_there(entry):
        kept.report.untouched += 1
        return
    record = kept.store.load_page(outline.key)
    if record is None:  # deleted since
        return
    text = mirror_files.file_text(record, entry.file, links.file)
    head = mirror_files.front_matter(record, kept.source.name, fetched_at=record.fetched_at)
    kept.put(entry, sha256(undated + text)[:32], head + text)
    entry.key = key


def _update_skill(kept: _Folder, budget: int | None) -> None:
    outlines = [page.record for page in kept.store.iter_pages(parts=OUTLINE)]
    outlines.sort(key=lambda one: (one.llms is None, one.llms.order if one.llms else 0, one.url))
    references, omitted = _references(kept.store, outlines, budget)
    for file in [*(one.file for one in references), SKILL]:
        kept.entries.setdefault(file, FileEntry(file))
    kept.manifest.write(kept.folder)
    for one in references:
        pages = [
            page for record in one.pages if (page := kept.store.load_page(record.key)) is not None
        ]
        text = mirror_files.reference_text(one.section, pages)
        kept.put(kept.entries[one.file], sha256(text)[:32], text)
    text = mirror_files.skill_text(kept.source, references, omitted)
    kept.put(kept.entries[SKILL], sha256(text)[:32], text)
    kept.remove_others({SKILL, *(one.file for one in references)})


def _references(
    store: Store, outlines: Iterable[PageRecord], budget: int | None
) -> tuple[list[mirror_files.Reference], list[PageRecord]]:
    """Share the pages out among references, section by section; and those that are beyond the
    budget.
    """
    from llmsspider.content.markdown.chunks import tokens  # noqa: PLC0415
    from llmsspider.diff.source import section_of  # noqa: PLC0415  # few crawls write a skill

    sections: dict[str, list[PageRecord]] = {}
    for record in outlines:
        sections.setdefault(section_of(record), []).append(record)
    references: list[mirror_files.Reference] = []
    omitted: list[PageRecord] = []
    used = 0
    names = set[str]()
    for section, records in sections.items():
        size = MAX_REFERENCE_TOKENS
        name = urlsplit(section).path if section.startswith("/") else section
        stem = mirror_files.slug(name)[:60].strip("-") or "pages"
        for record in records:
            page = store.load_page(record.key)
            needed = tokens(page_text(page)) if page is not None else 0
            if budget is not None and used + needed > budget:
                omitted.append(record)
                continue
            used += needed
            if size + needed > MAX_REFERENCE_TOKENS:
                numbered = chain([stem], (f"{stem}-{number}" for number in count(2)))
                name = next(name for name in numbered if name not in names)
                names.add(name)
                references.append(mirror_files.Reference(f"references/{name}.md", section))
                size = 0
            references[-1].pages.append(record)
            size += needed
    return references, omitted
