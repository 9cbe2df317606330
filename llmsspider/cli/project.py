"""Commands of the project, and the crawl of `llmsspider URL`, from any folder.

Commands are those of `scrapy COMMAND …` in a project. Outside a project the stores are those in the
folders that `llmsspider URL -o DIR` wrote: a folder stands for its source, and where there is only
one in the working directory neither has to be named.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import difflib
import os
import pkgutil
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import UsageError
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings

from llmsspider.api.folders import PLACES, Tree, tree_of, trees_here
from llmsspider.cli.options import OneLineParser, pairs
from llmsspider.cli.summaries import SUMMARIES
from llmsspider.config.sources import default_name
from llmsspider.errors import ArgumentsError, LlmsspiderError
from llmsspider.output.mirror import read_manifest
from llmsspider.store.database import DATA_DIR_VARIABLE, STORE_FOLDER, readable_name
from llmsspider.web.urls import start_url

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand
    from scrapy.settings import Settings


SETTINGS_MODULE = "llmsspider.settings"
COMMANDS_MODULE = "llmsspider.commands"


def project_settings() -> Settings:
    """Return the settings of the project around, where it is one made from ours, else our own.

    Raises:
        ArgumentsError: its module cannot be read.
    """
    try:
        settings = get_project_settings()
        ours = settings.get("COMMANDS_MODULE") == COMMANDS_MODULE
    except ImportError:
        ours = False
    except Exception as error:  # of the project's module, or of a value that Scrapy cannot take
        from llmsspider.cli.scrapy_values import value_problem  # noqa: PLC0415

        name = os.environ.get("SCRAPY_SETTINGS_MODULE", "")
        problems: list[str] = []
        with contextlib.suppress(Exception):
            found = vars(import_module(name))
            problems = [
                problem for key, value in found.items() if (problem := value_problem(key, value))
            ]
        raise ArgumentsError(problems or [f"{name}: {type(error).__name__}: {error}"]) from None
    if not ours:
        os.environ["SCRAPY_SETTINGS_MODULE"] = SETTINGS_MODULE
        settings = get_project_settings()
    return settings


def commands(settings: Settings) -> dict[str, ScrapyCommand]:
    """Return the commands of the project by name."""
    package = import_module(settings["COMMANDS_MODULE"])
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name: load_object(f"{package.__name__}.{name}.Command")() for name in names}


class _CommandParser(OneLineParser, ScrapyArgumentParser):
    """Scrapy's parser of the options of a command, whose errors are one line."""


def run_command(command: ScrapyCommand, name: str, argv: Sequence[str], settings: Settings) -> int:
    """Run a command as `scrapy.cmdline` does; returns the exit code."""
    parser = _CommandParser(
        prog=f"llmsspider {name}",
        usage=f"llmsspider {name} {command.syntax()}",
        description=command.long_desc(),
        formatter_class=ScrapyHelpFormatter,
        conflict_handler="resolve",
    )
    settings.setdict(command.default_settings, priority="command")
    command.settings = settings
    command.add_options(parser)
    opts, args = parser.parse_known_args(argv)
    args = _located(name, command, args, opts)
    try:
        command.process_options(args, opts)
        if command.requires_crawler_process:
            command.crawler_process = AsyncCrawlerProcess(settings)
        if opts.profile:
            with cProfile.Profile() as profile:
                command.run(args, opts)
            profile.dump_stats(opts.profile)
        else:
            command.run(args, opts)
    except UsageError as error:
        parser.error(str(error))
    return command.exitcode


def _located(
    name: str, command: ScrapyCommand, args: list[str], opts: argparse.Namespace
) -> list[str]:
    """Return the arguments with the source in place of its folder, and put the store of that folder
    in force.

    Raises:
        ArgumentsError: several folders could be meant.
    """
    wanted = command.syntax().replace("[options]", "").split()
    of_all = name == "sources"  # of a store, which is that of the one folder here
    if not of_all and "".join(wanted[:1]).strip("<[]>").lower() != "source":
        return args
    tree = None if of_all or not args else tree_of(Path(args[0]))
    if tree is not None:
        args = [tree.source, *args[1:]]
    elif _has_place(opts):
        return args  # the place of the stores was given
    else:
        required = sum("[" not in word for word in wanted)
        named = None if of_all or len(args) < max(required, 1) else args[0]
        tree = _tree_here(named)
        if tree is None:
            return args
        args = [tree.source, *args] if len(args) == required - 1 else args
    _put_in_force(tree, command, opts)
    return args


def _put_in_force(tree: Tree, command: ScrapyCommand, opts: argparse.Namespace) -> None:
    opts.set.append(f"{DATA_DIR_VARIABLE}={tree.store.absolute()}")
    if command.requires_crawler_process and tree.store != tree.folder:
        opts.set.insert(0, f"LLMS_MIRROR_DIR={tree.folder}")


def _has_place(opts: argparse.Namespace) -> bool:
    return any(pair.partition("=")[0] in PLACES for pair in opts.set)


def _tree_here(named: str | None) -> Tree | None:
    """Return the tree of a source here, else the only one; None where there is none.

    Raises:
        ArgumentsError: several could be meant.
    """
    here = trees_here()
    fitting = [tree for tree in here if tree.source == named] or here
    if len(fitting) > 1 and fitting is here:
        several = "several folders here hold documentation"
        what = several if named is None else f"{named!r} is none of the folders here"
        folders = ", ".join(str(tree.folder) for tree in here)
        raise ArgumentsError([f"{what}: name one of {folders}"])
    return fitting[0] if fitting else None


def run(name: str, given: list[str]) -> int:
    """Run the command of this name; returns the exit code.

    Raises:
        ArgumentsError: there is none.
    """
    settings = project_settings()
    found = commands(settings)
    if name in found:
        return run_command(found[name], name, given, settings)
    close = difflib.get_close_matches(name, SUMMARIES, n=1)
    meant = f"did you mean {close[0]}?" if close else "llmsspider --help lists them"
    if name in SpiderLoader.from_settings(settings).list():
        meant = f"it is a spider: llmsspider crawl {name} -a url=URL"
    raise ArgumentsError([f"{name!r} is neither a command nor a URL; {meant}"])


def crawl(options: argparse.Namespace, given: list[str]) -> int:
    """Crawl a site into a folder or a file: `llmsspider crawl docs` with a folder, which says more
    at its end. `given` is what was typed.

    Raises:
        ArgumentsError: something of it is wrong; nothing was fetched.
    """
    try:
        file = _file(options.output)
        folder, arguments = _target(options)
        if not file and not os.environ.get(DATA_DIR_VARIABLE):
            options.settings.insert(0, f"LLMS_DATA_DIR={folder.absolute() / STORE_FOLDER}")
        tree = [] if file else [f"LLMS_MIRROR_DIR={folder}"]
        words = ["docs", *file, *_options("-a", map("=".join, arguments.items()))]
        words += _options("-s", [*tree, *options.settings])
        if level := options.loglevel or ("INFO" if options.verbose else ""):
            words += ["-L", level]
        settings = project_settings()
    except LlmsspiderError as error:
        raise ArgumentsError(error.problems) from None
    command = load_object(f"{COMMANDS_MODULE}.crawl.Command")()
    if file:
        return run_command(command, "crawl", words, settings)
    command.folder = folder
    command.again = shlex.join(["llmsspider", *given])
    if options.output is None:
        command.first = (
            f"writing to the folder {folder} (-o DIR names another, -o docs.jsonl writes one file)"
        )
    exitcode = run_command(command, "crawl", words, settings)
    with contextlib.suppress(OSError):  # it is not there, or the disk is full
        (folder / STORE_FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    return exitcode


def _options(name: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (name, value)]


FILE = re.compile(r"-|.*\.(jsonl|jl|json|csv|xml|parquet|md)(:\w+)?")
"""What stands for a file after `-o`: all else is a folder."""


def _file(output: str | None) -> list[str]:
    """Return the options of `llmsspider crawl` for a file, or stdout; none for a folder.

    >>> _file("docs.jsonl"), _file("-"), _file("docs.example.com")
    (['-O', 'docs.jsonl'], ['-o', '-:jsonl'], [])
    """
    if output is None or not FILE.fullmatch(output) or Path(output).is_dir():
        return []
    return ["-o", "-:jsonl"] if output == "-" else ["-O", output]


def _target(options: argparse.Namespace) -> tuple[Path, dict[str, str]]:
    """The folder and the spider arguments; raises `InvalidUrlError`, `MirrorError`,
    `ArgumentsError`.
    """
    arguments = pairs(options.arguments, "-a")
    pairs(options.settings, "-s")
    if options.url is not None:
        if "url" in arguments:
            raise ArgumentsError(
                [f"-a url={arguments['url']}: the URL is named already, {options.url}"]
            )
        url = arguments["url"] = start_url(options.url)
        name = arguments.get("source") or default_name(url)
        return Path(options.output or readable_name(name)), arguments
    if options.output is None:
        raise ArgumentsError(
            ["a URL is missing, e.g. llmsspider https://docs.example.com/ -o docs"]
        )
    folder = Path(options.output)
    manifest = read_manifest(folder)
    if manifest is None:
        raise ArgumentsError([f"{folder} holds no tree yet: name the URL it is made from"])
    arguments.setdefault("source", manifest.source)
    return folder, arguments
