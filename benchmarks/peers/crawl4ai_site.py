"""A site as Markdown with crawl4ai over HTTP, without a browser: `python crawl4ai_site.py URL FILE`.

Its own breadth-first deep crawl and Markdown generator; no cache, no waiting between requests; one JSON line a page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TextIO

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy

CONCURRENCY = 8


async def crawl(url: str, output: TextIO) -> None:
    """Crawl the host of `url`."""
    config = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS,
        deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=1000, include_external=False),
        stream=True,
        verbose=False,
        semaphore_count=CONCURRENCY,
        mean_delay=0.0,
        max_range=0.0,
    )
    http = AsyncHTTPCrawlerStrategy(browser_config=HTTPCrawlerConfig(), max_connections=CONCURRENCY)
    async with AsyncWebCrawler(crawler_strategy=http) as crawler:
        async for result in await crawler.arun(url, config=config):
            if result.success:
                line = {"url": result.url, "content": result.markdown.raw_markdown}
                output.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        asyncio.run(crawl(sys.argv[1], file))
