"""The sites that are crawled: real documentation as Debian packages it, and generated ones of any size."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generated_site import SiteWriter  # noqa: E402

LONE = b"<html><body><main><h1>One</h1><p>A page without links.</p></main></body></html>"


@dataclass(frozen=True)
class DebianDocs:
    """Documentation from a Debian package."""

    package: str
    folder: Path

    def root(self) -> Path:
        """Return the folder of the pages."""
        if not (self.folder / "index.html").is_file():
            raise SystemExit(f"{self.folder} is missing: apt-get install {self.package}")
        return self.folder

    def version(self) -> str:
        """Return package and version."""
        asked = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${Version}", self.package],
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.stdout or self.package


PYTHON = DebianDocs("python3.11-doc", Path("/usr/share/doc/python3.11/html"))
POSTGRESQL = DebianDocs("postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html"))


def file_of(folder: Path, path: str) -> Path:
    """Return the file of a path, its directory made."""
    file = folder / (path.lstrip("/") + ("index.html" if path.endswith("/") else ""))
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def lone_page(folder: Path) -> Path:
    """Write a site of one page."""
    file_of(folder, "/").write_bytes(LONE)
    return folder


def generated(folder: Path, pages: int) -> Path:
    """Write a site of `pages` HTML pages, the start page included."""
    for path, body in SiteWriter(pages - 1).pages():
        file_of(folder, path).write_bytes(body)
    return folder


def with_markdown(html: Path, folder: Path, url: str) -> Path:
    """Write the same site with `page.html.md` beside each page and an llms.txt that lists them, for `url`."""
    entries = []
    for page, text in _markdown_of(html, url):
        _link(html / page, folder / page)
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
        entries.append(f"- [{_title(text)}]({url}{page}.md)")
    _llms_txt(folder, entries)
    return folder


def with_full_text(html: Path, folder: Path, url: str) -> Path:
    """Write the same site with an llms.txt and an llms-full.txt of all pages, for `url`."""
    entries, parts = [], []
    for page, text in _markdown_of(html, url):
        _link(html / page, folder / page)
        address = url if page == "index.html" else f"{url}{page}"
        body = text.partition("\n")[2].lstrip("\n")
        entries.append(f"- [{_title(text)}]({address})")
        parts.append(f"# {_title(text)}\nSource: {address}\n\n{body}\n")
    _llms_txt(folder, entries)
    (folder / "llms-full.txt").write_text("\n".join(parts), encoding="utf-8")
    return folder


def _markdown_of(html: Path, url: str) -> list[tuple[str, str]]:
    from llmsspider.content.extraction import convert  # noqa: PLC0415

    pages = sorted(str(file.relative_to(html)) for file in html.rglob("*.html"))
    return [
        (page, convert((html / page).read_bytes(), f"{url}{page}", "utf-8").markdown)
        for page in pages
    ]


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ").strip()


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


def _llms_txt(folder: Path, entries: list[str]) -> None:
    head = "# Example\n\n> The documentation of Example.\n\n## Docs\n\n"
    (folder / "llms.txt").write_text(head + "\n".join(entries) + "\n", encoding="utf-8")


def read_once(folder: Path) -> None:
    """Read all files, so that the first crawl finds them in memory as the others do."""
    for file in folder.rglob("*"):
        if file.is_file():
            file.read_bytes()
