"""Update the search index of the source at the end of a crawl, so that the next search need not."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from llmsspider.answers import has_index
from llmsspider.crawl.spiderrun import required_run
from llmsspider.errors import LlmsspiderError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)

SHARE = 0.2
"""The share of the crawl's time that indexing may take; what is left is done before the next search."""

LEAST_SECS = 2.0
"""Indexing may take this long however short the crawl was."""


class SearchIndex:
    """Index what the crawl changed, where the source has an index: it was searched before."""

    def __init__(self, crawler: Crawler, run: Run):
        self._crawler = crawler
        self._run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SearchIndex:
        """Take the run of the spider."""
        run = required_run(crawler)
        if run.config.plan_only:
            raise NotConfigured  # asked for: Scrapy would warn of a reason
        extension = cls(crawler, run)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    async def engine_stopped(self) -> None:
        """Index, in a thread: the store is closed for the crawl by now."""
        if not self._run.id:
            return  # the run did not begin
        try:
            found = await asyncio.to_thread(self._sync)
        except LlmsspiderError as error:
            logger.warning(
                "the search index is behind: %(error)s",
                {"error": error},
                extra={"spider": self._crawler.spider},
            )
            return
        if found is not None:
            passages, done = found
            left = "" if done else "; the rest follows before the next search"
            extra = {"spider": self._crawler.spider}
            logger.info(
                "search index: %(passages)d passages%(left)s",
                {"passages": passages, "left": left},
                extra=extra,
            )

    def _sync(self) -> tuple[int, bool] | None:
        """Return how many passages the index has, and whether it is in step; None where there is to be no index."""
        stores = self._run.config.stores
        if not has_index(stores, self._run.source):
            return None
        from llmsspider.answers.library import Library  # noqa: PLC0415  # crawls without an index do without

        with Library(stores) as library:
            opened = library.open(self._run.source)
            done = opened.sync(max(LEAST_SECS, SHARE * self._run.snapshot().elapsed_secs))
            return opened.index.count()[1], done
