"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest
from patterns import ROOT, modules


def with_examples() -> list[str]:
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    named = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        for path, source in sources.items()
        if ">>> " in source
    }
    return sorted(named.intersection(modules()))


@pytest.mark.parametrize("name", with_examples())
def test_the_examples_of_a_module(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
