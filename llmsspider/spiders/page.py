"""The spider `page`: one page as a Markdown document."""

import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy_spider_metadata import Args  # type: ignore[attr-defined]  # it has no __all__

from llmsspider.config.arguments import (
    NO_URL,
    NO_URL_GIVEN,
    DocsArguments,
    PageArguments,
    check_arguments,
    given,
)
from llmsspider.config.components import check_components, open_settings
from llmsspider.config.settings import Config
from llmsspider.config.sources import default_name, load_profile, put_in_force
from llmsspider.content import markdown
from llmsspider.crawler.callbacks.reading import PageReader
from llmsspider.crawler.pages import (
    PageResponse,
    PageResult,
    drop_reason,
    normalised,
    refused_by_page,
    utc_now,
)
from llmsspider.crawler.requests import (
    META,
    EngineFetch,
    counter,
    kind_of_exception,
    synthetic_request,
)
from llmsspider.crawler.run import Run
from llmsspider.crawler.scheduler import queued_requests
from llmsspider.crawler.spiderrun import ProjectSpider
from llmsspider.errors import ConversionError, ErrorKind, RenderingError
from llmsspider.items import Origin, Page
from llmsspider.pipelines.item_adapter import register
from llmsspider.site import llmstxt, llmstxt_parser
from llmsspider.site.discovered import Fetch, FetchResult
from llmsspider.site.discovery import classify_file
from llmsspider.site.providers import Provider
from llmsspider.web.loading import own_arguments
from llmsspider.web.page_forms import classify
from llmsspider.web.urls import without_fragment

logger = logging.getLogger(__name__)


def page_run(crawler: Crawler, arguments: PageArguments, config: Config) -> Run:
    """Return the run of one page: nothing comes before it, and nothing is stored."""
    as_docs = DocsArguments(source=default_name(arguments.url), **arguments.model_dump())
    run = Run(as_docs, None, config, counter(crawler), partial(queued_requests, crawler))
    run.discovers = run.remembers = False
    run.progress.crawl_type = "page"
    return run


# One page, in whatever way works: a provider, its own content, else the llms.txt of its directory.
# No Scrapy here.


class FetchedPage(NamedTuple):
    """The content of a page and the answer it was read from."""

    answered: PageResponse
    result: PageResult


class PageFailedError(Exception):
    """A page failed. `kind` is None where it answered, but holds no text.

    `is_no_page` says that there is no such page, or that it is a picture or the like: no llms.txt
    stands in for it.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None,
        status: int | None = None,
        is_no_page: bool = False,
    ):
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.is_no_page = is_no_page


async def obtain(
    url: str,
    fetch: Fetch,
    extract: Callable[[], Awaitable[FetchedPage]],
    providers: Sequence[Provider],
) -> FetchedPage:
    """Return the page from the first source that has it: a provider, the page's own content, an
    llms.txt.

    `fetch` downloads one other URL, `extract` downloads and converts the page itself, or raises
    `PageFailedError`, as this does where no other source has it.
    """
    for provider in providers:
        for source in provider.sources(url):
            answer = await fetch(source.url)
            kind = classify(answer.content_type, answer.body, markdown_form=True)
            if answer.ok and answer.status == 200 and kind in {"markdown", "text"}:
                page = markdown.read(provider.markdown(answer.text), source.base)
                if page.markdown.strip():
                    return _fetched(url, answer, page, "markdown")
            logger.debug("%(url)s: nothing at %(source)s", {"url": url, "source": source.url})
    try:
        own = await extract()
        if not own.result.page.markdown.strip():
            raise PageFailedError("the page holds no text", kind=None, status=own.answered.status)
    except PageFailedError as error:
        logger.debug("Extraction failed for %(url)s: %(error)s", {"url": url, "error": error})
        fallback = None if error.is_no_page else await _fallback(url, fetch)
        if fallback is None:
            raise
        return fallback
    return own


async def _fallback(url: str, fetch: Fetch) -> FetchedPage | None:
    """Return the llms.txt that covers the page, as its author wrote it; None, with a warning, where
    there is none.
    """
    tried: list[str] = []
    for candidate in llmstxt.candidates(url):
        logger.debug(
            "Trying %(candidate)s in place of %(url)s", {"candidate": candidate, "url": url}
        )
        answer = await fetch(candidate, max_bytes=llmstxt.MAX_BYTES)
        kind, reason = classify_file(answer, candidate, main=True)
        if kind is None:
            tried.append(f"{candidate} ({answer.error or reason}, status {answer.status})")
            continue
        text = normalised(answer.text)
        page = markdown.read(text, answer.final_url)
        page.markdown = text
        page.meta.title = llmstxt_parser.parse(text, answer.final_url).title
        logger.info(
            "Took %(candidate)s in place of %(url)s: %(length)d characters",
            {"candidate": candidate, "url": url, "length": len(text)},
        )
        return _fetched(url, answer, page, "llms-txt")
    logger.warning(
        "No llms.txt in place of %(url)s: %(tried)s", {"url": url, "tried": "; ".join(tried)}
    )
    return None


def _fetched(url: str, answer: FetchResult, page: Page, origin: Origin) -> FetchedPage:
    headers = dict(answer.headers)
    here = without_fragment(url)
    answered = PageResponse(here, answer.final_url, answer.status, headers, answer.body, utc_now())
    return FetchedPage(answered, PageResult(page, origin))


NO_PAGE = frozenset({"file-type", "soft-404", "unsupported-type"})
"""Reasons that say that a URL is no page: nothing stands in for it."""

MAX_HOPS = 5
"""Maximum number of addresses that a page's scripts lead to one after the other."""

register()


class PageSpider(Args[PageArguments], ProjectSpider):
    """Get one page: a provider that knows its host, else its own content, else the llms.txt of its
    directory.

    `scrapy crawl page -a url=https://docs.example.com/guide/intro -O page.jsonl`. Nothing is stored
    and no link followed. When nothing had it, the page's own error is reported and the finish
    reason is `start_failed`, or `no_documents` for a page that answered without text; the exit code
    is 1.
    """

    name = "page"
    run: Run
    reader: PageReader
    providers: list[Provider]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(
            *args, **{key: value for key, value in kwargs.items() if not key.startswith("_")}
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider and its run; the profile's settings take effect here.

        Raises `ArgumentsError`.
        """
        kwargs = kwargs if given(kwargs) else {**kwargs, "url": NO_URL}
        arguments = check_arguments(PageArguments, given(kwargs, own_arguments(cls)))
        settings = open_settings(crawler)
        put_in_force(load_profile(arguments.profile), settings)
        check_components(settings)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.run = page_run(crawler, arguments, Config.from_settings(settings))
        spider.reader = PageReader(crawler, spider.run)
        spider.run.waiting.closed.add("stub")  # there are no other pages
        spider.providers = spider.run.config.providers
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield the one request; it is not sent, its callback gets the page."""
        if self.args.url == NO_URL:
            logger.error(NO_URL_GIVEN)
            raise CloseSpider("start_failed")
        yield synthetic_request(self.parse)

    def closed(self, reason: str) -> None:
        """End the run, before the feeds are stored: they depend on how it ended."""
        self.run.end(reason)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        """Yield the page's document; raises `CloseSpider` when there is none."""
        run = self.run
        url = self.args.url
        try:
            found = await obtain(url, EngineFetch(self.crawler, run), self.extract, self.providers)
        except PageFailedError as error:
            if error.kind is not None:
                run.report.failed(url, error.kind, str(error), error.status)
            run.coverage.fault = f"{error.kind or 'no document'}: {error}"
            logger.error("%(url)s: %(fault)s", {"url": url, "fault": run.coverage.fault})
            raise CloseSpider("start_failed" if error.kind else "no_documents") from error
        self.reader.count(found.answered.page_url, found.result.page)
        record = run.records.of_response(found.answered, found.result, depth=0, by="start")
        logger.info(
            "%(url)s: %(length)d characters (%(origin)s)",
            {"url": record.url, "length": len(record.text), "origin": record.origin},
        )
        yield record.item(source=run.source, run=uuid.uuid4().hex, change="new")

    async def extract(self) -> FetchedPage:
        """Download the page, its Markdown form first, and convert it; raises `PageFailedError`."""
        url = self.args.url
        for _ in range(MAX_HOPS):
            answered = await self._download(url)
            try:
                answered, result = await self.reader.read(
                    Request(answered.page_url), answered, listed=True
                )
            except (ConversionError, RenderingError) as error:
                kind = kind_of_exception(error)
                raise PageFailedError(str(error), kind=kind, status=answered.status) from error
            assert result is not None  # noqa: S101  # no page is as it was stored: none is
            status = answered.status
            meta = result.page.meta
            why = result.filtered
            if why is None:
                refused = refused_by_page(meta, answered, self.run.config)
                if refused is not None:
                    raise PageFailedError(": ".join(refused), kind="blocked", status=status)
                if result.origin == "rendered" and meta.refresh:
                    url = meta.refresh
                    continue
                why = drop_reason(result.page.markdown, meta.title)
            if why is None:
                return FetchedPage(answered, result)
            is_no_page = why.reason in NO_PAGE
            raise PageFailedError(": ".join(why), kind=None, status=status, is_no_page=is_no_page)
        raise PageFailedError("its scripts lead from one address to the next", kind="http")

    async def _download(self, url: str) -> PageResponse:
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101  # a callback runs in one
        try:
            response = await engine.download_async(
                Request(url, meta={META: {"by": "start", "start": True}})
            )
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error) or type(error).__name__
            raise PageFailedError(message, kind=kind_of_exception(error)) from error
        answered = PageResponse.from_response(response, now=utc_now())
        status = answered.status
        kind = answered.error_kind
        if kind is not None:
            is_no_page = kind == "not_found"
            raise PageFailedError(
                f"HTTP status {status}", kind=kind, status=status, is_no_page=is_no_page
            )
        return answered
