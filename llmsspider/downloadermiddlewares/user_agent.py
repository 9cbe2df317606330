"""The User-Agent, with a contact, and the name that robots.txt may use for it."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import useragent
from scrapy.settings import BaseSettings

from llmsspider.web.credentials import product_token, with_contact


class UserAgentMiddleware(useragent.UserAgentMiddleware):
    """Scrapy's, with the contact of `LLMS_CONTACT` (an e-mail address or URL) added to
    `USER_AGENT`.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UserAgentMiddleware:
        """Read `USER_AGENT` and `LLMS_CONTACT`."""
        middleware = super().from_crawler(crawler)
        settings = crawler.settings
        middleware.user_agent = with_contact(settings["USER_AGENT"], settings.get("LLMS_CONTACT"))
        return middleware


def robots_user_agent(settings: BaseSettings) -> str:
    """Return the name robots.txt may use for the crawl: `ROBOTSTXT_USER_AGENT`, else the product
    token.
    """
    configured: str | None = settings["ROBOTSTXT_USER_AGENT"]
    return configured or product_token(settings["USER_AGENT"])
