"""API references that scripts draw: made from the OpenAPI file that the page names."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llmsspider.errors import ConversionError
from llmsspider.outcomes import kind_of_response
from llmsspider.pages import VALIDATORS, Answered, PageResult, refused_by_page
from llmsspider.requests import nested_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.items import Page
    from llmsspider.rendering import Renderer
    from llmsspider.run import Run

logger = logging.getLogger(__name__)

MAX_FILES = 3
"""OpenAPI files of one page that are read."""


class ApiFiles:
    """Makes the document of an API reference from its OpenAPI file.

    The files are those that the HTML names (`PageMeta.api_files`), or that the page fetched when the browser drew it.
    A page without text of its own becomes the file's document; to any other the file's is added. Counts
    `llms/openapi/documents`, and `llms/openapi/failed` for pages none of whose files could be read.
    """

    def __init__(self, crawler: Crawler, run: Run, renderer: Renderer):
        self.crawler = crawler
        self.run = run
        self.renderer = renderer

    async def draw(
        self, request: Request, answered: Answered, result: PageResult
    ) -> tuple[Answered, PageResult | None]:
        """Return a page made from its OpenAPI file, else as the browser drew it (`Renderer.draw`).

        The result is None where the file is the one that is stored.
        """
        named = result.page.meta.api_files
        if not self._is_page(answered, result):
            named = None
        made = await self._made(request, answered, result, named) if named else None
        if made is not None:
            return made
        drawn, page = await self.renderer.draw(request, answered, result)
        if drawn.data and self._is_page(drawn, page) and page.page.meta.api_files is not None:
            made = await self._made(request, answered, result, drawn.data)
        if named and made is None:
            self.run.count("openapi/failed")
        return made or (drawn, page)

    async def _made(
        self, request: Request, answered: Answered, result: PageResult, urls: Sequence[str]
    ) -> tuple[Answered, PageResult | None] | None:
        """Return what is made from the files of a page, None where none of them describes an API."""
        made: list[tuple[Answered, Page]] = []
        for url in urls[:MAX_FILES]:
            file = await self._download(url, request, answered)
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

    def _is_page(self, answered: Answered, result: PageResult) -> bool:
        return (
            result.origin in {"html", "rendered"}
            and result.left_out is None
            and not result.page.meta.refresh
            and refused_by_page(result.page.meta, answered, self.run.config) is None
        )

    async def _download(self, url: str, request: Request, answered: Answered) -> Answered | None:
        """Return the file, or the 304 that says it is the one stored; None where there is none."""
        engine = self.crawler.engine
        if engine is None:
            return None
        try:
            response = await engine.download_async(nested_request(url, request))
        except Exception as error:  # whatever it was, the page is drawn
            self._warn(url, str(error).partition("\n")[0] or type(error).__name__)
            return None
        file = replace(Answered.from_response(response, now=answered.fetched_at), page_url=answered.page_url)
        if file.status == 304:
            return file if self.run.known.validated(file.fetched_url) is not None else None
        if file.status != 200 or kind_of_response(file.status, file.headers, file.body) is not None:
            self._warn(url, f"HTTP status {file.status}")
            return None
        return file

    async def _read(self, file: Answered) -> Page | None:
        try:
            return await self.run.workers.read_api(
                file.body, file.fetched_url, file.mime_type or "", file.encoding
            )
        except ConversionError as error:
            self._warn(file.fetched_url, str(error))
            return None

    def _warn(self, url: str, why: str) -> None:
        logger.info(
            "No OpenAPI file at %(url)s: %(why)s",
            {"url": url, "why": why},
            extra={"spider": self.crawler.spider},
        )


def _together(
    answered: Answered, result: PageResult, made: list[tuple[Answered, Page]]
) -> tuple[Answered, PageResult]:
    """Return a page of several parts: its own text, unless it has none, and the documents of its files.

    It has no validators: none of the parts' would speak for the others.
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
