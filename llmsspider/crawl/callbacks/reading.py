"""How the page that an answer holds is read: as Markdown, as HTML, rendered in a browser, or from an OpenAPI file."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from llmsspider.crawl.callbacks.rendering import ApiFiles, Renderer
from llmsspider.crawl.link_bases import UnsettledError
from llmsspider.crawl.pages import (
    LinkJoiner,
    PageResponse,
    PageResult,
    is_documentation,
    plain_links,
    read_page,
)
from llmsspider.crawl.requests import HTML_ACCEPT, NestedDownloadError, download_nested
from llmsspider.crawl.stubs import is_fuller
from llmsspider.errors import RenderingError
from llmsspider.items import MARKDOWN_ORIGINS
from llmsspider.web import stats
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.page_forms import is_markdown_url, page_candidates
from llmsspider.web.urls import host, page_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.content.markdown import Draft
    from llmsspider.crawl.run import Run
    from llmsspider.crawl.stubs import Stub
    from llmsspider.errors import ErrorKind
    from llmsspider.items import Page

logger = logging.getLogger(__name__)


def count_hidden(run: Run, page: Page) -> None:
    """Count the characters of a page's text that were removed because they are invisible to readers."""
    if page.hidden:
        run.count("hidden-text", page.hidden)


def count_page(run: Run, url: str, page: Page) -> None:
    """Count the hidden text of a page that was read; count and log another converter than the chosen one."""
    count_hidden(run, page)
    if not page.fallback:
        return
    logger.log(
        logging.DEBUG if run.progress.fallbacks else logging.WARNING,
        "%(url)s was converted by %(engine)s: %(chosen)s failed on it (%(why)s); the report names all such pages",
        {"url": url, "engine": page.converter, "chosen": run.config.converter, "why": page.fallback},
    )
    run.count("converter/fallback")
    run.progress.fallback(url, page.fallback)


class MarkdownLinks:
    """Makes the links of Markdown absolute, by `run.memory.link_bases`.

    A page whose own links do not show what they are relative to waits for pages that do, so that it does not matter
    which comes first.
    """

    def __init__(self, run: Run):
        self._run = run

    def joiner(
        self, draft: Draft, page_url: str, fetched_url: str, origin: str, *, can_wait: bool = True
    ) -> Callable[[str], str]:
        """Return the function that makes the hrefs of a Markdown page absolute.

        Raises:
            UnsettledError: other pages of the group that it names will show what they are relative to.
        """
        run = self._run
        site = run.site.docsify_of(page_url) or run.site.repository_of(page_url)
        if site is not None:
            return partial(site.join, page_url=page_url)
        bases = run.memory.link_bases
        links = bases.look(page_url, fetched_url, origin, draft.hrefs)
        if bases.is_open(links):
            if can_wait and run.waiting.can_keep("links", run.limit.left):
                raise UnsettledError(links.group)
            bases.conclude(links.group)
        if links.differs:
            run.count(stats.markdown_links(bases.base_of(links)))
        return bases.join(links)

    def sample(self, pages: Iterable[tuple[str, Draft]], origin: str) -> None:
        """Decide by the first pages of a file, given by address, before the first of them is converted."""
        for url, draft in pages:
            self._run.memory.link_bases.look(url, url, origin, draft.hrefs)
        self._run.memory.link_bases.conclude()


class PageReader:
    """Reads the page that an answer holds, in the form that says most.

    That is the body as it came; the page's HTML, where its Markdown is a stub; what a browser rendered, where scripts
    make the page; or what an OpenAPI file that the page names describes. Each of these is a nested download.
    """

    def __init__(self, crawler: Crawler, run: Run, join: LinkJoiner = plain_links):
        self._run = run
        self._join = join
        self.renderer = Renderer(crawler, run)
        self.fuller = FullerHtml(crawler, run)
        self._api_files = ApiFiles(crawler, run, self.renderer)

    async def read(
        self, request: Request, answer: PageResponse, *, listed: bool, with_listings: bool = True
    ) -> tuple[PageResponse, PageResult | None]:
        """Return the page, and the answer that it was read from in the end.

        The page is None where that answer says that it is as it was stored.

        Args:
            request: the page's request.
            answer: what it was answered with.
            listed: an llms.txt or sitemap names the page, so that other text formats are documents too.
            with_listings: read the text of the page where it only lists others, too.

        Raises:
            ConversionError: the body could not be converted.
            RenderingError: the browser could not render it.
            UnsettledError: what its links are relative to is not known yet.
        """
        is_shown = self._run.site.repository_of(answer.page_url) is not None  # links are relative to the page
        shown = replace(answer, fetched_url=answer.page_url) if is_shown else answer
        page = await read_page(
            shown, self._run.workers, listed=listed, join=self._join, with_listings=with_listings
        )
        answer, fuller = await self.fuller.of_page(request, answer, page)
        if fuller is None:
            return answer, None
        return await self._api_files.render(request, answer, fuller)


class FullerHtml:
    """Takes the HTML of a page in place of Markdown that is a stub.

    One nested download per stub, as long as that yields fuller pages of the host (`crawl.stubs.HostStubs`). Counts
    `llms/markdown/stub` and `llms/markdown/stub/html`. The document's `origin` is then `html`.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run

    async def of_page(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> tuple[PageResponse, PageResult | None]:
        """Return the fuller of a page's Markdown and its HTML.

        The result is None where the HTML is the one that is stored.

        Raises:
            ConversionError: the HTML could not be converted.
            RenderingError: the HTML is what is stored, and failed this time.
        """
        if result.filtered is not None or result.origin not in MARKDOWN_ORIGINS:
            return answered, result
        kind, is_open = self.run.site.stubs_of(request.url).judge(result.page.markdown)
        if is_open and self.run.known.state(page_key(request.url)) is None:
            result = replace(result, is_undecided=True)
        may_wait = result.is_undecided and self.run.waiting.can_keep("stub", self.run.limit.left)
        if kind is None or may_wait:
            return answered, result
        return await self.of_stub(request, answered, result, kind)

    async def of_stub(
        self, request: Request, answered: PageResponse, result: PageResult, kind: Stub
    ) -> tuple[PageResponse, PageResult | None]:
        """Return the fuller of a page's Markdown, which may be a stub, and its HTML, as `of_page` does."""
        stubs = self.run.site.stubs_of(request.url)
        is_file = self.run.site.repository_of(request.url) is not None  # it has no other form
        if is_file or not stubs.pays(kind):
            return answered, result
        self.run.count("markdown/stub")
        html = await self._html(request, answered)
        if html is None:
            stubs.report(kind, fuller=False)
            return answered, result
        if html.status == 304:
            stubs.report(kind, fuller=True)
            return html, None
        read = await read_page(html, self.run.workers, listed=False)
        is_taken = is_documentation(read, html, self.run.config) and not read.page.meta.is_shell
        is_taken = is_taken and is_fuller(read.page.markdown, result.page.markdown)
        stubs.report(kind, fuller=is_taken)
        if not is_taken:
            return answered, result
        self.run.count("markdown/stub/html")
        return html, replace(read, was_stub=True)

    async def _html(self, request: Request, answered: PageResponse) -> PageResponse | None:
        """Return the answer with the page's HTML, or the 304 for the stored HTML; None where there is no HTML.

        Where only the Markdown file is known, the pages that it may belong to are requested.
        """
        is_file = is_markdown_url(request.url)
        for url in page_candidates(request.url).values() if is_file else (request.url,):
            html = await self._download(url, request, answered)
            if html is not None:
                return html
        return None

    async def _download(self, url: str, request: Request, answered: PageResponse) -> PageResponse | None:
        headers = {"Accept": HTML_ACCEPT}
        try:
            response = await download_nested(self.crawler, url, request, headers=headers)
        except NestedDownloadError as error:
            logger.debug("No HTML at %(url)s: %(error)r", {"url": url, "error": error.__cause__})
            self._check_not_stored(answered, error.kind, str(error))
            return None  # the page has its Markdown
        html = replace(
            PageResponse.from_response(response, now=answered.fetched_at), page_url=answered.page_url
        )
        if html.status == 304:
            return html if self.run.known.validated(html.fetched_url) is not None else None
        wrong = kind_of_response(html.status, html.headers, html.body)
        if wrong is not None:
            self._check_not_stored(answered, wrong, f"HTTP status {html.status}")
        is_whole = html.status == 200 and wrong is None
        return html if is_whole and host(html.fetched_url) == host(url) and html.kind() == "html" else None

    def _check_not_stored(self, answered: PageResponse, kind: ErrorKind, why: str) -> None:
        """Raise `RenderingError` where the page is stored as HTML: a stub must not take its place in an outage."""
        state = self.run.known.state(page_key(answered.page_url))
        if state is not None and state.origin == "html" and kind != "not_found":
            raise RenderingError(f"its Markdown is a stub, and its HTML failed ({why})", kind=kind)
