"""Serve the live page of the crawl on 127.0.0.1, in Scrapy's own event loop."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from llmsspider.config.setting_types import parse_ports
from llmsspider.crawl.spiderrun import is_job, is_terminal
from llmsspider.extensions import RunExtension
from llmsspider.output.status import run_report

if TYPE_CHECKING:
    from llmsspider.extensions.live_server import LiveServer


class LivePage(RunExtension):
    """Start the server at `spider_opened`; at `engine_stopped`, after the report, send the last event and stop."""

    log = logging.getLogger(__name__)
    _server: LiveServer | None = None

    def is_wanted(self) -> bool:
        """Return whether the page is wanted: where someone is watching, unless the setting says otherwise."""
        wanted = str(self.crawler.settings.get("LLMS_STATUS_PORT"))
        self._ports = parse_ports(wanted)
        watching = is_terminal(sys.stderr) and not is_job()
        return self.run.watched and self._ports is not None and (wanted != "auto" or watching)

    async def spider_opened(self) -> None:
        """Start; the server is imported here, since most crawls run without."""
        from llmsspider.extensions.live_server import LiveServer, live_numbers, live_status  # noqa: PLC0415

        run, ports = self.run, self._ports or range(0)
        self._server = LiveServer(
            lambda: live_status(run_report(run)),
            lambda: live_numbers(run_report(run)),
            lambda: run.outputs.report[1] if run.outputs.report else None,
        )
        address = await self._server.start(ports)
        if address is None:
            taken = f"the ports {ports[0]} to {ports[-1]} are taken"
            self.log_line(logging.WARNING, f"no live page: {taken} (LLMS_STATUS_PORT)")
        else:
            self.log_line(logging.INFO, f"live page: {address}")

    async def engine_stopped(self) -> None:
        """Send the last event and stop."""
        if self._server is not None:
            await self._server.stop()
