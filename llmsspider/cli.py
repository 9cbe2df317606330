"""`llmsspider URL -o DIR`: a site as a folder of Markdown, in one command, from anywhere.

Everything it does is also `scrapy crawl docs`: the options become spider arguments and settings.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from llmsspider import __version__
from llmsspider.errors import ArgumentsError, LlmsspiderError, StoreError
from llmsspider.mirror import STORE_FOLDER, read_manifest
from llmsspider.sources import default_name
from llmsspider.store.location import DATA_DIR_VARIABLE, source_slug
from llmsspider.urls import require_http_url

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from llmsspider.run import Run

NOTHING = 1
"""Exit code: nothing was obtained, the crawl was stopped, or the folder or the page store cannot be used."""

WRONG = 2
"""Exit code: what was typed is wrong; nothing was fetched."""

INCOMPLETE = 3
"""Exit code: the tree is up to date, but for the pages that the site did not answer for; more failed than may."""


class OneLineParser(argparse.ArgumentParser):
    """A mistake is one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say it and exit."""
        self.exit(WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Crawl, write the tree, say what was done; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["mcp"]:
        from llmsspider.mcp.command import main as serve  # noqa: PLC0415

        return serve(given[1:])
    options = parser().parse_args(argv)
    os.environ["SCRAPY_SETTINGS_MODULE"] = "llmsspider.settings"
    try:
        folder, arguments = _target(options)
        settings = _settings(options, folder)
    except LlmsspiderError as error:
        return _refuse([str(error)])
    from llmsspider.checking import crawl_problems  # noqa: PLC0415  # `--help` and mistakes need no Scrapy

    try:
        problems = crawl_problems(settings, "docs", arguments)
    except StoreError as error:
        return _refuse([str(error)], NOTHING)
    if problems:
        return _refuse(problems)
    crawler = _crawl(settings, arguments)
    return _report(crawler, folder, argv)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = OneLineParser(
        prog="llmsspider",
        description="A documentation site as a folder of Markdown. Run it again and only what changed is fetched.",
        epilog="The same in a project: scrapy crawl docs -a url=URL -s LLMS_MIRROR_DIR=DIR. "
        "`llmsspider mcp` lets agents search and read what was crawled.",
    )
    made.add_argument(
        "url", nargs="?", metavar="URL", help="any page of the documentation; known for a folder that exists"
    )
    made.add_argument("-o", "--output", metavar="DIR", help="the folder (default: named after the site)")
    made.add_argument(
        "-a", dest="arguments", action="append", default=[], metavar="NAME=VALUE", help="a spider argument"
    )
    made.add_argument(
        "-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    made.add_argument("-v", "--verbose", action="store_true", help="show the log of the crawl")
    made.add_argument("--version", action="version", version=f"llmsspider {__version__}")
    return made


def _target(options: argparse.Namespace) -> tuple[Path, dict[str, str]]:
    """The folder and the spider arguments; raises `InvalidUrlError`, `MirrorError`, `ArgumentsError`."""
    arguments = pairs(options.arguments, "-a")
    if options.url is not None:
        url = arguments["url"] = require_http_url(options.url)
        name = arguments.get("source") or default_name(url)
        return Path(options.output or source_slug(name).rpartition("-")[0]), arguments
    if options.output is None:
        raise ArgumentsError(["a URL is missing, e.g. llmsspider https://docs.example.com/ -o docs"])
    folder = Path(options.output)
    manifest = read_manifest(folder)
    if manifest is None:
        raise ArgumentsError([f"{folder} holds no tree yet: name the URL it is made from"])
    arguments.setdefault("source", manifest.source)
    return folder, arguments


def pairs(given: list[str], option: str) -> dict[str, str]:
    """The values of an option that is given as NAME=VALUE; raises `ArgumentsError` for one that is not."""
    parted = [pair.partition("=") for pair in given]
    if wrong := [name for name, mark, _ in parted if not (name and mark)]:
        raise ArgumentsError([f"{option} {wrong[0]!r}: NAME=VALUE is accepted"])
    return {name: value for name, _, value in parted}


def _settings(options: argparse.Namespace, folder: Path) -> Settings:
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    settings = get_project_settings()
    own: dict[str, Any] = {"LLMS_MIRROR_DIR": str(folder)}
    if not os.environ.get(DATA_DIR_VARIABLE):
        own["LLMS_DATA_DIR"] = str(folder.absolute() / STORE_FOLDER)
    if not options.verbose:
        own["LOG_LEVEL"] = "ERROR"
    settings.setdict(own | pairs(options.settings, "-s"), priority="cmdline")
    return settings


def _crawl(settings: Settings, arguments: dict[str, str]) -> Crawler:
    from scrapy.crawler import AsyncCrawlerProcess  # noqa: PLC0415

    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler("docs")
    process.crawl(crawler, **arguments)
    process.start()
    return crawler


def _report(crawler: Crawler, folder: Path, argv: Sequence[str] | None) -> int:
    run: Run | None = getattr(crawler.spider, "run", None)
    if run is None or run.mirror is None or not run.succeeded:
        reason = run.outcome if run is not None and run.outcome else "the crawl did not start"
        sys.stderr.write(f"llmsspider: {folder} was not brought up to date ({reason}); -v shows the log\n")
        if run is not None and run.forbidden_start:
            sys.stderr.write(f"llmsspider: {run.forbidden_start}\n")
        return NOTHING
    _keep_out_of_git(folder / STORE_FOLDER)
    for line in _summary(run):
        sys.stdout.write(line + "\n")
    again = shlex.join(["llmsspider", *(sys.argv[1:] if argv is None else argv)])
    sys.stdout.write(f"Start with {folder / 'index.md'}. To fetch what has changed, later: {again}\n")
    return INCOMPLETE if run.outage else 0


def _keep_out_of_git(store: Path) -> None:
    if store.is_dir():
        (store / ".gitignore").write_text("*\n", encoding="utf-8")


def _summary(run: Run) -> list[str]:
    progress = run.progress
    lines = [
        f"{progress.documents} pages of {run.source}{_by(progress.changes)}",
        str(run.mirror and run.mirror.describe()),
    ]
    if progress.errors:
        lines.append(f"{sum(progress.errors.values())} failed{_by(progress.errors)}")
    if progress.filtered:
        lines.append(f"{sum(progress.filtered.values())} left out{_by(progress.filtered)}")
    lines += filter(None, (run.start_failure, run.missed))
    if not run.complete:
        lines.append(f"the crawl is incomplete: {run.why_incomplete}")
    return lines


def _by(counts: dict[str, int]) -> str:
    return f" ({', '.join(f'{name} {number}' for name, number in counts.items())})" if counts else ""


def _refuse(problems: list[str], exitcode: int = WRONG) -> int:
    for problem in problems:
        sys.stderr.write(f"llmsspider: {problem}\n")
    return exitcode
