"""What commands share: the exit codes of faults, options, and where the page store is."""

from __future__ import annotations

import argparse
import os
import re
import sys
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import orjson
from scrapy.commands import ScrapyCommand

from llmsspider import errors
from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.errors import (
    ArgumentsError,
    MirrorError,
    SearchError,
    StoreError,
    UnknownSourceError,
)
from llmsspider.store import SourceRecord, Stores, resolve_data_dir
from llmsspider.web.addresses import same_site
from llmsspider.web.urls import fault, identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy.settings import Settings

WRONG = 2
"""Exit code of a command whose arguments or settings are wrong; nothing was fetched."""

FAILED = 1
"""Exit code of a command that could not do what it was asked."""

MAX_SOURCES = 100
"""Sources of one site in which a page is looked for."""


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


class DescribedCommand(ScrapyCommand):
    """A command that says by attributes what it takes and does; its name is that of its module."""

    usage: ClassVar[str] = "[options]"
    summary: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()
    known: Iterable[str] = ()
    """The options that the command has."""
    settings: Settings  # scrapy.cmdline sets it before anything is called

    @property
    def name(self) -> str:
        """The name of the command."""
        return type(self).__module__.rpartition(".")[2]

    def syntax(self) -> str:
        """Return the arguments."""
        return self.usage

    def short_desc(self) -> str:
        """Return the line of `scrapy -h`."""
        return self.summary

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of Scrapy and those of the command."""
        super().add_options(parser)
        for names, given in self.options:
            parser.add_argument(*names.split(), **given)
        self.known = options_of(parser)

    def fail(self, problem: str, exitcode: int) -> None:
        """Say what is wrong and set the exit code."""
        sys.stderr.write(f"{errors.called()} {self.name}: {problem}\n")
        self.exitcode = exitcode


class OneLineCommand(DescribedCommand):
    """A command that is no crawl: a fault is one line on stderr.

    The exit code is `WRONG` for wrong arguments (an unknown source too), `FAILED` where the store
    cannot be read or the
    output cannot be written.
    """

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    @abstractmethod
    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do what the command is for; raises an error of this project, or `OSError` where it cannot
        write.
        """

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Work, and turn what goes wrong into a line and an exit code."""
        try:
            self.work(without_options(args, self.known), opts)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of the pipe has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except ArgumentsError as error:
            for problem in error.problems:
                self.fail(problem, WRONG)
        except UnknownSourceError as error:
            url = next((word for word in args if "://" in word and fault(word) is None), None)
            self.fail(str(error) if url is None else self._of_page(url), WRONG)
        except (MirrorError, StoreError, SearchError) as error:
            self.fail(str(error), FAILED)
        except OSError as error:
            where = getattr(opts, "output", None) or error.filename or "stdout"
            self.fail(f"{where}: {error.strerror or error}", FAILED)

    def _of_page(self, url: str) -> str:
        """Return in one line what to type in place of the address of a page: the sources that hold
        it, else a crawl.
        """
        stores = self.stores()

        def holds(record: SourceRecord) -> bool:
            if identity(record.url) == identity(url):
                return True
            with suppress(StoreError), stores.open(record.name, create=False) as store:
                return store.page_by_url(url) is not None
            return False

        near = [record for record in stores.list() if same_site(record.url, url)][:MAX_SOURCES]
        names = [record.name for record in near if holds(record)]
        first = f"{url!r} is an address, and no source"
        if not names:
            return f"{first}; none has this page: `{errors.crawl_command(url)}` crawls it"
        several = f"the sources {', '.join(map(repr, names))} have"
        which = several if names[1:] else f"source {names[0]!r} has"
        return f"{first}; {which} this page: `{errors.command(self.name, names[0])}`"

    def stores(self) -> Stores:
        """Return where the stores of the project are, and their class; raises `ArgumentsError`."""
        stores = Config.from_settings(self.settings).stores
        return replace(stores, data_dir=resolve_data_dir(stores.data_dir))


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


def as_json(value: object) -> str:
    """Return a value as indented JSON, with a line break at its end."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a line for each row, its columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
