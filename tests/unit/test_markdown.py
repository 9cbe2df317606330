"""Markdown bodies: the author's text kept, links made absolute, front matter and banners taken off."""

# ruff: noqa: E501 (a case is one line)

from __future__ import annotations

import pickle

import pytest
import yaml
from fuzzing import examples
from hypothesis import example, given
from hypothesis import strategies as st

from llmsspider.hashing import content_hash
from llmsspider.items import Link
from llmsspider.markdown import looks_like_html, looks_like_markdown, read
from llmsspider.markdown.front_matter import split_front_matter

URL = "https://docs.example.org/guide/page.md"

REWRITES = {
    "beside": ("[a](b.md)", "[a](https://docs.example.org/guide/b.md)"),
    "up, with title": ('[a](../b.md "T")', '[a](https://docs.example.org/b.md "T")'),
    "root": ("[a](/b)", "[a](https://docs.example.org/b)"),
    "image": ("![a](i.png)", "![a](https://docs.example.org/guide/i.png)"),
    "image in link": (
        "[![a](i.png)](b)",
        "[![a](https://docs.example.org/guide/i.png)](https://docs.example.org/guide/b)",
    ),
    "angle brackets": ("[a](<b c.md>)", "[a](<https://docs.example.org/guide/b%20c.md>)"),
    "parentheses": ("[a](b_(c).md)", "[a](https://docs.example.org/guide/b_(c).md)"),
    "fragment": ("[a](#x)", "[a](https://docs.example.org/guide/page.md#x)"),
    "definition": ("[a]\n\n[a]: b.md 'T'", "[a]\n\n[a]: https://docs.example.org/guide/b.md 'T'"),
    "in a table": ("| a |\n| - |\n| [x](y) |", "| a |\n| - |\n| [x](https://docs.example.org/guide/y) |"),
    "in a list and a quote": ("- > [x](y)", "- > [x](https://docs.example.org/guide/y)"),
    "split over lines": ("[a\nb](c)", "[a\nb](https://docs.example.org/guide/c)"),
}
KEPT = {
    "absolute": "[a](https://x.org/B%20c?d=1#e) <https://y.org> [m](mailto:a@b.c)",
    "code span": "`[a](b)` and ``[c](d) ` [e](f)``",
    "fence": "```md\n[a](b)\n[c]: d\n```",
    "tilde fence in a list": "- x\n\n  ~~~\n  [a](b)\n  ~~~",
    "indented code": "text\n\n    [a](b)",
    "html block": "<Card href='/x'>\n[a](b)\n</Card>",
    "footnote": "a[^1]\n\n[^1]: b.md is a file",
    "template": "[a]({{ url }})",
    "odd text": "*  item\n\n\n\nTrailing  \nspaces\\\n__x__ &nbsp; \\* <T>\n\n* * *\n\nSetext\n======",
    "tables and tabs": "|a|b|\n|-|-|\n|`x\\|y`|\t|",
}


@pytest.mark.parametrize(("source", "expected"), REWRITES.values(), ids=REWRITES)
def test_relative_destinations_become_absolute(source, expected):
    assert read(source, URL).markdown == expected + "\n"


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
def test_everything_else_stays_as_written(source):
    assert read(source, URL).markdown == source + "\n"


def test_line_ends_and_bom_are_normalised():
    assert read("\ufeff# A\r\n\r\ntext\rmore\r\n\r\n", URL).markdown == "# A\n\ntext\nmore\n"


@pytest.mark.parametrize("source", ["", " \n\n", "---\ntitle: x\n---\n"])
def test_nothing_left_is_the_empty_string(source):
    assert read(source, URL).markdown == ""


def test_links_with_text_and_what_to_follow():
    source = "[a `b`](x.md#y) [a](x.md)\n\n![i](z.png) [m](mailto:a@b.c) <https://o.org/#f>\n\n[r]\n\n[r]: /r\n\n<Card href='/card'>\n<a href=\"k\">k</a>\n</Card>"
    page = read(source, URL)
    assert page.links == [
        Link("a b", "https://docs.example.org/guide/x.md#y"),
        Link("a", "https://docs.example.org/guide/x.md"),
        Link("https://o.org/#f", "https://o.org/#f"),
        Link("r", "https://docs.example.org/r"),
    ]
    assert page.follow == [
        "https://docs.example.org/guide/x.md",
        "https://o.org/",
        "https://docs.example.org/r",
        "https://docs.example.org/guide/k",
        "https://docs.example.org/card",
    ]


FRONT = {
    "yaml": (
        "---\ntitle: A\ndescription: D\ndate: 2026-01-02\n---\n\n# B\n",
        {"title": "A", "description": "D", "date": "2026-01-02"},
    ),
    "unquoted colon": ("---\ntitle: A: b\nslug: x\n---\n# B\n", {"title": "A: b", "slug": "x"}),
    "toml": ('+++\ntitle = "A"\n+++\n# B\n', {"title": "A"}),
    "dots": ("---\ntitle: A\n...\n# B\n", {"title": "A"}),
    "empty": ("---\n---\n# B\n", {}),
}


@pytest.mark.parametrize(("source", "expected"), FRONT.values(), ids=FRONT)
def test_front_matter_goes_to_the_metadata(source, expected):
    page = read(source, URL)
    assert page.meta.front_matter == expected
    assert page.markdown == "# B\n"
    assert page.meta.title == expected.get("title", "B")
    assert page.meta.description == expected.get("description")


NO_FRONT = {
    "thematic breaks": "---\n\ntext\n\n---\n\nmore",
    "a list": "---\n- a\n- b\n---\n",
    "not at the start": "# A\n\n---\ntitle: x\n---",
    "never closed": "---\ntitle: x\n\ntext",
}


@pytest.mark.parametrize("source", NO_FRONT.values(), ids=NO_FRONT)
def test_what_is_no_front_matter_stays(source):
    page = read(source, URL)
    assert page.meta.front_matter == {}
    assert page.markdown == source.strip("\n") + "\n"


def test_front_matter_with_aliases_is_not_expanded():
    bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n# B\n"
    assert read(bomb, URL).meta.front_matter == {"a": "&a [x, x]", "b": "&b [*a, *a]", "c": "[*b, *b]"}


TITLES = {
    "first heading": ("text\n\n## x\n\n# The `code` *title*", "The code title"),
    "setext": ("A title\n=======\n\ntext", "A title"),
    "heading in a quote is not the title": ("> # no\n\n# yes", "yes"),
    "front matter wins": ("---\ntitle: F\n---\n# H", "F"),
    "none": ("## only\n\ntext", None),
}


@pytest.mark.parametrize(("source", "expected"), TITLES.values(), ids=TITLES)
def test_title(source, expected):
    assert read(source, URL).meta.title == expected


BANNERS = {
    "quote with heading": "> ## Documentation Index\n> Fetch the complete documentation index at: https://e.org/llms.txt\n> Use this file to discover all available pages before exploring further.\n\n# A\n\ntext",
    "quote": "> For the complete documentation index, see [llms.txt](https://e.org/llms.txt). Markdown versions of pages are available by appending `.md`.\n\n# A\n\ntext",
    "heading and paragraph": "## Documentation Index\n\nFetch the complete documentation index at: https://e.org/llms.txt\n\n# A\n\ntext",
    "after the title": "# A\n\n> Documentation Index: fetch https://e.org/llms.txt\n\ntext",
    "tag": "<AgentInstructions>\nRead llms.txt first.\n</AgentInstructions>\n\n# A\n\ntext",
    "comment": "<!-- AI agents: the index is llms.txt -->\n\n# A\n\ntext",
    "section at the end": "# A\n\ntext\n\n---\n\n# Agent Instructions: Querying This Documentation\n\nPerform an HTTP GET request with `ask`.\n",
}


@pytest.mark.parametrize("source", BANNERS.values(), ids=BANNERS)
def test_banners_for_agents_are_removed(source):
    assert read(source, URL).markdown == "# A\n\ntext\n"


ABOUT = {
    "a page about llms.txt": "# llms.txt\n\nThe llms.txt file lists pages; write it by hand.\n\n> Put /llms.txt at the root.",
    "a list that links it": "# A\n\n- [llms.txt](https://e.org/llms.txt): the documentation index to fetch\n",
    "a quote in the middle": "# A\n\ntext\n\n> Fetch the documentation index at https://e.org/llms.txt",
    "a heading called so": "## Documentation Index\n\nAll our books.",
    "code": "# A\n\n```\nfetch the documentation index: llms.txt\n```",
}


@pytest.mark.parametrize("source", ABOUT.values(), ids=ABOUT)
def test_text_that_only_speaks_of_llms_txt_stays(source):
    assert read(source, URL).markdown == source.strip("\n") + "\n"


LOOKS = {
    "page": ("<!DOCTYPE html>\n<html>", True, False),
    "late doctype": ("\ufeff \n<!-- x -->\n<!doctype HTML>", True, False),
    "fragment with head tags": ("<head><title>x</title></head>", True, False),
    "xhtml": ('<?xml version="1.0"?>\n<html xmlns="x">', True, False),
    "markdown": ("# T\n\ntext", False, True),
    "markdown that starts with html": ("<div align='center'>\n\n# T\n\n</div>\n[a](b)", False, True),
    "front matter": ("---\ntitle: x\n---\ntext", False, True),
    "list of links": ("- [a](b)\n- [c](d)", False, True),
    "fence only": ("text\n\n```\nx\n```", False, True),
    "setext": ("Title\n=====\n\ntext", False, True),
    "prose": ("Just some words.\n\nAnd more.", False, False),
    "robots.txt": ("User-agent: *\nDisallow: /x", False, False),
    "json": ('{"a": "# x\\n[b](c)"}', False, False),
    "json list": ('["# a"]', False, False),
    "xml": ('<?xml version="1.0"?><urlset/>', False, False),
    "restructuredtext": ("Title\n=====\n\n.. code-block:: python\n\n   x\n\n:ref:`a`", False, False),
    "empty": ("", False, False),
    "nul": ("# a\0b", False, False),
}


@pytest.mark.parametrize(("text", "html", "is_markdown"), LOOKS.values(), ids=LOOKS)
def test_sniffing(text, html, is_markdown):
    assert looks_like_html(text) is html
    assert looks_like_html(text.encode()) is html
    assert looks_like_markdown(text) is is_markdown


@examples(300)
@given(st.text(alphabet="ab\n []()<>`#-*>:!\\\"'~|=\t{}&/.^ _+0", max_size=80))
@example("](0")
def test_any_text_is_read_and_only_destinations_change(text):
    page = read("# T\n\n" + text, URL)
    assert pickle.loads(pickle.dumps(page)) == page
    again = read(page.markdown, URL)
    assert again.markdown == page.markdown
    assert page.markdown.replace("https://docs.example.org/guide/", "").replace(
        "https://docs.example.org/", "/"
    ).count("\n") >= text.strip("\n").count("\n")


_PIECES = (
    *(
        "# T\n",
        "## H\n",
        "Set\n===\n",
        "\n",
        "\n\n",
        "a ",
        "text. ",
        "    ",
        "\t",
        "- ",
        "1. ",
        "> ",
        "***\n",
        "---\n",
        "+++\n",
    ),
    *(
        "```\n",
        "~~~\n",
        "`",
        "``",
        "*",
        "_",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](b.md)",
        "[a](../b)",
        "[a](<b c>)",
        "[r]: /u\n",
        "[r]",
    ),
    *(
        "<a href='x'>",
        "</a>",
        "<div>\n",
        "</div>\n",
        "<!--",
        "-->",
        '<Card href="/c">',
        "{x}",
        "| a | b |\n",
        "| - | - |\n",
    ),
    *(
        "title: X\n",
        "a: [\n",
        "&amp;",
        "\\",
        "\ufeff",
        "\u00a0",
        "é",
        "\x00",
        "\x0b",
        "\u2028",
        "\r",
        "\r\n",
        "https://e.com/x ",
    ),
    *(
        "> Fetch the complete documentation index at: https://e.com/llms.txt\n",
        "## Agent Instructions\n",
        "Use llms.txt\n",
    ),
)
_bodies = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join) | st.text(max_size=60)


@examples(300)
@given(_bodies)
@example("## Agent Instructions\n## Agent Instructions\n")
@example("## Agent Instructions")
def test_what_was_read_is_read_as_it_is(text):
    page = read("# T\n\n" + text, URL)
    assert read(page.markdown, URL).markdown == page.markdown
    assert page.markdown == "" or (page.markdown.endswith("\n") and "\r" not in page.markdown)


@given(_bodies)
def test_line_ends_and_a_byte_order_mark_do_not_change_the_hash(text):
    text = "# T\n\n" + text.replace("\r\n", "\n").replace("\r", "\n")
    expected = content_hash(read(text, URL).markdown)
    for spelling in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), f"\ufeff{text}", f"{text}\n\n"):
        assert content_hash(read(spelling, URL).markdown) == expected


@given(st.text(), st.text())
def test_texts_have_one_hash_only_where_they_are_equal(one, other):
    assert (content_hash(one) == content_hash(other)) == (one == other)


def test_a_section_for_agents_in_the_middle_costs_no_time():
    text = f"# T\n\n## Agent instructions\n\n{'a' * 5000}\n\n## Next\n"
    assert read(text, URL).markdown == text


_scalars = st.text(max_size=12) | st.integers() | st.booleans() | st.none()
_heads = st.dictionaries(
    st.text("abcdefgh_-", min_size=1, max_size=8), _scalars | st.lists(_scalars, max_size=3), max_size=5
)


@given(_heads, _bodies)
def test_written_front_matter_is_read_back(head, body):
    text = f"# T\n{body}"
    assert split_front_matter(f"---\n{yaml.safe_dump(head)}---\n{text}") == (head, text)


_LINES = (
    "a: b",
    "a: !!bool x",
    "a: !!int",
    "a: !!float y",
    "a: !!binary é",
    "a: !!timestamp z",
    "? [b]",
    ": c",
    "a: &x y",
    "b: *x",
    "- d",
    "!!set {e}",
)


@given(
    st.sampled_from(["---", "+++"]),
    st.lists(st.sampled_from(_LINES) | st.text("[]{}:=\"'#&*!|>-? \tab1.", max_size=12), max_size=6).map(
        "\n".join
    ),
)
@example("---", "a: !!bool x")
@example("---", "!!timestamp z: 1")
@example("---", "a: !!int")
@example("---", "[" * 5000)
@example("+++", "a = " + "[" * 5000)
@example("+++", "a = " + "9" * 5000)
def test_any_front_matter_is_read_or_left_in_the_text(fence, head):
    text = f"{fence}\n{head}\n{fence}\n# T\n"
    front, rest = split_front_matter(text)
    assert rest == text or rest.endswith("# T\n")
    assert all(isinstance(name, str) for name in front)
    page = read(text, URL)
    assert pickle.loads(pickle.dumps(page)) == page


@pytest.mark.parametrize("levels", [90, 110])
def test_front_matter_of_many_levels_is_kept_as_it_is_written(levels):
    written = "[" * levels + "]" * levels
    front, rest = split_front_matter(f"---\na: {written}\n---\n# T\n")
    assert (str(front["a"]), rest) == (written, "# T\n")
    assert isinstance(front["a"], list if levels == 90 else str)
