"""Compressed answers, whole or not at all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import httpcompression
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import NotConfigured, ResponseDataLossError
from scrapy.http import TextResponse
from scrapy.responsetypes import responsetypes

from llmsspider.crawl.download_errors import RefusedRequest
from llmsspider.web import stats
from llmsspider.web.decompression import (
    DECODERS,
    MAX_ENCODINGS,
    BodyTooLargeError,
    BrokenEncodingError,
    decompress,
)

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


logger = logging.getLogger(__name__)


class HttpCompressionMiddleware(httpcompression.HttpCompressionMiddleware):
    """Scrapy's; answers by `llmsspider.web.decompression`: a body that breaks off is requested again, then an error.

    Of an answer without a body, such as a 304, the label is left alone.
    Counts `llms/broken-encoding`, `llms/blocked/size`.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler=crawler)
        self.crawler = crawler
        self.max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HttpCompressionMiddleware:
        """Read `COMPRESSION_ENABLED`."""
        if not crawler.settings.getbool("COMPRESSION_ENABLED"):
            raise NotConfigured("COMPRESSION_ENABLED is off")
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the decompressed response, or the request once more."""
        if not response.body or request.method == "HEAD":
            return response
        try:
            encodings = _encodings(response)
            return self._decoded(request, response, encodings) if encodings else response
        except BodyTooLargeError as error:
            stats.count(self.stats, stats.blocked("size"))
            raise RefusedRequest(f"{response.url} is {error}", reason="size") from error
        except BrokenEncodingError as error:
            return self._again(request, response, error)

    def _decoded(self, request: Request, response: Response, encodings: list[str]) -> Response:
        """Return the response with its body decoded; an unknown encoding stays, with those below it."""
        body, most = response.body, request.meta.get("download_maxsize", self.max_size)
        while encodings and encodings[-1] in DECODERS:
            body = decompress(body, encodings.pop(), most)
        stats.count_scrapys(self.stats, "httpcompression/response_bytes", len(body))
        stats.count_scrapys(self.stats, "httpcompression/response_count")
        headers = response.headers.copy()
        headers.pop("Content-Encoding")
        if encodings:
            headers["Content-Encoding"] = ", ".join(encodings)
            logger.warning(
                "%(url)s has the encoding %(encoding)s, which is not known",
                {"url": response.url, "encoding": ", ".join(encodings)},
                extra={"spider": self.crawler.spider},
            )
        cls = responsetypes.from_args(headers=headers, url=response.url, body=body)
        kwargs = {"encoding": None} if issubclass(cls, TextResponse) else {}  # it is found anew
        return response.replace(cls=cls, headers=headers, body=body, **kwargs)

    def _again(self, request: Request, response: Response, error: BrokenEncodingError) -> Request:
        spider = self.crawler.spider
        assert spider is not None  # noqa: S101 - a middleware answers while a spider runs
        stats.count(self.stats, "broken-encoding")
        retry = (
            None
            if request.meta.get("dont_retry")
            else get_retry_request(request, spider=spider, reason=str(error))
        )
        if retry is None:
            raise ResponseDataLossError(str(error)) from error
        return retry


def _encodings(response: Response) -> list[str]:
    """Return the encodings of a body, in the order they were applied."""
    listed = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1").lower()
    if listed.count(",") >= MAX_ENCODINGS:
        raise BodyTooLargeError(f"encoded more than {MAX_ENCODINGS} times")
    return [name for name in map(str.strip, listed.split(",")) if name]
