from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_panics import BrokenParser

from llmsspider.content.markdown import commonmark
from llmsspider.site import llmstxt_parser as parser
from llmsspider.site.llmstxt import classify
from llmsspider.site.llmstxt_parser import Entry, LlmsTxt, parse

URL = "https://example.com/docs/llms.txt"


def read(text: str) -> LlmsTxt:
    return parse(text, URL)


def urls(text: str) -> list[str]:
    return [entry.url for entry in read(text).entries]


def only(text: str) -> Entry:
    (entry,) = read(text).entries
    return entry


def test_the_whole_format() -> None:
    found = read(
        "# Example\n\n> What it is,\n> in short.\n\nFree text.\n\n"
        "## Guides\n\n- [Start](start.md): where to begin\n- [Next](/next)\n\n"
        "## Optional\n\n- [More](https://other.org/more): background\n"
    )
    assert (found.url, found.title, found.summary, found.warnings) == (
        URL,
        "Example",
        "What it is, in short.",
        (),
    )
    assert found.entries == (
        Entry("https://example.com/docs/start.md", "Start", "where to begin", "Guides", 0),
        Entry("https://example.com/next", "Next", None, "Guides", 1),
        Entry("https://other.org/more", "More", "background", "Optional", 2, optional=True),
    )


RELATIVE = {
    "beside the file": ("guide.md", "https://example.com/docs/guide.md"),
    "parent": ("../guide.md", "https://example.com/guide.md"),
    "root": ("/guide", "https://example.com/guide"),
    "without scheme": ("//cdn.example.com/guide", "https://cdn.example.com/guide"),
    "bare host of the site": ("docs.example.com/guide", "https://docs.example.com/guide"),
    "bare host with www": ("www.other.de/guide", "https://www.other.de/guide"),
    "bare host with port": ("docs.example.com:8080/guide", "https://docs.example.com:8080/guide"),
    "a file is no host": ("readme.md", "https://example.com/docs/readme.md"),
    "a script is no host": ("install.sh", "https://example.com/docs/install.sh"),
    "fragment removed": ("/guide#part", "https://example.com/guide"),
    "query kept": ("/guide?v=2", "https://example.com/guide?v=2"),
    "parentheses": ("/wiki/Tree_(graph)", "https://example.com/wiki/Tree_(graph)"),
    "link title": ('/guide "The guide"', "https://example.com/guide"),
    "angle brackets": ("</the guide>", "https://example.com/the%20guide"),
    "spaces as people write them": (
        "https://example.com/the guide",
        "https://example.com/the%20guide",
    ),
    "invisible characters": (
        "https://example.com/\u200bguide\u2060\ufeff",
        "https://example.com/guide",
    ),
    "zero-width joiner": ("/gui\u200dde", "https://example.com/guide"),
}


@pytest.mark.parametrize(("href", "url"), RELATIVE.values(), ids=RELATIVE)
def test_hrefs(href: str, url: str) -> None:
    assert only(f"- [Guide]({href}): text").url == url


NOT_PAGES = {
    "fragment only": "- [A](#a)",
    "mail": "- [A](mailto:a@example.com)",
    "script": "- [A](javascript:alert(1))",
    "data": "- [A](data:text/html,x)",
    "other scheme": "- [A](vscode:extension/x)",
    "broken host": "- [A](http://[::1)",
    "empty": "- [A]()",
    "inline code": "`[A](https://example.com/a)`",
    "inline code with an address": "run `curl https://example.com/a` now",
    "fenced code": "```\n[A](/a) https://example.com/a\n```",
    "fence of tildes": "~~~sh\ncurl https://example.com/a\n~~~",
    "indented code": "Text\n\n    curl https://example.com/a\n",
    "comment": "<!-- [A](https://example.com/a) -->",
    "comment in text": "Text <!-- [A](/a) --> more",
    "script block": '<script>\nfetch("https://example.com/a")\n</script>',
    "html attribute": '<a href="https://example.com/a">A</a>',
    "image": "![A](https://example.com/a.png)",
    "template": "call https://example.com/{id} with it",
    "word": "see //notes and http:// and https://",
}


@pytest.mark.parametrize("text", NOT_PAGES.values(), ids=NOT_PAGES)
def test_no_page(text: str) -> None:
    assert urls(text) == []


WHERE = {
    "dash": "- [A](/a)",
    "star": "* [A](/a)",
    "plus": "+ [A](/a)",
    "number": "1. [A](/a)",
    "number with bracket": "3) [A](/a)",
    "nested": "- Group\n  - Deeper\n    - [A](/a)",
    "paragraph": "Read [A](/a) first.",
    "heading": "## [A](/a)",
    "quote": "> see [A](/a)",
    "table": "| Page | What |\n|---|---|\n| [A](/a) | first |",
    "bold": "- **[A](/a)**",
    "bold inside": "- [**A**](/a)",
    "code as text": "- [`A`](/a)",
    "linked image": "[![A](/logo.png)](/a)",
    "reference": "- [A][ref]\n\n[ref]: /a",
    "reference nobody uses": "[A]: https://example.com/a",
    "angle brackets": "- <https://example.com/a>",
    "label": "A: https://example.com/a",
    "markdown inside details": "<details>\n<summary>More</summary>\n- [A](/a)\n</details>",
    "lone carriage returns": "# T\r\r- [A](/a)\r",
    "windows line ends": "# T\r\n\r\n- [A](/a)\r\n",
    "line separators": "# T\u2028\u2028- [A](/a)",
    "byte order mark": "\ufeff- [A](/a)",
    "indented as a whole": "\n    # T\n\n    - [A](/a)\n",
    "no-break space after the dash": "-\u00a0[A](/a)",
    "empty text": "- [](/a)",
    "no space after the dash": "-[A](/a)",
}


@pytest.mark.parametrize("text", WHERE.values(), ids=WHERE)
def test_links_anywhere(text: str) -> None:
    assert urls(text) == ["https://example.com/a"]


GLUED = [
    "see https://example.com/a.",
    "see https://example.com/a, then",
    "(https://example.com/a)",
    "(see https://example.com/a).",
    "[https://example.com/a]",
    "**https://example.com/a**",
    "*https://example.com/a*",
    '"https://example.com/a"',
    "“https://example.com/a”",
    "https://example.com/a;",
    "https://example.com/a:",
    "https://example.com/a!?",
    "https://example.com/a...",
    "https://example.com/a…",
    "https://example.com/a，然后",
    "https://example.com/a。",
    "（https://example.com/a）",
    "https://example.com/a — text",
    "https://example.com/a—text",
    "<b>https://example.com/a</b>",
    "https://example.com/a\u200b text",
    "https://example.com/a\u00a0text",
    "https://example.com/a|b",
    "'https://example.com/a'",
]


@pytest.mark.parametrize("text", GLUED)
def test_glued_punctuation(text: str) -> None:
    assert urls(text) == ["https://example.com/a"]


def test_balanced_parentheses_stay() -> None:
    assert urls("see https://example.com/a_(b)") == ["https://example.com/a_(b)"]


TOLD = {
    "colon": ("- [A](/a): text", "A", "text"),
    "dash": ("- [A](/a) - text", "A", "text"),
    "long dash": ("- [A](/a) — text", "A", "text"),
    "nothing": ("- [A](/a)", "A", None),
    "no separator": ("- [A](/a) text", "A", "text"),
    "bold": ("- **[A](/a)**: text", "A", "text"),
    "markup in it": ("- [A](/a): some `code` and **bold**", "A", "some code and bold"),
    "next line": ("- [A](/a):\n  text\n  more", "A", "text more"),
    "label": ("- A: https://example.com/a", "A", None),
    "bold label": ("- **A**: https://example.com/a - text", "A", "text"),
    "label of an address with itself as text": (
        "A: [https://example.com/a](https://example.com/a)",
        "A",
        None,
    ),
    "address alone": ("https://example.com/a", None, None),
    "empty text": ("- [](/a): text", None, "text"),
    "in a sentence": ("See [A](/a) for more.", "A", None),
    "table": ("| x | y |\n|---|---|\n| [A](/a) | text |", "A", "text"),
    "image": ("[![A](/l.png)](/a)", "A", None),
    "many spaces": ("- [A   b](/a):   text   more", "A b", "text more"),
}


@pytest.mark.parametrize(("text", "title", "description"), TOLD.values(), ids=TOLD)
def test_what_is_said(text: str, title: str | None, description: str | None) -> None:
    entry = only(text)
    assert (entry.title, entry.description) == (title, description)


def test_several_links_in_one_item() -> None:
    found = read("- [A](/a): first, [B](/b): second\n")
    assert [(entry.title, entry.description) for entry in found.entries] == [
        ("A", "first,"),
        ("B", "second"),
    ]


def test_lines_of_a_paragraph_are_told_apart() -> None:
    found = read("[A](/a): first\n[B](/b): second\nC: https://example.com/c")
    assert [(entry.title, entry.description) for entry in found.entries] == [
        ("A", "first"),
        ("B", "second"),
        ("C", None),
    ]


def test_the_entry_of_a_list_counts_before_a_mention_in_prose() -> None:
    entry = only(
        "# Example\n\n## About\n\nBegin with the [guide](start.md), or see [a note](start.md#n).\n\n"
        "## Guides\n\n- [Start](start.md): where to begin\n\n## More\n\n- [Again](start.md)\n"
    )
    assert (entry.section, entry.title, entry.description) == ("Guides", "Start", "where to begin")


def test_links_of_footnotes_are_of_no_section() -> None:
    text = (
        "# E\n\nBegin with the intro[^1], then the API[^2].\n\n## Guide\n\n- [Start](/start)\n\n"
        "[^1]: Read [Intro](/intro) and [Start](/start).\n[^2]: [API](/api)\n\n"
        "## More\n\n- [API](/api)\n"
    )
    assert [(entry.url[19:], entry.title, entry.section) for entry in read(text).entries] == [
        ("/start", "Start", "Guide"),
        ("/intro", "Intro", None),
        ("/api", "API", "More"),
    ]


def test_duplicates_are_one_page_that_knows_what_any_says() -> None:
    found = read("[](/a#x)\n\n## Optional\n\n- [A](/a#y): text\n\n## Main\n\n- [Again](/a)\n")
    assert found.entries == (Entry("https://example.com/a", "A", "text", "Optional", 0),)


SECTIONS = {
    "second level": ("# T\n## S\n- [A](/a)", "S", False),
    "third below second": ("# T\n## S\n### Deeper\n- [A](/a)", "S > Deeper", False),
    "third alone": ("# T\n### S\n- [A](/a)", "S", False),
    "second first-level heading": ("# T\n\n# S\n\n- [A](/a)", "S", False),
    "none": ("# T\n- [A](/a)", None, False),
    "no heading at all": ("- [A](/a)", None, False),
    "underlined": ("T\n=\n\nS\n-\n\n[A](/a)", "S", False),
    "optional": ("# T\n## OPTIONAL:\n- [A](/a)", "OPTIONAL:", True),
    "optional with parts": ("# T\n## Optional\n### Part\n- [A](/a)", "Optional > Part", True),
    "after optional": ("# T\n## Optional\n## S\n- [A](/a)", "S", False),
    "optional in the name only": (
        "# T\n## Optional parameters\n- [A](/a)",
        "Optional parameters",
        False,
    ),
    "linked section": ("# T\n## [A](/a)\n", "A", False),
}


@pytest.mark.parametrize(("text", "section", "optional"), SECTIONS.values(), ids=SECTIONS)
def test_sections(text: str, section: str | None, optional: bool) -> None:
    entry = only(text)
    assert (entry.section, entry.optional) == (section, optional)


def test_front_matter_is_no_text_and_gives_what_headings_do_not() -> None:
    found = read(
        "---\ntitle: 'Example'\ndescription: In short\nurl: https://example.com/x\n---\n- [A](/a)\n"
    )
    assert (found.title, found.summary, [entry.url for entry in found.entries]) == (
        "Example",
        "In short",
        ["https://example.com/a"],
    )


def test_a_line_first_is_not_front_matter() -> None:
    assert urls("---\n\nRead [A](/a) first.\n\n---\n") == ["https://example.com/a"]


def test_title_is_the_first_heading_wherever_it_stands() -> None:
    found = read("## S\n- [A](/a)\n\n# T\n- [B](/b)\n")
    assert (found.title, [entry.section for entry in found.entries]) == ("T", ["S", None])


@pytest.mark.parametrize(
    "text", ["- [A](/a) <b>x</b>", "<div>x</div>\n\n[A](/a)", "[A](/a)\n\n```\n<script>\n```"]
)
def test_html_gives_one_warning(text: str) -> None:
    assert read(text).warnings == ("holds HTML, which is read as text",)


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("> " * 2000 + "[A](/a)", ["https://example.com/a"]),
        ("- " * 500 + "[A](/a)", ["https://example.com/a"]),
        *((mark * 5000, []) for mark in "[*`|<"),
        *((mark * 5000 + "\n\n- [A](/a)", ["https://example.com/a"]) for mark in "[*|<"),
    ],
)
def test_deeply_nested_and_long_input_ends(text: str, urls: list[str]) -> None:
    assert [entry.url for entry in read(text).entries] == urls


@given(st.text())
def test_never_raises(text: str) -> None:
    for entry in read(text).entries:
        assert entry.url.startswith(("http://", "https://"))
        assert "#" not in entry.url


_FRAGMENTS = (
    *(
        "# ",
        "## ",
        "- ",
        "1. ",
        "> ",
        "|",
        "\n",
        "\n\n",
        "---\n",
        "```\n",
        "`",
        "[",
        "](",
        ")",
        "<",
        ">",
        "*",
        "_",
        "\\",
    ),
    *(
        "/a",
        "https://example.com/a",
        ": ",
        "word ",
        "\r",
        "    ",
        "\t",
        "![",
        "<!--",
        "-->",
        "&amp;",
        "\ufeff",
        "[a]: ",
    ),
)
_markdown = st.lists(st.sampled_from(_FRAGMENTS), max_size=40).map("".join)


@given(_markdown)
def test_never_raises_on_markdown(text: str) -> None:
    found = read(text)
    listed = [entry.url for entry in found.entries]
    assert len(listed) == len(set(listed))
    assert [entry.order for entry in found.entries] == list(range(len(listed)))


@given(_markdown.filter(lambda text: "~" not in text))
def test_nothing_in_a_fence_is_a_page(text: str) -> None:
    assert urls(f"~~~~~~\n{text}\n~~~~~~\n") == []


_words = (
    st.text("abcdefgh xyz", min_size=1, max_size=12)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)


@given(
    st.lists(
        st.tuples(_words, st.text("abc/-", min_size=1, max_size=8), _words),
        unique_by=lambda item: item[1],
    )
)
def test_a_written_list_is_read_back(items: list[tuple[str, str, str]]) -> None:
    text = "# T\n\n## S\n\n" + "".join(
        f"- [{name}](https://example.com/_{path}): {about}\n" for name, path, about in items
    )
    assert [(e.title, e.url, e.description, e.section) for e in read(text).entries] == [
        (name, f"https://example.com/_{path}", about, "S") for name, path, about in items
    ]


def test_a_parser_that_fails_gives_a_warning(monkeypatch):
    monkeypatch.setattr(commonmark, "_PARSER", BrokenParser())
    found = parse("---\ntitle: Docs\n---\n- [A](/a)\n", "https://e.com/llms.txt")
    assert (found.title, found.entries) == ("Docs", ())
    assert found.warnings == ("the Markdown parser failed: index out of bounds",)


PLAIN_LISTS = {
    "names": (
        "# T\n\nStart: /docs/start\nThe API: /docs/api - all of it\n",
        [("/docs/start", "Start", None), ("/docs/api", "The API", "all of it")],
    ),
    "bullets": (
        "# T\n\n- Start: /docs/start\n- API: /docs/api\n",
        [("/docs/start", "Start", None), ("/docs/api", "API", None)],
    ),
    "paths first": (
        "# T\n\n- /docs/start.md: Start here\n",
        [("/docs/start.md", "Start here", None)],
    ),
    "a colon inside a link": (
        "# T\n\n- [Start](/docs/start.md:)\n",
        [("/docs/start.md", "Start", None)],
    ),
    "two links share a description": (
        "# T\n\n- [A](/a), [B](/b) and [C](/c): all of it\n",
        [("/a", "A", "all of it"), ("/b", "B", "all of it"), ("/c", "C", "all of it")],
    ),
    "prose is no list": (
        "# T\n\nIt reads /etc/app.conf: see there.\n\nInstall path: /usr/local/bin\n\n[A](/a)\n",
        [("/a", "A", None)],
    ),
    "two are no list beside links": (
        "# T\n\n[A](/a)\n\nOne: /one\n\nTwo: /two\n",
        [("/a", "A", None)],
    ),
}


@pytest.mark.parametrize(("text", "entries"), PLAIN_LISTS.values(), ids=PLAIN_LISTS)
def test_lists_of_other_shapes(text: str, entries: list[tuple[str, str, str | None]]) -> None:
    found = parse(text, "https://e.com/llms.txt").entries
    assert [
        (entry.url.removeprefix("https://e.com"), entry.title, entry.description) for entry in found
    ] == entries


def test_a_list_of_names_and_paths_is_an_index() -> None:
    lines = "".join(
        f"Page number {number} of the guide: /docs/page-{number}\n" for number in range(200)
    )
    assert classify(f"# T\n\n{lines}") == "index"


NOTES = {
    "paragraphs and lists": (
        "# T\n\n> S\n\nRead [a](a.md).\n\n- no link\n\n## Docs\n\n- [A](/a)",
        "Read [a](https://e.com/docs/a.md).\n\n- no link",
    ),
    "up to a list of links": ("# T\n\nText.\n\n- [A](/a)\n", "Text."),
    "code keeps its comments": ("# T\n\n```sh\n# run\n```\n\n## D\n", "```sh\n# run\n```"),
    "none": ("# T\n\n> S\n\n## Docs\n\nText.\n", None),
}


@pytest.mark.parametrize(("text", "notes"), NOTES.values(), ids=NOTES)
def test_notes(text: str, notes: str | None) -> None:
    assert parse(text, "https://e.com/docs/llms.txt").notes == notes


def test_a_line_without_end_is_wrapped_in_bounded_pieces(monkeypatch):
    wrap, given = textwrap.wrap, []
    monkeypatch.setattr(
        textwrap, "wrap", lambda text, width: given.append(len(text)) or wrap(text, width)
    )
    line = "<p>" * parser.MAX_WRAPPED_CHARS

    read = parse(
        f"# T\n\n- [one](/one.html)\n\n{line}\n\n- [two](/two.html)\n",
        "https://docs.example.com/llms.txt",
    )

    assert [entry.title for entry in read.entries] == ["one", "two"]
    assert max(given) == parser.MAX_WRAPPED_CHARS
    assert sum(given) == len(line)


def test_an_empty_field_of_front_matter_says_nothing():
    read = parse(
        "---\ntitle: \ndescription: \n---\n\n- [one](/one)\n", "https://docs.example.com/llms.txt"
    )

    assert (read.title, read.summary) == (None, None)


def test_links_beside_each_other_share_the_description_of_the_last():
    read = parse(
        "[a](/a) | [b](/b), [c](/c): all three\n\n[d](/d) | [e](/e)\n", "https://e.com/llms.txt"
    )

    assert [entry.description for entry in read.entries] == ["all three"] * 3 + [None] * 2


def test_what_was_read_is_not_written_out_where_asyncio_writes_out_a_task():
    read = parse("# T\n\n" + "- [one](/one)\n" * 10_000, "https://docs.example.com/llms.txt")

    assert len(repr(read)) < 1_000


def test_a_file_that_lists_more_than_anybody_reads_is_cut_with_a_line(monkeypatch) -> None:
    monkeypatch.setattr(parser, "MAX_ENTRIES", 3)
    found = read(
        "# Many\n\n" + "".join(f"- [Page {number}](/p/{number})\n" for number in range(10))
    )
    assert [entry.title for entry in found.entries] == ["Page 0", "Page 1", "Page 2"]
    assert found.warnings == ("lists more than 3 pages; further ones are not read",)
