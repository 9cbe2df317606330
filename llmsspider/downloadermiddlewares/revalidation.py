"""Ask again only for what changed: conditional requests with stored validators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.httpobj import urlparse_cached

from llmsspider.pages import text_headers
from llmsspider.requests import info
from llmsspider.urls import without_fragment

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from llmsspider.run import Run


class RevalidationMiddleware:
    """Add `If-None-Match` and `If-Modified-Since` to requests whose exact URL and representation are stored.

    It stands below the Markdown negotiation, so a page's Markdown URL, asked by a nested download, is revalidated
    with the validators of that URL. A 304 for a page reaches the callback (`handle_httpstatus_list`). What
    discovery, link sources and robots.txt ask is no page: such an answer is kept whole, and a 304 becomes the stored
    answer, so that nobody else has to know. Counts `llms/revalidated`. The policies are
    `KnownPages.conditional_headers` and `KnownResources`.
    """

    def __init__(self, run: Run):
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RevalidationMiddleware:
        """Take the run of the spider."""
        return cls(crawler.spider.run)  # type: ignore[union-attr]

    def process_request(self, request: Request) -> None:
        """Add the headers."""
        if is_resource(request):
            known: dict[str, str] = self.run.resources.conditional_headers(*_asked(request))
        elif info(request):
            known = self.run.known.conditional_headers(*_asked(request))
        else:
            return
        if known:
            for name, value in known.items():
                request.headers[name] = value
            self.run.count("revalidated")

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep an answer that is no page, or return the stored one in place of a 304."""
        if not is_resource(request):
            return response
        url, accept = _asked(request)
        if response.status == 200 and response.url == request.url and "partial" not in response.flags:
            self.run.resources.keep(url, accept, text_headers(response), response.body)
        stored = self.run.resources.restored(url, accept) if response.status == 304 else None
        if stored is None:
            return response
        validators = {"etag": stored.etag, "last-modified": stored.last_modified}
        headers = {**stored.headers, **{name: value for name, value in validators.items() if value}}
        fresh = {name: value for name, value in text_headers(response).items() if name in headers}
        return response.replace(status=200, headers=headers | fresh, body=stored.body)


def is_resource(request: Request) -> bool:
    """Say whether the answer is no page: asked by discovery, for its links only, or by Scrapy for robots.txt."""
    page = info(request)
    if page:
        return bool(page.get("discovery") or page.get("source"))
    return urlparse_cached(request).path == "/robots.txt"


def _asked(request: Request) -> tuple[str, str | None]:
    accept = request.headers.get("Accept")
    return without_fragment(request.url), accept.decode("latin-1") if accept else None
