"""The progress of a crawl in the terminal: a display, or lines of the log."""

import logging
import os
import sys
from functools import partial

from scrapy.utils.asyncio import create_looping_call

from llmsspider.crawler.progress import Progress
from llmsspider.crawler.requests import RunExtension
from llmsspider.crawler.spiderrun import is_terminal
from llmsspider.extensions.display import Display
from llmsspider.output.status import current_status, progress_line

REFRESH_SECS = 0.5
"""Time between two states of the display."""


class TerminalProgress(RunExtension):
    """Show snapshots of the run; they take the place of Scrapy's LogStats.

    A line is logged at INFO every `LOGSTATS_INTERVAL` seconds and when a phase begins with
    documents there. With a terminal a display of rich stands below the log in its place, and log
    lines are written above it as they are.
    """

    progress: Progress

    log = logging.getLogger(__name__)

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        feeds = {str(uri).partition(":")[0] for uri in self.crawler.settings.getdict("FEEDS")}
        # documents are written there
        is_shared = {"-", "stdout"} & feeds and is_terminal(sys.stdout)
        is_plain = os.environ.get("TERM", "dumb") == "dumb" or not is_terminal(sys.stderr)
        now = partial(current_status, self.run)
        self._display = None if is_plain or is_shared else Display(self.records.source, now)
        self._interval = self.crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logged_phase = ""
        self._logged_secs = 0.0
        self._task = create_looping_call(self.tick)

    def is_wanted(self) -> bool:
        """Return False for a plan or a single page."""
        return self.is_reported

    def spider_opened(self) -> None:
        """Start the display, or the lines in its place."""
        if self._display is not None:
            self._display.start()
        self._task.start(REFRESH_SECS if self._display is not None else 1.0)

    def engine_stopped(self) -> None:
        """Show the final state and restore the terminal; the run is closed by now."""
        if self._task.running:
            self._task.stop()
        self.progress.sample()
        if self._display is not None:
            self._display.stop()

    def tick(self) -> None:
        """Add a point to the timeline; refresh the display or log a line when one is due."""
        progress = self.progress
        progress.sample()
        if self._display is not None:
            self._display.refresh()
            return
        due = self._interval and progress.elapsed_secs - self._logged_secs >= self._interval
        is_new = self._logged_phase not in {"", "starting"} and self._logged_phase != progress.phase
        if due or (is_new and progress.documents):  # a first line of zeros is of no use
            self._logged_secs = progress.elapsed_secs
            self.log_line(logging.INFO, progress_line(current_status(self.run)))
        self._logged_phase = progress.phase
