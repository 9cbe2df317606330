"""A page is read as a browser shows it: parts that come later, `<noscript>`, end tags that do not fit, what fades in."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

URL = "https://widget.example.org/manual/part"
PROSE = "<p>A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn.</p>"
SAID = "turns the wheel"
MENU = '<nav><a href="/a">Alpha</a> <a href="/b">Beta</a></nav>'


def markdown_of(body: str, title: str = "Part") -> str:
    html = f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"
    return convert(html.encode(), URL, "utf-8").markdown


STREAMED = {
    "the page in a boundary": (
        (
            f'{MENU}<main><h1>Part</h1><!--$?--><template id="B:0"></template><i>wait</i><!--/$--></main>'
            f'<div hidden id="S:0">{PROSE * 2}</div><script>$RC("B:0","S:0")</script>'
        ),
        f"# Part\n\n{PROSE[3:-4]}\n\n{PROSE[3:-4]}\n",
    ),
    "a part in a part, text before it": (
        (
            f'<main><h1>Part</h1>{PROSE}<div>Use <template id="P:1"></template></div></main>'
            '<div hidden id="S:1">this <template id="P:2"></template></div>'
            '<div hidden id="S:2"><b>wheel</b></div>'
            '<script>$RS("S:1","P:1")</script><script>$RS("S:2","P:2")</script>'
        ),
        f"# Part\n\n{PROSE[3:-4]}\n\nUse this **wheel**\n",
    ),
    "a fallback with a boundary in it": (
        (
            f'<main><h1>Part</h1>{PROSE}<!--$?--><template id="B:0"></template>wait<!--$-->a<!--/$-->wait<!--/$-->after</main>'
            '<div hidden id="S:0"><p>now</p></div><script>$RC=function(){};$RC("B:0","S:0")</script>'
        ),
        f"# Part\n\n{PROSE[3:-4]}\n\nnow\n\nafter\n",
    ),
    "a part whose script is not there": (
        (
            f'<main><h1>Part</h1>{PROSE}<div>Use <template id="P:1"></template></div></main>'
            '<div hidden id="S:1">this <b>wheel</b></div>'
        ),
        f"# Part\n\n{PROSE[3:-4]}\n\nUse this **wheel**\n",
    ),
    "rows of a table": (
        (
            f'<main><h1>Part</h1>{PROSE}<table><tr><th>a</th></tr><tbody><template id="P:3"></template></tbody></table></main>'
            '<table hidden><tbody id="S:3"><tr><td>1</td></tr></tbody></table><script>$RS("S:3","P:3")</script>'
        ),
        f"# Part\n\n{PROSE[3:-4]}\n\n| a |\n| --- |\n| 1 |\n",
    ),
    "a hidden part that nothing places": (
        f'<main><h1>Part</h1>{PROSE}</main><div hidden id="S:9"><p>later</p></div><script>$RC("B:9","S:9")</script>',
        f"# Part\n\n{PROSE[3:-4]}\n",
    ),
}


@pytest.mark.parametrize(("body", "expected"), STREAMED.values(), ids=STREAMED)
def test_parts_that_are_streamed_stand_at_their_place(body, expected):
    assert markdown_of(body) == expected


def test_the_page_of_a_forum_in_noscript_is_the_page():
    posts = "".join(f'<div class="post" itemprop="text">{PROSE}</div>' for _ in range(3))
    topic = f'<header><a href="/">Forum</a></header><div role="main"><h1>Part</h1>{posts}</div>'
    found = convert(
        f"<html><title>Part - Forum</title><body><noscript>{topic}</noscript><div id=app></div><script src=/a.js></script>".encode(),
        URL,
        None,
    )

    assert found.markdown.count(SAID) == 3
    assert not found.meta.is_shell


NOT_THE_PAGE = {
    "a notice": "You need to enable JavaScript to run this app.",
    "a picture": '<img src="/pixel.png" alt="Pixel of a counter">',
    "less than the page": f"<p>Please switch on the scripts of your browser now.</p>{PROSE}",
}


@pytest.mark.parametrize("inside", NOT_THE_PAGE.values(), ids=NOT_THE_PAGE)
def test_other_noscript_is_left_out(inside):
    body = f"<main><h1>Part</h1>{PROSE * 2}</main><noscript>{inside}</noscript>"
    assert markdown_of(body) == f"# Part\n\n{PROSE[3:-4]}\n\n{PROSE[3:-4]}\n"


NESTED = {
    "div in an item": (
        "<ul><li><div>one</li><li>two</li></ul><p>after</p>",
        "- one\n- two\n\nafter",
    ),
    "div in a cell": (
        "<table><tr><th>a<th>b<tr><td><div>1</td><td>2</td></tr></table><p>after</p>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nafter",
    ),
    "div in a quote": ("<blockquote><div>said</blockquote><p>after</p>", "> said\n\nafter"),
    "cells without a row": (
        "<table><tr><th>a<th>b</tr><td>1<td>2</tr></table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ),
    "text in a table": (
        "<table><p>before</p><tr><td>1<td>2</table>",
        "before\n\n|  |  |\n| --- | --- |\n| 1 | 2 |",
    ),
}


@pytest.mark.parametrize(("part", "expected"), NESTED.values(), ids=NESTED)
def test_end_tags_are_read_as_browsers_read_them(part, expected):
    body = f"<main><h1>Part</h1>{PROSE}{part}</main>"
    assert markdown_of(body) == f"# Part\n\n{PROSE[3:-4]}\n\n{expected}\n"


def test_an_open_block_of_the_menu_does_not_swallow_the_page():
    menu = "<header><nav><ul><li><div><a href=/a>Alpha</a></li></ul></nav></header>"
    assert (
        markdown_of(f"<p>Seven is out.</p>{menu}<main><h1>Part</h1>{PROSE}</main>").count(SAID) == 1
    )


def test_misnested_tags_below_many_others_take_no_time():
    deep = "<div>" * 20_000
    assert SAID in markdown_of(f"<main><h1>Part</h1>{PROSE}<ul><li><div>a</li></ul>{deep}</main>")


FADED = {
    "the page": f'<div style="opacity:0"><h1>Part</h1>{PROSE}</div>',
    "its sections": f"<main><h1>Part</h1><p>Short.</p>{f'<section style=visibility:hidden>{PROSE}</section>' * 2}</main>",
    "below a word that a script removes": f'<div id="wait">Loading</div><main style="display:none"><h1>Part</h1>{PROSE}</main>',
    "for listeners it is not": f'<div>One moment</div><div aria-hidden="true"><h1>Part</h1>{PROSE}</div>',
    "in one hidden element inside another": f'<div hidden><p>Wait.</p><div style="opacity:0">{PROSE * 3}</div></div>',
}


@pytest.mark.parametrize("body", FADED.values(), ids=FADED)
def test_what_scripts_show_is_the_page(body):
    assert markdown_of(body + MENU).count(SAID) == body.count(SAID)


def test_a_hidden_menu_with_more_words_than_the_page_stays_hidden():
    entries = "".join(
        f'<li><a href="/{n}">Entry number {n} of the menu</a></li>' for n in range(40)
    )
    body = f'<main><h1>Part</h1>{PROSE}</main><div style="display:none"><ul>{entries}</ul></div>'
    assert markdown_of(body) == f"# Part\n\n{PROSE[3:-4]}\n"


LAYOUTS = (
    "content-sidebar-wrap",
    "no-sidebar",
    "col-9 sidebar-first",
    "with-nav-menu",
    "footer-less",
)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_block_with_the_prose_is_no_navigation_whatever_it_is_called(name):
    body = f'{MENU}<div class="head"><h1>Part</h1></div><div class="{name}">{PROSE * 2}</div>'
    assert markdown_of(body).count(SAID) == 2


def test_what_stands_in_a_heading_beside_its_words_comes_after_it():
    contents = (
        '<details><summary>On this page</summary><ul><li><a href="#a">A</a></li></ul></details>'
    )
    read = convert(
        f"<html><title>Part</title><body><main><h1>Part{contents}</h1>{PROSE}</main>".encode(),
        URL,
        None,
    )

    assert read.meta.title == "Part"
    assert read.markdown.startswith("# Part\n\n")


def test_a_box_with_a_list_in_a_heading_comes_after_it_whole():
    package = "<div>in package <ul><li>Mail</li></ul></div>"
    read = convert(f"<main><h1>Part</h1><h2>SMTP {package}</h2>{PROSE}</main>".encode(), URL, None)
    assert "## SMTP\n\nin package\n\n- Mail\n" in read.markdown


def test_roles_of_a_table_make_one():
    cells = "<div role=row><span role=cell>turns</span><span role=cell>int</span></div>"
    head = "<span role=columnheader>Name</span><span role=columnheader>Type</span>"
    table = f"<div role=table><div role=rowgroup><div role=row>{head}</div></div>{cells}</div>"
    read = convert(f"<main><h1>Part</h1>{PROSE}{table}</main>".encode(), URL, None)
    assert "| Name | Type |\n| --- | --- |\n| turns | int |" in read.markdown


def test_what_a_copy_button_says_is_no_text():
    code = "<div><pre><code>turn</code></pre><button>Copy</button><span>Copied!</span></div>"
    read = convert(
        f"<main><h1>Part</h1>{PROSE}{code}<p>It says <b>Copied!</b></p></main>".encode(), URL, None
    )
    assert read.markdown.count("Copied!") == 1


def test_every_post_of_a_thread_is_read_whatever_its_title_is():
    posts = f"<article>{PROSE * 2}</article><article>{PROSE}</article>"
    assert markdown_of(f"<div><h1>It squeaks</h1>{posts}</div>", "Forum").count(SAID) == 3


def test_a_short_article_beside_the_page_is_none_of_its_parts():
    teaser = "<article><p>Next week: mills.</p></article>"
    body = f"{MENU}<div><article><h1>Part</h1>{PROSE * 3}</article>{teaser}</div>"
    assert "Next week" not in markdown_of(body)
