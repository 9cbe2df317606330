"""Between hash and export: the files that a page names are downloaded, each once in a crawl."""

import logging
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.pipelines.media import FileInfo, FileInfoOrError, MediaPipeline
from twisted.python.failure import Failure

from llmsspider.crawler.assets import ACCEPT, MAX_BYTES
from llmsspider.crawler.pages import text_headers
from llmsspider.crawler.requests import META, required_run
from llmsspider.crawler.run import Run
from llmsspider.items import Document
from llmsspider.web.addresses import same_site

logger = logging.getLogger(__name__)


class AssetsPipeline(MediaPipeline):
    """Keep the files that pages name (`assets=`), and add the field `assets` to the documents:
    `url` and `path` of each.

    Scrapy's media pipeline: a file is requested once, whatever pages name it. It is not enabled
    with `assets=none`.
    """

    LOG_FAILED_RESULTS = False

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler=crawler)
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; raises `NotConfigured` where no files are wanted."""
        run = required_run(crawler)
        if run.arguments.assets == "none":
            raise NotConfigured
        return cls(crawler, run)

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return the document once its files are there; an item of yours as it is."""
        is_page = isinstance(item, Document) and item.content is not None and self.run.id
        return await super().process_item(item) if is_page else item

    def get_media_requests(self, item: Any, info: Any) -> list[Request]:
        """Return a request for each file that a document names."""
        assets = self.run.assets
        item.assets = assets.urls(item.url, item.content)
        return [
            Request(
                url,
                headers={"Accept": ACCEPT, **assets.validators(url)},
                meta={
                    META: {"nested": True, "asset": True, "page": item.url},
                    "download_maxsize": MAX_BYTES,
                },
                callback=NO_CALLBACK,
                dont_filter=True,
            )
            for url in item.assets
        ]

    def media_to_download(self, request: Request, info: Any, *, item: Any = None) -> None:
        """Say that nothing is there without a request: the store has it, and asks with validators."""

    def media_downloaded(
        self, response: Response, request: Request, info: Any, *, item: Any = None
    ) -> FileInfo:
        """Keep a file, or forget it."""
        headers = text_headers(response)
        if response.url != request.url:  # validators belong to the address that sent them
            headers = {name: headers[name] for name in headers if name == "content-type"}
        status = response.status if same_site(response.url, request.url) else 0
        self.run.assets.keep(self.run.store, request.url, status, headers, response.body)
        path = self.file_path(request)
        if not path:
            self._failed(request, f"HTTP status {response.status}")
        return FileInfo(url=request.url, path=path, checksum=None, status="downloaded")

    def media_failed(  # type: ignore[override]  # what it returns is the file: there is none
        self, failure: Failure, request: Request, info: Any
    ) -> None:
        """Log why there is no file; what is stored of it stays."""
        self._failed(request, failure.getErrorMessage())

    def _failed(self, request: Request, why: str) -> None:
        self.run.count("assets/failed")
        logger.info("%(url)s is not kept: %(why)s", {"url": request.url, "why": why})

    def file_path(
        self, request: Request, response: Any = None, info: Any = None, *, item: Any = None
    ) -> str:
        """Return the path of a file below the folder of the pages; empty where there is none."""
        return self.run.assets.path(request.url) or ""

    def item_completed(self, results: list[FileInfoOrError], item: Any, info: Any) -> Any:
        """Add the files to the document."""
        paths = {url: self.run.assets.path(url) for url in item.assets}
        item.assets = [{"url": url, "path": path} for url, path in paths.items() if path]
        return item
