"""What the live display of the terminal shows of a snapshot. Imported with rich, when there is a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from llmsspider.crawl.progress import duration
from llmsspider.output import summary

if TYPE_CHECKING:
    from llmsspider.crawl.progress import Snapshot


def view(snapshot: Snapshot, source: str) -> RenderableType:
    """Return the display: a bar, and what was found, done and filtered."""
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True, justify="right")
    bar.add_row(
        Text(snapshot.phase, style="bold cyan"),
        ProgressBar(total=max(snapshot.total, 1), completed=snapshot.done),
        Text(f"{snapshot.done}/{snapshot.total} pages ({snapshot.percent}%)", style="bold"),
    )
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True, min_width=len("documents"))
    facts.add_column(overflow="ellipsis", no_wrap=True)
    facts.add_row("found", Text(_found(snapshot)))
    facts.add_row("documents", _counted(snapshot.documents, snapshot.origins, "green"))
    facts.add_row("queued", Text(f"{snapshot.queued}, {snapshot.unchanged} unchanged"))
    facts.add_row("errors", _counted(snapshot.failed, snapshot.errors, "red"))
    facts.add_row("filtered", _counted(snapshot.left_out, snapshot.filtered, "yellow"))
    pace = f"{snapshot.pages_per_min:.0f} pages/min, {duration(snapshot.elapsed_secs)}"
    facts.add_row("pace", Text(pace))
    return Panel(Group(bar, facts), title=Text(source), title_align="left", border_style="dim")


def _found(snapshot: Snapshot) -> str:
    if snapshot.phase in {"starting", "discovery"} and snapshot.discovered_file is None:
        return "looking for llms.txt, llms-full.txt and sitemaps"
    return summary.found(snapshot)


def _counted(count: int, counts: dict[str, int], colour: str) -> Text:
    text = Text(str(count), style=colour if count else "")
    return text.append(f"  {summary.parts(counts)}", style="dim") if counts else text
