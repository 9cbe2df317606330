"""Compressed answers, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import httpcompression
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import NotConfigured, ResponseDataLossError

from llmsspider import stats
from llmsspider.download_errors import RefusedRequest
from llmsspider.web.decompression import MAX_ENCODINGS, BodyTooLargeError, BrokenEncodingError, decompress

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class HttpCompressionMiddleware(httpcompression.HttpCompressionMiddleware):
    """Scrapy's, with `llmsspider.web.decompression`: a body that breaks off is asked for again, then an error.

    Of an answer without a body, such as a 304, the label is left alone.
    Counts `llms/broken-encoding`, `llms/blocked/size`.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler=crawler)
        self.crawler = crawler

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
        if not response.body:
            return response
        try:
            return super().process_response(request, response)
        except BodyTooLargeError as error:
            stats.count(self.stats, stats.blocked("size"))
            raise RefusedRequest(f"{response.url} is {error}", reason="size") from error
        except BrokenEncodingError as error:
            return self._again(request, response, error)

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

    @staticmethod
    def _split_encodings(content_encoding: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        if b",".join(content_encoding).count(b",") >= MAX_ENCODINGS:
            raise BodyTooLargeError(f"encoded more than {MAX_ENCODINGS} times")
        return httpcompression.HttpCompressionMiddleware._split_encodings(content_encoding)

    @staticmethod
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        return decompress(body, encoding.decode("ascii"), max_size)
