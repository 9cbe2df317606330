"""Titles that most pages of a site share are not those of its pages."""

from __future__ import annotations

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.titles import KEPT_TITLES, LEAST_TITLES, MAX_LINKED, SiteTitles
from llmsspider.items import Link

PAGES = [
    pytest.param(
        "# Widget\n\n# class Wheel\n\n## Overview\n\nTurns.\n",
        "class Wheel",
        id="h1 below the site's",
    ),
    pytest.param(
        "# Widget\n\n## wheel.lua\n\nTurns.\n", "wheel.lua", id="h2 right below the site's"
    ),
    pytest.param(
        "### 59 Finite Wheels\n\n#### 59.1 Spokes\n\nText.\n",
        "Finite Wheels",
        id="first heading, numbered",
    ),
    pytest.param(
        "## Wheel 3.11 notes\n\nText.\n", "Wheel 3.11 notes", id="a number within a heading stays"
    ),
    pytest.param(
        "## Overview\n\nText.\n\n## The Wheel\n", "The Wheel", id="not one that all pages have"
    ),
    pytest.param("Text without a heading.\n", "wheel one", id="what the URL says"),
    pytest.param(
        "# Widget\n\nText.\n\n## [Wheel](https://e.org/w) `x`\n", "Wheel x", id="marks off"
    ),
    pytest.param("# Widget\n\n```\n# no heading\n```\n\nText.\n", "wheel one", id="code"),
]


def shared() -> SiteTitles:
    titles = SiteTitles()
    for number in range(10):
        titles.see(
            "Widget", f"# Widget\n\n## Overview\n\n## Part {number}\n\nText.\n", start=number == 0
        )
    return titles


@pytest.mark.parametrize(("markdown", "expected"), PAGES)
def test_a_page_whose_title_is_the_sites_gets_its_own(markdown, expected):
    titles = shared()
    titles.see("Widget", markdown)
    assert titles.own("Widget", markdown, None, "wheel one") == expected


def test_what_llms_txt_calls_a_page_comes_before_its_sections():
    markdown = "Text.\n\n### A section\n"
    assert shared().own("Widget", markdown, "The Wheel", "wheel one") == "The Wheel"


def test_titles_of_their_own_stay():
    titles = shared()
    titles.see("Wheel", "# Wheel\n\n## Axles\n")
    assert titles.own("Wheel", "# Wheel\n\n## Axles\n", None, "x") == "Wheel"


def test_few_pages_of_the_same_name_keep_it():
    titles = SiteTitles()
    for number in range(40):
        name = "Options" if number % 13 == 0 else f"Page {number}"
        titles.see(name, f"# {name}\n\n## Part {number}\n")
        assert titles.own(name, f"# {name}\n\n## Part {number}\n", None, "x") == name


def test_the_second_page_tells_that_the_title_is_the_start_pages():
    titles = SiteTitles()
    titles.see("Widget", "# Widget\n\nText.\n", start=True)
    titles.see("Widget", "# Widget\n\n## wheel.lua\n\nText.\n")
    assert titles.own("Widget", "# Widget\n\n## wheel.lua\n\nText.\n", None, "wheel") == "wheel.lua"


def test_what_was_learned_holds_in_the_next_run_from_the_first_page():
    titles = SiteTitles()
    titles.remember(shared().keep(End()))
    titles.see("Widget", "# Widget\n\nText.\n")
    assert titles.own("Widget", "# Widget\n\nText.\n", None, "wheel one") == "wheel one"
    assert titles.keep(End()) == ["Widget"]
    titles.remember("nothing")
    assert titles.is_shared("Widget")


def test_pages_that_are_all_equal_are_told_apart_by_their_urls_only():
    titles = SiteTitles()
    page = "# Same\n\n## Same section\n\nText.\n"
    names = []
    for number in range(20):
        titles.see("Same", page)
        names.append(titles.own("Same", page, None, f"page {number}"))
    assert names[LEAST_TITLES:] == [f"page {number}" for number in range(LEAST_TITLES, 20)]


def test_memory_is_bounded():
    titles = SiteTitles()
    for number in range(10 * KEPT_TITLES):
        titles.see(
            "Widget" if number % 2 else f"Page {number}", f"# Page {number}\n\n## Part {number}\n"
        )
    assert max(len(titles._titles), len(titles._headings)) <= KEPT_TITLES + 1
    assert titles.is_shared("Widget")


def test_a_page_without_heading_is_called_what_links_call_it():
    titles = shared()
    url = "https://widget.example.org/w7.html"
    titles.see_links([Link("here", url), Link("Wheels of oak", f"{url}#top"), Link("Another", url)])
    titles.see("Widget", "Text.\n")

    assert titles.own("Widget", "Text.\n", None, titles.linked(url), "w7") == "Wheels of oak"
    assert titles.own("Widget", "Text.\n", None, titles.linked(f"{url}x"), "w7") == "w7"
    assert titles.own("Widget", "Text.\n\n# Mills\n", None, titles.linked(url), "w7") == "Mills"


def test_names_in_links_are_kept_in_bounded_memory():
    titles = SiteTitles()
    titles.see_links(
        Link("Wheel", f"https://widget.example.org/{number}") for number in range(2 * MAX_LINKED)
    )

    assert titles.linked("https://widget.example.org/1")
    assert titles.linked(f"https://widget.example.org/{MAX_LINKED}") is None
