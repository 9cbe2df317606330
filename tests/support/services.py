"""What tests need besides Python packages: whether it is there, and one of each for all tests of a run.

`LLMSSPIDER_REQUIRE_SERVICES=1` (as in CI) makes a test fail that would be skipped for want of a service.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = "LLMSSPIDER_REQUIRE_SERVICES"


@dataclass(frozen=True)
class Service:
    """Something that tests need: what they show, whether it is there, and how to get it."""

    name: str
    shows: str
    found: Callable[[], bool]
    get: str


def postgresql_programs() -> Path | None:
    """The directory of initdb and pg_ctl: the newest of Debian's, else the one on the PATH."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    if debian:
        return debian[-1]
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _chromium() -> bool:
    from llmsspider.browser.session import find_program

    return find_program() is not None


def _modules(*names: str) -> Callable[[], bool]:
    return lambda: all(importlib.util.find_spec(name) for name in names)


LLAMA_INDEX = ROOT / ".venv-llamaindex" / "bin" / "python"
"""An environment of its own (`make install-dev`): LlamaIndex, Haystack, a crawl. shub asks for another tqdm."""

DEVELOPMENT = "make install-dev"
SERVICES = {
    service.name: service
    for service in (
        Service(
            "PostgreSQL",
            "page stores in PostgreSQL",
            lambda: postgresql_programs() is not None,
            "apt-get install postgresql",
        ),
        Service(
            "Chromium",
            "pages that need a browser",
            _chromium,
            "apt-get install chromium-headless-shell",
        ),
        Service("Scrapyd", "jobs of Scrapyd", _modules("scrapyd", "scrapyd_client"), DEVELOPMENT),
        Service(
            "Scrapy Cloud",
            "jobs of Scrapy Cloud",
            _modules("shub", "sh_scrapy", "scrapy_dotpersistence", "awscli", "moto"),
            DEVELOPMENT,
        ),
        Service("S3", "feeds in S3", _modules("moto", "boto3"), DEVELOPMENT),
        Service(
            "LlamaIndex",
            "the loaders for LlamaIndex and Haystack",
            LLAMA_INDEX.is_file,
            DEVELOPMENT,
        ),
    )
}


def need(name: str) -> None:
    """Skip the test where a service is missing; fail it where services are required."""
    service = SERVICES[name]
    if service.found():
        return
    reason = f"{name} is missing ({service.get})"
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{reason}, and {REQUIRED}=1")
    pytest.skip(reason)


def report() -> list[str]:
    """Lines for the head of a test run: which services are missing, what is skipped for it, how to get them."""
    missing = [service for service in SERVICES.values() if not service.found()]
    consequence = "fail" if os.environ.get(REQUIRED) == "1" else "are skipped"
    there = ", ".join(name for name, service in SERVICES.items() if service not in missing)
    return [
        f"services: {there or 'none'}",
        *(
            f"{s.name} is missing: tests of {s.shows} {consequence}; to get it: {s.get}"
            for s in missing
        ),
    ]


class Shared:
    """Services that the first test that needs one starts, for every process of the run; `folder` is the run's own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def get(self, name: str, start: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Return what `start`, given a new folder, said of the service; it is called once in a run."""
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.folder / f"{name}.json"
            if not known.exists():
                place = self.folder / name
                place.mkdir()
                known.write_text(json.dumps(start(place)))
            return json.loads(known.read_text())

    def started(self, name: str) -> dict[str, Any] | None:
        """Return what is known of a service, None when no test needed it."""
        known = self.folder / f"{name}.json"
        return json.loads(known.read_text()) if known.exists() else None
