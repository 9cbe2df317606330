"""Pages of full-text files: what is derived of a text once, which pages are looked at."""

from __future__ import annotations

import pytest

from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.crawler.full_text import chosen, says_the_same
from llmsspider.items import Digest, content_hash, decompress
from llmsspider.store import PageRecord

SITE = "https://e.com"

# --- what is derived from a content counts for that very content ---


def record(content: str) -> PageRecord:
    """A record with a digest of an equal text, which is another object."""
    made = PageRecord(id="1", identity=SITE, url=SITE, fetched_url=SITE, content=content)
    made.digest = Digest(content[:1] + content[1:], "0" * 64, ("derived",), b"frame")
    return made


def test_a_digest_of_another_object_does_not_count():
    made = record("```py\nx\n```\n")
    assert made.digest.content == made.content
    assert made.digest.content is not made.content
    assert made.hash_of_content == content_hash(made.content)
    made.content = "```rust\ny\n```\n"
    assert made.hash_of_content == content_hash(made.content)
    assert made.code_languages == ["rust"]
    assert decompress(made.frame).decode() == made.content


def test_a_digest_of_this_object_counts():
    made = record("text")
    made.content = made.digest.content
    assert (made.hash_of_content, made.code_languages, made.frame) == (
        "0" * 64,
        ["derived"],
        b"frame",
    )
    made.content = None
    assert made.frame is None


def test_a_digest_is_what_a_record_without_one_derives():
    made = PageRecord(
        id="1", identity=SITE, url=SITE, fetched_url=SITE, content="```py\n\ud800\n```\n"
    )
    without = made.hash_of_content, made.code_languages, made.frame
    made.digest = Digest.of(made.content, code_languages(made.content))
    assert (made.hash_of_content, made.code_languages, made.frame) == without


# --- which pages of a file are looked at ---


def test_every_page_has_its_turn_and_one_that_differed_is_asked_again():
    pages = [f"https://e.com/p{number}" for number in range(43)]
    turns = [chosen(pages, [], number, 2) for number in range(22)]
    assert {len(set(turn)) for turn in turns} == {2}
    assert {page for turn in turns for page in turn} == set(pages)
    for number in range(3):
        turn = chosen(pages, [pages[number]], number, 2)
        assert (len(turn), turn[0]) == (2, pages[number])
    assert chosen(pages[:3], [], 1, 3) == chosen(pages[:3], ["https://e.com/gone"], 1, 3), (
        "few pages, one sample"
    )
    assert chosen([], [], 1, 3) == []


@pytest.mark.parametrize(
    ("form", "is_same"),
    [
        pytest.param(
            "# Install\n\nRun it.\n\n> [!INFO]\n> Mind it.\n", True, id="a label as a mark"
        ),
        pytest.param("## Install\n\nRun it.\n\n**Info**\n\nMind it.\n", True, id="another level"),
        pytest.param("Run it.\n\nMind it.\n", True, id="no title"),
        pytest.param("# Install\n\nRun it now.\n\nMind it.\n", False, id="another word"),
        pytest.param("# Install\n\nRun it.\n\nInfo on it: mind it.\n", False, id="no label"),
    ],
)
def test_forms_that_say_the_same(form, is_same):
    shown = "# Install\n\nRun it.\n\n> **Info**\n>\n> Mind it.\n"
    assert says_the_same(shown, form) is is_same
    assert says_the_same(form, shown) is is_same


@pytest.mark.parametrize(
    ("form", "other", "is_same"),
    [
        pytest.param(
            ":::tip Heads up\nRun.\n:::", "> [!TIP]\n> **Heads up**\n>\n> Run.", True, id="fence"
        ),
        pytest.param('!!! note "Mind"\n\n    Run.', "> **Mind**\n>\n> Run.", True, id="MkDocs"),
        pytest.param("<Note>\n  Run.\n</Note>", "> [!NOTE]\n> Run.", True, id="component"),
        pytest.param("> **Note:** Run.", "> [!NOTE]\n> Run.", True, id="label before its text"),
        pytest.param('<Tab title="npm">\nRun.\n</Tab>', "**npm**\n\nRun.", True, id="tab"),
        pytest.param('```js title="a.js"\nx\n```', "a.js\n\n```js\nx\n```", True, id="file"),
        pytest.param("```js\na + b\n```", "```js\na - b\n```", False, id="sign of code"),
        pytest.param("```html\n<b>\n```", "```html\n<i>\n```", False, id="tag in code"),
        pytest.param("# A b\n\nRun.", "# A c\n\nRun.", False, id="title"),
    ],
)
def test_each_way_to_write_a_thing_has_one_reading(form, other, is_same):
    assert says_the_same(form, other) is is_same
    assert says_the_same(other, form) is is_same


@pytest.mark.parametrize(
    ("form", "other", "is_same"),
    [
        pytest.param("[a](https://e.com/b.md)", "[a](https://e.com/b/)", True, id="spelling"),
        pytest.param("[a](https://e.com/b)", "[a](https://e.com/c)", False, id="another page"),
        pytest.param("[a](https://e.com/b)", "a", True, id="no link"),
        pytest.param("# A\n\nRun.", "# A b\n\nRun.", False, id="longer title"),
    ],
)
def test_what_the_html_of_a_page_decides(form, other, is_same):
    assert says_the_same(form, other, titles=True, links=True) is is_same
    assert says_the_same(form, other)
