"""The callbacks of the spider `docs` on recorded pages."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from types import SimpleNamespace

import pytest
from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import request_from_dict

from llmsspider import settings as project
from llmsspider.crawler.beginning import Phase
from llmsspider.crawler.callbacks.docs import DocsCallbacks
from llmsspider.crawler.ending import failed_pages, whole_full_texts
from llmsspider.crawler.learn.base import End
from llmsspider.crawler.requests import EngineFetch
from llmsspider.crawler.scheduler import PageDupeFilter
from llmsspider.crawler.settle import Failure, WaitingPage
from llmsspider.items import Document
from llmsspider.pipelines.filter import FilterPipeline
from llmsspider.pipelines.hash import HashPipeline
from llmsspider.site.discovered import Discovery, FetchResult, FullText
from llmsspider.spiders.docs import DocsSpider
from llmsspider.web.urls import page_key

URL = "https://docs.example.com/guide/intro.html"


def made_spider(spider_class, folder):
    values = {name: getattr(project, name) for name in dir(project) if name.isupper()}
    values.update(LLMS_DATA_DIR=str(folder), LLMS_CONVERT_WORKERS=0)
    crawler = Crawler(spider_class, Settings(values))
    crawler.stats = MemoryStatsCollector(crawler)
    return spider_class.from_crawler(crawler, url="https://docs.example.com/")


@pytest.fixture
def spider(tmp_path):
    """A spider whose run is open on a store of its own, with the scope of a finished discovery."""
    spider = made_spider(DocsSpider, tmp_path)
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
    request = spider.requests.page(response.url, by="link", depth=1, **meta)
    return response.replace(request=request)


@pytest.mark.parametrize("url", [URL])
def test_a_recorded_page_gives_its_document_and_its_links(request, url, spider):
    # by name, as its imports take a third of the time in which pytest starts
    request.config.pluginmanager.import_plugin("scrapy_mock")
    response = request.getfixturevalue("response")
    response = response.replace(headers={"Content-Type": "text/html; charset=utf-8"})
    spider.run.addresses.requested_pages.add(page_key(URL))
    results = collect(spider.parse(answer(spider, response)))
    (document,) = [result for result in results if isinstance(result, Document)]
    assert document.content == (
        "# Intro\n\nInstall it, then read [more](https://docs.example.com/guide/more.html).\n\n"
        "```python\nimport example\n```\n"
    )
    assert (document.title, document.description, document.language) == (
        "Intro",
        "How to begin.",
        "en",
    )
    assert (document.url, document.depth, document.origin) == (URL, 1, "html")
    links = [result for result in results if isinstance(result, Request)]
    assert [(link.url, link.meta["depth"]) for link in links] == [
        ("https://docs.example.com/guide/more.html", 2)
    ]
    assert spider.run.progress.filtered == {"offsite": 1}


def test_a_link_is_followed_once(spider):
    page = HtmlResponse(
        URL, body=b"<html><main><p>x</p><a href='/a'>a</a><a href='/a#b'>a</a></main></html>"
    )
    first = collect(spider.parse(answer(spider, page)))
    second = collect(
        spider.parse(answer(spider, page.replace(url="https://docs.example.com/other")))
    )
    followed = [result.url for result in [*first, *second] if isinstance(result, Request)]
    assert followed == ["https://docs.example.com/a"]


def test_run_and_dupefilter_have_one_set_of_pages(spider):
    dupefilter = PageDupeFilter(run=spider.run)
    spider.run.addresses.requested_pages.add(page_key(URL))
    assert dupefilter.request_seen(Request(URL))
    assert not dupefilter.request_seen(Request("https://docs.example.com/other"))
    assert spider.run.addresses.requested("https://docs.example.com/other#part")


def test_requests_share_their_callbacks(spider):
    """Scrapy reads the source of a generator once, and knows it again by the object."""
    first, second = (spider.requests.page(url, by="link", depth=1) for url in (URL, f"{URL}/other"))
    assert first.errback is second.errback
    assert first.callback is second.callback


def test_requests_survive_a_jobdir(spider):
    request = spider.requests.page(URL, by="link", depth=3, md=f"{URL}.md")
    again = request_from_dict(request.to_dict(spider=spider), spider=spider)
    assert (again.url, again.callback, again.errback, again.meta) == (
        URL,
        spider.parse,
        spider.failed,
        request.meta,
    )


CALLBACKS = {
    *("parse", "failed", "parse_settled", "has_no_markdown"),
    *("parse_link_source", "link_source_failed", "parse_docsify_list", "docsify_list_failed"),
    *("parse_full_text_again", "full_text_failed", "parse_verification", "verification_failed"),
}
"""The names that requests in a JOBDIR may have."""


def test_one_class_has_every_callback_that_a_request_in_a_jobdir_names():
    own = {name for name in vars(DocsCallbacks) if not name.startswith("_")}
    assert own - {"run", "connect"} == CALLBACKS


ENTRY = "<li><a href='/guide/{0}'>{0}</a></li>"
LISTING = f"<h1>Things</h1><ul>{ENTRY.format('a')}{ENTRY.format('b')}{ENTRY.format('c')}</ul>"
TAGGED = "<h1>Gears</h1><p>What there is to say of gears.</p><p><a rel=tag href='/topic/things'>Things</a></p>"
SITE = "https://docs.example.com"
LISTED = {
    f"{SITE}/guide/gears": TAGGED,
    f"{SITE}/topic/things": LISTING,
    f"{SITE}/topic/all": LISTING,
}


def settled(spider):
    """The results of the pages that wait, as the end of a crawl yields them."""
    spider.run.waiting.closed |= {"markdown", "tag", "stub"}
    return spider.at_end.waiting_pages()


def documents_of(spider, pages):
    """The URLs of the documents of pages that come in this order, those that wait for the end included."""
    results = []
    for url in pages:
        page = HtmlResponse(url, body=f"<html><main>{LISTED[url]}</main></html>".encode())
        results += collect(spider.parse(answer(spider, page)))
    results += collect(settled(spider))
    return {item.url for item in results if isinstance(item, Document)}


@pytest.mark.parametrize(
    "order", [list(LISTED), list(LISTED)[::-1]], ids=["named before", "named after"]
)
def test_a_listing_is_one_whether_the_page_that_names_it_as_its_tag_came_before_or_after(
    spider, order
):
    assert documents_of(spider, order) == {f"{SITE}/guide/gears", f"{SITE}/topic/all"}
    assert spider.run.progress.filtered["listing"] == 1


def test_what_an_earlier_run_knew_as_a_tag_is_one_where_no_page_is_read_that_names_it(spider):
    documents_of(spider, [f"{SITE}/guide/gears"])
    tags = spider.run.learned.tags
    kept = tags.keep(End())
    tags.__init__()
    assert not tags.is_tag(f"{SITE}/topic/things")
    tags.remember(kept)
    assert documents_of(spider, [f"{SITE}/topic/things"]) == set()


def test_a_stopped_crawl_stores_the_pages_that_wait_but_no_listing(spider):
    for url in reversed(LISTED):
        page = HtmlResponse(url, body=f"<html><main>{LISTED[url]}</main></html>".encode())
        collect(spider.parse(answer(spider, page)))
    spider.run.end("shutdown")
    assert spider.run.known.stored.load_page(page_key(f"{SITE}/topic/all")) is not None
    assert spider.run.known.stored.load_page(page_key(f"{SITE}/topic/things")) is None


class OwnDocs(DocsSpider):
    """A spider of a user that overrides the errback of pages."""

    def failed(self, failure):
        return [{"failed": failure.request.url}]


def test_requests_name_the_callbacks_of_a_class_that_is_derived_from_the_spider(tmp_path):
    spider = made_spider(OwnDocs, tmp_path)
    request = spider.requests.page(URL, by="link", depth=1)
    again = request_from_dict(request.to_dict(spider=spider), spider=spider)
    assert again.errback == spider.failed
    assert again.errback(SimpleNamespace(request=again)) == [{"failed": URL}]


def test_a_bot_wall_is_an_error_and_no_document(spider):
    wall = HtmlResponse(
        URL, status=200, headers={"cf-mitigated": "challenge"}, body=b"<html>Checking</html>"
    )
    assert collect(spider.parse(answer(spider, wall))) == []
    assert spider.run.progress.errors == {"challenge": 1}


def test_a_page_has_one_document_in_a_run_and_the_first_one_stays(spider):
    """The stored text and the text of a wall travel at the same time; each item has its own record."""
    crawler = spider.crawler
    crawler.spider = spider
    stages = [FilterPipeline.from_crawler(crawler), HashPipeline.from_crawler(crawler)]
    body = b"<html><main><h1>Title</h1><p>%s</p></main></html>"
    wall, text = (
        next(
            item
            for item in collect(spider.parse(answer(spider, HtmlResponse(URL, body=body % words))))
            if isinstance(item, Document)
        )
        for words in (b"Access denied.", b"The text.")
    )
    items = [stages[0].process_item(text), stages[0].process_item(wall)]  # both are under way
    stored = stages[1].process_item(items[0])
    with pytest.raises(DropItem):
        stages[1].process_item(items[1])
    assert (stored.change, stored.seq) == ("new", 1)
    kept = spider.run.known.stored.load_page(page_key(URL))
    assert (kept.content, kept.content_hash) == (text.content, text.content_hash)
    assert spider.run.known.stored.last_seq() == 1
    assert crawler.stats.get_value("llms/twice") == 1
    tombstone = kept.item(source="s", run="r", change="deleted")
    with pytest.raises(DropItem):
        stages[1].process_item(tombstone)
    assert spider.run.known.stored.load_page(page_key(URL)) is not None


@pytest.mark.parametrize(
    ("url", "read_from", "is_kept"),
    [
        ("https://docs.example.com/guide/intro", "intro.md", False),
        ("https://docs.example.com/guide/intro", "intro/index.md", True),
        ("https://docs.example.com/guide/other", "intro.md", True),
    ],
)
def test_two_spellings_that_were_read_from_one_markdown_file_are_one_page(
    spider, url, read_from, is_kept
):
    """Their contents differ: links in them lead to pages by the spelling that was known when they came."""
    spider.crawler.spider = spider
    stage = FilterPipeline.from_crawler(spider.crawler)
    items = []
    for address, file, text in ((URL, "intro.md", b"(x.html)"), (url, read_from, b"(x)")):
        response = HtmlResponse(
            address, body=b"<html><main><h1>Intro</h1><p>The text, see %s.</p></main></html>" % text
        )
        (item,) = [
            one
            for one in collect(spider.parse(answer(spider, response)))
            if isinstance(one, Document)
        ]
        item.origin, item.fetched_url = "markdown", f"https://docs.example.com/guide/{file}"
        items.append(item)
    assert stage.process_item(items[0]) is items[0]
    if is_kept:
        assert stage.process_item(items[1]) is items[1]
        return
    with pytest.raises(DropItem, match="the same page as"):
        stage.process_item(items[1])
    assert spider.crawler.stats.get_value("llms/filtered/duplicate") == 1


def test_the_languages_of_code_are_those_of_what_pipelines_left(spider):
    """They follow from the content: in the item that pipelines get, in feeds, and in what a store exports."""
    crawler = spider.crawler
    crawler.spider = spider
    stages = [FilterPipeline.from_crawler(crawler), HashPipeline.from_crawler(crawler)]
    body = b"<html><main><h1>Title</h1><p>Some text.</p><pre><code class='language-sh'>ls</code></pre></main></html>"
    (item,) = [
        item
        for item in collect(spider.parse(answer(spider, HtmlResponse(URL, body=body))))
        if isinstance(item, Document)
    ]
    assert item.code_languages == ["shell"]
    assert "```sh\n" in item.content
    item.content += "\n```js\n1\n```\n"
    item.code_languages = ["nonsense"]
    delivered = stages[1].process_item(stages[0].process_item(item))
    kept = spider.run.known.stored.load_page(page_key(URL))
    replayed = kept.document(source="s", run="r", seq=1, change="new")
    assert delivered.code_languages == replayed.code_languages == ["shell", "javascript"]
    gone = kept.document(source="s", run="r", seq=2, change="deleted")
    assert gone.code_languages == []


def test_what_the_store_keeps_is_no_field_of_the_item(spider):
    (document,) = [
        item
        for item in collect(
            spider.parse(answer(spider, HtmlResponse(URL, body=b"<html><p>x</p></html>")))
        )
        if isinstance(item, Document)
    ]
    assert list(ItemAdapter(document)) == [field.name for field in fields(Document)]


@pytest.fixture
def phase(spider):
    """The crawl of the spider for one phase alone, with nothing under way in its engine."""
    idle = SimpleNamespace(engine=None)
    return Phase(idle, spider, spider.run, EngineFetch(spider.crawler, spider.run))


def test_the_phase_of_failed_pages_asks_for_each_once_more(phase):
    run, urls = phase.run, [f"https://docs.example.com/{name}" for name in "ab"]
    for url in urls:
        request = phase.spider.requests.page(url, by="link", depth=1)
        retry = phase.spider.requests.retry(request, url)
        assert run.waiting.keep(
            WaitingPage("failed", retry, failure=Failure(url, "network", "lost"))
        )
    requests = collect(failed_pages(phase))
    assert [request.url for request in requests] == urls
    assert run.waiting.number("failed") == 0
    assert collect(failed_pages(phase)) == []


def test_the_phase_of_full_text_says_which_files_are_left_out(phase):
    start = FetchResult("https://docs.example.com/", "https://docs.example.com/", 200)
    full = "https://docs.example.com/llms-full.txt"
    phase.site.discovery = Discovery(
        start, start.url, full_texts=[FullText(full, FetchResult(full, full, 200))]
    )
    (request,) = collect(whole_full_texts(phase))
    assert request.callback == phase.spider.parse_settled, "no page came: it is a document itself"
    assert len(phase.spider.settled) == 1
    phase.run.progress.documents = 1
    assert collect(whole_full_texts(phase)) == []
    assert phase.run.progress.filtered == {"full-text-unsplit": 1}


@pytest.mark.parametrize("least", [1, 4000])
def test_a_filter_of_the_user_leaves_out_what_is_shorter_than_it_wants(spider, least):
    spider.crawler.spider = spider
    stage = type("Longer", (FilterPipeline,), {"min_characters": least}).from_crawler(
        spider.crawler
    )
    response = HtmlResponse(URL, body=b"<html><main><h1>Intro</h1><p>The text.</p></main></html>")
    (item,) = [
        one for one in collect(spider.parse(answer(spider, response))) if isinstance(one, Document)
    ]
    if least == 1:
        assert stage.process_item(item) is item
        return
    with pytest.raises(DropItem, match="fewer than 4000 characters"):
        stage.process_item(item)
    assert spider.crawler.stats.get_value("llms/filtered/empty") == 1
