"""The address guard: URLs that lead off the public Internet are refused.

What a name resolves to is filtered where it is resolved (`resolver`).
"""

import logging
from functools import lru_cache
from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from llmsspider.crawler.parts import DocsArguments
from llmsspider.crawler.requests import RefusedRequest, part_of
from llmsspider.downloadermiddlewares.resolver import allowed_addresses, guarded_resolver
from llmsspider.errors import ArgumentsError, ErrorKind
from llmsspider.web import stats
from llmsspider.web.addresses import DEFAULT_PORTS, FILE, AllowedAddresses
from llmsspider.web.stats import BlockReason
from llmsspider.web.urls import without_user

logger = logging.getLogger(__name__)


ASK_THE_REACTOR = {"HTTP11DownloadHandler", "H2DownloadHandler"}
"""Download handlers of Scrapy that connect to what the resolver of the reactor answers."""


class AddressGuardMiddleware:
    """First on the engine side: every request passes here, redirects, robots.txt and nested
    downloads too.

    Refuses what the text of the URL shows, and hosts whose last look-up gave no permitted address;
    the others are filtered by `AddressGuardResolver` when the connection is made. Raises
    `RefusedRequest`, counts `llms/blocked/address` or `llms/blocked/scheme`, logs one WARNING for
    each host.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        self.crawler = crawler
        self.allowed = allowed
        self._warned: set[str] = set()
        self._refusal = lru_cache(1024)(allowed.refusal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read `LLMS_ALLOW_PRIVATE_ADDRESSES`."""
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            why = "names cannot be checked without the reactor"
            raise ArgumentsError([f"TWISTED_REACTOR_ENABLED=False: {why}"])
        middleware = cls(crawler, allowed_addresses(crawler))
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        """Make the resolver of the process follow the rule of this crawl, and log where it cannot
        hold.
        """
        guarded_resolver(self.crawler).crawls[id(self.crawler)] = self.allowed
        handlers = self.crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        for path in sorted(
            {str(handlers[scheme]) for scheme in DEFAULT_PORTS if handlers.get(scheme)}
        ):
            if not ASK_THE_REACTOR & {kind.__name__ for kind in load_object(path).__mro__}:
                logger.warning(
                    "%(path)s resolves names by itself: private addresses are refused only where"
                    " URLs spell them out",
                    {"path": path},
                    extra={"spider": self.crawler.spider},
                )

    def spider_closed(self) -> None:
        """Reset the resolver of the process, which may go on to other crawls."""
        resolver = guarded_resolver(self.crawler)
        resolver.crawls.pop(id(self.crawler), None)
        if not resolver.crawls:
            resolver.forget()

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched; in a local folder its handler
        says what is read.
        """
        if (
            request.url.startswith(FILE)
            and (arguments := part_of(self.crawler, DocsArguments))
            and arguments.reads_folder
        ):
            return
        parts = urlparse_cached(request)
        is_web = parts.scheme in DEFAULT_PORTS
        refusal = self._refusal(f"{parts.scheme}://{parts.netloc}" if is_web else request.url)
        if refusal:
            raise self.refused(request, refusal)
        refusal = self.refusal_of_resolver(request)
        if refusal:
            raise self.refused(request, refusal, logging.DEBUG)

    def refusal_of_resolver(self, request: Request) -> str | None:
        """Return why the last look-up of a request's host came to nothing, None where it did not."""
        parts = urlparse_cached(request)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
        return guarded_resolver(self.crawler).refusal(parts.hostname or "", port)

    def refused(
        self, request: Request, message: str, level: int = logging.WARNING
    ) -> RefusedRequest:
        """Count and log a refusal and return the exception to raise."""
        parts = urlparse_cached(request)
        reason: BlockReason = "address" if parts.scheme in DEFAULT_PORTS else "scheme"
        kind: ErrorKind = "invalid_url" if message.startswith("not a usable URL") else "blocked"
        stats.count(self.crawler.stats, stats.blocked(reason))
        host = parts.hostname or parts.scheme
        logger.log(
            logging.DEBUG if host in self._warned else level,
            "Refused %(url)s: %(message)s",
            {"url": without_user(request.url), "message": message},
            extra={"spider": self.crawler.spider},
        )
        self._warned.add(host)
        return RefusedRequest(message, reason=reason, kind=kind)
