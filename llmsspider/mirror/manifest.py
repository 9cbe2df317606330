"""The manifest of a tree: which files are ours, so that no other file is ever replaced or removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import orjson

from llmsspider.errors import MirrorError
from llmsspider.store.location import source_slug

MANIFEST = ".llmsspider.json"
"""No page gets this name: a leading dot is encoded (`mirrornames`)."""

STORE_FOLDER = ".llmsspider"
"""Where the command `llmsspider` keeps the page store, inside the tree."""

PART = ".llmsspider.part"
"""A file that is being written."""

VERSION = 1
SOURCE_PLACEHOLDER = "%(source)s"


@dataclass(slots=True)
class Entry:
    """One file: its name, the digest of what decides its text, and of the text itself (`fetched_at` aside)."""

    file: str
    key: str = ""
    digest: str = ""
    size: int = -1


@dataclass(slots=True)
class Manifest:
    """The files of a tree by page identity; `contents` is the digest of index.md."""

    source: str
    main_host: str
    entries: dict[str, Entry] = field(default_factory=dict)

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
        entries = {identity: Entry(*values) for identity, values in body["pages"].items()}
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
    return isinstance(name, str) and name.endswith(".md") and _plain(PurePosixPath(name))


def _plain(path: PurePosixPath) -> bool:
    return not path.is_absolute() and not any(part.startswith(".") for part in path.parts)


def folder_for(setting: str, source: str) -> Path:
    """The folder `LLMS_MIRROR_DIR` means for a source: `%(source)s` in it becomes a safe name of the source."""
    return Path(setting.replace(SOURCE_PLACEHOLDER, source_slug(source))).expanduser()


def folder_problem(folder: Path, source: str) -> str | None:
    """Say in one line why the tree of `source` cannot be kept in `folder`, or None."""
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file; a folder is needed"
    try:
        manifest = read_manifest(folder)
        if manifest is None and folder.exists() and _holds_other_files(folder):
            return f"{folder} holds files that are not from llmsspider; choose an empty or a new folder"
    except MirrorError as error:
        return str(error)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if manifest is not None and manifest.source != source:
        return (
            f"{folder} holds the source {manifest.source!r}; choose another folder for {source!r}, or put "
            f"{SOURCE_PLACEHOLDER} into LLMS_MIRROR_DIR"
        )
    return None


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
