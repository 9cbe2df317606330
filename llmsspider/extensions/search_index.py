"""The search index of a source is updated when its crawl has ended."""

import asyncio
import logging

from llmsspider.answers import WORDS
from llmsspider.config.settings import Config
from llmsspider.crawler.progress import Progress
from llmsspider.crawler.requests import RunExtension
from llmsspider.errors import LlmsspiderError

SHARE = 0.2
"""The share of the crawl's time that indexing may take; what is left is done before the next
search.
"""
LEAST_SECS = 2.0
"""Time that indexing may take after however short a crawl."""


class SearchIndex(RunExtension):
    """Index what the crawl changed, where the source has an index: it was searched before."""

    config: Config
    progress: Progress

    log = logging.getLogger(__name__)

    def is_wanted(self) -> bool:
        """Return False for a plan, and for what is delivered later."""
        return not self.config.plan_only

    async def engine_stopped(self) -> None:
        """Index, in a thread: the store is closed for the crawl by now."""
        if (
            not self.records.run_id
            or not self.config.stores.index_file(self.records.source, WORDS).exists()
        ):
            return  # the run did not begin, or nobody has searched the source
        try:
            self.log_line(logging.INFO, await asyncio.to_thread(self._sync))
        except LlmsspiderError as error:
            self.log_line(logging.WARNING, f"the search index is behind: {error}")

    def _sync(self) -> str:
        # crawls without an index do without
        from llmsspider.answers.library import Library  # noqa: PLC0415

        with Library(self.config.stores) as library:
            opened = library.open(self.records.source)
            done = opened.sync(max(LEAST_SECS, SHARE * self.progress.elapsed_secs))
            left = "" if done else "; the rest follows before the next search"
            return f"search index: {opened.index.count()[1]} passages{left}"
