"""Answer the project's own requests, which stand for work and not for a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Response

from llmsspider.crawl.requests import META

if TYPE_CHECKING:
    from scrapy import Request


class SyntheticMiddleware:
    """Answer requests whose `meta["llms"]["synthetic"]` is set with an empty response; nothing is sent.

    `process_start` cannot yield items, so the tombstones and the pages of full-text files leave the crawl
    through the callback of such a request. It stands first, before robots.txt and address guard.
    """

    def process_request(self, request: Request) -> Response | None:
        """Return the answer of a synthetic request."""
        if request.meta.get(META, {}).get("synthetic"):
            return Response(request.url, status=200, request=request)
        return None
