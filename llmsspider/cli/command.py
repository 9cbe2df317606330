"""Commands that say by attributes what they take; a fault is one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from llmsspider import errors
from llmsspider.cli.options import FAILED, WRONG, Option, options_of, without_options
from llmsspider.cli.summaries import SUMMARIES
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
    from collections.abc import Iterable

    from scrapy.settings import Settings


MAX_SOURCES = 100
"""Sources of one site in which a page is looked for."""


class DescribedCommand(ScrapyCommand):
    """A command that says by attributes what it takes and does; its name is that of its module."""

    usage: ClassVar[str] = "[options]"
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
        return SUMMARIES[self.name]

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
    cannot be read or the output cannot be written.
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
            self.fail(self._of_page(args) or str(error), WRONG)
        except (MirrorError, StoreError, SearchError) as error:
            self.fail(str(error), FAILED)
        except OSError as error:
            where = getattr(opts, "output", None) or error.filename or "stdout"
            self.fail(f"{where}: {error.strerror or error}", FAILED)

    def _of_page(self, args: list[str]) -> str | None:
        """Return in one line what to type in place of the address of a page: the sources that hold
        it, else a crawl; None where no word is an address.
        """
        url = next((word for word in args if "://" in word and fault(word) is None), None)
        if url is None:
            return None
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
