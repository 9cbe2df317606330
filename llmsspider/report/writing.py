"""Writing the report: where `LLMS_REPORT` says, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import orjson

from llmsspider.report.gather import Report
from llmsspider.report.render import render
from llmsspider.store.export import staged
from llmsspider.store.location import source_slug


def report_paths(setting: str, source: str) -> tuple[Path, Path]:
    """Return where the report and its `run.json` go.

    `setting` is an HTML file, or a folder that gets `report.html`; `%(source)s` in it stands for the source.

    >>> [str(path) for path in report_paths("out/report.htm", "x")]
    ['out/report.htm', 'out/run.json']
    >>> [str(path) for path in report_paths("out", "x")]
    ['out/report.html', 'out/run.json']
    """
    path = Path(setting.replace("%(source)s", source_slug(source))).expanduser()
    page = path if path.suffix.lower() in {".html", ".htm"} else path / "report.html"
    return page, page.with_name("run.json")


def write_report(report: Report, setting: str) -> tuple[Path, str]:
    """Write HTML and JSON; returns the absolute path of the HTML, and its text. Raises `OSError`."""
    page, data = report_paths(setting, report.data["source"])
    page.parent.mkdir(parents=True, exist_ok=True)
    text = render(report)
    with staged(data) as out:
        out.write(orjson.dumps(report.data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with staged(page) as out:
        out.write(text.encode("utf-8", "replace"))
    return page.resolve(), text
