"""Docsify sites: recognised by their pages, configured there or in a script, which is a nested download."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from llmsspider.crawl.download_errors import NestedDownloadError
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.requests import download_nested
from llmsspider.site.docsify import configures_docsify, docsify_scripts

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.site.docsify import Docsify

logger = logging.getLogger(__name__)


class DocsifyPages:
    """Recognises Docsify sites by their pages and reads their configurations.

    A configuration that is computed by code in part makes the run incomplete: pages that only it names are not found.

    Args:
        crawler: downloads the scripts.
        run: the run.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self._crawler = crawler
        self._run = run
        self._scripts: dict[str, str] = {}
        """The text of each script that was downloaded, by URL; empty if it configures no site."""

    async def learn(self, request: Request, answer: PageResponse) -> Docsify | None:
        """Return the Docsify site whose page an HTML response is; None for any other page.

        Args:
            request: the page's request.
            answer: its response.
        """
        script = await self._script(request, answer)
        site = self._run.site.learn_docsify(answer.body, answer.page_url, script)
        if site is not None and site.unread:
            self._say_unread(site)
        return site

    async def _script(self, request: Request, answer: PageResponse) -> str:
        """Return the text of the script that configures the site of a page; empty where there is none."""
        for url in docsify_scripts(answer.body, answer.fetched_url):
            if url not in self._scripts:
                self._scripts[url] = await self._download(url, request, answer)
            if self._scripts[url]:
                return self._scripts[url]
        return ""

    async def _download(self, url: str, request: Request, answer: PageResponse) -> str:
        try:
            response = await download_nested(self._crawler, url, request)
        except NestedDownloadError as error:
            logger.info("No script at %(url)s: %(why)s", {"url": url, "why": error})
            return ""  # Docsify's defaults apply
        script = PageResponse.from_response(response, now=answer.fetched_at).text()
        return script if response.status == 200 and configures_docsify(script) else ""

    def _say_unread(self, site: Docsify) -> None:
        why = f"{site.page}: programs of its configuration ({', '.join(site.unread)}) say what some of its pages are"
        if why != self._run.coverage.cut:
            logger.warning(
                "%(why)s; those are not read (-a render=always renders the page)",
                {"why": why},
                extra={"spider": self._crawler.spider},
            )
        self._run.coverage.incomplete(why)
