"""The real Chromium of the browser tests, the processes it leaves, and the site that needs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from services import need
from site_server import Page, Reply

DIST = Path(__file__).parents[1] / "fixtures" / "js_site" / "dist"
TYPES = {".html": "text/html", ".js": "text/javascript", ".json": "application/json"}


@pytest.fixture(autouse=True)
def browser() -> None:
    """Every test of a module that imports this needs a browser."""
    need("Chromium")


def js_site() -> dict[str, Page]:
    """The pages of the built site. A page's address answers with the shell, as such sites' servers do."""
    files: dict[str, Page] = {
        f"/{file.relative_to(DIST).as_posix()}": Reply(
            file.read_bytes(), content_type=TYPES[file.suffix]
        )
        for file in DIST.rglob("*")
        if file.is_file()
    }
    shell = files.pop("/index.html")
    addresses = (
        "/",
        "/guide/install",
        "/old-install",
        "/reference/flock",
        "/reference/nest",
        "/reference/roost",
    )
    return {**files, **dict.fromkeys(addresses, shell)}


def shell(script: str, head: str = "") -> str:
    """A page without text that runs a script."""
    return (
        f"<!doctype html><html><head><title>Shell</title>{head}</head><body><div id='app'></div>"
        f"<script type='module'>{script}</script></body></html>"
    )


def draw(title: str, more: str = "") -> str:
    """Script that draws a page with some text."""
    text = "Text that was drawn by a script, and enough of it to be a page."
    html = f"<main><h1>{title}</h1><p>{text}</p>{more}</main>"
    return f"document.getElementById('app').innerHTML = {html!r};"


def processes(folder: Path) -> dict[int, str]:
    """The processes that work in `folder` or below, by id: command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                )
        except OSError:  # it ended, or is not ours
            continue
    return found
