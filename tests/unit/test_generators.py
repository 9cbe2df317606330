"""Each known generator: a page of its shape beside the Markdown it must give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cssselect import HTMLTranslator

from llmsspider.content.extraction import convert
from llmsspider.content.extraction.generators import GENERATORS
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.main_content import _selector, find_main
from llmsspider.content.extraction.parsing import parse, read_source
from llmsspider.items import PageMeta

FIXTURES = Path(__file__).parent.parent / "fixtures" / "generators"
URL = "https://widget.example.org/docs/page"
PAGES = sorted(path.stem for path in FIXTURES.glob("*.html"))
ENTRY = {
    "sphinx-rtd": "sphinx",
    "sphinx-furo": "sphinx",
    "sphinx-pydata": "sphinx",
    "sphinx-book": "sphinx",
    "vitepress-home": "vitepress",
    "github-readme": "github",
    "unknown": "generic",
    "docsify": "generic",
    "docc": "generic",
    "javadoc-8": "javadoc",
    "rustdoc-trait": "rustdoc",
    "documenter-repl": "documenter",
    "exdoc-module": "exdoc",
    "mathjax": "generic",
}
SHELLS = {"docsify"}


def page(name: str) -> bytes:
    return (FIXTURES / f"{name}.html").read_bytes()


@pytest.mark.parametrize("name", PAGES)
def test_page_gives_its_markdown(name):
    converted = convert(page(name), URL, None)
    assert converted.markdown == (FIXTURES / f"{name}.md").read_text("utf-8")
    assert converted.converter == "native"
    assert converted.meta.is_shell == (name in SHELLS)


@pytest.mark.parametrize("name", PAGES)
def test_page_is_recognised_by_its_marks(name):
    body = page(name)
    source = read_source(body, None)
    root = parse(source)
    _, generator = find_main(root, source, PageMeta(), (), HiddenText(root, source))
    assert generator.name == ENTRY.get(name, name)


SELECTORS = [
    *sorted({css for generator in GENERATORS for css in generator.main}),
    "div[role=main], p[role=main]",
    "div:not([role=main])",
    "div:is([role=main], [id=one])",
    "div.body[role=main] > p[id=two]",
    "div[role='a | b']",
    "p[id=two]",
]
EVERYTHING = """<body id=main><div class="a body" role=main id=one><p id=two role=main>x</p>
<div role="a | b">y</div></div><div class=body><article role=main id=nd-page><main id=main>z</main></article></div>
<section id=main class=document>w</section>"""


@pytest.mark.parametrize("css", SELECTORS)
def test_selectors_match_what_css_says(css):
    pages = [parse(read_source(body, None)) for body in (EVERYTHING.encode(), *map(page, PAGES))]
    plain = HTMLTranslator().css_to_xpath(css)
    assert [_selector(css)[0](root) for root in pages] == [root.xpath(plain) for root in pages]


@pytest.mark.parametrize("name", sorted(set(PAGES) - SHELLS))
def test_no_navigation_and_no_permalink_in_any_page(name):
    body = page(name)
    converted = convert(body, URL, None)
    assert "API navigation" not in converted.markdown
    assert not re.search(r"^#{1,6} .*[¶🔗#§\u200b]\)?$", converted.markdown, re.MULTILINE)
    assert any(url.endswith("/api/") for url in converted.follow) == (b"API navigation" in body)


@pytest.mark.parametrize("name", sorted(set(PAGES) - SHELLS))
def test_markdownify_keeps_the_code_and_headings(name):
    native = convert(page(name), URL, None)
    other = convert(page(name), URL, None, "markdownify")
    assert other.converter == "markdownify"
    assert fences(other.markdown) == fences(native.markdown)
    assert headings(other.markdown) == headings(native.markdown)
    assert other.links == native.links


def headings(markdown: str) -> list[str]:
    return [
        " ".join(line.replace("\\", "").split())
        for line in re.findall(r"^#+ .*$", markdown, re.MULTILINE)
    ]


def fences(markdown: str) -> list[str]:
    flat = re.sub(r"^(?:> ?| {2,4})+", "", markdown, flags=re.MULTILINE)
    return [
        re.sub(r"\s+", " ", block)
        for block in re.findall(r"^```[\w-]*\n.*?^```$", flat, re.MULTILINE | re.DOTALL)
    ]


def test_every_generator_has_a_page():
    assert {generator.name for generator in GENERATORS} <= {
        ENTRY.get(name, name) for name in PAGES
    } | {"docsify"}
