"""What a site sends beside its pages: any bytes cost a file, never a crawl, and little work."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego
from scrapy.http import Response

from llmsspider.content.conversion import DOCC_HANDLER, OPENAPI_HANDLER, handle
from llmsspider.content.extraction import convert as convert_page
from llmsspider.content.markdown import read as read_markdown
from llmsspider.content.markdown import split_front_matter
from llmsspider.content.openapi.description import read_description
from llmsspider.crawler.pages import leads_on, text_headers, with_valid_urls
from llmsspider.crawler.records import Records
from llmsspider.errors import ConversionError
from llmsspider.items import Page
from llmsspider.site import llmsfull, sitemaps, witnesses
from llmsspider.site.llmstxt_parser import parse
from llmsspider.site.providers import docsify_scripts, find_docsify
from llmsspider.store import PageRecord
from llmsspider.web.encodings import decode, of_content_type
from llmsspider.web.foreign import UnreadableError, bounded_robots, json_value, read
from llmsspider.web.page_forms import head_links, header_links, markdown_link, media_type
from llmsspider.web.rights import of_llms_txt, of_page, of_robots, of_tdmrep
from llmsspider.web.text import valid_text

URL = "https://docs.example.com/guide/"
PLACE = witnesses.Place("https://docs.example.com/search.json", URL)


def parse_robots(body: bytes) -> object:
    text = bounded_robots(body.decode("utf-8", "replace"), "llmsspider")
    return of_robots(text, "llmsspider", URL), Protego.parse(text)


RECORDS = Records("source", "")


def record(page: Page) -> PageRecord:
    """What the store and the feeds get of a page."""
    return RECORDS.of_page(URL, with_valid_urls(page), "0" * 64)


def documents(path: str) -> Callable[[bytes], PageRecord | None]:
    """The record of what a converter makes of a body; none where it says that it cannot."""

    def made(body: bytes) -> PageRecord | None:
        with suppress(ConversionError):
            return record(handle(path, body, URL, "", None))
        return None

    return made


def html(body: bytes, encoding: str | None = None) -> list[object]:
    page = convert_page(body, URL, encoding)
    return [record(page), *(record(part) for _, part in page.parts)]


def headers(body: bytes) -> object:
    """What is read of the headers of an answer, each with this value."""
    named = (
        "x-robots-tag",
        "link",
        "content-usage",
        "content-signal",
        "tdm-policy",
        "content-type",
    )
    found = text_headers(Response(URL, headers=dict.fromkeys(named, body)))
    value = found["link"]
    return [
        found,
        header_links(value, URL),
        markdown_link(value, URL),
        of_content_type(value),
        media_type(value, URL),
        of_page({name: [value] for name in named}, frozenset([value]), [value], url=URL),
    ]


PARSERS = {
    "HTML": html,
    "HTML in latin-1": lambda body: html(body, "latin-1"),
    "Markdown": lambda body: record(read_markdown(decode(body), URL)),
    "notebook": documents("llmsspider.content.formats.documents.NotebookHandler"),
    "DocC": documents(DOCC_HANDLER),
    "OpenAPI as a page": documents(OPENAPI_HANDLER),
    "head": lambda body: [head_links(body, URL), leads_on(body, URL, None)],
    "headers": headers,
    "encodings": lambda body: [decode(body, body.decode("latin-1")), decode(body)],
    "Docsify": lambda body: [docsify_scripts(body, URL), find_docsify(body, URL)],
    "rights of llms.txt": lambda body: of_llms_txt(decode(body), URL),
    "places of search indexes": lambda body: witnesses.places(body, URL),
    "robots.txt": parse_robots,
    "tdmrep.json": of_tdmrep,
    "search index": lambda body: witnesses.read(body, PLACE),
    "sitemap": lambda body: list(sitemaps.read(io.BytesIO(body), URL)),
    "llms.txt": lambda body: parse(decode(body), URL),
    "llms-full.txt": lambda body: llmsfull.inspect(io.BytesIO(body), URL),
    "front matter": lambda body: split_front_matter(body.decode("utf-8", "replace"))[0],
    "OpenAPI": read_description,
    "JSON": json_value,
}


def texts(value: object) -> Iterator[str]:
    """Every text in what a parser made, names of fields included."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from texts(name)
            yield from texts(one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from texts(one)


def reason_against(name: str, body: bytes) -> str:
    """Why a parser could not read it, empty where it could; any other error fails the test, as does
    text that not every feed, database and terminal can hold.
    """
    try:
        made = read(PARSERS[name], body)
    except UnreadableError as error:
        return str(error)
    wrong = [text for text in texts(made) if name not in RAW and valid_text(text) != text]
    assert not wrong
    return ""


RAW = {"JSON", "OpenAPI", "encodings", "robots.txt", "search index"}
"""Values that are compared, counted or read on by another parser, and never shown."""

HOSTILE = [
    b"# A\x00b \x1b[31m\x9b \xc2\x9b c\n\n> \x07d\n\n- [x\x08\xed\xa0\x80](/a\x01): \x7fe\n",
    b"<title>a&#27;b\x00</title><h1>&#xD800; \x1b]0;x\x07</h1><a href='/x\x01&#0;'>\x02y</a>",
    b'{"cells": [{"cell_type": "markdown", "source": "a\\u001b[31m \\u0000 \\u009b"}]}',
    b'{"openapi": "3.0.0", "info": {"title": "a\\u0000\\u001b"}, "paths": {"/\\u0007": {"get": {}}}}',
    b"<urlset><url><loc>https://docs.example.com/\xc2\x9b&#x85;</loc><lastmod>\x0b</lastmod></url></urlset>",
    b'<meta content="Hugo 0.1"><a href="a.searchindex.js/\x00\x01b/index.json"></a>',
    b"<script src='\x00\x01/searchindex.js'></script><link href='.\x00search/search_index.json'>",
    b'---\ntitle: -\ntitle: "a\x1cb"\n---00b"\n---\n',
    b'+++\ntitle = "a\\u001bb"\n+++\n',
    b"# A\x01b\n\nSource: https://docs.example.com/a\n\nText of it.\n\n# B\x9fc\n\nSource: https://docs.example.com/b\n",
    b"<script>window.$docsify = {name: 'a', loadSidebar: 'b\x00\x01c'}</script><script src='/docsify@4'></script>",
    (
        b"<urlset xmlns:x='http://www.w3.org/1999/xhtml'><url><loc>https://docs.example.com/</loc><lastmod>\xc2\x9b2026</lastmod>"
        b"<x:link rel='alternate' hreflang='\xc2\x9bde' href='/de'/></url></urlset>"
    ),
    b"<script src='/docsif\x00\x00y.js'></script><script src='/docsify@4'></script>",
    b"<link rel='ca\xc2\x9anonical' type='text/\xc2\x9bhtml' href='/a'>",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'[{"location":"/x","tdm-reservation":[]}]',
    b'[{"location":"/x","tdm-reservation":{}, "tdm-policy":"http://["}]',
    json.dumps([{"url": "/a", "text": "x", "more": eval("[" * 60 + "]" * 60)}]).encode(),
    b'[{"url":"/a","text":"x","more":' + b"[" * 400 + b"]" * 400 + b"}]",
    b'---\ntitle: "a\\ud800b"\n---\n',
    b"---\n? [a, b]\n: c\n---\n",
    b"---\n" + b"- " * 3000 + b"\n---\n",
    b"<urlset>" + b"<a>" * 5000,
    b"\xff\xfe\x00\x00<",
    b"License: http://[\nUser-agent: *\nLicense: //[::\n",
]


@pytest.mark.parametrize("name", PARSERS)
@given(
    body=st.binary(max_size=300) | st.sampled_from(HOSTILE) | st.text(max_size=200).map(str.encode)
)
@example(b"")
def test_any_bytes_are_read_or_unreadable(name: str, body: bytes) -> None:
    reason = reason_against(name, body)
    assert "\n" not in reason
    reason.encode()


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", PARSERS)
def test_each_hostile_file_costs_itself(name: str, body: bytes) -> None:
    assert len(reason_against(name, body)) < 400


def named_lines(field: str) -> list[str]:
    agents = [f"{field} bot{number}" for number in range(400)]
    rules = [f"License: https://e.com/{number}" for number in range(400)]
    paths = [f"Disallow: /{number}" for number in range(400)]
    return [*agents, *rules, *paths]


@pytest.mark.parametrize("field", ["User-agent:", "useragent:", "User agent:", "USER-AGENT"])
def test_a_group_of_many_crawlers_is_a_group_of_few(field: str) -> None:
    text = "\n".join([*named_lines(field), "User-agent: *", "Disallow: /private"])
    bounded = bounded_robots(text, "llmsspider")
    rules = Protego.parse(bounded)
    assert len(rules._user_agents) <= 2
    assert not rules.can_fetch("https://e.com/private", "llmsspider")
    assert rules.can_fetch("https://e.com/1", "llmsspider")


@pytest.mark.parametrize(
    ("group", "allowed"),
    [
        ("User-agent: a\nUser-agent: llmsspider\nDisallow: /x", False),
        ("User-agent: LLMSspider\nDisallow: /x", False),
        ("User-agent: llmsspider\nSitemap: /s.xml\nUser-agent: b\nDisallow: /x", False),
        ("User-agent: llmsspider\nDisallow: /y\nUser-agent: b\nDisallow: /x", True),
        ("User-agent: b\n\nUser-agent: *\n# c\nDisallow: /x", False),
        ("User-agent: b\nUser-agent: c\nDisallow: /x", True),
    ],
)
def test_the_rules_of_a_crawler_are_what_they_were(group: str, allowed: bool) -> None:
    for text in (group, bounded_robots(group, "llmsspider")):
        assert Protego.parse(text).can_fetch("https://e.com/x", "llmsspider") is allowed


def test_declarations_of_one_file_are_few() -> None:
    text = "\n".join([*named_lines("User-agent:"), "User-agent: *", *named_lines("License: ")])
    assert len(of_robots(text, "llmsspider", URL)) <= 200


@given(st.text() | st.text(alphabet=st.characters(codec=None, categories=["Cs"])))
def test_text_can_be_encoded(text: str) -> None:
    made = valid_text(text)
    made.encode()
    assert "\0" not in made
    if text.isprintable():
        assert made == text


def test_front_matter_is_valid_text() -> None:
    values, _ = split_front_matter('---\ntitle: "a\\ud800b"\ntags: ["\\ud83d\\ude00"]\n---\n# A\n')
    assert values == {"title": "a\N{REPLACEMENT CHARACTER}b", "tags": ["\N{GRINNING FACE}"]}
