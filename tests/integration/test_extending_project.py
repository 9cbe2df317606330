"""A Scrapy project of a user that builds on this one: spider, components, feeds, commands, scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import ROOT, Outcome, command
from forked import HANGS_SECS
from sites import PLAIN, html

SETTINGS = """
from llmsspider.settings import *

BOT_NAME = "shop"
SPIDER_MODULES = ["llmsspider.spiders", "shop.spiders"]
NEWSPIDER_MODULE = "shop.spiders"
LLMS_ALLOW_PRIVATE_ADDRESSES = "127.0.0.1"
LLMS_CONVERT_WORKERS = 0
LLMS_DATA_DIR = "store"
DOWNLOADER_MIDDLEWARES = {"shop.parts.Header": 543}
SPIDER_MIDDLEWARES = {"shop.parts.Shout": 543}
EXTENSIONS = {"shop.parts.Count": 500}
FEED_EXPORTERS = {"urls": "shop.parts.UrlsExporter"}
FEEDS = {"%(name)s.urls": {"format": "urls", "overwrite": True}}
"""
PARTS = '''
from pathlib import Path

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exporters import BaseItemExporter


class Header:
    """A downloader middleware."""

    def process_request(self, request):
        request.headers["X-Shop"] = "open"


class Shout:
    """A spider middleware."""

    async def process_spider_output(self, response, result):
        async for one in result:
            if getattr(one, "title", None):
                one.title = one.title.upper()
            yield one


class Count:
    """An extension."""

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        extension.items = 0
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def item_scraped(self):
        self.items += 1

    def spider_closed(self, spider):
        Path(f"{spider.name}.count").write_text(str(self.items))


class UrlsExporter(BaseItemExporter):
    """A feed format."""

    def __init__(self, file, **options):
        super().__init__(dont_fail=True, **options)
        self.file = file

    def export_item(self, item):
        self.file.write((ItemAdapter(item)["url"] + "\\n").encode())
'''
SPIDERS = '''
from dataclasses import dataclass

import attrs
import scrapy

from llmsspider.items import Document
from llmsspider.spiders.docs import DocsSpider


@dataclass
class Heading:
    url: str
    text: str


@attrs.define
class Size:
    url: str
    size: int


class Sized:
    """A pipeline above the export: an item of another class goes to the feeds."""

    def process_item(self, item):
        return Size(item.url, len(item.content)) if isinstance(item, Document) and item.depth == 2 else item


class ShopSpider(DocsSpider):
    """The documentation of a shop."""

    name = "shop"
    custom_settings = {"ITEM_PIPELINES": {"shop.spiders.shop.Sized": 950}, "LLMS_LINK_DEPTH": 3}

    def __init__(self, shelf="", **arguments):
        super().__init__(**arguments)
        self.shelf = shelf

    async def parse(self, response):
        """Read a page.

        @url {url}/
        @returns items 2 2
        @returns requests 3 3
        """
        async for result in super().parse(response):
            if isinstance(result, Document):
                result.shelf = self.shelf
            yield result
        for text in response.css("h1::text").getall():
            yield Heading(response.url, text)
'''
PLAIN_SPIDER = """
import scrapy


class PlainSpider(scrapy.Spider):
    name = "plain"

    def __init__(self, site="", **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response):
        yield {"url": response.url, "h1": response.css("h1::text").get()}
        yield from response.follow_all(css="nav a")
"""


@pytest.fixture
def site(serve):
    return serve(PLAIN)


@pytest.fixture
def scrapy(site, tmp_path):
    """A function that runs `scrapy` in the project."""
    spiders = tmp_path / "shop" / "spiders"
    spiders.mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    files = {
        "__init__.py": "",
        "settings.py": SETTINGS,
        "parts.py": PARTS,
        "spiders/__init__.py": "",
        "spiders/shop.py": SPIDERS.replace("{url}", site.url),
        "spiders/plain.py": PLAIN_SPIDER,
    }
    for name, text in files.items():
        (tmp_path / "shop" / name).write_text(text)
    paths = os.pathsep.join([str(ROOT), str(tmp_path)])
    environment = {"SCRAPY_SETTINGS_MODULE": "shop.settings", "PYTHONPATH": paths}

    def run(*words: str) -> Outcome:
        return command(*words, cwd=tmp_path, env=environment)

    return run


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_spider_of_ones_own_with_components_of_ones_own(site, scrapy, tmp_path):
    extra = (
        "-a",
        "shelf=top",
        "-s",
        'FEEDS={"out.jsonl": {"format": "jsonlines"}, "shop.urls": {"format": "urls"}}',
    )
    outcome = scrapy("crawl", "shop", "-a", f"url={site.url}/", *extra)
    assert outcome.exit_code == 0, outcome.log
    found = lines(tmp_path / "out.jsonl")
    documents = {one["url"].removeprefix(site.url): one for one in found if "content_hash" in one}
    assert set(documents) == {"/", "/guide/intro.html", "/guide/more.html"}
    assert {
        (one["shelf"], one["title"].isupper(), one["change"]) for one in documents.values()
    } == {("top", True, "new")}
    assert {one["text"] for one in found if "text" in one} == {"Home", "Intro", "More", "Deep"}
    assert [one for one in found if "size" in one] == [
        {"url": f"{site.url}/guide/deep.html", "size": 33}
    ]
    assert len((tmp_path / "shop.urls").read_text().splitlines()) == 8
    assert (tmp_path / "shop.count").read_text() == "8"
    assert {seen.headers.get("x-shop") for seen in site.requests} == {"open"}
    assert (outcome.stats["llms/documents"], outcome.stats["llms/items"]) == (4, 4)
    wrong = scrapy("crawl", "shop", "-a", "shelves=2")
    assert (wrong.exit_code, wrong.log.count("\n")) == (2, 1)
    assert "scrapy crawl shop: argument shelves='2' is unknown" in wrong.log


def test_a_page_that_links_to_itself_by_another_address_has_its_fields(site, scrapy, tmp_path):
    text = "<p>What the lamp does is told here.</p><nav><a href='/lamp/'>Lamp</a></nav>"
    site.pages = {"/": html("Home", "<a href='/lamp'>Lamp</a>"), "/lamp": html("Lamp", text)}
    extra = ("-a", "shelf=top", "-O", "out.jsonl")
    outcome = scrapy("crawl", "shop", "-a", f"url={site.url}/", *extra)
    found = {one["url"]: one for one in lines(tmp_path / "out.jsonl") if "content_hash" in one}
    assert found[f"{site.url}/lamp"]["shelf"] == "top", outcome.log


def test_a_plain_spider_crawls_beside_ours(site, scrapy, tmp_path):
    outcome = scrapy("crawl", "plain", "-a", f"site={site.url}/")
    assert outcome.exit_code == 0, outcome.log
    assert len(set((tmp_path / "plain.urls").read_text().splitlines())) == 3
    assert not [name for name in outcome.stats if name.startswith("llms/")]
    assert not (tmp_path / "store").exists()


def test_the_commands_of_scrapy_work_in_the_project(site, scrapy, tmp_path):
    assert scrapy("list").stdout.split() == ["docs", "page", "plain", "shop"]
    checked = scrapy("check")
    assert (checked.exit_code, "Ran 2 contracts" in checked.log) == (0, True), checked.log
    parsed = scrapy(
        "parse", f"{site.url}/guide/more.html", "--spider", "shop", "-a", "shelf=low", "--nocolour"
    )
    assert "'shelf': 'low'" in parsed.stdout and "'title': 'More'" in parsed.stdout
    assert "deep.html>" in parsed.stdout
    assert not (tmp_path / "store").exists() or not list((tmp_path / "store").glob("*.sqlite"))
    wrong = scrapy("parse", f"{site.url}/", "--spider", "shop", "-a", "scop=1")
    assert (wrong.exit_code, "argument scop='1' is unknown" in wrong.log) == (2, True)
    for spider in ((), ("--spider", "shop")):
        shown = scrapy("shell", f"{site.url}/", *spider, "-c", "response.css('h1::text').get()")
        assert (shown.exit_code, shown.stdout.strip()) == (0, "Home"), shown.log
    made = scrapy("genspider", "another", "example.com")
    assert made.exit_code == 0, made.log
    assert "another" in scrapy("list").stdout.split()


PROCESS = """
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

process = CrawlerProcess(get_project_settings())
process.crawl("docs", url={url!r})
process.start()
"""
RUNNER = """
import asyncio

from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.project import get_project_settings
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import react

from llmsspider.spiders.docs import DocsSpider

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")


async def crawl():
    runner = AsyncCrawlerRunner(get_project_settings())
    await runner.crawl(DocsSpider, url={url!r})
    try:
        await runner.crawl(DocsSpider, url={url!r}, scop="x")
    except Exception as error:
        print(error)


react(lambda reactor: Deferred.fromFuture(asyncio.ensure_future(crawl())))
"""
BARE = """
from scrapy.crawler import AsyncCrawlerProcess

from llmsspider.spiders.docs import DocsSpider

process = AsyncCrawlerProcess({{}})
process.crawl(DocsSpider, url={url!r})
process.start()
"""


def test_scripts_crawl_by_scrapys_own_classes(site, scrapy, tmp_path):
    def script(code: str) -> str:
        (tmp_path / "script.py").write_text(code.format(url=f"{site.url}/"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
        done = subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANGS_SECS,
            check=False,
        )
        return done.stdout + done.stderr

    assert "documents: 4 (html 4) (new 4)" in script(PROCESS)
    assert len((tmp_path / "docs.urls").read_text().splitlines()) == 4
    (tmp_path / "docs.urls").unlink()
    assert "argument scop='x' is unknown" in script(RUNNER)
    assert len((tmp_path / "docs.urls").read_text().splitlines()) == 4
    assert "the settings of this project are not in force" in script(BARE)
