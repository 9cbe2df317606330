"""The live display of a crawl in a terminal, and the log above it."""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from llmsspider.crawler.progress import duration
from llmsspider.output import printable, status

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text


class Display:
    """The live display, and the log above it."""

    def __init__(self, source: str, snapshot: Callable[[], status.RunStatus]):
        self._source = source
        self._snapshot = snapshot
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
            self._live.update(view(self._snapshot(), self._source), refresh=True)

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
        """Write what is complete of the text; lines break between words."""
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            whole = "\n".join(map(printable, lines))
            self._console.print(whole, markup=False, highlight=False, emoji=False)
        return len(text)

    def flush(self) -> None:
        """Do nothing: lines are written at once."""


def view(snapshot: status.RunStatus, source: str) -> RenderableType:
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
        Text(snapshot.phase, style="bold"),
        ProgressBar(total=max(snapshot.total, 1), completed=snapshot.done),
        Text(status.pages(snapshot), style="bold"),
    )
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True, min_width=len("documents"))
    facts.add_column(overflow="fold")
    facts.add_row("found", Text(status.found(snapshot)))
    facts.add_row("documents", _counted(snapshot.documents, snapshot.origins))
    facts.add_row("queued", Text(f"{snapshot.queued}, {snapshot.unchanged} unchanged"))
    facts.add_row("errors", _counted(snapshot.errors.count, snapshot.errors.by_kind, "bold red"))
    facts.add_row("filtered", _counted(snapshot.filtered.count, snapshot.filtered.by_reason))
    facts.add_row(
        "pace", Text(f"{snapshot.pages_per_min:.0f} pages/min, {duration(snapshot.elapsed_secs)}")
    )
    return Panel(Group(bar, facts), title=Text(source), title_align="left", border_style="dim")


def _counted(count: int, counts: dict[str, int], style: str = "bold") -> Text:
    """Return a number, and what it is made of; colours that a white terminal hides are none."""
    from rich.text import Text  # noqa: PLC0415

    return Text.assemble((str(count), style if count else ""), f"  {status.parts(counts)}".rstrip())
