"""What components share: the run, the meta key of requests, how they are made and fail; downloads
of nested ones.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, TypedDict, TypeVar, cast, get_args
from urllib.parse import urlsplit

from OpenSSL.SSL import Error as TlsError
from scrapy import Request, exceptions, signals
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from twisted.internet.error import ConnectError, ConnectionClosed
from twisted.web.client import ResponseFailed

from llmsspider.crawler.pages import SPOOLED_BYTES, PageResponse, Spool, text_headers, utc_now
from llmsspider.crawler.parts import (
    DocsArguments,
    KnownPages,
    Learners,
    Ledger,
    Readings,
    Records,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
)
from llmsspider.crawler.run import Run
from llmsspider.errors import UNREAD_KINDS, ErrorKind, InvalidUrlError
from llmsspider.items import DiscoveredBy, raw_hash
from llmsspider.site.discovered import FetchResult
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.site.witnesses import Witness
from llmsspider.web.outcomes import MISSING, explained, kind_of_response
from llmsspider.web.page_forms import HTML_TYPES
from llmsspider.web.stats import BlockReason, Filtered, FilterReason, Stat, count
from llmsspider.web.urls import page_key

META = "llms"
ALLOWED_STATUSES = [304]
"""Statuses besides 200 that reach the callback."""

CARRIED = ("proxy", "cookiejar")
"""Keys of Scrapy's that go along where one request takes the place of another."""

HTML_ACCEPT = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"


class RequestMeta(TypedDict, total=False):
    """The values of `meta["llms"]`, plain ones only, so that requests survive a JOBDIR."""

    by: DiscoveredBy  # how the page was found (`Document.discovered_by`)
    listed: bool  # an llms.txt or sitemap names the page
    start: bool  # it is the start page
    alike: Literal["listed", "linked"]
    """Its URL has numbers or a query, a link led to it, and it is not stored: "listed" where the
    link is on a page
    without them, else "linked"."""
    asset: bool  # it is a file beside the pages: a picture, an attachment
    alternate: bool  # its HTML named the Markdown of `md`; requested in this way once
    # URL of the page that named this one as its address, or its own; it names no other
    canonical: str
    data: list[str]  # URLs of the data that the browser loaded for the page it rendered
    dead: str  # URL of its Markdown, which was not found; other pages it may belong to are tried
    failed: dict[str, str]  # what failed to load in the browser: why, by URL
    pending: list[str]  # URLs of what was under way when the browser read it
    left: int  # tabs of the page that the browser did not open
    spec: str  # the OpenAPI description that a script of the page made, as text
    files: dict[str, str] | None
    held: bool  # came as HTML; its Markdown is requested once more at the end of the crawl
    asked: bool  # requested though its shape was no page elsewhere
    expected: bool  # its HTML is what other pages have; it was not downloaded
    late: bool  # requested once more at the end of the crawl
    md: str  # URL of its Markdown, where a file names it outright
    # part of another page's download, or of discovery; left alone by the Markdown negotiation
    nested: bool
    page: str  # URL of the page that it is requested in place of; robots.txt has to allow both
    discovery: bool  # requested by discovery
    source: bool  # fetched for its links only
    unchanged: bool  # the document of the page is as it was stored
    # the address as this run's link or list spells it, where the store spells it otherwise
    spelled: str
    # why the page that named it as its address is filtered; counted once it is answered
    uncounted: str
    verify: str  # the stored page with this key (hex) is verified
    whole: bool  # no validators are sent: what a 304 would stand for is not enough
    synthetic: bool  # answered by the project itself, never sent


def info(request: Request) -> RequestMeta:
    """Return the request's `meta["llms"]`, empty for requests of others (robots.txt)."""
    return cast("RequestMeta", request.meta.get(META, {}))


def has_any(request: Request, *keys: str) -> bool:
    """Return whether one of the values of `meta["llms"]` is set."""
    return any(info(request).get(key) for key in keys)


def depth_of(request: Request) -> int:
    """Return the links from the nearest seed to a page."""
    return int(request.meta.get("depth", 0))


def is_plain(request: Request) -> bool:
    """Return whether a request is for a page at its own address; the start page and other forms of
    a page are not.
    """
    page = info(request)
    return "by" in page and not (page.get("start") or page.get("alternate") or page.get("held"))


def nested_request(
    url: str,
    parent: Request | None = None,
    *,
    discovery: bool = False,
    page: str | None = None,
    meta: dict[str, Any] | None = None,
    **options: Any,
) -> Request:
    """Return a request that belongs to another page's download; it passes the downloader
    middlewares only.
    """
    own: RequestMeta = {"nested": True, "discovery": True} if discovery else {"nested": True}
    if page is not None:
        own["page"] = page
    meta = {META: own, **(meta or {})}
    if parent is not None:
        meta.update({key: parent.meta[key] for key in CARRIED if key in parent.meta})
    return Request(url, meta=meta, dont_filter=True, **options)


async def download_nested(crawler: Crawler, url: str, parent: Request, **options: Any) -> Response:
    """Download a file that belongs to another page, of any URL; middlewares apply, the scheduler
    does not.

    Raises `NestedDownloadError` where there is no response, whatever the reason; its `__cause__` is
    the exception.
    """
    try:
        return await crawler.engine.download_async(nested_request(url, parent, **options))
    except (
        Exception
    ) as error:  # a page has to be made without the file, whatever its download raised
        raise NestedDownloadError(error) from error


async def download_form(
    crawler: Crawler, url: str, parent: Request, answered: PageResponse, **options: Any
) -> PageResponse:
    """Download another form of the page that `answered` is for, see `download_nested`."""
    response = await download_nested(crawler, url, parent, **options)
    return replace(
        PageResponse.from_response(response, now=answered.fetched_at), page_url=answered.page_url
    )


async def download_sample(
    crawler: Crawler, url: str, page_url: str, accept: str | None, how: str = "whole"
) -> PageResponse:
    """Download a form of a page, as `"source"` with the validators of the sample before, as
    `"whole"` without; raises what a download raises.
    """
    headers = {"Accept": accept} if accept else None
    request = nested_request(url, headers=headers, meta={META: {"nested": True, how: True}})
    response = await crawler.engine.download_async(request)
    return replace(PageResponse.from_response(response, now=utc_now()), page_url=page_url)


def synthetic_request(callback: Callable[..., Any]) -> Request:
    """Return a request that is never sent: its callback yields what the crawl knows already."""
    meta = {META: {"synthetic": True}}
    return Request(
        "http://synthetic.invalid/", callback=callback, meta=meta, dont_filter=True, priority=1
    )


REDIRECTED = ("redirect_urls", "redirect_times", "redirect_reasons")
"""The metadata by which Scrapy tells of redirects."""


def is_permanent(request: Request) -> bool:
    """Return whether every redirect of a request is one for good (301, 308)."""
    return all(reason in {301, 308} for reason in request.meta.get("redirect_reasons", ()))


# The exceptions of components that refuse a request or a response on purpose, or filter a page by
# the scope.


class RefusedRequest(exceptions.IgnoreRequest):
    """Refused by a rule of this project, and never retried; the text is one line for the user.

    `kind` is the page's error kind (`kind_of_exception`), `reason` the last part of the stat that
    was counted.
    """

    def __init__(
        self, message: str, *, reason: BlockReason | FilterReason, kind: ErrorKind = "blocked"
    ):
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.reason: BlockReason | FilterReason = reason


class FilteredRequest(exceptions.IgnoreRequest):
    """A page is filtered by a rule of the scope; `why` says which, None where it waits for a
    decision.
    """

    def __init__(self, why: Filtered | None):
        super().__init__(f"{why.reason}: {why.rule}" if why is not None else "it waits")
        self.why = why


class NestedDownloadError(Exception):
    """The download of a file that belongs to another page failed, with this error kind; the text is
    one line.
    """

    def __init__(self, error: Exception):
        super().__init__(str(error).partition("\n")[0] or type(error).__name__)
        self.kind: ErrorKind = kind_of_exception(error)


# The error kind of an exception that was raised while a page was fetched or read, by its class.

BLOCKED: tuple[type[Exception], ...] = (
    exceptions.IgnoreRequest, exceptions.NotSupported, exceptions.UnsupportedURLSchemeError,
    exceptions.DownloadCancelledError,  # how Scrapy reports `DOWNLOAD_MAXSIZE`
)  # fmt: skip
LOST: tuple[type[Exception], ...] = (
    exceptions.CannotResolveHostError, exceptions.DownloadConnectionRefusedError, exceptions.DownloadFailedError,
    exceptions.DownloadTimeoutError, exceptions.ResponseDataLossError, ResponseFailed, ConnectError, ConnectionClosed,
    TunnelError, TlsError, OSError,  # with it `DNSLookupError`
)  # fmt: skip
KIND_OF_EXCEPTION: dict[type[BaseException], ErrorKind] = {
    InvalidUrlError: "invalid_url", **dict.fromkeys(BLOCKED, "blocked"), **dict.fromkeys(LOST, "network"),
}  # fmt: skip

URL_COMPLAINTS = (
    "missing scheme", "invalid hostname", "invalid url", "invalid ipv6 url", "port could not be cast",
    "port out of range",
)  # fmt: skip
"""How the `ValueError`s of Scrapy, Twisted and `urllib.parse` begin that are about a URL, in lower
case.
"""


def kind_of_exception(exception: BaseException) -> ErrorKind:
    """Return the error kind of an exception; an exception that knows its kind has it as attribute
    `kind`.
    """
    kind: ErrorKind | None = getattr(exception, "kind", None)
    if kind is not None and kind in get_args(ErrorKind):
        return kind
    text = str(exception).lower()
    if isinstance(exception, exceptions.IgnoreRequest) and "max redirections reached" in text:
        return "http"
    if isinstance(exception, ValueError) and text.startswith(URL_COMPLAINTS):
        return "invalid_url"
    # imported with the first page that is rendered
    playwright = sys.modules.get("playwright.async_api")
    if playwright is not None and isinstance(exception, playwright.Error):
        return "network"
    kinds = (KIND_OF_EXCEPTION[cls] for cls in type(exception).__mro__ if cls in KIND_OF_EXCEPTION)
    return next(kinds, "parse")


# --- the `fetch` of discovery, by Scrapy's engine ---

DISCOVERY_TIMEOUT_SECS = 20
"""Time that one request of discovery may take: it holds up the first page."""


class EngineFetch(UsesRun):
    """Download through every downloader middleware; failures are in the answer, never raised.

    Keeps two responses for later: `start_response`, which the start page's request is answered
    with, and `false_answer`, an HTML page that came with status 200 in place of an llms file.
    """

    arguments: DocsArguments
    known: KnownPages
    learned: Learners
    ledger: Ledger
    memory: SourceMemory
    readings: Readings
    site: SiteKnowledge
    spool: Spool

    def __init__(self, crawler: Crawler, run: object):
        super().__init__(run)
        self.crawler = crawler
        self.start_url = self.arguments.url
        self.start_response: Response | None = None
        self.false_answer: FetchResult | None = None
        self._looks_for_files = False
        """Whether files are looked for that were absent lately: the start page is another one."""
        self._looks_for_llms_files = False
        """Whether llms files are: the start page names them, or it or a witness of the site says
        something else.
        """
        self.api = ""
        """URL prefixes of APIs (interfaces for programs), which robots.txt rules for pages do not
        apply to.
        """

    async def __call__(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        """See `llmsspider.site.discovery.Fetch`."""
        robots = await self._robots(url)
        if robots is not None:
            return robots
        if url != self.start_url and (how := self._passes_over(url)):
            self._learn_absent(url, how)
            return FetchResult(
                url, url, 404, error="not_found", message="it was not there in earlier crawls"
            )
        answer = await self._download(url, self._request(url, accept, max_bytes))
        if answer.error in UNREAD_KINDS:
            self.memory.unread(url)
        return answer

    def _request(self, url: str, accept: str | None, max_bytes: int | None) -> Request:
        meta: dict[str, Any] = {"download_timeout": DISCOVERY_TIMEOUT_SECS, "max_retry_times": 1}
        if max_bytes is not None:
            meta["download_maxsize"] = max_bytes
        if self.api and url.startswith(self.api):
            meta["dont_obey_robotstxt"] = True
        is_refused = self.learned.accept_refusals.refuses(url)
        if url == self.start_url and (is_refused or self.site.samples_of(url, "Accept").is_html):
            accept = HTML_ACCEPT
        headers = {"Accept": accept} if accept else None
        return nested_request(url, headers=headers, callback=NO_CALLBACK, meta=meta, discovery=True)

    async def _download(self, url: str, request: Request) -> FetchResult:
        try:
            response = await self.crawler.engine.download_async(request)
        except Exception as error:  # every download error becomes the kind it is reported under
            kind = kind_of_exception(error)
            message = explained(error) if kind == "network" else str(error) or type(error).__name__
            return FetchResult(url, url, 0, {}, b"", error=kind, message=message)
        answer = _answer(url, response)
        reasons = response.meta.get("redirect_reasons", ())
        if url == self.start_url and await self.memory.doubts_start(answer, reasons, self):
            why = (
                f"it redirects to {answer.final_url}, which is believed when the next crawl meets"
                " it too"
            )
            return FetchResult(url, url, answer.status, error="http", message=why)
        self._learn(answer, response)
        return answer

    def _passes_over(self, url: str) -> str:
        looks = self._looks_for_files or (self._looks_for_llms_files and is_llms_url(url))
        return "" if looks else self.memory.passes_over(url)

    def _learn_absent(self, url: str, how: str) -> None:
        if how == "shell":
            self.learned.shells.learn_false(url)
        else:
            self.site.answers_404 = True

    def witnessed(self, found: Sequence[Witness]) -> None:
        """Look for llms files that were absent lately if the witnesses say that the site is another
        one, or are others themselves: three requests more, or four.
        """
        self._looks_for_llms_files |= self.ledger.is_other_site(found)

    async def _robots(self, url: str) -> FetchResult | None:
        """Return the robots.txt that the crawl obeys; None for other files, and where none is
        obeyed.
        """
        if self.site.robots_txt is None or urlsplit(url).path != "/robots.txt":
            return None
        text = await self.site.robots_txt(url)
        if text is None:
            return None  # it failed; the download logged the reason
        if not text:
            return FetchResult(url, url, 404, error="not_found", message="there is none")
        return FetchResult(
            url, url, 200, {"content-type": "text/plain; charset=utf-8"}, text.encode()
        )

    def _learn(self, answer: FetchResult, response: Response) -> None:
        """Take in what an answer says of the site; a large body is kept on disk."""
        body = answer.body
        how = "absent" if answer.status in MISSING else ""
        if answer.url == self.start_url:
            self._learn_start_page(answer)
            self.start_response = response
        elif self.start_response is not None and body == self.start_response.body:
            how = "shell"
        if how:
            self.memory.note_absent(answer.url, how)
            self._learn_absent(answer.url, how)
        if answer.ok and answer.content_type in HTML_TYPES and is_llms_url(answer.url):
            self.false_answer = answer
        if len(body) >= SPOOLED_BYTES:
            answer.spool = self.spool.keep(body)
            answer.body = b""

    def _learn_start_page(self, answer: FetchResult) -> None:
        url = answer.final_url
        body_hash = raw_hash(answer.body)
        drawn = self.learned.drawn.of(url)
        is_as_before = self.known.same_body(page_key(url), url, body_hash) or (
            drawn is not None and drawn.html == body_hash
        )
        is_other = self.readings.start_page(answer.body, url) is None and not is_as_before
        has_validators = not {"etag", "last-modified"}.isdisjoint(answer.headers)
        # one without validators may never be the same
        self._looks_for_llms_files = is_other or b"llms" in answer.body
        self._looks_for_files = is_other and has_validators


def _answer(url: str, response: Response) -> FetchResult:
    headers = text_headers(response)
    body = response.body
    kind = kind_of_response(response.status, headers, body)
    message = f"HTTP status {response.status}" if kind else None
    return FetchResult(
        url, response.url, response.status, headers, body, error=kind, message=message
    )


# The components of a crawl that Scrapy makes.


def run_of(crawler: Crawler) -> Run | None:
    """Return the run of the crawler's spider, None where it has none, as spiders of other projects."""
    run = getattr(crawler.spider, "run", None)
    return run if isinstance(run, Run) else None


T = TypeVar("T")


def part_of(crawler: Crawler, kind: type[T]) -> T | None:
    """Return the part of the run of the crawler's spider that is of a kind (`parts.py`), None where
    it has no run.
    """
    run = run_of(crawler)
    parts = vars(run).values() if run is not None else ()
    return next((part for part in parts if isinstance(part, kind)), None)


def counter(crawler: Crawler) -> Callable[[Stat, int], None]:
    """Return what adds to a stat of the crawl.

    Spiders are made before the crawler has its stats collector.
    """
    return lambda stat, number: count(crawler.stats, stat, number)


def required_run(crawler: Crawler) -> Run:
    """Return the run of the crawler's spider; raises `NotConfigured`, which disables a component,
    where it has none.
    """
    run = run_of(crawler)
    if run is None:
        raise exceptions.NotConfigured  # a spider of another project: Scrapy would warn of a reason
    return run


class RunComponent(UsesRun):
    """A component of a spider that has a run: a middleware, a pipeline, an extension."""

    records: Records
    report: Reporter

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(run)
        self.crawler = crawler
        self.run = run
        self.set_up()

    def set_up(self) -> None:
        """Make what the component needs besides the parts of the run."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; raises `NotConfigured` where it has none."""
        return cls(crawler, required_run(crawler))


class RunExtension(RunComponent):
    """An extension of a spider that has a run; its methods with the name of a signal of Scrapy are
    connected.
    """

    log = logging.getLogger(__name__)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; raises `NotConfigured`, without a reason to warn of, where it
        is not wanted.
        """
        extension = super().from_crawler(crawler)
        if not extension.is_wanted():
            raise exceptions.NotConfigured
        for name, signal in vars(signals).items():
            if not name.startswith("_") and hasattr(extension, name):
                crawler.signals.connect(getattr(extension, name), signal=signal)
        return extension

    @property
    def is_reported(self) -> bool:
        """Whether the crawl reports its progress; a plan or a single page does not."""
        return self.run.discovers and not self.run.config.plan_only

    def is_wanted(self) -> bool:
        """Return whether there is anything to do."""
        return True

    def log_line(self, level: int, line: str) -> None:
        """Log a line."""
        self.log.log(level, "%(line)s", {"line": line}, extra={"spider": self.crawler.spider})
