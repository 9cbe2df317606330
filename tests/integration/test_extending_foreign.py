"""Spiders that have nothing to do with ours, in a project that begins its settings with ours."""

from __future__ import annotations

import json
import os
import re

import pytest
from crawling import ROOT, command
from site_server import Reply
from sites import html

PAGES = {
    "/": html(
        "One",
        "<div class='quote'>A</div><a href='/2'>next</a><a href='/old'>x</a><a href='/busy'>y</a>",
    ),
    "/2": html("Two", "<div class='quote'>B</div><a href='/shop.md'>z</a><a href='/private'>w</a>"),
    "/old": Reply("", 302, headers={"Location": "/moved"}),
    "/moved": html("Moved", "<meta http-equiv='refresh' content='0; url=/2?again'>moved"),
    "/busy": Reply("busy", 503, headers={"Retry-After": "1"}),
    "/shop.md": Reply("# Shop", 200, "text/markdown"),
    "/private": Reply("no", 403),
    "/robots.txt": Reply("User-agent: *\nDisallow: /private\nCrawl-delay: 1\n"),
}
WITH_COOKIE = {"Set-Cookie": "session=abc; Path=/"}
SPIDERS = """
import scrapy


class QuotesSpider(scrapy.Spider):
    name = "quotes"
    custom_settings = {"CONCURRENT_REQUESTS": 1, "RETRY_TIMES": 1}

    async def start(self):
        yield scrapy.Request(self.site, cookies={"basket": "3"}, headers={"X-Own": "1"})

    def parse(self, response):
        yield {
            "url": response.url,
            "status": response.status,
            "quotes": response.css("div.quote::text").getall(),
        }
        yield from response.follow_all(css="a")
"""
PARTS = """
class Agent:
    def process_request(self, request):
        request.headers["X-Agent"] = "theirs"


class Count:
    def process_item(self, item):
        item["counted"] = True
        return item
"""
OWN = """
BOT_NAME = "theirs"
SPIDER_MODULES = ["theirs.spiders"]
DOWNLOADER_MIDDLEWARES = {"theirs.parts.Agent": 543}
ITEM_PIPELINES = {"theirs.parts.Count": 300}
FEEDS = {"out.jsonl": {"format": "jsonlines", "overwrite": True}}
"""
PROJECTS = {
    "as startproject leaves it": "ROBOTSTXT_OBEY = True\nDOWNLOAD_DELAY = 0\n",
    "Scrapy's defaults": "",
    "settings of its own": "USER_AGENT = 'theirs/2'\nCOOKIES_ENABLED = False\nREDIRECT_MAX_TIMES = 1\n",
}


@pytest.mark.parametrize("settings", PROJECTS.values(), ids=PROJECTS)
def test_the_server_gets_the_same_bytes_with_us_and_without(serve, tmp_path, settings):
    pages = {**PAGES, "/": Reply(PAGES["/"], headers=WITH_COOKIE)}
    seen, found, stats = {}, {}, {}
    site = serve(pages)
    addon = "ADDONS = {'llmsspider.Addon': 500}\n"
    kinds = {"without": "", "settings": "from llmsspider.settings import *\n", "addon": addon}
    for kind, begin in kinds.items():
        site.clear()
        folder = tmp_path / kind
        spiders = folder / "theirs" / "spiders"
        spiders.mkdir(parents=True)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = theirs.settings\n")
        (folder / "theirs" / "__init__.py").write_text("")
        (folder / "theirs" / "settings.py").write_text(begin + OWN + settings)
        (folder / "theirs" / "parts.py").write_text(PARTS)
        (spiders / "__init__.py").write_text("")
        (spiders / "quotes.py").write_text(SPIDERS)
        environment = {
            "SCRAPY_SETTINGS_MODULE": "theirs.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
        }
        outcome = command("crawl", "quotes", "-a", f"site={site.url}/", cwd=folder, env=environment)
        assert outcome.exit_code == 0, outcome.log
        seen[kind] = [request.raw for request in site.requests]
        found[kind] = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        stats[kind] = {
            name: value
            for name, value in outcome.stats.items()
            if not re.search(r"time|memusage|elapsed|per_minute|bytes|log_count", name)
        }
        assert not list(folder.rglob("*.sqlite"))

    assert len(seen["without"]) > 5
    for kind in ("settings", "addon"):
        assert seen[kind] == seen["without"], kind
        assert found[kind] == found["without"], kind
        assert stats[kind] == stats["without"], kind
        assert {item["counted"] for item in found[kind]} == {True}
        is_ours = re.compile(rb"llmsspider|text/markdown", re.IGNORECASE)
        assert not [request for request in seen[kind] if is_ours.search(request)]
