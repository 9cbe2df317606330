"""The callbacks of the spider `docs` on recorded pages."""

from __future__ import annotations

import asyncio

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import request_from_dict

from llmsspider import settings as project
from llmsspider.items import Document
from llmsspider.spiders.docs import DocsSpider
from llmsspider.urls import page_key

URL = "https://docs.example.com/guide/intro.html"


@pytest.fixture
def spider(tmp_path):
    """A spider whose run is open on a store of its own, with the scope of a finished discovery."""
    values = {name: getattr(project, name) for name in dir(project) if name.isupper()}
    values.update(LLMS_DATA_DIR=str(tmp_path), LLMS_CONVERT_WORKERS=0)
    crawler = Crawler(DocsSpider, Settings(values))
    crawler.stats = MemoryStatsCollector(crawler)
    spider = DocsSpider.from_crawler(crawler, url="https://docs.example.com/")
    spider.run.open()
    spider.run.without_discovery()
    yield spider
    spider.run.end("finished")
    spider.run.close(delivered=None)


def collect(results):
    async def gather():
        return [result async for result in results]

    return asyncio.run(gather())


def answer(spider, response, **meta):
    request = spider.page_request(response.url, by="link", depth=1, **meta)
    return response.replace(request=request)


@pytest.mark.parametrize("url", [URL])
def test_a_recorded_page_gives_its_document_and_its_links(response, spider):
    known: set[bytes] = set()
    response = response.replace(headers={"Content-Type": "text/html; charset=utf-8"})
    spider.run.remember = known.add
    spider.run.seen = known.__contains__
    known.add(page_key(URL))
    results = collect(spider.parse(answer(spider, response)))
    (document,) = [result for result in results if isinstance(result, Document)]
    assert document.content == (
        "# Intro\n\nInstall it, then read [more](https://docs.example.com/guide/more.html).\n\n"
        "```python\nimport example\n```\n"
    )
    assert (document.title, document.description, document.language) == ("Intro", "How to begin.", "en")
    assert (document.url, document.depth, document.origin) == (URL, 1, "html")
    links = [result for result in results if isinstance(result, Request)]
    assert [(link.url, link.meta["depth"]) for link in links] == [
        ("https://docs.example.com/guide/more.html", 2)
    ]
    assert spider.run.progress.filtered == {"offsite": 1}


def test_a_link_is_followed_once(spider):
    page = HtmlResponse(URL, body=b"<html><main><p>x</p><a href='/a'>a</a><a href='/a#b'>a</a></main></html>")
    first = collect(spider.parse(answer(spider, page)))
    second = collect(spider.parse(answer(spider, page.replace(url="https://docs.example.com/other"))))
    followed = [result.url for result in [*first, *second] if isinstance(result, Request)]
    assert followed == ["https://docs.example.com/a"]


def test_requests_survive_a_jobdir(spider):
    request = spider.page_request(URL, by="link", depth=3, md=f"{URL}.md")
    again = request_from_dict(request.to_dict(spider=spider), spider=spider)
    assert (again.url, again.callback, again.errback, again.meta) == (
        URL,
        spider.parse,
        spider.failed,
        request.meta,
    )


def test_a_bot_wall_is_an_error_and_no_document(spider):
    wall = HtmlResponse(URL, status=200, headers={"cf-mitigated": "challenge"}, body=b"<html>Checking</html>")
    assert collect(spider.parse(answer(spider, wall))) == []
    assert spider.run.progress.errors == {"challenge": 1}
