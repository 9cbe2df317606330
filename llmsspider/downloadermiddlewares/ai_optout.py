"""Keep out pages whose answer says that they are not for AI."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.optout import OPT_OUT_HEADERS, opt_out
from llmsspider.refusal import RefusedRequest


class AiOptOutMiddleware:
    """Refuse answers with an AI opt-out in their headers, in place of the page.

    What only the page itself says (meta) is asked where the page is parsed, what robots.txt says in the
    robots.txt middleware. Raises `RefusedRequest` with the reason `ai-opt-out`; whoever asked for the page
    counts it (`llms/filtered/ai-opt-out`), so that a page asked in two forms counts once.
    `LLMS_OBEY_AI_OPTOUT=False` switches it off.
    """

    def __init__(self, crawler: Crawler):
        if not crawler.settings.getbool("LLMS_OBEY_AI_OPTOUT", True):
            raise NotConfigured("LLMS_OBEY_AI_OPTOUT is False")
        self.crawler = crawler
        self.user_agent = robots_user_agent(crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AiOptOutMiddleware:
        """Read `LLMS_OBEY_AI_OPTOUT`."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Raise `RefusedRequest` for an answer that opts out."""
        headers = header_values(response)
        if not headers or (response.status >= 300 and response.status != 304):
            return response
        if urlparse_cached(request).path == "/robots.txt":
            return response
        reason = opt_out(headers, user_agent=self.user_agent)
        if not reason:
            return response
        raise RefusedRequest(f"{reason} (LLMS_OBEY_AI_OPTOUT)", reason="ai-opt-out")


def header_values(response: Response) -> dict[str, list[str]]:
    """Return the headers of a response that `llmsspider.optout.opt_out` looks at; most answers have none."""
    return {
        name.lower(): [value.decode("latin-1") for value in response.headers.getlist(name)]
        for name in OPT_OUT_HEADERS
        if name in response.headers
    }
