"""Pages without text until scripts have run: rendered in a browser."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmsspider.crawl.download_errors import kind_of_exception
from llmsspider.crawl.pages import (
    VALIDATORS,
    PageResponse,
    PageResult,
    markdown_alternate,
    read_page,
    refused_by_page,
)
from llmsspider.crawl.requests import info, nested_request
from llmsspider.errors import BrowserUnavailableError, RenderingError
from llmsspider.web.addresses import same_site
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.stats import Filtered
from llmsspider.web.url_gate import fault
from llmsspider.web.urls import identity, page_key, split_route

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


# Pages that hold no text until a browser has run their scripts: fetched again in one.

SOME_TEXT = 40
"""Least number of characters of a shell that is a document without a browser; a shorter one is a loading notice."""

ENOUGH_TEXT = 200
"""Characters from which a page is a document although some of its own data failed to load."""

MAX_IN_VAIN = 5
"""Consecutive pages whose second rendering failed like the first, after which none is rendered twice."""


MIN_ROUTES = 2
"""Least number of links to routes (`#/name`) that makes the routes of a page pages; fewer are places on the page."""


@dataclass(frozen=True)
class _Rendered:
    page: PageResponse
    failed: dict[str, str]
    is_stopped: bool


class Renderer:
    """Decides which pages the browser renders, and reads what it rendered.

    Rendering is a nested download of the same page by `BrowserDownloadHandler`. `render=auto` takes the empty
    shells (`PageMeta.is_shell`) and API references that name no file, `always` every HTML page, `never` none. A page
    that could not load a script or data of its own site is rendered once more (`llms/rendering/again`). The
    result of such a page, and of one whose scripts had to be stopped, is rejected where it has next to no text or much
    less than the stored page (`llms/rendering/incomplete`). Counts
    `llms/rendering/pages` and `llms/rendering/failed`; one WARNING when there is no browser. The policy is `wanted`.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self._places = asyncio.Semaphore(crawler.settings.getint("PLAYWRIGHT_MAX_PAGES_PER_CONTEXT", 4))
        self._warned = False
        self._in_vain = 0

    def wanted(self, answered: PageResponse, result: PageResult) -> bool:
        """Say whether to render a page: HTML that neither leads elsewhere nor opted out, by the rule of `render`."""
        page = result.page.meta
        if result.origin != "html" or result.filtered or page.refresh:
            return False
        if refused_by_page(page, answered, self.run.config):
            return False
        is_unnamed_api = page.api_files == []
        return page.is_shell or is_unnamed_api or self.run.arguments.render == "always"

    async def render(
        self, request: Request, answered: PageResponse, result: PageResult, unread: str | None = None
    ) -> tuple[PageResponse, PageResult]:
        """Return a page as the browser rendered it, or as it is where it needs no browser or there is none.

        Where the page's own scripts led elsewhere, the result's `meta.refresh` names that address. Without a
        browser a shell without text is filtered as `needs-browser`; `unread` says why the OpenAPI file that it names
        could not be used instead.

        Raises:
            RenderingError: the browser could not render a shell.
            ConversionError: what it rendered could not be converted.
        """
        has_markdown = markdown_alternate(result, answered) is not None
        is_first = not (info(request).get("alternate") or info(request).get("source"))
        if not self.wanted(answered, result) or (has_markdown and is_first):
            return answered, result
        besides = f"; {unread}" if unread else ""
        if self.run.arguments.render == "never":
            return answered, self._unrendered(request, result, f"render=never{besides}")
        try:
            rendered = await self._rendered_again(request, answered)
            page = await self._read(rendered.page, answered)
            self._check_whole(request, page, rendered)
        except BrowserUnavailableError as error:
            self._warn(error)
            return answered, self._unrendered(request, result, f"there is no browser{besides}")
        except RenderingError as error:
            self.run.count("rendering/failed")
            if result.page.meta.is_shell:
                raise RenderingError(f"{error}{besides}", kind=error.kind) from error
            logger.debug("Not rendered: %(url)s (%(error)s)", {"url": request.url, "error": error})
            return answered, result
        self.run.count("rendering/pages")
        return rendered.page, page

    async def _rendered_again(self, request: Request, answered: PageResponse) -> _Rendered:
        """Return a page as the browser rendered it, the second time where data failed to load."""
        rendered = await self._download(request, answered)
        if not rendered.failed or self._in_vain >= MAX_IN_VAIN:
            return rendered
        self.run.count("rendering/again")
        again = await self._download(request, answered)
        self._in_vain = self._in_vain + 1 if again.failed else 0
        return again

    def _check_whole(self, request: Request, result: PageResult, rendered: _Rendered) -> None:
        """Raise `RenderingError` for a possibly incomplete page with too little text (next to none, or under half)."""
        is_api = result.page.meta.api_files is not None  # its file may be read without the page
        if not rendered.failed and (is_api or not rendered.is_stopped):
            return
        size, enough = len(result.page.markdown), ENOUGH_TEXT if rendered.failed else SOME_TEXT
        if self.run.known.state(page_key(request.url)) is not None:
            stored = self.run.store.load_page(page_key(request.url))
            enough = max(enough, len(stored.content or "") // 2 if stored is not None else 0)
        if size >= enough:
            return
        self.run.count("rendering/incomplete")
        if not rendered.failed:
            raise RenderingError("the page did not come to rest, and shows next to nothing", kind="network")
        url, why = next(iter(rendered.failed.items()))
        raise RenderingError(
            f"the page could not load {url} ({why}) and shows next to nothing", kind="network"
        )

    async def _read(self, rendered: PageResponse, answered: PageResponse) -> PageResult:
        result = replace(await read_page(rendered, self.run.workers, listed=False), origin="rendered")
        pages = {identity(split_route(url)[0]) for url in (answered.fetched_url, answered.page_url)}
        if identity(split_route(rendered.fetched_url)[0]) not in pages:
            result.page.meta.refresh = rendered.fetched_url
        return result

    async def _download(self, request: Request, answered: PageResponse) -> _Rendered:
        url = split_route(answered.fetched_url)[0] + split_route(request.url)[1]
        nested = nested_request(url, request, meta={"playwright": True})
        try:
            async with self._places:
                response = await self.crawler.engine.download_async(nested)
        except (BrowserUnavailableError, RenderingError):
            raise
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error).partition("\n")[0] or type(error).__name__
            raise RenderingError(message, kind=kind_of_exception(error)) from error
        rendered = PageResponse.from_response(response, now=answered.fetched_at)
        self._check(rendered)
        headers = {name: value for name, value in rendered.headers.items() if name not in VALIDATORS}
        data = tuple(info(nested).get("data", ()))
        failed = info(nested).get("failed", {})
        own = {url: why for url, why in failed.items() if same_site(url, answered.fetched_url)}
        page = replace(rendered, page_url=answered.page_url, headers=headers, accept=None, data=data)
        return _Rendered(page, own, bool(info(nested).get("stopped")))

    def _check(self, rendered: PageResponse) -> None:
        """Raise `RenderingError` for an error status, an error page of the browser, or a page that is too large."""
        if not rendered.fetched_url.startswith(("http://", "https://")):
            raise RenderingError("its scripts led to an address that could not be loaded", kind="network")
        why = fault(rendered.fetched_url)
        if why is not None:
            raise RenderingError(f"its scripts led to an invalid URL: {why}", kind="invalid_url")
        kind = kind_of_response(rendered.status, rendered.headers, rendered.body)
        if kind is not None:
            raise RenderingError(f"HTTP status {rendered.status} in the browser", kind=kind)
        if len(rendered.body) > self.crawler.settings.getint("DOWNLOAD_MAXSIZE"):
            raise RenderingError("what the browser rendered is larger than DOWNLOAD_MAXSIZE", kind="blocked")

    def _unrendered(self, request: Request, result: PageResult, why: str) -> PageResult:
        """Return the page as it is without a browser; a stored rendering is preferred to a shell's loading notice."""
        state = self.run.known.state(page_key(request.url))
        meta = result.page.meta
        if meta.is_shell and (info(request).get("start") or len(meta.routes) >= MIN_ROUTES):
            self.run.coverage.incomplete(
                f"{request.url} and the pages that it leads to are rendered by scripts ({why})"
            )
        text = "".join(result.page.markdown.split())
        is_enough = len(text) >= SOME_TEXT and (state is None or state.origin != "rendered")
        if not meta.is_shell or is_enough:
            return result
        return PageResult(result.page, "html", Filtered("needs-browser", why))

    def _warn(self, error: BrowserUnavailableError) -> None:
        logger.log(
            logging.DEBUG if self._warned else logging.WARNING,
            "Pages that need JavaScript are filtered: %(error)s",
            {"error": error},
            extra={"spider": self.crawler.spider},
        )
        self._warned = True
