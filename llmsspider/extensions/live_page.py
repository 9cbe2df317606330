"""Serve the live page of the crawl on 127.0.0.1, in Scrapy's own event loop."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from llmsspider.config.setting_types import parse_ports
from llmsspider.crawl.jobs import is_job, is_terminal
from llmsspider.crawl.spiderrun import required_run
from llmsspider.output.status import run_report

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.extensions.live_server import LiveServer

logger = logging.getLogger(__name__)


class LivePage:
    """Start the server at `spider_opened`; at `engine_stopped`, after the report, send the last event and stop."""

    def __init__(self, crawler: Crawler, run: Run, ports: range):
        self._crawler = crawler
        self._run = run
        self._ports = ports
        self._server: LiveServer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LivePage:
        """Take the run of the spider and decide whether the page is wanted."""
        run = required_run(crawler)
        if not run.watched:
            raise NotConfigured  # a plan or a single page: nothing to warn of
        wanted = str(crawler.settings.get("LLMS_STATUS_PORT"))
        ports = parse_ports(wanted)
        watched = is_terminal(sys.stderr) and not is_job()
        if ports is None or (wanted == "auto" and not watched):
            raise NotConfigured  # nothing to warn of: no page was requested here
        extension = cls(crawler, run, ports)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    async def spider_opened(self) -> None:
        """Start; the server is imported here, since most crawls run without."""
        from llmsspider.extensions.live_server import (  # noqa: PLC0415
            LiveServer,
            live_numbers,
            live_status,
        )

        run, extra = self._run, {"spider": self._crawler.spider}
        self._server = LiveServer(
            lambda: live_status(run_report(run)),
            lambda: live_numbers(run_report(run)),
            lambda: run.outputs.report[1] if run.outputs.report else None,
        )
        address = await self._server.start(self._ports)
        if address is None:
            logger.warning(
                "no live page: the ports %(first)d to %(last)d are taken (LLMS_STATUS_PORT)",
                {"first": self._ports[0], "last": self._ports[-1]},
                extra=extra,
            )
        else:
            logger.info("live page: %(address)s", {"address": address}, extra=extra)

    async def engine_stopped(self) -> None:
        """Send the last event and stop."""
        if self._server is not None:
            await self._server.stop()
