"""Dupefilter, scheduler order, exporter, log lines, scope middleware: the thin parts."""

from __future__ import annotations

import io
import json
import logging
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from llmsspider.crawl.download_errors import FilteredRequest
from llmsspider.crawl.scheduler import PageDupeFilter
from llmsspider.downloadermiddlewares.redirect import ScopeMiddleware
from llmsspider.downloadermiddlewares.synthetic import SyntheticMiddleware
from llmsspider.extensions.console import ShortLogFormatter
from llmsspider.items import Document, Link, LlmsEntry
from llmsspider.output.exports import JsonLinesExporter
from llmsspider.web.scope import build_scope


def document(**fields) -> Document:
    given = {
        "id": "1",
        "url": "https://e.com/ü",
        "fetched_url": "https://e.com/ü",
        "source": "e.com",
        "run": "r",
        "seq": 1,
        "title": "T",
        "description": None,
        "language": None,
        "content": "# T\n",
        "content_hash": "ab",
        "change": "new",
        "origin": "html",
        "discovered_by": "link",
        "depth": 0,
        "links": [Link("a", "https://e.com/a")],
        "llms": LlmsEntry("https://e.com/llms.txt", "S", "t", None, 0),
    }
    return Document(**{**given, **fields})


def test_a_page_is_requested_once_whatever_its_spelling():
    dupefilter = PageDupeFilter()
    assert not dupefilter.request_seen(Request("https://e.com/a/index.html"))
    assert dupefilter.request_seen(Request("https://e.com/a/#top"))
    assert dupefilter.request_seen(Request("https://e.com/a/?utm_source=x"))
    assert not dupefilter.request_seen(Request("https://e.com/a"))


def test_a_redirect_within_one_page_passes():
    dupefilter = PageDupeFilter()
    assert not dupefilter.request_seen(Request("https://e.com/a/index.html"))
    redirected = Request("https://e.com/a/", meta={"redirect_urls": ["https://e.com/a/index.html"]})
    assert not dupefilter.request_seen(redirected)
    other = Request("https://e.com/a/", meta={"redirect_urls": ["https://e.com/b"]})
    assert dupefilter.request_seen(other)


def exported(item, **options) -> dict:
    file = io.BytesIO()
    exporter = JsonLinesExporter(file, **options)
    exporter.start_exporting()
    exporter.export_item(item)
    exporter.finish_exporting()
    assert file.getvalue().endswith(b"\n")
    return json.loads(file.getvalue())


def test_a_document_is_one_line_of_json():
    row = exported(document())
    assert row["url"] == "https://e.com/ü"
    assert row["links"] == [{"text": "a", "url": "https://e.com/a"}]
    assert row["llms"]["section"] == "S"
    assert list(row)[:3] == ["id", "url", "fetched_url"]


def test_fields_can_be_chosen_and_other_items_are_written():
    assert exported(document(), fields_to_export=["url", "links"]) == {
        "url": "https://e.com/ü",
        "links": [{"text": "a", "url": "https://e.com/a"}],
    }
    assert exported({"a": 1}) == {"a": 1}


def test_log_lines_name_documents_and_never_print_them():
    formatter = ShortLogFormatter()
    line = formatter.scraped(document(), None, None)
    assert (line["msg"] % line["args"], line["level"]) == ("Document https://e.com/ü", logging.DEBUG)
    dropped = formatter.dropped(document(), ValueError("why"), None, None)
    assert dropped["msg"] % dropped["args"] == "Left out why"
    error = formatter.item_error({"a": 1}, ValueError(), None, None)
    assert error["msg"] % error["args"] == "Error processing dict"


def counted(collector_class: type[MemoryStatsCollector]) -> dict[str, object]:
    collector = collector_class(get_crawler())
    collector.inc_value("a")
    collector.inc_value("a", 2, start=1)
    collector.max_value("b", 4)
    collector.max_value("b", 3)
    collector.set_value("c", "x")
    return collector.get_stats()


def test_stats_are_counted_as_scrapy_does():
    settings = Settings()
    settings.setmodule("llmsspider.settings")
    ours = load_object(settings["STATS_CLASS"])
    assert ours is not MemoryStatsCollector
    assert counted(ours) == counted(MemoryStatsCollector) == {"a": 3, "b": 4, "c": "x"}


@pytest.mark.parametrize(("level", "made"), [("DEBUG", True), ("INFO", False), (10, True), ("30", False)])
def test_log_lines_that_nobody_reads_are_not_made(level, made):
    crawler = SimpleNamespace(settings=Settings({"LOG_LEVEL": level}))
    formatter = ShortLogFormatter.from_crawler(crawler)
    answer = Response("https://e.com/", request=Request("https://e.com/"))
    lines = [
        formatter.crawled(answer.request, answer, None),
        formatter.scraped(document(), answer, None),
        formatter.dropped(document(), ValueError("why"), answer, None),
    ]
    assert [line is not None for line in lines] == [made] * 3
    assert formatter.item_error({"a": 1}, ValueError(), None, None)["level"] == logging.ERROR


class Run:
    limit = SimpleNamespace(reached=False)
    bounds = SimpleNamespace(scope=build_scope("auto", "https://e.com/docs/", None, []))


def redirected(url: str, **page) -> Request:
    return Request(url, meta={"redirect_times": 1, "llms": {"by": "link", **page}})


def test_redirect_ends_are_judged():
    middleware = ScopeMiddleware(Run())
    middleware.process_request(redirected("https://e.com/docs/a"))
    with pytest.raises(FilteredRequest) as error:
        middleware.process_request(redirected("https://e.com/login"))
    assert error.value.verdict.reason == "out-of-scope"
    middleware.process_request(redirected("https://e.com/login", listed=True))
    middleware.process_request(redirected("https://e.com/robots.txt", nested=True))
    middleware.process_request(Request("https://e.com/robots.txt", meta={"redirect_times": 1}))


def test_synthetic_requests_are_answered_and_others_are_not():
    middleware = SyntheticMiddleware()
    request = Request("http://synthetic.invalid/", meta={"llms": {"synthetic": True}})
    assert middleware.process_request(request).status == 200
    assert middleware.process_request(Request("https://e.com/")) is None
