"""The report as one HTML file: no request, no external asset, every text of the site escaped."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from llmsspider.progress import duration
from llmsspider.report import charts
from llmsspider.report.gather import sections_of

if TYPE_CHECKING:
    from llmsspider.report.gather import Report


def render(report: Report) -> str:
    """Return the HTML of a report."""
    run = report.data["run"]
    living = [row for row in report.documents if row[4] != "deleted"]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            data=report.data,
            run=run,
            coverage=report.coverage,
            findings=report.findings,
            living=len(living),
            bars=charts.bars,
            timeline=charts.timeline(report.data["timings"]["timeline"]),
            origins=dict(Counter(row[3] for row in living)),
            changes=dict(Counter(row[4] for row in report.documents)),
            sections=dict(Counter(sections_of(living)).most_common(30)),
            left_out=report.tree["pages_left"],
            payload=embedded({"documents": report.documents, "tree": report.tree}),
            style=Markup(_text("report.css")),  # noqa: S704  # our own
            script=Markup(report_script()),  # noqa: S704  # our own
            script_hash=csp_hash(report_script()),
        )
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
    return _text("report.js")


def csp_hash(script: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows one inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def is_link(url: str) -> bool:
    """Say whether a URL may be a link of the report: what a site writes may be `javascript:`."""
    return url.startswith(("https://", "http://"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["link"] = is_link
    environment.filters["duration"] = duration
    return environment


def _text(name: str) -> str:
    return files("llmsspider.report").joinpath("assets", name).read_text(encoding="utf-8")
