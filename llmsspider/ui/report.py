"""The pages of a run as files and values: the report, the page of a crawl that goes, a night.

They are drawn with the templates of the web page, and need neither it nor its server.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from llmsspider.crawler.run import Run
from llmsspider.diff.source import SourceChanges, changes_since
from llmsspider.output.exports import staged
from llmsspider.output.metrics import metrics
from llmsspider.output.mirror import path_for
from llmsspider.output.report import ReportData, RunData
from llmsspider.store import Store
from llmsspider.ui.rendering import render, style
from llmsspider.ui.views import nights_of

REFRESH_SECS = 1
"""Time after which the page of a crawl is loaded again."""
MAX_COMPARED = 500
"""Pages that changed in a run up to which the report shows what changed in them."""


def live_page(data: RunData, *, is_over: bool) -> str:
    """Return the page of a crawl, which loads itself again until it is over."""
    return render("report.html.j2", data=data, refresh=0 if is_over else REFRESH_SECS)


def night_page(changes: SourceChanges, *, summary: bool = False) -> str:
    """Return the changes of a source as a file that loads nothing."""
    return render("night.html.j2", changes=changes, summary=summary, style=style())


def write_report(run: Run, setting: str) -> tuple[Path, str]:
    """Write HTML and JSON, each whole or not at all; returns the absolute path of the HTML, and its
    text.

    `setting` is an HTML file, or a folder for `report.html`; `run.json` stands beside it. Raises
    `OSError` and `StoreError`.
    """
    data, documents = ReportData(run).gather()
    with run.config.stores.open(run.source, create=False) as store:
        nights = nights_of(store.runs())
        changes = _changes(store, run, documents)
    page = _page_at(path_for(setting, data.source, partial(_is_of_another, data.source)))
    page.parent.mkdir(parents=True, exist_ok=True)
    text = render(
        "report.html.j2",
        data=data,
        documents=documents,
        changes=changes,
        nights=nights,
        style=style(),
    )
    with staged(page.with_name("run.prom")) as out:
        out.write(metrics(data.run, data.source, data.oldest_check).encode("utf-8", "replace"))
    with staged(page.with_name("run.json")) as out:
        out.write(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with staged(page) as out:
        out.write(text.encode("utf-8", "replace"))
    return page.resolve(), text


def _page_at(place: Path) -> Path:
    """Return the file of the HTML for a file or a folder."""
    return place if place.suffix.lower() in {".html", ".htm"} else place / "report.html"


def _is_of_another(source: str, place: Path) -> bool:
    told = _page_at(place).with_name("run.json")
    return told.is_file() and b'"source": ' + orjson.dumps(source) not in told.read_bytes()


def _changes(store: Store, run: Run, documents: Sequence[Sequence[Any]]) -> SourceChanges | None:
    """Return what a run changed, with differences; None for the first run of a source, and where
    they are too many.
    """
    changed = sum(row[4] in {"new", "changed", "deleted"} for row in documents)
    if not run.seq_before or changed > MAX_COMPARED:
        return None
    return changes_since(store, run.source, run.seq_before)
