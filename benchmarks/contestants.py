"""The crawlers that are compared: how each is run, and what it does not do that the others do."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
CACHE = HERE / ".venvs"
"""Virtual environments of the peers; safe to remove."""

OUTPUT = "pages.jsonl"
PROJECT = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(HERE.parent)}
CONVERTER = {"PYTHONPATH": str(HERE.parent)}
NOT_PAGES = r"\.(css|js|png|svg|ico|gif|jpe?g|xml|txt|py|zip)$|/_(static|images|sources|downloads)/"


@dataclass(frozen=True)
class Contestant:
    """A crawler.

    Attributes:
        name: as it stands in the tables.
        command: from the address of the start page, the command that crawls its host in the current folder.
        environment: variables of its processes.
        accept: exit codes that are none of failure.
        requirements: name of its file in `peers/`, None where it runs in the project's environment.
        writes: whether it leaves one JSON line a page in `OUTPUT`.
    """

    name: str
    command: Callable[[str], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    accept: tuple[int, ...] = (0,)
    requirements: str | None = None
    writes: bool = True


def ours(*options: str, name: str = "llmsspider") -> Contestant:
    """Return the spider `docs` with the project's defaults, a store in the current folder and a JSON Lines feed."""

    def command(url: str) -> list[str]:
        arguments = ["crawl", "docs", "-a", f"url={url}", "-a", "max_pages=0", "-O", OUTPUT]
        local = ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", "LLMS_DATA_DIR=store"]
        return [sys.executable, "-m", "scrapy", *arguments, *local, *options]

    return Contestant(name, command, environment=PROJECT)


def spider(name: str, file: Path, *options: str) -> Contestant:
    """Return a spider in one file; the project's settings are out of its sight."""
    return Contestant(
        name,
        lambda url: [
            sys.executable,
            "-m",
            "scrapy",
            "runspider",
            str(file),
            "-a",
            f"url={url}",
            *options,
        ],
        writes=False,
    )


def script(name: str, *options: str, requirements: str) -> Contestant:
    """Return a peer that is a script in `peers/`, run in an environment of its own."""
    file = PEERS / f"{requirements}_site.py"
    return Contestant(
        name,
        lambda url: [
            str(CACHE / requirements / "bin" / "python"),
            str(file),
            url,
            OUTPUT,
            *options,
        ],
        environment=CONVERTER,
        requirements=requirements,
    )


LINK_ONLY = spider(
    "Scrapy, links only, tuned",
    HERE / "link_only_spider.py",
)
CONDITIONAL = spider(
    "Scrapy, conditional requests, tuned",
    HERE / "conditional_spider.py",
    "-a",
    f"documents={OUTPUT}",
)
PLAIN = spider(
    "Scrapy, links only, plain",
    PEERS / "plain_scrapy.py",
    "-L",
    "INFO",
)
WGET = Contestant(
    "wget -r",
    lambda url: [
        *(
            "wget",
            "--recursive",
            "--level=inf",
            "--no-parent",
            "--no-verbose",
            "--execute=robots=off",
        ),
        *(f"--reject-regex={NOT_PAGES}", "--directory-prefix=pages", url),
    ],
    accept=(0, 8),
    writes=False,
)
CRAWLEE = script(
    "crawlee + our converter",
    "default",
    "ours",
    requirements="crawlee",
)
CRAWLEE_PARSEL = script(
    "crawlee, Parsel, + our converter",
    "parsel",
    "ours",
    requirements="crawlee",
)
CRAWLEE_HTTP = script(
    "crawlee, bare, + our converter and links",
    "http",
    "ours",
    requirements="crawlee",
)
CRAWL4AI = script(
    "crawl4ai, HTTP",
    requirements="crawl4ai",
)
OURS = ours()
ALL = (OURS, LINK_ONLY, PLAIN, WGET, CRAWLEE, CRAWLEE_PARSEL, CRAWLEE_HTTP, CRAWL4AI)


def environment(name: str) -> Path:
    """Return the Python of the environment that `peers/NAME.txt` describes, made anew when the file has changed."""
    pins = PEERS / f"{name}.txt"
    folder, python = CACHE / name, CACHE / name / "bin" / "python"
    stamp, mark = folder / ".installed", hashlib.sha256(pins.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != mark:
        print(f"installing {', '.join(pinned(name))} …", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                str(pins),
            ],
            check=True,
        )
        stamp.write_text(mark, encoding="ascii")
    return python


def pinned(name: str) -> list[str]:
    """Return the requirements of an environment."""
    return (PEERS / f"{name}.txt").read_text(encoding="utf-8").split()
