"""The progress of the crawl: a live display below the log where stderr is a terminal, else a line at intervals."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from llmsspider.crawl.jobs import is_terminal
from llmsspider.crawl.progress import duration
from llmsspider.crawl.spiderrun import required_run
from llmsspider.output import summary
from llmsspider.output.status import run_report
from llmsspider.output.summary import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from llmsspider.crawl.run import Run
    from llmsspider.output.status import RunStatus

logger = logging.getLogger(__name__)

REFRESH_SECS = 0.5
"""Time between two states of the display."""


class TerminalProgress:
    """Show snapshots of the run; they take the place of Scrapy's LogStats.

    A line is logged at INFO every `LOGSTATS_INTERVAL` seconds and when a phase begins with documents there. With a
    terminal a display of rich stands below the log in its place, and log lines are written above it as they are.
    """

    def __init__(self, crawler: Crawler, run: Run, *, live: bool, interval: float):
        self._crawler = crawler
        self._run = run
        self._display = Display(run) if live else None
        self._interval = interval
        self._logged_phase = ""
        self._logged_secs = 0.0
        self._task = create_looping_call(self.tick)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TerminalProgress:
        """Take the run of the spider and look whether stderr is a terminal."""
        run = required_run(crawler)
        if not run.watched:
            raise NotConfigured  # a plan or a single page: nothing to warn of
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        extension = cls(crawler, run, live=wants_display(crawler.settings, sys.stderr), interval=interval)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def spider_opened(self) -> None:
        """Start the display, or the lines in its place."""
        if self._display is not None:
            self._display.start()
        self._task.start(REFRESH_SECS if self._display is not None else 1.0)

    def engine_stopped(self) -> None:
        """Show the final state and restore the terminal; the run is closed by now."""
        if self._task.running:
            self._task.stop()
        self._run.progress.sample()
        if self._display is not None:
            self._display.stop()

    def tick(self) -> None:
        """Add a point to the timeline; refresh the display or log a line when one is due."""
        progress = self._run.progress
        progress.sample()
        if self._display is not None:
            self._display.refresh()
            return
        due = self._interval and progress.elapsed_secs - self._logged_secs >= self._interval
        is_new = self._logged_phase not in {"", "starting"} and self._logged_phase != progress.phase
        if due or (is_new and progress.documents):  # a first line of zeros is of no use
            self._logged_secs = progress.elapsed_secs
            line = summary.progress_line(run_report(self._run))
            logger.info("%(line)s", {"line": line}, extra={"spider": self._crawler.spider})
        self._logged_phase = progress.phase


def wants_display(settings: BaseSettings, stream: TextIO) -> bool:
    """Return whether a live display belongs on a stream: a real terminal that nothing else writes to."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return False
    feeds = {str(uri).partition(":")[0] for uri in settings.getdict("FEEDS")}
    return is_terminal(stream) and not ({"-", "stdout"} & feeds and is_terminal(sys.stdout))


class Display:
    """The live display, and the log above it."""

    def __init__(self, run: Run):
        self._run = run
        self._live: Live | None = None
        self._handlers: list[tuple[logging.StreamHandler[TextIO], TextIO]] = []

    def start(self) -> None:
        """Take over the terminal; rich is imported here, since most runs do without."""
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415

        console = Console(stderr=True)
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._live.start()
        atexit.register(self.stop)  # a second Ctrl-C ends the process on the spot
        above = LinesAbove(console)
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                self._handlers.append((handler, handler.stream))
                handler.setStream(above)
        self.refresh()

    def refresh(self) -> None:
        """Show the state of this moment."""
        if self._live is not None:
            self._live.update(view(run_report(self._run), self._run.source), refresh=True)

    def stop(self) -> None:
        """Show the last state, and let the log write to the terminal again; idempotent."""
        live, self._live = self._live, None
        if live is None:
            return
        live.update(view(run_report(self._run), self._run.source), refresh=True)
        live.stop()
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._handlers.clear()
        atexit.unregister(self.stop)


class LinesAbove:
    """A stream for log handlers: whole lines go above the display, neither wrapped nor coloured.

    Control characters, which a site could put into a URL or a title, are shown escaped, not interpreted.
    """

    def __init__(self, console: Console):
        self._console = console
        self._rest = ""

    def write(self, text: str) -> int:
        """Write what is complete of the text."""
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            self._console.out("\n".join(map(printable, lines)), highlight=False)
        return len(text)

    def flush(self) -> None:
        """Do nothing: lines are written at once."""


def view(run: RunStatus, source: str) -> RenderableType:
    """Return the display: a bar, and what was found, done and filtered."""
    from rich.console import Group  # noqa: PLC0415  # as in `Display.start`
    from rich.panel import Panel  # noqa: PLC0415
    from rich.progress_bar import ProgressBar  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True, justify="right")
    bar.add_row(
        Text(run.phase, style="bold cyan"),
        ProgressBar(total=max(run.total, 1), completed=run.done),
        Text(summary.pages(run), style="bold"),
    )
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True, min_width=len("documents"))
    facts.add_column(overflow="ellipsis", no_wrap=True)
    looking = run.phase in {"starting", "discovery"} and run.discovered_file is None
    found = "looking for llms.txt, llms-full.txt and sitemaps" if looking else summary.found(run)
    facts.add_row("found", Text(found))
    facts.add_row("documents", _counted(run.documents, run.origins, "green"))
    facts.add_row("queued", Text(f"{run.queued}, {run.unchanged} unchanged"))
    facts.add_row("errors", _counted(run.errors.count, run.errors.by_kind, "red"))
    facts.add_row("filtered", _counted(run.filtered.count, run.filtered.by_reason, "yellow"))
    facts.add_row("pace", Text(f"{run.pages_per_min:.0f} pages/min, {duration(run.elapsed_secs)}"))
    return Panel(Group(bar, facts), title=Text(source), title_align="left", border_style="dim")


def _counted(count: int, counts: dict[str, int], colour: str) -> Text:
    from rich.text import Text  # noqa: PLC0415

    text = Text(str(count), style=colour if count else "")
    return text.append(f"  {summary.parts(counts)}", style="dim") if counts else text
