"""The start of the crawl: discovery first, then its seeds, then what only the end of the crawl can
decide.
"""

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from llmsspider.crawler.beginning import Phase
from llmsspider.crawler.ending import all_phases
from llmsspider.crawler.requests import EngineFetch, required_run
from llmsspider.crawler.run import Run


class LlmsTxtStart:
    """Probe llms.txt before the first page and make its entries the seeds of the crawl.

    `process_start` stays open for the whole run and works in phases (`crawler/beginning.py`,
    `crawler/ending.py`).
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.phase = Phase(crawler, crawler.spider, run, EngineFetch(crawler, run))  # type: ignore[arg-type]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; a spider without phases starts as without this middleware."""
        run = required_run(crawler)
        if not run.discovers:
            raise NotConfigured
        return cls(crawler, run)

    def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return what yields the requests of every phase; where the spider's own `start` yields
        any, those are all.
        """
        return all_phases(self.phase, start)
