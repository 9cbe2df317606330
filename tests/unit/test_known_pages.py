"""What is asked again, with which headers, and what is deleted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from llmsspider.crawler.deletions import DeletionPlan, plan_deletions, runs_needed
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.pages import PageResponse, PageResult
from llmsspider.crawler.readings import Readings
from llmsspider.crawler.settle import Drop
from llmsspider.crawler.source_memory import Doubts
from llmsspider.items import Page, PageMeta
from llmsspider.store import PageState, Reading, SourceRecord, open_store
from llmsspider.web.outcomes import clean_validator, validators
from llmsspider.web.urls import page_key

URL = "https://e.com/guide.html"
MARKDOWN = "https://e.com/guide.html.md"
ACCEPT = "text/markdown, text/html;q=0.9, */*;q=0.8"
HASH = "ab" * 32
STATE = PageState(
    key=page_key(URL),
    url=URL,
    fetched_url=URL,
    validators_url=URL,
    accept=ACCEPT,
    etag='"1"',
    last_modified="Sat, 21 Nov 2026 22:00:00 GMT",
    raw_hash=bytes.fromhex(HASH),
    content_hash=b"\1" * 32,
    extractor_version="7:html",
    origin="html",
    depth=0,
)
SENT = {"If-None-Match": '"1"', "If-Modified-Since": "Sat, 21 Nov 2026 22:00:00 GMT"}


def known(*states: PageState, trusted: bool = True) -> KnownPages:
    return KnownPages({state.key: state for state in states}, {}, "7:html", trusted=trusted)


@pytest.mark.parametrize(
    ("state", "url", "accept", "expected"),
    [
        pytest.param(STATE, URL, ACCEPT, SENT, id="exactly what was stored"),
        pytest.param(STATE, URL, None, SENT, id="a request that names no representation"),
        pytest.param(replace(STATE, accept=None), URL, ACCEPT, SENT, id="a store that noted none"),
        pytest.param(STATE, URL, "text/html", {}, id="another representation"),
        pytest.param(STATE, MARKDOWN, ACCEPT, {}, id="another URL of the same page"),
        pytest.param(STATE, f"{URL}?a=1", ACCEPT, {}, id="another query"),
        pytest.param(
            replace(STATE, extractor_version="6:html"), URL, ACCEPT, {}, id="an older extractor"
        ),
        pytest.param(replace(STATE, content_hash=None), URL, ACCEPT, {}, id="the content is gone"),
        pytest.param(
            replace(STATE, origin="llms-full"), URL, ACCEPT, {}, id="part of a full-text file"
        ),
        pytest.param(
            replace(STATE, etag=None, last_modified=None), URL, ACCEPT, {}, id="no validators"
        ),
        pytest.param(
            replace(STATE, last_modified=None),
            URL,
            ACCEPT,
            {"If-None-Match": '"1"'},
            id="an ETag alone",
        ),
        pytest.param(
            replace(STATE, etag='"1"\r\nX-Evil: 1\0', last_modified="\x7f\n"),
            URL,
            ACCEPT,
            {"If-None-Match": '"1"X-Evil: 1'},
            id="control characters",
        ),
        pytest.param(
            replace(STATE, fetched_url=MARKDOWN, validators_url=MARKDOWN),
            MARKDOWN,
            ACCEPT,
            SENT,
            id="the Markdown of the page",
        ),
        pytest.param(
            replace(STATE, fetched_url=MARKDOWN, validators_url=MARKDOWN),
            URL,
            ACCEPT,
            {},
            id="the page where its Markdown was stored",
        ),
    ],
)
def test_validators_are_sent_for_exactly_what_they_belong_to(state, url, accept, expected):
    assert known(state).conditional_headers(url, accept) == expected


def test_a_full_crawl_sends_none_and_compares_no_bodies():
    pages = known(STATE, trusted=False)
    assert pages.conditional_headers(URL, ACCEPT) == {}
    assert not pages.same_body(STATE.key, URL, HASH)


@pytest.mark.parametrize(
    ("state", "url", "raw", "expected"),
    [
        pytest.param(STATE, URL, HASH, True, id="the same"),
        pytest.param(STATE, URL, "cd" * 32, False, id="another body"),
        pytest.param(STATE, MARKDOWN, HASH, False, id="the same body from another URL"),
        pytest.param(
            replace(STATE, extractor_version="6:html"),
            URL,
            HASH,
            False,
            id="made by an older extractor",
        ),
        pytest.param(replace(STATE, content_hash=None), URL, HASH, False, id="the content is gone"),
        pytest.param(replace(STATE, raw_hash=None), URL, HASH, False, id="the body was not hashed"),
        pytest.param(replace(STATE, key=b"x" * 16), URL, HASH, False, id="another page"),
    ],
)
def test_a_body_is_the_stored_one(state, url, raw, expected):
    assert known(state).same_body(page_key(URL), url, raw) is expected


def test_a_304_stands_for_the_page_whose_validators_were_sent():
    markdown = replace(STATE, fetched_url=MARKDOWN, validators_url=MARKDOWN)
    assert known(markdown).validated(MARKDOWN) is markdown
    assert known(markdown).validated(URL) is None


def test_another_spelling_is_its_page():
    pages = known(STATE)
    pages.aliases[b"other"] = STATE.key
    assert pages.state(b"other") is STATE
    pages.record_outcome(b"other", "gone")
    assert pages.outcomes == {STATE.key: "gone"}


def test_the_outcome_of_a_page_that_is_not_stored_is_nobodys():
    pages = known(STATE)
    pages.record_outcome(b"unknown", "gone")
    assert pages.outcomes == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        ('"a"', '"a"'),
        ("\t\r\n", None),
        ('W/"a\x00b"', 'W/"ab"'),
        (' "a" ', '"a"'),
    ],
    ids=repr,
)
def test_a_validator_is_cleaned(value, expected):
    assert clean_validator(value) == expected


def test_no_header_without_a_value():
    assert validators("\r", None) == {}


# What is deleted


def plan(
    found: KnownPages, inside: set[bytes], doubts: Doubts | None = None, **given
) -> DeletionPlan:
    """Plan deletions; nothing names the pages, and none has a document in this run, unless `given` says so."""
    nothing = {
        "unreached": set(found.outcomes),
        "named": set(),
        "present": set(),
        "links": lambda _keys: set(),
    }
    return plan_deletions(found, inside, again=(doubts or Doubts()).again, **nothing | given)


def planned(
    outcomes: dict[int, str],
    pages: int,
    *,
    confirmed: bool = False,
    outside: frozenset[int] = frozenset(),
):
    """Plan the deletions of `pages` stored pages, some of which have an outcome and some are out of bounds."""
    keys = {number: number.to_bytes(16, "big") for number in range(pages)}
    found = KnownPages({key: replace(STATE, key=key) for key in keys.values()})
    for number, outcome in outcomes.items():
        found.record_outcome(keys[number], outcome)
    inside = {key for number, key in keys.items() if number not in outside}
    verdict = plan(found, inside, confirmed=confirmed)
    number = {key: n for n, key in keys.items()}
    return (
        {number[key]: reason for key, reason in verdict.delete.items()},
        sorted(number[key] for key in verdict.keep),
        verdict.blocked_by,
    )


@pytest.mark.parametrize(
    ("outcome", "deleted", "kept"),
    [
        ("gone", {0: "gone"}, []),
        ("moved", {0: "moved"}, []),
        ("dropped", {0: "dropped"}, []),
        ("unlinked", {}, [0]),
        ("kept", {}, [0]),
        ("failed", {}, []),
    ],
)
def test_each_outcome(outcome, deleted, kept):
    assert planned({0: outcome}, 10) == (deleted, kept, None)


@pytest.mark.parametrize(
    ("pages", "gone", "held"),
    [
        pytest.param(10, 3, False, id="exactly 30 percent go"),
        pytest.param(100, 30, False, id="exactly 30 percent of 100"),
        pytest.param(100, 31, True, id="31 percent are held"),
        pytest.param(6, 3, True, id="three of six are too many"),
        pytest.param(10, 4, True, id="40 percent are held"),
        pytest.param(3, 1, False, id="small sources count pages: one of three goes"),
        pytest.param(3, 2, True, id="two of three are more than half"),
        pytest.param(4, 2, False, id="two of four go"),
        pytest.param(4, 1, False, id="one of four is not"),
        pytest.param(1, 1, True, id="the only page"),
    ],
)
def test_more_than_30_percent_go_only_when_confirmed(pages, gone, held):
    outcomes = dict.fromkeys(range(gone), "gone")
    deleted, kept, why = planned(outcomes, pages)
    assert (why is not None) is held
    assert len(deleted) == (0 if held else gone)
    assert kept == (list(range(gone)) if held else [])
    assert len(planned(outcomes, pages, confirmed=True)[0]) == gone


def test_the_guard_says_what_would_go_and_how_to_confirm():
    _, _, held = planned({0: "gone", 1: "gone", 2: "moved"}, 4)
    assert "3 of 4 pages would be deleted (gone 2, moved 1)" in held
    assert "-a confirm_deletions=true" in held


ANSWERS = {
    "404 or 410": {"outcome": "gone", "reason": "not-found"},
    "redirect for good": {"outcome": "moved"},
    "redirect for good to a document": {"outcome": "moved", "arrived": True},
    "redirect of several to one document": {"outcome": "moved", "arrived": True, "shared": True},
    "redirect for now": {"outcome": "moved", "arrived": True, "for_now": True},
    "redirect of several to one for now": {"outcome": "moved", "shared": True, "for_now": True},
    "no text": {"outcome": "dropped", "reason": "empty"},
    "soft 404": {"outcome": "dropped", "reason": "soft-404"},
    "JSON": {"outcome": "dropped", "reason": "unsupported-type"},
    "opted out": {"outcome": "dropped", "reason": "noindex"},
    "dropped by a pipeline": {"outcome": "dropped", "reason": "pipeline"},
    "as ever": {"outcome": "unlinked"},
}
RUNS_NEEDED = [  # where something names the page, where nothing does; None: it is no case
    ("404 or 410", 2, 1),
    ("redirect for good", 2, 1),
    ("redirect for good to a document", 0, 0),
    ("redirect of several to one document", 2, 2),
    ("redirect for now", 2, 2),
    ("redirect of several to one for now", 7, 7),
    ("no text", 2, None),
    ("soft 404", 2, None),
    ("JSON", 2, None),
    ("opted out", 1, None),
    ("dropped by a pipeline", 0, None),
    ("as ever", None, 3),
]


@pytest.mark.parametrize(
    ("answer", "named", "unnamed"), RUNS_NEEDED, ids=[row[0] for row in RUNS_NEEDED]
)
def test_gone_takes_two_witnesses_or_further_nights(answer, named, unnamed):
    for is_named, expected in ((True, named), (False, unnamed)):
        if expected is not None:
            assert runs_needed(**ANSWERS[answer], named=is_named) == expected


@pytest.mark.parametrize(
    ("outcome", "named", "nights"),
    [
        ("gone", True, 2),
        ("gone", False, 1),
        ("moved", True, 2),
        ("unlinked", False, 3),
        ("dropped", True, 1),
    ],
)
def test_a_page_goes_in_the_night_that_confirms_it(outcome, named, nights):
    keys = {bytes([number]) * 16 for number in range(10)}
    key, kept = min(keys), None
    for night in range(1, nights + 1):
        found = KnownPages({one: replace(STATE, key=one) for one in keys})
        found.record_outcome(key, outcome)
        doubts = Doubts(kept)
        verdict = plan(found, keys, doubts, named=keys if named else set())
        assert set(verdict.delete) == ({key} if night == nights else set())
        assert (set(verdict.keep), set(verdict.waits)) == (
            ({key},) * 2 if night < nights else (set(), set())
        )
        kept = json.loads(json.dumps(doubts.to_keep(complete=True)))


def test_other_answers_and_incomplete_runs_in_between():
    doubts = Doubts({"01": ["not-found ", 1], "02": ["unlinked ", 2]})
    assert doubts.to_keep(complete=True) == {}, "the pages are there again"
    assert doubts.to_keep(complete=False) == {"01": ("not-found ", 1), "02": ("unlinked ", 2)}
    assert doubts.to_keep(complete=False, seen={"01"}) == {"02": ("unlinked ", 2)}
    assert doubts.to_keep(complete=True, listed=False) == {"02": ("unlinked ", 2)}
    assert doubts.again(b"\x01", "moved ") == 1


def test_what_only_pages_in_doubt_link_to_is_in_doubt_with_them():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    for key in keys[:3]:
        found.record_outcome(key, "gone", "not-found")
    links = {keys[0]: {keys[1], b"no page"}, keys[1]: {keys[0]}}
    verdict = plan(
        found,
        set(keys),
        named={keys[0]},
        links=lambda asked: {link for key in asked for link in links.get(key, ())},
    )
    assert (set(verdict.delete), set(verdict.waits)) == ({keys[2]}, {*keys[:2]})


def test_more_than_30_percent_at_once_take_a_second_night():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    for key in keys[:6]:
        found.record_outcome(key, "gone", "not-found")
    first = Doubts()
    held = plan(found, set(keys), first)
    assert (held.delete, len(held.waits)) == ({}, 6)
    assert held.blocked_by is not None
    del found.outcomes[keys[0]]  # it answers again
    second = plan(found, set(keys), Doubts(first.to_keep(complete=True)))
    assert (set(second.delete), second.blocked_by) == ({*keys[1:6]}, None)


def test_what_moved_to_a_document_of_this_run_needs_no_guard():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    for key in keys:
        found.moved(key, b"new " + key)
    assert plan(found, set(keys)).delete == {}
    there = plan(found, set(keys), present={b"new " + key for key in keys[:8]})
    assert (set(there.delete), there.blocked_by) == (set(keys), None)


@pytest.mark.parametrize(
    ("sharing", "for_now", "text_is_there", "nights"),
    [(1, 0, False, 1), (2, 0, False, 2), (2, 0, True, 1), (2, 2, False, 7), (1, 1, False, 2)],
    ids=["one", "two", "two whose text is there", "two for now", "one for now"],
)
def test_several_pages_that_moved_to_one_wait(sharing, for_now, text_is_there, nights):
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    for number, key in enumerate(keys[:sharing]):
        found.moved(key, keys[9], for_good=number >= for_now)
        if text_is_there:
            found.has_its_text.add(key)
    kept = None
    for night in range(1, nights + 1):
        doubts = Doubts(kept)
        verdict = plan(found, set(keys), doubts, present={keys[9]})
        assert set(verdict.delete) == (set(keys[:sharing]) if night == nights else set())
        kept = doubts.to_keep(complete=True)


def test_a_redirect_for_now_of_a_page_that_is_named_is_believed_later():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    found.moved(keys[0], keys[9], for_good=False)
    found.has_its_text.add(keys[0])
    assert set(plan(found, set(keys), present={keys[9]}).delete) == {keys[0]}
    assert plan(found, set(keys), present={keys[9]}, named={keys[0]}).delete == {}


def test_what_is_believed_at_once_is_no_doubt():
    doubts = Doubts()
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    found.record_outcome(keys[0], "gone", "not-found")
    assert set(plan(found, set(keys), doubts).delete) == {keys[0]}
    assert doubts.to_keep(complete=True) == {}


def test_a_refresh_deletes_what_is_gone_alone():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    found.record_outcome(keys[0], "gone", "not-found")
    found.moved(keys[1], keys[9])
    found.record_outcome(keys[2], "unlinked")
    found.record_outcome(keys[3], "kept")
    verdict = plan(found, set(keys), present={keys[9]}, only_gone=True)
    assert (set(verdict.delete), set(verdict.keep)) == ({keys[0]}, {keys[1], keys[3]})


def test_a_part_goes_with_the_page_that_it_is_of():
    url = "https://e.com/one.html"
    own = f"{url}?part=1"
    part = replace(STATE, key=page_key(own), url=own, validators_url=own, origin="text")
    whole = replace(STATE, key=page_key(url), url=url)
    assert part.is_part
    assert part.whole_url == url
    found = known(part, whole, *(replace(STATE, key=bytes([n]) * 16) for n in range(8)))
    found.record_outcome(part.key, "unlinked")
    assert plan(found, set(found.states)).delete == {}
    found.record_outcome(whole.key, "gone", "not-found")
    assert set(plan(found, set(found.states)).delete) == {part.key, whole.key}


def test_canonical_links_of_pages_that_answer_as_ever_need_the_guard():
    keys = [bytes([number]) * 16 for number in range(10)]
    found = KnownPages({key: replace(STATE, key=key) for key in keys})
    there = {b"new " + key for key in keys}
    for key in keys[:6]:
        found.moved(key, b"new " + key)
        found.canonical_elsewhere.add(key)
    held = plan(found, set(keys), present=there)
    assert (held.delete, len(held.waits)) == ({}, 6)
    del found.outcomes[keys[0]], found.outcomes[keys[1]], found.outcomes[keys[2]]
    del found.outcomes[keys[3]]
    assert set(plan(found, set(keys), present=there).delete) == set(keys[4:6])


def test_a_page_that_has_a_document_in_this_run_is_not_deleted():
    key = STATE.key
    found = known(STATE, replace(STATE, key=b"other"))
    found.record_outcome(key, "gone")
    assert plan(found, {key, b"other"}, unreached={b"other"}, confirmed=True).delete == {}
    assert plan(found, {key, b"other"}, unreached={key}, confirmed=True).delete == {key: "gone"}


def test_pages_outside_the_bounds_of_the_run_are_not_deleted():
    assert planned({0: "gone", 1: "gone", 2: "kept"}, 10, outside=frozenset({0, 2})) == (
        {1: "gone"},
        [],
        None,
    )


# Answers that are no pages


def test_an_answer_is_asked_again_with_its_validators_and_restored(tmp_path):
    url = "https://e.com/llms.txt"
    with open_store(None, tmp_path, "e.com") as store:
        store.upsert_source(SourceRecord("e.com", "https://e.com/"))
        store.begin_run("crawl", {})
        known = KnownPages(store=store)
        headers = {
            "etag": '"1"',
            "content-type": "text/plain",
            "set-cookie": "secret=1",
            "link": "</x>",
        }
        known.keep_reading(Reading(url, ACCEPT, headers=headers, body=b"# Site\n" * 1000))
        plain = "https://e.com/plain"
        known.keep_reading(
            Reading(plain, ACCEPT, headers={"content-type": "text/plain"}, body=b"no validators")
        )
        store.flush()
        assert known.conditional_headers(url, ACCEPT, read_by="") == {"If-None-Match": '"1"'}
        assert known.conditional_headers(url, "text/html", read_by="") == {}
        assert known.conditional_headers(url, ACCEPT, read_by="1 listed=True") == {}
        assert known.conditional_headers(url, ACCEPT) == {}
        assert known.conditional_headers(plain, ACCEPT, read_by="") == {}
        restored = known.reading(url, ACCEPT)
        assert restored is not None
        assert restored.body == b"# Site\n" * 1000
        assert restored.headers == {"content-type": "text/plain", "link": "</x>"}
        in_full = KnownPages(store=store, trusted=False)
        assert in_full.conditional_headers(url, ACCEPT, read_by="") == {}
        assert known.reading("https://e.com/unknown", ACCEPT) is None


def test_without_a_store_nothing_is_kept():
    nothing = KnownPages()
    nothing.keep_reading(Reading(URL, None, headers={"etag": '"1"'}))
    assert nothing.conditional_headers(URL, None, read_by="") == {}
    assert nothing.reading(URL, None) is None


def test_a_date_in_the_future_is_not_asked_with() -> None:
    past, future = "Wed, 15 Nov 2023 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
    assert validators(None, past) == {"If-Modified-Since": past}
    assert validators('"a"', future) == {"If-None-Match": '"a"'}
    assert validators(None, "yesterday at noon") == {"If-Modified-Since": "yesterday at noon"}


@pytest.mark.parametrize(
    ("states", "aliases", "url", "expected"),
    [
        ({STATE.key: STATE}, {}, "https://e.com/other", True),
        (
            {STATE.key: STATE},
            {},
            "http://E.com:8080/other",
            True,
        ),  # another port is told by its key
        ({STATE.key: STATE}, {}, "https://bugs.e.com/issue?id=1", False),
        ({STATE.key: STATE}, {page_key("https://old.com/a"): STATE.key}, "https://old.com/a", True),
        ({}, {}, URL, False),
    ],
)
def test_the_host_tells_what_cannot_be_stored(states, aliases, url, expected):
    assert KnownPages(states, aliases).may_hold(url) is expected


@pytest.mark.parametrize(("body", "is_false"), [(b"<ul>", False), (b"<ol>", True)])
def test_what_is_read_otherwise_of_the_same_body_is_no_false_304(tmp_path, body, is_false):
    def answer(body: bytes) -> PageResponse:
        return PageResponse(URL, URL, 200, {"etag": '"1"'}, body, "2026-11-28T12:00:00+00:00")

    page = PageResult(Page("", [], [], PageMeta()), "html")
    with open_store(None, tmp_path, "e.com") as store:
        store.upsert_source(SourceRecord("e.com", "https://e.com/"))
        store.begin_run("crawl", {})
        noted: list[str] = []
        readings = Readings(KnownPages(store=store, number=2), "", noted.append)
        readings.keep(Drop("listing", "nothing but links"), page, answer(b"<ul>"), listed=False)
        store.flush()
        readings.keep(Drop("listing", "it lists more"), page, answer(body), listed=False)

    assert noted == [URL] * is_false
