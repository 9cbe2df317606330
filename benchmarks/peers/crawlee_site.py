"""A site as Markdown with crawlee: `python crawlee_site.py URL FILE WAY CONVERTER`.

WAY `default` is as its documentation begins: BeautifulSoupCrawler, `enqueue_links`, storage in files. `parsel` is its
faster parser with storage in memory. `http` is the least it can do: HttpCrawler, which parses nothing, storage in
memory, and the links from our converter's parse. CONVERTER `ours` is `llmsspider.content.extraction`, called in place;
`html-to-markdown` converts the whole page. One JSON line a page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from typing import TextIO
from urllib.parse import urlsplit

from crawlee import ConcurrencySettings
from crawlee.crawlers import (
    BeautifulSoupCrawler,
    BeautifulSoupCrawlingContext,
    HttpCrawler,
    HttpCrawlingContext,
    ParselCrawler,
    ParselCrawlingContext,
)
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient

CONCURRENCY = 8


def converted(body: bytes, url: str, converter: str) -> tuple[str, list[str]]:
    """Return Markdown and links."""
    if converter == "html-to-markdown":
        from html_to_markdown import convert as whole_page  # noqa: PLC0415

        return str(whole_page(body.decode("utf-8", "replace")).content), []
    from llmsspider.content.extraction import convert  # noqa: PLC0415

    page = convert(body, url, "utf-8")
    return page.markdown, list(page.follow)


async def crawl(url: str, output: TextIO, way: str, converter: str) -> None:
    """Crawl the host of `url`."""
    options = {
        "storage_client": FileSystemStorageClient() if way == "default" else MemoryStorageClient(),
        "concurrency_settings": ConcurrencySettings(
            CONCURRENCY, CONCURRENCY, desired_concurrency=CONCURRENCY
        ),
        "configure_logging": False,
        "request_handler_timeout": timedelta(minutes=2),
    }
    host = urlsplit(url).netloc

    async def write(context: HttpCrawlingContext) -> list[str]:
        text, links = converted(await context.http_response.read(), context.request.url, converter)
        output.write(json.dumps({"url": context.request.url, "content": text}) + "\n")
        return links

    async def parsed(context: ParselCrawlingContext | BeautifulSoupCrawlingContext) -> None:
        await write(context)
        await context.enqueue_links()

    async def bare(context: HttpCrawlingContext) -> None:
        links = await write(context)
        await context.add_requests([link for link in links if urlsplit(link).netloc == host])

    if way == "http":
        await HttpCrawler(request_handler=bare, **options).run([url])
    else:
        crawler = BeautifulSoupCrawler if way == "default" else ParselCrawler
        await crawler(request_handler=parsed, **options).run([url])


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        asyncio.run(crawl(sys.argv[1], file, *sys.argv[3:]))
