"""The live page of a crawl: the server starts with it and ends with it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from llmsspider.config.setting_types import parse_ports
from llmsspider.crawler.progress import Outputs
from llmsspider.crawler.requests import RunExtension
from llmsspider.crawler.spiderrun import is_watched
from llmsspider.output.report import ReportData

if TYPE_CHECKING:
    from llmsspider.extensions.live_server import LiveServer


class LivePage(RunExtension):
    """Start the server at `spider_opened`; stop it at `engine_stopped`, after the report."""

    outputs: Outputs

    log = logging.getLogger(__name__)
    _server: LiveServer | None = None

    def is_wanted(self) -> bool:
        """Return whether the page is wanted: where someone is watching, unless the setting says
        otherwise.
        """
        wanted = str(self.crawler.settings.get("LLMS_STATUS_PORT"))
        self._ports = parse_ports(wanted)
        return self.is_reported and self._ports is not None and (wanted != "auto" or is_watched())

    async def spider_opened(self) -> None:
        """Start; the server is imported here, since most crawls run without."""
        from llmsspider.extensions.live_server import LiveServer  # noqa: PLC0415
        from llmsspider.ui.report import live_page  # noqa: PLC0415

        ports = self._ports or range(0)
        self._server = LiveServer(
            ReportData(self.run).now,
            live_page,
            lambda: self.outputs.report,
        )
        if address := await self._server.start(ports):
            self.log_line(logging.INFO, f"live page: {address}")
        else:
            taken = f"the ports {ports[0]} to {ports[-1]} are taken"
            self.log_line(logging.WARNING, f"no live page: {taken} (LLMS_STATUS_PORT)")

    async def engine_stopped(self) -> None:
        """Stop, once the last state was shown."""
        if self._server is not None:
            await self._server.stop()
