"""No pattern of the package takes more than linear work, whatever text it is given. Steps are counted, not seconds."""

import random
import re
from functools import cache

import pytest
from backtracking import LINEAR, Counter, growth
from patterns import Found, every, written_in_calls

PORTIONS = 8
"""Parts that the patterns are tried in, so that they share out well among processes."""

SHORT_TEXTS = {
    "llmsspider.web.urls._USER_WITH_SLASHES": 2_100,
}
"""Patterns that only see texts of so many characters, and take no more than `SHORT_STEPS` on them."""
SHORT_STEPS = 5_000_000

NOT_YET = {
    "llmsspider.site.llmsfull_marks._COMMENT",
    "llmsspider.site.llmsfull_marks._LABEL",
    "llmsspider.site.llmsfull_marks._FENCE",
    "llmsspider.site.llmstxt._LINK_LINE",
    "llmsspider.site.llmstxt_parser._FIELD",
}
"""Patterns that take more than linear work today. None may be added."""

NOT_CONSTANT = {
    "llmsspider.downloadermiddlewares.headers.__init__": "secrets of the user's own, joined",
    "llmsspider.content.extraction.metadata.without_suffix": "parts of titles, of MAX_TITLE characters at most",
    "llmsspider.web.outcomes.explained": "a few constants, on the one line of an exception",
    "llmsspider.web.scope._compiled": "globs of the user's own, translated by wcmatch",
}
"""Functions that make patterns as they go, and what those are made of."""

SUPERLINEAR = (
    (
        "match",
        r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    ),
    ("match", r"\s*---\n(?:[\w.-]+:.*\n|[ \t-].*\n)+---\n"),
    ("search", r"!?\[[^\]\n]+\]\([^)\s]+"),
    ("finditer", r"([a-z-]+)\s*=\s*(yes|no)"),
    ("search", r"(?m)^\s*user-agent\s*:"),
    ("finditer", r"<!\[CDATA\[.*?\]\]>|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)"),
    ("finditer", r"(?i)<a\s[^>]{0,600}?\bhref\s*=\s*(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')"),
    ("search", r"(?is)<title[^>]*>(.*?)</title>"),
    ("match", r"(?i)\s*[\d.]*\s*[;,]?\s*(?:url\s*=)?\s*[\"']?\s*(.+?)\s*[\"']?\s*\Z"),
    ("match", r"(?i)\s*[\d.]*\s*[;,]\s*(?:url\s*=)?\s*\S"),
    ("match", r"(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*\s*$"),
    ("finditer", r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$"),
    ("finditer", r"(?:\n[ \t]*)+\Z"),
    ("finditer", r"(?m)^(title|description)[ \t]*[:=][ \t]*(.+?)[ \t]*$"),
    ("match", r"(?i)(?:url|source)[ \t]*:[ \t]*[`<]?(https?://[^\s<>]+?|/[^\s<>]*?)[`>]?[ \t]*[.,]?\s*$"),
    ("match", r"(?i)\s*<!--+\s*(?:url|source)\s*[:=]\s*[\"'<]?(/[^\s<>]*?)[\"'>]?\s*--+>\s*$"),
    ("match", r"(.+?)\s+[(\[<]((?:https?:)?/[^\s()<>\[\]]*)[)\]>]$"),
    ("match", r"(a+)+b"),
    ("search", r"(a|a)*c"),
)
"""Patterns that stood in the package, or are known, each with how it was used. The counting has to catch them."""


@cache
def patterns() -> dict[str, Found]:
    """The patterns of the package by name."""
    return {found.name: found for found in every()}


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_every_pattern_takes_linear_work(portion):
    grown = {}
    for name, found in sorted(patterns().items())[portion::PORTIONS]:
        if name in SHORT_TEXTS or name in NOT_YET:
            continue
        for method in found.methods:
            factor, text = growth(found.pattern, method)
            if factor > LINEAR:
                grown[name] = (method, round(factor, 1), text)

    assert grown == {}


@pytest.mark.parametrize("name", SHORT_TEXTS)
def test_patterns_for_short_texts_take_little_work_on_them(name):
    found, length = patterns()[name], SHORT_TEXTS[name]

    for method in found.methods:
        factor, text = growth(found.pattern, method, length=length // 4, most=SHORT_STEPS)
        assert factor < 1_000, text


@pytest.mark.parametrize(("method", "pattern"), SUPERLINEAR)
def test_patterns_that_take_more_are_caught(method, pattern):
    assert growth(re.compile(pattern), method)[0] > LINEAR


def test_the_package_is_searched_whole():
    assert {
        "llmsspider.content.markdown.scan._HTML_START",
        "llmsspider.content.markdown.scan._MARKS[2]",
        "llmsspider.web.outcomes._SCRIPTS[3][2]",
        "llmsspider.web.rights._SIGNAL",
    } <= patterns().keys()
    assert patterns()["llmsspider.content.markdown.scan._HTML_START"].methods == {"match"}
    assert len(patterns()) > 200


def test_patterns_made_on_the_way_are_known():
    made = {function for function, found in written_in_calls() if found is None}

    assert made == NOT_CONSTANT.keys()


@pytest.mark.parametrize("portion", range(0, 3 * PORTIONS, 3))
def test_the_counting_finds_what_re_finds(portion):
    for name, found in sorted(patterns().items())[portion :: 3 * PORTIONS]:
        _compare(name, found.pattern)


def _compare(name: str, pattern: re.Pattern) -> None:
    is_bytes = isinstance(pattern.pattern, bytes)
    chance = random.Random(name)
    counter = Counter(pattern, 10**7)
    alphabet = " \n\taZ0_<>/-=:;,.#*`[](){}|\\\"'&!?" + re.sub(r"\W", "", str(pattern.pattern))

    for _ in range(30):
        text = "".join(chance.choice(alphabet) for _ in range(chance.randrange(30)))
        expected = [found.span() for found in pattern.finditer(text.encode() if is_bytes else text)]
        assert counter.spans(text) == expected, (name, text)
