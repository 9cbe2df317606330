"""Pages that hold no text until a browser has run their scripts: fetched again in one."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llmsspider.domains import same_site
from llmsspider.download_errors import kind_of_exception
from llmsspider.errors import BrowserUnavailableError, RenderingError
from llmsspider.outcomes import kind_of_response
from llmsspider.pages import VALIDATORS, Answered, PageResult, read_page, refused_by_page
from llmsspider.reasons import Filtered
from llmsspider.requests import info, nested_request
from llmsspider.urlgate import fault
from llmsspider.urls import identity, page_key, split_route

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.run import Run

logger = logging.getLogger(__name__)

SOME_TEXT = 40
"""Characters from which what a shell holds is a document, where there is no browser; less is a loading notice."""

ENOUGH_TEXT = 200
"""Characters from which a page that could not load all of its own data is believed."""

MAX_IN_VAIN = 5
"""Pages in a row that were drawn once more in vain, after which none is: the site lacks what its pages ask for."""


class Renderer:
    """Decides which pages the browser draws, and reads what it drew.

    The drawing is a nested download of the same page by `BrowserDownloadHandler`. `render=auto` takes the empty
    shells (`PageMeta.is_shell`) and API references that name no file, `always` every HTML page, `never` none. A page
    that could not load a script or data of its own site is drawn once more (`llms/rendering/again`), and is not
    believed where it then shows next to nothing or much less than the stored one (`llms/rendering/incomplete`). Counts
    `llms/rendering/pages` and `llms/rendering/failed`; one WARNING when there is no browser. The policy is `wanted`.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self._places = asyncio.Semaphore(crawler.settings.getint("PLAYWRIGHT_MAX_PAGES_PER_CONTEXT", 4))
        self._warned = False
        self._in_vain = 0

    def wanted(self, answered: Answered, result: PageResult) -> bool:
        """Say whether a page belongs into the browser: HTML that neither leads elsewhere nor opted out."""
        page = result.page.meta
        if result.origin != "html" or result.left_out or page.refresh:
            return False
        if refused_by_page(page, answered, self.run.config):
            return False
        is_unnamed_api = page.api_files == []
        return page.is_shell or is_unnamed_api or self.run.arguments.render == "always"

    async def draw(
        self, request: Request, answered: Answered, result: PageResult
    ) -> tuple[Answered, PageResult]:
        """Return a page as the browser drew it, or as it is where it needs no browser or there is none.

        Where the page's own scripts led elsewhere, the result's `meta.refresh` names that address. Without a
        browser a shell without text is left out as `needs-browser`.

        Raises:
            RenderingError: the browser could not draw a shell.
            ConversionError: what it drew could not be converted.
        """
        if not self.wanted(answered, result):
            return answered, result
        if self.run.arguments.render == "never":
            return answered, self._undrawn(request, result, "render=never")
        try:
            drawn, failed = await self._drawing(request, answered)
            page = await self._read(drawn, answered)
            self._check_whole(request, page, failed)
        except BrowserUnavailableError as error:
            self._warn(error)
            return answered, self._undrawn(request, result, "there is no browser")
        except RenderingError as error:
            self.run.count("rendering/failed")
            if result.page.meta.is_shell:
                raise
            logger.debug("Not drawn: %(url)s (%(error)s)", {"url": request.url, "error": error})
            return answered, result
        self.run.count("rendering/pages")
        return drawn, page

    async def _drawing(self, request: Request, answered: Answered) -> tuple[Answered, dict[str, str]]:
        """Return a page as the browser drew it, if need be the second time, and what it failed to load."""
        drawn, failed = await self._download(request, answered)
        if not failed or self._in_vain >= MAX_IN_VAIN:
            return drawn, failed
        self.run.count("rendering/again")
        again, failed_again = await self._download(request, answered)
        self._in_vain = self._in_vain + 1 if failed_again else 0
        return again, failed_again

    def _check_whole(self, request: Request, result: PageResult, failed: dict[str, str]) -> None:
        """Raise `RenderingError` where what was drawn is rather what a page shows that could not load its data."""
        if not failed:
            return
        size, enough = len(result.page.markdown), ENOUGH_TEXT
        if self.run.known.state(page_key(request.url)) is not None:
            stored = self.run.store.load_page(page_key(request.url))
            enough = max(enough, len(stored.content or "") // 2 if stored is not None else 0)
        if size >= enough:
            return
        self.run.count("rendering/incomplete")
        url, why = next(iter(failed.items()))
        raise RenderingError(
            f"the page could not load {url} ({why}) and shows next to nothing", kind="network"
        )

    async def _read(self, drawn: Answered, answered: Answered) -> PageResult:
        result = replace(await read_page(drawn, self.run.workers, listed=False), origin="rendered")
        pages = {identity(split_route(url)[0]) for url in (answered.fetched_url, answered.page_url)}
        if identity(split_route(drawn.fetched_url)[0]) not in pages:
            result.page.meta.refresh = drawn.fetched_url
        return result

    async def _download(self, request: Request, answered: Answered) -> tuple[Answered, dict[str, str]]:
        engine = self.crawler.engine
        if engine is None:
            raise BrowserUnavailableError("the crawl has ended")
        url = split_route(answered.fetched_url)[0] + split_route(request.url)[1]
        nested = nested_request(url, request, meta={"playwright": True})
        try:
            async with self._places:
                response = await engine.download_async(nested)
        except (BrowserUnavailableError, RenderingError):
            raise
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error).partition("\n")[0] or type(error).__name__
            raise RenderingError(message, kind=kind_of_exception(error)) from error
        drawn = Answered.from_response(response, now=answered.fetched_at)
        self._check(drawn)
        headers = {name: value for name, value in drawn.headers.items() if name not in VALIDATORS}
        data = tuple(info(nested).get("data", ()))
        failed = info(nested).get("failed", {})
        own = {url: why for url, why in failed.items() if same_site(url, answered.fetched_url)}
        return replace(drawn, page_url=answered.page_url, headers=headers, accept=None, data=data), own

    def _check(self, drawn: Answered) -> None:
        """Raise `RenderingError` for what is no page: an error status, an error page of the browser, too large."""
        if not drawn.fetched_url.startswith(("http://", "https://")):
            raise RenderingError("its scripts led to an address that could not be loaded", kind="network")
        why = fault(drawn.fetched_url)
        if why is not None:
            raise RenderingError(f"its scripts led to an invalid URL: {why}", kind="invalid_url")
        kind = kind_of_response(drawn.status, drawn.headers, drawn.body)
        if kind is not None:
            raise RenderingError(f"HTTP status {drawn.status} in the browser", kind=kind)
        if len(drawn.body) > self.crawler.settings.getint("DOWNLOAD_MAXSIZE"):
            raise RenderingError("what the browser drew is larger than DOWNLOAD_MAXSIZE", kind="blocked")

    def _undrawn(self, request: Request, result: PageResult, why: str) -> PageResult:
        """Return what there is without a browser; a stored drawing is better than the notice of a shell."""
        state = self.run.known.state(page_key(request.url))
        text = "".join(result.page.markdown.split())
        is_enough = len(text) >= SOME_TEXT and (state is None or state.origin != "rendered")
        if not result.page.meta.is_shell or is_enough:
            return result
        return PageResult(result.page, "html", Filtered("needs-browser", why))

    def _warn(self, error: BrowserUnavailableError) -> None:
        logger.log(
            logging.DEBUG if self._warned else logging.WARNING,
            "Pages that need JavaScript are left out: %(error)s",
            {"error": error},
            extra={"spider": self.crawler.spider},
        )
        self._warned = True
