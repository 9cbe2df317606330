"""Headers: the User-Agent, credentials for their hosts alone, signatures, cookies where wanted,
content encodings.
"""

from __future__ import annotations

import gzip
import logging
import os
import re
import sys
import zlib
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, ClassVar, cast

import brotli
from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import httpcompression, useragent
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import NotConfigured, ResponseDataLossError
from scrapy.http import Response, TextResponse
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings

from llmsspider.crawl.requests import RefusedRequest
from llmsspider.downloadermiddlewares.address_guard import guarded_resolver
from llmsspider.web import stats
from llmsspider.web.credentials import Credentials, Signer, origin_of, product_token, with_contact

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from scrapy.downloadermiddlewares import cookies

    from llmsspider.browser.session import BrowserSession

logger = logging.getLogger(__name__)


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


REDACTED = "[redacted]"
"""What stands in a log where a secret was."""


class SecretsFilter(logging.Filter):
    """Put `REDACTED` in place of every secret in the log records of a handler."""

    def __init__(self, credentials: Credentials):
        super().__init__()
        longest_first = sorted(credentials.secrets(), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the message, and the traceback; keep every record."""
        message = record.getMessage()
        if self._pattern.search(message):
            record.msg = self._pattern.sub(REDACTED, message)
            record.args = None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._pattern.sub(REDACTED, record.exc_text)
        return True


class HostAuthMiddleware:
    """Add the headers of `LLMS_HTTP_AUTH` to requests for exactly the scheme, host and port they
    are for.

    So are tokens of repository hosts in the environment (`addresses.TOKENS`). It stands after the
    cookies middleware,
    which rebuilds the `Cookie` header; what a redirect carries to another origin is taken off
    again. While the crawl
    runs, the secrets are redacted in every log handler.
    """

    def __init__(self, credentials: Credentials):
        if not credentials:
            # without a reason, which Scrapy would log as a warning in every crawl
            raise NotConfigured
        self.credentials = credentials
        self._filter = SecretsFilter(credentials)
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HostAuthMiddleware:
        """Read `LLMS_HTTP_AUTH`, and filter every handler of the root logger."""
        given = Credentials.from_setting(crawler.settings.get("LLMS_HTTP_AUTH"))
        middleware = cls(given.with_tokens(os.environ))
        for handler in logging.getLogger().handlers:
            handler.addFilter(middleware._filter)
        crawler.signals.connect(middleware.spider_closed, signal=signals.engine_stopped)
        return middleware

    def spider_closed(self) -> None:
        """Remove the filters."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self._filter)

    def process_request(self, request: Request) -> None:
        """Set the headers of this origin, remove those of the others."""
        origin = origin_of(request.url)
        origins = {one[:2] for one in self.credentials.by_origin}
        name = origin[1] if origin is not None and origin[0] == "http" else ""
        if (
            ("https", name) in origins
            and ("http", name) not in origins
            and name not in self._warned
        ):
            self._warned.add(name)
            logger.warning(
                "LLMS_HTTP_AUTH: nothing is sent to http://%(host)s, which is not encrypted; the"
                " entry for %(host)s is for https. To send it all the same, name it"
                " http://%(host)s",
                {"host": name},
            )
        for other, headers in self.credentials.by_origin.items():
            for name, value in headers.items() if other != origin else ():
                if request.headers.get(name) == value.encode("latin-1"):
                    del request.headers[name]
        for name, value in self.credentials.headers_for(request.url).items():
            present = (
                (request.headers.get(name) or b"").decode("latin-1")
                if name.lower() == "cookie"
                else ""
            )
            is_new = (
                present and value not in present
            )  # beside the cookies of the site's own session
            request.headers[name] = f"{present}; {value}" if is_new else value


class DownloadHandler(HTTP11DownloadHandler):
    """Scrapy's HTTP/1.1 handler; requests are signed where there is a key, those with
    `meta["playwright"]` rendered.

    The browser is made for the first such request. Until then Playwright is not imported and no
    process is started. One
    browser serves both schemes.
    """

    lazy = True
    _sessions: ClassVar[dict[Crawler, BrowserSession]] = {}

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        self._crawler = crawler
        has_key = bool(crawler.settings.get("LLMS_SIGN_KEY"))
        self._signer = Signer.from_settings(crawler.settings) if has_key else None

    async def download_request(self, request: Request) -> Response:
        """Download by HTTP or by the browser."""
        if request.meta.get("playwright"):
            return await self._browser().download(request)
        if self._signer is None:
            return await super().download_request(request)
        return await self._signed(request, self._signer)

    def _browser(self) -> BrowserSession:
        if self._crawler not in self._sessions:
            # most crawls need none
            from llmsspider.browser.session import BrowserSession  # noqa: PLC0415

            resolver = guarded_resolver(self._crawler)
            self._sessions[self._crawler] = BrowserSession(self._crawler, resolver, self._signer)
        return self._sessions[self._crawler]

    async def _signed(self, request: Request, signer: Signer) -> Response:
        """Sign a request and send it; one that its site wants more of is sent once more."""
        headers = request.headers.copy()
        headers.update(signer.headers(request.method, request.url))
        response = await super().download_request(request.replace(headers=headers))
        asked = (response.headers.get("Accept-Signature") or b"").decode("latin-1")
        if not asked or response.status < 400 or not signer.is_asked_for_more(request.url, asked):
            return response
        headers.update(signer.headers(request.method, request.url))
        return await super().download_request(request.replace(headers=headers))

    async def close(self) -> None:
        """Close the browser and the connections; a process that crawls on forgets both."""
        if (session := self._sessions.pop(self._crawler, None)) is not None:
            await session.close()
        await super().close()


class CookiesMiddleware:
    """Scrapy's, loaded where `COOKIES_ENABLED` is on: a list of public suffixes and an HTTP library
    come with it.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> cookies.CookiesMiddleware:
        """Return Scrapy's middleware."""
        if not crawler.settings.getbool("COOKIES_ENABLED"):
            raise NotConfigured
        from scrapy.downloadermiddlewares import cookies  # noqa: PLC0415

        return cookies.CookiesMiddleware.from_crawler(crawler)


# Compressed answers (RFC 9110, section 8.4.1), whole or not at all. Scrapy takes what it can get of
# a stream that
# breaks off; half a page would be stored as the page, with the validators of the whole one. Here a
# stream has to
# reach its end, and its checksum has to be right. A body that is labelled but was never compressed
# is taken as it is.

MAX_MEMBERS = 10_000
"""Members of a gzip body, or frames of a zstd body, that are read; a body of 32 MB in members of 4
KB has fewer.
"""

CHUNK = 256 * 1024  # bytes that are decompressed at a time
MAX_ENCODINGS = 4  # encodings one upon the other that are undone

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
_MEMBER = {"gzip": b"\x1f\x8b\x08", "x-gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
"""How each member begins; other places of a body hold these bytes once in 16 MB."""


class BrokenEncodingError(ValueError):
    """The stream is truncated or damaged; the message says which."""


class BodyTooLargeError(ValueError):
    """The body is larger than was allowed; the message says how much."""


def decompress(body: bytes, encoding: str, max_size: int = 0) -> bytes:
    """Return the body without `encoding`, one of `ENCODINGS`; `max_size` is the most bytes of the
    result, 0 for any.

    Raises `BrokenEncodingError`, and `BodyTooLargeError`, also for more than `MAX_MEMBERS` members.
    """
    if not body:
        return body
    if encoding in _MEMBER and body.count(_MEMBER[encoding]) > MAX_MEMBERS:
        raise BodyTooLargeError(f"made of more than {MAX_MEMBERS} compressed members")
    try:
        whole = _decompressed(body, encoding, max_size + 1 if max_size else sys.maxsize)
    except (zlib.error, brotli.error, zstd.ZstdError, OSError, EOFError) as error:
        with suppress(UnicodeDecodeError):
            if "\0" not in body.decode(
                "utf-8"
            ):  # plain text; compressed data is no valid UTF-8 for long
                return body
        raise BrokenEncodingError(
            f"the {encoding} body is damaged or breaks off ({error})"
        ) from None
    if max_size and len(whole) > max_size:
        raise BodyTooLargeError(f"larger than {max_size} bytes when decompressed")
    return whole


def _decompressed(body: bytes, encoding: str, most: int) -> bytes:
    """Return the first `most` bytes of the stream, or all; raises `EOFError` where it ends before."""
    if encoding in _MEMBER:
        file = (
            zstd.ZstdFile(BytesIO(body))
            if encoding == "zstd"
            else gzip.GzipFile(fileobj=BytesIO(body))
        )
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
        found = inflate.decompress(body, most)
        ended = inflate.eof
    if not ended and len(found) < most:
        raise EOFError("no end")
    return found


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
        listed = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1").lower()
        encodings = [name for name in map(str.strip, listed.split(",")) if name]
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
