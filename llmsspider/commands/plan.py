"""`scrapy plan URL`: look before crawling."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from llmsspider.commands.crawl import Command as CrawlCommand
from llmsspider.planning import plan_lines
from llmsspider.printable import printable

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """Run discovery only: what a crawl of URL would find, take and leave out. Nothing is stored."""

    def syntax(self) -> str:
        """Return the usage line."""
        return "[options] <url>"

    def short_desc(self) -> str:
        """Return the description in the list of commands."""
        return "Show what a crawl of URL would find, take and leave out; nothing is stored"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add `--json`."""
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print the plan as JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Turn the URL into a spider argument."""
        if len(args) != 1:
            raise UsageError
        opts.spargs.append(f"url={args[0]}")
        super().process_options(["docs"], opts)
        assert self.settings is not None  # noqa: S101  # as Scrapy's own commands do
        self.settings.set("LLMS_PLAN_ONLY", True, priority="cmdline")
        self.settings.set("LOG_LEVEL", "WARNING", priority="command")
        self.settings.set("FEEDS", {}, priority="cmdline")
        if opts.loglevel is None:
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run discovery and print the plan."""
        super().run(["docs"], opts)
        plan = getattr(getattr(self._crawler.spider, "run", None), "plan", None)
        if plan is None:
            print("scrapy plan: discovery failed, see the lines above", file=sys.stderr)
            self.exitcode = 1
            return
        self.exitcode = 1 if plan["start"]["error"] and not plan["seeds"] else 0
        print(
            json.dumps(plan, indent=2, ensure_ascii=False)
            if opts.json
            else "\n".join(map(printable, plan_lines(plan)))
        )
