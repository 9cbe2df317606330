"""Shapes that generators of documentation give their pages, each as small as it is still told by."""

# ruff: noqa: E501, ISC004 (a line of HTML is one line)

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

URL = "https://docs.example.org/d/page.html"


def markdown(body: str, head: str = "") -> str:
    page = f"<html><head><title>Wheels</title>{head}</head><body><main>{body}</main></body></html>"
    return convert(page.encode(), URL, None).markdown


NAMED = {
    "a section of Sphinx": (
        '<section id="comments"><h2>1.2. Comments<a class="headerlink" href="#comments">¶</a></h2><p>Use it.</p></section>',
        "## 1.2. Comments\n\nUse it.\n",
    ),
    "its table of contents": (
        '<section id="table-of-contents"><h2>Table of contents</h2><p>The helper writes a list of the headings of a page.</p></section>',
        "## Table of contents\n\nThe helper writes a list of the headings of a page.\n",
    ),
    "a heading": ('<h2 id="toc">TOC</h2><p>A helper.</p>', "## TOC\n\nA helper.\n"),
    "a heading that a generator drops by its id": (
        '<div id="content-area" class="mintlify"><h2 id="pagination">Pagination</h2><p>A cursor.</p></div>',
        "## Pagination\n\nA cursor.\n",
    ),
    "a heading in an anchor": (
        '<doc-anchor-target id="comments"><h2><doc-anchor-trigger class="header-anchor-trigger" to="#comments">#</doc-anchor-trigger>'
        "<span>Comments</span></h2></doc-anchor-target><p>A line.</p>",
        "## Comments\n\nA line.\n",
    ),
    "a prompt of an assistant": (
        '<div class="prompt"><pre>ls -l</pre></div><div class="prompt"><p>Write a test for each of the wheels here.</p></div>',
        "```\nls -l\n```\n\nWrite a test for each of the wheels here.\n",
    ),
    "a prompt of a notebook": ('<div class="prompt input_prompt">In [1]:</div><p>A cell.</p>', "A cell.\n"),
    "comments of readers": (
        '<p>A page.</p><section id="comments"><h3>2 comments</h3><p>I like all of this page very much.</p><form><textarea></textarea></form></section>',
        "A page.\n",
    ),
    "a table of contents": (
        '<h2 id="table-of-contents">Table of contents</h2><ul class="toc"><li><a href="#a">A</a></li></ul><p>A page.</p>',
        "A page.\n",
    ),
    "one with a permalink": (
        '<div id="toc"><h2>Contents<a href="#toc">#</a></h2><ul><li><a href="#a">A</a></li></ul></div><p>A page.</p>',
        "A page.\n",
    ),
}


@pytest.mark.parametrize(("body", "expected"), NAMED.values(), ids=NAMED)
def test_no_heading_prose_or_code_goes_for_its_name(body, expected):
    assert markdown(f"<h1>Wheels</h1>{body}") == f"# Wheels\n\n{expected}"


def _tabs(*labels: str, inside: str = "") -> str:
    tabs = "".join(f'<button role="tab">{label}</button>' for label in labels)
    panels = "".join(f'<div role="tabpanel"><p>for {label}</p>{inside}</div>' for label in labels)
    return f'<div role="tablist">{tabs}</div><div>{panels}</div>'


TABS = {
    "two lists under one parent": (_tabs("A", "B") + "<p>And</p>" + _tabs("C", "D"), "A a B b And C c D d"),
    "a list in a panel": (_tabs("A", inside=_tabs("X", "Y")) + _tabs("B"), "A a X x Y y B b"),
    "a list without panels": ('<div role="tablist"><button role="tab">N</button></div>' + _tabs("A"), "A a"),
    "labels below": (
        '<div role="tabpanel"><p>for A</p></div><div role="tablist"><a role="tab">A</a></div>',
        "A a",
    ),
}


@pytest.mark.parametrize(("body", "expected"), TABS.values(), ids=TABS)
def test_each_panel_has_the_label_of_its_own_list(body, expected):
    words = [
        f"**{word}**" if word.isupper() else f"for {word.upper()}" if len(word) == 1 else word
        for word in expected.split()
    ]
    assert markdown(f"<h1>Wheels</h1>{body}") == "\n\n".join(["# Wheels", *words]) + "\n"
