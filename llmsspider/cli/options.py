"""Options and arguments of commands, and what is wrong with them in one line."""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from llmsspider import errors
from llmsspider.errors import (
    ArgumentsError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


WRONG = 2
"""Exit code of a command whose arguments or settings are wrong; nothing was fetched."""

FAILED = 1
"""Exit code of a command that could not do what it was asked."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, with exit code `WRONG`."""

    def error(self, message: str) -> NoReturn:
        """Write the message to stderr and exit."""
        unknown = message.partition("unrecognized arguments: ")[2]
        if unknown.startswith("-"):
            self.exit(WRONG, f"{self.prog}: {no_option(unknown.split()[0], options_of(self))}\n")
        if unknown and "-o" in options_of(self):
            message = f"{unknown} is one too many; where to write stands after -o"
        self.exit(WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of a parser, as its help names them."""
    return re.findall(r"(?<!\S)--?[a-z][\w-]*", parser.format_help(), re.IGNORECASE)


def no_option(word: str, known: Iterable[str]) -> str:
    """Return the line for an option that there is not: one of nearly that name, or an argument of
    the spider, is meant.

    >>> no_option("--limt", ["--limit"]), no_option("--max-page=3", ["-a"])
    ('--limt is no option; did you mean --limit?', '--max-page=3 is no option; did you mean -a
    max_pages=…?')
    """
    meant = {name: name for name in known}
    if "-a" in meant:
        from llmsspider.config.arguments import DocsArguments  # noqa: PLC0415  # takes long

        meant |= {
            f"--{name.replace('_', '-')}": f"-a {name}=…" for name in DocsArguments.model_fields
        }
    close = get_close_matches(word.partition("=")[0], meant, n=1, cutoff=0.8)
    return f"{word} is no option" + (
        f"; did you mean {meant[close[0]]}?" if close else " (see --help)"
    )


Option = tuple[str, dict[str, Any]]


def option(names: str, about: str, **given: Any) -> Option:
    """Return an option of a command, such as `-o --output`, and what `argparse` is told of it."""
    return names, {"help": about, **given}


def flag(name: str, about: str) -> Option:
    """Return an option that takes no value."""
    return option(name, about, action="store_true")


def add_pairs(parser: argparse.ArgumentParser) -> None:
    """Add the options for spider arguments and settings."""
    pair: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    parser.add_argument("-a", dest="arguments", help="a spider argument", **pair)
    parser.add_argument("-s", dest="settings", help="a setting", **pair)


def pairs(given: list[str], option: str) -> dict[str, str]:
    """Return the values of an option that is given as NAME=VALUE, by name; the last one of a name
    counts.

    Raises:
        ArgumentsError: one of them has no name or no `=`.
    """
    parted = [pair.partition("=") for pair in given]
    if wrong := [name for name, mark, _ in parted if not (name and mark)]:
        raise ArgumentsError([f"{option} {wrong[0]!r}: NAME=VALUE is accepted"])
    return {name: value for name, _, value in parted}


def without_options(args: list[str], known: Iterable[str]) -> list[str]:
    """Return the words that are no options; raises `ArgumentsError` for options that the command
    has not.
    """
    before = args.index("--") if "--" in args else len(args)
    unknown = [
        word for word in args[:before] if word.startswith("-") and len(word) > 1 and " " not in word
    ]
    if unknown:
        lines = [no_option(word, known) for word in unknown]
        remedy = "; words that begin so stand after --"
        raise ArgumentsError([line if line.endswith("?") else line + remedy for line in lines])
    return [*args[:before], *args[before + 1 :]]


def one_source(args: list[str]) -> str:
    """Return the only argument, the name of a source; raises `ArgumentsError`."""
    if len(args) != 1:
        raise ArgumentsError([f"name one source; `{errors.command('sources')}` lists them"])
    return args[0]


def choice_problems(*choices: tuple[str, str, Iterable[str]]) -> list[str]:
    """Return a line for each option, of (option, value, accepted values), whose value is none of
    those.
    """
    return [
        f"{option} {value!r}: accepted are {', '.join(known)}"
        for option, value, known in choices
        if value not in known
    ]


def number(text: str) -> int | None:
    """Return the whole number of 0 or more that a text is; None for any other, and for one that SQL
    cannot take.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
