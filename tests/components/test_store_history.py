"""Earlier contents of pages: kept when a page changes or is deleted, bounded, measured, gone with the source."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from stores import NAME, Place, record

from llmsspider.store import Retention, Store
from llmsspider.store.schema import change, version


def crawl(store: Store, pages: dict[str, str | None], retention: Retention | None = None) -> int:
    """One run that saves the pages, or deletes those whose text is None; returns the last change before it."""
    before = store.last_seq()
    known = store.page_states()
    store.begin_run("crawl", {}, retention=retention)
    for path, text in pages.items():
        page = record(path, text)
        if text is None:
            store.delete_page(page.key, "not-found")
        else:
            store.save_page(page, "changed" if page.key in known else "new")
    store.finish_run("finished", complete=True, why=None, counts={})
    return before


def texts(store: Store, since: int) -> dict[str, list[str]]:
    """The earlier contents of the pages that changed since, by the last part of their path."""
    found = store.history_since(since)
    return {
        one.now.record.url.rpartition("/")[2]: [old.content for old in one.versions]
        for one in found
    }


def test_the_contents_of_changed_and_deleted_pages_are_kept(place: Place):
    store = place.open()
    crawl(store, {"a": "one\n", "b": "b\n", "c": "c\n"})
    since = crawl(store, {"a": "two\n", "b": None})
    crawl(store, {"a": "three\n"})
    assert texts(store, since) == {"b": ["b\n"], "a": ["one\n", "two\n"]}
    a = next(one for one in store.history_since(since) if one.now.record.url.endswith("/a"))
    assert [(old.seq, old.run, old.content_hash) for old in a.versions] == [
        (1, 1, record("a", "one\n").content_hash),
        (4, 2, record("a", "two\n").content_hash),
    ]
    assert (a.now.change, a.was_new, a.now.record.content) == ("changed", False, "three\n")


def test_pages_are_as_they_were_after_a_run_however_they_went_on(place: Place):
    store = place.open()
    crawl(store, {"a": "one\n", "b": "b\n", "c": "c\n"})
    second = crawl(store, {"a": "two\n", "b": None, "d": "d\n"})
    third = crawl(store, {"a": "three\n", "b": "again\n", "d": None})

    def night(since: int, until: int | None) -> dict[str, tuple[str, str | None, list[str]]]:
        return {
            one.now.record.url.rpartition("/")[2]: (
                one.now.change,
                one.now.record.content,
                [old.content for old in one.versions],
            )
            for one in store.history_since(since, until)
        }

    assert night(0, second) == {
        "a": ("new", "one\n", []),
        "b": ("new", "b\n", []),
        "c": ("new", "c\n", []),
    }
    assert night(second, third) == {
        "a": ("changed", "two\n", ["one\n"]),
        "b": ("deleted", None, ["b\n"]),
        "d": ("new", "d\n", []),
    }
    assert night(third, None) == night(third, store.last_seq())
    runs = {one.now.run for one in store.history_since(second, third)}
    assert runs == {store.runs()[1].id}


def test_two_changes_of_a_page_in_one_batch_lose_neither(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    for text in ("one\n", "two\n", "three\n"):
        store.save_page(record("a", text), "changed")
    assert texts(store, 0) == {"a": ["one\n", "two\n"]}


def test_a_page_that_is_saved_unchanged_adds_nothing(place: Place):
    store = place.open()
    crawl(store, {"a": "one\n"})
    store.begin_run("crawl", {})
    store.save_page(record("a", "one\n", title="another"), "unchanged")
    assert texts(store, 0) == {"a": []}


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(2), ["three\n", "four\n"]),
        (Retention(0), []),
        (Retention(0, days=30), ["one\n", "two\n", "three\n", "four\n"]),
    ],
    ids=["the last two", "none", "those of 30 days"],
)
def test_what_is_beyond_the_setting_is_dropped_when_a_run_ends(
    place: Place, retention: Retention, kept: list[str]
):
    store = place.open()
    for text in ("one\n", "two\n", "three\n", "four\n", "five\n"):
        crawl(store, {"a": text, "b": "same\n"} if text == "one\n" else {"a": text}, retention)
    assert texts(store, 0) == {"a": kept, "b": []}


def test_contents_that_were_replaced_too_long_ago_are_dropped(place: Place):
    store = place.open()
    for text in ("one\n", "two\n", "three\n"):
        crawl(store, {"a": text})
    long_ago = (datetime.now(UTC) - timedelta(days=31)).timestamp()
    with store._database.writing() as connection:
        connection.execute(update(version).where(version.c.seq == 1).values(replaced_at=long_ago))
    crawl(store, {"b": "b\n"}, Retention(0, days=30))
    assert texts(store, 0)["a"] == ["two\n"]


def test_the_size_of_what_is_kept_is_told(place: Place):
    store = place.open()
    assert store.history_size() == (0, 0)
    crawl(store, {"a": "one\n" * 1000})
    crawl(store, {"a": "two\n"})
    number, size = store.history_size()
    assert number == 1
    assert 0 < size < 4000


def test_a_moment_leads_to_the_last_change_before_it(place: Place):
    store = place.open()
    crawl(store, {"a": "one\n", "b": "b\n"})
    with store._database.writing() as connection:
        hour_ago = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
        connection.execute(update(change).where(change.c.seq == 1).values(at=hour_ago))
    now = datetime.now(UTC)
    assert [store.seq_at(now - timedelta(hours=hours)) for hours in (2, 0.5)] == [0, 1]
    assert store.seq_at(now + timedelta(hours=1)) == 2


def test_they_go_with_their_source(place: Place):
    store = place.open()
    crawl(store, {"a": "one\n"})
    crawl(store, {"a": "two\n"})
    store.close()
    Store.delete(place.url, place.data_dir, NAME)
    again = place.open()
    with again._database.snapshot() as connection:
        assert connection.execute(select(version)).all() == []


@pytest.mark.parametrize("value", ["", "five", "-1", "5 weeks", "1.5", "9" * 30, None])
def test_a_setting_that_is_neither_number_nor_days_is_refused(value: object):
    with pytest.raises(ValueError, match="neither a number"):
        Retention.parse(value)
