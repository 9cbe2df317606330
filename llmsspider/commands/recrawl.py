"""`scrapy recrawl SOURCE`: the next crawl of a stored source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from llmsspider.commands.crawl import Command as CrawlCommand

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """`scrapy crawl docs -a source=SOURCE`, with the same options; `-a` overrides what is stored, for this run only."""

    def syntax(self) -> str:
        """Return the usage line."""
        return "[options] <source>"

    def short_desc(self) -> str:
        """Return the description in the list of commands."""
        return "Crawl a stored source again; only what changed is fetched"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Turn the source into a spider argument."""
        if len(args) != 1:
            raise UsageError
        opts.spargs.append(f"source={args[0]}")
        super().process_options(["docs"], opts)

    def _named(self, spider: str) -> str:
        return "recrawl"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Crawl, and set the exit code."""
        super().run(["docs"], opts)
