"""Pages written against the parts of extraction that run in C: ten times the page takes ten times the work.

What is compared is the CPU time of a page with that of one four times as long; lines of Python are counted by
`test_linear_readers.py`, steps of regular expressions by `test_linear_patterns.py`.
"""

import time
from math import inf

import pytest

from llmsspider.content import markdown
from llmsspider.content.extraction import convert

LINEAR = 9.0
"""Growth of the time for a page four times as long: 4 is linear, 16 quadratic."""
LEAST_SECS = 0.02
"""CPU time that the short page takes at least; it is made longer until it does."""
URL = "https://docs.example.com/guide/"


def _each(text: str, number: int) -> str:
    return "".join(text.replace("{}", str(place)) for place in range(number))


PAGES = {
    "an element with many attributes": lambda n: f"<p {_each(' a{}=1', n)}>text",
    "attributes whose values hold tags": lambda n: "<p " + _each(' a{}="<b>"', n) + ">text",
    "brackets in an alternative text": lambda n: f'<img src=a.png alt="{"[" * n}">',
    "brackets and code in a link": lambda n: f"<a href=a>[{_each('`[<a', n)}</a>",
    "a control that names many ids": lambda n: (
        f'<button aria-controls="{_each("i{} ", n)}">a</button>{_each("<p hidden id=i{}>b<b>c</b>", n)}'
    ),
    "many controls": lambda n: _each(
        '<button aria-controls="i{}">a</button><p hidden id=i{}>b<b>c</b>', n
    ),
    "many tabs of one list": lambda n: (
        f"<div role=tablist>{_each('<a role=tab>a</a>', n)}</div>{_each('<div role=tabpanel>b</div>', n)}"
    ),
    "many lists of tabs": lambda n: _each(
        "<div role=tablist><a role=tab>a</a></div><div role=tabpanel>b</div>", n
    ),
    "many lists of tabs with their panels elsewhere": lambda n: (
        _each("<div role=tablist><a role=tab>a</a></div>", n)
        + _each("<div role=tabpanel>b</div>", n)
    ),
    "sections named like comments": lambda n: _each(
        "<section id=comments><h2>a<a href=#comments>b</a></h2><p>c</p></section>", n
    ),
    "cards of the next page": lambda n: _each("<a href=b><p>a</p><p>Next Page</p></a>", n),
    "placeholders": lambda n: f"<div>{_each('<span>Loading...</span>', n)}</div>",
    "words apart": lambda n: f"<div>{_each('<b>word</b><i>word</i>', n)}</div>",
    "images for dark backgrounds": lambda n: (
        f"<p>a {_each('<img class=only-dark src=a.png alt=a>', n)}</p>"
    ),
    "drawings in a cell": lambda n: (
        f"<table><tr><td>{_each('<svg aria-label=a></svg>', n)}</table>"
    ),
    "names of tables of contents": lambda n: _each("<div><p>Table of contents</p></div>", n),
    "buttons in a sentence": lambda n: f"<p>a {_each('<button>word</button>', n)}</p>",
    "struck in struck": lambda n: "<del>" * 50 + _each("<p>a</p>", n),
    "blocks in code": lambda n: f"<pre>{_each('a<div>b</div> ', n)}</pre>",
    "breaks in inline code": lambda n: f"<p><code>{_each('a<br>', n)}</code> b",
    "labels in headings": lambda n: f"<h2>{_each('<span class=doc-labels>a</span>', n)}</h2>",
    "lists of sources": lambda n: _each(
        "<div class='col-content tsd-sources'><ul><li>a</ul></div>", n
    ),
    "different styles": lambda n: _each('<p style="margin:{}px">a', n),
    "hidden elements": lambda n: _each('<p hidden class="a{}">a<b>b</b>', n),
    "hidden words among others": lambda n: f"<p>{_each('<i hidden>a</i> b ', n)}",
    "hidden headings": lambda n: _each("<div hidden><h1>a</h1>b</div>", n),
    "cells with blocks": lambda n: (
        f"<table><tr><th>a{_each('<tr><td><p>a</p><p>b</p><ul><li>c</ul>', n)}"
    ),
    "links to the next page": lambda n: _each('<a href="p{}.html">Next</a> ', n),
    "elements of one id": lambda n: _each("<div id=content>a</div>", n),
    "code with links": lambda n: f"<p>{_each('<code><a href=a>b</a></code>', n)}",
    "code blocks in one element": lambda n: f"<div>{_each('<pre>a</pre>', n)}</div>",
    "lists right behind each other": lambda n: _each("<ul><li>a</ul>", n),
    "scripts of API references": lambda n: f'<script>openapi:"3"; spec = {{{"/*a" * n}</script>',
}
TEXTS = {
    "sections for agents": lambda n: "# A\n\n" + "## Agent Instructions\n" * n,
    "banners for agents": lambda n: (
        "> Fetch the documentation index at https://a.example/llms.txt\n\n" * n
    ),
    "comments for agents without an end": lambda n: (
        "<!-- fetch llms.txt documentation index\n\n" * n
    ),
}


def _growth(call, make, times: int = 6) -> float:
    """Return the growth from a text that takes time to one four times as long: the first of so many below
    `LINEAR`, else the best.
    """
    number = 500
    while _secs(call, make(number)) < LEAST_SECS and number < 200_000:
        number *= 2
    short, long = make(number), make(4 * number)
    best = inf
    for _ in range(times):
        best = min(best, _secs(call, long) / max(_secs(call, short), LEAST_SECS / 2))
        if best < LINEAR:
            break
    return best


def _secs(call, text: str) -> float:
    began = time.process_time()
    call(text)
    return time.process_time() - began


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_time_by_its_length(name):
    def read(text: str):
        convert(f"<title>A</title><main><h1>A</h1>{text}</main>".encode(), URL, "utf-8")

    assert _growth(read, PAGES[name]) < LINEAR


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_takes_time_by_its_length(name):
    assert _growth(lambda text: markdown.read(text, URL), TEXTS[name]) < LINEAR


def test_quadratic_time_is_caught():
    def slow(text: str):
        for place in range(0, len(text), 100):
            text.find("b", place)

    assert _growth(slow, lambda n: "a" * 100 * n, times=2) > LINEAR


def test_attributes_beyond_the_first_are_dropped_and_the_text_stays():
    page = convert(
        f'<h1>A</h1><p id="b"{_each(" a{}=1", 3000)}>Text.</p><p>More.'.encode(), URL, "utf-8"
    )

    assert page.markdown == "# A\n\nText.\n\nMore.\n"
