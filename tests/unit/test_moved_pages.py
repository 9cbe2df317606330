"""Which new pages may be stored ones at another address, and which they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from stores import SITE, record

from llmsspider.crawler.deletions import Moves
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.items import content_hash


def known(**texts: str) -> KnownPages:
    """Stored pages by the end of their address (`__` is a slash)."""
    states: dict[bytes, Any] = {}
    for name, text in texts.items():
        page = record(name.replace("__", "/"), text)
        states[page.key] = SimpleNamespace(
            key=page.key, url=page.url, markdown_hash=bytes.fromhex(content_hash(text))
        )
    return KnownPages(states)


def no_text(_: bytes) -> str:
    return ""


def key(path: str) -> bytes:
    return record(path).key


def test_a_new_page_with_a_known_text_waits_and_is_the_page_that_is_gone():
    stored = known(old="text\n", other="else\n")
    moved = Moves(stored)
    assert moved.may_be_stored(record("new", "text\n"), set())
    assert not moved.may_be_stored(record("fresh", "nobody had it\n"), set())
    stored.record_outcome(key("old"), "gone", "not-found")
    moved.pair([record("new", "text\n")], no_text)
    assert stored.outcomes == {key("old"): "moved"}
    assert stored.moved_from[key("new")] == [SITE + "old"]


def test_a_page_that_is_still_there_has_not_moved():
    stored = known(old="text\n")
    moved = Moves(stored)
    assert not moved.may_be_stored(record("copy", "text\n"), {key("old")})
    assert moved.may_be_stored(record("copy", "text\n"), set())
    moved.pair([record("copy", "text\n")], no_text)
    assert (stored.outcomes, stored.moved_from) == ({}, {})


def test_a_known_page_is_no_other_one_unless_it_has_grown():
    moves = Moves(known(old="text\n", other="text\n"))
    stored = record("other", "text\n")
    assert not moves.may_be_stored(stored, set(), stored)
    grown = record("other", "text\n" * 40)
    assert moves.may_be_stored(grown, set(), stored)
    assert not moves.may_be_stored(grown, {key("old")}, stored)


def test_a_new_page_is_none_where_no_stored_page_is_left():
    stored, new = known(old="text\n", other="else\n"), record("new", "fresh\n")
    moved = Moves(stored, every=True)
    assert not moved.may_be_stored(new, {key("old"), key("other")})
    assert moved.may_be_stored(new, {key("other")})


@pytest.mark.parametrize(
    ("new", "former"),
    [("b__x", ["a/x"]), ("b__z", [])],
    ids=["one has its name", "none has its name"],
)
def test_of_several_pages_with_one_text_the_name_decides(new: str, former: list[str]):
    stored = known(a__x="text\n", a__y="text\n")
    moved = Moves(stored)
    page = record(new.replace("__", "/"), "text\n")
    assert moved.may_be_stored(page, set())
    for path in ("a/x", "a/y"):
        stored.record_outcome(key(path), "unlinked")
    moved.pair([page], no_text)
    assert stored.moved_from.get(page.key, []) == [SITE + path for path in former]


LONG = "# Guide\n\nIts many words say what it does and how it does it, and where one looks for more.\n\nBuild {}\n"


@pytest.mark.parametrize(
    ("text", "former"),
    [
        (LONG.format(4711), ["a/guide"]),
        ("# Guide\n\nAnother text altogether, with other words in it.\n", []),
    ],
    ids=["a new build", "another text"],
)
def test_a_page_of_the_same_name_moved_where_its_text_is_all_but_the_same(
    text: str, former: list[str]
):
    stored = known(a__guide=LONG.format(4710), other="text\n")
    moved = Moves(stored)
    page = record("b/guide", text)
    assert moved.may_be_stored(page, set())
    stored.record_outcome(key("a/guide"), "gone", "not-found")
    moved.pair([page], lambda _: LONG.format(4710))
    assert stored.moved_from.get(page.key, []) == [SITE + path for path in former]


def test_a_page_that_was_renamed_and_edited_is_the_one_that_is_most_like_it():
    texts = {
        "near": LONG.format(1)
        + "Two words more stand at its end, and they are not there any more.\n",
        "guide": LONG.format(1),
        "else": "# Else\n\nAnother text altogether, of so many words that it says what it does.\n",
    }
    stored = known(**texts)
    moved = Moves(stored, every=True)
    page = record("how-to", LONG.format(2).replace("many words", "many good words"))
    fresh = record(
        "fresh",
        "# Fresh\n\nNobody had this text, of twenty words and more, before it was written " * 2,
    )
    assert moved.may_be_stored(page, set())
    assert moved.may_be_stored(fresh, set())
    for path in texts:
        stored.record_outcome(key(path), "unlinked")
    by_key = {key(path): text for path, text in texts.items()}
    moved.pair([page, fresh], by_key.__getitem__)
    assert stored.moved_from == {page.key: [SITE + "guide"]}
    assert stored.outcomes[key("near")] == "unlinked"


def test_a_page_that_redirects_for_now_and_stays_is_no_former_address():
    stored = known(old="text\n")
    stored.moved(key("old"), key("new"), for_good=False)
    stored.stays(key("old"), "not-sure")
    assert stored.moved_from == {key("new"): []}
    assert (stored.outcomes, stored.reasons) == ({key("old"): "kept"}, {key("old"): "not-sure"})
