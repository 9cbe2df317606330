"""How the page that an answer holds is read: as Markdown, as HTML, rendered in a browser, or from an OpenAPI file."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llmsspider.crawl.callbacks.api_files import ApiFiles
from llmsspider.crawl.callbacks.rendering import Renderer
from llmsspider.crawl.callbacks.stubs import FullerHtml
from llmsspider.crawl.pages import LinkJoiner, PageResponse, PageResult, plain_links, read_page

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run
    from llmsspider.items import Page

logger = logging.getLogger(__name__)


def count_hidden(run: Run, page: Page) -> None:
    """Count the characters of a page's text that were removed because they are invisible to readers."""
    if page.hidden:
        run.count("hidden-text", page.hidden)


def count_page(run: Run, url: str, page: Page) -> None:
    """Count the hidden text of a page that was read; count and log another converter than the chosen one."""
    count_hidden(run, page)
    if not page.fallback:
        return
    logger.log(
        logging.DEBUG if run.progress.fallbacks else logging.WARNING,
        "%(url)s was converted by %(engine)s: %(chosen)s failed on it (%(why)s); the report names all such pages",
        {"url": url, "engine": page.converter, "chosen": run.config.converter, "why": page.fallback},
    )
    run.count("converter/fallback")
    run.progress.fallback(url, page.fallback)


class PageReader:
    """Reads the page that an answer holds, in the form that says most.

    That is the body as it came; the page's HTML, where its Markdown is a stub; what a browser rendered, where scripts
    make the page; or what an OpenAPI file that the page names describes. Each of these is a nested download.

    Args:
        crawler: downloads the other forms.
        run: the run.
        join: what the links of Markdown are relative to; the fetched URL if not given.
    """

    def __init__(self, crawler: Crawler, run: Run, join: LinkJoiner = plain_links):
        self._run = run
        self._join = join
        self.renderer = Renderer(crawler, run)
        self.fuller = FullerHtml(crawler, run)
        self._api_files = ApiFiles(crawler, run, self.renderer)

    async def read(
        self, request: Request, answer: PageResponse, *, listed: bool, with_listings: bool = True
    ) -> tuple[PageResponse, PageResult | None]:
        """Return the page, and the answer that it was read from in the end.

        The page is None where that answer says that it is as it was stored.

        Args:
            request: the page's request.
            answer: what it was answered with.
            listed: an llms.txt or sitemap names the page, so that other text formats are documents too.
            with_listings: read the text of the page where it only lists others, too.

        Raises:
            ConversionError: the body could not be converted.
            RenderingError: the browser could not render it.
        """
        is_shown = self._run.site.repository_of(answer.page_url) is not None  # links are relative to the page
        shown = replace(answer, fetched_url=answer.page_url) if is_shown else answer
        page = await read_page(
            shown, self._run.workers, listed=listed, join=self._join, with_listings=with_listings
        )
        answer, fuller = await self.fuller.take(request, answer, page)
        if fuller is None:
            return answer, None
        return await self._api_files.render(request, answer, fuller)
