"""What Scrapy alone takes of a recrawl: a conditional request for each document of a first crawl, and nothing else.

No answer is read, no link followed; everything of Scrapy that it can do without is off, as in link_only_spider.py.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from link_only_spider import LinkOnlySpider
from scrapy.http import Response


class ConditionalSpider(scrapy.Spider):
    """`scrapy runspider benchmarks/conditional_spider.py -a documents=FILE.jsonl`; counts answers by status."""

    name = "conditional"
    custom_settings = LinkOnlySpider.custom_settings
    documents: str

    async def start(self) -> AsyncIterator[Any]:
        for page in self._pages():
            yield scrapy.Request(
                page["fetched_url"], headers={"If-None-Match": page["etag"] or '"none"'}
            )

    def _pages(self) -> Iterator[dict[str, Any]]:
        with Path(self.documents).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    def parse(self, response: Response) -> None:
        self.crawler.stats.inc_value(f"status/{response.status}")  # type: ignore[union-attr]
