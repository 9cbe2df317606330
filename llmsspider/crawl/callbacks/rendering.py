"""Pages without text until scripts have run: made from the OpenAPI file that they name, or rendered in a browser."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy.exceptions import DownloadCancelledError

from llmsspider.crawl.pages import (
    VALIDATORS,
    PageResponse,
    PageResult,
    is_documentation,
    markdown_alternate,
    read_page,
)
from llmsspider.crawl.requests import (
    NestedDownloadError,
    download_nested,
    info,
    kind_of_exception,
    nested_request,
)
from llmsspider.errors import BrowserUnavailableError, ConversionError, RenderingError
from llmsspider.items import HTML_ORIGINS
from llmsspider.web.addresses import same_site
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.stats import Filtered
from llmsspider.web.url_gate import fault
from llmsspider.web.urls import identity, page_key, split_route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.items import Page

logger = logging.getLogger(__name__)


SOME_TEXT = 40
"""Least number of characters of a shell that is a document without a browser; a shorter one is a loading notice."""

ENOUGH_TEXT = 200
"""Characters from which a page is a document although some of its own data failed to load."""

MAX_IN_VAIN = 5
"""Consecutive pages whose second rendering failed like the first, after which none is rendered twice."""


MAX_FILES = 3
"""OpenAPI files of one page that are read."""
MAX_UNREAD = 1_000
"""Maximum number of files whose read errors are kept."""
_BYTES = re.compile(r"\breceive (\d+) bytes")

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
        if result.origin != "html" or not is_documentation(result, answered, self.run.config):
            return False
        return page.is_shell or page.api_files == [] or self.run.arguments.render == "always"

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
            page = replace(await read_page(rendered.page, self.run.workers, listed=False), origin="rendered")
            own = {identity(split_route(url)[0]) for url in (answered.fetched_url, answered.page_url)}
            if identity(split_route(rendered.page.fetched_url)[0]) not in own:
                page.page.meta.refresh = rendered.page.fetched_url
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


class ApiFiles:
    """Makes the document of an API reference from its OpenAPI file.

    The files are those that the HTML names (`PageMeta.api_files`), else that its scripts and configurations
    name or are (`PageMeta.api_scripts`), or that the page fetched in the browser; an API embedded in a script
    of the page (`PageMeta.held_apis`) takes precedence.
    A page without text of its own becomes the file's document; to any other the file's is added. Counts
    `llms/openapi/documents`, and `llms/openapi/failed` for pages none of whose files could be read.
    """

    def __init__(self, crawler: Crawler, run: Run, renderer: Renderer):
        self.crawler = crawler
        self.run = run
        self.renderer = renderer
        self._unread: dict[str, str] = {}
        """Why files could not be read, by URL, in one line each."""

    async def render(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> tuple[PageResponse, PageResult | None]:
        """Return a page made from its OpenAPI file, else as the browser rendered it (`Renderer.render`).

        The result is None where the file is the one that is stored.
        """
        meta = result.page.meta
        is_page = result.origin in HTML_ORIGINS and is_documentation(result, answered, self.run.config)
        named, texts = (meta.api_files, meta.held_apis) if is_page else (None, [])
        header = {"content-type": "application/json"}
        held = [replace(answered, body=text.encode(), headers=header) for text in texts]
        made = await self._made(request, answered, result, held) if held else None
        if made is not None:
            return made[0] if made[1] is None else answered, made[1]
        files: Sequence[str | PageResponse] = (named or [])[:MAX_FILES]
        if named == [] and meta.api_scripts:
            files = await self._in_scripts(request, answered, meta.api_scripts)
        made = await self._made(request, answered, result, files) if files else None
        if made is not None:
            return made
        unread = next((self._unread[file] for file in files if file in self._unread), None)
        rendered, page = await self.renderer.render(request, answered, result, unread)
        is_page = page.origin in HTML_ORIGINS and is_documentation(page, rendered, self.run.config)
        if rendered.data and is_page and page.page.meta.api_files is not None:
            made = await self._made(request, answered, result, rendered.data[:MAX_FILES])
        if named and made is None:
            self.run.count("openapi/failed")
        return made or (rendered, page)

    async def _in_scripts(
        self, request: Request, answered: PageResponse, urls: Sequence[str]
    ) -> Sequence[str | PageResponse]:
        """Return the files that the scripts of a page's own site name, or a script that holds the API itself."""
        from llmsspider.content.openapi import scripts  # noqa: PLC0415  # loads YAML

        for url in urls:
            if not same_site(url, answered.fetched_url):
                continue
            file = await self._download(url, request, answered)
            if file is None:
                continue
            if file.status == 304:
                return [file]
            text = file.text()
            if named := scripts.named_in(text):
                return [urljoin(answered.fetched_url, href) for href in named[:MAX_FILES]]
            if scripts.holds_api(text):
                return [file]
        return ()

    async def _made(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        files: Sequence[str | PageResponse],
    ) -> tuple[PageResponse, PageResult | None] | None:
        """Return what is made from the files of a page, None where none of them describes an API."""
        made: list[tuple[PageResponse, Page]] = []
        for named in files:
            file = await self._download(named, request, answered) if isinstance(named, str) else named
            if file is not None and file.status == 304:
                return file, None
            page = await self._read(file) if file is not None else None
            if file is not None and page is not None:
                made.append((file, page))
        if not made:
            return None
        self.run.count("openapi/documents")
        if len(made) == 1 and result.page.meta.is_shell and made[0][0].fetched_url != answered.fetched_url:
            return made[0][0], PageResult(_with_links(made[0][1], result.page), "text")
        return _together(answered, result, made)

    async def _download(self, url: str, request: Request, answered: PageResponse) -> PageResponse | None:
        """Return the answer with the file, or the 304 for the stored file; None where there is no file."""
        try:
            response = await download_nested(self.crawler, url, request)
        except NestedDownloadError as error:
            is_too_large = isinstance(error.__cause__, DownloadCancelledError)
            self._warn(url, self._too_large(str(error)) if is_too_large else str(error))
            return None  # the page is rendered
        file = replace(
            PageResponse.from_response(response, now=answered.fetched_at), page_url=answered.page_url
        )
        if file.status == 304:
            return file if self.run.known.validated(file.fetched_url) is not None else None
        if file.status != 200 or kind_of_response(file.status, file.headers, file.body) is not None:
            self._warn(url, f"HTTP status {file.status}")
            return None
        return file

    async def _read(self, file: PageResponse) -> Page | None:
        try:
            return await self.run.workers.read_api(
                file.body, file.fetched_url, file.mime_type or "", file.encoding
            )
        except ConversionError as error:
            self._warn(file.fetched_url, str(error))
            return None

    def _too_large(self, message: str) -> str:
        """Return a message that a file exceeds the download limit, with its size where Scrapy's message has it."""
        limit, size = self.crawler.settings.getint("DOWNLOAD_MAXSIZE"), _BYTES.search(message)
        how_large = f"{size[1]} bytes, " if size else ""
        return f"it is larger than DOWNLOAD_MAXSIZE ({how_large}{limit} are taken): raise that setting"

    def _warn(self, url: str, why: str) -> None:
        if len(self._unread) < MAX_UNREAD:
            self._unread[url] = f"no OpenAPI file at {url}: {why}"
        logger.info(
            "No OpenAPI file at %(url)s: %(why)s",
            {"url": url, "why": why},
            extra={"spider": self.crawler.spider},
        )


def _together(
    answered: PageResponse, result: PageResult, made: list[tuple[PageResponse, Page]]
) -> tuple[PageResponse, PageResult]:
    """Return a page of several parts: its own text, unless it has none, and the documents of its files.

    It has no validators (ETag, Last-Modified), since those of one part do not cover the others.
    """
    own = result.page
    parts = [
        *([] if own.meta.is_shell or result.origin == "rendered" else [own]),
        *(page for _, page in made),
    ]
    page = replace(
        _with_links(made[0][1], own),
        markdown="\n".join(part.markdown for part in parts if part.markdown),
        links=[link for part in parts for link in part.links],
        meta=replace(own.meta, title=own.meta.title or made[0][1].meta.title),
    )
    headers = {name: value for name, value in answered.headers.items() if name not in VALIDATORS}
    body = b"\n".join([answered.body, *(file.body for file, _ in made)])
    return replace(answered, headers=headers, body=body), PageResult(page, "text")


def _with_links(page: Page, html: Page) -> Page:
    """Return a page that follows the links of its HTML too."""
    return replace(page, follow=list(dict.fromkeys([*html.follow, *page.follow])))
