"""The floor of a full-text crawl: a Scrapy spider that makes items of one answer, and does nothing else.

What its process costs beyond `-a items=0` is what Scrapy takes to pass items of 13 KB to a JSON Lines feed, without
any pipeline of ours, any store, and any text that is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response

TEXT = "".join(
    f"Line {number} of a page with `code` and [a link](https://example.com/{number}).\n"
    for number in range(190)
)
LINKS = [{"text": "a link", "url": f"https://example.com/{number}"} for number in range(10)]


class ItemsOnlySpider(scrapy.Spider):
    """`scrapy runspider benchmarks/items_only_spider.py -a url=… -a items=2000 -O items.jsonl`."""

    name = "items_only"
    custom_settings = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "CONCURRENT_ITEMS": 1}  # noqa: RUF012

    def __init__(self, url: str, items: str = "2000", **kwargs: Any):
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.items = int(items)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        for number in range(self.items):
            url = response.urljoin(f"/{number}")
            yield {
                "id": str(number),
                "url": url,
                "title": "A page",
                "content": f"{TEXT}{number}\n",
                "links": LINKS,
            }
