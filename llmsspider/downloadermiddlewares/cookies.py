"""Scrapy's cookies, where they are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.downloadermiddlewares import cookies


class CookiesMiddleware:
    """Scrapy's, loaded where `COOKIES_ENABLED` is on: a list of public suffixes and an HTTP library
    come with it.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> cookies.CookiesMiddleware:
        """Return Scrapy's middleware."""
        if not crawler.settings.getbool("COOKIES_ENABLED"):
            raise NotConfigured
        from scrapy.downloadermiddlewares import cookies  # noqa: PLC0415

        return cookies.CookiesMiddleware.from_crawler(crawler)
