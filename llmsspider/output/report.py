"""The report as one HTML file: no request, no external asset, all text escaped; written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from llmsspider.crawl.progress import duration
from llmsspider.output.exports import staged
from llmsspider.output.graph import site_tree
from llmsspider.output.mirror import path_for
from llmsspider.output.run_data import Report, StoredPages
from llmsspider.store import Store

# Charts as inline SVG: colours are CSS classes of the page.

WIDTH = 640
HEIGHT = 160


def timeline(points: Sequence[tuple[float, int, int]]) -> Markup:
    """Render pages done and errors over time; `points` are (seconds, done, errors)."""
    if len(points) < 2 or points[-1][0] <= 0:
        return Markup("")
    end, top = points[-1][0], max(points[-1][1], 1)
    done = _polyline([(secs / end, value / top) for secs, value, _ in points])
    errors = _polyline([(secs / end, value / top) for secs, _, value in points])
    label = f"{points[-1][1]:,} pages and {points[-1][2]:,} errors in {duration(end)}"
    return Markup(
        '<p class="axis"><span>{top:,} pages</span><span><span class="key">pages done</span> '
        '<span class="key bad">errors</span></span></p>'
        '<svg class="chart" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="area" d="{done} L{w} {h} L0 {h} Z"/><path class="line" d="{done}"/>'
        '<path class="line bad" d="{errors}"/></svg>'
        '<p class="axis"><span>0</span><span>{end}</span></p>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        label=label,
        done=Markup(done),  # noqa: S704  # numbers only
        errors=Markup(errors),  # noqa: S704  # numbers only
        top=top,
        end=duration(end),
    )


def bars(values: Mapping[str, int]) -> Markup:
    """Render one bar for each name, the longest first."""
    most = max(values.values(), default=0)
    rows = [
        f'<div class="bar"><span>{escape(name)}</span>'
        f'<div><i class="w{max(round(20 * value / most), 1) if value else 0}"></i></div><b>{value:,}</b></div>'
        for name, value in sorted(values.items(), key=lambda item: -item[1])
    ]
    return Markup("".join(rows))  # noqa: S704  # each name is escaped above


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x * WIDTH:.1f} {HEIGHT - 2 - y * (HEIGHT - 4):.1f}" for x, y in points)


# The report as one HTML file: no request, no external asset, every text of the site escaped.


def _page(
    template: str, script: str, documents: list[list[Any]], tree: dict[str, Any], **values: object
) -> str:
    """Return a page with the graph; it allows itself this script alone."""
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["link"] = lambda url: url.startswith(
        ("https://", "http://")
    )  # a site may say `javascript:`
    environment.filters["duration"] = duration
    return environment.get_template(template).render(
        left_out=tree["pages_left"],
        payload=embedded({"documents": documents, "tree": tree}),
        style=Markup(_text("report.css")),  # noqa: S704  # our own
        script=Markup(script),  # noqa: S704  # our own
        script_hash=csp_hash(script),
        **values,
    )


def embedded(value: Any) -> Markup:
    r"""Return JSON that may stand in a `<script type="application/json">`.

    >>> print(embedded({"a": "</script>"}))
    {"a":"\u003c/script\u003e"}
    """
    text = orjson.dumps(value).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704  # nothing is left that HTML could take for its own


@cache
def report_script() -> str:
    """Return the script of the report."""
    return _text("common.js") + _text("report.js") + _text("graph.js")


def write_graph(store: Store, out: BinaryIO) -> None:
    """Write the stored pages of a source, and those that failed in its last run, as a page with the graph."""
    source, runs = store.source_record(), store.runs()
    pages = StoredPages(store, runs[-1].id if runs else None, None)
    stored = len(pages.rows)
    pages.add_failed(store.errors(runs[-1]) if runs else [])
    tree = site_tree([row[1] for row in pages.rows], pages.links())
    html = _page(
        "graph_page.html.j2",
        _text("common.js") + _text("graph.js"),
        pages.rows,
        tree,
        source=source.name if source else "",
        pages=stored,
        failed=len(pages.rows) - stored,
        links=len(tree["links"]) + tree["links_left"],
    )
    out.write(html.encode("utf-8", "replace"))


def csp_hash(script: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows one inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return files("llmsspider.output").joinpath("assets", name).read_text(encoding="utf-8")


# Writing the report: to the path of `LLMS_REPORT`, whole or not at all.


def report_paths(setting: str, source: str) -> tuple[Path, Path]:
    """Return where the report and its `run.json` go; the setting is an HTML file, or a folder for `report.html`.

    >>> [str(path) for path in report_paths("out/report.htm", "x")]
    ['out/report.htm', 'out/run.json']
    >>> [str(path) for path in report_paths("out", "x")]
    ['out/report.html', 'out/run.json']
    """
    path = path_for(setting, source)
    page = path if path.suffix.lower() in {".html", ".htm"} else path / "report.html"
    return page, page.with_name("run.json")


def write_report(report: Report, setting: str) -> tuple[Path, str]:
    """Write HTML and JSON; returns the absolute path of the HTML, and its text. Raises `OSError`."""
    page, data = report_paths(setting, report.data.source)
    page.parent.mkdir(parents=True, exist_ok=True)
    living = [row for row in report.documents if row[4] != "deleted"]
    text = _page(
        "report.html.j2",
        report_script(),
        report.documents,
        report.tree,
        data=report.data,
        run=report.data.run,
        living=len(living),
        bars=bars,
        timeline=timeline(report.data.timings.timeline),
        origins=dict(Counter(row[3] for row in living)),
        changes=dict(Counter(row[4] for row in report.documents)),
        sections=dict(Counter(row[2] or "(none)" for row in living).most_common(30)),
    )
    with staged(data) as out:
        out.write(orjson.dumps(report.data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    with staged(page) as out:
        out.write(text.encode("utf-8", "replace"))
    return page.resolve(), text
