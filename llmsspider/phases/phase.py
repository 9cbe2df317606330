"""What every phase of a crawl works with."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmsspider.scheduling.downloader import EngineFetch
from llmsspider.scheduling.idle import EngineIdle

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.spiders.docs import DocsSpider

logger = logging.getLogger(__name__)


@dataclass(slots=True, frozen=True)
class Phase:
    """The crawl that a phase belongs to."""

    crawler: Crawler
    spider: DocsSpider
    run: Run
    fetch: EngineFetch
    """The fetch of discovery; it keeps the start page's response and the answer for a file that is not there."""
    idle: EngineIdle

    @classmethod
    def of(cls, crawler: Crawler, spider: DocsSpider) -> Phase:
        """Return the phase context of a crawl."""
        idle = EngineIdle(crawler, spider.markdown_links.end_waits_if_alone)
        return cls(crawler, spider, spider.run, EngineFetch(crawler, spider.run), idle)

    def note(self, line: str) -> None:
        """Say something about the crawl in the log."""
        logger.info("%(line)s", {"line": line}, extra={"spider": self.spider})
