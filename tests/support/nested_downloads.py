"""Files downloaded by a real engine as parts of a page, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

from llmsspider.crawler.requests import NestedDownloadError, download_nested

LIMIT = 1_000


def download_parts(urls: list[str], result: str) -> None:
    """Download the URLs as parts of the first one's page; write the outcome of each to the file `result`."""
    outcomes = {}

    class Parts(Spider):
        name = "parts"

        async def start(self):
            parent = Request(urls[0], meta={"proxy": "", "cookiejar": 7, "depth": 3})
            for url in urls:
                try:
                    response = await download_nested(
                        self.crawler, url, parent, headers={"Accept": "text/x"}
                    )
                except NestedDownloadError as error:
                    outcomes[url] = [error.kind, str(error), type(error.__cause__).__name__]
                else:
                    kept = {
                        key: response.request.meta.get(key)
                        for key in ("llms", "cookiejar", "depth")
                    }
                    outcomes[url] = [response.status, response.text, kept]
            return
            yield

    process = CrawlerProcess(
        {
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "DOWNLOAD_MAXSIZE": LIMIT,
            "RETRY_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Parts)
    process.start()
    Path(result).write_text(json.dumps(outcomes), encoding="utf-8")
