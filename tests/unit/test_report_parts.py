"""The parts of the report: coverage, the picture of the site, charts."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmsspider.output.graph import MAX_LINKS, MAX_NODES, site_tree
from llmsspider.output.report import MAX_PER_OUTCOME, CoverageReport, compare, environment
from llmsspider.web.urls import identity

SITE = "https://e.com/"
CHARTS: Any = environment().get_template("charts.html.j2").module


def combined(found: CoverageReport) -> dict[tuple[bool, bool, bool], int]:
    return {(one.llms_txt, one.sitemap, one.crawled): one.pages for one in found.combined}


def test_coverage_of_every_combination() -> None:
    listed = [
        (SITE + "a", True, False),
        (SITE + "a#twice", True, False),
        (SITE + "b", True, True),
        (SITE + "gone", True, False),
        (SITE + "soft", False, True),
        (SITE + "blocked", False, True),
        (SITE + "late", True, True),
    ]
    found = compare(
        listed,
        {identity(SITE + name): SITE + name for name in ("a", "b", "link")},
        {identity(SITE + "gone"): ("not_found", "HTTP status 404")},
        {
            identity(SITE + "soft"): ("soft-404", ""),
            identity(SITE + "blocked"): ("block", "/blocked"),
        },
    )
    assert combined(found) == {
        (True, False, True): 1,
        (True, True, True): 1,
        (True, False, False): 1,
        (False, True, False): 2,
        (True, True, False): 1,
        (False, False, True): 1,
    }
    assert {
        name: [(one.url, one.detail) for one in group.urls]
        for name, group in found.groups.items()
        if group.pages
    } == {
        "only-llms": [(SITE + "a", "")],
        "dead": [(SITE + "gone", "not_found: HTTP status 404")],
        "soft-404": [(SITE + "soft", "soft-404")],
        "left-out": [(SITE + "blocked", "block: /blocked")],
        "not-reached": [(SITE + "late", "")],
        "only-links": [(SITE + "link", "")],
    }


def test_a_page_that_two_lists_name_is_one_page() -> None:
    listed = [(SITE + "a/", True, False), (SITE + "a/index.html", False, True)]
    found = compare(listed, {identity(SITE + "a/"): SITE + "a/"}, {}, {})
    assert combined(found) == {(True, True, True): 1}
    assert found.groups["only-llms"].pages == found.groups["only-sitemap"].pages == 0


def test_long_lists_are_counted_whole_and_named_in_part() -> None:
    found = compare([(f"{SITE}{n}", True, True) for n in range(1000)], {}, {}, {})
    assert found.groups["not-reached"].pages == 1000
    assert len(found.groups["not-reached"].urls) == MAX_PER_OUTCOME


def test_the_picture_holds_each_page_at_a_place_of_its_own() -> None:
    urls = [SITE, SITE + "guide/", SITE + "guide/a", SITE + "guide/b", SITE + "api/x?y=1"]
    tree = site_tree(urls, [(0, 2), (2, 3)])
    names = [node[0] for node in tree["nodes"]]
    assert names == ["", "guide", "a", "b", "api", "x", "?y=1"]
    assert [node[2] for node in tree["nodes"]] == [0, 1, 2, 3, -1, -1, 4]
    assert tree["links"] == [[0, 2], [2, 3]]
    places = [tuple(node[3:]) for node in tree["nodes"]]
    assert len(set(places)) == len(places)


def test_hosts_are_branches_where_there_are_several() -> None:
    tree = site_tree([SITE + "a", "https://docs.e.com/a"], [])
    assert [node[0] for node in tree["nodes"]] == ["", "e.com", "a", "docs.e.com", "a"]


@given(st.lists(st.text(alphabet="ab/?%é", max_size=12), max_size=60))
def test_any_urls_can_be_laid_out(paths: list[str]) -> None:
    tree = site_tree([SITE + path for path in paths], [])
    assert all(math.isfinite(x) and math.isfinite(y) for *_, x, y in tree["nodes"])
    assert all(parent < number for number, (_, parent, *_) in enumerate(tree["nodes"]))


def test_the_picture_of_a_large_site_is_bounded_and_says_so() -> None:
    count = 20_000
    urls = [f"{SITE}{n % 50}/{n}" for n in range(count)]
    tree = site_tree(urls, ((n % 2000, (n + 1) % 2000) for n in range(count)))
    assert len(tree["nodes"]) <= MAX_NODES
    assert len(tree["links"]) == MAX_LINKS
    assert tree["pages_left"] > 0
    assert tree["links_left"] == count - MAX_LINKS


def test_bars_escape_names_and_give_the_longest_the_whole_width() -> None:
    svg = str(CHARTS.bars({"<b>": 1, "most": 40}))
    assert "&lt;b&gt;" in svg
    assert svg.index('class="w20"') < svg.index('class="w1"')


def test_a_timeline_needs_two_points() -> None:
    assert CHARTS.timeline([(0.0, 0, 0)]) == ""
    assert 'aria-label="5 pages and 1 errors in 2.0 s"' in CHARTS.timeline(
        [(0.0, 0, 0), (2.0, 5, 1)]
    )
