"""Pages without text until scripts have run: made from the OpenAPI file that they name, or rendered
in a browser.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError

from llmsspider.crawler.bot_walls import names_itself
from llmsspider.crawler.callbacks.half_drawn import NO_PAGE, HalfDrawnPages
from llmsspider.crawler.learn.drawn import Drawn
from llmsspider.crawler.pages import (
    VALIDATORS,
    PageResponse,
    PageResult,
    Read,
    drop_reason,
    is_documentation,
    markdown_alternate,
    read_page,
)
from llmsspider.crawler.parts import (
    Config,
    ConversionPool,
    Coverage,
    DocsArguments,
    KnownPages,
    Learners,
    Reporter,
    SiteKnowledge,
    UsesRun,
)
from llmsspider.crawler.requests import (
    NestedDownloadError,
    download_form,
    info,
    kind_of_exception,
    nested_request,
)
from llmsspider.crawler.site import FEW_SLASHES
from llmsspider.errors import (
    BrowserUnavailableError,
    ConversionError,
    ErrorKind,
    RenderingError,
)
from llmsspider.items import HTML_ORIGINS, Page
from llmsspider.web.addresses import same_site
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import fault, host, identity, page_key, split_route

logger = logging.getLogger(__name__)


SOME_TEXT = 40
"""Least number of characters of a shell that is a document without a browser; a shorter one is a
loading notice.
"""

ENOUGH_TEXT = 200
"""Characters from which a page is a document although some of its own data failed to load."""

NOT_THERE = frozenset({"HTTP status 404", "HTTP status 410"})
"""What fails with these fails again: a page is not rendered twice for it."""

DENIED = frozenset({"HTTP status 401", "HTTP status 403"})
"""What fails with these is for visitors who have signed in."""

MAX_IN_VAIN = 5
"""Consecutive pages whose second rendering failed like the first, after which none is rendered
twice; and pages in a row with a changed file, after which files are not asked for before a page
is rendered.
"""

MAX_SHOWN = 200_000
"""Maximum number of paragraphs of rendered pages that are compared with those of others."""

MAX_FILES = 3  # OpenAPI files of one page that are read
MAX_UNREAD = 1_000  # maximum number of files whose read errors are kept

MIN_ROUTES = 2
"""Least number of links to routes (`#/name`) that makes the routes of a page pages; fewer are
places on the page.
"""

FILE_SECS = 10.0
"""Time a file that a page was drawn from is given; the page is rendered where it takes longer."""

_SAYS_FAILED = re.compile(
    r"^#{1,3} [^\w\n]{0,9}(?:something went wrong|oops|whoops|(?:an )?(?:unexpected )?error\b|failed to\b"
    r"|(?:could not|couldn.t|cannot|unable to) (?:load|fetch|reach)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading of a page that could not load its data."""

_BYTES = re.compile(r"\breceive (\d+) bytes")

_Files = Sequence[str | PageResponse]
"""OpenAPI files: their URLs, or answers that hold them."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A page as the browser rendered it.

    `failed` maps the URL of each script or data request of its own site that failed to the reason;
    `pending` lists the URLs of those that were under way when it was read; `is_stopped` says
    whether its scripts had not come to rest; `files` maps what it was drawn from to hashes, None where
    that is not known whole.
    """

    page: PageResponse
    failed: dict[str, str]
    pending: list[str]
    is_stopped: bool
    files: dict[str, str] | None

    @property
    def is_not_there(self) -> bool:
        """Whether nothing but data that the server does not have failed."""
        return NOT_THERE.issuperset(self.failed.values()) and not self.pending

    @property
    def error_kind(self) -> ErrorKind:
        """The kind of error that a page is reported under where it shows next to nothing."""
        if self.pending or not self.failed:
            return "network"
        if self.is_not_there:
            return "not_found"
        return "auth" if DENIED.issuperset(self.failed.values()) else "network"

    @property
    def lacks(self) -> str | None:
        """What the page may lack, in words; None for a page that loaded whole."""
        if self.pending:
            return f"waits for {self.pending[0]}"
        for url, why in self.failed.items():
            return f"could not load {url} ({why})"
        return "did not come to rest" if self.is_stopped else None


class Renderer(UsesRun):
    """Decides which pages the browser renders or OpenAPI files describe, and reads them; all by
    nested downloads.

    `render=auto` renders the empty shells (`PageMeta.is_shell`) and API references that name no
    file, `always` every HTML page, `never` none. What may be incomplete is rejected where it has
    next to no text, or much less than the stored page. An API embedded in a script of the page
    precedes the OpenAPI files that HTML, scripts or browser name.
    """

    arguments: DocsArguments
    config: Config
    coverage: Coverage
    known: KnownPages
    learned: Learners
    report: Reporter
    site: SiteKnowledge
    workers: ConversionPool

    def __init__(self, crawler: Crawler, run: object):
        super().__init__(run)
        self.crawler = crawler
        self._places = asyncio.Semaphore(
            crawler.settings.getint("PLAYWRIGHT_MAX_PAGES_PER_CONTEXT", 4)
        )
        self._max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._warned = False
        self._warned_of_tabs = False
        self._in_vain = 0
        self._half_drawn = HalfDrawnPages()
        self._changed = 0  # pages in a row whose files were not as they were
        self._files: dict[str, asyncio.Future[str | None]] = {}
        self._shown: dict[int, bytes] = {}  # the page that showed a paragraph first
        self._unread: dict[
            str, str
        ] = {}  # why OpenAPI files could not be read, by URL, in one line each

    async def rendered(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        """Return a page made from its OpenAPI file, else as the browser rendered it (`in_browser`)."""
        meta = result.page.meta
        config = self.config
        is_page = result.origin in HTML_ORIGINS and is_documentation(result, answered, config)
        named, texts = (meta.api_files, meta.held_apis) if is_page else (None, [])
        header = {"content-type": "application/json"}
        held = [replace(answered, body=text.encode(), headers=header) for text in texts]
        made = await self._made(request, answered, result, held)
        if made is not None:
            return made[0] if made[1] is None else answered, made[1]
        files: _Files = (named or [])[:MAX_FILES]
        if named == [] and meta.api_scripts:
            files = await self._in_scripts(request, answered, meta.api_scripts)
        made = await self._made(request, answered, result, files)
        if made is not None:
            return made
        unread = next((self._unread[file] for file in files if file in self._unread), None)
        if (
            unread
            and unread.endswith("status 404")
            and self.site.shell_of(answered.page_url) is not None
        ):
            raise RenderingError(unread, kind="not_found")
        is_alike = "set-cookie" not in answered.headers and b"charset" in answered.body.lower()
        if is_page and meta.is_shell and is_alike:
            self.learned.shells.learn(answered.page_url, answered.body)
        if await self._is_as_drawn(request, answered):
            return replace(answered, status=304, headers=_without_validators(answered)), None
        rendered, page = await self.in_browser(request, answered, result, unread)
        is_page = page.origin in HTML_ORIGINS and is_documentation(page, rendered, config)
        if is_page and page.page.meta.api_files is not None:
            computed = [replace(answered, body=rendered.spec.encode(), headers=header)]
            data = computed if rendered.spec else rendered.data[:MAX_FILES]
            made = await self._made(request, answered, result, data)
        if named and made is None:
            self.report.count("openapi/failed")
        return made or (rendered, page)

    async def _is_as_drawn(self, request: Request, answered: PageResponse) -> bool:
        """Say whether all that a stored page was drawn from is as it was."""
        known = self.known
        state = known.state(page_key(request.url))
        drawn = self.learned.drawn.of(request.url)
        is_drawn = state is not None and state.origin == "rendered" and known.is_usable(state)
        may_be = is_drawn and known.trusted and self.arguments.render != "never"
        if drawn is None or not may_be or drawn.html != answered.raw_hash:
            return False
        if self._changed >= MAX_IN_VAIN:
            return False
        for url, before in drawn.files.items():
            if url not in self._files:
                self._files[url] = asyncio.ensure_future(self._file_hash(url, request, answered))
            if await self._files[url] != before:
                self._changed += 1
                return False
        self._changed = 0
        if drawn.has_routes:
            self.site.learn_routes(answered.page_url)
        return True

    async def _file_hash(self, url: str, request: Request, answered: PageResponse) -> str | None:
        """Return the hash of a file that pages are drawn from, None where there is none."""
        with suppress(NestedDownloadError):
            options: dict[str, Any] = {
                "headers": {"Accept": "*/*"},
                "meta": {"download_timeout": FILE_SECS, "dont_retry": True},
            }
            file = await download_form(self.crawler, url, request, answered, **options)
            return file.raw_hash if file.status == 200 else None
        return None

    # --- in the browser ---

    async def in_browser(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        unread: str | None = None,
    ) -> tuple[PageResponse, PageResult]:
        """Return a page as the browser rendered it, or as it is where it needs no browser or there
        is none.

        Where the page's own scripts led elsewhere, the result's `meta.refresh` names that address.
        `unread` says why the OpenAPI file that it names could not be used instead. Raises
        `RenderingError` and `ConversionError`.
        """
        meta = result.page.meta
        is_first = not (info(request).get("alternate") or info(request).get("source"))
        if (
            result.origin != "html"
            or not is_documentation(result, answered, self.config)
            or (is_first and markdown_alternate(result, answered) is not None)
        ):
            return answered, result
        if meta.is_shell or meta.api_files == [] or self.arguments.render == "always":
            return await self._in_browser(request, answered, result, unread, needs=meta.is_shell)
        if not meta.mounts or self.arguments.render == "never":
            return answered, self._unrendered(request, result, "render=never")
        boxes = await self._boxes(request, answered, result)
        return await self._filled(request, answered, result, boxes) if boxes else (answered, result)

    async def _boxes(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> list[str]:
        """Return the empty elements of a page that scripts may fill."""
        half_drawn = self._half_drawn
        url = urljoin(answered.fetched_url, NO_PAGE)
        async with half_drawn.lock:
            if half_drawn.takes_probe(url, result.page.meta):
                with suppress(NestedDownloadError):
                    answer = await download_form(self.crawler, url, request, answered)
                    half_drawn.learn_answer(url, answer.raw_hash)
        return half_drawn.boxes(answered, result.page.meta)

    async def _filled(
        self, request: Request, answered: PageResponse, result: PageResult, boxes: list[str]
    ) -> tuple[PageResponse, PageResult]:
        """Return a page whose empty elements scripts fill as the browser rendered it, others as
        they are.
        """
        half_drawn = self._half_drawn
        url = answered.page_url
        async with half_drawn.lock:
            if half_drawn.is_filled(url, boxes) is None:
                read = await self._in_browser(request, answered, result, None, needs=False)
                left = read[1].page.meta.mounts
                is_longer = len(read[1].page.markdown) > len(result.page.markdown)
                half_drawn.learn(url, boxes, left if is_longer else boxes)
                return read if half_drawn.is_filled(url, boxes) else (answered, result)
        if not half_drawn.is_filled(url, boxes):
            return answered, result
        return await self._in_browser(request, answered, result, None, needs=True)

    async def _in_browser(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        unread: str | None,
        *,
        needs: bool,
    ) -> tuple[PageResponse, PageResult]:
        """Return a page as the browser rendered it; one that does not need it as it is where that
        fails.
        """
        besides = f"; {unread}" if unread else ""
        if self.arguments.render == "never":
            return answered, self._unrendered(request, result, f"render=never{besides}")
        try:
            rendered, page = await self._rendered(request, answered, result)
        except BrowserUnavailableError as error:
            level = logging.DEBUG if self._warned else logging.WARNING
            why = "Pages that need JavaScript are filtered: %(error)s"
            if result.page.meta.is_shell:
                logger.log(level, why, {"error": error}, extra={"spider": self.crawler.spider})
                self._warned = True
            return answered, self._unrendered(request, result, f"there is no browser{besides}")
        except RenderingError as error:
            self.report.count("rendering/failed")
            if needs:
                raise RenderingError(f"{error}{besides}", kind=error.kind) from error
            logger.debug("Not rendered: %(url)s (%(error)s)", {"url": request.url, "error": error})
            return answered, result
        self.report.count("rendering/pages")
        return rendered, page

    async def _rendered(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> tuple[PageResponse, PageResult]:
        """Return a page as the browser rendered it. Raises `RenderingError` where it may lack
        something and shows little.
        """
        rendering = await self._browse(request, answered)
        failed = rendering.failed
        if not (NOT_THERE | DENIED).issuperset(failed.values()) and self._in_vain < MAX_IN_VAIN:
            self.report.count("rendering/again")
            rendering = await self._browse(request, answered)
            self._in_vain = self._in_vain + 1 if rendering.failed else 0
        rendered = rendering.page
        page = replace(await read_page(rendered, self.workers, listed=False), origin="rendered")
        own = {identity(split_route(url)[0]) for url in (answered.fetched_url, answered.page_url)}
        if identity(split_route(rendered.fetched_url)[0]) not in own:
            page.page.meta.refresh = rendered.fetched_url
        self._check(request, page, rendering)
        meta = page.page.meta
        drawn = None
        if rendering.files is not None and not (rendering.lacks or meta.refresh or meta.api_files):
            has_routes = len(meta.routes) >= MIN_ROUTES
            drawn = Drawn(answered.raw_hash, rendering.files, has_routes)
        self.learned.drawn.learn(request.url, drawn)
        return rendered, page

    async def _browse(self, request: Request, answered: PageResponse) -> Rendering:
        """Return a page as the browser rendered it. Raises `RenderingError` where it did not."""
        address = split_route(answered.fetched_url)[0]
        url = address + split_route(request.url)[1]
        shell = None if "set-cookie" in answered.headers else (answered.headers, answered.body)
        nested = nested_request(url, request, meta={"playwright": True, "llms_shell": shell})
        try:
            async with self._places:
                response = await self.crawler.engine.download_async(nested)
        except (BrowserUnavailableError, RenderingError):
            raise
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error).partition("\n")[0] or type(error).__name__
            raise RenderingError(message, kind=kind_of_exception(error)) from error
        rendered = PageResponse.from_response(response, now=answered.fetched_at)
        if not rendered.fetched_url.startswith(("http://", "https://")):
            raise RenderingError(
                "its scripts led to an address that could not be loaded", kind="network"
            )
        why = fault(rendered.fetched_url)
        if why is not None:
            raise RenderingError(f"its scripts led to an invalid URL: {why}", kind="invalid_url")
        kind = rendered.error_kind
        if kind is not None:
            raise RenderingError(f"HTTP status {rendered.status} in the browser", kind=kind)
        if len(rendered.body) > self._max_size:
            raise RenderingError(
                "what the browser rendered is larger than DOWNLOAD_MAXSIZE", kind="blocked"
            )
        headers = _without_validators(rendered)
        data = tuple(info(nested).get("data", ()))
        failed = info(nested).get("failed", {})
        own = {url: why for url, why in failed.items() if same_site(url, answered.fetched_url)}
        page = replace(
            rendered,
            page_url=answered.page_url,
            fetched_url=url if rendered.fetched_url == address else rendered.fetched_url,
            headers=headers,
            accept=None,
            data=data,
            spec=info(nested).get("spec", ""),
        )
        pending = info(nested).get("pending", [])
        left = info(nested).get("left", 0)
        if left and not self._warned_of_tabs:
            self._warned_of_tabs = True
            self.report.note(f"{left} tabs of {request.url} were not opened")
        files = None if left else info(nested).get("files")
        return Rendering(page, own, pending, bool(info(nested).get("stopped")), files)

    def _check(self, request: Request, result: PageResult, rendering: Rendering) -> None:
        """Raise `RenderingError` for a wall, and for a page that may be incomplete and shows little:
        next to nothing, less than half of what is stored, or nothing that others do not show.
        """
        lacks = rendering.lacks
        page = result.page
        wall = names_itself(page.markdown, page.meta.title, rendering.page.body)
        if wall is not None:
            raise RenderingError("a login or a notice in place of the page", kind=wall)
        is_known_lack = bool(rendering.failed or rendering.pending)
        is_api = page.meta.api_files is not None and not is_known_lack  # its file may be read
        dropped = drop_reason(page.markdown, page.meta.title)
        is_missing = dropped is not None and dropped.reason == "soft-404"
        if lacks is None:
            self._remember(page_key(request.url), page.markdown)
            return
        if is_api or (is_missing and rendering.is_not_there):
            return
        says_failed = rendering.failed and _SAYS_FAILED.search(page.markdown)
        enough = ENOUGH_TEXT if is_known_lack else SOME_TEXT
        key = page_key(request.url)
        if self.known.state(key) is not None:
            stored = self.known.load(key)
            enough = max(enough, len(stored.text) // 2 if stored is not None else 0)
        is_own = self._shows_more(key, page.markdown) or not rendering.pending
        is_own = is_own and not says_failed
        if len(page.markdown) >= enough and is_own and not page.meta.is_template:
            return
        self.report.count("rendering/incomplete")
        message = f"the page {lacks} and shows next to nothing"
        raise RenderingError(message, kind=rendering.error_kind)

    def _remember(self, key: bytes, markdown: str) -> None:
        """Remember the paragraphs of a page that loaded whole."""
        if len(self._shown) < MAX_SHOWN:
            for text in _paragraphs(markdown):
                self._shown.setdefault(text, key)

    def _shows_more(self, key: bytes, markdown: str) -> bool:
        """Say whether a page shows a paragraph that no other rendered page shows."""
        return any(self._shown.get(text, key) == key for text in _paragraphs(markdown))

    def _unrendered(self, request: Request, result: PageResult, why: str) -> PageResult:
        """Return the page as it is without a browser; a stored rendering is preferred to a shell's
        loading notice.
        """
        state = self.known.at(request.url)
        meta = result.page.meta
        if not meta.is_shell:
            is_kept = meta.mounts and state is not None and state.origin == "rendered"
            return replace(result, filtered=Filtered("needs-browser", why)) if is_kept else result
        if info(request).get("start") or len(meta.routes) >= MIN_ROUTES:
            pages = f"{request.url} and the pages that it leads to"
            self.coverage.incomplete(f"{pages} are rendered by scripts ({why})")
        text = "".join(result.page.markdown.split())
        is_enough = len(text) >= SOME_TEXT and not meta.is_template
        is_enough = is_enough and (state is None or state.origin != "rendered")
        return (
            result if is_enough else PageResult(result.page, "html", Filtered("needs-browser", why))
        )

    # --- from OpenAPI files ---

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
                file = await self._download(url, request, answered)
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
            file = (
                await self._download(named, request, answered) if isinstance(named, str) else named
            )
            if file is None:
                continue
            if file.status == 304:
                return file, None
            type_ = file.mime_type or ""
            try:
                page = await self.workers.read_api(
                    file.body, file.fetched_url, type_, file.encoding
                )
            except ConversionError as error:
                self._note_unread(file.fetched_url, str(error))
            else:
                if page is not None:
                    made.append((file, page))
        if not made:
            return None
        self.report.count("openapi/documents")
        html = result.page
        page = replace(made[0][1], follow=list(dict.fromkeys([*html.follow, *made[0][1].follow])))
        if len(made) == 1 and html.meta.is_shell and made[0][0].fetched_url != answered.fetched_url:
            root, is_docc, _ = made[0][0].fetched_url.partition("data/documentation/")
            if is_docc:
                pages = [url for url in page.follow if url.startswith(f"{root}documentation/")]
                await self._learn_shell(f"{root}documentation/", pages, request, answered)
            return made[0][0], PageResult(page, "text")
        # its own text, unless it has none, and the documents of its files; no validators: those of
        # one part do not cover the others
        own = [] if html.meta.is_shell or result.origin == "rendered" else [html]
        parts = [*own, *(part for _, part in made)]
        page = replace(
            page,
            markdown="\n".join(part.markdown for part in parts if part.markdown),
            links=[link for part in parts for link in part.links],
            meta=replace(html.meta, title=html.meta.title or page.meta.title),
        )
        body = b"\n".join([answered.body, *(file.body for file, _ in made)])
        answer = replace(answered, headers=_without_validators(answered), body=body)
        return answer, PageResult(page, "text")

    async def _learn_shell(
        self, root: str, pages: list[str], request: Request, answered: PageResponse
    ) -> None:
        """Learn the HTML that the pages below `root` have, at the first of them by another one."""
        is_first = self.site.learn_shell(root, answered.body)
        for url in pages[:1] if is_first else ():
            with suppress(NestedDownloadError):
                other = await download_form(self.crawler, url, request, answered)
                self.site.learn_shell(root, other.body)
                if other.fetched_url == f"{url}/":
                    self.site.with_slash[host(url)] = FEW_SLASHES

    async def _download(
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
                sizes = f"{f'{size[1]} bytes, ' if size else ''}{self._max_size} are taken"
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


def _paragraphs(markdown: str) -> list[int]:
    """Return the hashes of the paragraphs of a page, short ones left out."""
    return [hash(text) for text in markdown.split("\n\n") if len(text) >= SOME_TEXT]


def _without_validators(answer: PageResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in VALIDATORS}
