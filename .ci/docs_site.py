"""Build the documentation into build/site: `make docs`.

MkDocs Material draws the pages. Beside each goes its Markdown (`index.md`), and at the top llms.txt and llms-full.txt,
made from the navigation in mkdocs.yml. `--url` is where the site will be: addresses in llms.txt, llms-full.txt and
sitemap.xml begin with it.
"""

from __future__ import annotations

import argparse
import http.server
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([\w./-]+)(#[\w-]+)?(\))")
"""What may be a link to a file of the documentation."""


def main() -> None:
    """Build, and serve where that is asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", default="http://127.0.0.1:8000/", help="where the site will be")
    options.add_argument(
        "--output", type=Path, default=ROOT / "build" / "site", help="folder of the site"
    )
    options.add_argument("--serve", action="store_true", help="serve it at the port of --url")
    given = options.parse_args()
    site = build(given.output, given.url)
    sys.stdout.write(f"{len(list(site.rglob('index.md')))} pages in {site}\n")
    if given.serve:
        serve(site, int(given.url.rstrip("/").rpartition(":")[2]))


def build(site: Path, url: str) -> Path:
    """Draw the pages and write their Markdown and the lists; returns the folder."""
    work = site.parent / f"{site.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(DOCS, work / "docs")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config |= {"site_url": url, "site_dir": str(site)}
    (work / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    lists(site, config, url)
    shutil.rmtree(work)
    return site


def lists(site: Path, config: dict[str, Any], url: str) -> None:
    """Write the Markdown beside each page, llms.txt and llms-full.txt."""
    short = [f"# {config['site_name']}\n\n> {config['site_description']}\n"]
    full: list[str] = []
    section = None
    for heading, title, file in pages(config["nav"]):
        if heading != section:
            short.append(f"\n## {heading}\n\n")
            section = heading
        text = linked((DOCS / file).read_text(encoding="utf-8"), url, file)
        place = address(file)
        (site / place).mkdir(parents=True, exist_ok=True)
        (site / place / "index.md").write_text(text, encoding="utf-8")
        named(site / place / "index.html", url)
        short.append(f"- [{title}]({url}{place}index.md): {summary(text)}\n")
        head, _, body = text.partition("\n")
        full.append(f"{head}\nSource: {url}{place}\n{body.rstrip()}\n")
    (site / "llms.txt").write_text("".join(short), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")


def named(page: Path, url: str) -> None:
    """Have the HTML of a page name its Markdown and the llms.txt."""
    links = (
        '<link rel="alternate" type="text/markdown" href="index.md">'
        f'<link rel="describedby" type="text/markdown" href="{url}llms.txt">'
    )
    head, end, rest = page.read_text(encoding="utf-8").partition("</head>")
    page.write_text(f"{head}{links}{end}{rest}", encoding="utf-8")


def pages(nav: list[dict[str, Any]], heading: str = "Start") -> Iterator[tuple[str, str, str]]:
    """Yield section, title and file of each page of the navigation."""
    for entry in nav:
        for title, what in entry.items():
            if isinstance(what, list):
                yield from pages(what, title)
            else:
                yield heading, title, what


def address(file: str) -> str:
    """Return where a page lies in the site, from its top; with a slash at the end, or empty.

    >>> address("index.md"), address("explanation/scope.md")
    ('', 'explanation/scope/')
    """
    name = file.removesuffix(".md")
    return "" if name == "index" else f"{name}/"


def linked(text: str, url: str, file: str) -> str:
    """Return the Markdown of a page, `file` in docs/, with its links to pages, pictures and schemas made absolute."""

    def absolute(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), found[2]))
        if not (DOCS / target).is_file():
            return found[0]
        place = address(target) if target.endswith(".md") else target
        return f"{found[1]}{url}{place}{found[3] or ''}{found[4]}"

    return LINK.sub(absolute, text)


def summary(text: str) -> str:
    """Return the first sentence of a page, in one line."""
    paragraphs = (part for part in text.split("\n\n")[1:] if part[:1].isalpha() or part[:1] == "`")
    first = " ".join(next(paragraphs, "").split())
    first = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first)
    return re.split(r"(?<=[.:;]) ", first)[0].rstrip(":;.")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that names Markdown as such, and says nothing."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".md": "text/markdown"}  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serve(site: Path, port: int) -> None:
    """Serve the site on 127.0.0.1 until Ctrl-C."""
    handler = partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{port}/\n")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stdout.write("\n")


if __name__ == "__main__":
    main()
