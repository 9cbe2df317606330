"""HTML that is fetched for the links in its navigation; Docsify sites, and the sidebars that they load."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.crawl.pages import PageResponse, PageResult
from llmsspider.crawl.requests import HTML_ACCEPT, META, NestedDownloadError, download_nested, info
from llmsspider.errors import ConversionError, RenderingError
from llmsspider.site.docsify import configures_docsify, docsify_scripts
from llmsspider.web.urls import identity, without_fragment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.reading import PageReader
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.run import Run
    from llmsspider.site.docsify import Docsify
    from llmsspider.store import PageRecord


logger = logging.getLogger(__name__)


class DocsifyPages:
    """Recognises Docsify sites by their pages, and reads their configurations: there, or in a script.

    A configuration that is computed by code in part makes the run incomplete: pages that only it names are not found.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self._crawler = crawler
        self._run = run
        self._scripts: dict[str, str] = {}
        """The text of each script that was downloaded, by URL; empty if it configures no site."""

    async def learn(self, request: Request, answer: PageResponse) -> Docsify | None:
        """Return the Docsify site whose page the HTML response `answer` is; None for any other page."""
        script = ""
        for url in docsify_scripts(answer.body, answer.fetched_url):
            if url not in self._scripts:
                self._scripts[url] = await self._download(url, request, answer)
            if script := self._scripts[url]:
                break
        site = self._run.site.learn_docsify(answer.body, answer.page_url, script)
        if site is not None and site.unread:
            parts = ", ".join(site.unread)
            why = f"{site.page}: programs of its configuration ({parts}) say what some of its pages are"
            if why != self._run.coverage.cut:
                logger.warning(
                    "%(why)s; those are not read (-a render=always renders the page)",
                    {"why": why},
                    extra={"spider": self._crawler.spider},
                )
            self._run.coverage.incomplete(why)
        return site

    async def _download(self, url: str, request: Request, answer: PageResponse) -> str:
        try:
            response = await download_nested(self._crawler, url, request)
        except NestedDownloadError as error:
            logger.info("No script at %(url)s: %(why)s", {"url": url, "why": error})
            return ""  # Docsify's defaults apply
        script = PageResponse.from_response(response, now=answer.fetched_at).text()
        return script if response.status == 200 and configures_docsify(script) else ""


@dataclass(slots=True)
class LinkSourcePages:
    """Requests link sources where the policy (`crawl.links.LinkSources`) wants them, and follows their links.

    Counts `llms/link-sources` and `llms/link-sources/failed`.
    """

    _spider: Any
    _run: Run
    _requests: PageRequests
    _reader: PageReader
    _docsify: DocsifyPages

    def request(self, record: PageRecord, *, start: bool, unchanged: bool) -> Iterator[Request]:
        """Yield the request for a Markdown page's HTML, where the policy wants its links.

        Args:
            record: the page.
            start: it is the start page.
            unchanged: its document is as it was stored.
        """
        run, depth = self._run, record.depth
        site = run.site.docsify_of(record.url)
        if site is not None:
            yield from self._docsify_lists(record.url, depth, site, unchanged=unchanged)
            return
        deepest = run.arguments.max_depth is not None and depth >= run.arguments.max_depth
        is_all = record.fetched_url == record.url and record.origin != "negotiated"
        is_all = is_all or run.site.repository_of(record.url) is not None
        if deepest or is_all or not run.follows_links:
            return
        root, new = run.site.is_section_root(record.url), record.key not in run.known.states
        if run.memory.link_sources.wanted(record.url, start=start, section_root=root, new=new):
            run.count("link-sources")
            yield Request(
                record.url,
                headers={"Accept": HTML_ACCEPT},
                callback=self._spider.parse_link_source,
                errback=self._spider.link_source_failed,
                meta={"depth": depth, META: {"source": True, "unchanged": unchanged}},
                priority=1 - depth,
                dont_filter=True,
            )

    def _docsify_lists(
        self, page_url: str, depth: int, site: Docsify, *, unchanged: bool
    ) -> Iterator[Request]:
        """Yield the requests for the sidebar and the like of a Docsify site, each once a run.

        Those of its root come with its first page, those of a folder, which need not exist, with the folder's first.
        Where routes are paths, the first page may be any, and all its folders may have their own.
        """
        if not self._run.follows_links:
            return
        is_root = identity(page_url) == identity(site.page)
        lists = site.lists if is_root else site.lists_beside(page_url)
        if site.is_history and not is_root:
            lists = [*site.lists, *lists]
        for url in self._run.site.new_lists(lists):
            self._run.count("link-sources")
            yield Request(
                url,
                callback=self._spider.parse_docsify_list,
                errback=self._spider.docsify_list_failed,
                meta={
                    "depth": depth,
                    META: {
                        "source": True,
                        "unchanged": unchanged,
                        "page": site.page if is_root else page_url,
                        "optional": not is_root,
                    },
                },
                priority=1 - depth,
                dont_filter=True,
            )

    async def links(self, request: Request, answer: PageResponse) -> list[Request]:
        """Return the requests for the links of a page's HTML; none where it is no HTML or cannot be read."""
        if answer.kind() != "html":
            return []
        site = await self._docsify.learn(request, answer)
        if site is not None and site.is_history:
            return list(self._docsify_links(request, site))
        try:
            page = await self._run.workers.read_metadata(answer.body, answer.fetched_url, answer.encoding)
            _, rendered = await self._reader.renderer.render(request, answer, PageResult(page, "html"))
        except (ConversionError, RenderingError):
            self._run.count("link-sources/failed")
            return []
        self._run.memory.link_bases.learn(rendered.page.follow, answer.page_url)
        depth, on = int(request.meta.get("depth", 0)) + 1, without_fragment(request.url)
        unchanged = info(request).get("unchanged", False)
        requests = list(self._requests.links(rendered.page.follow, depth, on=on, unchanged=unchanged))
        self._run.memory.link_sources.report(len(requests))
        return requests

    def _docsify_links(self, request: Request, site: Docsify) -> Iterator[Request]:
        """Yield the requests for the links of a Docsify site's page whose Markdown was read before its HTML."""
        depth, unchanged = int(request.meta.get("depth", 0)), bool(info(request).get("unchanged"))
        yield from self._docsify_lists(request.url, depth, site, unchanged=unchanged)

    def failed(self) -> None:
        """Count a link source that failed; its page is a document already."""
        self._run.memory.link_sources.report(0)
        self._run.count("link-sources/failed")

    async def docsify_links(self, request: Request, answer: PageResponse) -> Iterator[Request]:
        """Return the requests for the pages that a sidebar or the like of a Docsify site links to."""
        page_url = info(request)["page"]
        site = self._run.site.docsify_of(page_url)
        if site is None or answer.status != 200 or answer.kind() not in {"markdown", "text"}:
            if not info(request).get("optional"):
                self._count_unread(request.url, f"HTTP status {answer.status}, {answer.mime_type}")
            return iter(())
        draft = await self._run.workers.read_markdown(answer.text())
        page = draft.page(partial(site.join, page_url=page_url))
        return self._requests.links(page.follow, int(request.meta.get("depth", 0)) + 1, on=page_url)

    def docsify_list_failed(self, request: Request, error: BaseException) -> None:
        """Count a sidebar or the like that failed: pages that only it names are not found."""
        is_missing = getattr(getattr(error, "response", None), "status", 0) in {404, 410}
        if not (is_missing and info(request).get("optional")):
            self._count_unread(request.url, str(error).partition("\n")[0])

    def _count_unread(self, url: str, why: str) -> None:
        self._run.count("link-sources/failed")
        self._run.coverage.incomplete(f"{url}, which links to the site's pages, could not be read ({why})")
