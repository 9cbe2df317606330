"""HTML that is fetched for the links in its navigation; Docsify sites, and the sidebars that they
load.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scrapy import Request

from llmsspider.crawler.callbacks.reading import PageReader
from llmsspider.crawler.callbacks.requests import PageRequests
from llmsspider.crawler.pages import PageResponse, PageResult
from llmsspider.crawler.parts import (
    ConversionPool,
    Coverage,
    DocsArguments,
    KnownPages,
    Learners,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
)
from llmsspider.crawler.requests import (
    HTML_ACCEPT,
    META,
    EngineFetch,
    NestedDownloadError,
    depth_of,
    download_form,
    info,
)
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.site.discovered import Options
from llmsspider.site.discovery import read_described
from llmsspider.site.providers import Docsify, docsify_configuration, docsify_scripts
from llmsspider.store import PageRecord
from llmsspider.web.outcomes import MISSING
from llmsspider.web.urls import identity, page_key, without_fragment

logger = logging.getLogger(__name__)

# maximum number of sidebars and the like of Docsify sites that one crawl requests
MAX_LISTS = 1_000


class LinkSourcePages(UsesRun):
    """Requests link sources where the policy (`crawler.second_requests.LinkSources`) wants them,
    and follows their links.

    Recognises Docsify sites by their pages. Counts `llms/link-sources` and
    `llms/link-sources/failed`.
    """

    arguments: DocsArguments
    coverage: Coverage
    docsify_list_failed: Callable[..., Any]
    known: KnownPages
    learned: Learners
    link_source_failed: Callable[..., Any]
    memory: SourceMemory
    parse_docsify_list: Callable[..., Any]
    parse_link_source: Callable[..., Any]
    reader: PageReader
    report: Reporter
    requests: PageRequests
    site: SiteKnowledge
    workers: ConversionPool

    def __init__(self, run: object, spider: object):
        super().__init__(run, spider)
        self._run = run
        self._lists: set[str] = set()  # sidebars and the like that were requested in this run
        self._scripts: dict[str, str] = {}
        """The text of each script that was downloaded, by URL; empty if it configures no Docsify
        site.
        """

    async def learn_docsify(self, request: Request, answer: PageResponse) -> Docsify | None:
        """Return the Docsify site whose page `answer` is, or None; what code configures makes the
        run incomplete.
        """
        script = ""
        for url in docsify_scripts(answer.body, answer.fetched_url):
            if url not in self._scripts:
                self._scripts[url] = await self._script(url, request, answer)
            if script := self._scripts[url]:
                break
        site = self.site.file_sites.learn_docsify(answer.body, answer.page_url, script)
        if site is not None and site.unread:
            parts = ", ".join(site.unread)
            why = (
                f"{site.page}: settings of its configuration that are not read ({parts}) say"
                " what some of its pages are"
            )
            if why != self.coverage.cut:
                line = f"{why} (-a render=always renders the page)"
                logger.warning(
                    "%(line)s", {"line": line}, extra={"spider": self.reader.crawler.spider}
                )
            self.coverage.incomplete(why)
        return site

    async def _script(self, url: str, request: Request, answer: PageResponse) -> str:
        try:
            script = await download_form(self.reader.crawler, url, request, answer)
        except NestedDownloadError as error:
            logger.info("No script at %(url)s: %(why)s", {"url": url, "why": error})
            return ""  # Docsify's defaults apply
        text = script.text()
        return text if script.status == 200 and docsify_configuration(text) is not None else ""

    def request(self, record: PageRecord, *, start: bool, unchanged: bool) -> Iterator[Request]:
        """Yield the request for a Markdown page's HTML, where the policy wants its links."""
        depth = record.depth
        site = self.site.file_sites.docsify_of(record.url)
        if site is not None:
            yield from self._docsify_lists(record.url, depth, site, unchanged=unchanged)
            return
        deepest = self.arguments.max_depth is not None and depth >= self.arguments.max_depth
        is_all = record.fetched_url == record.url and record.origin != "negotiated"
        is_all = is_all or self.site.file_sites.repository_of(record.url) is not None
        if deepest or is_all or not self.arguments.follows_links:
            return
        root = identity(record.url) in self.site.section_roots
        new = record.key not in self.known.states
        if self.learned.link_sources.wanted(record.url, start=start, section_root=root, new=new):
            self.report.count("link-sources")
            callbacks = self.parse_link_source, self.link_source_failed
            own = {"unchanged": unchanged}
            yield _source(record.url, *callbacks, own, depth, headers={"Accept": HTML_ACCEPT})

    def _docsify_lists(
        self, page_url: str, depth: int, site: Docsify, *, unchanged: bool
    ) -> Iterator[Request]:
        """Yield requests for the sidebars and the like of a Docsify site, each once; a folder need
        not have any.
        """
        if not self.arguments.follows_links:
            return
        is_root = identity(page_url) == identity(site.page)
        lists = site.lists if is_root else site.lists_beside(page_url)
        page = site.page if is_root else page_url
        own = {"unchanged": unchanged, "page": page, "optional": not is_root}
        new = [url for url in lists if url not in self._lists][: MAX_LISTS - len(self._lists)]
        self._lists.update(new)
        for url in new:
            self.report.count("link-sources")
            yield _source(url, self.parse_docsify_list, self.docsify_list_failed, own, depth)

    async def links(self, request: Request, answer: PageResponse) -> list[Request]:
        """Return the requests for the links of a page's HTML; none where it is no HTML or cannot be
        read.
        """
        if answer.kind != "html":
            return []
        unchanged = info(request).get("unchanged", False)
        depth = depth_of(request)
        await self.learn_docsify(request, answer)
        try:
            page = await self.workers.read_metadata(
                answer.body, answer.fetched_url, answer.encoding
            )
            _, rendered = await self.reader.renderer.in_browser(
                request, answer, PageResult(page, "html")
            )
        except (ConversionError, RenderingError):
            self.report.count("link-sources/failed")
            return []
        self.memory.learn_links(rendered.page.follow, answer.page_url)
        self.known.stored.save_heading_ids(page_key(request.url), rendered.page.heading_ids)
        follow = rendered.page.follow
        on = without_fragment(request.url)
        requests = list(self.requests.links(follow, depth + 1, on=on, unchanged=unchanged))
        self.learned.link_sources.report(len(requests))
        return requests

    async def docsify_links(self, request: Request, answer: PageResponse) -> Iterator[Request]:
        """Return the requests for the pages that a sidebar or the like of a Docsify site links to."""
        page_url = info(request)["page"]
        site = self.site.file_sites.docsify_of(page_url)
        if site is None or answer.status != 200 or answer.kind not in {"markdown", "text"}:
            if not info(request).get("optional"):
                self._count_unread(request.url, f"HTTP status {answer.status}, {answer.mime_type}")
            return iter(())
        draft = await self.workers.read_markdown(answer.text())
        page = draft.page(partial(site.join, page_url=page_url))
        return self.requests.links(page.follow, depth_of(request) + 1, on=page_url)

    def list_failed(self, request: Request, error: BaseException) -> None:
        """Count a sidebar or the like that failed: pages that only it names are not found."""
        is_missing = getattr(getattr(error, "response", None), "status", 0) in MISSING
        if not (is_missing and info(request).get("optional")):
            self._count_unread(request.url, str(error).partition("\n")[0])

    def failed(self) -> None:
        """Count a link source that failed; its page is a document already."""
        self.learned.link_sources.report(0)
        self.report.count("link-sources/failed")

    def _count_unread(self, url: str, why: str) -> None:
        self.report.count("link-sources/failed")
        self.coverage.unread = f"{url}, which links to the site's pages, could not be read ({why})"

    async def described_by(self, url: str) -> list[Request]:
        """Return requests for the seeds of an llms.txt that only a page names (`rel=describedby`)."""
        if self.site.discovery is None or not self.arguments.follows_links:
            return []
        known = len(self.site.discovery.cut)
        fetch = EngineFetch(self.reader.crawler, self._run)
        seeds = await read_described(fetch, url, self.site.discovery, Options())
        for cut in self.site.discovery.cut[known:]:
            self.report.filtered(cut.url, cut.reason, cut.rule)
        for seed in seeds:
            self.site.enter(seed)
        return [request for seed in seeds if (request := self.requests.seed(seed)) is not None]


def _source(url: str, callback: Any, errback: Any, own: Any, depth: int, **options: Any) -> Request:
    meta = {"depth": depth, META: {"source": True, **own}}
    return Request(
        url, callback, errback=errback, meta=meta, priority=1 - depth, dont_filter=True, **options
    )
