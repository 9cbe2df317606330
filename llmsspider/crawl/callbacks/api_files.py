"""API references that scripts render: made from the OpenAPI file that the page names."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy.exceptions import DownloadCancelledError

from llmsspider.crawl.download_errors import NestedDownloadError
from llmsspider.crawl.pages import VALIDATORS, PageResponse, PageResult, refused_by_page
from llmsspider.crawl.requests import download_nested
from llmsspider.errors import ConversionError
from llmsspider.items import HTML_ORIGINS
from llmsspider.web.addresses import same_site
from llmsspider.web.outcomes import kind_of_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.rendering import Renderer
    from llmsspider.crawl.run import Run
    from llmsspider.items import Page

logger = logging.getLogger(__name__)

MAX_FILES = 3
"""OpenAPI files of one page that are read."""
MAX_UNREAD = 1_000
"""Maximum number of files whose read errors are kept."""
_BYTES = re.compile(r"\breceive (\d+) bytes")


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
        named, held = (meta.api_files, meta.held_apis) if self._is_page(answered, result) else (None, [])
        if held and (written := await self._held(answered, result, held)) is not None:
            return answered, written
        files: Sequence[str | PageResponse] = named or ()
        if named == [] and meta.api_scripts:
            files = await self._in_scripts(request, answered, meta.api_scripts)
        made = await self._made(request, answered, result, files) if files else None
        if made is not None:
            return made
        unread = next((self._unread[file] for file in files if file in self._unread), None)
        rendered, page = await self.renderer.render(request, answered, result, unread)
        if rendered.data and self._is_page(rendered, page) and page.page.meta.api_files is not None:
            made = await self._made(request, answered, result, rendered.data)
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
                return [urljoin(answered.fetched_url, href) for href in named]
            if scripts.holds_api(text):
                return [file]
        return ()

    async def _held(
        self, answered: PageResponse, result: PageResult, held: Sequence[str]
    ) -> PageResult | None:
        """Return a page with the documents of the APIs that its scripts hold, None where none can be read."""
        made: list[tuple[PageResponse, Page]] = []
        for text in held:
            file = replace(answered, body=text.encode(), headers={"content-type": "application/json"})
            if (page := await self._read(file)) is not None:
                made.append((file, page))
        if not made:
            return None
        self.run.count("openapi/documents")
        return _together(answered, result, made)[1]

    async def _made(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        files: Sequence[str | PageResponse],
    ) -> tuple[PageResponse, PageResult | None] | None:
        """Return what is made from the files of a page, None where none of them describes an API."""
        made: list[tuple[PageResponse, Page]] = []
        for named in files[:MAX_FILES]:
            file = await self._download(named, request, answered) if isinstance(named, str) else named
            if file is not None and file.status == 304:
                return file, None
            page = await self._read(file) if file is not None else None
            if file is not None and page is not None:
                made.append((file, page))
        if not made:
            return None
        self.run.count("openapi/documents")
        if len(made) == 1 and result.page.meta.is_shell:
            file, page = made[0]
            return file, PageResult(_with_links(page, result.page), "text")
        return _together(answered, result, made)

    def _is_page(self, answered: PageResponse, result: PageResult) -> bool:
        return (
            result.origin in HTML_ORIGINS
            and result.filtered is None
            and not result.page.meta.refresh
            and refused_by_page(result.page.meta, answered, self.run.config) is None
        )

    async def _download(self, url: str, request: Request, answered: PageResponse) -> PageResponse | None:
        """Return the file, or the 304 that says it is the one stored; None where there is none."""
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
