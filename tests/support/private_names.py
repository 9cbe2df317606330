"""The private names of Scrapy and its plug-ins that the package touches; docs/explanation/architecture.md says why."""

from __future__ import annotations

PLAYWRIGHT_HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"

PRIVATE_NAMES: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    (
        "scrapy.core.downloader.Downloader",
        "_wait_for_download",
        ("self", "slot", "request", "queue_dfd"),
    ),
    (PLAYWRIGHT_HANDLER, "_launch", ("self",)),
    (PLAYWRIGHT_HANDLER, "_maybe_launch_browser", ("self",)),
    (PLAYWRIGHT_HANDLER, "_apply_page_methods", ("self", "page", "request", "spider")),
    ("mcp.server.mcpserver.MCPServer", "_lowlevel_server", None),
)
"""The path of the class, the name, and its parameters; None for an attribute."""
