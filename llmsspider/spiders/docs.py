"""The spider `docs`: a documentation site as Markdown documents."""

import logging
from functools import partial
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy_spider_metadata import Args  # type: ignore[attr-defined]  # it has no __all__

from llmsspider.config.arguments import NO_URL, PLAN_ONLY, DocsArguments, given
from llmsspider.config.components import check_components, lost_parts, misspelt, open_settings
from llmsspider.config.sources import prepare
from llmsspider.crawler.callbacks.docs import DocsCallbacks
from llmsspider.crawler.job import left_job
from llmsspider.crawler.requests import counter
from llmsspider.crawler.run import Run
from llmsspider.crawler.scheduler import queued_requests
from llmsspider.pipelines.item_adapter import register
from llmsspider.web.loading import own_arguments

logger = logging.getLogger(__name__)

register()


class DocsSpider(Args[DocsArguments], DocsCallbacks):
    """Crawl a documentation site breadth-first from the seeds that discovery found.

    `scrapy crawl docs -a url=https://docs.example.com/ -O docs.jsonl`. The arguments are the fields
    of `DocsArguments`. What is done with each response is in `DocsCallbacks`.
    """

    name = "docs"

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(
            *args, **{key: value for key, value in kwargs.items() if not key.startswith("_")}
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider and its `Run`; the profile's settings take effect here. Raises
        `ArgumentsError`.

        Without arguments it is made too, for `scrapy shell` and `scrapy check`; it cannot crawl
        then.
        """
        kwargs = kwargs if given(kwargs) else {**kwargs, "url": NO_URL}
        settings = open_settings(crawler)
        config, arguments, source = prepare(
            given(kwargs, own_arguments(cls)), settings, cls, plan_only=PLAN_ONLY in kwargs
        )
        check_components(settings)
        # no change is a result too: an empty feed replaces the last one
        if arguments.emit == "changes":
            settings.set("FEED_STORE_EMPTY", True, priority="spider")
        spider = super().from_crawler(crawler, *args, **kwargs)
        job = left_job(crawler.settings.get("JOBDIR"))
        for line in (*lost_parts(settings), *misspelt(settings)):
            logger.warning("%(lost)s", {"lost": line})
        queued = partial(queued_requests, crawler)
        run = Run(arguments, source, config, counter(crawler), queued, job=job)
        spider.connect(crawler, run)
        return spider
