"""Write docs/reference/licences.md: what the packages of locks/requirements.lock say of their licences (`make licences`)."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "locks/requirements.lock"
HEAD = """# Licences

llmsspider is under the MIT licence. Written by `make licences`: what each package of `locks/requirements.lock` says of its own.
psycopg, with the extra `postgresql`, is used unchanged, as a library.

| licence | packages |
|---|---|
"""
ELSEWHERE = {
    "async-timeout": "Apache-2.0",
    "backports-zstd": "PSF-2.0",
    "brotlicffi": "MIT",
    "cffi": "MIT-0",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pycparser": "BSD-3-Clause",
    "pypydispatcher": "BSD",
    "pywin32": "PSF-2.0",
    "tzdata": "Apache-2.0",
}
"""Licences of packages for other platforms or versions of Python, which are not installed here."""


def locked() -> dict[str, tuple[str, ...]]:
    """The versions of each package in the lock file, by normalised name."""
    found: dict[str, tuple[str, ...]] = {}
    for name, version in re.findall(
        r"^([a-z][\w.-]*)(?:\[[\w,]+\])?==(\S+)", LOCK.read_text(), re.MULTILINE
    ):
        found[name] = (*found.get(name, ()), version)
    return found


def licence_of(name: str) -> str:
    """What the package says: SPDX expression, else classifiers, else the free field, else its file's first line."""
    try:
        data = metadata(name)
    except PackageNotFoundError:
        return ELSEWHERE[name]
    classified = [
        line.rpartition(" :: ")[2]
        for line in data.get_all("Classifier", [])
        if line.startswith("License :: ")
    ]
    said = (
        data.get("License-Expression")
        or ", ".join(classified)
        or (data.get("License") or "").partition("\n")[0]
    )
    return said or _heading_of_file(name) or "none given"


def _heading_of_file(name: str) -> str:
    for file in distribution(name).metadata.get_all("License-File", []):
        text = distribution(name).read_text(f"licenses/{file}")
        if text:
            return text.strip().partition("\n")[0]
    return ""


def table() -> str:
    """Return the document: the packages by licence."""
    by_licence: dict[str, list[str]] = {}
    for name, versions in locked().items():
        by_licence.setdefault(licence_of(name), []).append(f"{name} {', '.join(versions)}")
    rows = (
        f"| {licence} | {'; '.join(found)} |\n" for licence, found in sorted(by_licence.items())
    )
    return HEAD + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table())
