"""The pure parts of the search: words, passages, fragments."""

from __future__ import annotations

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from llmsspider.answers import words
from llmsspider.answers.fragments import Known, by_github, fragments_of
from llmsspider.answers.words import MAX_PASSAGE, PASSAGE_SIZE
from llmsspider.content.markdown.sections import headings_of

MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# One",
            "## Two {#two}",
            "### Three ###",
            "Title\n=====",
            "words of a paragraph " * 30,
            "```py\n# no heading\n```",
            "| a | b |",
            "",
        ]
    )
).map("\n\n".join)


@given(MARKDOWN | st.text())
def test_passages_follow_each_other_and_leave_out_blanks_only(content):
    found = list(words.passages(content))
    ends = [0, *(one.end for one in found)]
    between = [content[end : one.start] for end, one in zip(ends, found, strict=False)] + [
        content[ends[-1] :]
    ]
    assert all(not gap.strip() for gap in between)
    assert all(one.start < one.end <= one.start + MAX_PASSAGE for one in found)


def test_sections_code_and_tables_stay_whole():
    code = "```\n" + "# not a heading\n\n" * 200 + "```\n"
    table = "| a | b |\n| --- | --- |\n" + "| cell | cell |\n" * 200
    end = "End [here](x) of `it`\n------\n\nlast words\n"
    text = f"# Page\n\n## Code {{#own-id}}\n\n{code}\n## Table ##\n\n{table}\n\n{end}"
    found = [(one.heading_path, text[one.start : one.end]) for one in words.passages(text)]
    assert [path for path, _ in found] == [
        ("Page", "Code"),
        ("Page", "Table"),
        ("Page", "End here of it"),
    ]
    assert code in found[0][1]
    assert table in found[1][1]
    assert all(len(piece) > PASSAGE_SIZE for _, piece in found[:2])


def test_long_sections_are_cut_between_paragraphs():
    text = "# Page\n\n" + "".join(
        f"Paragraph {number}. {'word ' * 100}\n\n" for number in range(20)
    )
    found = [text[one.start : one.end] for one in words.passages(text)]
    assert len(found) > 3
    assert all(
        piece.removeprefix("# Page\n\n").startswith("Paragraph")
        and len(piece) <= PASSAGE_SIZE + 600
        for piece in found
    )


@given(st.text("aAbB01 _-\n\x1fé安ßД‘", max_size=30))
def test_the_parts_of_words_are_those_of_each_word_in_camel_case(text):
    expected = [
        words.humps(word) for word in dict.fromkeys(re.findall("[A-Za-z][A-Za-z0-9]+", text))
    ]
    expected += [words.pairs(run) for run in re.findall("安+", text)]
    assert words.word_parts(text).split() == [part for parts in expected for part in parts]


@given(st.text("aAß \n\x1f\xa0\u2028éÉ", max_size=20))
def test_digests_are_equal_for_texts_that_differ_in_white_space_and_case_only(text):
    plain = " ".join(text.split()).casefold()
    assert words.digest_of(text) == words.digest_of(f"\t{plain} ")
    # embeddings are kept by it
    assert words.digest_of(text) == hashlib.sha256(plain.encode()).digest()[:16]
    assert words.digest_of(text) != words.digest_of(f"{text}x")


def test_fences_and_blank_lines_of_any_form_bound_blocks():
    fenced = "~~~\n" + "code\n \t\n" * 400 + "```\n\n~~~~\n"
    items, table = "- item\n" * 400, "| cell |\n" * 300
    text = "words " * 200 + "\n \u00a0\n" + fenced + "\n" + items + "  \n" + table
    found = [text[one.start : one.end] for one in words.passages(text)]
    assert found[1] == f"{fenced}\n"
    assert found[4] == table
    assert "".join(found[2:4]) == f"{items}  \n"  # cut within: a block larger than a passage
    assert "".join(found) == text


def test_no_passage_is_empty_where_a_section_ends_with_a_blank_line():
    first = "# Page\n\n" + "| cell |\n" * 300 + "\n"
    text = f"{first}# Next\n\n" + "word " * 50
    found = [(one.start, one.end) for one in words.passages(text)]
    assert found == [(0, len(first)), (len(first), len(text))]


HEADS = "# Timeouts\n\n## Pool timeout\n\n### The get method\n\n## OS\n\n### Wheel.turn\n\n## OS\n"


def fragments(known: list[Known], rule=None) -> list[str | None]:
    return fragments_of(headings_of(HEADS), known, rule)


def test_fragments_are_those_that_links_lead_to():
    known = [Known("pool-timeout", "x"), Known("api/#client.get", "The get method")]
    known += [Known("module-os", "os"), Known("kit.Wheel.turn", "x")]
    assert fragments(known) == [
        None,
        "pool-timeout",
        "api/#client.get",
        "module-os",
        "kit.Wheel.turn",
        "module-os",
    ]
    assert fragments([Known("other", "Other")]) == [None] * 6


def test_ids_of_headings_are_theirs_and_no_rule_adds_any():
    known = [
        Known("os", "OS", own=True),
        Known("os_1", "OS", own=True),
        Known("pool", "Pool timeout"),
    ]
    assert fragments(known, by_github) == [None, "pool", None, "os", None, "os_1"]


def test_by_a_rule_an_id_that_is_not_known_is_empty():
    known = [Known("turned", "Wheel.turn"), Known("the_get_method", "x")]
    made = [None, "pool-timeout", "the-get-method", "os", "turned", ""]
    assert fragments(known, by_github) == made
