"""What a run leaves to read: `run.json` and a self-contained HTML report (docs/reference/report.md).

In: the `Run` and its store. Out: files. The extension `report` imports it.

    run_data    what `run.json` holds, collected        render    HTML
"""

from llmsspider.output.report.render import render, report_script, write_report
from llmsspider.output.report.run_data import Report, gather

__all__ = ["Report", "gather", "render", "report_script", "write_report"]
