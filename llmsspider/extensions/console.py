"""What a crawl shows to people: a few lines of its log, a live display, the live page.

The whole log then goes to a file beside the page store.
"""

from __future__ import annotations

import atexit
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from llmsspider.config.setting_types import parse_ports
from llmsspider.crawl.progress import duration
from llmsspider.crawl.requests import RunExtension
from llmsspider.crawl.spiderrun import is_watched
from llmsspider.output import printable, status
from llmsspider.store.database import resolve_data_dir, source_slug

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text
    from scrapy.settings import BaseSettings

    from llmsspider.crawl.run import Run
    from llmsspider.extensions.live_server import LiveServer


LOGS = "logs"
LOG_ROOM = 65_536
"""Folder beside the page store for the logs of crawls; bytes that the disk has to take before one
is begun.
"""

IN_THE_SUMMARY = frozenset(
    {
        "llmsspider.extensions.run_summary",
        "llmsspider.downloadermiddlewares.address_guard",
        "llmsspider.downloadermiddlewares.robots",
        "llmsspider.downloadermiddlewares.backoff",
        "llmsspider.pipelines.hash",
        "llmsspider.crawl.ending.faults",
        "llmsspider.store.writer",
    }
)
"""Loggers of what the closing lines say again, or count."""

MOST_ALIKE = 3
FREE = "%(line)s"
"""Lines of one form that are shown, and the form of the notes on a run, which are few and differ.
"""


class ForPeople(logging.Filter):
    """Keep what the project says of the crawl from a level on: no lines of libraries, no
    tracebacks, few alike.
    """

    def __init__(self, level: int = logging.INFO):
        super().__init__()
        self._level = level
        self._alike = Counter[object]()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        ours = record.name.startswith("llmsspider.") and record.name not in IN_THE_SUMMARY
        if not ours or record.levelno < self._level:
            return False
        self._alike[record.msg] += 1
        return record.msg == FREE or self._alike[record.msg] <= MOST_ALIKE


def begin(settings: BaseSettings, source: str, *, loglevel: str | None) -> Path | None:
    """Have the log of a crawl written to a file beside the page store, and show the lines for
    people on stderr.

    `loglevel` shows the log itself from this level on in place of the lines for people. Returns the
    file, which each
    crawl of a source begins anew; None where none can be written.
    """
    logging.raiseExceptions = False  # a line that a full disk does not take is no fault to report
    if loglevel is None:
        listen(logging.INFO)
    else:
        settings.set("LOG_LEVEL", loglevel, priority="cmdline")
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(loglevel.upper())
        handler.setFormatter(
            logging.Formatter(settings.get("LOG_FORMAT"), settings.get("LOG_DATEFORMAT"))
        )
        logging.root.addHandler(handler)
    path = resolve_data_dir(settings.get("LLMS_DATA_DIR")) / LOGS / f"{source_slug(source)}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            bytes(LOG_ROOM)
        )  # Scrapy begins no crawl whose log a full disk does not take
        path.write_bytes(b"")
    except OSError:
        settings.set("LOG_ENABLED", False, priority="cmdline")
        return None
    settings.setdict({"LOG_FILE": str(path), "LOG_FILE_APPEND": False}, priority="cmdline")
    return path


def listen(level: int) -> None:
    """Show the lines for people on stderr, beside whatever handler Scrapy installs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.format = lambda record: record.getMessage()  # type: ignore[method-assign]  # no traceback
    handler.addFilter(ForPeople(level))
    logging.root.addHandler(handler)


# --- the progress of the crawl ---


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
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
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
            self._live.update(view(status.run_report(self._run), self._run.source), refresh=True)

    def stop(self) -> None:
        """Show the last state, and let the log write to the terminal again; idempotent."""
        if self._live is None:
            return
        self.refresh()
        self._live.stop()
        self._live = None
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._handlers.clear()
        atexit.unregister(self.stop)


class LinesAbove:
    """A stream for log handlers: whole lines go above the display, plain, control characters shown
    escaped.
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


def view(run: status.RunStatus, source: str) -> RenderableType:
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
        Text(status.pages(run), style="bold"),
    )
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True, min_width=len("documents"))
    facts.add_column(overflow="ellipsis", no_wrap=True)
    looking = run.phase in {"starting", "discovery"} and run.discovered_file is None
    found = "looking for llms.txt, llms-full.txt and sitemaps" if looking else status.found(run)
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
    return text.append(f"  {status.parts(counts)}", style="dim") if counts else text


class LivePage(RunExtension):
    """Start the server at `spider_opened`; at `engine_stopped`, after the report, send the last
    event and stop.
    """

    log = logging.getLogger(__name__)
    _server: LiveServer | None = None

    def is_wanted(self) -> bool:
        """Return whether the page is wanted: where someone is watching, unless the setting says
        otherwise.
        """
        wanted = str(self.crawler.settings.get("LLMS_STATUS_PORT"))
        self._ports = parse_ports(wanted)
        return self.run.watched and self._ports is not None and (wanted != "auto" or is_watched())

    async def spider_opened(self) -> None:
        """Start; the server is imported here, since most crawls run without."""
        from llmsspider.extensions.live_server import LiveServer  # noqa: PLC0415

        run = self.run
        ports = self._ports or range(0)
        self._server = LiveServer(
            lambda: status.run_report(run),
            lambda: run.outputs.report[1] if run.outputs.report else None,
        )
        if address := await self._server.start(ports):
            self.log_line(logging.INFO, f"live page: {address}")
        else:
            taken = f"the ports {ports[0]} to {ports[-1]} are taken"
            self.log_line(logging.WARNING, f"no live page: {taken} (LLMS_STATUS_PORT)")

    async def engine_stopped(self) -> None:
        """Send the last event and stop."""
        if self._server is not None:
            await self._server.stop()
