"""Build the release files, check them, install them into an empty environment and use them: `make release-check`.

What is built lies in dist/ afterwards. The last lines are the figures: seconds and megabytes from nothing to documents,
and to an answer of the MCP server with the address of its page; then what a maintainer types to publish.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"
SOURCES = {
    "llmsspider",
    "pipelines_config",
    "docs",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
}
SOURCES |= {"pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO", "llmsspider.egg-info"}
ASK = """
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main(command, folder):
    async with stdio_client(StdioServerParameters(command=command, args=["mcp", folder])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            found = await session.call_tool("search", {"query": "How long is the timeout of part 77?"})
            print(json.dumps(found.content[0].text))

asyncio.run(main(*sys.argv[1:]))
"""


def main() -> None:
    """Run every step; ends with exit code 1 at the first that fails."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=150, help="pages of the site that is crawled")
    pages = options.parse_args().pages
    licences()
    run(sys.executable, ".ci/docs_site.py", "--url", "http://127.0.0.1:8000/")
    container()
    with tempfile.TemporaryDirectory(prefix="release-check-") as name:
        folder = Path(name)
        wheel = build(folder)
        with serving(folder / "site", pages) as url:
            base = installed(folder / "base", str(wheel))
            crawled = crawl(folder / "base", url, pages)
            without_extras(folder / "base", url)
            extra = installed(folder / "mcp", f"{wheel}[mcp]")
            answered = ask(folder / "mcp", folder / "base" / "work" / "docs", url)
    figures(base, crawled, extra, answered, pages)
    publish(wheel)


def licences() -> None:
    """Compare the page of licences with what the installed packages say."""
    written = (ROOT / "docs/reference/licences.md").read_text(encoding="utf-8")
    assert run(sys.executable, "tests/support/licences.py") == written, "run: make licences"


def container() -> None:
    """Run the steps of the container file, where there is what it takes."""
    if shutil.which("debootstrap") and os.geteuid() == 0:
        run(sys.executable, ".ci/container_check.py")
    else:
        sys.stdout.write("the container file was not run: it takes root and debootstrap\n")


def publish(wheel: Path) -> None:
    """Print what a maintainer types to publish what was built."""
    version = wheel.name.split("-")[1]
    sys.stdout.write(
        f"to publish:\n    git tag --sign v{version}\n    git push origin v{version}\n"
        f"    {sys.executable} -m twine upload dist/*\n"
    )


def build(folder: Path) -> Path:
    """Build wheel and sdist from the tracked files, and check what they hold; returns the wheel."""
    checkout, dist = folder / "checkout", ROOT / "dist"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for file in filter(None, tracked):
        (checkout / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, checkout / file)
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(checkout))
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    names = zipfile.ZipFile(wheel).namelist()
    strange = [
        part for part in names if part.split("/")[0] not in {"llmsspider", "pipelines_config"}
    ]
    assert all(part.split("/")[0].endswith(".dist-info") for part in strange), strange
    assert "llmsspider/py.typed" in names
    with tarfile.open(sdist) as archive:
        held = {part.split("/")[1] for part in archive.getnames() if "/" in part}
    assert held <= SOURCES, held - SOURCES
    return wheel


def installed(place: Path, what: str) -> tuple[float, float]:
    """Install into an empty environment without any cache; returns seconds, and megabytes of the packages on disk."""
    began = time.monotonic()
    venv.create(place / "venv", with_pip=True)
    before = megabytes(place / "venv")
    run(
        str(place / "venv/bin/pip"),
        "install",
        "--quiet",
        "--no-cache-dir",
        "--disable-pip-version-check",
        what,
    )
    secs = time.monotonic() - began
    run(str(place / "venv/bin/pip"), "check")
    return secs, megabytes(place / "venv") - before


def crawl(place: Path, url: str, pages: int) -> float:
    """Crawl from a folder that is empty, and use what came; returns the seconds of the crawl."""
    began = time.monotonic()
    said = use(place, f"{url}/", "-o", "docs", "-s", LOCAL)
    secs = time.monotonic() - began
    assert f"{pages} pages of " in said, said
    assert len(list((place / "work/docs").rglob("*.md"))) == pages + 1
    assert "complete" in use(place, "status")
    assert f"{url}/part77.html" in use(place, "search", "docs", "timeout of part 77")
    assert len(use(place, "export").splitlines()) == pages
    assert "0 files written" in use(place, f"{url}/", "-o", "docs", "-s", LOCAL)
    return secs


def without_extras(place: Path, url: str) -> None:
    """Ask for what only extras bring: one line each, exit code 2."""
    for arguments, extra in (
        (("mcp", "docs"), "mcp"),
        (("crawl", "docs", "-a", f"url={url}/", "-s", LOCAL, "-O", "docs.parquet"), "parquet"),
        (("crawl", "docs", "-a", f"url={url}/", "-s", LOCAL, "-O", "s3://bucket/docs.jsonl"), "s3"),
    ):
        done = program(place, *arguments)
        assert done.returncode == 2, done
        assert f'the extra "{extra}" is missing: ' in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


def ask(place: Path, docs: Path, url: str) -> float:
    """Ask the MCP server as an agent does; returns the seconds until its answer names the page."""
    began = time.monotonic()
    command = str(place / "venv/bin/llmsspider")
    done = run(str(place / "venv/bin/python"), "-c", ASK, command, str(docs))
    assert f"{url}/part77.html" in json.loads(done), done
    return time.monotonic() - began


def use(place: Path, *arguments: str) -> str:
    """Return what the installed program printed; it must end well."""
    done = program(place, *arguments)
    assert done.returncode == 0, done
    return done.stdout


def program(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program in an empty folder, with nothing of ours in its environment."""
    (place / "work").mkdir(exist_ok=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "SCRAPY_", "LLMS_"))
    }
    return subprocess.run(
        [str(place / "venv/bin/llmsspider"), *arguments],
        cwd=place / "work", env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def run(*command: str) -> str:
    """Run a command that must end well; returns its stdout."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class serving:  # noqa: N801  # used as a function is
    """Serve a generated site on 127.0.0.1: a start page and parts that link to the next."""

    def __init__(self, folder: Path, pages: int):
        folder.mkdir()
        links = "".join(f'<li><a href="part{n}.html">Part {n}</a>' for n in range(1, pages))
        (folder / "index.html").write_text(
            f"<title>Parts</title><h1>Parts</h1><p>All parts.<ul>{links}</ul>"
        )
        for number in range(1, pages):
            (folder / f"part{number}.html").write_text(
                f"<title>Part {number}</title><main><h1>Part {number}</h1><p>What part {number} does, at length.</p>"
                f"<h2>Timeout</h2><p>The timeout of part {number} is {number} seconds.</p>"
                f"<pre><code class=language-python>part({number})</code></pre></main>"
            )

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments: object):
                super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()


def megabytes(folder: Path) -> float:
    """Return the size of the files below a folder, compiled Python left out, since an installer may leave it out."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc") / 1e6


def figures(
    base: tuple[float, float],
    crawled: float,
    extra: tuple[float, float],
    answered: float,
    pages: int,
) -> None:
    """Print what was measured."""
    sys.stdout.write(
        f"base install      {base[0]:5.1f} s, {base[1]:.0f} MB on disk (without compiled Python)\n"
        f"crawl             {crawled:5.1f} s for {pages} pages: {base[0] + crawled:.0f} s from nothing to documents\n"
        f"with mcp          {extra[0]:5.1f} s, {extra[1]:.0f} MB\n"
        f"answer of MCP     {answered:5.1f} s: {extra[0] + crawled + answered:.0f} s from nothing to an answer\n"
    )


if __name__ == "__main__":
    main()
