"""What a run leaves to read: `run.json` and a self-contained HTML report (docs/reference/report.md).

In: the `Run` and its store. Out: files. The extension `report` imports it.

    values    what `run.json` holds; listed pages against crawled ones
    gather    collects it                       render    HTML
"""

from llmsspider.output.report.gather import Report, gather
from llmsspider.output.report.render import render, report_script, write_report

__all__ = ["Report", "gather", "render", "report_script", "write_report"]
