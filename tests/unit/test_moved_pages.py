"""Which new pages may be stored ones at another address, and which they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from stores import SITE, record

from llmsspider.crawler import deletions
from llmsspider.crawler.deletions import Moves, outage
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


def words_of(name: str, number: int = 30) -> str:
    """So many words that no other page has."""
    return " ".join(f"{name}{chr(97 + at % 26) * (1 + at // 26)}" for at in range(number))


def paired(
    texts: dict[str, str],
    new: dict[str, str],
    *,
    gone: str = "",
    moved: dict[str, str] | None = None,
) -> dict[str, list[str]]:
    """Which new pages (path to text) are stored ones: the stored pages that are `gone`, and those
    that redirect elsewhere (`moved`)."""
    stored = known(**{path.replace("/", "__"): text for path, text in texts.items()})
    for path in gone.split():
        stored.record_outcome(key(path), "gone", "not-found")
    for path, target in (moved or {}).items():
        stored.moved(key(path), key(target))
    texts_by_key = {key(path): text for path, text in texts.items()}
    moves = Moves(stored, every=True)
    moves.pair([record(path, text) for path, text in new.items()], texts_by_key.__getitem__)
    former = {path: stored.moved_from.get(key(path), []) for path in new}
    return {path: [url.removeprefix(SITE) for url in urls] for path, urls in former.items() if urls}


FOLDER = {f"old/{name}": words_of(name) for name in ("ape", "bee", "cat")}
MOVED = {f"new/{name}": words_of(name) for name in ("ape", "bee", "cat")}
DOG = words_of("dog")
HALF_A_DOG = f"{words_of('dog', 15)} {words_of('wolf', 15)}"


@pytest.mark.parametrize(
    ("others", "edited", "is_paired"),
    [
        (3, HALF_A_DOG, True),
        (2, HALF_A_DOG, False),
        (3, words_of("wolf"), False),
    ],
    ids=["a folder that moved", "two pages are no folder", "another text"],
)
def test_an_edited_page_of_a_folder_that_moved(others, edited, is_paired):
    paths = list(FOLDER)[:others]
    found = paired(
        {**{path: FOLDER[path] for path in paths}, "old/dog": DOG},
        {**{path: MOVED[path] for path in list(MOVED)[:others]}, "new/dog": edited},
        gone=" ".join([*paths, "old/dog"]),
    )
    assert found.pop("new/dog", None) == (["old/dog"] if is_paired else None)
    assert found == dict(zip(list(MOVED)[:others], ([path] for path in paths), strict=True))


def test_a_page_of_such_a_folder_that_is_still_there_has_not_moved():
    found = paired(
        {**FOLDER, "old/dog": DOG}, {**MOVED, "new/dog": HALF_A_DOG}, gone=" ".join(FOLDER)
    )
    assert "new/dog" not in found


def test_the_name_decides_before_the_text_that_is_most_alike():
    near = f"{words_of('guide', 38)} two"
    texts = {"a/guide": f"{near} three", "a/other": f"{near} four"}
    new = {"b/guide": f"{near} four five"}
    assert paired(texts, new, gone="a/guide a/other") == {"b/guide": ["a/guide"]}
    assert paired(texts, new, gone="a/other") == {"b/guide": ["a/other"]}


def test_a_text_that_several_pages_had_is_of_none_by_its_name():
    texts = {"a/x": DOG, "a/y": DOG, "a/z": f"{DOG} more"}
    assert paired(texts, {"b/z": DOG}, gone="a/x a/y a/z") == {}


def test_so_many_pages_are_not_compared_word_by_word(monkeypatch):
    texts, new = {"a/one": DOG}, {"b/two": f"{DOG} more"}
    assert paired(texts, new, gone="a/one") == {"b/two": ["a/one"]}
    monkeypatch.setattr(deletions, "MAX_PAIRS", 1)
    assert paired(texts, new, gone="a/one") == {"b/two": ["a/one"]}
    monkeypatch.setattr(deletions, "MAX_PAIRS", 0)
    assert paired(texts, new, gone="a/one") == {}


PARTS = {"one": words_of("one"), "two": words_of("two"), "whole": words_of("whole")}
WHOLE = " ".join(PARTS.values())


@pytest.mark.parametrize(
    ("gone", "moved", "former"),
    [
        ("one two", {}, ["one", "two"]),
        ("one", {}, []),
        ("", {"one": "whole"}, ["one"]),
        ("", {"one": "else"}, []),
        ("two", {"one": "whole"}, ["one", "two"]),
    ],
    ids=["two", "one alone", "one that redirects", "elsewhere", "both"],
)
@pytest.mark.parametrize("is_new", [True, False])
def test_pages_that_are_merged_into_one(gone, moved, former, is_new):
    texts = {name: PARTS[name] for name in list(PARTS)[: 2 if is_new else 3]}
    found = paired(texts, {"whole": WHOLE}, gone=gone, moved=moved)
    assert sorted(found.get("whole", [])) == former


def test_a_page_that_had_the_words_before_is_none_that_others_are_merged_into():
    texts = {**PARTS, "whole": WHOLE}
    assert paired(texts, {"whole": f"{WHOLE} {words_of('more', 90)}"}, gone="one two") == {}


def test_a_merged_page_has_the_text_of_those_that_are_gone():
    stored = known(one=PARTS["one"], two=PARTS["two"])
    for path in ("one", "two"):
        stored.record_outcome(key(path), "gone", "not-found")
    Moves(stored).pair([record("whole", WHOLE)], {key(name): PARTS[name] for name in PARTS}.get)
    assert stored.has_its_text == {key("one"), key("two")}
    assert stored.outcomes == {key("one"): "moved", key("two"): "moved"}


@pytest.mark.parametrize(("text", "has_it"), [(f"{DOG} more", True), (words_of("wolf"), False)])
def test_a_page_that_redirects_to_one_with_its_text(text, has_it):
    stored = known(old=DOG)
    stored.moved(key("old"), key("new"))
    Moves(stored).pair([record("new", text)], lambda _: DOG)
    assert stored.has_its_text == ({key("old")} if has_it else set())


def test_a_name_that_many_pages_have_shows_nothing():
    for number, waits in ((5, True), (6, False)):
        moves = Moves(
            known(**{f"{chr(97 + at)}__intro": words_of(str(at)) for at in range(number)})
        )
        assert moves.may_be_stored(record("new/intro", DOG), set()) is waits


def test_a_page_has_grown_by_so_many_characters():
    moves = Moves(known(old="text\n", other="x"))
    stored = record("other", "x")
    for number, waits in ((99, False), (100, True)):
        assert moves.may_be_stored(record("other", "x" * (number + 1)), set(), stored) is waits
    empty = record("other", None)
    assert moves.may_be_stored(record("other", "x" * 100), set(), empty)


@pytest.mark.parametrize(
    ("failed", "obtained", "share", "said"),
    [
        ({"rate_limited": 1}, 0, 0.1, None),
        ({"rate_limited": 2}, 18, 0.1, None),
        (
            {"rate_limited": 2, "network": 1},
            18,
            0.1,
            "3 of 21 pages failed (rate_limited 2, network 1)",
        ),
        ({"not_found": 9, "rate_limited": 1}, 1, 0.1, None),
        ({}, 0, 0.1, None),
    ],
)
def test_an_outage_is_more_failures_than_may_be(failed, obtained, share, said):
    assert outage(failed, obtained, share) == said
