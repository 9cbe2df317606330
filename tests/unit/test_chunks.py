"""Chunks: where a text is cut, what is kept whole, and which chunks an edit changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.content.markdown.chunks import Chunker, chunks, split, tokens
from llmsspider.items import Document

CODE = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(40)) + "\n```\n"
TABLE = "| a | b |\n|---|---|\n" + "".join(f"| {n} | value {n} |\n" for n in range(40))
LONG = " ".join(f"Sentence number {n} of a long paragraph." for n in range(60))

SHOP = "Use the shop. It is the way that most of the readers of pages such as this take."
PAGE = f"""# Guide

Intro. It says what the pages below are about, in more words than a short chunk may have.

## Install

Run it.

{CODE}
### On Windows

{SHOP}

## Use

{LONG}

## Reference

{TABLE}
"""


def texts(content: str, size: int = 300) -> list[str]:
    return [chunk.text for chunk in chunks(content, "p", size=size)]


def test_each_section_is_a_chunk_of_its_own_below_its_headings() -> None:
    found = chunks(PAGE, "p", size=10_000)
    assert [chunk.heading_path for chunk in found] == [
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Install", "On Windows"),
        ("Guide", "Use"),
        ("Guide", "Reference"),
    ]
    assert found[2].text == f"### On Windows\n\n{SHOP}"


def test_code_and_tables_stay_whole_whatever_the_size() -> None:
    found = texts(PAGE, 100)
    assert sum(CODE.strip() in text for text in found) == 1
    assert sum(TABLE.strip() in text for text in found) == 1
    assert all(text.count("```") in {0, 2} for text in found)


def test_a_chunk_names_the_languages_of_its_own_code() -> None:
    document = Document(
        *("d", "https://e.com/", "https://e.com/", "s", "r", 1, "T", None, "en"),
        f"# A\n\n{SHOP}\n\n```sh\nls\n```\n\n# B\n\n{SHOP}\n\n```py\n1\n```\n\n# C\n\n{SHOP}\n",
        *(None, "new", "html", "link", 0),
    )
    assert [row.code_languages for row in Chunker().rows(document)] == [["shell"], ["python"], []]


def test_all_other_text_keeps_to_the_size() -> None:
    for text in texts(PAGE, 100):
        assert len(text) <= 100 or CODE.strip() in text or TABLE.strip() in text


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    found = [text for text in texts(PAGE) if "Sentence" in text]
    assert len(found) > 5
    assert all(text.endswith(".") for text in found)


def test_a_long_list_is_cut_between_items_and_code_in_it_stays_whole() -> None:
    items = "".join(f"- item {n} with some text\n" for n in range(30))
    code = "- last\n\n  ```\n" + "".join(f"  row {n}\n" for n in range(60)) + "  ```\n"
    found = texts(f"# L\n\n{items}{code}", 120)
    assert all(text.startswith(("# L", "- item", "- last", "  ```")) for text in found)
    assert sum("row 0\n" in text and "row 59" in text for text in found) == 1


def test_a_heading_stays_with_what_follows_it() -> None:
    found = texts(f"# A\n\n## B\n\n### C\n\n{CODE}\n## D\n\n## E\n\nText.\n", 50)
    assert found[0].startswith("# A\n\n## B\n\n### C\n\n```python")
    assert found[1:] == ["## D\n\n## E\n\nText."]


def test_a_heading_path_is_plain_text_below_the_title() -> None:
    headings = "# [`Env`](/env.md) {#env}", "# \\_private\\_ *and* `f(*args)`", "## C#"
    content = "\n\n".join(f"{heading}\n\n{SHOP}" for heading in headings)
    paths = [chunk.heading_path for chunk in chunks(content, "p", size=200)]
    assert paths == [
        ("Env",),
        ("Env", "_private_ and f(*args)"),
        ("Env", "_private_ and f(*args)", "C#"),
    ]


MEMBERS = {
    "Sphinx": (
        [
            "# API",
            "`class wheels.Wheel(n: int)`",
            "`turn(times: int) → None`",
            "`property size: int`",
            "`wheels.run(x)`",
        ],
        [
            "API > wheels.Wheel",
            "API > wheels.Wheel > turn",
            "API > wheels.Wheel > size",
            "API > wheels.run",
        ],
    ),
    "options": (
        ["# CLI", "## Options", "`--out <file>`", "`-v, --verbose`"],
        ["CLI > Options > --out", "CLI > Options > -v"],
    ),
    "rustdoc": (
        [
            "# Struct W",
            "## Implementations",
            "`impl<T> W<T> where T: Copy,`",
            "`pub fn new(n: u8) -> Self`",
            "##### Panics",
        ],
        ["Struct W > Implementations > impl<T> W<T>"]
        + ["Struct W > Implementations > impl<T> W<T> > new" + end for end in ("", " > Panics")],
    ),
    "Documenter": (
        ["# Use", "**[`W.turn!`](https://w.org/page#W.turn!) — Function**"],
        ["Use > W.turn!"],
    ),
    "Haddock": (
        ["# Data.W", "`data W a`", "`turn :: W a -> Int`"],
        ["Data.W > W", "Data.W > turn"],
    ),
    "prose": (
        ["# Use", "`pip install wheels`", '`print("turn")`', "Call it:\n\n`turn(times)`"],
        ["Use"] * 3,
    ),
}


@pytest.mark.parametrize(("parts", "paths"), MEMBERS.values(), ids=MEMBERS)
def test_the_name_of_a_member_belongs_to_the_path(parts: list[str], paths: list[str]) -> None:
    content = "".join(
        f"{part}\n\n{'' if part.startswith('# ') else LONG[:150]}\n\n" for part in parts
    )
    found = chunks(content, "p", size=170)
    own = [" > ".join(chunk.heading_path) for chunk in found if "Sentence number 0" in chunk.text]
    assert own[-len(paths) :] == paths


def test_members_of_a_whole_page_have_paths_of_their_own() -> None:
    path = Path(__file__).parent.parent / "fixtures" / "generators" / "rustdoc-trait.md"
    found = chunks(path.read_text("utf-8"), "p", size=2000)
    assert [" > ".join(chunk.heading_path) for chunk in found] == [
        "Trait Turn",
        "Trait Turn > Required Associated Types > Unit",
        "Trait Turn > Required Methods > turn",
        "Trait Turn > Required Methods > turn > Panics",
        "Trait Turn > Provided Methods > back",
        "Trait Turn > Implementations on Foreign Types > impl Turn for u8 > turn",
    ]


def test_a_short_chunk_joins_its_neighbour_unless_both_are_too_long_for_it() -> None:
    members = "".join(f"### m{n}\n\nm{n}: string\n\n" for n in range(20))
    found = chunks(f"# W\n\n{SHOP}\n\n## Properties\n\n{members}## Last\n\nEnd.\n", "p", size=300)
    assert all(len(chunk.text) >= 80 for chunk in found)
    assert {chunk.heading_path for chunk in found} == {("W",), ("W", "Properties")}
    assert texts(f"# A\n\n{'x' * 90}\n\n# B\n\nText.\n", 100) == [
        f"# A\n\n{'x' * 90}",
        "# B\n\nText.",
    ]


def test_a_fence_below_a_tag_is_not_left_open() -> None:
    tabs = "".join(
        f'  <Tab title="{name}">\n    ```{name}\n    # no heading\n\n    code\n    ```\n  </Tab>\n\n'
        for name in "ab"
    )
    content = f"# A\n\n<Example>\n```json\n{{\n\n}}\n```\n</Example>\n\n<Tabs>\n{tabs}</Tabs>\n\n## B\n\n{SHOP}\n"
    found = chunks(content, "p", size=60)
    assert all(chunk.text.count("```") % 2 == 0 for chunk in found)
    assert {chunk.heading_path for chunk in found} == {("A",), ("A", "B")}


def test_code_and_tables_in_a_quote_stay_whole() -> None:
    quoted = [
        f"> {line}".rstrip() for line in f"[!NOTE]\n{SHOP}\n\n{CODE}\n- item\n\n{TABLE}".split("\n")
    ]
    open_one = "> ```\n> code\n\n"  # it ends with its quote
    found = texts("\n".join([*quoted, "", open_one, "## Behind\n", SHOP]), 100)
    code, table = (
        "\n".join(f"> {line}" for line in block.strip().split("\n")) for block in (CODE, TABLE)
    )
    assert sum(code in text for text in found) == sum(table in text for text in found) == 1
    assert found[-1] == f"## Behind\n\n{SHOP}"


def test_a_word_longer_than_the_size_is_cut() -> None:
    assert texts("x" * 250, 100) == ["x" * 100, "x" * 100, "x" * 50]


def test_a_text_without_headings_has_an_empty_path() -> None:
    (chunk,) = chunks("Just text.\n", "p", size=100)
    assert (chunk.heading_path, chunk.text, chunk.size) == ((), "Just text.", 10)
    assert chunks("", "p", size=100) == []


def test_the_size_may_be_in_tokens() -> None:
    found = chunks(PAGE, "p", size=30, count=tokens)
    plain = [chunk for chunk in found if "```" not in chunk.text and "|" not in chunk.text]
    assert all(chunk.size == tokens(chunk.text) <= 30 for chunk in plain)


def test_equal_chunks_of_a_page_differ_by_ordinal_only_and_pages_differ() -> None:
    content = f"# A\n\n## Same\n\n{SHOP}\n\n## Same\n\n{SHOP}\n"
    ids = [chunk.id for chunk in chunks(content, "p", size=200)]
    assert len(set(ids)) == 2
    first = chunks(f"# A\n\n## Same\n\n{SHOP}\n", "p", size=200)[0].id
    assert ids[0] == first
    assert not set(ids) & {chunk.id for chunk in chunks(content, "q", size=200)}


def test_a_new_name_of_a_built_picture_leaves_the_chunk_as_it_is() -> None:
    text = "# A\n\nAs seen here.\n\n![p](/_images/30f8c1d2.png)\n"
    before, after = (
        chunks(one, "p", size=300) for one in (text, text.replace("30f8c1d2", "9b11d0e7"))
    )
    assert [one.id for one in before] == [one.id for one in after]
    assert "9b11d0e7" in after[-1].text


def test_the_same_text_below_other_headings_is_another_chunk():
    linux, windows = (
        chunks(f"# {name}\n\n{SHOP}\n\n## Install\n\n{SHOP}\n", "p", size=200)[-1]
        for name in ("Linux", "Windows")
    )
    assert linux.text == windows.text
    assert linux.id != windows.id


EDITS = {
    "a sentence": ("Sentence number 3 ", "Sentence number three "),
    "code": ("line_7 = 7", "line_7 = 8"),
    "a cell": ("value 9 ", "value nine "),
    "a new paragraph": ("Use the shop.", "Use the shop.\n\nOr do not."),
    "the intro": ("Intro.", "Introduction."),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_the_chunks_of_its_section_alone(old: str, new: str) -> None:
    before = {chunk.id: chunk for chunk in chunks(PAGE, "p", size=200)}
    after = {chunk.id: chunk for chunk in chunks(PAGE.replace(old, new), "p", size=200)}
    changed = [before.get(key) or after[key] for key in before.keys() ^ after.keys()]
    assert changed
    assert len({chunk.heading_path for chunk in changed}) == 1


blocks = st.sampled_from(
    [
        "# H\n",
        "## H2\n",
        "Set\n===\n",
        LONG[:500],
        CODE,
        TABLE,
        "- a\n- b\n",
        "> q\n> r\n",
        "\n",
        "<div>\nx\n</div>\n",
        "    code\n",
        "***\n",
        "[r]: /u\n",
    ]
) | st.text(max_size=60)


@examples(200)
@given(st.lists(blocks, max_size=12).map("\n".join), st.integers(1, 400))
def test_the_pieces_of_any_text_are_the_text(content: str, size: int) -> None:
    spans = list(split(content, size=size))
    assert "".join(content[span.start : span.end] for span in spans) == content
    ids = [chunk.id for chunk in chunks(content, "p", size=size)]
    assert len(set(ids)) == len(ids)
