"""The crawl behind `scrapy lint URL`: discovery and the checks of links, through every downloader middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from llmsspider.config.arguments import PageArguments
from llmsspider.config.components import check_components
from llmsspider.config.settings import Config
from llmsspider.crawl.fetch import EngineFetch
from llmsspider.crawl.requests import synthetic_request
from llmsspider.crawl.spiderrun import ProjectSpider
from llmsspider.errors import DiscoveryError, InvalidUrlError
from llmsspider.lint.findings import Finding, finding
from llmsspider.lint.site import Checked, SiteLint
from llmsspider.site.discovered import FetchResult, Options
from llmsspider.site.discovery import discover
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.spiders.page import page_run

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from llmsspider.crawl.run import Run


class LintSpider(ProjectSpider):
    """Checks one site; `findings` is what it found, None when it did not come to an end.

    Args:
        url: the site, or its llms.txt.
        max_links: maximum number of links that are checked.
        known: what the store knows of pages, by identity.
        llms_txt: the llms.txt to begin with; None looks for it.
    """

    name = "lint"
    run: Run

    def __init__(
        self, url: str, max_links: int, known: Mapping[str, Checked], llms_txt: str | None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.url = url
        self.max_links = max_links
        self.known = known
        self.llms_txt = llms_txt
        self.findings: list[Finding] | None = None
        self.checked = self.unchecked = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> LintSpider:
        """Make the spider and its run, which the components use."""
        check_components(crawler.settings)
        spider = super().from_crawler(crawler, *args, **kwargs)
        config = Config.from_settings(crawler.settings)
        spider.run = page_run(crawler, PageArguments(url=spider.url), config)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield the one request; it is not sent, its callback lints."""
        yield synthetic_request(self.parse)

    def closed(self, reason: str) -> None:
        """End the run."""
        self.run.end(reason)

    async def parse(self, response: Response) -> None:
        """Discover the files of the site, and check them."""
        fetch = _Recorded(EngineFetch(self.crawler, self.run))
        options = Options(
            llms_txt=self.llms_txt,
            link_depth=self.run.config.link_depth,
            max_linked_files=self.run.config.max_linked_files,
        )
        lint = SiteLint(fetch, self.run.workers.convert, self.max_links, self.known)
        try:
            found = await discover(fetch, self.url, options)
        except (DiscoveryError, InvalidUrlError) as error:
            self.findings = [finding("not-llms-txt", self.llms_txt or self.url, str(error))]
            return
        self.findings = await lint.run(found, fetch.files)
        self.checked, self.unchecked = len(lint.checked), lint.unchecked


class _Recorded:
    """A fetch that keeps the answers for llms files."""

    def __init__(self, fetch: EngineFetch):
        self._fetch = fetch
        self.files: dict[str, FetchResult] = {}

    async def __call__(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        """See `llmsspider.site.discovery.Fetch`."""
        answer = await self._fetch(url, accept=accept, max_bytes=max_bytes)
        if answer.ok and is_llms_url(answer.final_url):
            self.files[answer.final_url] = answer
        return answer
