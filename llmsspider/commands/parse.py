"""`scrapy parse`, with the URL as that of the spider where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.parse import Command as ParseCommand

from llmsspider.cli.checking import crawl_problems
from llmsspider.cli.command import DescribedCommand
from llmsspider.cli.options import WRONG, without_options
from llmsspider.config.settings import take_environment
from llmsspider.errors import ArgumentsError, StoreError
from llmsspider.spiders.docs import DocsSpider
from llmsspider.spiders.page import PageSpider

if TYPE_CHECKING:
    import argparse


class Command(DescribedCommand, ParseCommand):
    """Scrapy's `parse`: one URL by its spider, and what came of it; nothing is stored."""

    usage = "[options] <url>"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, before Scrapy logs or starts anything."""
        try:
            words = without_options(args, self.known)
            if len(words) != 1 or "://" not in words[0]:
                raise ArgumentsError(["name one URL, e.g. https://docs.example.com/"])
            if opts.depth < 1:
                raise ArgumentsError([f"--depth {opts.depth}: 1 or more is accepted"])
        except ArgumentsError as error:
            self._refuse(error.problems)
        super().process_options(args, opts)

    def _refuse(self, problems: list[str]) -> None:
        for problem in problems:
            self.fail(problem, WRONG)
        if problems:
            raise SystemExit(WRONG)

    def set_spidercls(self, url: str, opts: argparse.Namespace) -> None:
        """Find the spider; one of this project gets the URL as its argument."""
        super().set_spidercls(url, opts)
        if self.spidercls is None or not issubclass(self.spidercls, DocsSpider | PageSpider):
            return
        if not {"url", "source"} & set(opts.spargs):
            opts.spargs["url"] = url
        try:
            take_environment(self.settings)
            problems = crawl_problems(self.settings.copy(), self.spidercls, opts.spargs)
        except StoreError as error:
            problems = [str(error)]
        self._refuse(problems)
