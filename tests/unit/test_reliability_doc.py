"""docs/explanation/reliability.md names a test for every promise; each of them exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
DOC = (TESTS.parent / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", DOC)


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_promise_names_a_test():
    rows = [
        line
        for line in DOC.splitlines()
        if line.startswith("|") and not re.match(r"\|[-|]+\|$", line)
    ]
    figures = DOC.index("## Figures")
    promises = [row for row in rows if "shown by" not in row and DOC.index(row) < figures]
    assert len(promises) == len(NAMED) > 25
    assert all(re.search(r"`[\w/]+\.py::\w+` \|$", row) for row in promises)


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_named_test_exists(file, name):
    assert name in names_in(file)
