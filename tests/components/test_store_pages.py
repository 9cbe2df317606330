"""Pages: what goes into the store comes out of it, and every change can be read by its number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from stores import SITE, Place, full_record, record

from llmsspider.errors import StoreError
from llmsspider.items import Link, LlmsEntry
from llmsspider.store import CONTENT, LINKS, OUTLINE, WHOLE, Reading, Retention


def replayed(store, since):
    return [
        (page.record.url.removeprefix(SITE), page.change, page.seq)
        for page in store.changes_since(since)
    ]


def test_a_page_comes_back_as_it_was_saved(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved = full_record()
    store.save_page(saved, "new")
    assert store.load_page(saved.key) == saved
    store.close()
    assert place.open().load_page(saved.key) == saved


def test_only_the_parts_asked_for_are_read(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved, gone, other = full_record(), record("gone"), record("other")
    for page in (saved, gone, other):
        store.save_page(page, "new")
    store.delete_page(gone.key, "not-found")
    bare = {"content": None, "links": [], "follow": []}
    expected = {
        WHOLE: saved,
        CONTENT: replace(saved, links=[], follow=[]),
        LINKS: replace(saved, content=None),
        OUTLINE: replace(saved, **bare),
    }
    for parts, found in expected.items():
        assert next(page.record for page in store.iter_pages(parts=parts)) == found
        keys = [other.key, gone.key, b"nobody", saved.key]
        assert [page and page.url for page in store.load_pages(keys, parts)] == [
            other.url,
            None,
            None,
            saved.url,
        ]
        assert list(store.load_pages([saved.key], parts)) == [found]
        assert next(page.record for page in store.changes_since(0, parts)) == found
    pairs = [[link.text, link.url] for link in saved.links]
    known = [list(one) for one in saved.heading_ids] or None
    assert store.links_of([saved.key, gone.key, b"nobody"]) == {saved.key: (pairs, known)}


def test_the_state_of_a_page_holds_what_the_next_request_needs(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved = full_record()
    store.save_page(saved, "new")
    state = store.page_states()[saved.key]
    assert (state.url, state.fetched_url, state.validators_url) == (
        saved.url,
        saved.fetched_url,
        saved.fetched_url,
    )
    assert (state.etag, state.last_modified, state.accept) == (
        saved.etag,
        saved.last_modified,
        saved.accept,
    )
    assert state.content_hash == bytes.fromhex(saved.content_hash or "")
    assert state.raw_hash == bytes.fromhex(saved.raw_hash or "")
    assert (state.extractor_version, state.origin, state.depth) == ("1", "markdown", 3)


def test_validators_of_another_url_stay_with_that_url(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved = record("a", fetched_url=SITE + "a.md", validators_url=SITE + "a.html", etag='"1"')
    store.save_page(saved, "new")
    assert store.page_states()[saved.key].validators_url == SITE + "a.html"
    fresh = {"etag": '"2"', "validators_url": SITE + "a.md", "accept": "text/markdown"}
    store.touch_page(replace(saved, last_modified=None, **fresh))
    state = store.page_states()[saved.key]
    assert (state.etag, state.last_modified, state.validators_url) == ('"2"', None, SITE + "a.md")


def test_changes_are_numbered_and_unchanged_pages_are_not(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    assert [store.save_page(record(path), "new") for path in "abc"] == [1, 2, 3]
    assert store.save_page(record("a", "# A2\n"), "changed") == 4
    assert store.save_page(record("b", raw_hash="00" * 32), "unchanged") is None
    assert store.delete_page(record("c").key, "unlinked") == 5
    assert replayed(store, 0) == [("b", "new", 2), ("a", "new", 4), ("c", "deleted", 5)]
    assert replayed(store, 3) == [("a", "changed", 4), ("c", "deleted", 5)]
    assert replayed(store, 5) == []
    assert store.last_seq() == 5


def test_an_unchanged_save_keeps_the_new_body_state(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a", follow=[SITE]), "new")
    store.save_page(record("a", raw_hash="00" * 32, follow=[SITE, SITE + "new"]), "unchanged")
    loaded = store.load_page(record("a").key)
    assert loaded is not None
    assert (loaded.raw_hash, loaded.follow) == ("00" * 32, [SITE, SITE + "new"])


def test_a_tombstone_keeps_address_and_loses_content(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved = full_record()
    store.save_page(saved, "new")
    seq = store.delete_page(saved.key, "not_found")
    assert store.load_page(saved.key) is None
    assert store.page_states() == {}
    assert list(store.iter_pages()) == []
    (tombstone,) = store.changes_since(0)
    assert (tombstone.change, tombstone.reason, tombstone.seq) == ("deleted", "not_found", seq)
    document = tombstone.record.document(source="s", run="r", seq=seq, change="deleted")
    assert (document.url, document.content, document.content_hash, document.links) == (
        saved.url,
        None,
        None,
        [],
    )


def test_a_page_that_comes_back_is_changed_for_who_knew_it_and_new_for_who_knew_it_gone(
    place: Place,
):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    gone = store.delete_page(record("a").key, "not_found")
    back = store.save_page(record("a", "# again\n"), "new")
    assert replayed(store, 1) == [("a", "changed", back)]
    assert replayed(store, gone) == [("a", "new", back)]
    loaded = store.load_page(record("a").key)
    assert loaded is not None
    assert loaded.content == "# again\n"


def test_an_unchanged_save_does_not_raise_the_dead(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    store.delete_page(record("a").key, "not_found")
    store.flush()
    store.save_page(record("a"), "unchanged")
    store.touch_page(record("a"))
    assert store.load_page(record("a").key) is None
    assert replayed(store, 0)[0][1] == "deleted"


def test_a_touch_sets_what_the_run_learned(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    saved = full_record()
    store.save_page(saved, "new")
    entry = LlmsEntry(SITE + "llms.txt", None, None, None, 0)
    learned = {
        "depth": 1,
        "discovered_by": "sitemap",
        "fetched_at": "2027-01-01T00:00:00Z",
        "llms": entry,
    }
    store.touch_page(
        replace(saved, **learned, status=304, etag=None, last_modified=None, title="not written")
    )
    loaded = store.load_page(saved.key)
    assert loaded is not None
    assert (loaded.depth, loaded.discovered_by, loaded.llms, loaded.status) == (
        1,
        "sitemap",
        entry,
        304,
    )
    assert (loaded.fetched_at, loaded.etag, loaded.content) == (
        "2027-01-01T00:00:00Z",
        saved.etag,
        saved.content,
    )


def test_a_change_after_an_unchanged_save_holds(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    store.flush()
    store.save_page(record("a", raw_hash="00" * 32, title="Same"), "unchanged")
    store.save_page(record("a", "# changed\n", title="Changed"), "changed")
    loaded = store.load_page(record("a").key)
    assert loaded is not None
    assert (loaded.title, loaded.content) == ("Changed", "# changed\n")


def test_operations_on_one_page_are_written_in_their_order(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    for _ in range(20):
        store.save_page(record("a"), "new")
        store.touch_page(record("a", depth=9))
        store.delete_page(record("a").key, "gone")
        store.save_page(record("a", "# last\n"), "new")
    loaded = store.load_page(record("a").key)
    assert loaded is not None
    assert (loaded.content, loaded.depth) == ("# last\n", 0)
    assert store.last_seq() == 60


HOSTILE = {
    "nul and lone surrogate in text": (
        {"title": "a\0b\ud800", "url": SITE + "a\0"},
        "title",
        "ab?",
    ),
    "control characters in a validator": ({"etag": '"a\r\nX: 1\x7f"'}, "etag", '"aX: 1"'),
    "a validator of nothing else": ({"last_modified": "\r\n"}, "last_modified", None),
    "a number no database holds": ({"markdown_tokens": 10**30}, "markdown_tokens", None),
    "a status no database holds": ({"status": -(10**12)}, "status", None),
    "surrogates in content": ({"content": "a\udcff\n"}, "content", "a?\n"),
    "surrogates in a link": ({"links": [Link("\ud800x", SITE)]}, "links", [Link("?x", SITE)]),
    "surrogates in a followed URL": ({"follow": [SITE + "\ud800"]}, "follow", [SITE + "?"]),
    "nul in a link": ({"links": [Link("\0x", SITE)]}, "links", [Link("\0x", SITE)]),
}


@pytest.mark.parametrize(("fields", "name", "expected"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_a_hostile_site_sends_is_made_storable(place: Place, fields, name, expected):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a", **fields), "new")
    store.save_page(record("beside"), "new")
    store.record_error("u\0", "network", "reset\0\ud800", 10**20)
    store.record_filtered("u\ud800", "out-of-scope", "\0rule")
    loaded = store.load_page(record("a").key)
    assert getattr(loaded, name) == expected
    assert store.load_page(record("beside").key) is not None


def test_joined_spellings_are_remembered(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    store.save_page(record("a"), "new")
    store.add_alias(record("a.html").key, record("a").key, SITE + "a.html")
    store.add_alias(record("a.html").key, record("a").key, SITE + "a.html")
    store.close()
    store = place.open()
    assert store.aliases() == {record("a.html").key: record("a").key}
    for url in (SITE + "a", SITE + "a.html"):
        found = store.page_by_url(url)
        assert found is not None
        assert found.url == SITE + "a"
    assert store.page_by_url(SITE + "b") is None


def test_pages_stream_in_the_order_asked(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    for path, depth in [("c", 1), ("a", 2), ("b", 0)]:
        store.save_page(record(path, depth=depth), "new")

    def paths(order):
        return "".join(page.record.url[-1] for page in store.iter_pages(order))

    assert (paths("found"), paths("depth"), paths("url")) == ("cab", "bca", "abc")


def test_a_stream_shows_one_moment(place: Place):
    writing, reading = place.open(), place.open()
    writing.begin_run("crawl", {})
    for number in range(500):
        writing.save_page(record(f"p{number}"), "new")
    writing.flush()
    pages = reading.iter_pages()
    seen = [next(pages).record.url]
    writing.delete_page(record("p499").key, "gone")
    writing.save_page(record("new"), "new")
    writing.flush()
    seen += [page.record.url for page in pages]
    assert len(seen) == 500
    assert seen[-1] == SITE + "p499"
    assert reading.count_pages() == 500
    assert [page.change for page in reading.changes_since(500)] == ["deleted", "new"]


def test_a_store_without_a_run_refuses_to_write(place: Place):
    store = place.open()
    with pytest.raises(StoreError, match="no run has begun"):
        store.save_page(record(), "new")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.page_states()


def test_two_sources_keep_apart(place: Place):
    one, two = place.open("one"), place.open("two")
    for store in (one, two):
        store.begin_run("crawl", {})
    assert one.save_page(record("a"), "new") == 1
    assert two.save_page(record("a", "# other\n"), "new") == 1
    assert one.delete_page(record("a").key, "gone") == 2
    kept = two.load_page(record("a").key)
    assert kept is not None
    assert kept.content == "# other\n"
    assert one.load_page(record("a").key) is None


def test_content_and_its_hash_are_written_together_or_not_at_all(place: Place):
    store = place.open()
    store.begin_run("crawl", {})
    with pytest.raises(ValueError, match="not that of its content_hash"):
        store.save_page(record("a", "# A wall\n", content_hash=record("a").content_hash), "new")
    assert store.load_page(record("a").key) is None
    assert store.last_seq() == 0


def test_what_is_replaced_is_gone_from_the_file(tmp_path: Path):
    place = Place(None, tmp_path)
    for title in ("Needle of the first edition", "Second"):
        with place.open() as store:
            store.begin_run("crawl", {}, retention=Retention(0))
            store.save_page(record(title=title * 20, content=f"# {title}\n"), "new")
    (file,) = tmp_path.glob("*.sqlite")
    assert b"Needle" not in file.read_bytes()


def test_what_was_read_of_a_page_stands_beside_its_body(tmp_path: Path):
    url, readings = SITE + "genindex.html", {"": b"<html>", "10 a": b"one", "10 b": b"two"}
    with Place(None, tmp_path).open() as store:
        store.begin_run("crawl", {})
        for read_by, body in readings.items():
            store.save_reading(Reading(url, "text/html", '"1"', None, {}, body, read_by))
        store.flush()
        keys = {read_by: Reading(url, "text/html", read_by=read_by).key for read_by in readings}
        found = {read_by: store.reading(key) for read_by, key in keys.items()}
    assert {read_by: reading.body for read_by, reading in found.items() if reading} == readings


def test_originals_are_dropped_but_not_what_was_made_the_same_way(tmp_path: Path):
    with Place(None, tmp_path).open() as store:
        store.begin_run("crawl", {})
        store.save_reading(Reading(SITE + "llms.txt", None, '"1"', None, {}, b"# Site"))
        for version, content in (("1", "# One\n"), ("2", "# Two\n"), ("2", "# Three\n")):
            store.save_page(record(content=content, extractor_version=version), "changed")
            store.flush()
        store.drop_originals("2")
        assert store.reading(Reading(SITE + "llms.txt", None).key) is None
        (history,) = store.history_since(0)
        assert [version.content for version in history.versions] == ["# Two\n"]
