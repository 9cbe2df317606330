"""What speaks for a wall, whatever the order in which answers come."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from llmsspider.crawler.bot_walls import (
    ACCEPTED_RUNS,
    Suspect,
    Suspects,
    is_login_url,
    is_rewritten,
    leads_to_login,
    own_evidence,
    wall_fingerprint,
)
from llmsspider.crawler.overwrites import rewriting
from llmsspider.crawler.pages import breaks_off
from llmsspider.crawler.source_memory import Doubts

LONG = "A word of the page and another one. " * 100
FORM = b"<form action='/search'><input name='q'></form>"
PASSWORD = b"<form><input name=p type='password'></form>"


@pytest.mark.parametrize(
    ("now", "title", "body", "expected"),
    [
        pytest.param("Sign in to go on", "Docs", PASSWORD, "auth", id="a password"),
        pytest.param("Enter", "Docs", FORM, "http", id="a form where a long page was"),
        pytest.param("Enter", "Docs", b"<p>Enter</p>", None, id="short, but no form"),
        pytest.param("x" * 600, "Docs", FORM, None, id="a form, not so much shorter"),
        pytest.param("No.", "Access Denied", b"", "http", id="a denial by its title"),
        pytest.param("Soon.", "Site under maintenance", b"", "http", id="maintenance"),
        pytest.param("Soon.", "We'll be back soon!", b"", "http", id="back soon"),
        pytest.param("How to.", "Maintenance of tables", b"", None, id="a page about maintenance"),
        pytest.param(
            "How to.", "Access denied errors explained", b"", None, id="a page about denials"
        ),
        pytest.param("x" * 2000, "Sign in", PASSWORD, None, id="a page with text"),
    ],
)
def test_what_an_answer_alone_says(now, title, body, expected):
    assert own_evidence(LONG, now, title, body) == expected


def suspect(number: int, text: str = "Denied", **more) -> Suspect:
    return Suspect(bytes([number]), wall_fingerprint(text), bytes([number]), **more)


NEW = Suspect(b"\7", wall_fingerprint("Denied"), None)


def verdicts(answers: list[Suspect]) -> dict[bytes, str | None]:
    seen = Suspects()
    for answer in answers:
        seen.see(answer)
    return {answer.key: (seen.evidence(answer) or (None,))[0] for answer in answers}


def test_the_same_text_on_three_pages_that_differed_in_any_order():
    answers = [
        suspect(1),
        suspect(2, "Denied  18.af2"),
        suspect(3),
        suspect(4, "Rewritten"),
        suspect(5, "Other"),
    ]
    expected = {b"\1": "http", b"\2": "http", b"\3": "http", b"\4": None, b"\5": None}
    for order in itertools.permutations(answers):
        assert verdicts(list(order)) == expected
    assert set(verdicts([suspect(1), suspect(2)]).values()) == {None}


def test_pages_that_break_off_speak_against_one_that_ends_with_a_line():
    half = rewriting(b"a", LONG, "A word of the page.")
    cut = suspect(1, cut=True, rewriting=half)
    whole = suspect(2, "less", rewriting=half._replace(key=b"b"))
    assert verdicts([whole]) == {b"\2": None}
    assert verdicts([cut, whole]) == {b"\1": "network", b"\2": "http"}


def test_pages_that_were_the_same_before_say_nothing():
    twins = [
        Suspect(bytes([number]), wall_fingerprint("New"), b"one content") for number in range(5)
    ]
    assert set(verdicts(twins).values()) == {None}


def test_what_one_page_proves_holds_for_all_with_its_text_the_new_ones_too():
    new = Suspect(b"\7", wall_fingerprint("Denied"), None)
    for order in itertools.permutations([suspect(1), suspect(2, kind="auth"), new]):
        assert set(verdicts(list(order)).values()) == {"auth"}
    assert verdicts([new]) == {b"\7": None}
    assert verdicts([new, suspect(1), suspect(2), suspect(3)])[b"\7"] == "http"


@pytest.mark.parametrize(
    ("answer", "others", "runs"),
    [
        pytest.param(suspect(1, kind="auth"), [], 0, id="a login in place of a page"),
        pytest.param(suspect(1, kind="http"), [], ACCEPTED_RUNS, id="a notice in place of a page"),
        pytest.param(suspect(1, bare=True), [], 2, id="little is left"),
        pytest.param(
            suspect(1, bare=True, start=True),
            [],
            ACCEPTED_RUNS,
            id="little is left of the start page",
        ),
        pytest.param(
            suspect(1, bare=True, blank=True), [], ACCEPTED_RUNS, id="little is left, and no link"
        ),
        pytest.param(suspect(1), [suspect(2, bare=True)], 2, id="little is left of another page"),
        pytest.param(
            suspect(1, bare=True), [suspect(2), suspect(3)], ACCEPTED_RUNS, id="three pages"
        ),
        pytest.param(NEW, [suspect(2, bare=True)], 2, id="new, little is left of a stored one"),
        pytest.param(NEW, [suspect(2, kind="auth")], 0, id="new, as a login in place of a page"),
        pytest.param(replace(NEW, kind="http"), [], 2, id="new, a notice"),
        pytest.param(replace(NEW, kind="auth"), [], ACCEPTED_RUNS, id="new, a login"),
    ],
)
def test_after_how_many_runs_a_wall_is_believed(answer, others, runs):
    for order in itertools.permutations([answer, *others]):
        seen = Suspects()
        for each in order:
            seen.see(each)
        assert seen.evidence(answer).accepted_runs == runs


def test_a_new_page_that_many_redirect_to():
    new = Suspect(b"\7", wall_fingerprint("Soon"), None, redirected=True)
    for for_now, enough in ((False, 3), (True, 1)):
        seen = Suspects()
        for _page in range(enough):
            seen.see_redirect(b"\7", for_now)
        assert seen.evidence(new) is None
        seen.see_redirect(b"\7", for_now)
        assert seen.evidence(new) is not None


def test_doubts_count_runs_in_a_row():
    first = Doubts()
    assert first.again(b"\1", "empty") == 1
    second = Doubts(first.to_keep(complete=True))
    assert second.again(b"\1", "empty") == 2
    assert Doubts(second.to_keep(complete=True)).again(b"\1", "soft-404") == 1, "something else"
    healthy = Doubts(second.to_keep(complete=True))
    assert healthy.to_keep(complete=True) == {}, "the row has ended"
    assert healthy.to_keep(complete=False) == second.to_keep(complete=True)
    assert Doubts({"01": "damaged", "02": [1]}).again(b"\1", "empty") == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://e.com/login",
        "https://e.com/account/authenticate?to=/a",
        "https://e.com/auth/Sign-In/",
        "https://sso.e.com/saml/x",
    ],
)
def test_addresses_of_logins(url):
    assert is_login_url(url)
    assert leads_to_login("https://e.com/guide", url)
    assert not leads_to_login(url, "https://e.com/login?again")


@pytest.mark.parametrize(
    "url", ["https://e.com/guide/login.html", "https://login.e.com/", "https://e.com/?login"]
)
def test_addresses_of_pages(url):
    assert not is_login_url(url)


def test_editions_of_one_page_have_words_in_common():
    assert not is_rewritten("one two three four", "one two three five six")
    assert is_rewritten("one two three four", "five six")
    assert is_rewritten("one two", " ".join(map(str, range(50))) + " one two"), (
        "a long text has most words"
    )


WORDS = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(
            f"# A\n\n{WORDS}\n",
            "# A\n\none two th\n",
            True,
            id="the same up to the middle of a word",
        ),
        pytest.param(f"{WORDS}\n\nLast.\n", f"{WORDS}\n", False, id="a paragraph less"),
        pytest.param(
            f"# A\n\n{WORDS}\n", f"# New\n\n{WORDS[:-6]}\n", True, id="edited before its last words"
        ),
        pytest.param(
            f"# A\n\n{WORDS}\n\nZ.\n", f"# New\n\n{WORDS}\n", False, id="edited, a paragraph less"
        ),
        pytest.param(f"# A\n\n{WORDS}\n", f"# A\n\n{WORDS} and more\n", False, id="longer"),
        pytest.param(f"# A\n\n{WORDS}\n", "# A\n\nother words\n", False, id="other words"),
        pytest.param(
            "More, [deeper](https://e.com/guide/deep.html).",
            "[d](https://e.com/guide/deep.html)",
            False,
            id="a link",
        ),
        pytest.param(WORDS, "", False, id="empty"),
        pytest.param(f"{WORDS * 5} (so)\n", f"{WORDS * 5} (so\n", False, id="a bracket less"),
    ],
)
def test_a_text_that_ends_where_the_stored_one_went_on(before, now, expected):
    assert breaks_off(before, now) is expected
