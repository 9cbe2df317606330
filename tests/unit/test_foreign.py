"""What a site sends beside its pages: any bytes cost a file, never a crawl, and little work."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego

from llmsspider.content.markdown import split_front_matter
from llmsspider.content.openapi.description import read_description
from llmsspider.site import llmsfull, sitemaps, witnesses
from llmsspider.site.llmstxt_parser import parse
from llmsspider.web.encodings import decode
from llmsspider.web.foreign import UnreadableError, bounded_robots, json_value, read
from llmsspider.web.rights import of_robots, of_tdmrep
from llmsspider.web.text import valid_text

URL = "https://docs.example.com/guide/"
PLACE = witnesses.Place("https://docs.example.com/search.json", URL)


def parse_robots(body: bytes) -> object:
    text = bounded_robots(body.decode("utf-8", "replace"), "llmsspider")
    return of_robots(text, "llmsspider", URL), Protego.parse(text)


PARSERS = {
    "robots.txt": parse_robots,
    "tdmrep.json": of_tdmrep,
    "search index": lambda body: witnesses.read(body, PLACE),
    "sitemap": lambda body: list(sitemaps.read(io.BytesIO(body), URL)),
    "llms.txt": lambda body: parse(decode(body), URL),
    "llms-full.txt": lambda body: llmsfull.inspect(io.BytesIO(body), URL),
    "front matter": lambda body: split_front_matter(body.decode("utf-8", "replace")),
    "OpenAPI": read_description,
    "JSON": json_value,
}


def reason_against(name: str, body: bytes) -> str:
    """Why a parser could not read it, empty where it could; any other error fails the test."""
    try:
        read(PARSERS[name], body)
    except UnreadableError as error:
        return str(error)
    return ""


HOSTILE = [
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
