"""Say who asks."""

from __future__ import annotations

import logging

from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import useragent
from scrapy.settings import BaseSettings

from llmsspider.errors import ArgumentsError
from llmsspider.politeness import product_token, with_contact

logger = logging.getLogger(__name__)


class UserAgentMiddleware(useragent.UserAgentMiddleware):
    """Scrapy's, with the contact of `LLMS_CONTACT` (an e-mail address or URL) added to `USER_AGENT`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UserAgentMiddleware:
        """Read `USER_AGENT` and `LLMS_CONTACT`."""
        middleware = super().from_crawler(crawler)
        middleware.user_agent = user_agent(crawler.settings)
        return middleware


def user_agent(settings: BaseSettings) -> str:
    """Return the User-Agent header of a crawl.

    Raises:
        ArgumentsError: `LLMS_CONTACT` cannot be part of it.
    """
    try:
        return with_contact(settings["USER_AGENT"], settings.get("LLMS_CONTACT"))
    except ValueError as error:
        raise ArgumentsError([str(error)]) from None


def robots_user_agent(settings: BaseSettings) -> str:
    """Return the name robots.txt may use for the crawl: `ROBOTSTXT_USER_AGENT`, else the product token."""
    configured: str | None = settings["ROBOTSTXT_USER_AGENT"]
    return configured or product_token(settings["USER_AGENT"])
