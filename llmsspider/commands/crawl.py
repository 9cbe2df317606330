"""`scrapy crawl`, with arguments checked before anything starts and exit codes that say how it
went.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import orjson
from scrapy.addons import AddonManager
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.log import configure_logging, log_scrapy_info
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings

from llmsspider import errors
from llmsspider.cli.checking import crawl_problems, spider_problem
from llmsspider.cli.command import DescribedCommand
from llmsspider.cli.options import FAILED, no_option
from llmsspider.cli.scrapy_values import pair_problems, value_problem
from llmsspider.config.sources import default_name
from llmsspider.crawler.requests import run_of
from llmsspider.crawler.spiderrun import on_scrapy_cloud
from llmsspider.errors import StoreError
from llmsspider.extensions import console, dot_scrapy
from llmsspider.output import status
from llmsspider.store import resolve_data_dir
from llmsspider.sync.local import ALIVE
from llmsspider.web.urls import start_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import Settings


logger = logging.getLogger(__name__)

FAILED_REASONS = {"start_failed", "no_documents", "store_failed", "start_error"}
"""Finish reasons that mean that nothing was obtained, or that it could not be kept: exit code 1."""

INCOMPLETE = 3
"""Exit code of a run that got documents, while more pages failed than a complete run may have."""


class Command(DescribedCommand, CrawlCommand):
    """Scrapy's `crawl`; exit code 1 for a run without pages, 2 for wrong arguments, 3 for a site
    that answered in part.

    As `llmsspider crawl` it says what a person wants to know, and the log is in a file (`console`).
    """

    usage = "[options] <spider>"
    word = "spider"
    """What the one word of the command line is: the spider, or the argument of the spider `docs`
    that it stands for.
    """

    folder: Path | None = None
    """Where `llmsspider URL -o DIR` keeps the tree; `again` is that line, for the next time,
    `first` is said before.
    """
    again = first = ""

    _quiet = False
    _log: Path | None = None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, before Scrapy logs or starts anything."""
        problems = self._misplaced(args)
        for pair in opts.spargs:
            if pair.startswith(f"{self.word}=") and self.word != "spider":
                problems.append(f"-a {pair}: the {self.word} is named already")
        if problems := [*problems, *pair_problems(opts.set)]:
            self._refuse(problems, 2)
        if self.word != "spider":
            opts.spargs.append(f"{self.word}={args[0]}")
        super().process_options(args, opts)
        self._spider = args[0] if self.word == "spider" else "docs"
        # add-ons have their say when the crawl is made, later than this
        settings = self.settings.copy()
        AddonManager.load_pre_crawler_settings(settings)
        loader = load_object(settings["SPIDER_LOADER_CLASS"]).from_settings(settings)
        if self._spider not in loader.list():
            self._refuse([spider_problem(self._spider, loader.list())], 2)
        if unloaded := dot_scrapy.load(self.settings):
            self._refuse([unloaded], 2)
        try:
            if problems := crawl_problems(settings, loader.load(self._spider), opts.spargs):
                self._refuse(problems, 2)
        except StoreError as error:
            self._refuse([str(error)], 1)
        self._begin_console(opts)

    def _begin_console(self, opts: argparse.Namespace) -> None:
        if self._for_people(opts):
            name = opts.spargs.get("source") or default_name(start_url(opts.spargs["url"]))
            self._log = console.begin(self.settings, name, loglevel=opts.loglevel)
            self._quiet = opts.loglevel is None or self.folder is not None
        if self.first:
            print(self.first, file=sys.stderr)

    def _misplaced(self, args: list[str]) -> list[str]:
        url = next((word for word in args if "://" in word), None)
        if unknown := [no_option(word, self.known) for word in args if word.startswith("-")]:
            return unknown
        if self.word == "spider" and url:
            return [f"{url} is no spider; `{errors.crawl_command(url)}` crawls it"]
        return (
            []
            if len(args) == 1
            else [f"name one {self.word}" + (f", not {len(args)}" if args else "")]
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add `--verbose` where the lines for people stand in the place of the log."""
        super().add_options(parser)
        if errors.called() == "llmsspider":
            parser.add_argument(
                "-v",
                "--verbose",
                dest="loglevel",
                action="store_const",
                const="INFO",
                help="show the log of the crawl",
            )

    def _for_people(self, opts: argparse.Namespace) -> bool:
        """Return whether the lines for people stand in the place of the log."""
        wanted = errors.called() == "llmsspider" and not opts.spargs.keys().isdisjoint(
            {"url", "source"}
        )
        return wanted and not opts.logfile and not opts.nolog

    def _say_end(self) -> None:
        ended = run_of(self.crawler)
        report = status.run_report(ended) if ended is not None else None
        if report is not None and self._is_kept(report):
            lines = list(status.console_lines(report, self._outputs(report)))
            out = sys.stderr if self.folder is None else sys.stdout
        else:
            why = (
                self._as_typed(status.nothing(report))
                if report is not None
                else "the crawl did not start"
            )
            lines = [f"llmsspider: {why}"]
            out = sys.stderr
        if (log := self._log) is not None:
            lines.append(
                f"log: {log.relative_to(Path.cwd()) if log.is_relative_to(Path.cwd()) else log}"
            )
        if self.folder is not None and out is sys.stdout:
            index = self.folder / "index.md"
            lines.append(f"Start with {index}. To fetch what has changed, later: {self.again}")
        print("\n".join(lines), file=out)

    def _is_kept(self, report: status.RunReport) -> bool:
        is_written = bool(report.mirror) or self.folder is None
        return is_written and bool(report.documents) and report.outcome is not None

    def _outputs(self, report: status.RunReport) -> list[str]:
        outputs = [report.mirror] if report.mirror is not None else []
        if report.delivered is False:
            return outputs
        outputs += [f"{uri} written" for uri in self.settings.getdict("FEEDS")]
        return outputs or ["no output is configured: write the documents with -O documents.jsonl"]

    def _refuse(self, problems: list[str], exitcode: int) -> NoReturn:
        """Say what is wrong where it is read, and end."""
        log = self.settings.get("LOG_FILE")
        # a Scrapyd job: nobody sees its stderr
        logged = bool(log) and value_problem("LOG_FILE", log) is None
        if logged:
            self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")
            configure_logging(self.settings)
        words = [self.name, getattr(self, "_spider", "")] if self.word == "spider" else [self.name]
        typed = " ".join(filter(None, [errors.called(), *([] if self.folder else words)]))
        for problem in problems:
            print(f"{typed}: {self._as_typed(problem)}", file=sys.stderr)
            if logged or on_scrapy_cloud():
                logger.error("%(problem)s", {"problem": problem})
        raise SystemExit(exitcode)

    def _as_typed(self, problem: str) -> str:
        """Return a line in which the folder of `llmsspider URL -o DIR` has the name of the option."""
        if self.folder is None:
            return problem
        if resolve_data_dir(self.settings.get("LLMS_DATA_DIR")).parent == self.folder.absolute():
            problem = problem.replace("another LLMS_DATA_DIR", "another folder with -o")
        named = problem.replace("setting LLMS_MIRROR_DIR: ", "-o ")
        return named.replace(", or put %(source)s into LLMS_MIRROR_DIR", "")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Crawl, and set the exit code."""
        assert self.crawler_process is not None  # noqa: S101  # as Scrapy's own commands do
        gc.freeze()  # what was imported stays
        self.begin(self.crawler_process, opts.spargs)
        self.crawler_process.start()
        gc.freeze()  # nor is it looked at when the interpreter ends, right after this
        self.exitcode = self.outcome(bootstrap_failed=self.crawler_process.bootstrap_failed)
        if self._quiet and not self.crawler_process.bootstrap_failed:
            self._say_end()

    def begin(self, process: CrawlerProcessBase, arguments: dict[str, str]) -> Awaitable[None]:
        """Make the crawl, which goes on when the reactor runs; returns what is done when it has
        ended.
        """
        self.crawler = process.create_crawler(self._spider)
        # a line that a full disk does not take is no fault to report
        logging.raiseExceptions = False
        gc.set_threshold(10_000, 20, 50)
        return process.crawl(self.crawler, **arguments)

    def outcome(self, *, bootstrap_failed: bool) -> int:
        """Return the exit code of the crawl, once it has ended."""
        if bootstrap_failed:
            return FAILED  # Scrapy has said why
        stats = self.crawler.stats
        ended = run_of(self.crawler)
        failed = stats is None or stats.get_value("finish_reason") in FAILED_REASONS
        if ended is not None:
            shown = self.folder is None and ended.outcome and ended.progress.documents
            failed |= ended.outputs.delivered is False if ended.succeeded else not shown
        outage = ended is not None and ended.coverage.outage
        return FAILED if failed else INCOMPLETE if outage else 0


# --- source after source, for `scrapy sync` ---

ALIVE_SECS = 5.0  # time between two signs of life of a crawl
PEAK_MIB = 768.0
"""Memory after whose use a process takes no other source; MEMUSAGE_LIMIT_MB where that is less."""


def peak_mib() -> float:
    """Return the most memory that this process had, in MiB; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    a_mib = 1 << (20 if sys.platform == "darwin" else 10)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / a_mib


def crawl_each() -> None:
    """Crawl one source after the other, as a process of `scrapy sync`, with one reactor and all
    imported once.

    A line on stdin is JSON: first the settings, then for each source the file of its log and the
    words of `crawl`. A line on stdout is the exit code of a crawl and whether another may follow,
    or a sign of life.
    """
    settings = get_project_settings()
    jobs = os.fdopen(os.dup(0), "rb", 0)
    answers = os.dup(1)
    os.dup2(2, 1)
    settings.setdict(orjson.loads(jobs.readline()), priority="cmdline")
    # what it says of itself, each crawl says in its log
    with contextlib.redirect_stderr(io.StringIO()):
        process = AsyncCrawlerProcess(settings)
    working = asyncio.get_event_loop().create_task(_crawl_each(jobs, answers, process, settings))
    gc.freeze()  # what was imported stays
    process.start(stop_after_crawl=False)
    working.cancel()


async def _crawl_each(
    lines: BinaryIO, answers: int, process: AsyncCrawlerProcess, settings: Settings
) -> None:
    from twisted.internet import reactor as installed  # one is, by now

    reactor: Any = installed

    def answer(line: bytes) -> None:
        # a sync that was killed: the crawl goes on to its end
        with contextlib.suppress(BrokenPipeError):
            os.write(answers, line)

    jobs = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(jobs), lines)
    try:
        while line := await jobs.readline():
            process.settings = settings.copy()
            process.bootstrap_failed = False
            # what was warned of once is said to the next crawl, too
            with warnings.catch_warnings():
                code, failed = await _crawl(process, orjson.loads(line), answer)
            gc.collect()
            bound = min(PEAK_MIB, process.settings.getfloat("MEMUSAGE_LIMIT_MB") or PEAK_MIB)
            may_go_on = not failed and peak_mib() < bound
            answer(orjson.dumps({"exit_code": code, "more": may_go_on}) + b"\n")
    finally:
        reactor.stop()


async def _crawl(
    process: AsyncCrawlerProcess, words: list[str], answer: Callable[[bytes], None]
) -> tuple[int, bool]:
    """Return the exit code of a crawl, and whether Scrapy or the store failed; what it prints is in
    its log.
    """
    log, *words = words
    with open(log, "ab") as file:  # noqa: ASYNC230, PTH123
        for standard in (1, 2):
            os.dup2(file.fileno(), standard)
    command = Command()
    parser = argparse.ArgumentParser()
    command.settings = process.settings
    command.add_options(parser)
    opts, args = parser.parse_known_args(words)
    try:
        command.process_options(args, opts)
    except SystemExit as refused:
        return int(refused.code or 0), refused.code == FAILED
    crawl = {asyncio.ensure_future(command.begin(process, opts.spargs))}
    log_scrapy_info(process.settings)
    while crawl:
        _, crawl = await asyncio.wait(crawl, timeout=ALIVE_SECS)
        answer(ALIVE)
    ended = run_of(command.crawler)
    failed = process.bootstrap_failed or (ended is not None and ended.outcome == "store_failed")
    return command.outcome(bootstrap_failed=process.bootstrap_failed), failed
