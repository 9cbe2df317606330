"""The HTML that all pages of a host have which scripts make."""

from __future__ import annotations

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.shells import Shells

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
    assert first.keep(End()) == []
    later = second_run(first)
    later.remember("damaged")
    later.learn(PAGE, b"one")
    assert later.shell_of(PAGE) is None
    assert first.shell_of("https://e.com/#/route") is None
