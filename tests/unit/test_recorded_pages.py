"""What a run reads from the store of a source, and what it writes there: each page once, compared with what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stores import NAME, SITE, record

from llmsspider.crawler.known_pages import KnownPages, RecordedPages
from llmsspider.items import Link
from llmsspider.store import Reading, SourceRecord, Store, open_store
from llmsspider.web.urls import page_key

A, B, C = "# A\n\nWhat one reads.\n", "# B\n\nWhat one reads.\n", "# C\n"
ETAG = {"etag": '"1"', "content-type": "text/plain"}
LLMS = f"{SITE}llms.txt"


def stored_before(place: Path, *records, number: int = 2, **more) -> tuple[Store, KnownPages]:
    """A source that holds these pages since an earlier run, and what this one knows of it."""
    store = open_store(None, place, NAME)
    if store.source_record() is None:
        store.upsert_source(SourceRecord(NAME, SITE))
    store.begin_run("crawl", {})
    for one in records:
        store.save_page(one, "new")
    store.flush()
    known = KnownPages(extractor_version="1", **more)
    known.open(store, number, keeps_readings=True)
    return store, known


@pytest.fixture
def stored(tmp_path: Path) -> Iterator:
    """Makes `stored_before`; its stores are closed when the test ends."""
    opened: list[Store] = []

    def make(*records, **more) -> KnownPages:
        store, known = stored_before(tmp_path, *records, **more)
        opened.append(store)
        return known

    yield make
    for store in opened:
        store.close()


def writing(known: KnownPages, *, own_code: bool = False) -> RecordedPages:
    pages = RecordedPages(known, own_code=own_code)
    pages.writes = True
    return pages


def test_a_run_takes_over_what_is_stored(stored):
    known = stored(record("a", A, title="Ape", moved_from=[f"{SITE}old"]), record("b", B))
    assert set(known.states) == {page_key(f"{SITE}a"), page_key(f"{SITE}b")}
    assert known.moved_from == {page_key(f"{SITE}a"): [f"{SITE}old"]}
    assert known.number == 2
    assert known.title(page_key(f"{SITE}a")) == "Ape"
    assert known.title(page_key(f"{SITE}b")) == known.title(page_key(f"{SITE}z")) == ""
    assert known.load(page_key(f"{SITE}a")).content == A
    assert known.load(page_key(f"{SITE}z")) is None


def test_nothing_is_read_before_the_run_is_open():
    known = KnownPages()
    known.flush()
    assert known.load(page_key(SITE)) is None
    assert known.title(page_key(SITE)) == ""
    assert known.linking({page_key(SITE)}) == set()
    with pytest.raises(RuntimeError, match="not open"):
        _ = known.stored


def test_the_pages_that_link_to_others(stored):
    known = stored(record("a", A, links=[Link("b", f"{SITE}b#part")]), record("b", B))
    assert known.linking({page_key(f"{SITE}b")}) == {page_key(f"{SITE}a")}
    assert known.linking({page_key(f"{SITE}a")}) == known.linking(set()) == set()


def test_what_is_written_is_there_for_others_once_it_is_flushed(stored, tmp_path):
    known = stored()
    writing(known).write(record("a", A), confirmed=False)
    known.flush()
    with open_store(None, tmp_path, NAME) as other:
        assert set(other.page_states()) == {page_key(f"{SITE}a")}


@pytest.mark.parametrize("keeps_readings", [True, False])
def test_what_is_no_document_is_kept_where_the_store_may_have_it(stored, keeps_readings):
    known = stored()
    known.open(known.stored, 2, keeps_readings=keeps_readings)
    known.keep_reading(Reading(LLMS, None, headers=ETAG, body=b"# Site\n"))
    known.keep_reading(Reading(LLMS, None, read_by="1", headers={}))
    known.flush()
    kept = known.reading(LLMS, None)
    assert (kept.body if kept else None) == (b"# Site\n" if keeps_readings else None)
    assert known.has_reading(LLMS, None, "1") is keeps_readings
    assert not known.has_reading(LLMS, None, "2")
    known.number = 1
    assert known.reading(LLMS, None) is None
    assert not known.has_reading(LLMS, None, "1")


def test_a_first_run_sends_no_validators(stored):
    known = stored(record("a", A, etag='"1"', validators_url=f"{SITE}a"))
    known.number = 3  # in this one the page is not fetched whole
    assert known.conditional_headers(f"{SITE}a", None) == {"If-None-Match": '"1"'}
    known.number = 1
    assert known.conditional_headers(f"{SITE}a", None) == {}


FALSE = {"etag": '"1"', "validators_url": f"{SITE}a", "raw_hash": "ab" * 32}


@pytest.mark.parametrize(
    ("now", "headers", "is_false"),
    [
        ({}, {"etag": '"1"'}, True),
        ({}, {"etag": '"2"'}, False),
        ({"text": A}, {"etag": '"1"'}, False),
        ({"raw_hash": FALSE["raw_hash"]}, {"etag": '"1"'}, False),
        ({"fetched_url": f"{SITE}a.md"}, {"etag": '"1"'}, False),
        ({"accept": "text/html"}, {"etag": '"1"'}, False),
        ({"extractor_version": "2"}, {"etag": '"1"'}, False),
    ],
    ids=["another text", "another ETag", "the text", "the body", "URL", "form", "reader"],
)
def test_another_text_under_the_same_validators_is_a_false_304(stored, now, headers, is_false):
    known = stored(record("a", A, **FALSE))
    page = record("a", now.get("text", B), raw_hash="cd" * 32)
    page = replace(page, **{name: value for name, value in now.items() if name != "text"})
    assert known.is_false(page, headers) is is_false
    assert not known.is_false(record("z", B), headers)


def test_a_page_without_a_hash_of_its_body_is_no_false_304(stored):
    known = stored(record("a", A, **(FALSE | {"raw_hash": None})))
    assert not known.is_false(record("a", B), {"etag": '"1"'})


def test_a_page_has_the_text_that_is_stored(stored):
    known = stored(record("a", A))
    assert known.has_text(record("a", A))
    assert not known.has_text(record("a", B))
    assert not known.has_text(record("z", A))


@pytest.mark.parametrize(
    ("before", "now", "media_type", "is_cut"),
    [
        (b"# A\n\nOne.\n\nTwo it is.\n", b"# A\n\nOne.\n\nTwo i", "text/plain", True),
        (b"# A\n\nOne.\n\nTwo it is.\n", b"# A\n\nOne.\n\nTwo i", "text/markdown", True),
        (b"# A\n\nOne.\n\nTwo it is.\n", b"# A\n\nOne.\n\nTwo i", "text/xml", False),
        (b"# A\n\nOne.\n\nTwo it is.\n", b"# A\n\nOne.\n", "text/plain", False),
        (b"# A\n\nOne.\n\nTwo it is.", b"# A\n\nOne.", "text/plain", False),
        (b"# A\n\nOne.\n\nTwo it is.", b"# A\n\nOne.\n\nTwo i", "text/plain", True),
        (b"# A\n", b"# A\n\nOne", "text/plain", False),
    ],
)
def test_a_file_that_ends_where_the_stored_one_went_on(stored, before, now, media_type, is_cut):
    known = stored()
    kind = {"content-type": media_type, "etag": '"1"'}
    assert not known.breaks_off(Reading(LLMS, None, headers=kind, body=now))
    known.keep_reading(Reading(LLMS, None, headers=kind, body=before))
    known.flush()
    assert known.breaks_off(Reading(LLMS, None, headers=kind, body=now)) is is_cut


@pytest.mark.parametrize(
    ("media_type", "now", "etag", "is_false"),
    [
        ("text/plain", b"new", '"1"', True),
        ("text/plain", b"old", '"1"', False),
        ("text/plain", b"new", '"2"', False),
        ("text/html", b"new", '"1"', False),
    ],
)
def test_another_file_under_the_same_validators(stored, media_type, now, etag, is_false):
    known = stored()
    kept = {"content-type": media_type, "etag": '"1"'}
    known.keep_reading(Reading(LLMS, None, headers=kept, body=b"old"))
    known.flush()
    answer = Reading(LLMS, None, headers=kept | {"etag": etag}, body=now)
    assert known.is_false_answer(answer) is is_false
    assert not known.is_false_answer(Reading(f"{SITE}else", None, headers=kept, body=now))


def test_a_page_that_moved_is_noted_by_its_own_spelling(stored):
    known = stored(record("a", A, moved_from=[f"{SITE}older"]), record("b", B))
    a, b, new = (page_key(f"{SITE}{path}") for path in ("a", "b", "new"))
    known.aliases |= {b"spelling of a": a, b"spelling of b": b}
    known.moved(b"spelling of a", b"spelling of b", for_good=False)
    assert (known.outcomes, known.targets, known.arrivals) == ({a: "moved"}, {a: b}, {b})
    assert known.elsewhere_for_now == {a}
    assert known.moved_from[b] == [f"{SITE}older", f"{SITE}a"]
    known.follow_redirects({b: new}.__getitem__)
    assert (known.targets, known.moved_from[new]) == ({a: new}, [f"{SITE}older", f"{SITE}a"])
    known.moved(b, b)
    assert b not in known.targets


# What is written


def test_without_a_store_all_is_new():
    pages = RecordedPages(KnownPages())
    assert pages.write(record("a", A), confirmed=False) == ("new", None)
    assert pages.write(record("b", B), confirmed=True) == ("new", None)


def test_each_change_has_a_number(stored):
    known = stored(record("a", A), record("b", B))
    pages = writing(known)
    change, number = pages.write(record("a", f"{A}\nAnd more.\n"), confirmed=False)
    assert change == "changed"
    assert pages.write(record("b", B), confirmed=False) == ("unchanged", None)
    assert pages.write(record("c", C), confirmed=False) == ("new", number + 1)
    known.flush()
    assert known.load(page_key(f"{SITE}a")).content == f"{A}\nAnd more.\n"
    assert {url: kinds for url, _, kinds in pages.written.values()} == {
        f"{SITE}a": ["text"],
        f"{SITE}c": [],
    }


def test_a_page_is_written_once(stored):
    pages = writing(stored())
    page = record("a", A)
    assert pages.is_first(page)
    pages.write(page, confirmed=False)
    assert not pages.is_first(page)
    with pytest.raises(RuntimeError, match="has a document"):
        pages.write(page, confirmed=False)
    with pytest.raises(RuntimeError, match="has a document"):
        pages.delete(page)


def test_a_deleted_page_says_why(stored):
    known = stored(record("a", A), record("b", B))
    known.record_outcome(page_key(f"{SITE}a"), "gone", "not-found")
    pages = writing(known)
    first = pages.delete(known.load(page_key(f"{SITE}a")))
    second = pages.delete(known.load(page_key(f"{SITE}b")))
    known.flush()
    assert second == first + 1
    reasons = [page.reason for page in known.stored.changes_since(first - 1)]
    assert reasons == ["not-found", "deleted"]


def test_a_page_that_is_confirmed_stays_as_it_was_and_has_its_document(stored):
    known = stored(record("a", A, fetched_at="2026-11-01T00:00:00Z"))
    known.aliases[b"other"] = page_key(f"{SITE}a")
    pages = writing(known)
    assert pages.write(record("a", A), confirmed=True) == ("unchanged", None)
    known.flush()
    assert known.load(page_key(f"{SITE}a")).fetched_at == "2026-11-21T22:00:00Z"
    again = writing(known)
    again.confirm(b"other")
    again.confirm(b"other")
    again.confirm(b"unknown")
    assert again.keys == {page_key(f"{SITE}a")}
    assert again.written == {}


def test_links_that_alone_changed_are_told_apart(stored):
    known = stored(record("a", f"{A}\n[b]({SITE}b)\n"), record("b", B))
    pages = writing(known)
    assert pages.write(record("a", f"{A}\n[b]({SITE}c)\n"), confirmed=False)[0] == "changed"
    assert pages.write(record("b", B + A), confirmed=False)[0] == "changed"
    assert pages.only_links == {page_key(f"{SITE}a")}


def test_a_page_that_says_the_same_in_a_better_form_has_not_changed(stored):
    known = stored(record("a", A))
    pages = writing(known)
    pages.said_before.add(page_key(f"{SITE}a"))
    assert pages.write(record("a", B), confirmed=False) == ("unchanged", None)
    known.flush()
    assert known.load(page_key(f"{SITE}a")).content == B


def test_pages_of_full_text_are_not_told_again(stored):
    pages = writing(stored())
    pages.write(record("a", A, origin="llms-full"), confirmed=False)
    assert pages.written == {}


@pytest.mark.parametrize(
    ("own_code", "now", "change"),
    [
        (False, {"extra": {"words": 3}}, "unchanged"),
        (True, {"extra": {"words": 3}}, "changed"),
        (True, {}, "unchanged"),
        (True, {"title": "Ape"}, "unchanged"),
        (True, {"title": "Ape", "extractor_version": "2"}, "changed"),
        (True, {"description": "Apes", "extractor_version": "2"}, "changed"),
        (True, {"extractor_version": "2"}, "unchanged"),
    ],
)
def test_pipelines_may_make_another_document_of_the_same_text(stored, own_code, now, change):
    pages = writing(stored(record("a", A)), own_code=own_code)
    assert pages.write(record("a", A, **now), confirmed=False)[0] == change


@pytest.mark.parametrize(
    ("own_code", "trusted", "now", "is_taken"),
    [
        (True, True, {}, True),
        (False, True, {}, False),
        (True, False, {}, False),
        (True, True, {"source_hash": "ab" * 32}, False),
        (True, True, {"extractor_version": "2"}, False),
        (True, True, {"path": "z"}, False),
    ],
)
def test_what_pipelines_made_of_the_same_source(stored, own_code, trusted, now, is_taken):
    known = stored(record("a", A), trusted=trusted)
    found = writing(known, own_code=own_code).delivered_before(
        record(now.pop("path", "a"), A, **now)
    )
    assert (found.content if found else None) == (A if is_taken else None)
