"""`scrapy parse`, with the URL as that of the spider where none is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.commands.parse import Command as ParseCommand

from llmsspider.errors import StoreError
from llmsspider.launch.checking import crawl_problems
from llmsspider.launch.storecommand import DescribedCommand
from llmsspider.spiders.docs import DocsSpider
from llmsspider.spiders.page import PageSpider

if TYPE_CHECKING:
    import argparse


class Command(DescribedCommand, ParseCommand):
    """Scrapy's `parse`: one URL by its spider, and what came of it; nothing is stored."""

    usage = "[options] <url>"
    summary = "Parse URL (using its spider) and print the results"

    def set_spidercls(self, url: str, opts: argparse.Namespace) -> None:
        """Find the spider; one of this project gets the URL as its argument."""
        super().set_spidercls(url, opts)
        if self.spidercls is None or not issubclass(self.spidercls, DocsSpider | PageSpider):
            return
        if not {"url", "source"} & set(opts.spargs):
            opts.spargs["url"] = url
        try:
            problems = crawl_problems(self.settings, self.spidercls, opts.spargs)
        except StoreError as error:
            problems = [str(error)]
        for problem in problems:
            print(f"scrapy parse: {problem}", file=sys.stderr)
        if problems:
            raise SystemExit(2)
