"""The yardstick: a Scrapy spider that follows every link of a host and keeps nothing, tuned to cost little.

It parses each page once with lxml, reads the links with a compiled XPath, joins each distinct one once and builds
a Request only for URLs it has not seen. Everything of Scrapy that it can do without is off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from lxml import etree, html
from scrapy.http import Response

HREFS = etree.XPath("//a/@href", smart_strings=False)


class LinkOnlySpider(scrapy.Spider):
    """`scrapy runspider benchmarks/link_only_spider.py -a url=…`; counts pages in the stat `pages`."""

    name = "link_only"
    custom_settings = {  # noqa: RUF012
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "SPIDER_MIDDLEWARES_BASE": {},
        "LOG_LEVEL": "INFO",
    }
    url: str

    async def start(self) -> AsyncIterator[Any]:
        self.seen = {self.url}
        self.host = urlsplit(self.url).netloc
        yield scrapy.Request(self.url)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.status != 200 or b"html" not in (response.headers.get("Content-Type") or b""):
            return
        self.crawler.stats.inc_value("pages")  # type: ignore[union-attr]
        hrefs = {href.partition("#")[0] for href in HREFS(html.document_fromstring(response.body))}
        for href in hrefs:
            url = urljoin(response.url, href)
            if url not in self.seen and urlsplit(url).netloc == self.host:
                self.seen.add(url)
                yield scrapy.Request(url)
