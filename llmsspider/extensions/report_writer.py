"""The report of a run is written when it is in the store."""

import logging

from llmsspider.crawler.progress import Outputs
from llmsspider.crawler.requests import RunExtension
from llmsspider.errors import StoreError


class ReportWriter(RunExtension):
    """Write the report at `engine_stopped`, when the run is in the store, to the path of
    `LLMS_REPORT`.
    """

    outputs: Outputs

    log = logging.getLogger(__name__)

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._setting = str(self.crawler.settings.get("LLMS_REPORT") or "")

    def is_wanted(self) -> bool:
        """Return whether a place was given."""
        return self.is_reported and bool(self._setting)

    def engine_stopped(self) -> None:
        """Write it; Jinja2 is imported here, since a crawl without a report does without."""
        from llmsspider.ui.report import write_report  # noqa: PLC0415

        if not self.records.run_id:
            self.log_line(logging.WARNING, "no report: the run did not begin")
            return
        try:
            path, html = write_report(self.run, self._setting)
        except (OSError, StoreError) as error:
            self.log_line(logging.ERROR, f"the report could not be written: {error}")
            return
        self.outputs.report = html
        self.log_line(logging.INFO, f"report: {path}")
