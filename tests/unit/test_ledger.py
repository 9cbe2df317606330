"""What witnesses said, held against what pages showed: when one is believed, and when no longer."""

from dataclasses import replace
from math import inf

import pytest

from llmsspider.crawler.revisit import Ledger
from llmsspider.site.witnesses import BY_BUILD, Witness, by_build, by_lastmod, stems
from llmsspider.web.urls import loose_key, page_key

URLS = [f"https://e.com/p{number}" for number in range(6)]
KEYS = [page_key(url) for url in URLS]
ASKED = dict(zip(KEYS, URLS, strict=True))


def index(editions: dict[int, int], only: range = range(6)) -> Witness:
    return Witness(
        "index", str(editions), {loose_key(URLS[n]): str(editions.get(n, 1)) for n in only}
    )


class Nights:
    """Nights on which every page is requested; each begins with what the one before has stored."""

    def __init__(self) -> None:
        self.ledger, self.number = Ledger(), 0

    def __call__(self, *witnesses: Witness, changed: tuple[int, ...] = (), **more) -> list[str]:
        kept = self.ledger.to_json()
        self.number += 1
        self.ledger = Ledger(self.number)
        self.ledger.remember(kept)
        self.ledger.witnesses = list(witnesses)
        more.setdefault("text_of", lambda _key: "what the page says")
        return self.ledger.conclude(ASKED, [KEYS[n] for n in changed], **more)

    def is_proven(self, name: str = "index") -> bool:
        return self.ledger.histories[name].bound == inf


def test_a_witness_is_proven_by_three_nights_one_of_them_with_changes():
    nights = Nights()
    proven = []
    for editions, changed in (({}, ()), ({}, ()), ({2: 2}, (2,)), ({2: 2}, ()), ({2: 2}, ())):
        assert nights(index(editions), changed=changed) == []
        proven.append(nights.is_proven())

    assert proven == [False, False, False, True, True]
    assert nights.ledger.described(6, 0, 0) == "index, proven over 4 nights, 1 of 1 changes named"


def test_quiet_nights_are_believed_in_steps():
    nights = Nights()
    bounds = []
    for _ in range(7):
        nights(index({}))
        bounds.append(nights.ledger.histories["index"].bound)

    assert bounds == [0, 0, 0, 2, 4, 8, 16]
    nights(index({}), changed=(2,))
    assert nights.ledger.histories["index"].bound == 0


@pytest.mark.parametrize(
    ("said", "held", "holds"),
    [
        ("Installing tools takes seconds", "install the tools, it takes a second", True),
        ("Installing tools takes seconds", "install", False),
        ("", "install the tools", False),
    ],
    ids=["all words but their endings", "the title alone", "an empty page"],
)
def test_an_index_that_holds_what_pages_say_needs_no_night_with_changes(said, held, holds):
    nights = Nights()
    words = {loose_key(url): stems(held) for url in URLS}
    one = replace(index({}), words=words)
    for _ in range(4):
        nights(one, text_of=lambda _key: said)

    assert nights.is_proven() is holds


def test_a_hash_of_what_pages_hold_needs_no_night_with_changes():
    nights = Nights()
    for _ in range(4):
        nights(replace(index({}), hashes_pages=True))

    assert nights.is_proven()


@pytest.mark.parametrize(
    ("page", "is_carried"),
    [
        (b'<meta name="commit" content="1a2b3c4d">', True),
        (b'<meta name="commit" content="0a2b3c4d">', False),
        (b'<script>{"buildId":"1a2b3c4d"}</script>', False),
    ],
    ids=["all pages carry the commit", "pages were made of another one", "an application"],
)
def test_a_commit_that_all_pages_carry_needs_no_night_with_changes(page, is_carried):
    home = page.replace(b"0a2b", b"1a2b")
    nights = Nights()
    nights(by_build(home, URLS[0]))
    for night in range(4):
        for key, url in ASKED.items() if not night else ():  # later answers are 304s
            nights.ledger.page_read(key, url, page)
        nights.ledger.conclude(ASKED, (), text_of=str)
        nights(by_build(home, URLS[0]))

    assert nights.is_proven(BY_BUILD) is is_carried


@pytest.mark.parametrize(
    ("lastmod", "page", "modified", "stands"),
    [
        ("2026-01-02T10:00:00+00:00", b'<time datetime="2026-01-02T10:00:00.000Z">', "", True),
        ("2026-01-02T10:00:00Z", b'<time datetime="2026-01-03T10:00:00Z">', "", False),
        ("2026-01-02", b'<time datetime="2026-01-02">', "", False),
        ("2026-01-02", b"", "Fri, 02 Jan 2026 11:12:13 GMT", True),
        ("2026-01-02", b"", "Sat, 03 Jan 2026 11:12:13 GMT", False),
        ("2026-01-02T10:00:00Z", b"", "yesterday", False),
    ],
    ids=["the moment", "another day", "a day, which may be written by hand", "the server says it",
         "the server says another", "the server says no date"],
)  # fmt: skip
def test_a_page_carries_the_moment_that_a_sitemap_says(lastmod, page, modified, stands):
    witness = by_lastmod(dict.fromkeys(URLS, lastmod), "2026-02-01")

    assert witness.stands_in(page, URLS[1], modified) is stands


def test_a_change_that_was_not_named_is_a_mistake_and_the_proof_takes_twice_as_long():
    nights = Nights()
    for editions, changed in (({}, ()), ({2: 2}, (2,)), ({2: 2}, ()), ({2: 2}, ())):
        nights(index(editions), changed=changed)
    assert nights.is_proven()

    said = nights(index({2: 2}), changed=(3,))

    assert said == ["index did not name https://e.com/p3, which changed"]
    needed = 0
    while not nights.is_proven():
        needed += 1
        nights(index({2: 3}), changed=(2,) if needed == 1 else ())
    assert needed == 6


def test_of_a_page_that_it_does_not_name_the_file_speaks_as_a_whole():
    nights = Nights()
    nights(index({}, range(5)), index({}).whole())

    assert nights(index({0: 2}, range(5)), index({0: 2}).whole(), changed=(0, 5)) == []
    assert nights(index({0: 2}, range(5)), index({0: 2}).whole(), changed=(5,)) == [
        "index as a whole did not name https://e.com/p5, which changed"
    ]


def test_a_page_that_was_named_and_had_not_changed_may_be_behind():
    nights = Nights()
    nights(index({}))
    nights(index({1: 2}))

    assert nights.ledger.checked[KEYS[1]].again == ["index"]
    assert nights(index({1: 2}), changed=(1,)) == [], "it was named a night before"
    assert nights.ledger.checked[KEYS[1]].again == []


def test_changes_that_another_extraction_makes_prove_nothing():
    nights = Nights()
    nights(index({}))

    assert nights(index({}), changed=(1, 2), evident=False) == []
    assert nights.ledger.histories["index"].nights == 0


def test_a_page_that_failed_has_no_claim():
    nights = Nights()
    nights(index({}))
    nights(index({}), failed=[KEYS[4]])

    assert KEYS[4] not in nights.ledger.checked
    assert nights(index({}), changed=(4,)) == []


def test_a_stamp_takes_more_nights_with_changes_and_those_of_its_own_page_do_not_count():
    def stamp(value: int) -> Witness:
        return Witness("stamp", str(value), root="https://e.com/", page=URLS[0])

    own, nights = Nights(), Nights()
    proven = []
    for night in range(7):
        own(stamp(night), changed=(0,))
        nights(stamp(night), changed=(1,))
        proven.append(nights.is_proven("stamp"))

    assert not own.is_proven("stamp")
    assert proven == [False] * 4 + [True] * 3
    nights(stamp(6), changed=(1,))
    for night in range(7, 30):
        nights(stamp(night), changed=(1,))
    assert not nights.is_proven("stamp"), "what was wrong once is no sign of a deploy"


def test_what_is_stored_may_be_anything():
    for kept in (None, [], {"index": [1, 2]}, {"index": "x"}):
        ledger = Ledger()
        ledger.remember(kept)
        assert ledger.histories == {}
    for table in (None, [], {"zz": [1, {}, []]}, {"00": 1}):
        ledger = Ledger()
        ledger.remember({"checked": table})
        assert ledger.checked == {}


# --- which pages are left out ---


class Site:
    """Proven by four nights with one change each; then pages are named by what differs from edition 9."""

    def __init__(self) -> None:
        self.nights = Nights()
        for number in range(5):
            editions = dict.fromkeys(range(6), 9) | ({5: number} if number < 4 else {})
            self.nights(index(editions), changed=(5,) if number else ())
        self.nights(index(dict.fromkeys(range(6), 9)))

    def begun(self, editions: dict[int, int], only: range = range(6)) -> Ledger:
        ledger = Ledger(self.nights.number + 1)
        ledger.remember(self.nights.ledger.to_json())
        ledger.witnesses = [index(dict.fromkeys(range(6), 9) | editions, only)]
        return ledger


def test_what_is_not_named_is_sampled_or_left_out():
    ledger = Site().begun({1: 10})

    why = ledger.plan(ASKED, 50)

    assert why.pop(KEYS[1]) == "named"
    assert [*why.values()] == ["sampled"] * 5, "a deploy: five times as many as without"
    ledger = Site().begun({})
    assert sorted(ledger.plan(ASKED, 50).values()) == ["left out"] * 3 + ["sampled"] * 3
    assert len(ledger.unasked) == 3
    assert all(ledger.leaves_out(key, ASKED[key], is_stored=True) for key in ledger.unasked)
    ledger.give_up()
    assert not any(ledger.leaves_out(key, ASKED[key], is_stored=True) for key in KEYS)


def test_pages_that_another_witness_names_are_requested_if_they_are_few():
    site = Site()
    site.nights(index(dict.fromkeys(range(6), 9)), Witness("other", "1", {loose_key(URLS[0]): "1"}))
    ledger = site.begun({})
    ledger.witnesses.append(Witness("other", "2", {loose_key(URLS[0]): "2"}))

    assert ledger.plan(ASKED, 50)[KEYS[0]] == "named"
    assert KEYS[0] not in ledger.unasked


def test_pages_that_link_to_one_which_is_gone_are_sampled_first():
    asked_for = []

    def linking(keys: set[bytes]) -> set[bytes]:
        asked_for.append(keys)
        return {KEYS[4]}

    for gone in (range(6), range(5)):
        ledger = Site().begun({}, gone)
        ledger.histories["index"].pages = 5
        ledger.histories["index"].stamp = ledger.witnesses[
            0
        ].stamp  # no other file: few are sampled
        why = ledger.plan(ASKED, 50, linking)
    assert asked_for == [set(), {KEYS[5]}]
    assert why[KEYS[5]] == "named"
    assert why[KEYS[4]] == "sampled"
    assert [*why.values()].count("sampled") == 3


def test_the_targets_of_links_are_no_mistake_of_what_does_not_hold_them():
    nights = Nights()
    files = Witness("hashes", "1", {loose_key(url): "1" for url in URLS}, hashes_pages=True)
    for _ in range(4):
        nights(index({}), files)
    lines = nights(index({}), files, changed=(3,), links={KEYS[3]})
    assert lines == [f"hashes did not name {URLS[3]}, which changed"]
    assert nights.ledger.histories["index"].mistakes == 0
    assert nights(index({}), changed=(4,)) == [f"index did not name {URLS[4]}, which changed"]


def test_other_settings_have_their_own_nights():
    kept = Ledger(1, "render=never").to_json()
    same, other = Ledger(2, "render=never"), Ledger(2, "render=always")
    for ledger in (same, other):
        ledger.remember(kept)

    assert same.has_same_settings
    assert not other.has_same_settings


def test_the_sample_goes_through_all_pages_within_the_bound():
    site = Site()
    seen: list[bytes] = []
    for _ in range(2):
        ledger = site.begun({})
        sample = [key for key, why in ledger.plan(ASKED, 50).items() if why == "sampled"]
        seen += sample
        ledger.left_out = set(ledger.unasked)
        ledger.conclude({key: ASKED[key] for key in sample}, (), text_of=lambda _key: "")
        site.nights.ledger, site.nights.number = ledger, ledger.number

    assert sorted(seen) == sorted(KEYS)
    assert site.begun({}).plan(ASKED, 1) == {}, "each page is due"


def test_pages_that_are_no_documents_are_left_out_while_the_file_is_as_it_was():
    site, listing, dead = Site(), "https://e.com/all", "https://e.com/dead"
    urls = {page_key(listing): listing, page_key(dead): dead}
    site.nights.ledger.dead = {page_key(dead)}
    whole = index(dict.fromkeys(range(6), 9)).whole()
    site.nights.ledger.witnesses.append(whole)
    site.nights.ledger.conclude(ASKED | urls, (), text_of=lambda _key: "")
    left_out = {}
    for name, editions in (("same", {}), ("other", {2: 10})):
        ledger = site.begun(editions)
        ledger.witnesses.append(ledger.witnesses[0].whole())
        ledger.plan(ASKED, 50)
        left_out[name] = [ledger.leaves_out(key, url, is_stored=False) for key, url in urls.items()]

    assert left_out == {"same": [True, True], "other": [False, False]}
    assert [ledger.is_dead(key) for key in urls] == [False, True]


def test_a_witness_that_shrinks_is_damaged():
    ledger = Site().begun({}, range(5))

    assert ledger.plan(ASKED, 50) == {}
    assert ledger.by is None


def test_nothing_is_left_out_before_the_proof():
    nights = Nights()
    nights(index({}))
    ledger = Ledger(2)
    ledger.remember(nights.ledger.to_json())
    ledger.witnesses = [index({})]

    assert ledger.plan(ASKED, 50) == {}
