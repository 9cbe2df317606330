"""Our own requests, answered here: nothing is sent."""

from scrapy import Request
from scrapy.http import Response

from llmsspider.crawler.requests import info


class SyntheticMiddleware:
    """Answer requests whose `meta["llms"]["synthetic"]` is set with an empty response; nothing is
    sent.

    `process_start` cannot yield items: what the crawl knows by itself leaves it through the
    callback of such a request.
    """

    def process_request(self, request: Request) -> Response | None:
        """Return the answer of a synthetic request."""
        is_synthetic = info(request).get("synthetic")
        return Response(request.url, request=request) if is_synthetic else None
