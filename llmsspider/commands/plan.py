"""`scrapy plan URL`: look before crawling."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmsspider import errors
from llmsspider.cli.options import flag
from llmsspider.commands.crawl import Command as CrawlCommand
from llmsspider.config.arguments import PLAN_ONLY
from llmsspider.config.settings import Config, take_environment
from llmsspider.crawler.requests import run_of
from llmsspider.extensions import console
from llmsspider.output import printable

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """Run discovery only: what a crawl of a URL, or the next one of a stored source, would find,
    fetch and filter. Nothing is stored.
    """

    _options: Sequence[str] = ()  # what was given beside the URL

    usage = "[options] <url or source>"
    word = "url"
    options = (flag("--json", "print the plan as JSON"),)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments; nothing is to be stored or written."""
        opts.spargs.append(f"{PLAN_ONLY}=true")
        if len(args) == 1 and self._is_source(args[0], opts.set):
            self.word = "source"
        super().process_options(args, opts)
        self.settings.set("FEEDS", {}, priority="cmdline")
        self._options = [part for pair in opts.set for part in ("-s", pair)]
        arguments = {
            name: value
            for name, value in opts.spargs.items()
            if name not in {"url", "source", PLAN_ONLY}
        }
        self._options += [part for pair in arguments.items() for part in ("-a", "=".join(pair))]
        if opts.loglevel is None and not opts.logfile and not opts.nolog:
            self.settings.set("LOG_ENABLED", False, priority="cmdline")
            console.listen(logging.WARNING)

    def _is_source(self, name: str, given: Sequence[str]) -> bool:
        settings = self.settings.copy()
        settings.setdict(dict(pair.partition("=")[::2] for pair in given), "cmdline")
        take_environment(settings)
        try:
            stores = Config.from_settings(settings).stores
            return stores.get(name) is not None
        except errors.LlmsspiderError:  # it is said when the arguments are checked
            return False

    def _for_people(self, opts: argparse.Namespace) -> bool:
        return False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run discovery and print the plan."""
        from llmsspider.crawler.plan import plan_lines, with_options

        super().run(args, opts)
        ended = run_of(self.crawler)
        plan = ended.plan if ended is not None else None
        if plan is not None:
            plan.arguments = with_options(plan.arguments, self._options)
        self.exitcode = 1 if plan is None or (plan.start.error and not plan.seeds) else 0
        if self.exitcode:
            print(f"{errors.called()} plan: {printable(self._failure())}", file=sys.stderr)
        if plan is not None and opts.json:
            print(json.dumps(dataclasses.asdict(plan), indent=2, ensure_ascii=False))
        elif plan is not None and not self.exitcode:
            print("\n".join(map(printable, plan_lines(plan))))

    def _failure(self) -> str:
        """Return why there is no plan."""
        stats = self.crawler.stats
        if stats is not None and stats.get_value("finish_reason") == "shutdown":
            return "stopped before there was a plan"
        ended = run_of(self.crawler)
        return "the crawl did not start" if ended is None else ended.advice.nothing_obtained()
