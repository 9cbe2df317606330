from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.site import llmsfull
from llmsspider.site.llmsfull import FullPage, Leftover, SplitReport, UnsplittableError, lines_of
from llmsspider.site.llmsfull_marks import Headings

URL = "https://example.com/docs/llms-full.txt"
SITE = "https://example.com"

Page = tuple[str, str, str]
"""Path, title and body of a page that a generator joins."""


def split(
    source: BinaryIO,
    url: str,
    titles: dict[str, str] | None = None,
    report: SplitReport | None = None,
) -> Iterator[FullPage]:
    report = report or llmsfull.inspect(source, url, titles or {})
    return (piece for piece in llmsfull.cut(source, report) if isinstance(piece, FullPage))


def pages_of(
    text: str | bytes, titles: dict[str, str] | None = None, url: str = URL
) -> list[FullPage]:
    body = text.encode() if isinstance(text, str) else text
    return list(split(io.BytesIO(body), url, titles or {}))


def title_label(pages: Sequence[Page]) -> str:
    return "\n\n\n".join(
        f"# {title}\nSource: {SITE}{path}\n\n{body}" for path, title, body in pages
    )


def title_blank_label(pages: Sequence[Page]) -> str:
    return "# Site\n\n> About it\n\n" + "\n\n".join(
        f"## {title}\n\n**URL:** {path}\n\n{body}\n" for path, title, body in pages
    )


def fumadocs(pages: Sequence[Page]) -> str:
    return "\n\n".join(
        f"# {title}\nURL: {path}\nSource: https://raw.githubusercontent.com/o/r/main{path}.mdx\n\n{body}"
        for path, title, body in pages
    )


def label_before(pages: Sequence[Page]) -> str:
    return "\n---\n".join(
        f"Source: {SITE}{path}\n\n# {title}\n\n{body}\n" for path, title, body in pages
    )


def label_after(pages: Sequence[Page]) -> str:
    return "\n---\n\n".join(
        f"# {title}\n\n{body}\n\nSource: {SITE}{path}\n" for path, title, body in pages
    )


def comment(pages: Sequence[Page]) -> str:
    return "\n".join(
        f"<!-- Source: {SITE}{path} -->\n\n# {title}\n\n{body}\n" for path, title, body in pages
    )


def front_matter(pages: Sequence[Page]) -> str:
    return "\n\n---\n\n".join(
        f"---\nurl: '{SITE}{path}'\ndescription: x\n---\n\n# {title}\n\n{body}"
        for path, title, body in pages
    )


def folded_front_matter(pages: Sequence[Page]) -> str:
    return "".join(
        f"---\nurl: >-\n  {SITE}{path}\n---\n# {title}\n\n{body}\n\n" for path, title, body in pages
    )


def doc_tags(pages: Sequence[Page]) -> str:
    docs = "".join(
        f'<doc title="{title}" url="{path}"># {title}\n\n{body}\n</doc>'
        for path, title, body in pages
    )
    return f'<project title="Site">About it<docs>{docs}</docs></project>'


def page_tags(pages: Sequence[Page]) -> str:
    return "\n".join(
        f"<page>\n---\ntitle: {title!r}\nsource_url:\n  html: {SITE}{path}\n  md: {SITE}{path}.md\n---\n\n"
        f"# {title}\n\n{body}\n</page>"
        for path, title, body in pages
    )


def document_tags(pages: Sequence[Page]) -> str:
    inner = "".join(
        f'<document index="1">\n<source>{SITE}{path}</source>\n<document_contents>\n# {title}\n\n{body}\n'
        "</document_contents>\n</document>\n"
        for path, title, body in pages
    )
    return f"<documents>\n{inner}</documents>\n"


def heading_path(pages: Sequence[Page]) -> str:
    return "".join(
        f"## {path.removeprefix('/docs/')}.md\n\n# {title}\n\n{body}\n\n"
        for path, title, body in pages
    )


def heading_url(pages: Sequence[Page]) -> str:
    return "".join(f"## {SITE}{path}\n\n# {title}\n\n{body}\n\n" for path, title, body in pages)


def heading_suffix(pages: Sequence[Page]) -> str:
    return "\n\n".join(f"# {title} ({path})\n\n{body}" for path, title, body in pages)


def banner(pages: Sequence[Page]) -> str:
    return "".join(
        f"==> {path.removeprefix('/docs/')}.md <==\n# {title}\n\n{body}\n\n"
        for path, title, body in pages
    )


def firecrawl(pages: Sequence[Page]) -> str:
    return f"# {SITE} llms-full.txt\n\n" + "".join(
        f"<|firecrawl-page-{n}-lllmstxt|>\n# {title}\n\n{body}\n\n"
        for n, (_, title, body) in enumerate(pages, 1)
    )


def only_titles(pages: Sequence[Page]) -> str:
    return "# Site\n\n> About it\n\n" + "".join(
        f"# {title}\n\n{body}\n\n" for _, title, body in pages
    )


GENERATORS: dict[str, Callable[[Sequence[Page]], str]] = {
    "title-label": title_label,
    "front-matter": front_matter,
    "label-before": label_before,
    "label-after": label_after,
    "comment-before": comment,
    "doc-tag": doc_tags,
    "page-tag": page_tags,
    "document-tag": document_tags,
    "heading-path": heading_path,
    "heading-url": heading_url,
    "heading-suffix": heading_suffix,
    "banner": banner,
    "firecrawl": firecrawl,
    "titles": only_titles,
}
MORE_SHAPES = {
    "blank line and bold label": (title_blank_label, "title-label"),
    "two labels": (fumadocs, "title-label"),
    "folded address": (folded_front_matter, "front-matter"),
}
SHAPES = [(generate, rule) for rule, generate in GENERATORS.items()] + list(MORE_SHAPES.values())
SHAPE_IDS = [*GENERATORS, *MORE_SHAPES]

PAGES: list[Page] = [
    (
        "/docs/start",
        "Getting started",
        "Install it.\n\n## First steps\n\nRun it.\n\n```sh\n# a comment\nrun --now\n```",
    ),
    ("/docs/guide/deep", "The guide", "Text with `code`.\n\n---\n\nMore after a line."),
    ("/docs/unbalanced", "Unbalanced", "```\nA fence nobody closes."),
    ("/docs/list", "A list", "- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
    ("/docs/end", "The end", "Last words."),
]
BALANCED = [page for page in PAGES if page[1] != "Unbalanced"]
LISTED = {f"{SITE}{path}": title for path, title, _ in PAGES}


@pytest.mark.parametrize(("generate", "rule"), SHAPES, ids=SHAPE_IDS)
def test_pages_come_back(generate: Callable[[Sequence[Page]], str], rule: str) -> None:
    pages = BALANCED if rule == "titles" else PAGES
    listed = {f"{SITE}{path}": title for path, title, _ in pages}
    found = pages_of(generate(pages), listed)
    assert {page.rule for page in found} == {rule}
    assert [page.url for page in found] == list(listed)
    assert [page.title for page in found] == list(listed.values())
    for page, (_, title, body) in zip(found, pages, strict=True):
        assert page.text.endswith(f"{body}\n")
        assert title in page.text
        assert page.kind == "markdown"
        assert "Source:" not in page.text.replace("Source: https://raw", "")


PREAMBLE = "# The whole site\n\n> What it is about, in one line.\n\nAll of it in one file.\n\n"


@pytest.mark.parametrize(("generate", "rule"), SHAPES, ids=SHAPE_IDS)
@pytest.mark.parametrize("level", ["# ", "## "], ids=["H1", "H2"])
def test_what_stands_before_the_first_page_is_of_none(
    generate: Callable[[Sequence[Page]], str], rule: str, level: str
) -> None:
    pages = [
        (path, title, f"Text of {title}.\n\n### More\n\nIt goes on.") for path, title, _ in PAGES
    ]
    listed = {f"{SITE}{path}": title for path, title, _ in pages}
    body = re.sub("^# ", level, generate(pages), flags=re.MULTILINE)
    found = pages_of(PREAMBLE + body, listed)
    assert not [page for page in found if page.url and "All of it" in page.text]
    assert found[-1].text.endswith("It goes on.\n")


@pytest.mark.parametrize(("generate", "rule"), SHAPES, ids=SHAPE_IDS)
@pytest.mark.parametrize("end", ["\r\n", "\r"], ids=["CRLF", "CR"])
def test_line_ends(generate: Callable[[Sequence[Page]], str], rule: str, end: str) -> None:
    listed = {f"{SITE}{path}": title for path, title, _ in BALANCED}
    text = generate(BALANCED)
    assert pages_of("\ufeff" + text.replace("\n", end), listed) == pages_of(text, listed)


_word = st.text("abcdefghijklmnopqrstuvwxyzäß", min_size=1, max_size=8)
_line = st.lists(_word, min_size=1, max_size=6).map(" ".join)
_block = st.one_of(
    _line,
    _line.map(lambda text: f"## {text} section"),
    st.lists(_line, min_size=1, max_size=3).map(
        lambda lines: "\n".join(f"- {line}" for line in lines)
    ),
    _line.map(lambda text: f"```py\n# {text}\nx = 1\n```"),
    st.just("---"),
)
_body = st.tuples(_line, st.lists(_block, max_size=4), _line).map(
    lambda parts: "\n\n".join([parts[0], *parts[1], parts[2]])
)
_site = st.lists(
    st.tuples(_word, _body), min_size=2, max_size=6, unique_by=lambda page: page[0]
).map(
    lambda pages: [
        (f"/docs/p-{n}-{name}", f"{name} page {n}", body) for n, (name, body) in enumerate(pages)
    ]
)


@pytest.mark.parametrize(("generate", "rule"), SHAPES, ids=SHAPE_IDS)
@examples(25)
@given(pages=_site)
def test_joined_pages_split_back(
    generate: Callable[[Sequence[Page]], str], rule: str, pages: list[Page]
) -> None:
    if rule == "titles" and len(pages) < 3:
        pages = [*pages, ("/docs/p-3-third", "A third one", "Text.")]
    listed = {f"{SITE}{path}": title for path, title, _ in pages}
    found = pages_of(generate(pages), listed)
    assert [(page.url, page.title) for page in found] == list(listed.items())
    for page, (_, _, body) in zip(found, pages, strict=True):
        assert page.text.endswith(f"{body}\n")


_TRACES = (
    *(
        "# T\n",
        "## docs/a.md\n",
        "Source: https://example.com/a\n",
        "---\n",
        "url: /a\n",
        "<doc title='a'>",
        "</doc>",
        "&",
    ),
    *(
        "<page>\n",
        "</page>\n",
        "<|firecrawl-page-1-lllmstxt|>\n",
        "text\n",
        "\n",
        "```\n",
        "<!-- source: a.md -->\n",
    ),
    *("==> a.md <==\n", "\r", "# [T](/a)\n", "# T (/a)\n"),
)


@given(st.text() | st.lists(st.sampled_from(_TRACES), max_size=30).map("".join))
def test_never_crashes(text: str) -> None:
    report = llmsfull.inspect(io.BytesIO(text.encode()), URL)
    if report.rule is None:
        assert report.reason
        with pytest.raises(UnsplittableError):
            pages_of(text)
    else:
        assert len(pages_of(text)) == report.pages


@given(st.binary(max_size=300))
def test_never_crashes_on_bytes(body: bytes) -> None:
    report = llmsfull.inspect(io.BytesIO(body), URL)
    assert report.rule or report.reason


_number = iter(range(10**9))


def _numbered(shape: str) -> str:
    """Give every word of a shape a number of its own, so that one that is lost is noticed."""
    return re.sub("WORD", lambda _word: f"w{next(_number)}w", shape)


_PIECES = (
    *(
        "# WORD WORD\n",
        "## WORD\n",
        "WORD WORD\n",
        "\n",
        "- WORD\n",
        "```\nWORD\n",
        "```\n",
        "---\n",
        "    WORD\n",
    ),
    *(
        "Source: https://example.com/WORD\n",
        "Source: https://example.com/same\n",
        "**URL:** /WORD\n",
    ),
    *(
        "---\ntitle: WORD\nurl: /WORD\n---\n",
        "<doc title='WORD'>\n",
        "</doc>\n",
        "<doc title='WORD'>WORD</doc>WORD\n",
    ),
    *("<page>\n", "</page>\n", "<source>/WORD</source>\n", "<|firecrawl-page-1-lllmstxt|>\n"),
    *(
        "## docs/WORD.md\n",
        "# WORD (/same)\n",
        "# WORD (/WORD)\n",
        "# [WORD](/WORD)\n",
        "==> WORD.md <==\n",
    ),
    *("<!-- source: WORD.md -->\n", "# WORD\nSource: https://example.com/WORD\n\nWORD WORD\n"),
)


_MARK_LINE = re.compile(r"\S+:\**\s|</?\w+[ >]|#|==>|<!--|<\|")


@examples(200)
@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_no_word_of_a_file_is_lost(shape: str) -> None:
    body = io.BytesIO(_numbered(shape).encode())
    report = llmsfull.inspect(body, URL)
    if report.rule is None:
        pieces: list[FullPage | Leftover] = [llmsfull.read_whole(body, URL, report)]
    else:
        pieces = list(llmsfull.cut(body, report))
    lines = list(lines_of(body))
    skipped = [lines[number] for mark in report.marks for number in mark.skip]
    marks = [line for line in skipped if _MARK_LINE.match(line)]
    kept = " ".join([*(piece.text for piece in pieces), *marks])
    words = re.findall(rb"w\d+w", body.getvalue())
    assert [word.decode() for word in words if word.decode() not in kept] == []


def test_text_outside_pages_and_pages_that_are_too_long_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# Site\n\nAbout it.\n\n<doc title='A'>\nText.\n</doc>\nBetween.\n<doc title='B'>\nWords.\n</doc>\n"
    body = io.BytesIO(text.encode())
    report = llmsfull.inspect(body, URL)
    assert [(type(piece).__name__, piece.text) for piece in llmsfull.cut(body, report)] == [
        ("Leftover", "# Site\n\nAbout it.\n"),
        ("FullPage", "Text.\n"),
        ("Leftover", "Between.\n"),
        ("FullPage", "Words.\n"),
    ]
    monkeypatch.setattr(sys.modules["llmsspider.site.llmsfull"], "MAX_PAGE_CHARS", 6)
    assert [
        piece.reason for piece in llmsfull.cut(body, report) if isinstance(piece, Leftover)
    ] == [*("full-text-too-long", "full-text-too-long", "full-text-too-long")]
    with pytest.raises(UnsplittableError, match="too long for one document"):
        llmsfull.read_whole(body, URL, report)


def test_lines_of_generators_and_html_of_titles_are_no_text() -> None:
    text = "".join(
        f'# {name} <div id="{name}"/>\nURL: /docs/{name}\nContent:\nmeta: {{"title": "{name}"}}\n\n'
        f"Text of List<{name}>.\n\n"
        for name in ("One", "Two")
    )
    found = pages_of(text)
    assert [(page.title, page.url) for page in found] == [
        ("One", f"{SITE}/docs/One"),
        ("Two", f"{SITE}/docs/Two"),
    ]
    assert [page.text.partition("\n")[2].strip() for page in found] == [
        "Text of List<One>.",
        "Text of List<Two>.",
    ]
    kept = pages_of(
        "# One\nURL: /docs/one\n\nText.\n\nContent:\n\n# Two\nURL: /docs/two\n\nText.\n"
    )
    assert "Content:" in kept[0].text


def test_paths_of_the_source_tree_are_listed_pages_or_none() -> None:
    text = "".join(
        f"# {name}\nSource: /content/docs/{name}.mdx\n\nText.\n\n"
        for name in ("guide/a", "guide/b")
    )
    listed = {f"{SITE}/docs/guide/a": "", f"{SITE}/docs/other": ""}
    assert [page.url for page in pages_of(text, listed)] == [f"{SITE}/docs/guide/a", None]


def test_pages_without_addresses_take_those_of_links_with_their_titles() -> None:
    text = "<docs>\n<doc title='The guide' desc='x'>Text.</doc>\n<doc title='More'>Words.</doc>\n</docs>\n"
    listed = {f"{SITE}/guide.html.md": "The Guide", f"{SITE}/more": "More", f"{SITE}/z": "Z"}
    assert [page.url for page in pages_of(text, listed)] == [
        f"{SITE}/guide.html.md",
        f"{SITE}/more",
    ]


def test_report_and_split_agree() -> None:
    text = title_label(PAGES).encode()
    report = llmsfull.inspect(io.BytesIO(text), URL)
    assert (report.rule, report.pages, report.urls) == ("title-label", 5, tuple(LISTED))
    assert list(split(io.BytesIO(text), URL, report=report)) == pages_of(text)


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "llms-full.txt"
    path.write_text(title_label(PAGES))
    with path.open("rb") as file:
        assert [page.url for page in split(file, URL)] == list(LISTED)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding: str) -> None:
    pages = [(path, f"{title} é", body) for path, title, body in PAGES]
    assert [page.title for page in pages_of(title_label(pages).encode(encoding))] == [
        title for _, title, _ in pages
    ]


ADDRESSES = {
    "absolute": ("https://example.com/docs/a", "https://example.com/docs/a"),
    "other host of the site": ("https://www.example.com/a", "https://www.example.com/a"),
    "from the root": ("/docs/a", "https://example.com/docs/a"),
    "fragment": ("https://example.com/docs/a#part", "https://example.com/docs/a"),
    "angle brackets": ("<https://example.com/docs/a>", "https://example.com/docs/a"),
    "markdown link": ("[a](https://example.com/docs/a)", "https://example.com/docs/a"),
    "file beside": ("a.md", "https://example.com/docs/a.md"),
}


@pytest.mark.parametrize(("address", "url"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(address: str, url: str) -> None:
    text = f"# A\nSource: {address}\n\nText.\n\n# B\nSource: https://example.com/docs/b\n\nText.\n"
    assert [page.url for page in pages_of(text)] == [url, "https://example.com/docs/b"]


def test_spaces_in_an_address_are_encoded() -> None:
    text = "".join(
        f"---\nurl: >-\n  https://example.com/docs/app.\n  {name}.md\n---\n\n# T\n\n"
        for name in "AB"
    )
    assert [page.url for page in pages_of(text)] == [
        f"{SITE}/docs/app.%20{name}.md" for name in "AB"
    ]


def test_sections_of_one_page_are_joined() -> None:
    text = title_label(
        [("/a#one", "One", "First."), ("/a#two", "Two", "Second."), ("/b", "B", "Third.")]
    )
    found = pages_of(text)
    assert [page.url for page in found] == [f"{SITE}/a", f"{SITE}/b"]
    assert "First." in found[0].text
    assert "# Two\n\nSecond." in found[0].text.replace("\n\n\n", "\n\n")


def test_repository_addresses_give_way_to_listed_pages() -> None:
    text = "".join(
        f"# {title}\nSource: https://github.com/o/r/blob/main{path}.mdx\n\n{body}\n\n"
        for path, title, body in PAGES
    )
    assert [page.url for page in pages_of(text, LISTED)] == list(LISTED)


def test_source_paths_nobody_lists_are_no_pages() -> None:
    text = heading_path([*PAGES, ("/docs/SUMMARY", "Contents", "A table of contents.")])
    assert [page.url for page in pages_of(text, LISTED)] == [*LISTED, None]


def test_citations_of_other_sites_are_no_boundaries() -> None:
    pages = [
        (path, title, f"{body}\n\nSource: https://en.wikipedia.org/wiki/{title[0]}")
        for path, title, body in PAGES
    ]
    found = pages_of(label_before(pages))
    assert [page.url for page in found] == list(LISTED)
    assert "wikipedia" in found[0].text


def test_labels_of_an_api_reference_are_no_boundaries() -> None:
    body = (
        "Text.\n" * 200
        + "\n### Create\nURL: /v1/items\n\nMore.\n\n### Delete\nURL: /v1/items/id\n\n"
        + "Text.\n" * 900
    )
    with pytest.raises(UnsplittableError):
        pages_of(f"# Everything\n\n{body}")


def test_an_example_inside_a_page_is_no_boundary() -> None:
    example = "```\n---\ntitle: Example\nurl: https://your-site.org/page\n---\n```"
    pages = [(path, title, f"{body}\n\n{example}") for path, title, body in BALANCED]
    assert [page.url for page in pages_of(title_label(pages))] == [
        f"{SITE}{path}" for path, _, _ in BALANCED
    ]


IN_LIST = ["Zero", "One", "Two", "Overview", "Overview", "Five"]
BY_TITLES = {
    "the list": (IN_LIST, [0, 1, 2, 3, 4, 5]),
    "from the second on": (IN_LIST[1:], [1, 2, 3, 4, 5]),
    "in another order": (["Overview", "Two", "Overview", "Five"], [3, 2, 4, 5]),
    "with headings of their own": (
        ["Zero", "One", "Part", "Two", *IN_LIST[3:]],
        [0, 1, 2, 3, 4, 5],
    ),
    "without the last": (IN_LIST[:-1], None),
    "without one in between": (["One", "Two", "Overview", "Five"], None),
    "one twice": (["One", "Two", "Two", *IN_LIST[3:]], None),
    "another order, headings of their own": (["Five", "Part", "Overview", "Overview"], None),
    "few of many": (["Part", "Overview", "Overview", "Five"], None),
}


@pytest.mark.parametrize(("headings", "numbers"), BY_TITLES.values(), ids=BY_TITLES)
def test_titles_split_a_file_that_holds_a_whole_list(
    headings: list[str], numbers: list[int] | None
) -> None:
    listed = {f"{SITE}/{number}": title for number, title in enumerate(IN_LIST)}
    text = "".join(f"# {title}\n\nText.\n\n" for title in headings)
    report = llmsfull.inspect(io.BytesIO(text.encode()), URL, listed)
    assert (report.rule == "titles") == (numbers is not None)
    assert list(report.urls) == [f"{SITE}/{number}" for number in numbers or ()]


def test_separators_tell_pages_from_sections_of_the_same_name() -> None:
    intro = "## Intro\n\nText.\n\n## Setup\n\nA part of it.\n\n"
    text = f"{intro}---\n\n## Setup\n\nThe page.\n\n---\n\n## Usage\n\nText.\n"
    listed = {f"{SITE}/intro": "Intro", f"{SITE}/setup": "Setup", f"{SITE}/usage": "Usage"}
    found = pages_of(text, listed)
    assert [page.url for page in found] == list(listed)
    assert "A part of it." in found[0].text
    assert found[1].text == "## Setup\n\nThe page.\n"


def test_a_fence_nobody_closes_hides_no_page() -> None:
    unclosed = "# One\n\n```cpp\nint x;\n\n# Two\n\nText.\n\n"
    text = f"{unclosed}```py\n# Three\n```\n\n# Four\n\n```\nThe end.\n\n# Five\n\nText.\n"
    listed = {f"{SITE}/{title}": title for title in ("One", "Two", "Four", "Five")}
    assert [page.title for page in pages_of(text, listed)] == ["One", "Two", "Four", "Five"]


RST = """Guide
=====

.. note:: Text

.. code-block:: python

   x = 1

Part
----

See :ref:`other` and :doc:`more`.

.. toctree::

   a
"""
UNSPLITTABLE = {
    "prose": ("# Guide\n\nText.\n\n## Part\n\nText.\n", "markdown", "no page boundaries"),
    "empty": ("", "markdown", "no page boundaries"),
    "one line": ("# A> b## C- [d](https://example.com/d)", "markdown", "no page boundaries"),
    "html": (
        "<!doctype html>\n<html>\n<body>\n<p>x</p>\n</body>\n</html>",
        "html",
        "HTML without page boundaries",
    ),
    "rst": (
        RST,
        "rst",
        "reStructuredText without page boundaries",
    ),
}


@pytest.mark.parametrize(("text", "kind", "reason"), UNSPLITTABLE.values(), ids=UNSPLITTABLE)
def test_unsplittable(text: str, kind: str, reason: str) -> None:
    report = llmsfull.inspect(io.BytesIO(text.encode()), URL)
    assert (report.rule, report.kind, report.reason, report.pages) == (None, kind, reason, 0)


def test_rst_pages_are_told_from_markdown() -> None:
    body = (
        "Title\n=====\n\n.. note:: Text\n\n.. code-block:: python\n\n   x = 1\n\nSee :ref:`other`."
    )
    found = pages_of("".join(f"<!-- source: {SITE}/{n} -->\n\n{body}\n\n" for n in range(3)))
    assert [(page.url, page.kind) for page in found] == [(f"{SITE}/{n}", "rst") for n in range(3)]


@pytest.mark.parametrize(("generate", "rule"), SHAPES, ids=SHAPE_IDS)
def test_looks_split(generate: Callable[[Sequence[Page]], str], rule: str) -> None:
    text = generate(
        [(path, title, body + "\n\nSome more text." * 30) for path, title, body in PAGES]
    )
    assert llmsfull.looks_split(text) == (rule != "titles")


def test_an_index_does_not_look_split() -> None:
    assert not llmsfull.looks_split(
        title_label([(path, title, "Short.") for path, title, _ in PAGES])
    )


def test_a_file_is_read_as_its_pages_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "llms-full.txt"
    line = "A line of text that says something about the page it stands on.\n"
    with path.open("w") as file:
        for n in range(200):
            file.write(f"# Page {n}\nSource: {SITE}/{n}\n\n{line * 400}\n\n")
    size, count = path.stat().st_size, 200
    with path.open("rb") as file:
        report = llmsfull.inspect(file, URL)
        pages = split(file, URL, report=report)
        ahead = [file.tell() - size * number // count for number, _ in enumerate(pages)]
    assert len(ahead) == count
    assert max(ahead) < size / 10


LINES = {
    "a file between rules": ("=== file: docs/a.md ===", "docs/a.md"),
    "an arrow": ("=> ./guide/b.mdx <=", "./guide/b.mdx"),
    "a rule before it alone": ("--- docs/a.md", None),
    "words": ("--- see below ---", None),
}


@pytest.mark.parametrize(("line", "path"), LINES.values(), ids=LINES)
def test_banners(line: str, path: str | None) -> None:
    headings = Headings()
    headings.feed(0, line + "\n", None)
    assert [mark.url for marks in headings.groups.values() for mark in marks] == (
        [path] if path else []
    )


def test_what_a_file_says_of_a_page_besides_is_no_text_of_it():
    text = "".join(
        f"---\n\nSource: {SITE}{path}.md\nSection: Guides\nUpdated: 2026-01-02\n\n# {title}\n\n"
        f"Note: {body}\n\n"
        for path, title, body in BALANCED
    )
    found = pages_of(text)
    assert len(found) == len(BALANCED)
    assert not any("Section:" in page.text or "Updated:" in page.text for page in found)
    assert all("Note: " in page.text for page in found)


def test_front_matter_at_the_top_of_a_fence_is_an_example():
    def block(path):
        return f"---\nsource: {SITE}{path}\nsection: Guides\n---\n\n"

    text = "".join(
        f"{block(path)}# {title}\n\n{body}\n\n```yaml\n{block(f'/x{path}')}a: 1\n```\n\n"
        for path, title, body in BALANCED
    )
    found = pages_of(text)
    assert [page.title for page in found] == [title for _, title, _ in BALANCED]
    assert all("/x/docs" in page.text for page in found)
    assert not any(page.text.startswith("section:") for page in found)


def test_a_label_in_a_fence_that_names_another_page_is_an_example():
    example = f"```text\nSource: {SITE}/docs/start\n\n# A page\n```\n\nBehind it.\n\n"
    text = "".join(
        f"Source: {SITE}{path}\n\n# {title}\n\n{body}\n\n{example if title == 'The end' else ''}"
        for path, title, body in BALANCED
    )
    found = pages_of(text)
    assert [page.title for page in found] == [title for _, title, _ in BALANCED]
    assert "Behind it." in found[-1].text
    assert "A page" in found[-1].text
