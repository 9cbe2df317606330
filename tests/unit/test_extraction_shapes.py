"""Shapes that generators of documentation give their pages, each as small as it is still told by."""

# ruff: noqa: ISC004 (a line of HTML is one line)

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
    "a prompt of a notebook": (
        '<div class="prompt input_prompt">In [1]:</div><p>A cell.</p>',
        "A cell.\n",
    ),
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
    "two lists under one parent": (
        _tabs("A", "B") + "<p>And</p>" + _tabs("C", "D"),
        "A a B b And C c D d",
    ),
    "a list in a panel": (_tabs("A", inside=_tabs("X", "Y")) + _tabs("B"), "A a X x Y y B b"),
    "a list without panels": (
        '<div role="tablist"><button role="tab">N</button></div>' + _tabs("A"),
        "A a",
    ),
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


AROUND = {
    "a breadcrumb and cards, as Fumadocs": (
        '<div class="flex text-sm text-fd-muted-foreground"><span>Guides</span><svg></svg><a href="/d/wheels">Wheels</a></div>',
        '<div class="grid"><a href="a"><div><svg></svg><p>Axles</p></div><p class="muted">Previous Page</p></a>'
        '<a href="b"><div><p>Hubs</p></div><p class="muted">Next Page</p></a></div>',
    ),
    "a last card": (
        "",
        '<div class="grid"><a href="a"><div><p>Axles</p></div><p>Previous Page</p></a></div>',
    ),
    "a breadcrumb of links": (
        '<ol><li><a href="/">Home</a></li><li><a href="/d/">Docs</a></li></ol>',
        "",
    ),
    "pagination of a known generator": (
        "",
        '<div class="nav"><a href="a">← Previous</a> <a href="b">Next →</a></div>',
    ),
    "tags and a date, as Retype": (
        "",
        '<div class="flex"><span><a href="/tags/"><svg></svg></a><span><a href="/tags/wheel/">wheel</a></span></span>'
        "<time>Last updated on 2026-06-08</time></div>",
    ),
    "a link to edit": (
        "",
        '<div><a href="https://git.example.org/e">Edit this page on GitHub</a></div>',
    ),
    "a placeholder": ("", "<div><div>Loading...</div></div>"),
    "a button with a block inside": (
        "",
        "<div><button><div>Copy</div></button><button> Expand all </button></div>",
    ),
}


@pytest.mark.parametrize(("above", "below"), AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("name", ["nd-page", "content-area", "other"])
def test_what_a_layout_sets_around_the_content_goes(above, below, name):
    head = {"content-area": '<meta name="generator" content="Mintlify">'}.get(name, "")
    page = f"<div id={name}><article>{above}<h1>Wheels</h1><p>A wheel turns.</p>{below}</article></div>"
    assert markdown(page, head) == "# Wheels\n\nA wheel turns.\n"


STAYS = {
    "a link above that leads elsewhere": (
        '<div>Package <a href="p.html">org.wheels</a></div>',
        "",
        "Package [org.wheels]",
    ),
    "words above": (
        '<div>Written by Ann for the <a href="/d/">guide</a>, which shows how wheels are made.</div>',
        "",
        "Written by Ann",
    ),
    "the last words of an author": ("", "<p>Last updated: today</p>", "Last updated: today"),
    "a link to a tag in a sentence": (
        "",
        '<p>See <a href="/tags/wheel/">all of them</a>.</p>',
        "See [all of them]",
    ),
    "a card of another page": (
        "",
        '<div><a href="n"><p>The axle</p><p>Next steps</p></a></div>',
        "Next steps",
    ),
    "a word of a sentence": (
        "",
        "<p>It shows <span>Loading...</span> first.</p>",
        "It shows Loading... first.",
    ),
    "code": ("", "<pre><span>Loading...</span></pre>", "```\nLoading...\n```"),
    "a button that opens something": (
        "",
        "<button><div>What is a wheel?</div></button><p>Round.</p>",
        "What is a wheel?",
    ),
}


@pytest.mark.parametrize(("above", "below", "expected"), STAYS.values(), ids=STAYS)
def test_what_only_looks_like_layout_stays(above, below, expected):
    assert expected in markdown(
        f'<div id="nd-page"><article>{above}<h1>Wheels</h1><p>A wheel.</p>{below}</article></div>'
    )


CODE = {
    "where, as rustdoc": (
        '<pre class="rust"><code>pub struct Wheel&lt;A&gt;<div class="where">where\n    A: Turn,</div>{ }</code></pre>',
        "```rust\npub struct Wheel<A>\nwhere\n    A: Turn,\n{ }\n```",
    ),
    "its signature": (
        '<h4 class="code-header">fn turn&lt;F&gt;(f: F) -&gt; T<div class="where">where\n    F: Turn,</div></h4>',
        "`fn turn<F>(f: F) -> T where F: Turn,`",
    ),
    "its language in a title before it": (
        '<p>Turn:</p><p class="aside-title">Swift</p><pre><code>turn()</code></pre>'
        '<div><div class="bar"><span>Go</span><button>Copy</button></div><pre>turn()</pre></div>'
        '<p class="lead">Turn</p><pre>turn</pre>',
        "Turn:\n\n```swift\nturn()\n```\n\n```go\nturn()\n```\n\nTurn\n\n```\nturn\n```",
    ),
    "words of one kind in a box of a heading": (
        "<h4><div><span>amount</span><span>integer</span></div></h4>",
        "#### amount integer",
    ),
    "a line break in a cell, as Javadoc": (
        "<table><tr><th>Type<tr><td><code>&lt;T&gt;<br>T</code><tr><td><code>&lt;T&gt;<br><a href=l>List</a></code></table>",
        "| Type |\n| --- |\n| `<T> T` |\n| `<T>` [`List`](https://docs.example.org/d/l) |",
    ),
    "lines and breaks, as Hexo": (
        '<figure class="highlight js"><table><tr><td class="gutter"><pre><span class="line">1</span><br><span class="line">2</span></pre></td>'
        '<td class="code"><pre><span class="line">a</span><br><span class="line">b</span><br></pre></td></tr></table></figure>',
        "```js\na\nb\n```",
    ),
    "no language, as Hexo": (
        '<figure class="highlight plaintext"><table><tr><td class="gutter"><pre>1<br>2</pre><td class="code"><pre>a<br>b</pre></table></figure>',
        "```\na\nb\n```",
    ),
    "a highlighter": ('<pre class="highlightjs highlight"><code>a</code></pre>', "```\na\n```"),
    "output of a notebook": (
        '<div class="output highlight-myst-ansi notranslate"><div class="highlight"><pre>1</pre></div></div>',
        "```\n1\n```",
    ),
    "a span, as Doxygen": ('<p>Call <span class="tt">turn_</span>.</p>', "Call `turn_`."),
    "labels of a member, as mkdocstrings": (
        '<h2>size <span class="doc doc-labels"><small class="doc doc-label"><code>property</code></small> <small><code>writable</code></small></span></h2>',
        "## size\n\n`property` `writable`",
    ),
    "labels of a member, as TypeDoc": (
        '<h3 class="tsd-anchor-link"><code class="tsd-tag">Optional</code><span>cause</span></h3>'
        '<ul><li><span><code class="tsd-tag">Optional</code><span>name</span>: string</span></li></ul>',
        "### cause\n\n`Optional`\n\n- `Optional` name: string",
    ),
    "what is inherited, as TypeDoc": (
        '<div class="col-content"><aside class="tsd-sources"><p>Inherited from Base.run</p><ul><li>Defined in a.ts:1</li></ul></aside></div>',
        "Inherited from Base.run",
    ),
}


@pytest.mark.parametrize(("body", "expected"), CODE.values(), ids=CODE)
def test_code_and_names_are_parted_as_they_are_shown(body, expected):
    assert (
        markdown(f"{'' if 'col-content' in body else '<h1>Wheels</h1>'}{body}").removeprefix(
            "# Wheels\n\n"
        )
        == f"{expected}\n"
    )


def test_a_title_of_several_lines_is_parted():
    page = convert(
        b"<title>A</title><main><h1>Uses of Class<br>org.Wheel</h1><p>Text.</p></main>", URL, None
    )
    assert page.meta.title == "Uses of Class org.Wheel"


def mathjax(tex: str, more: str = "") -> str:
    """A formula as MathJax 4 draws it."""
    node = f'<g data-mml-node="math" data-latex="{tex}"><g data-mml-node="mi" data-latex="x"><path d="M0 0"/></g></g>'
    svg = f'<svg role="img"><defs><path d="M1 1"/></defs><g stroke="currentColor">{node}</g></svg>'
    return f'<mjx-container class="MathJax" jax="SVG"{more}>{svg}</mjx-container>'


FRACTION, DISPLAY = r"\frac{a}{b}", ' display="true"'


def test_formulas_of_mathjax_4_are_its_tex():
    body = f"<h1>Wheels</h1><p>Of {mathjax('x_1^2')} turns.</p><p>{mathjax(FRACTION, DISPLAY)}</p>"
    assert markdown(body) == "# Wheels\n\nOf $x_1^2$ turns.\n\n$$\n\\frac{a}{b}\n$$\n"


def test_targets_of_links_are_valid_and_lead_somewhere():
    body = (
        '<h1>Wheels</h1><p><a href="p.html#turn-Tuple{T, Any} where T<:Wheel">turn</a>'
        ' <a href="file:///nix/store/base/GHC-Base.html#t:Monad">Monad</a></p>'
    )
    target = "https://docs.example.org/d/p.html#turn-Tuple{T,%20Any}%20where%20T%3C:Wheel"
    assert markdown(body) == f"# Wheels\n\n[turn]({target}) Monad\n"


TITLES = {
    "a longer one": (
        "Configure | Acme",
        "<div><h1>Configure the widget</h1></div>",
        "# Configure the widget",
    ),
    "a shorter one": (
        "How to configure it | Acme",
        "<header><h1>Configure</h1></header>",
        "# Configure",
    ),
    "one in the same main": (
        "Acme Docs",
        "<main><h1>Configure the widget</h1>",
        "# Configure the widget",
    ),
    "the site's name": (
        "Setting up - Acme Widgets",
        "<div><h1>Acme Widgets</h1></div>",
        "# Set-up",
    ),
    "a link home": (
        "Acme Widgets, setting up",
        '<div><h1><a href="/">Acme Widgets</a></h1></div>',
        "# Set-up",
    ),
    "the title of the page inside": (
        "Set-up of widgets | Set-up",
        "<div><h1>All widgets</h1></div>",
        "# Set-up",
    ),
}


@pytest.mark.parametrize(("title", "above", "expected"), TITLES.values(), ids=TITLES)
def test_the_title_may_stand_above_the_article(title, above, expected):
    words = "A paragraph that says a good deal of how it is set up, and why. " * 4
    inner = f"<article><h1>Set-up</h1><p>{words}</p><h1>Options</h1><p>{words}</p></article>"
    page = f"<html><head><title>{title}</title></head><body>{above}{inner}</body></html>"
    assert convert(page.encode(), URL, None).markdown.startswith(f"{expected}\n\n")


def test_a_notice_that_scripts_are_needed_is_no_page_however_long_its_style():
    style = f"<style>{'.noscript { font-family: Arial, sans-serif; margin: 92px auto 140px auto; }' * 9}</style>"
    notice = f'<noscript>{style}<div><h1>This page requires JavaScript.</h1></div></noscript><div id="app"></div>'
    page = f"<html><head><title>Documentation</title></head><body>{notice}<script src='/index.js'></script></body></html>"
    read = convert(page.encode(), URL, None)
    assert (read.markdown, read.meta.is_shell) == ("", True)
