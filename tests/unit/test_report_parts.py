"""The parts of the report: coverage."""

from __future__ import annotations

from llmsspider.output.report import MAX_PER_OUTCOME, CoverageReport, compare
from llmsspider.web.urls import identity

SITE = "https://e.com/"


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
