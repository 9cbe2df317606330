"""Between hash and export: the files that a page names are downloaded, each once in a crawl."""

import asyncio
import logging
from typing import Any

from llmsspider.crawler.assets import ACCEPT, MAX_BYTES, Assets, assets_of
from llmsspider.crawler.pages import text_headers
from llmsspider.crawler.parts import DocsArguments
from llmsspider.crawler.requests import META, RunComponent, nested_request
from llmsspider.items import Document
from llmsspider.site.discovered import FetchResult

logger = logging.getLogger(__name__)


class AssetsPipeline(RunComponent):
    """Keep the files that pages name (`assets=`), and add the field `assets` to the documents:
    `url` and `path` of each.

    Unlike Scrapy's media pipelines it asks with validators, and a file that fails is no error: what
    is stored of it stays. Counts `llms/assets/failed`.
    """

    arguments: DocsArguments
    assets: Assets

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._downloads: dict[str, asyncio.Task[None]] = {}

    async def process_item(self, item: Any) -> Any:
        """Return the document once its files are there; an item of yours as it is."""
        if self.arguments.assets == "none" or not isinstance(item, Document) or not item.content:
            return item
        urls = self.assets.urls(item.url, item.content)
        for url in urls:
            if url not in self._downloads:
                self._downloads[url] = asyncio.ensure_future(self._download(url, item.url))
        await asyncio.gather(*(self._downloads[url] for url in urls))
        vars(item)["assets"] = assets_of(item.content, self.assets.paths)
        return item

    async def _download(self, url: str, page: str) -> None:
        request = nested_request(
            url,
            page=page,
            meta={"download_maxsize": MAX_BYTES},
            headers={"Accept": ACCEPT, **self.assets.validators(url)},
        )
        request.meta[META]["asset"] = True
        try:
            response = await self.crawler.engine.download_async(request)
        except Exception as error:  # a page is whole without its files, whatever is wrong with them
            self._failed(url, error)
            return
        headers = text_headers(response)
        answer = FetchResult(url, response.url, response.status, headers, response.body)
        self.assets.keep(answer)
        if url not in self.assets.paths:
            self._failed(url, f"HTTP status {response.status}")

    def _failed(self, url: str, why: object) -> None:
        self.report.count("assets/failed")
        logger.info("%(url)s is not kept: %(why)s", {"url": url, "why": why})
