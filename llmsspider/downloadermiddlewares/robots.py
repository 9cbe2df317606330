"""What the robots.txt of a host permits, as RFC 9309 has it, and its tdmrep.json."""

import asyncio
import contextlib
import logging
from typing import Literal
from urllib.parse import urljoin, urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import robotstxt
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from llmsspider.crawler.parts import SiteKnowledge
from llmsspider.crawler.requests import RefusedRequest, info, kind_of_exception, part_of
from llmsspider.downloadermiddlewares.user_agent import robots_user_agent
from llmsspider.errors import ErrorKind
from llmsspider.web import foreign, stats
from llmsspider.web.foreign import bounded_robots
from llmsspider.web.outcomes import explained, kind_of_response
from llmsspider.web.rights import (
    Declaration,
    SiteRights,
    of_robots,
    of_tdmrep,
    opt_out,
)
from llmsspider.web.stats import BlockReason

logger = logging.getLogger(__name__)


DISALLOW_ALL = b"User-agent: *\nDisallow: /\n"
"""What an unreachable robots.txt means (RFC 9309, section 2.3.1.4)."""

ROBOTS_MAX_BYTES = 500 * 1024
"""Maximum number of bytes of a robots.txt that are read; RFC 9309, section 2.5, requires at least
500 KiB.
"""

TDMREP = "/.well-known/tdmrep.json"  # where a host declares reservations of text and data mining
FILE_SECS = 20  # time that the request for such a file may take: it holds up the first page

UNREACHABLE: Literal["robots-unreachable"] = "robots-unreachable"
"""The `reason` of requests refused because robots.txt failed."""


class RobotsTxtMiddleware(robotstxt.RobotsTxtMiddleware):
    """Scrapy's, with the cases of RFC 9309, section 2.3.1, distinguished.

    2xx: the first 500 KiB are parsed. 4xx: there are no rules. 5xx, 429 and failed downloads:
    nothing of that host may be fetched, said in one WARNING. Groups are matched by product token.
    An AI opt-out is obeyed like a Disallow, unless `LLMS_OBEY_AI_OPTOUT` is False. Counts
    `llms/blocked/robots` and `llms/blocked/robots-unreachable`.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        if (site := part_of(crawler, SiteKnowledge)) is not None:
            site.robots_txt = self.text_of
        self._rights = part_of(crawler, SiteRights) or SiteRights()
        # the hosts that declare something, where opt-outs are obeyed
        self._declaring: set[str] = set()
        self._token = robots_user_agent(crawler.settings)
        self._parser: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._rules: dict[str, asyncio.Future[RobotParser | None]] = {}
        self._obey_opt_out = crawler.settings.getbool("LLMS_OBEY_AI_OPTOUT", True)
        self._unreachable: dict[str, tuple[ErrorKind, str]] = {}
        self._texts: dict[str, str] = {}

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Raise `RefusedRequest` where robots.txt forbids the URL, or that of the page it is the
        Markdown of.
        """
        netloc = urlparse_cached(request).netloc
        if netloc in self._unreachable:
            kind, message = self._unreachable[netloc]
            raise self._blocked(message, UNREACHABLE, kind)
        for url in filter(None, (request.url, info(request).get("page"))):
            if rp is not None and not rp.allowed(url, self._token):
                self.crawler.stats.inc_value("robotstxt/forbidden")
                raise self._blocked("forbidden by robots.txt (ROBOTSTXT_OBEY)", "robots", "blocked")
            reason = opt_out(self._rights.at(url)) if netloc in self._declaring else None
            if reason is not None:
                raise RefusedRequest(f"{reason} (LLMS_OBEY_AI_OPTOUT)", reason="ai-opt-out")

    async def text_of(self, url: str) -> str | None:
        """Return the robots.txt of the host of `url`, fetched once: empty where it has none, None
        where that failed.
        """
        await self.robot_parser(Request(url))
        return self._texts.get(urlsplit(url).netloc)

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """Return the rules of a request's host; the first request fetches its robots.txt, the
        others wait for that.
        """
        netloc = urlparse_cached(request).netloc
        known = self._rules.get(netloc)
        if known is not None:
            return await asyncio.shield(known)
        self._rules[netloc] = fetched = asyncio.get_running_loop().create_future()
        rules = None
        try:
            rules = await self._fetch(request, netloc)
        except asyncio.CancelledError:
            self._rules.pop(netloc).cancel()
            raise
        except Exception as error:
            is_failed = isinstance(error, RefusedRequest) and error.reason == UNREACHABLE
            cause = error.__cause__ if is_failed and error.__cause__ else error
            if not isinstance(cause, IgnoreRequest):  # its download failed, or parsing it
                self.crawler.stats.inc_value(f"robotstxt/exception_count/{type(cause)}")
                self._give_up(netloc, "network", explained(cause))
        fetched.set_result(rules)
        self.crawler.stats.inc_value("robotstxt/request_count")
        return rules

    async def _fetch(self, request: Request, netloc: str) -> RobotParser:
        url = f"{urlparse_cached(request).scheme}://{netloc}/robots.txt"
        response = await self._download(url)
        kind = kind_of_response(response.status, {})
        body = response.body[:ROBOTS_MAX_BYTES] if kind is None else b""
        if kind in {"network", "rate_limited"}:
            self._give_up(netloc, kind, f"it answered {response.status}")
            body = DISALLOW_ALL
        text = bounded_robots(body.decode("utf-8", "replace"), self._token)
        self._texts[netloc] = text
        declared = of_robots(text, self._token, url)
        if netloc not in self._unreachable:
            declared += await self._reservations(urljoin(url, TDMREP))
        self._rights.add(netloc, declared)
        if self._obey_opt_out and declared:
            self._declaring.add(netloc)
        training = [
            one.line for one in self._rights.at(request.url) if one[:2] == ("ai-train", False)
        ]
        if training:
            stats.count(self.crawler.stats, "reported/no-ai-training")
            logger.info(
                "%(host)s forbids training models with its pages (%(line)s)",
                {"host": netloc, "line": training[0]},
                extra={"spider": self.crawler.spider},
            )
        self.crawler.stats.inc_value("robotstxt/response_count")
        self.crawler.stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        rules: RobotParser = self._parser.from_crawler(self.crawler, text.encode())
        await self.crawler.signals.send_catch_log_async(
            signal=signals.robots_parsed, robotparser=rules, request=request
        )
        return rules

    async def _download(self, url: str, **limits: int) -> Response:
        meta = {"dont_obey_robotstxt": True, **limits}
        request = Request(url, priority=self.DOWNLOAD_PRIORITY, meta=meta, callback=NO_CALLBACK)
        assert self.crawler.engine is not None  # noqa: S101  # there is one whenever a request is sent
        return await self.crawler.engine.download_async(request)

    async def _reservations(self, url: str) -> list[Declaration]:
        """Return what the tdmrep.json of a host declares; one that is wrong is said in one line."""
        body = await self._file(url)
        try:
            return foreign.read(of_tdmrep, body) if body.lstrip()[:1] == b"[" else []
        except foreign.UnreadableError as error:
            logger.info(
                "%(url)s says nothing: %(why)s",
                {"url": url, "why": str(error)},
                extra={"spider": self.crawler.spider},
            )
            return []

    async def _file(self, url: str) -> bytes:
        """Return a file that may declare something, empty where there is none or it cannot be had."""
        with contextlib.suppress(Exception):  # whatever a download raises
            response = await self._download(
                url,
                max_retry_times=0,
                download_timeout=FILE_SECS,
                download_maxsize=ROBOTS_MAX_BYTES,
            )
            return response.body[:ROBOTS_MAX_BYTES] if response.status == 200 else b""
        return b""

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise the failure of a robots.txt as a `RefusedRequest`, which Scrapy does not log with
        its traceback.
        """
        is_robots_txt = request.meta.get("dont_obey_robotstxt") and request.url.endswith(
            "/robots.txt"
        )
        if is_robots_txt and not isinstance(exception, IgnoreRequest):
            kind = kind_of_exception(exception)
            raise RefusedRequest(explained(exception), reason=UNREACHABLE, kind=kind) from exception

    def _give_up(self, netloc: str, kind: ErrorKind, why: str) -> None:
        self._unreachable[netloc] = kind, f"robots.txt could not be read: {why}"
        logger.warning(
            "robots.txt of %(host)s could not be read, its pages are not requested until it can be"
            " (RFC 9309): %(why)s",
            {"host": netloc, "why": why},
            extra={"spider": self.crawler.spider},
        )

    def _blocked(self, message: str, reason: BlockReason, kind: ErrorKind) -> RefusedRequest:
        stats.count(self.crawler.stats, stats.blocked(reason))
        return RefusedRequest(message, reason=reason, kind=kind)
