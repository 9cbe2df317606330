"""Pages of generators that are not in the table, or of themes that change what is: shapes met in the wild."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from llmsspider.content.extraction import convert

PAGE = "https://widget.example.org/manual/part.html"
PROSE = "<p>A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn.</p>"
TEXT = (
    "A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn."
)


def converted(body: str, title: str = "", head: str = ""):
    html = f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    return convert(html.encode(), PAGE, "utf-8")


TURNERS = """<div class="nav">« <a href="a.html" title="Mills">previous</a> | <a href="./">up</a> |
<a href="c.html">next</a> »</div>"""


def test_a_theme_of_sphinx_that_sets_the_sites_name_above_the_page():
    page = converted(
        f"""<div class="document"><div id="hd"><h1><a href="/">Widget 3.2 documentation</a></h1>
        <div id="global-nav"><a href="/">Home</a> | <a href="/genindex.html">Index</a></div>{TURNERS}</div>
        <div id="bd"><section id="s"><h1>Wheels and mills</h1>{PROSE}<h2>Axles</h2>{PROSE}</section></div>
        <div id="ft">{TURNERS}</div></div>""",
        "Wheels and mills &#8212; Widget 3.2 documentation",
        '<script src="_static/doctools.js"></script>',
    )
    assert page.markdown == f"# Wheels and mills\n\n{TEXT}\n\n## Axles\n\n{TEXT}\n"
    assert page.meta.title == "Wheels and mills"
    assert "https://widget.example.org/manual/c.html" in page.follow


def test_a_heading_that_says_more_than_the_title_follows_the_linked_name_of_the_site():
    page = converted(
        f"""<div class="document"><div><h1><a href="/">Widget 3.2 documentation</a></h1></div>
        <div id="bd"><h1>Source code for widget.wheel</h1>{PROSE}</div></div>""",
        "widget.wheel &#8212; Widget 3.2 documentation",
        '<script src="_static/doctools.js"></script>',
    )
    assert page.markdown == f"# Source code for widget.wheel\n\n{TEXT}\n"
    page = converted(f"<h1>Widget</h1><h1>First steps</h1>{PROSE}", "Home | Widget")
    assert page.markdown.startswith("# Widget\n\n# First steps\n")


def test_a_title_that_begins_with_the_sites_name():
    page = converted(
        f"""<header><h1>Widget 10 Reference</h1><div>Version 10.1</div></header>
        <div id="mainBody"><h2>The Wheel</h2>{PROSE * 3}<h3>Axles</h3>{PROSE}</div>""",
        "Widget 10 Reference (10.1.55) - The Wheel",
    )
    assert page.meta.title == "The Wheel"
    assert page.markdown.startswith(f"# The Wheel\n\n{TEXT}")


def test_a_section_that_is_called_like_the_site_is_not_the_title():
    page = converted(
        f"<h1>Wheels</h1><main>{PROSE * 3}<h2>Widget</h2>{PROSE}</main>", "Wheels - Widget"
    )
    assert page.meta.title == "Wheels"
    assert "\n## Widget\n" in page.markdown


def test_the_sites_name_in_a_header_of_menus_is_not_the_title_where_an_h2_is():
    menu = "".join(f'<li><a href="m{number}.html">Part {number}</a></li>' for number in range(40))
    page = converted(
        f"""<div id="column1"><header class="header"><h1>Widget v18 documentation</h1><ul><li>Widget v18</li>
        <li><a href="#">► Table of contents</a><ul>{menu}</ul></li></ul></header>
        <div id="apicontent"><h2>Wheel turning (WT)<span><a href="#wt">#</a></span></h2>{PROSE * 3}<h3>Class: Wheel</h3>
        {PROSE}</div></div>""",
        "Wheel turning (WT) | Widget v18 Documentation",
    )
    assert page.meta.title == "Wheel turning (WT)"
    assert page.markdown.startswith(f"# Wheel turning (WT)\n\n{TEXT}")
    assert page.markdown.endswith(f"### Class: Wheel\n\n{TEXT}\n")


def test_headings_of_the_first_level_below_the_title_do_not_take_its_place():
    page = converted(
        f"""<section id="main" class="content"><header><h3>Class</h3>
        <h1><a href="index.html">Wid</a><span></span>Button</h1></header>
        <section><h4>Description <a class="srclink" href="/src">[src]</a></h4>
        <div class="docblock">{PROSE * 3}
        <h1>Style nodes</h1>{PROSE * 3}</div></section></section>""",
        "Wid.Button",
    )
    assert page.meta.title == "WidButton"
    assert (
        "# [Wid](https://widget.example.org/manual/index.html)Button\n\n#### Description\n\n"
        in page.markdown
    )
    assert "\n# Style nodes\n" in page.markdown


def test_a_heading_beside_the_text_is_kept_where_the_page_has_no_h1():
    page = converted(
        f"""<main role="main"><div class="header"><div>Package <a href="p.html">org.widget</a></div>
        <h2 title="Class Wheel" class="large">Class Wheel</h2></div>
        <div class="bodyBox">{PROSE * 4}</div></main>""",
        "Wheel (Widget API)",
    )
    assert "## Class Wheel\n\nA widget turns" in page.markdown


@pytest.mark.parametrize(
    ("beside", "kept"),
    [("<h2>Wheel</h2>", "## Wheel\n"), ("<pre>turn it</pre>", "```\nturn it\n```\n")],
)
def test_a_heading_or_code_right_above_the_one_box_of_the_text_stays(beside, kept):
    page = converted(f"<main>{beside}<div class=body>{PROSE * 3}</div></main>", "Widgets")
    assert page.markdown.startswith(f"{kept}\n{TEXT}")


def test_a_form_around_the_text_is_the_page_whatever_its_length():
    page = converted(f"<div><h1>Wheel</h1></div><form method=post>{PROSE * 3}</form>", "Wheel")
    assert page.markdown.count(TEXT) == 3


def test_a_banner_above_a_heading_of_the_second_level_goes():
    page = converted(
        f"""<div><a href="/"><img src="/banner.gif" alt="Widget"></a><div>Small. Fast. Reliable.</div></div>
        <a href="intro.html"><h2>Widget C Interface</h2></a><h2>Turn A Wheel</h2>{PROSE}""",
        "Turn A Wheel",
    )
    assert page.markdown == f"# Turn A Wheel\n\n{TEXT}\n"


def test_a_section_above_the_title_that_says_something_stays():
    page = converted(f"<h2>News</h2><p>Read on.</p><h1>Wheels</h1>{PROSE}", "Wheels")
    assert page.markdown.startswith("## News\n\nRead on.\n\n# Wheels")


def test_a_section_that_says_the_title_too_stays_a_section():
    page = converted(
        f"<h1>All about wheels</h1>{PROSE * 2}<h3>Wheels</h3>{PROSE}", "Wheels | Widget"
    )
    assert page.markdown.startswith("# All about wheels\n")
    assert "\n### Wheels\n" in page.markdown


@pytest.mark.parametrize(
    "block",
    [
        TURNERS,
        """<table><tr><td><a href="toc.html">Back to Table of Contents</a></td>
        <td><a href="c.html">Next: Axles</a></td></tr></table>""",
        '<p><a href="a.html"><img src="p.png" alt="previous"></a> <a href="c.html"><img src="n.png" alt="next"></a>',
        """<p><b>Next:</b> <a href="c.html">Axles</a> <b>Up:</b> <a href="./">Manual</a> <b>Previous:</b>
        <a href="a.html">Mills</a> <a href="c.html"><img src="n.png" alt="next"></a></p>""",
        """<ul><li><a href="toc.html">Contents</a></li><li><a href="a.html">Previous Chapter</a></li>
        <li><a href="c.html">Next Chapter</a></li></ul>""",
        """<ul><li><a href="toc.html">Table of Contents</a><li><a href="c.html">Next Chapter</a></ul>""",
        '<div><a href="a.html">← Mills</a> <a href="c.html">Axles →</a></div>',
    ],
    ids=[
        "words",
        "table",
        "pictures",
        "labels",
        "list",
        "list of a first chapter",
        "arrows",
    ],
)
def test_blocks_that_only_turn_pages_are_no_content(block):
    page = converted(f"{block}<h1>Wheels</h1>{PROSE}{block}", "Wheels")
    assert page.markdown == f"# Wheels\n\n{TEXT}\n"
    assert "https://widget.example.org/manual/c.html" in page.follow


@pytest.mark.parametrize(
    "controls",
    [
        pytest.param("<p>Was this page helpful? <button>Yes</button></p>", id="a question"),
        pytest.param(
            "<div><h3>Is this helpful?</h3><p><a href='#'>Yes</a><a href='#'>No</a></p></div>",
            id="a question in a heading",
        ),
        pytest.param("<p><a href='javascript:p()'>Print</a> | <a href='#'>Share</a></p>", id="bar"),
        pytest.param(
            f"<ul><li><a href='https://a.net/post?u={quote(PAGE, safe='')}'>Post it</a></ul>",
            id="the page handed on",
        ),
        pytest.param(
            "<p><a href='https://a.net/edit/c.md'>Edit this page on the forge</a></p>", id="edit"
        ),
        pytest.param("<div><a href='/manual/part.md'>As plain text</a></div>", id="its Markdown"),
        pytest.param("<div>Sort by: <button>Age</button><button>Size</button></div>", id="order"),
    ],
)
def test_what_readers_press_amid_the_text_is_no_content(controls):
    page = converted(f"<h1>Wheels</h1>{PROSE}{controls}{PROSE}", "Wheels")
    assert page.markdown == f"# Wheels\n\n{TEXT}\n\n{TEXT}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<p>Press <a href='#'>Print</a> once.</p>", id="a sentence"),
        pytest.param("<p><a href='#'>Wheels and mills</a></p>", id="a title"),
        pytest.param("<p><a href='print.html'>Print</a></p>", id="a page"),
        pytest.param("<p>Sort by: age</p>", id="an order of the author"),
        pytest.param("<p>You may <a href='/edit'>edit this page</a>.</p>", id="a word on edits"),
        pytest.param("<p><a href='/manual/c.md'>Wheels</a></p>", id="another page's Markdown"),
        pytest.param("<p>Is this helpful? We asked a miller.</p>", id="a question of the author"),
    ],
)
def test_what_reads_like_a_control_stays(text):
    assert converted(f"<h1>Wheels</h1>{PROSE}{text}{PROSE}", "Wheels").markdown.count("\n\n") == 3


@pytest.mark.parametrize("name", ["Save", "Print", "Share", "Yes"])
def test_a_button_named_in_a_sentence_is_a_word_of_it(name):
    text = f"<ul><li>Press <button>{name}</button> to go on.</li></ul>"
    markdown = converted(f"<h1>Wheels</h1>{PROSE}{text}{PROSE}", "Wheels").markdown
    assert f"- Press {name} to go on.\n" in markdown


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ('<p>Then read <a href="c.html">next</a>.</p>', "Then read [next]"),
        (
            '<ul><li><a href="c.html">Next steps</a></li><li><a href="a.html">Previous versions</a></li></ul>',
            "- [Next steps]",
        ),
        ('<p><a href="c.html">Next</a></p>', "[Next]"),
        ('<p><a href="c.html">Axles →</a> <a href="d.html">Mills →</a></p>', "[Axles →]"),
        ('<p><a href="toc.html">Contents</a>, <a href="./">Home</a></p>', "[Contents]"),
        (
            '<table class="related"><tr><th>Related modules</tr><tr><td><a href="m.html">mod_a</a></td></tr></table>',
            "| Related modules |",
        ),
        ('<p>Press <a href="c.html">Next</a>, then <a href="a.html">Up</a>.</p>', "Press [Next]"),
        ('Press <a href="c.html">Next</a>, then <a href="a.html">Up</a>.', "Press [Next]"),
    ],
    ids=[
        "prose",
        "titles",
        "one link",
        "arrows on alone",
        "lists of pages",
        "table",
        "buttons",
        "buttons in no block",
    ],
)
def test_links_that_are_called_alike_stay_in_the_text(block, text):
    assert text in converted(f"<h1>Wheels</h1>{PROSE}{block}", "Wheels").markdown


def test_a_page_that_is_mostly_one_listing_keeps_what_stands_around_it():
    listing = "\n".join(f"&lt;!ELEMENT wheel{number} (spoke, rim, hub)&gt;" for number in range(60))
    page = converted(
        f"<h3>The wheel DTD</h3><p>We repeat it here.</p><div class='x'><pre>{listing}</pre></div>",
        "DTD",
    )
    assert page.markdown.startswith(
        "### The wheel DTD\n\nWe repeat it here.\n\n```\n<!ELEMENT wheel0"
    )


def test_paragraphs_beside_wrappers_inside_each_other_stay():
    levels = "".join(f"<p>This is level {number} of the tree.</p><div>" for number in range(60))
    page = converted(f"<div>{levels}{'</div>' * 61}", "Levels")
    assert page.markdown.count("This is level") == 60


def test_definitions_and_code_that_scribble_sets_in_tables():
    space = '<span class="hspace">&nbsp;</span>'
    definition = (
        '<blockquote class="SVInsetFlow"><table class="boxed RBoxed"><tr><td><blockquote class="SubFlow">'
        '<div class="RBackgroundLabel"><p>procedure</p></div><p class="RForeground">'
        f'(<a href="#turn">turn</a>{space}w)</p></blockquote></td></tr>'
        f"<tr><td>{space}{space}w{space}:{space}wheel?</td></tr></table></blockquote>"
    )
    code = (
        f'<blockquote class="SCodeFlow"><table class="RktBlk"><tr><td>(let{space}([m{space}1])</td></tr>'
        f"<tr><td>{space}{space}m)</td></tr></table></blockquote>"
    )
    page = converted(
        f"""<div class="main"><div class="navsettop"><a href="p.html">← prev</a></div><h4>3.2 Wheels</h4>
        <p>Wheels turn a mill, and a mill grinds corn.</p>{definition}<p>It is the same as</p>{code}</div>""",
        "3.2 Wheels",
    )
    assert "```\n(turn w)\n  w : wheel?\n```" in page.markdown
    assert "```\n(let ([m 1])\n  m)\n```" in page.markdown
    assert ">" not in page.markdown
    assert "prev" not in page.markdown


def test_types_that_code_shows_when_pointed_at_are_left_out():
    shown = '<span class="annottext">Wheel -&gt; Mill\n</span>'
    code = f'<pre><span class="annot"><a href="#f">turn</a>{shown}</span> w</pre>'
    assert converted(f"<h1>T</h1>{PROSE}{code}", "T").markdown.endswith("```\nturn w\n```\n")


@pytest.mark.parametrize(
    "classes", ["language-basic line-numbers", "language-basic copyable code-copy"]
)
def test_code_is_not_lost_for_a_class_that_asks_for_line_numbers_or_a_button(classes):
    page = converted(f'<h1>T</h1>{PROSE}<pre><code class="{classes}">\nPrint 1\n</code></pre>', "T")
    assert page.markdown.endswith("```basic\nPrint 1\n```\n")


def test_a_list_in_columns_is_one_list():
    cells = "<td><ul><li>axle</li><li>cog</li></ul></td><td><ul><li>mill</li></ul></td>"
    page = converted(f"<h1>T</h1>{PROSE}<table><tr>{cells}</tr></table>", "T")
    assert "- axle\n- cog\n\n- mill\n" in page.markdown
    rows = converted(f"<h1>T</h1>{PROSE}<table><tr>{cells}</tr><tr>{cells}</tr></table>", "T")
    assert "| --- | --- |" in rows.markdown


def test_an_icon_beside_the_text_of_an_admonition_is_no_table():
    note = """<div class="note"><table><tr><td rowspan="2"><img src="note.png" alt="[Note]"></td><th>Note</th></tr>
    <tr><td><p>Oil the axle:</p><pre class="screen">oil --all\noil --more</pre></td></tr></table></div>"""
    page = converted(f"<h1>T</h1>{PROSE}{note}", "T")
    assert page.markdown.endswith(
        "> [!NOTE]\n> Oil the axle:\n>\n> ```\n> oil --all\n> oil --more\n> ```\n"
    )


DOCBOOK = '<meta name="generator" content="DocBook XSL Stylesheets">'


def test_footnotes_of_docbook_have_no_link_back():
    page = converted(
        f"""<div class="chapter"><h1>T</h1><p>Oil it<a href="#ftn.id1" class="footnote" name="id1"><sup
        class="footnote">[2]</sup></a>.</p>{PROSE}<div class="footnotes"><div id="ftn.id1" class="footnote"><p><a
        href="#id1" class="para"><sup class="para">[2] </sup></a>With plum oil.</p></div></div></div>""",
        "T",
        DOCBOOK,
    )
    assert "Oil it[^2]." in page.markdown
    assert page.markdown.endswith("[^2]: With plum oil.\n")


def test_the_pictures_that_gtk_doc_turns_pages_with_are_no_content():
    page = converted(
        """<table class="navigation"><tr><td><a href="i.html"><img src="home.png" alt="Home"></a></td>
        <td><img src="up.png"></td></tr></table>
        <div class="reference"><h1>Tools</h1><div class="toc"><p><b>Table of Contents</b></p><dl><dt><a
        href="wheel.html">wheel</a> — turns</dt></dl></div></div><div class="footer"><hr>Generated by GTK-Doc</div>""",
        "Tools",
        DOCBOOK,
    )
    assert page.markdown == (
        "# Tools\n\n**Table of Contents**\n\n- [wheel](https://widget.example.org/manual/wheel.html) — turns\n"
    )


def test_a_manual_of_texinfo_says_its_title_once_and_its_notes_as_footnotes():
    page = converted(
        f"""<h1 class="settitle">Widget Manual</h1><h1 class="top">Widget Manual</h1>{PROSE}
        <p>Oil it<a id="DOCF1" href="#FOOT1"><sup>1</sup></a>.</p><div class="footnote"><hr>
        <h4 class="footnotes-heading">Footnotes</h4><h5><a id="FOOT1" href="#DOCF1">(1)</a></h5><p>With plum oil,</p>
        <p>or none.</p></div>""",
        "Widget Manual",
        '<meta name="generator" content="makeinfo">',
    )
    assert page.markdown == (
        f"# Widget Manual\n\n{TEXT}\n\nOil it[^1].\n\n[^1]: With plum oil,\n\n    or none.\n"
    )


def test_the_members_of_a_type_keep_their_lines_and_a_broken_signature_does_not():
    head = '<link rel="stylesheet" href="nimdoc.out.css">'
    page = converted(
        """<div id="documentId"><div class="container"><h1>wheels</h1><dl><dt><pre>Wheel = object
  size: int
  axle: ref Axle
  turns: int
</pre></dt><dd>A wheel.</dd><dt><pre>proc turn(w: Wheel;
  by: int)</pre></dt><dd>Turns it.</dd></dl></div></div>""",
        "wheels",
        head,
    )
    assert (
        "```\nWheel = object\n  size: int\n  axle: ref Axle\n  turns: int\n```\n\nA wheel."
        in page.markdown
    )
    assert "`proc turn(w: Wheel; by: int)`" in page.markdown


@pytest.mark.parametrize("classes", ["rp-callout rp-callout--danger", "x-alert x-alert-danger"])
def test_an_admonition_by_a_class_with_a_prefix_and_a_type(classes):
    box = f'<div class="{classes}"><div class="rp-callout__title">Hot</div><div><p>Do not touch.</p></div></div>'
    page = converted(f"<h1>T</h1>{PROSE}{box}", "T")
    assert page.markdown.endswith("> [!DANGER]\n> **Hot**\n>\n> Do not touch.\n")
    plain = converted(
        f'<h1>T</h1>{PROSE}<div class="x-callout-list"><p>Do not touch.</p></div>', "T"
    )
    assert plain.markdown.endswith("\n\nDo not touch.\n")


@pytest.mark.parametrize(
    "term",
    [
        '<strong>size</strong><span class="classifier">int</span><span class="classifier">optional</span>',
        """<strong>size</strong> <span class="classifier-delimiter">:</span> <span class="classifier">int</span>
        <span class="classifier-delimiter">:</span> <span class="classifier">optional</span>""",
    ],
    ids=["drawn by the style", "written"],
)
def test_the_type_of_a_parameter_is_parted_from_its_name(term):
    page = converted(f"<h1>T</h1>{PROSE}<dl><dt>{term}</dt><dd><p>Diameter.</p></dd></dl>", "T")
    assert page.markdown.endswith("**size** : int : optional\n: Diameter.\n")


@pytest.mark.parametrize(
    ("classes", "language"), [("ts", "ts"), ("json", "json"), ("block", ""), ("go fast", "")]
)
def test_a_class_that_is_nothing_but_a_common_language_names_it(classes, language):
    page = converted(f'<h1>T</h1>{PROSE}<pre><code class="{classes}">a = 1\n</code></pre>', "T")
    assert page.markdown.endswith(f"```{language}\na = 1\n```\n")


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        (
            '<table class="memberdecls"><tr><h2>Methods</h2></tr><tr><td class="memItemLeft">int</td></tr></table>',
            "int",
        ),
        (
            '<div class="colist"><table><tr><p>a</p></tr><tr><td>1</td><td>Oil it.</td></tr></table></div>',
            "Oil it.",
        ),
        ('<a href="/a\x01b"><div>Car\x02ds</div></a>', "Car"),
        (
            '<dl><dt>si\x03ze<span class="classifier">int</span></dt><dd>Diameter.</dd></dl>',
            "ze : int",
        ),
        ('<div class="sig">tu\x04rn<a class="headerlink">¶</a>\x05(w)</div>', "rn"),
    ],
    ids=["members", "callouts", "card", "term", "signature"],
)
def test_broken_html_never_raises(broken, kept):
    page = converted(f"<h1>T</h1>{PROSE}{broken}", "T")
    assert page.converter == "native"
    assert kept in page.markdown


def test_a_page_in_parts_that_a_selector_matches_one_by_one_is_whole():
    parts = "".join(f'<div class="section"><h2>Part {n}</h2>{PROSE}</div>' for n in range(4))
    page = converted(
        f'<div class="document"><h1>Made with DocBook</h1><p>Above.</p>{parts}</div>',
        "Made with DocBook",
    )
    assert page.markdown.startswith("# Made with DocBook\n\nAbove.\n\n## Part 0")
    assert page.markdown.count(TEXT) == 4


def test_the_largest_part_alone_is_the_page_where_it_holds_most_of_the_text():
    large, small = (
        f'<article class="doc"><h1>Wheels</h1>{PROSE * 8}</article>',
        f'<article class="doc">{PROSE}</article>',
    )
    page = converted(f"<div>{large}<p>Beside.</p>{small}</div>", "Wheels")
    assert page.markdown.count(TEXT) == 8
    assert "Beside" not in page.markdown


@pytest.mark.parametrize("kind", ["part", "reference", "chapter", "preface", "appendix", "article"])
def test_what_stands_before_the_section_of_a_chapter_of_docbook_stays(kind):
    section = f'<div class="section"><h2>Axles</h2>{PROSE * 4}</div>'
    page = converted(
        f'<div class="{kind}"><h1>Wheels</h1>{PROSE}{section}</div>', "Wheels", "<!-- DocBook -->"
    )
    assert page.markdown.startswith(f"# Wheels\n\n{TEXT}\n\n## Axles")


def test_a_title_said_in_the_bar_and_above_the_text_leads_to_the_text():
    summary = "<h3>Module</h3>wheel<h3>Summary</h3>Turns what it is given."
    page = converted(
        f"""<div class="topbar"><h1>wheel</h1></div><aside><a href="/">Widget</a></aside>
        <div id="content"><h1>wheel</h1>
        {summary}<div class="exports"><article><h4>turn(Mill)</h4>{PROSE * 6}</article></div></div>""",
        "Widget -- wheel",
    )
    assert page.meta.title == "wheel"
    assert page.markdown.startswith("# wheel\n\n### Module\n\nwheel\n\n### Summary\n\nTurns what")


def test_utility_classes_do_not_name_a_navigation_and_a_title_said_twice_is_one():
    wrapper = "group/sidebar-wrapper lg:grid-cols-[var(--sidebar-width)_1fr] bg-sidebar"
    article = f"""<article><div id="page-header"><h1>Widget</h1></div><div><h1>Widget</h1>{PROSE}
    <ul><li><a href="g.html">Guide</a></li></ul><h2>Why</h2>{PROSE}</div></article>"""
    page = converted(
        f"""<header><h1>Widget</h1></header><main><div class="{wrapper}">
        <div class="sidebar"><a href="g.html">Guide</a></div>{article}</div></main>""",
        "Widget",
    )
    assert page.markdown == (
        f"# Widget\n\n{TEXT}\n\n- [Guide](https://widget.example.org/manual/g.html)\n\n## Why\n\n{TEXT}\n"
    )


def test_the_frame_of_a_search_that_has_not_begun_goes():
    page = converted(
        f"""<main><div class="results"><section class="normal markdown-section"><h1>Wheels</h1>{PROSE}</section></div>
        <div class="search-results"><h1>results matching "<span></span>"</h1><ul></ul>
        <h1>No results matching "<span></span>"</h1></div></main>""",
        "Wheels",
    )
    assert page.markdown == f"# Wheels\n\n{TEXT}\n"


@pytest.mark.parametrize(
    "bar",
    ['<div role="navigation"><h1><a href="./">Guide</a></h1></div>', "<nav><h1>Guide</h1></nav>"],
)
def test_the_name_that_menus_give_the_page_does_not_stand_above_its_own_heading(bar):
    section = f'<section class="normal markdown-section"><h1>Turning wheels</h1>{PROSE}</section>'
    page = converted(
        f"{bar}<div class='page-inner'>{section}</div>",
        "Guide",
        "<meta name='generator' content='GitBook 3'>",
    )
    assert page.markdown == f"# Turning wheels\n\n{TEXT}\n"
    page = converted(
        f"{bar}<div class='page-inner'>{section.replace('h1', 'h2')}</div>",
        "Guide",
        "<!-- GitBook -->",
    )
    assert page.markdown.startswith("# Guide\n\n## Turning wheels")


def test_headings_said_again_that_have_something_below_them_stay():
    method = f"<h2>turn</h2><h3>Example</h3><h4>Slowly</h4>{PROSE}<h3>See also</h3><ul><li><a href='#m'>mill</a></ul>"
    page = converted(
        f"<h1>Widget</h1>{method}{method.replace('turn', 'stop')}<hr>{PROSE}", "Widget"
    )
    assert page.markdown.count("### Example") == page.markdown.count("### See also") == 2


def test_a_title_of_the_second_level_above_the_text_is_kept():
    page = converted(
        f"<div class=top><h2>Mills</h2></div><div class=content>{PROSE * 4}</div>", "Mills"
    )
    assert page.markdown.startswith("# Mills\n")
