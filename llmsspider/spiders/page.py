"""The spider `page`: one page as a Markdown document."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy_spider_metadata import Args  # type: ignore[attr-defined]  # it has no __all__

from llmsspider import stats
from llmsspider.apifiles import ApiFiles
from llmsspider.arguments import PageArguments, check_arguments
from llmsspider.config import Config
from llmsspider.discovery_fetch import EngineFetch
from llmsspider.download_errors import kind_of_exception
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.filters import drop_reason
from llmsspider.fuller import FullerHtml
from llmsspider.onepage import Obtained, PageFailedError, obtain
from llmsspider.outcomes import kind_of_response
from llmsspider.pagerun import PageRun
from llmsspider.pages import Answered, page_record, read_page, refused_by_page, utc_now
from llmsspider.profiles import load, put_in_force
from llmsspider.rendering import Renderer
from llmsspider.requests import META
from llmsspider.required import check_components
from llmsspider.stats import Stat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from llmsspider.providers import Provider

logger = logging.getLogger(__name__)

MAX_HOPS = 5
"""Addresses a page's scripts may lead to, one after the other."""


class PageSpider(Args[PageArguments], scrapy.Spider):
    """Get one page: a provider that knows its host, else its own content, else the llms.txt of its directory.

    `scrapy crawl page -a url=https://docs.example.com/guide/intro -O page.jsonl`. Nothing is stored and no link
    followed. When nothing had it, the page's own error is reported and the finish reason is `start_failed`, or
    `no_documents` for a page that answered without text; the exit code is 1.
    """

    name = "page"
    run: PageRun
    renderer: Renderer
    fuller: FullerHtml
    api_files: ApiFiles
    providers: list[Provider]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{key: value for key, value in kwargs.items() if not key.startswith("_")})

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> PageSpider:
        """Make the spider and its `PageRun`; the profile's settings take effect here.

        Raises:
            ArgumentsError: an argument, the profile or a setting is wrong.
        """
        arguments = check_arguments(PageArguments, kwargs)
        put_in_force(load(arguments.profile), crawler.settings)
        check_components(crawler.settings)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.run = PageRun(arguments, Config.from_settings(crawler.settings), spider.count)
        spider.renderer = Renderer(crawler, spider.run)
        spider.fuller = FullerHtml(crawler, spider.run)
        spider.api_files = ApiFiles(crawler, spider.run, spider.renderer)
        spider.providers = spider.run.config.providers
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield the one request; it is not sent, its callback gets the page."""
        self.run.open()
        meta = {META: {"synthetic": True}}
        yield Request("http://synthetic.invalid/", callback=self.parse, meta=meta, dont_filter=True)

    def closed(self, reason: str) -> None:
        """End the run, before the feeds are stored: they ask how it ended."""
        self.run.end(reason)

    def count(self, stat: Stat, number: int) -> None:
        """Add to a stat."""
        stats.count(self.crawler.stats, stat, number)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the page's document; raises `CloseSpider` when there is none."""
        run, url = self.run, self.args.url
        try:
            found = await obtain(url, EngineFetch(self.crawler, run), self.extract, self.providers)
        except PageFailedError as error:
            if error.kind is not None:
                run.fail(url, error.kind, str(error), error.status)
            logger.error(
                "%(url)s: %(kind)s: %(error)s", {"url": url, "kind": error.kind or "empty", "error": error}
            )
            raise CloseSpider("start_failed" if error.kind else "no_documents") from error
        run.count_hidden(found.result.page)
        record = page_record(
            run.source,
            found.answered,
            found.result,
            converter=run.config.made_with,
            entry=None,
            depth=0,
            by="start",
        )
        logger.info(
            "%(url)s: %(length)d characters (%(origin)s)",
            {"url": record.url, "length": len(record.content or ""), "origin": record.origin},
        )
        yield record.item(source=run.source, run=uuid.uuid4().hex, change="new")

    async def extract(self) -> Obtained:
        """Download the page, its Markdown form first, and convert it; raises `PageFailedError`."""
        url = self.args.url
        for _ in range(MAX_HOPS):
            answered = await self._download(url)
            request = Request(answered.page_url)
            try:
                result = await read_page(answered, self.run.workers, listed=True)
                answered, fuller = await self.fuller.take(request, answered, result)
                answered, made = await self.api_files.draw(request, answered, fuller or result)
                result = made or result
            except (ConversionError, RenderingError) as error:
                kind = kind_of_exception(error)
                raise PageFailedError(str(error), kind=kind, status=answered.status) from error
            if result.left_out is not None:
                raise PageFailedError(": ".join(result.left_out), kind=None, status=answered.status)
            refused = refused_by_page(result.page.meta, answered, self.run.config)
            if refused is not None:
                raise PageFailedError(": ".join(refused), kind="blocked", status=answered.status)
            if result.origin == "rendered" and result.page.meta.refresh:
                url = result.page.meta.refresh
                continue
            content, title = result.page.markdown, result.page.meta.title
            dropped = drop_reason(content, title, min_characters=self.run.config.min_characters)
            if dropped is not None:
                raise PageFailedError(": ".join(dropped), kind=None, status=answered.status)
            return Obtained(answered, result)
        raise PageFailedError("its scripts lead from one address to the next", kind="http")

    async def _download(self, url: str) -> Answered:
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101  # a callback runs in one
        try:
            response = await engine.download_async(Request(url, meta={META: {"by": "start", "start": True}}))
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error) or type(error).__name__
            raise PageFailedError(message, kind=kind_of_exception(error)) from error
        answered = Answered.from_response(response, now=utc_now())
        kind = kind_of_response(answered.status, answered.headers, answered.body)
        if kind is not None:
            raise PageFailedError(f"HTTP status {answered.status}", kind=kind, status=answered.status)
        return answered
