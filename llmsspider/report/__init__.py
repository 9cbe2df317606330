"""What a run leaves to read: `run.json` and a self-contained HTML report (docs/reference/report.md).

`gather` collects all of it as one value from the Run and the store, with `coverage` (listed against crawled), `lint`
(what the owner of an llms.txt should mend) and `sitetree` (the picture); `render` makes HTML of it, with `charts`.
"""

from llmsspider.report.gather import Report, gather
from llmsspider.report.render import render, report_script, write_report

__all__ = ["Report", "gather", "render", "report_script", "write_report"]
