"""What stands in a Markdown text, and where: titles, links, HTML, destinations."""

from __future__ import annotations

import pytest
from fuzzing import examples
from hypothesis import example, given
from hypothesis import strategies as st
from parser_panics import BrokenParser, PanicException

from llmsspider.content.markdown import commonmark
from llmsspider.content.markdown.scan import scan
from llmsspider.errors import ConversionError
from llmsspider.web.text import valid_text

PIECES = (
    *(
        "# T\n",
        "\n",
        "\n\n",
        "a ",
        "text",
        "    ",
        "- ",
        "1. ",
        "> ",
        "---\n",
        "```\n",
        "`",
        "``",
        "|",
        "  \n",
        "\\\n",
    ),
    *(
        "| a |\n| - |\n",
        "[",
        "]",
        "](",
        "(",
        ")",
        "](b)",
        "](<b c>)",
        '](b "t")',
        "](\nb\n't')",
        "![",
        "(c)",
    ),
    *(
        "[a]",
        "[a]: /b\n",
        "[a]:\n  <b>\n",
        "[^1]",
        "[^1]: b\n",
        "<http://x.y>",
        "<a@b.c>",
        "![i](j)",
        "[l](m)",
    ),
    *(
        "<div>\n",
        "<b>",
        "</b>",
        "<!-- ",
        "-->",
        "&amp;",
        "&#32;",
        "\\",
        "\\]",
        "\\)",
        "*",
        "**",
        "_",
    ),
    *("é", "日本", "\u2028", "\t", "\x0c", "\x00", "\ud800"),
)


def elsewhere(written: str) -> str:
    return "</x>" if written.startswith("<") else "/x"


@examples(500)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
@example("> [a\n> ](\n> b)")
@example("[![i](j) ](<b>)")
@example("[`a]`]: b\n[`a]`]")
def test_every_destination_is_found_and_nothing_else_changes(text):
    found = scan(text)
    changed = scan(found.rewritten(elsewhere))
    assert {url for _, url in changed.links} <= {"/x", "", "http://x.y"}
    assert [words for words, _ in changed.links] == [words for words, _ in found.links]
    if not found.unseen and not found.unwrapped:
        assert found.rewritten(lambda written: written) == valid_text(text)


DEFINITIONS = {
    "code in the label": ("[`a`]\n\n[`a`]: b", "[`a`]\n\n[`a`]: /x"),
    "in a quotation": ("> [a]\n>\n> [a]:\n> b", "> [a]\n>\n> [a]:\n> /x"),
    "in a list": ("- [a]\n\n  [a]: <b> 'T'", "- [a]\n\n  [a]: </x> 'T'"),
    "a footnote of one word": ("a[^1]\n\n[^1]: b", "a[^1]\n\n[^1]: b"),
    "in code": ("```\n[a]: b\n```", "```\n[a]: b\n```"),
    "in HTML": ("<div>\n[a]: b [c](d)\n</div>", "<div>\n[a]: b [c](d)\n</div>"),
}


@pytest.mark.parametrize(("text", "expected"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions_are_rewritten_where_they_define(text, expected):
    assert scan(text).rewritten(elsewhere) == expected


def test_links_come_with_their_text_and_address():
    text = "a [**b** `c`\nd ![e](f)](/g?h=1&amp;i=ü 'T') <https://j.k> <l@m.n> a[^1]\n\n[^1]: o\n"
    assert scan(text).links == [("b c d e", "/g?h=1&i=%C3%BC"), ("https://j.k", "https://j.k")]


def test_raw_html_comes_as_it_is_written():
    found = scan('<Card href="/a">\nb\n</Card>\n\nc <a href="/d">e</a> `<f>`\n')
    assert found.html == ['<Card href="/a">\nb\n</Card>\n', '<a href="/d">', "</a>"]


@pytest.mark.parametrize(
    ("raised", "seen"), [(PanicException, ConversionError), (KeyboardInterrupt, KeyboardInterrupt)]
)
def test_a_parser_that_fails_costs_one_page(monkeypatch, raised, seen):
    monkeypatch.setattr(commonmark, "_PARSER", BrokenParser(raised))
    with pytest.raises(seen, match="index out of bounds"):
        scan("# a")
