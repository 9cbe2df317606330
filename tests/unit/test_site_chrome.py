"""Text that most pages of a site begin or end with is not content."""

from __future__ import annotations

import pytest

from llmsspider.crawl.site_comparison import EDGE, KEPT, LEAST, SiteChrome

FOOT = "## Feedback\n\nWas this page helpful?\n\nLast updated on Jan {day}, 2024"


def page(number: int, *, head: str = "", foot: str = FOOT) -> str:
    text = f"{head}\n\n# Wheel {number}\n\nWheel {number} turns mill {number}, which grinds corn {number} all day."
    return (
        f"{text}\n\n## Part {number}\n\nPart {number} of it is {number} spokes long.\n\n{foot}".strip() + "\n"
    )


def learned(**parts: str) -> SiteChrome:
    chrome = SiteChrome()
    for number in range(10, 20):
        chrome.see(page(number, **parts).replace("{day}", str(number)))
    return chrome


def test_what_most_pages_end_with_is_taken_off_whatever_day_it_names():
    assert learned().without(page(7).replace("{day}", "3")) == page(7, foot="")


def test_what_most_pages_begin_with_is_taken_off_above_and_below_the_title():
    chrome = learned(head="[Docs](https://e.org/) is at version 2")
    assert chrome.without(page(7, head="[Docs](https://e.org/b) is at version 2")) == page(7)
    below = SiteChrome()
    for number in range(LEAST):
        below.see(f"# A {number}\n\n4 min read\n\nText {number}.\n")
    assert below.without("# B\n\n4 min read\n\nText of B is longer.\n") == "# B\n\nText of B is longer.\n"


def test_links_to_the_page_before_and_after_may_stand_between():
    document = page(7, foot="Was this page helpful?\n\n[Wheel 6](https://e.org/6) [Wheel 8](https://e.org/8)")
    chrome = learned(foot="Was this page helpful?\n\n[Wheel](https://e.org/9)")
    assert chrome.without(document) == document.replace("Was this page helpful?\n\n", "")


KEPT_TEXTS = [
    pytest.param(
        "Was this page helpful?\n\nA word of its own.", "Was this page helpful?", id="not at the edge"
    ),
    pytest.param("```js\nimport wheel\n```", "```js\nimport wheel\n```", id="code"),
    pytest.param("| a |\n|---|\n| b |", "| a |\n|---|\n| b |", id="a table"),
]


@pytest.mark.parametrize(("foot", "shared"), KEPT_TEXTS)
def test_content_stays(foot, shared):
    assert learned(foot=shared).without(page(7, foot=foot)) == page(7, foot=foot)


def test_the_only_text_of_a_section_or_label_stays():
    chrome = learned(foot="Nothing.")
    for above in ("## Returns", "**Returns**", "Returns:"):
        document = page(7, foot=f"{above}\n\nNothing.")
        assert chrome.without(document) == document
    assert chrome.without(page(7, foot="More of it.\n\nNothing.")) == page(7, foot="More of it.")


def test_what_is_most_of_a_page_stays():
    document = "# Short\n\nYes.\n\nWas this page helpful?\n"
    assert learned(foot="Was this page helpful?").without(document) == document


@pytest.mark.parametrize("blocks", [3, EDGE, 5 * EDGE])
def test_pages_that_are_all_equal_keep_everything(blocks):
    document = "# Same\n\n" + "\n\n".join(f"Text {number}." for number in range(blocks)) + "\n"
    chrome = SiteChrome()
    for _ in range(20):
        chrome.see(document)
        assert chrome.without(document) == document


def test_few_pages_or_a_smaller_part_share_nothing():
    chrome = SiteChrome()
    for number in range(LEAST - 1):
        chrome.see(page(number))
        assert chrome.without(page(number)) == page(number)
    for number in range(30):
        chrome.see(page(number, foot="" if number % 2 else FOOT))
    assert chrome.without(page(1, foot="Was this page helpful?")) == page(1, foot="Was this page helpful?")


def test_the_order_of_pages_decides_nothing_once_it_is_learned():
    pages = [page(number).replace("{day}", "1") for number in range(20)]
    there, back = SiteChrome(), SiteChrome()
    for one, other in zip(pages, reversed(pages), strict=True):
        there.see(one)
        back.see(other)
    assert [there.without(one) for one in pages] == [back.without(one) for one in pages]
    assert sorted(there.as_list()) == sorted(back.as_list())


def test_what_was_learned_holds_in_the_next_run_from_the_first_page():
    chrome = SiteChrome()
    chrome.remember(learned().as_list())
    chrome.see(page(7))
    assert chrome.without(page(7).replace("{day}", "9")) == page(7, foot="")
    known = chrome.as_list()
    chrome.remember("nothing")
    assert chrome.as_list() == known != []


def test_memory_is_bounded():
    chrome = SiteChrome()
    for number in range(KEPT):
        chrome.see(page(number))
    assert len(chrome._counts) <= KEPT
    assert chrome.without(page(7)) == page(7, foot="")
