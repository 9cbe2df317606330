"""Whole pages of old and hand-made sites: which heading is the title, what stands around it, what index pages hold."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

URL = "https://widget.example.org/manual/part.html"
PROSE = "<p>A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn.</p>"


def converted(html: str):
    return convert(html.encode(), URL, "utf-8")


BOOK = "<html><head><title>{title}</title></head><body>{body}</body></html>"


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        pytest.param(
            "Vectors (Widget (version 7.3))",
            f'<h3 class="section">19.1 Vectors</h3>{PROSE}',
            "Vectors",
            id="a manual's name in brackets",
        ),
        pytest.param("Dates: Widget Manual", f"<h2>Dates</h2>{PROSE}", "Dates", id="after a colon"),
        pytest.param(
            "Widget 9 Manual: Section 3.6",
            f"<h2>3.6 The Navigator</h2>{PROSE}",
            "3.6 The Navigator",
            id="the title gives the number only",
        ),
        pytest.param(
            "Widgets", f"<h2>Widget</h2>{PROSE}", "Widgets", id="only whole words are cut"
        ),
        pytest.param("wheel(1)", f"<h2>NAME</h2>{PROSE}", "wheel(1)", id="another first heading"),
        pytest.param(
            "Part A", f"<h1>Part\xa0VIII.\xa0B</h1>{PROSE}", "Part VIII. B", id="hard spaces"
        ),
        pytest.param(
            "REPLACE",
            f'<div class="big">REPLACE</div>{PROSE}',
            "REPLACE",
            id="drawn, no heading at all",
        ),
    ],
)
def test_title_of_a_page_of_a_book(title, body, expected):
    assert converted(BOOK.format(title=title, body=body)).meta.title == expected


def test_a_drawn_title_is_the_heading_and_the_head_of_the_site_above_it_goes():
    body = f"""<div class="top"><a href="/"><img src="/logo.gif" alt="Widget"></a>
    <div class="motto">Small. Fast. Reliable.</div><ul><li><a href="/about">About</a><li><a href="/faq">FAQ</a></ul>
    </div><div class="fancy">How Widgets Turn</div><h1>1. Overview</h1>{PROSE}<h1>2. Wheels</h1>{PROSE}"""
    page = converted(BOOK.format(title="How Widgets Turn", body=body))
    assert page.meta.title == "How Widgets Turn"
    assert page.markdown.startswith("# How Widgets Turn\n\n# 1. Overview\n\nA widget turns")
    assert page.links == []
    assert "https://widget.example.org/about" in page.follow


def test_prose_above_the_title_stays():
    body = f"{PROSE}{PROSE}<h1>How Widgets Turn</h1>{PROSE}"
    page = converted(BOOK.format(title="How Widgets Turn | Widget", body=body))
    assert page.markdown.count("grinds the corn") == 3


def test_a_page_that_holds_a_table_of_contents_only_keeps_it():
    body = """<div class="chapter"><h1>Tools</h1><div class="toc"><p><b>Table of Contents</b></p><dl class="toc">
    <dt><a href="wheel.html">Wheel</a> — turns</dt><dd><dl><dt><a href="wheel.html#axle">Axle</a></dt></dl></dd>
    <dt><a href="mill.html">Mill</a> — grinds</dt></dl></div></div>"""
    page = converted(
        f'<html><head><meta name="generator" content="DocBook XSL"></head><body>{body}</body></html>'
    )
    base = "https://widget.example.org/manual/"
    assert page.markdown == (
        f"# Tools\n\n**Table of Contents**\n\n- [Wheel]({base}wheel.html) — turns\n"
        f"  - [Axle]({base}wheel.html#axle)\n- [Mill]({base}mill.html) — grinds\n"
    )
    assert [link.text for link in page.links] == ["Wheel", "Axle", "Mill"]


def test_a_table_of_contents_is_kept_on_a_page_of_no_known_generator_too():
    body = """<h1>2 Overview</h1><hr><h2>Section Index</h2><hr><div class="toc">
    <div class="toc-h2"><a href="start.html">2.1 Starting</a></div>
    <div class="toc-h2"><a href="end.html">2.2 Ending</a></div></div>"""
    page = converted(BOOK.format(title="Widget Manual", body=body))
    assert [link.text for link in page.links] == ["2.1 Starting", "2.2 Ending"]


@pytest.mark.parametrize(
    "extra", [PROSE, "<pre>turn</pre>", "<table><tr><th>a</th><td>b</td></tr></table>"]
)
def test_a_page_with_content_of_its_own_is_without_its_table_of_contents(extra):
    body = f'<div class="chapter"><h1>Tools</h1><div class="toc"><a href="wheel.html">Wheel</a></div>{extra}</div>'
    page = converted(
        f'<html><head><meta name="generator" content="DocBook XSL"></head><body>{body}</body></html>'
    )
    assert "Wheel" not in page.markdown


def test_contents_that_lead_within_the_page_are_left_out_of_a_page_of_headings():
    body = '<div class="chapter"><h1>Tools</h1><div class="toc"><a href="#a">Wheel</a></div><h2 id="a">Wheel</h2></div>'
    page = converted(
        f'<html><head><meta name="generator" content="DocBook XSL"></head><body>{body}</body></html>'
    )
    assert page.markdown == "# Tools\n\n## Wheel\n"


def test_rows_that_only_make_space_are_left_out_of_a_table():
    body = f"<h1>T</h1>{PROSE}<table><tr><td></td></tr><tr><td>a</td><td>b</td></tr><tr><td></td><td></td></tr></table>"
    page = converted(BOOK.format(title="T", body=body))
    assert page.markdown.endswith("|  |  |\n| --- | --- |\n| a | b |\n")


def test_pictures_that_lead_to_the_next_page_are_left_out():
    bar = '<div class="navigate"><a href="n.html"><img src="n.gif" alt="Next"></a></div>'
    page = converted(BOOK.format(title="T", body=f"{bar}<h2>Mills</h2>{PROSE}{PROSE}"))
    assert page.markdown.startswith("## Mills")


def test_frames_lead_on_and_the_words_for_old_browsers_are_no_content():
    page = converted(
        "<html><head><title>Manual</title></head><frameset cols='20%,80%'><frame src='toc.htm'><frame src='/ch1.htm'>"
        "<noframes><body>No frames here. <a href='toc.htm'>Contents</a></body></noframes></frameset></html>"
    )
    assert page.markdown == ""
    assert page.follow == [
        "https://widget.example.org/manual/toc.htm",
        "https://widget.example.org/ch1.htm",
    ]


def test_pages_in_frames_of_a_page_without_text_are_found():
    frames = (
        "<iframe src='one.htm'></iframe><object data='two.htm'></object><embed src='three.htm'>"
    )
    page = converted(f"<nav><a href='/'>Home</a></nav><main>{frames}</main>")
    assert page.follow[1:] == [
        f"https://widget.example.org/manual/{name}.htm" for name in ("one", "two", "three")
    ]
    assert len(converted(f"<main><h1>T</h1>{PROSE * 3}{frames}</main>").follow) == 0


def test_comments_and_related_articles_are_no_content():
    body = f"""<main><h1>T</h1>{PROSE}<section class="related-articles"><h3>Related</h3><a href="/a">A</a></section>
    <div id="comments"><h2>2 comments</h2><p>I like it.</p></div></main>"""
    page = converted(BOOK.format(title="T", body=body))
    assert "Related" not in page.markdown
    assert "comments" not in page.markdown


def test_code_drawn_as_a_tree_is_a_code_block_and_an_unclosed_code_is_not():
    drawn = (
        '<code>[<ul><li>{<ul><li><span>"id"</span>: 1,</li><li>"n": 2</li></ul>}</li></ul>]</code>'
    )
    page = converted(BOOK.format(title="T", body=f"<h1>T</h1>{PROSE}<div>{drawn}</div>"))
    assert page.markdown.endswith('```\n[\n  {\n    "id": 1,\n    "n": 2\n  }\n]\n```\n')
    page = converted(BOOK.format(title="T", body=f"<h1>T</h1><code>turn<h2>Next</h2>{PROSE}"))
    assert "## Next" in page.markdown


def test_tabs_made_of_radio_buttons_are_named():
    tabs = "".join(
        f'<input type="radio" id="t{place}"><label for="t{place}">{name}</label><div>{name} way</div>'
        for place, name in enumerate(("Mac", "Linux"))
    )
    page = converted(
        BOOK.format(title="T", body=f'<h1>T</h1>{PROSE}<div class="book-tabs">{tabs}</div>')
    )
    assert page.markdown.endswith("**Mac**\n\nMac way\n\n**Linux**\n\nLinux way\n")


def test_a_heading_in_the_navigation_is_the_sites_name_where_the_page_has_one_of_its_own():
    nav = '<div class="sidebar"><h1><a href="../">Widget</a></h1><ul><li><a href="a.html">Wheel</a></li></ul></div>'
    page = converted(
        BOOK.format(
            title="Widget::Wheel - Widget 1.6",
            body=f"{nav}<div><h1>class Widget::Wheel</h1>{PROSE * 3}</div>",
        )
    )

    assert page.markdown.startswith("# class Widget::Wheel\n")
    assert page.meta.title == "class Widget::Wheel"


def test_a_heading_in_what_is_called_navigation_is_the_pages_title_where_the_title_says_so():
    page = converted(
        BOOK.format(
            title="Wheels - Widget",
            body=f'<div class="nav"><h1>Wheels</h1></div><div id="content"><h2>Mills</h2>{PROSE * 3}</div>',
        )
    )

    assert page.markdown.startswith("# Wheels\n\n## Mills\n")


@pytest.mark.parametrize(
    ("title", "inside"),
    [
        pytest.param("Turning Widgets - Docs", "Widgets", id="a word of it"),
        pytest.param("Turning Widgets | Widget", "Turning", id="its beginning"),
        pytest.param("Turning Widgets | Guide | Widget", "Guide", id="another part"),
    ],
)
def test_a_heading_above_the_article_is_the_title_where_the_one_inside_is_less_of_it(title, inside):
    body = f"<div class=hero><h1>Turning Widgets</h1></div><main><h1>{inside}</h1>{PROSE}<h2>More</h2>{PROSE}</main>"
    page = converted(BOOK.format(title=title, body=body))
    assert page.markdown.startswith(f"# Turning Widgets\n\n# {inside}\n\nA widget turns")


@pytest.mark.parametrize("inside", ["Widget API", "Wheels"])
def test_the_name_of_the_site_above_the_article_is_not_the_title(inside):
    body = f"<div class=hero><h1>Widget</h1></div><main><h1>{inside}</h1>{PROSE}<h2>More</h2>{PROSE}</main>"
    assert converted(BOOK.format(title=f"Widget API | {inside}", body=body)).meta.title == inside


def test_labels_that_vue_draws_stand_above_what_they_label():
    """The tabs and panels of Retype."""
    tabs = "".join(
        f"<doc-tab><template #title>{one}</template><p>By {one}.</p></doc-tab>"
        for one in ("pip", "npm")
    )
    page = converted(
        BOOK.format(
            title="Install", body=f"<main><h1>Install</h1>{PROSE}<doc-tabs>{tabs}</doc-tabs></main>"
        )
    )
    assert page.markdown.endswith("**pip**\n\nBy pip.\n\n**npm**\n\nBy npm.\n")


def test_what_only_screen_readers_say_of_a_callout_is_no_part_of_its_title():
    """A callout of Quarto."""
    callout = (
        '<div class="callout callout-style-simple callout-tip callout-titled"><div class="callout-header d-flex">'
        '<div class="callout-icon-container"><i class="callout-icon"></i></div>'
        '<div class="callout-title-container flex-fill"><span class="screen-reader-only">Tip</span>How to turn</div>'
        f'</div><div class="callout-body-container callout-body">{PROSE}</div></div>'
    )
    page = converted(
        BOOK.format(title="Wheels", body=f"<main><h1>Wheels</h1>{PROSE}{callout}</main>")
    )
    assert "> [!TIP]\n> **How to turn**\n>\n> A widget turns" in page.markdown


def test_headings_between_the_title_and_the_article_are_content():
    page = converted(
        BOOK.format(
            title="Mill",
            body=f"<div id='top'><h1>Mill</h1><section><header><h2>wheel~Mill namespace</h2></header>"
            f"<article><h3>Methods</h3>{PROSE * 5}</article></section></div>",
        )
    )

    assert page.markdown.startswith("# Mill\n\n## wheel~Mill namespace\n\n### Methods\n")


def test_a_footer_that_speaks_of_rights_is_no_content_and_one_with_prose_is():
    footer = '<div class="footer"><p>{text}</p></div>'
    rights, prose = (
        converted(
            BOOK.format(
                title="Mill", body=f"<div><h1>Mill</h1>{PROSE * 5}{footer.format(text=text)}</div>"
            )
        )
        for text in (
            "Copyright © 2009-2026 Widget Works. All Rights Reserved.",
            "The mill was built long ago, of oak from the hills, and it turns still.",
        )
    )
    named = converted(
        BOOK.format(title="Mill", body=f"<h1>Mill</h1>{PROSE}<h2 id='footer'>Footer</h2>{PROSE}")
    )

    assert "Rights" not in rights.markdown
    assert "built long ago" in prose.markdown
    assert "## Footer" in named.markdown


def test_members_of_a_class_are_a_table_under_their_headings():
    row = '<tr class="memitem:"><td class="memItemLeft">{}</td><td class="memItemRight"><a href="#a">{}</a></td></tr>'
    brief = '<tr class="memdesc:"><td class="mdescLeft">&#160;</td><td class="mdescRight">Turns it.</td></tr>'
    template = '<tr><td class="memTemplParams" colspan="2">template&lt;class T&gt;</td></tr>'
    heading = '<tr class="heading"><td colspan="2"><h2>{}</h2></td></tr>'
    page = converted(
        '<html><head><meta name="generator" content="Doxygen 1.9"></head><body><div id="doc-content">'
        f'<div class="title">Wheel</div><table class="memberdecls">{heading.format("Functions")}'
        f"{row.format('void&#160;', 'turn()')}{brief}{template}{row.format('T&#160;', 'get()')}"
        f"{heading.format('Types')}{row.format('typedef int&#160;', 'size')}</table></div></body></html>"
    )

    assert page.markdown == (
        "# Wheel\n\n## Functions\n\n|  |  |  |\n| --- | --- | --- |\n"
        f"| void | [turn()]({URL}#a) | Turns it. |\n| T | template\\<class T> [get()]({URL}#a) |  |\n\n"
        f"## Types\n\n|  |  |\n| --- | --- |\n| typedef int | [size]({URL}#a) |\n"
    )
