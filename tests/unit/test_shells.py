"""The HTML that all pages of a host have which scripts make."""

from __future__ import annotations

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.shells import MAX_UNPROVEN, MIN_SAME, NOWHERE, SAMPLE_EVERY, Shells

PAGE = "https://e.com/guide"


def second_run(first: Shells, *, trusted: bool = True) -> Shells:
    later = Shells(trusted=trusted)
    later.remember(first.keep(End()))
    return later


def test_a_host_with_one_shell_has_it_in_the_next_run():
    first = Shells(trusted=True)
    for body in (b"same", b"same"):
        first.learn(PAGE, body)
        assert first.shell_of(PAGE) is None, "only a crawl that saw all pages knows"
        assert first.shell_of("https://e.com/#/route") == body
    later = second_run(first)
    assert later.shell_of(PAGE) is None, "not seen in this crawl yet"
    later.learn("https://e.com/", b"changed")
    assert later.shell_of(PAGE) == b"changed"
    assert later.shell_of("https://other.com/guide") is None
    doubted = second_run(first, trusted=False)
    doubted.learn(PAGE, b"same")
    assert doubted.shell_of(PAGE) is None


def test_a_host_with_several_shells_has_none():
    first = Shells(trusted=True)
    first.learn(PAGE, b"one")
    first.learn(PAGE, b"two")
    assert first.keep(End()) == {}
    later = second_run(first)
    later.remember("damaged")
    later.learn(PAGE, b"one")
    assert later.shell_of(PAGE) is None
    assert first.shell_of("https://e.com/#/route") is None


def test_what_a_host_draws_for_nothing_is_asked_for_once_and_known_in_the_next_run():
    first = Shells(trusted=True)
    first.learn(PAGE, b"same")
    assert first.nowhere(PAGE) is None, "one page has it"
    first.learn(PAGE, b"same")
    other = Shells(trusted=True)
    other.learn(PAGE, b"one")
    other.learn(PAGE, b"two")
    assert other.nowhere(PAGE) is None, "there are several programs"
    assert [first.nowhere(PAGE) for _ in range(2)] == [f"https://e.com/{NOWHERE}", None]
    assert first.texts_of_nothing(PAGE) == set()
    first.learn_nothing(PAGE, "hash")
    later = second_run(first)
    assert later.texts_of_nothing(PAGE) == first.texts_of_nothing(PAGE) == {"hash"}
    assert later.nowhere(PAGE) is None, "no page was drawn in this crawl"


@pytest.mark.parametrize(
    ("route", "nowhere"),
    [
        ("#/a/b", f"#/{NOWHERE}"),
        ("#!/a", f"#!/{NOWHERE}"),
        ("#!a", f"#!{NOWHERE}"),
        ("#a:~:", f"#{NOWHERE}:~:"),
    ],
)
def test_a_page_of_routes_is_asked_for_one_that_it_does_not_have(route, nowhere):
    shells = Shells(trusted=True)
    assert [shells.nowhere(f"{PAGE}{route}") for _ in range(2)] == [f"{PAGE}{nowhere}", None]
    shells.learn_nothing(f"{PAGE}{nowhere}", "hash")
    assert shells.texts_of_nothing(f"{PAGE}{route}") == {"hash"}
    assert shells.texts_of_nothing(PAGE) == set()


def several(*, trusted: bool = True) -> Shells:
    shells = Shells(trusted=trusted)
    for _ in range(MIN_SAME):
        shells.learn(PAGE, b"same")
    return shells


def test_a_new_page_is_expected_to_have_what_several_have_but_for_samples():
    shells = several()
    expected = [shells.expected(PAGE) for _ in range(2 * SAMPLE_EVERY)]
    assert expected.count(None) == 2
    assert expected.count(b"same") == 2 * SAMPLE_EVERY - 2
    assert shells.expected("https://other.com/") is None


def test_what_came_in_place_of_files_counts_with_the_start_page():
    shells = Shells(trusted=True)
    for _ in range(MIN_SAME):
        shells.learn_false(PAGE)
    assert not shells.is_expected(PAGE), "no page is a shell"
    shells.learn(PAGE, b"same")
    assert shells.is_expected(PAGE)


def test_nothing_is_expected_of_a_host_with_other_pages_or_pages_that_show_nothing():
    assert not several(trusted=False).is_expected(PAGE)
    shells = several()
    shells.learn(PAGE, b"another")
    assert not shells.is_expected(PAGE)
    shells = several()
    for is_proven in (*[False] * (MAX_UNPROVEN - 1), True, *[False] * (MAX_UNPROVEN - 1)):
        shells.learn_drawn(PAGE, is_proven=is_proven)
    assert shells.is_expected(PAGE)
    shells.learn_drawn(PAGE, is_proven=False)
    assert not shells.is_expected(PAGE)
    shells = several()
    shells.learn_other(PAGE)
    assert not shells.is_expected(PAGE)
