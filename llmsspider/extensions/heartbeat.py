"""Heartbeats: the counts of a run, written to the store while it goes."""

import asyncio
import logging

from scrapy.utils.asyncio import create_looping_call

from llmsspider.crawler.requests import RunExtension
from llmsspider.errors import StoreError

HEARTBEAT_SECS = 5.0
"""Time between two heartbeats; a run without one for a minute counts as lost."""


class Heartbeat(RunExtension):
    """Write the counts of the run to the store every five seconds; stop where that is asked for
    there, as Ctrl-C does.
    """

    log = logging.getLogger(__name__)
    _stopping: asyncio.Future[None] | None = None

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._task = create_looping_call(self._beat)

    def spider_opened(self) -> None:
        """Start."""
        self._task.start(HEARTBEAT_SECS, now=False)

    def engine_stopped(self) -> None:
        """Stop; the feeds, which may take long to upload, are stored by then."""
        if self._task.running:
            self._task.stop()

    def _beat(self) -> None:
        try:
            is_asked = self.run.heartbeat()
        except StoreError:  # the writer logged it; the next page to be stored ends the crawl
            self._task.stop()
            return
        if is_asked and self._stopping is None:
            self.log_line(logging.INFO, "stopping: another process asked for it")
            self._stopping = asyncio.ensure_future(self.crawler.stop_async())
