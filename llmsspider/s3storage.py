"""Feeds on S3 that never lose yesterday's object: nothing is uploaded when the crawl did not end by itself."""

from __future__ import annotations

import logging
from typing import IO, TYPE_CHECKING, Any

from scrapy.extensions.feedexport import S3FeedStorage
from scrapy.utils.defer import ensure_awaitable

from llmsspider.feedstorage import is_going

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class StagedS3FeedStorage(S3FeedStorage):
    """Scrapy's S3 storage: the feed is collected in a temporary file and put in one request at the end.

    An object appears whole or not at all, so it is enough not to upload after a crawl that failed or was
    interrupted. That is said, and counts as not delivered.
    """

    run: Any = None

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> StagedS3FeedStorage:
        """Take the run of the spider, which knows how the crawl ended."""
        storage = super().from_crawler(crawler, uri, feed_options=feed_options)
        storage.run = getattr(crawler.spider, "run", None)
        return storage

    def store(self, file: IO[bytes]) -> Awaitable[None] | None:  # type: ignore[override]
        """Upload, or leave the object as it is; a batch that is full while the crawl goes waits for its end."""
        if is_going(self.run):
            return self._store_at_the_end(file)
        if self.run is None or self.run.succeeded:
            return super().store(file)
        file.close()
        target = f"s3://{self.bucketname}/{self.keyname}"
        self.run.undelivered.append(f"{target}: not uploaded")
        logger.warning(
            "%(target)s is left as it was, since the crawl did not end by itself", {"target": target}
        )
        return None

    async def _store_at_the_end(self, file: IO[bytes]) -> None:
        await self.run.ended.wait()
        await ensure_awaitable(self.store(file))
