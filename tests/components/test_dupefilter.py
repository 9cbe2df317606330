"""The dupefilter: one request for each page."""

from __future__ import annotations

from scrapy import Request

from llmsspider.crawler.scheduler import PageDupeFilter


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
