"""Compressed answers: decoded, requested again where they break off, refused where too large."""

import logging
from typing import cast

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import httpcompression
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import ResponseDataLossError
from scrapy.http import Response, TextResponse
from scrapy.responsetypes import responsetypes

from llmsspider.crawler.requests import RefusedRequest
from llmsspider.downloadermiddlewares.decompression import (
    ENCODINGS,
    BodyTooLargeError,
    BrokenEncodingError,
    decompress,
)
from llmsspider.web import stats

logger = logging.getLogger(__name__)

MAX_ENCODINGS = 4  # encodings one upon the other that are undone


NONE = frozenset({"", "identity", "none"})
"""Names of no encoding."""


def _encodings_of(response: Response) -> list[str]:
    """Return the encodings that the header of an answer names; gzip of a text that has it unnamed."""
    listed = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1").lower()
    encodings = [name for name in map(str.strip, listed.split(",")) if name not in NONE]
    kind = (response.headers.get("Content-Type") or b"").lower()
    is_gzip = kind.startswith(b"text/") and response.body.startswith(b"\x1f\x8b\x08")
    return encodings or ["gzip"] * is_gzip


class HttpCompressionMiddleware(httpcompression.HttpCompressionMiddleware):
    """Scrapy's; a body that breaks off is requested again, then an error.

    Of an answer without a body, such as a 304, the label is left alone.
    Counts `llms/broken-encoding`, `llms/blocked/size`.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler=crawler)
        self.crawler = crawler
        self.max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the decompressed response, or the request once more."""
        encodings = _encodings_of(response)
        if not encodings or not response.body or request.method == "HEAD":
            return response
        try:
            if len(encodings) > MAX_ENCODINGS:
                raise BodyTooLargeError(f"encoded more than {MAX_ENCODINGS} times")
            return self._decoded(request, response, encodings)
        except BodyTooLargeError as error:
            stats.count(self.stats, stats.blocked("size"))
            raise RefusedRequest(f"{response.url} is {error}", reason="size") from error
        except BrokenEncodingError as error:
            stats.count(self.stats, "broken-encoding")
            spider = cast("Spider", self.crawler.spider)
            if not request.meta.get("dont_retry"):
                retry = get_retry_request(request, spider=spider, reason=str(error))
                if retry is not None:
                    return retry
            raise ResponseDataLossError(str(error)) from error

    def _decoded(self, request: Request, response: Response, encodings: list[str]) -> Response:
        """Return the response with its body decoded; an unknown encoding stays, with those below
        it.
        """
        body = response.body
        most = request.meta.get("download_maxsize", self.max_size)
        while encodings and encodings[-1] in ENCODINGS:
            body = decompress(body, encodings.pop(), most)
        self.crawler.stats.inc_value("httpcompression/response_bytes", len(body))
        self.crawler.stats.inc_value("httpcompression/response_count")
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
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
