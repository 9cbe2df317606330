"""Pages made from the OpenAPI files that they name, hold in a script, or were drawn from."""

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urljoin

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError

from llmsspider.crawler.pages import VALIDATORS, PageResponse, PageResult, Read
from llmsspider.crawler.parts import ConversionPool, KnownPages, Reporter, SiteKnowledge, UsesRun
from llmsspider.crawler.requests import NestedDownloadError, download_form
from llmsspider.crawler.site import FEW_SLASHES
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.items import Page
from llmsspider.web.addresses import same_site
from llmsspider.web.urls import host

logger = logging.getLogger(__name__)

MAX_FILES = 3  # OpenAPI files of one page that are read
MAX_UNREAD = 1_000  # maximum number of files whose read errors are kept

_BYTES = re.compile(r"\breceive (\d+) bytes")
_JSON = {"content-type": "application/json"}

_Files = Sequence[str | PageResponse]
"""OpenAPI files: their URLs, or answers that hold them."""


class ApiPages(UsesRun):
    """Makes pages from OpenAPI files. An API embedded in a script of the page precedes the files
    that HTML, scripts or browser name.
    """

    known: KnownPages
    report: Reporter
    site: SiteKnowledge
    workers: ConversionPool

    def __init__(self, crawler: Crawler, run: object):
        super().__init__(run)
        self.crawler = crawler
        self._unread: dict[str, str] = {}  # why files could not be read, by URL, in one line each

    async def made(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> tuple[Read | None, str | None]:
        """Return a page made from what it holds or names, None where that describes no API; and why
        a file could not be used. Raises `RenderingError` for a page whose file is gone.
        """
        meta = result.page.meta
        held = [replace(answered, body=text.encode(), headers=_JSON) for text in meta.held_apis]
        made = await self._made(request, answered, result, held)
        if made is not None:
            return (answered, made[1]), None
        files: _Files = (meta.api_files or [])[:MAX_FILES]
        if meta.api_files == []:
            files = await self._in_scripts(request, answered, meta.api_scripts)
        made = await self._made(request, answered, result, files)
        reasons = (self._unread.get(file) for file in files if isinstance(file, str))
        unread = next(filter(None, reasons), None)
        is_drawn = self.site.shell_of(answered.page_url) is not None
        if made is None and is_drawn and unread is not None and unread.endswith("status 404"):
            raise RenderingError(unread, kind="not_found")
        return made, unread

    async def computed(
        self, request: Request, answered: PageResponse, result: PageResult, rendered: PageResponse
    ) -> Read | None:
        """Return a page made from what a script gave to an element, else from the data that the
        page asked for.
        """
        spec = replace(answered, body=rendered.spec.encode(), headers=_JSON)
        files: _Files = [spec] if rendered.spec else rendered.data[:MAX_FILES]
        return await self._made(request, answered, result, files)

    async def _in_scripts(
        self, request: Request, answered: PageResponse, urls: Sequence[str]
    ) -> _Files:
        """Return the files that the scripts of a page's own site name, or a script that holds the
        API itself.
        """
        from llmsspider.content.extraction import apis  # noqa: PLC0415  # loads the converters

        for url in urls:
            file = None
            if same_site(url, answered.fetched_url):
                file = await self._file(url, request, answered)
            if file is None:
                continue
            if file.status == 304:
                return [file]
            text = file.text()
            if next(apis.apis_in(text), None) is not None:
                return [file]
            if named := apis.named_in(text):
                return [urljoin(answered.fetched_url, href) for href in named[:MAX_FILES]]
        return ()

    async def _made(
        self, request: Request, answered: PageResponse, result: PageResult, files: _Files
    ) -> Read | None:
        """Return what is made from the files of a page, None where none of them describes an API."""
        made: list[tuple[PageResponse, Page]] = []
        for named in files:
            file = await self._file(named, request, answered) if isinstance(named, str) else named
            if file is None:
                continue
            if file.status == 304:
                return file, None
            page = await self._read(file)
            if page is not None:
                made.append((file, page))
        if not made:
            return None
        self.report.count("openapi/documents")
        file, page = made[0]
        page.follow = list(dict.fromkeys([*result.page.follow, *page.follow]))
        is_alone = len(made) == 1 and file.fetched_url != answered.fetched_url
        if is_alone and result.page.meta.is_shell:
            await self._learn_shell(file, page, request, answered)
            return file, PageResult(page, "text")
        return _joined(answered, result, made)

    async def _learn_shell(
        self, file: PageResponse, page: Page, request: Request, answered: PageResponse
    ) -> None:
        """Learn the HTML that the pages of DocC have, at the first of them by another one."""
        above, is_docc, _ = file.fetched_url.partition("data/documentation/")
        root = f"{above}documentation/"
        is_first = is_docc and self.site.learn_shell(root, answered.body)
        pages = [url for url in page.follow if url.startswith(root)]
        for url in pages[:1] if is_first else ():
            with suppress(NestedDownloadError):
                other = await download_form(self.crawler, url, request, answered)
                self.site.learn_shell(root, other.body)
                if other.fetched_url == f"{url}/":
                    self.site.with_slash[host(url)] = FEW_SLASHES

    async def _read(self, file: PageResponse) -> Page | None:
        """Return the page that a file describes, None where it describes no API."""
        type_ = file.mime_type or ""
        try:
            return await self.workers.read_api(file.body, file.fetched_url, type_, file.encoding)
        except ConversionError as error:
            self._note_unread(file.fetched_url, str(error))
            return None

    async def _file(
        self, url: str, request: Request, answered: PageResponse
    ) -> PageResponse | None:
        """Return the answer with the file, or the 304 for the stored file; None where there is no
        file.
        """
        try:
            file = await download_form(self.crawler, url, request, answered)
        except NestedDownloadError as error:
            why = str(error)
            if isinstance(error.__cause__, DownloadCancelledError):
                size = _BYTES.search(why)
                taken = self.crawler.settings.getint("DOWNLOAD_MAXSIZE")
                sizes = f"{f'{size[1]} bytes, ' if size else ''}{taken} are taken"
                why = f"it is larger than DOWNLOAD_MAXSIZE ({sizes}): raise that setting"
            self._note_unread(url, why)
            return None  # the page is rendered
        if file.status == 304:
            return file if self.known.validated(file.fetched_url) is not None else None
        if file.status != 200 or file.error_kind is not None:
            self._note_unread(url, f"HTTP status {file.status}")
            return None
        return file

    def _note_unread(self, url: str, why: str) -> None:
        if len(self._unread) < MAX_UNREAD:
            self._unread[url] = f"no OpenAPI file at {url}: {why}"
        what = {"url": url, "why": why}
        logger.info(
            "No OpenAPI file at %(url)s: %(why)s", what, extra={"spider": self.crawler.spider}
        )


def _joined(
    answered: PageResponse, result: PageResult, made: list[tuple[PageResponse, Page]]
) -> tuple[PageResponse, PageResult]:
    """Return a page of its own text, unless it has none, and the documents of its files; without
    validators: those of one part do not cover the others.
    """
    html = result.page
    own = [] if html.meta.is_shell or result.origin == "rendered" else [html]
    parts = [*own, *(part for _, part in made)]
    page = replace(
        made[0][1],
        markdown="\n".join(part.markdown for part in parts if part.markdown),
        links=[link for part in parts for link in part.links],
        meta=replace(html.meta, title=html.meta.title or made[0][1].meta.title),
    )
    body = b"\n".join([answered.body, *(file.body for file, _ in made)])
    answer = replace(answered, headers=without_validators(answered), body=body)
    return answer, PageResult(page, "text")


def without_validators(answer: PageResponse) -> dict[str, str]:
    """Return the headers of an answer without those that a stored page is revalidated with."""
    return {name: value for name, value in answer.headers.items() if name not in VALIDATORS}
