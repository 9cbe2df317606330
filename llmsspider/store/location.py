"""Where a source's store lies: the data directory, and the file name of a source."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

SUFFIX = ".sqlite"
DATA_DIR_VARIABLE = "LLMS_DATA_DIR"
SLUG_LENGTH = 80
"""Characters of the readable part of a file name."""


def project_dir(start: Path) -> Path | None:
    """The closest directory at or above `start` that holds a scrapy.cfg, or None (as under Scrapyd)."""
    start = start.absolute()
    return next((folder for folder in (start, *start.parents) if (folder / "scrapy.cfg").is_file()), None)


def resolve_data_dir(
    setting: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Path:
    """The directory of the store files; it need not exist yet.

    The `LLMS_DATA_DIR` setting, else the environment variable of that name, else `.scrapy/llmsspider` beside
    the project's scrapy.cfg, else the same below the working directory. A relative path given by the user
    is taken from the same place.
    """
    cwd = cwd or Path.cwd()
    base = project_dir(cwd) or cwd
    chosen = setting or (os.environ if environ is None else environ).get(DATA_DIR_VARIABLE)
    return base / Path(chosen).expanduser() if chosen else base / ".scrapy" / "llmsspider"


def source_slug(name: str) -> str:
    """A file name for a source: a readable part, and a hash that keeps different names apart.

    >>> source_slug("docs.example.com/guide")
    'docs.example.com-guide-21e2ee9368'
    >>> source_slug("../../etc/passwd")
    'etc-passwd-3754d6cb3a'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-._")[:SLUG_LENGTH]
    return f"{readable}-{digest}" if readable else digest


def source_file(data_dir: Path, name: str) -> Path:
    """The SQLite file of a source; always directly inside `data_dir`."""
    return data_dir / (source_slug(name) + SUFFIX)


def source_files(data_dir: Path) -> list[Path]:
    """Every store file in `data_dir`, by name; none when the directory does not exist."""
    return sorted(data_dir.glob("*" + SUFFIX)) if data_dir.is_dir() else []
