"""Nights of change and failure: who follows the changes by number holds what a fresh crawl gives."""

from __future__ import annotations

import sys

from crawling import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import two_weeks


def test_changes_replayed_over_five_nights_equal_a_fresh_crawl(tmp_path):
    """Small form of benchmarks/two_weeks.py: in order, all 503, sitemap cut, robots.txt down, in order."""
    # of fewer pages, more than 30% would go in one night
    result = two_weeks.run(32, 5, 3, tmp_path)
    outages = [night.outage for night in result.nights]
    assert outages[1:4] == [
        "the whole site answers 503",
        "the sitemap breaks off",
        "robots.txt is down",
    ]
    assert [night.exit_code for night in result.nights] == [0, 1, 0, 1, 0]
    assert result.nights[-1].changes.keys() == {"new", "changed", "deleted"}
    assert (result.pages, result.differs, result.feed_differs) == (result.replayed, [], [])
    assert [night.false_deletions for night in result.nights] == [0] * 5
    assert (result.duplicates, result.sequence_gaps) == (0, 0)
