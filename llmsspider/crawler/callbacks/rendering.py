"""Pages without text until scripts have run: rendered in a browser, unless OpenAPI files describe
them.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

from llmsspider.crawler.bot_walls import names_itself
from llmsspider.crawler.callbacks.api_pages import ApiPages, without_validators
from llmsspider.crawler.callbacks.half_drawn import HalfDrawnPages
from llmsspider.crawler.learn.drawn import Drawn
from llmsspider.crawler.pages import (
    MAX_MISSING_CHARACTERS,
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
from llmsspider.errors import (
    BrowserUnavailableError,
    ConversionError,
    ErrorKind,
    RenderingError,
)
from llmsspider.items import HTML_ORIGINS, Page, content_hash
from llmsspider.web.addresses import same_site
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import fault, identity, page_key, split_route

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

MIN_ROUTES = 2
"""Least number of links to routes (`#/name`) that makes the routes of a page pages; fewer are
places on the page.
"""

FILE_SECS = 10.0
"""Time a file that a page was drawn from is given; the page is rendered where it takes longer."""

_FAILED = (
    r"something went wrong|(?:an )?(?:unexpected )?application error"
    r"|an (?:unexpected )?error (?:has )?occurred|failed to (?:load|fetch|reach)"
    r"|(?:could not|couldn.t|cannot|unable to) (?:load|fetch|reach)"
    r"|(?:this |the )?(?:page|content) (?:(?:could not|couldn.t) (?:be )?|failed to )load"
    r"|chunkloaderror|loading (?:css )?chunk"
    r"|(?:ein )?fehler ist aufgetreten|etwas (?:ist )?schief"
    r"|une erreur (?:est survenue|s.est produite)"
    r"|algo (?:ha salido|salió|deu) (?:mal|errado)|(?:se ha producido|ha ocurrido|ocorreu) un? err"
    r"|qualcosa è andato storto|si è verificato un errore"
    r"|エラーが発生|出错了|发生了?错误|что-то пошло не так|произошла ошибка"
)
_SAYS_FAILED = re.compile(
    rf"^#{{1,3}} [^\w\n]{{0,9}}(?:{_FAILED}|oops|whoops|(?:an )?(?:unexpected )?error\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading of a page that could not load its data."""

_NOTICE = re.compile(
    r"[^\n#]{1,39}(?:…|\.\.\.|\d ?%)\s*"
    rf"|(?:[^\n]{{1,60}}\n\n)?\W*(?:(?:oops|whoops|sorry|da ist)\W+)?(?:{_FAILED}).{{0,200}}",
    re.IGNORECASE | re.DOTALL,
)
"""The text of a page that says no more than that it is loading, or that it failed."""


class UnprovenError(Exception):
    """The HTML of a page may be another than what it was expected to be: it has to be downloaded."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A page as the browser rendered it.

    `failed` maps the URL of each script or data request of its own site that failed to the reason;
    `pending` lists the URLs of those that were under way when it was read; `is_stopped` says
    whether its scripts had not come to rest, `is_broken` whether one threw an error that nobody
    caught; `files` maps what it was drawn from to hashes, None where that is not known whole.
    """

    page: PageResponse
    failed: dict[str, str]
    pending: list[str]
    is_stopped: bool
    is_broken: bool
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
    next to no text, or much less than the stored page.
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
        self._nothing = asyncio.Lock()
        self._half_drawn = HalfDrawnPages()
        self._changed = 0  # pages in a row whose files were not as they were
        self._files: dict[str, asyncio.Future[str | None]] = {}
        self._shown: dict[int, bytes] = {}  # the page that showed a paragraph first
        self._owners: dict[str, bytes] = {}  # the page that had a file or a text first
        self._apis = ApiPages(crawler, run)

    async def rendered(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        """Return a page as it is, made from its OpenAPI file, or as the browser rendered it
        (`in_browser`). Raises `UnprovenError` where its HTML was not downloaded and may be another.
        """
        if not _is_expected(request):
            return await self._read(request, answered, result)
        self._check_expected(request)
        try:
            read = await self._read(request, answered, result)
        except RenderingError as error:
            raise UnprovenError from error
        if read[1] is None or read[1].origin != "rendered":
            raise UnprovenError
        return read

    async def _read(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        meta = result.page.meta
        shells = self.learned.shells
        if result.origin == "html" and not meta.is_shell:
            shells.learn_other(answered.page_url)
        is_drawn = result.needs_renderer or self.arguments.render == "always"
        if not (is_drawn and self._may_be_drawn(answered, result)):
            return answered, result
        made, unread = await self._apis.made(request, answered, result)
        if made is not None:
            return made
        is_alike = "set-cookie" not in answered.headers and b"charset" in answered.body.lower()
        if meta.is_shell and is_alike and not _is_expected(request):
            shells.learn(answered.page_url, answered.body)
        if await self._is_as_drawn(request, answered):
            return replace(answered, status=304, headers=without_validators(answered)), None
        rendered, page = await self.in_browser(request, answered, result, unread)
        if self._may_be_drawn(rendered, page) and page.page.meta.api_files is not None:
            made = await self._apis.computed(request, answered, result, rendered)
        if meta.api_files and made is None:
            self.report.count("openapi/failed")
        return made or (rendered, page)

    def _may_be_drawn(self, answered: PageResponse, result: PageResult) -> bool:
        is_html = result.origin in HTML_ORIGINS
        return is_html and is_documentation(result, answered, self.config)

    async def _is_as_drawn(self, request: Request, answered: PageResponse) -> bool:
        """Say whether all that the stored text of a page was drawn from is as it was."""
        known = self.known
        state = known.state(page_key(request.url))
        drawn = self.learned.drawn.of(request.url)
        if drawn is None or drawn.html != answered.raw_hash or self._changed >= MAX_IN_VAIN:
            return False
        if state is None or state.origin != "rendered" or not known.is_usable(state):
            return False
        is_stored = (state.markdown_hash or b"").hex() == drawn.text
        if not is_stored or not known.trusted or self.arguments.render == "never":
            return False
        is_same = await self._are_same(drawn.files, request, answered)
        self._changed = 0 if is_same else self._changed + 1
        if is_same and drawn.has_routes:
            self.site.file_sites.learn_routes(answered.page_url)
        return is_same

    async def _are_same(
        self, files: Mapping[str, str], request: Request, answered: PageResponse
    ) -> bool:
        """Say whether files, by URL, have the hashes that they had; each is requested once."""
        for url, before in files.items():
            if url not in self._files:
                self._files[url] = asyncio.ensure_future(self._file_hash(url, request, answered))
            if await self._files[url] != before:
                return False
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
        of_nothing = self.site.soft404_hashes
        boxes = self._half_drawn.boxes(answered.page_url, result.page, of_nothing)
        return await self._filled(request, answered, result, boxes) if boxes else (answered, result)

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
                before = result.page.markdown.split("\n\n")
                says_more = not set(read[1].page.markdown.split("\n\n")) <= set(before)
                half_drawn.learn(url, boxes, left if says_more else boxes)
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
        page = await self._read_rendered(rendered)
        await self._learn_nothing(request, answered)
        own = {identity(split_route(url)[0]) for url in (answered.fetched_url, answered.page_url)}
        if identity(split_route(rendered.fetched_url)[0]) not in own:
            page.page.meta.refresh = rendered.fetched_url
        self._check(request, page, rendering)
        self._prove(request, page, rendering)
        meta = page.page.meta
        drawn = None
        if rendering.files is not None and not (rendering.lacks or meta.refresh or meta.api_files):
            has_routes = len(meta.routes) >= MIN_ROUTES
            text = content_hash(page.page.markdown)
            drawn = Drawn(answered.raw_hash, rendering.files, text, has_routes)
        self.learned.drawn.learn(request.url, drawn)
        return rendered, page

    async def _read_rendered(self, rendered: PageResponse) -> PageResult:
        return replace(await read_page(rendered, self.workers, listed=False), origin="rendered")

    async def _learn_nothing(self, request: Request, answered: PageResponse) -> None:
        """Learn what scripts draw for an address, or a route, that the site does not have: once a
        crawl. The server is not asked for it.
        """
        shells = self.learned.shells
        async with self._nothing:  # others wait for what the first one learns
            nowhere = shells.nowhere(request.url)
            if nowhere is not None:
                absent = replace(answered, page_url=nowhere, fetched_url=split_route(nowhere)[0])
                with suppress(BrowserUnavailableError, RenderingError, ConversionError):
                    rendering = await self._browse(request.replace(url=nowhere), absent)
                    text = (await self._read_rendered(rendering.page)).page.markdown
                    is_there = rendering.page.fetched_url == nowhere and rendering.lacks is None
                    if is_there and 0 < len(text) < MAX_MISSING_CHARACTERS:
                        shells.learn_nothing(nowhere, content_hash(text))
        self.site.soft404_hashes |= shells.texts_of_nothing(request.url)

    async def _browse(self, request: Request, answered: PageResponse) -> Rendering:
        """Return a page as the browser rendered it. Raises `RenderingError` where it did not."""
        address = split_route(answered.fetched_url)[0]
        url = address + split_route(request.url)[1]
        shell = None if "set-cookie" in answered.headers else (answered.headers, answered.body)
        nested = nested_request(url, request, meta={"playwright": True, "llms_shell": shell})
        try:
            async with self._places:
                self._check_expected(request)
                response = await self.crawler.engine.download_async(nested)
        except (BrowserUnavailableError, RenderingError, UnprovenError):
            raise
        except Exception as error:  # every download error becomes the kind it is reported under
            message = str(error).partition("\n")[0] or type(error).__name__
            raise RenderingError(message, kind=kind_of_exception(error)) from error
        rendered = PageResponse.from_response(response, now=answered.fetched_at)
        self._check_answer(rendered)
        loaded = info(nested)
        failed = loaded.get("failed", {})
        own = {url: why for url, why in failed.items() if same_site(url, answered.fetched_url)}
        page = replace(
            rendered,
            page_url=answered.page_url,
            fetched_url=url if rendered.fetched_url == address else rendered.fetched_url,
            headers=without_validators(rendered),
            accept=None,
            data=tuple(loaded.get("data", ())),
            spec=loaded.get("spec", ""),
        )
        left = loaded.get("left", 0)
        if left and not self._warned_of_tabs:
            self._warned_of_tabs = True
            self.report.note(f"{left} tabs of {request.url} were not opened")
        files = None if left else loaded.get("files")
        pending = loaded.get("pending", [])
        is_stopped, is_broken = (bool(loaded.get(name)) for name in ("stopped", "broken"))
        return Rendering(page, own, pending, is_stopped, is_broken, files)

    def _check_answer(self, rendered: PageResponse) -> None:
        """Raise `RenderingError` where the browser was led to what is no page, or gave too much."""
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

    def _check(self, request: Request, result: PageResult, rendering: Rendering) -> None:
        """Raise `RenderingError` for a wall, and for a page that may be incomplete and shows
        little: next to nothing, less than half of what is stored, or nothing that others do not
        show.
        """
        page = result.page
        wall = names_itself(page.markdown, page.meta.title, rendering.page.body)
        if wall is not None:
            raise RenderingError("a login or a notice in place of the page", kind=wall)
        key = page_key(request.url)
        lacks = rendering.lacks
        is_undrawn = rendering.is_broken or _NOTICE.fullmatch(page.markdown)
        if lacks is None and (page.meta.refresh or not is_undrawn):
            self._remember(key, page.markdown)
        elif not self._may_be_whole(key, page, rendering):
            self.report.count("rendering/incomplete")
            message = f"the page {lacks or 'is not drawn'} and shows next to nothing"
            raise RenderingError(message, kind=rendering.error_kind)

    def _prove(self, request: Request, result: PageResult, rendering: Rendering) -> None:
        """Raise `UnprovenError` for a page whose HTML was not downloaded, unless it shows a text of
        its own from a file of its own.
        """
        key = page_key(request.url)
        page = result.page
        files = rendering.files or {}
        owners = [self._owners.setdefault(url, key) for url in files]
        is_alone = self._owners.setdefault(content_hash(page.markdown), key) == key
        if not _is_expected(request):
            return
        is_own = key in owners and is_alone
        is_page = not page.meta.refresh and drop_reason(page.markdown, page.meta.title) is None
        is_proven = is_own and is_page and rendering.lacks is None
        self.learned.shells.learn_drawn(request.url, is_proven=is_proven)
        if not is_proven:
            raise UnprovenError

    def _check_expected(self, request: Request) -> None:
        """Raise `UnprovenError` where the HTML of a page is expected no more to be that of others."""
        if _is_expected(request) and not self.learned.shells.is_expected(request.url):
            raise UnprovenError

    def _may_be_whole(self, key: bytes, page: Page, rendering: Rendering) -> bool:
        """Say whether a page that lacks something is a document nevertheless."""
        is_known_lack = bool(rendering.failed or rendering.pending)
        if page.meta.api_files is not None and not is_known_lack:
            return True  # its file may be read
        if page.meta.is_template:
            return False
        dropped = drop_reason(page.markdown, page.meta.title) if rendering.is_not_there else None
        if dropped is not None and dropped.reason == "soft-404":
            return True
        says_failed = rendering.failed and _SAYS_FAILED.search(page.markdown)
        if says_failed or _NOTICE.fullmatch(page.markdown):
            return False
        if rendering.pending and not self._shows_more(key, page.markdown):
            return False
        enough = ENOUGH_TEXT if is_known_lack else SOME_TEXT
        return len(page.markdown) >= max(enough, self._stored_size(key) // 2)

    def _stored_size(self, key: bytes) -> int:
        stored = self.known.load(key)
        return len(stored.text) if stored is not None else 0

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


def _is_expected(request: Request) -> bool:
    """Say whether the HTML of a page is what others have, and was not downloaded."""
    page = info(request)
    return bool(page.get("expected")) and not page.get("whole")


def _paragraphs(markdown: str) -> list[int]:
    """Return the hashes of the paragraphs of a page, short ones left out."""
    return [hash(text) for text in markdown.split("\n\n") if len(text) >= SOME_TEXT]
