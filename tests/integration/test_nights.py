"""Nights on which a site lies: small forms of `benchmarks/nights.py`, whose table is in docs/lab/faults.md."""

from __future__ import annotations

import sys

import pytest
from crawling import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import nights


@pytest.mark.parametrize(
    ("kinds", "form"),
    [
        pytest.param(
            ("login-redirect", "empty-shell", "frozen-modified"), "html", id="logins, shells, 304s"
        ),
    ],
)
def test_nothing_false_is_said_of_a_site_that_lies(tmp_path, kinds, form):
    tally = nights.simulate(kinds, form, 3, 7, tmp_path, pages=16, settle=2)
    assert (tally.false_deletions, tally.false_changes, tally.differs) == ([], [], [])
    assert (tally.nights, tally.duplicates, tally.disorder) == (5, 0, 0)
    assert set(tally.edit_delays) | set(tally.deletion_delays) <= set(range(5))
