"""Scrapy as its tutorial has it: a spider that follows the links of a host, with Scrapy's default settings.

scrapy runspider benchmarks/peers/plain_scrapy.py -L INFO -a url=…
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import Response, TextResponse


class PlainSpider(scrapy.Spider):
    """Follows every link of a page; keeps nothing."""

    name = "plain"

    def __init__(self, url: str, **arguments: Any):
        super().__init__(**arguments)
        self.start_urls = [url]
        self.allowed_domains = [str(urlsplit(url).hostname)]

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if isinstance(response, TextResponse):
            for link in response.css("a::attr(href)"):
                yield response.follow(link)
