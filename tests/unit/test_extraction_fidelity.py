"""The benchmark itself, and the targets on the pairs that the project carries."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAIRS = ROOT / "tests" / "fixtures" / "fidelity"
TARGETS = {"tokens": 0.98, "headings": 0.98, "code": 0.98}
TARGETS |= {"language": 0.95, "cells": 0.97, "items": 0.97, "links": 0.98, "title": 0.98}


@pytest.fixture(scope="module")
def fidelity():
    spec = importlib.util.spec_from_file_location(
        "benchmarks_fidelity", ROOT / "benchmarks" / "fidelity.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def score(fidelity):
    return fidelity.measure(PAIRS, fidelity.FACTORIES["llmsspider"](), "https://example.com")


@pytest.mark.parametrize("metric", TARGETS)
def test_target(score, metric):
    assert score.pages == 4
    assert score.f1(metric) >= TARGETS[metric]


def test_nothing_leaks(score):
    assert (score.signs, score.nav, score.failed) == (0, 0, 0)


def test_a_page_against_itself_is_perfect_and_against_nothing_is_zero(fidelity):
    facts = fidelity.facts_of((PAIRS / "vitepress.md").read_text("utf-8"), "https://e.org/p")
    same, none = fidelity.Score(), fidelity.Score()
    same.add(facts, facts)
    none.add(facts, fidelity.facts_of("", "https://e.org/p"))
    assert {same.f1(metric) for metric in TARGETS} == {1.0}
    assert none.f1("tokens") == none.f1("code") == 0.0


def test_leaks_are_seen(fidelity):
    facts = fidelity.facts_of("# T [¶](#t)\n\n[Home](/) [Guide](/g)", "https://e.org/p")
    assert facts.signs == 1
    assert facts.link_texts == {"¶", "Home", "Guide"}
