"""`llmsspider COMMAND …`: the commands of the project, from any folder; the same as `scrapy COMMAND …` in a project.

Outside a project the stores are those in the folders that `llmsspider URL -o DIR` wrote: a folder stands for its
source, and where there is only one in the working directory neither has to be named.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy import cmdline
from scrapy.commands import ScrapyHelpFormatter
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import UsageError
from scrapy.utils.project import get_project_settings

from llmsspider.errors import ArgumentsError, MirrorError
from llmsspider.mirror import STORE_FOLDER, read_manifest
from llmsspider.store.location import DATA_DIR_VARIABLE, project_dir

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.commands import ScrapyCommand
    from scrapy.settings import Settings

SETTINGS_MODULE = "llmsspider.settings"
COMMANDS_MODULE = "llmsspider.commands"

PLACES = (DATA_DIR_VARIABLE, "LLMS_STORE_URL")
"""The settings that say where the stores are, also read from the environment."""


class Tree(NamedTuple):
    """A folder that `llmsspider URL -o DIR` wrote, and the source it holds."""

    folder: Path
    source: str


def project_settings() -> Settings:
    """Return the settings of the project around, where it is one made from ours, else our own."""
    try:
        settings = get_project_settings()
        ours = settings.get("COMMANDS_MODULE") == COMMANDS_MODULE
    except ImportError:
        ours = False
    if not ours:
        os.environ["SCRAPY_SETTINGS_MODULE"] = SETTINGS_MODULE
        settings = get_project_settings()
    return settings


def commands(settings: Settings) -> dict[str, ScrapyCommand]:
    """Return the commands of the project by name, as Scrapy finds them."""
    return cmdline._get_commands_from_module(settings["COMMANDS_MODULE"], inproject=True)


def run(command: ScrapyCommand, name: str, argv: Sequence[str], settings: Settings) -> int:
    """Run a command as `scrapy.cmdline` does; returns the exit code."""
    parser = cmdline.ScrapyArgumentParser(
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
    args = _located(command, args, opts)
    try:
        command.process_options(args, opts)
        if command.requires_crawler_process:
            command.crawler_process = AsyncCrawlerProcess(settings)
        cmdline._run_command(command, args, opts)
    except UsageError as error:
        if str(error):
            parser.error(str(error))
        parser.print_help()
        return 2
    return command.exitcode


def _located(command: ScrapyCommand, args: list[str], opts: argparse.Namespace) -> list[str]:
    """Return the arguments with the source in place of its folder, and put the store of that folder in force.

    Raises:
        ArgumentsError: several folders could be meant.
    """
    wanted = re.findall(r"[\[<]*(\w+)[\]>]*", command.syntax().replace("[options]", ""))
    if not wanted or wanted[0].lower() != "source":
        return args
    tree = next(_trees(map(Path, args[:1])), None)
    if tree is None:
        if _placed(opts) or project_dir(Path.cwd()):
            return args
        here = list(_trees([Path(), *sorted(path for path in Path().iterdir() if path.is_dir())]))
        tree = next((tree for tree in here if tree.source in args[:1]), None) or _only(here)
        if tree is None:
            return args
        required = len(re.sub(r"\[[^\]]*\]", "", command.syntax()).split())
        args = [tree.source, *args] if len(args) == required - 1 else args
    else:
        args = [tree.source, *args[1:]]
    opts.set.append(f"{DATA_DIR_VARIABLE}={tree.folder.absolute() / STORE_FOLDER}")
    if command.requires_crawler_process:
        opts.set.insert(0, f"LLMS_MIRROR_DIR={tree.folder}")
    return args


def _trees(folders: Sequence[Path] | Iterator[Path]) -> Iterator[Tree]:
    for folder in folders:
        try:
            manifest = read_manifest(folder) if (folder / STORE_FOLDER).is_dir() else None
        except (MirrorError, OSError):
            continue
        if manifest is not None:
            yield Tree(folder, manifest.source)


def _only(trees: list[Tree]) -> Tree | None:
    if len(trees) > 1:
        names = ", ".join(str(tree.folder) for tree in trees)
        raise ArgumentsError([f"several folders here hold documentation: name one of {names}"])
    return trees[0] if trees else None


def _placed(opts: argparse.Namespace) -> bool:
    """Say whether the place of the stores was given."""
    return any(pair.startswith(f"{name}=") for pair in opts.set for name in PLACES) or any(
        os.environ.get(name) for name in PLACES
    )


def summary(settings: Settings) -> str:
    """Return the commands with a line on each, for `llmsspider --help`."""
    found = {name: command.short_desc() for name, command in commands(settings).items()}
    found["mcp"] = "Let agents search and read the crawled documentation"
    return "\n".join(f"  {name:<10} {text}" for name, text in sorted(found.items()))
