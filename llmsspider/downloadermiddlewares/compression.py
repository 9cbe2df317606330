"""Compressed answers (RFC 9110, section 8.4.1), whole or not at all.

Scrapy takes what it can get of a gzip, deflate, br or zstd stream that breaks off; half a page would be stored as the
page, with the validators of the whole one. Here a stream has to reach its end, and its checksum has to be right. A body
that is labelled but was never compressed is taken as it is.
"""

from __future__ import annotations

import gzip
import logging
import sys
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import brotli
from scrapy.downloadermiddlewares import httpcompression
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import NotConfigured, ResponseDataLossError
from scrapy.http import TextResponse
from scrapy.responsetypes import responsetypes

from llmsspider.crawl.requests import RefusedRequest
from llmsspider.web import stats

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

MAX_MEMBERS = 10_000
"""Members of a gzip body, or frames of a zstd body, that are read; a body of 32 MB in members of 4 KB has fewer."""

CHUNK = 256 * 1024
"""Bytes that are decompressed at a time."""

MAX_ENCODINGS = 4
"""Encodings one upon the other that are undone."""

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
_MEMBER = {"gzip": b"\x1f\x8b\x08", "x-gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
"""How each member begins; other places of a body hold these bytes once in 16 MB."""


class BrokenEncodingError(ValueError):
    """The stream is truncated or damaged; the message says which."""


class BodyTooLargeError(ValueError):
    """The body is larger than was allowed; the message says how much."""


def decompress(body: bytes, encoding: str, max_size: int = 0) -> bytes:
    """Return the body without `encoding`, one of `ENCODINGS`.

    Args:
        body: as it came.
        encoding: lower-case name.
        max_size: bytes that the result may have, 0 for any number.

    Raises:
        BrokenEncodingError: the stream has no end or is damaged.
        BodyTooLargeError: the result is larger than `max_size`, or the body has more than `MAX_MEMBERS` members.
    """
    if not body:
        return body
    if encoding in _MEMBER and body.count(_MEMBER[encoding]) > MAX_MEMBERS:
        raise BodyTooLargeError(f"made of more than {MAX_MEMBERS} compressed members")
    try:
        whole = _decompressed(body, encoding, max_size + 1 if max_size else sys.maxsize)
    except (zlib.error, brotli.error, zstd.ZstdError, OSError, EOFError) as error:
        if _is_plain(body):
            return body
        raise BrokenEncodingError(f"the {encoding} body is damaged or breaks off ({error})") from None
    if max_size and len(whole) > max_size:
        raise BodyTooLargeError(f"larger than {max_size} bytes when decompressed")
    return whole


def _decompressed(body: bytes, encoding: str, most: int) -> bytes:
    """Return the first `most` bytes of the stream, or all; raises `EOFError` where it ends before."""
    if encoding in _MEMBER:
        file = zstd.ZstdFile(BytesIO(body)) if encoding == "zstd" else gzip.GzipFile(fileobj=BytesIO(body))
        whole = bytearray()
        while len(whole) < most and (chunk := file.read(min(CHUNK, most - len(whole)))):
            whole += chunk
        return bytes(whole)
    if encoding == "br":
        stream = brotli.Decompressor()
        found: bytes = stream.process(body, output_buffer_limit=most)
        ended = stream.is_finished()
    else:
        try:
            zlib.decompressobj().decompress(body, 1)
            inflate = zlib.decompressobj()
        except zlib.error:  # some servers send the stream without its zlib frame
            inflate = zlib.decompressobj(wbits=-15)
        found, ended = inflate.decompress(body, most), inflate.eof
    if not ended and len(found) < most:
        raise EOFError("no end")
    return found


def _is_plain(body: bytes) -> bool:
    """Return whether a body is text; compressed data is no valid UTF-8 for long."""
    try:
        return "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False


class HttpCompressionMiddleware(httpcompression.HttpCompressionMiddleware):
    """Scrapy's; a body that breaks off is requested again, then an error.

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
        while encodings and encodings[-1] in ENCODINGS:
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
