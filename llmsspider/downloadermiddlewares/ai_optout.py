"""Answers that say they are not for AI."""

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.crawler.requests import RefusedRequest
from llmsspider.downloadermiddlewares.robots import TDMREP
from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.web.rights import (
    HEADERS,
    of_page,
    opt_out,
)


class AiOptOutMiddleware:
    """Refuse answers with an AI opt-out in their headers, unless `LLMS_OBEY_AI_OPTOUT` is False.

    The spider counts it (`llms/filtered/ai-opt-out`), so that a page requested in two forms counts
    once.
    """

    def __init__(self, crawler: Crawler):
        if not crawler.settings.getbool("LLMS_OBEY_AI_OPTOUT", True):
            raise NotConfigured("LLMS_OBEY_AI_OPTOUT is False")
        self.crawler = crawler
        self.user_agent = robots_user_agent(crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read `LLMS_OBEY_AI_OPTOUT`."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Raise `RefusedRequest` for an answer that opts out."""
        is_error = response.status >= 300 and response.status != 304
        if is_error or urlparse_cached(request).path in {"/robots.txt", TDMREP}:
            return response
        headers = {
            name.lower(): [value.decode("latin-1") for value in response.headers.getlist(name)]
            for name in HEADERS
            if name in response.headers
        }
        reason = opt_out(of_page(headers, user_agent=self.user_agent)) if headers else None
        if reason:
            raise RefusedRequest(f"{reason} (LLMS_OBEY_AI_OPTOUT)", reason="ai-opt-out")
        return response
