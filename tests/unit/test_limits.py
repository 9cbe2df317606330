"""What a small answer may become: members, encodings, keys, places of a grid, labels, length of a page."""

import gzip
import io
import sys

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from llmsspider.content.extraction import convert, read_metadata
from llmsspider.content.extraction.parsing import MAX_DEPTH, parse, read_source
from llmsspider.content.links import SMALL_CHARS
from llmsspider.content.markdown import MAX_LEVELS, read, split_front_matter
from llmsspider.crawler.requests import RefusedRequest
from llmsspider.downloadermiddlewares.decompression import (
    MAX_MEMBERS,
    BodyTooLargeError,
    decompress,
)
from llmsspider.downloadermiddlewares.http_compression import HttpCompressionMiddleware
from llmsspider.errors import TooLargePageError
from llmsspider.site.llmsfull import cut, inspect
from llmsspider.site.llmsfull_marks import MAX_HEADER_LINES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

URL = "https://docs.example.com/guide/"
EMPTY = {"gzip": gzip.compress(b""), "zstd": zstd.compress(b"")}


def page(content: str) -> bytes:
    return f"<html><body><main><h1>A</h1>{content}</main></body></html>".encode()


@pytest.mark.parametrize("encoding", EMPTY)
def test_members_without_content_are_no_way_to_more_work(encoding):
    few = EMPTY[encoding] * 100 + decompress_made(encoding, b"text")

    assert decompress(few, encoding) == b"text"
    with pytest.raises(BodyTooLargeError, match="members"):
        decompress(EMPTY[encoding] * (MAX_MEMBERS + 1), encoding)


def decompress_made(encoding: str, text: bytes) -> bytes:
    return gzip.compress(text) if encoding == "gzip" else zstd.compress(text)


def test_an_answer_of_a_few_hundred_bytes_that_unfolds_to_members_is_refused():
    body = zstd.compress(gzip.compress(gzip.compress(b"") * 1_000_000))
    assert len(body) < 1_000

    once = decompress(body, "zstd", 32 * 1024 * 1024)
    twice = decompress(once, "gzip", 32 * 1024 * 1024)
    with pytest.raises(BodyTooLargeError):
        decompress(twice, "gzip", 32 * 1024 * 1024)


def decoded(encodings: str, body: bytes) -> bytes:
    middleware = HttpCompressionMiddleware.from_crawler(get_crawler())
    answer = Response(URL, headers={"Content-Encoding": encodings}, body=body)
    response = middleware.process_response(Request(URL), answer)
    assert isinstance(response, Response)
    return response.body


def test_many_encodings_one_upon_the_other_are_refused():
    assert decoded("gzip, zstd", zstd.compress(gzip.compress(b"text"))) == b"text"
    with pytest.raises(RefusedRequest):
        decoded("gzip, " * 20 + "gzip", b"text")


@pytest.mark.parametrize(
    "table",
    [
        f"<table><tr>{'<th colspan=50>a' * 2_000}</tr>{'<tr><td>b' * 2_000}</table>",
        f"<table><tr>{'<th rowspan=50 colspan=50>a' * 1_000}</tr>{'<tr>' * 5_000}<tr><td>b</table>",
    ],
    ids=["wide", "deep"],
)
def test_a_table_whose_spans_spread_it_is_taken_apart(table):
    body = page(table)

    markdown = convert(body, URL, None).markdown

    assert len(markdown) < 2 * len(body)
    assert markdown.count("a") >= 1_000
    assert "b" in markdown


def test_spans_of_a_table_for_readers_are_filled():
    rows = "".join(f"<tr><td colspan=2>{row}<td>c" for row in range(50))

    markdown = convert(page(f"<table><tr><th>a<th>b<th>c{rows}</table>"), URL, None).markdown

    assert "| 49 |  | c |" in markdown


def test_a_page_whose_markdown_grows_beyond_measure_is_too_large():
    body = page("<blockquote>" * 100 + "<p>a" * 10_000)

    with pytest.raises(TooLargePageError, match="too-large") as raised:
        convert(body, URL, None)
    assert "blocks" in [call.name for call in raised.traceback], (
        "while it is written, not when it stands"
    )
    assert (
        len(convert(page("<blockquote>" * 100 + "<p>a" * 1_000), URL, None).markdown) < SMALL_CHARS
    )


FAR = f"https://docs.example.com/{'a' * 1_900}/"
HREFS = [f"{number:x}" for number in range(2_000)]
LONG_LINKS = {
    "links": "".join(f"<a href={href}>a</a> " for href in HREFS),
    "the same link": "<a href=b>a</a> " * 2_000,
    "images": "".join(f"<img src={href} alt=a>" for href in HREFS),
}


@pytest.mark.parametrize("content", LONG_LINKS.values(), ids=LONG_LINKS.keys())
def test_short_links_below_a_long_address_are_too_large_before_they_are_written(content):
    with pytest.raises(TooLargePageError, match="too-large"):
        convert(page(content), FAR, None)
    assert len(convert(page(content), URL, None).markdown) < SMALL_CHARS


def test_the_links_to_follow_are_bounded_too():
    with pytest.raises(TooLargePageError):
        read_metadata(page(LONG_LINKS["links"]), FAR, None)
    with pytest.raises(TooLargePageError):
        read_metadata(
            page(LONG_LINKS["links"]).replace(
                b"<body>", f"<head><base href={FAR}></head>".encode()
            ),
            URL,
            None,
        )


def test_a_markdown_body_of_short_links_below_a_long_address_is_too_large():
    body = "".join(f"[a]({href}) " for href in HREFS)

    with pytest.raises(TooLargePageError, match="too-large"):
        read(body, FAR)
    assert read(body, URL).markdown.count("](https://docs.example.com/guide/") == len(HREFS)


def test_lists_of_tabs_inside_each_other_are_read():
    assert convert(page("<div role=tablist>" * 2_000 + "text"), URL, None).markdown == "# A\n"


def test_elements_far_inside_each_other_are_put_beside_each_other_and_nothing_is_lost():
    deep = "".join(f"<font>a{number} <a href=/p{number}>b{number}</a> " for number in range(1_000))

    root = parse(read_source(page(deep), None))
    found = convert(page(deep), URL, None)

    assert max(sum(1 for _ in element.iterancestors()) for element in root.iter()) == MAX_DEPTH
    assert root.xpath("//a/@href") == [f"/p{number}" for number in range(1_000)]
    assert found.markdown.split()[-2].startswith("a999")
    text = "".join(root.itertext()).split()
    assert text == ["Aa0", *[f"{letter}{number}" for number in range(1_000) for letter in "ab"][1:]]
    assert len(found.follow) == 1_000


def test_keys_of_many_levels_are_no_front_matter():
    deep = "+++\n" + "a." * 15_000 + "a = 1\n+++\n# T\n"

    assert split_front_matter(deep) == ({}, deep)
    assert split_front_matter("+++\na.b.c = 1\n+++\n# T\n") == ({"a": {"b": {"c": 1}}}, "# T\n")
    assert MAX_LEVELS < 1_000


def test_a_run_of_labels_is_no_header_without_end():
    file = io.BytesIO(b"Source: https://docs.example.com/a\n\n" * 500)

    report = inspect(file, "https://docs.example.com/llms-full.txt")

    assert max(len(mark.skip) for mark in report.marks) <= MAX_HEADER_LINES + 1
    assert sum(1 for _ in cut(file, report)) == report.pages
