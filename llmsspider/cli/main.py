"""`llmsspider`: what was typed is given to what does it, which is imported then.

Half a second of imports is spared by `--version`, `--help` and `convert`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from llmsspider import __version__, errors
from llmsspider.cli.options import WRONG, OneLineParser, add_pairs
from llmsspider.cli.summaries import SUMMARIES
from llmsspider.errors import ArgumentsError

_OWN = {
    "convert": "converting",
    "doctor": "doctor",
    "mcp": "mcp",
    "page": "page",
    "ui": "ui",
}
"""The modules of this room with the commands that `scrapy` has not."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was typed; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        exitcode = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ArgumentsError as error:
        sys.stderr.writelines(f"llmsspider: {problem}\n" for problem in error.problems)
        return WRONG
    except KeyboardInterrupt:
        sys.stderr.write("llmsspider: stopped before it had begun\n")
        return 130  # as shells have it
    return exitcode


def _run(given: list[str]) -> int:
    errors.call("llmsspider")
    name = given[0] if given else ""
    if name in _OWN:
        module = import_module(f"llmsspider.cli.{_OWN[name]}")
        command: Callable[[list[str]], int] = module.main
        return command(given[1:])
    is_command = re.fullmatch(r"[a-z]\w*", name)
    shows_help = not {"-h", "--help"}.isdisjoint(given)
    options = None if is_command else parser(with_commands=shows_help).parse_args(given)
    from llmsspider.cli import project  # noqa: PLC0415  # which takes Scrapy along

    return project.run(name, given[1:]) if options is None else project.crawl(options, given)


def parser(*, with_commands: bool = False) -> argparse.ArgumentParser:
    """Return the options of the command; the commands are listed for `--help` alone."""
    epilog = (
        "The same in a project: scrapy crawl docs -a url=URL -s LLMS_MIRROR_DIR=DIR.\n"
        "Where DIR is named below, commands take it for SOURCE."
    )
    if with_commands:
        listed = "\n".join(f"  {name:<10} {text}" for name, text in SUMMARIES.items())
        epilog = f"commands (llmsspider COMMAND --help describes each):\n{listed}\n\n{epilog}"
    made = OneLineParser(
        prog="llmsspider",
        usage="llmsspider URL [-o DIR|FILE] [options]\n       llmsspider COMMAND …",
        description=(
            "A documentation site as a folder of Markdown. Run it again and only what changed is"
            " fetched."
        ),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    url = "any page of the documentation; known for a folder that exists"
    target = (
        "the folder (default: named after the site), or a file: .jsonl, .csv, .parquet, .md; - is"
        " stdout"
    )
    made.add_argument("url", nargs="?", metavar="URL", help=url)
    made.add_argument("-o", "-O", "--output", metavar="DIR|FILE", help=target)
    add_pairs(made)
    made.add_argument("-v", "--verbose", action="store_true", help="show the log of the crawl")
    made.add_argument(
        "-L", "--loglevel", metavar="LEVEL", help="show the log from this level on, e.g. DEBUG"
    )
    made.add_argument("--version", action="version", version=f"llmsspider {__version__}")
    return made
